/* What an adapter's files hold. See adapter_facts.h. */
#include "core/facts/adapter_facts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/facts/lineage.h"

#define PEFT_PREFIX "base_model.model."

enum part { PART_A, PART_B, PART_MAGNITUDE };

/* One tensor of a pair. */
struct piece {
    const char *module;
    enum part part;
    const struct tensor *tensor;
};

/* ---- Names ---- */

static const struct {
    const char *mark;
    enum part part;
} MARKS[] = {
    {".lora_A", PART_A},           {".lora_B", PART_B},
    {".lora_embedding_A", PART_A}, {".lora_embedding_B", PART_B},
    {".lora_a", PART_A},           {".lora_b", PART_B},
    {".lora_magnitude_vector", PART_MAGNITUDE},
};

/* Where the part of the name begins that says what of the pair the tensor is. */
static const char *mark_of(const char *name, enum part *part)
{
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
        const char *at = strstr(name, MARKS[i].mark);
        const char *end = at ? at + strlen(MARKS[i].mark) : NULL;

        if (at && (*end == '.' || *end == '\0')) {
            *part = MARKS[i].part;
            return at;
        }
    }
    return NULL;
}

const char *adapter_module_of(const char *tensor, struct arena *arena)
{
    enum part part;
    const char *mark = mark_of(tensor, &part);

    if (!mark)
        return NULL;
    if (strncmp(tensor, PEFT_PREFIX, sizeof PEFT_PREFIX - 1) == 0)
        tensor += sizeof PEFT_PREFIX - 1;
    return mark > tensor ? arena_strndup(arena, tensor, (size_t)(mark - tensor)) : NULL;
}

static int64_t layer_of(const char *module)
{
    static const char *const MARKS_OF[] = {"layers.", "h.", "layer.", "block.", "blocks.", "blk."};

    for (size_t i = 0; i < sizeof MARKS_OF / sizeof *MARKS_OF; i++) {
        const char *at = strstr(module, MARKS_OF[i]);
        int64_t layer;

        if (!at || (at != module && at[-1] != '.'))
            continue;
        at += strlen(MARKS_OF[i]);
        if (number_parse_int(str_from(at, strspn(at, "0123456789")), &layer) && layer >= 0)
            return layer;
    }
    return NONE;
}

/* Words that torch's wrappers put into names; the model that is served has none of them. */
static const char *wrapper_in(const char *name)
{
    static const char *const WORDS[] = {"_orig_mod", "_fsdp_wrapped_module",
                                        "_checkpoint_wrapped_module", "_forward_module"};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(name, WORDS[i]))
            return WORDS[i];
    return NULL;
}

size_t tensor_dimensions(const struct tensor *tensor, int64_t out[4])
{
    struct str rest = str_of(tensor && tensor->shape ? tensor->shape : ""), part;
    size_t n = 0;

    if (rest.n < 2 || !strchr("[(", rest.p[0]))
        return 0;
    rest = str_first(str_skip(rest, 1), rest.n - 2);
    while (n < 4 && str_split(&rest, ',', &part))
        if (str_trim(part).n && number_parse_int(str_trim(part), &out[n]))
            n++;
    return n;
}

/* ---- Against the base ---- */

static bool ends_at_dot(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n > m && path[n - m - 1] == '.' && strcmp(path + n - m, end) == 0;
}

/* Without what printing a wrapped or adapted model puts before the paths. */
static const char *bare_path(const char *name)
{
    static const char *const FRONTS[] = {PEFT_PREFIX, "module.", "_orig_mod."};

    for (size_t i = 0; i < sizeof FRONTS / sizeof *FRONTS; i++)
        if (strncmp(name, FRONTS[i], strlen(FRONTS[i])) == 0)
            name += strlen(FRONTS[i]);
    return name;
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* Behind the number of its layer, "self_attn.q_proj"; the path itself when it has none. */
static const char *from_layer(const char *path)
{
    for (const char *at = path; (at = strchr(at, '.')); at++)
        if (isdigit((unsigned char)at[1])) {
            const char *end = at + 1 + strspn(at + 1, "0123456789");

            if (*end == '.')
                return end + 1;
        }
    return path;
}

/* The parts stand one after the other in the path: "q_proj" in "h.0.q_proj.qweight" too. */
static bool holds_path(const char *path, const char *parts)
{
    size_t n = strlen(parts);

    for (const char *at = path; n && (at = strstr(at, parts)); at++)
        if ((at == path || at[-1] == '.') && (at[n] == '.' || at[n] == '\0'))
            return true;
    return false;
}

/* A list of modules is what the loader sees: the path has to be the same, but a list of the inner model
 * lacks its root. Names of tensors in a file may have another root, which loaders know to change. */
static bool fits(const char *module, const char *listed, bool is_list)
{
    listed = bare_path(listed);
    if (strcmp(module, listed) == 0 || ends_at_dot(module, listed))
        return strchr(listed, '.') != NULL || strcmp(module, listed) == 0;
    if (is_list || layer_of(module) != layer_of(listed))
        return false;
    return holds_path(listed, from_layer(module)) || holds_path(listed, last_part(module));
}

static int by_text(const void *pa, const void *pb)
{
    return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

static bool is_listed(const char *module, const struct module_names *modules, bool is_list)
{
    const char *const *found =
        bsearch(&module, modules->names, modules->n, sizeof *modules->names, by_text);

    if (found)
        return true;
    for (size_t i = 0; i < modules->n; i++)
        if (fits(module, modules->names[i], is_list))
            return true;
    return false;
}

static void match_base(const struct run_facts *facts, struct arena *arena, struct adapter_facts *out,
                       struct lora_pair *pairs)
{
    const struct source *source = NULL;
    struct module_names modules;

    for (size_t i = 0; i < out->n_pairs; i++)
        pairs[i].matches_base = true;
    if (!module_names_read(facts, arena, &modules) || modules.source_id == 0)
        return; /* the table of families has no paths */
    source = facts_source(facts, modules.source_id);
    bool is_list = source && strcmp(source->importer, "peft_adapter") == 0;
    const char **sorted = arena_array(arena, modules.n + 1, sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, modules.names, modules.n * sizeof *sorted);
    qsort(sorted, modules.n, sizeof *sorted, by_text);
    modules.names = sorted;
    out->modules = modules;
    for (size_t i = 0; i < out->n_pairs; i++) {
        pairs[i].matches_base = is_listed(pairs[i].module, &modules, is_list);
        if (!pairs[i].matches_base && out->n_unmatched++ == 0)
            out->first_unmatched = pairs[i].module;
    }
}

/* ---- Scale ---- */

static double number_beside(const struct run_facts *facts, const char *path, const char *raw,
                            const char *canonical)
{
    const struct setting *s = facts_setting_beside(facts, path, SIDE_ADAPTER, raw);
    double value;

    if (!s)
        s = facts_setting(facts, canonical);
    return setting_number(s, &value) ? value : NAN;
}

/* What the scale of a pair is made of, asked once for all of them. */
struct scaling {
    const struct run_facts *facts;
    double alpha, rank;
    bool by_root;               /* rank-stabilised */
    size_t first_pattern;       /* settings before it are no alpha_pattern */
};

#define ALPHA_PATTERN "alpha_pattern."

static struct scaling scaling_of(const struct run_facts *facts, const char *path)
{
    struct scaling scaling = {
        .facts = facts,
        .alpha = number_beside(facts, path, "lora_alpha", "lora_alpha"),
        .rank = number_beside(facts, path, "r", "lora_r"),
        .by_root =
            setting_bool(facts_setting_beside(facts, path, SIDE_ADAPTER, "use_rslora")) == 1,
    };

    while (scaling.first_pattern < facts->n_settings) {
        const struct setting *s = &facts->settings[scaling.first_pattern];

        if (s->side == SIDE_ADAPTER && s->raw_name &&
            strncmp(s->raw_name, ALPHA_PATTERN, sizeof ALPHA_PATTERN - 1) == 0)
            break;
        scaling.first_pattern++;
    }
    return scaling;
}

/* "alpha_pattern.q_proj": PEFT's rule, the end of the module's path. */
static double pattern_of(const struct scaling *scaling, const char *module)
{
    double value;

    for (size_t i = scaling->first_pattern; i < scaling->facts->n_settings; i++) {
        const struct setting *s = &scaling->facts->settings[i];

        if (s->side != SIDE_ADAPTER || !s->raw_name ||
            strncmp(s->raw_name, ALPHA_PATTERN, sizeof ALPHA_PATTERN - 1) != 0)
            continue;
        const char *end = s->raw_name + sizeof ALPHA_PATTERN - 1;
        if ((strcmp(end, module) == 0 || ends_at_dot(module, end)) && setting_number(s, &value))
            return value;
    }
    return NAN;
}

static double scale_of(const struct scaling *scaling, const struct lora_pair *pair)
{
    double alpha = pattern_of(scaling, pair->module);
    double rank = pair->rank > 0 ? (double)pair->rank : scaling->rank;

    if (isnan(alpha))
        alpha = scaling->alpha;
    if (!(rank > 0.0))
        return NAN;
    return scaling->by_root ? alpha / sqrt(rank) : alpha / rank;
}

/* ---- Pairs ---- */

static int by_module(const void *pa, const void *pb)
{
    const struct piece *a = pa, *b = pb;
    int order = strcmp(a->module, b->module);

    return order ? order : (a->part > b->part) - (a->part < b->part);
}

static void read_shapes(struct lora_pair *pair)
{
    int64_t a[4], b[4];
    size_t n_a = tensor_dimensions(pair->a, a), n_b = tensor_dimensions(pair->b, b);
    bool is_mlx = pair->a && strstr(pair->a->name, ".lora_a") != NULL;

    pair->rank = pair->n_in = pair->n_out = NONE;
    if (n_a == 2) {
        pair->rank = is_mlx ? a[1] : a[0];
        pair->n_in = is_mlx ? a[0] : a[1];
    }
    if (n_b == 2) {
        pair->n_out = is_mlx ? b[1] : b[0];
        if (pair->rank == NONE)
            pair->rank = is_mlx ? b[0] : b[1];
    }
}

static void finish_pair(const struct scaling *scaling, struct adapter_facts *out, struct lora_pair *pair)
{
    read_shapes(pair);
    pair->layer = layer_of(pair->module);
    pair->scale = scale_of(scaling, pair);
    pair->delta_norm = pair->b ? pair->scale * pair->b->delta_norm : NAN;
    if (pair->a && pair->b)
        return;
    if (pair->a || pair->b)
        if (out->n_halves++ == 0)
            out->first_half = pair->module;
}

static bool make_pairs(const struct run_facts *facts, struct arena *arena, struct piece *pieces,
                       size_t n, struct adapter_facts *out)
{
    struct lora_pair *pairs = arena_array(arena, n + 1, sizeof *pairs);

    if (!pairs)
        return false;
    qsort(pieces, n, sizeof *pieces, by_module);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(pieces[i - 1].module, pieces[i].module) != 0)
            pairs[out->n_pairs++] = (struct lora_pair){.module = pieces[i].module};
        struct lora_pair *pair = &pairs[out->n_pairs - 1];
        if (pieces[i].part == PART_A)
            pair->a = pieces[i].tensor;
        else if (pieces[i].part == PART_B)
            pair->b = pieces[i].tensor;
        else
            pair->magnitude = pieces[i].tensor;
    }
    const struct scaling scaling = scaling_of(facts, out->artefact->path);
    for (size_t i = 0; i < out->n_pairs; i++)
        finish_pair(&scaling, out, &pairs[i]);
    out->pairs = pairs;
    match_base(facts, arena, out, pairs);
    return true;
}

static void mark_layers(const struct run_facts *facts, struct arena *arena, struct adapter_facts *out)
{
    double depth;

    out->n_layers = out->n_covered = NONE;
    if (!setting_number(facts_setting_on(facts, SIDE_MODEL, "num_hidden_layers"), &depth) ||
        depth < 1.0 || depth > 10000.0)
        return;
    uint8_t *marks = arena_alloc(arena, (size_t)depth);
    if (!marks)
        return;
    out->n_layers = (int64_t)depth;
    out->n_covered = 0;
    for (size_t i = 0; i < out->n_pairs; i++) {
        int64_t layer = out->pairs[i].layer;

        if (layer < 0 || layer >= out->n_layers || marks[layer] == UINT8_MAX)
            continue;
        out->n_covered += marks[layer]++ == 0;
    }
    out->layers = marks;
}

static void count_values(struct adapter_facts *out, const struct tensor *tensors, size_t n)
{
    enum part part;

    out->n_values = out->n_lora = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_lora = mark_of(tensors[i].name, &part) != NULL;

        out->n_empty += tensors[i].n_values == 0;
        if (tensors[i].n_values < 0 || out->n_values == NONE) {
            out->n_values = out->n_lora = NONE; /* names alone */
            continue;
        }
        out->n_values += tensors[i].n_values;
        out->n_lora += is_lora ? tensors[i].n_values : 0;
    }
}

static void look_at_names(struct adapter_facts *out, const struct tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strncmp(tensors[i].name, PEFT_PREFIX PEFT_PREFIX, 2 * (sizeof PEFT_PREFIX - 1)) == 0)
            out->is_wrapped_twice = true;
        if (!out->wrapper)
            out->wrapper = wrapper_in(tensors[i].name);
    }
}

bool adapter_facts_read(const struct run_facts *facts, const struct artefact *adapter,
                        struct arena *arena, struct adapter_facts *out)
{
    size_t n, n_pieces = 0, n_others = 0;
    const struct tensor *tensors = facts_tensors(facts, adapter, &n);
    const struct setting *type =
        facts_setting_beside(facts, adapter->path, SIDE_ADAPTER, "peft_type");
    struct piece *pieces = arena_array(arena, n + 1, sizeof *pieces);
    const struct tensor **others = arena_array(arena, n + 1, sizeof *others);
    struct targets targets;

    *out = (struct adapter_facts){.artefact = adapter, .n_expected = NONE, .n_tensors = n};
    if (!type)
        type = facts_setting_on(facts, SIDE_ADAPTER, "peft_type");
    out->peft_type = type ? type->value : NULL;
    out->n_layers = out->n_covered = NONE;
    if (!pieces || !others || n == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        enum part part;
        const char *module = adapter_module_of(tensors[i].name, arena);

        if (module && mark_of(tensors[i].name, &part))
            pieces[n_pieces++] = (struct piece){module, part, &tensors[i]};
        else
            others[n_others++] = &tensors[i];
    }
    out->others = others;
    out->n_others = n_others;
    count_values(out, tensors, n);
    look_at_names(out, tensors, n);
    if (!make_pairs(facts, arena, pieces, n_pieces, out))
        return false;
    mark_layers(facts, arena, out);
    targets_read(facts, arena, &targets);
    double expected = lora_expected(facts, &targets);
    if (expected > 0.0)
        out->n_expected = (int64_t)expected;
    return true;
}
