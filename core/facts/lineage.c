/* What was trained, evaluated and shipped. See lineage.h. */
#include "core/facts/lineage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/eval_suites.h"
#include "core/facts/facts_cache.h"
#include "core/facts/serving.h"

enum { MAX_NODES = 512, MAX_LINKS = 4096 };

struct making {
    const struct run_facts *facts;
    struct arena *arena;
    struct lineage_node *nodes;
    size_t n_nodes;
    struct lineage_link *links;
    size_t n_links;
};

static const char *shown(const struct run_facts *facts, const char *path)
{
    const char *const roots[] = {facts->run.project, facts->run.folder};

    for (size_t i = 0; path && i < 2; i++) {
        size_t n = roots[i] ? strlen(roots[i]) : 0;

        if (n && strncmp(path, roots[i], n) == 0 && path[n] == '/')
            return path + n + 1;
    }
    return path ? path : "";
}

static struct lineage_node *add_node(struct making *m, enum lineage_role role)
{
    if (m->n_nodes == MAX_NODES)
        return NULL;
    struct lineage_node *node = &m->nodes[m->n_nodes++];
    *node = (struct lineage_node){.role = role, .name = "", .step = NONE, .line = NONE};
    return node;
}

/* ---- Files ---- */

bool artefact_is_weights(const struct artefact *a)
{
    static const char *const ENDS[] = {".safetensors", ".bin",  ".pt",   ".pth", ".gguf",
                                       ".npz",         ".ckpt", ".ggml", ".onnx"};
    bool is_kind = strcmp(a->kind, "adapter") == 0 || strcmp(a->kind, "base") == 0 ||
                   strcmp(a->kind, "merged") == 0 || strcmp(a->kind, "gguf") == 0;

    for (size_t i = 0; is_kind && a->path && i < sizeof ENDS / sizeof *ENDS; i++)
        if (str_ends(str_of(a->path), ENDS[i]))
            return true;
    return false;
}

static bool role_of_word(const char *word, enum lineage_role *role)
{
    static const char *const WORDS[LINEAGE_ROLES] = {"base", "trained", "evaluated", "merged", "served"};

    for (int i = 0; word && i < LINEAGE_ROLES; i++)
        if (strcmp(word, WORDS[i]) == 0) {
            *role = (enum lineage_role)i;
            return true;
        }
    return false;
}

/* The folder of a path, with its '/'. */
static struct str folder_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? str_from(path, (size_t)(slash - path) + 1) : str_of("");
}

const struct setting *facts_setting_beside(const struct run_facts *facts, const char *path,
                                           enum side side, const char *name)
{
    struct str folder = folder_of(path);

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if (s->side != side || !s->raw_name || strcmp(s->raw_name, name) != 0 || !s->value ||
            s->type == VALUE_NULL)
            continue;
        const struct source *source = facts_source(facts, s->source_id);
        if (source && str_eq(folder_of(source->path), folder))
            return s;
    }
    return NULL;
}

static const char *value_beside(const struct run_facts *facts, const char *path, enum side side,
                                const char *name)
{
    const struct setting *s = facts_setting_beside(facts, path, side, name);

    return s ? s->value : NULL;
}

static enum lineage_form form_of_file(const struct artefact *a, const char *quantisation)
{
    if (str_ends(str_of(a->path), ".gguf"))
        return FORM_GGUF;
    if (strcmp(a->kind, "adapter") == 0)
        return FORM_ADAPTER;
    if (quantisation)
        return FORM_QUANTISED;
    return a->role && strcmp(a->role, "merged") == 0 ? FORM_MERGED : FORM_FULL;
}

static void add_file(struct making *m, const struct artefact *a)
{
    enum lineage_role role = LINEAGE_TRAINED;

    (void)role_of_word(a->role, &role);
    struct lineage_node *node = add_node(m, role);
    if (!node)
        return;
    node->artefact = a;
    node->name = shown(m->facts, a->path);
    node->sha256 = a->sha256;
    node->step = a->step;
    node->source_id = a->source_id;
    node->base = value_beside(m->facts, a->path, SIDE_ADAPTER, "base_model_name_or_path");
    node->quantisation =
        value_beside(m->facts, a->path, SIDE_MODEL, "quantization_config.quant_method");
    node->dtype = value_beside(m->facts, a->path, SIDE_MODEL, "torch_dtype");
    if (!node->dtype)
        node->dtype = value_beside(m->facts, a->path, SIDE_MODEL, "dtype");
    node->form = form_of_file(a, node->quantisation);
}

/* ---- Records ---- */

/* The name in the path, as whole components. */
static bool path_holds(const char *path, struct str name)
{
    struct str text = str_of(path);

    for (size_t i = 0; name.n && i + name.n <= text.n; i++)
        if ((i == 0 || text.p[i - 1] == '/') && memcmp(text.p + i, name.p, name.n) == 0 &&
            (i + name.n == text.n || text.p[i + name.n] == '/'))
            return true;
    return false;
}

static struct str clean_name(const char *name)
{
    struct str text = str_trim(str_of(name));

    while (str_starts(text, "./"))
        text = str_skip(text, 2);
    while (text.n && text.p[text.n - 1] == '/')
        text = str_first(text, text.n - 1);
    return text;
}

/* The last n components. */
static struct str last_components(struct str name, int n)
{
    size_t from = name.n;

    while (from > 0 && (name.p[from - 1] != '/' || --n > 0))
        from--;
    return str_skip(name, from);
}

/* The imported weights that a record names by file or folder, where only one file can be meant. */
static const struct artefact *file_named(const struct run_facts *facts, const char *name)
{
    struct str whole = clean_name(name);

    for (int n = 3; whole.n && n > 0; n--) {
        struct str part = last_components(whole, n);
        const struct artefact *found = NULL;
        size_t n_found = 0;

        if (n == 1 && part.n < whole.n && str_find(part, ".") < 0 && !str_starts(part, "checkpoint"))
            break;              /* another folder of that name may be meant */
        for (size_t i = 0; i < facts->n_artefacts; i++)
            if (artefact_is_weights(&facts->artefacts[i]) && path_holds(facts->artefacts[i].path, part)) {
                found = &facts->artefacts[i];
                n_found++;
            }
        if (n_found > 0)
            return n_found == 1 ? found : NULL;
    }
    return NULL;
}

static int64_t step_in(const char *name)
{
    const char *at = name ? strstr(name, "checkpoint-") : NULL;
    int64_t step;

    if (!at)
        return NONE;
    at += 11;
    return number_parse_int(str_from(at, strspn(at, "0123456789")), &step) ? step : NONE;
}

/* What the named file adds to a record of it. */
static void complete(struct making *m, struct lineage_node *node)
{
    node->artefact = node->name[0] ? file_named(m->facts, node->name) : NULL;
    if (node->step == NONE)
        node->step = step_in(node->name);
    if (!node->artefact)
        return;
    if (!node->sha256)
        node->sha256 = node->artefact->sha256;
    if (node->step == NONE)
        node->step = node->artefact->step;
    if (node->form == FORM_UNKNOWN)
        node->form = form_of_file(node->artefact, NULL);
}

static bool is_same_record(const struct lineage_node *a, const struct lineage_node *b)
{
    const char *x = a->sha256 ? a->sha256 : "", *y = b->sha256 ? b->sha256 : "";

    return a->role == b->role && a->step == b->step && strcmp(a->name, b->name) == 0 &&
           strcmp(x, y) == 0;
}

static void keep_once(struct making *m)
{
    for (size_t i = 0; i + 1 < m->n_nodes; i++)
        if (m->nodes[i].is_record && is_same_record(&m->nodes[i], &m->nodes[m->n_nodes - 1])) {
            m->n_nodes--;
            return;
        }
}

/* A path or a file, not a word for the model's part in the comparison. */
static bool names_a_file(const char *name)
{
    return name && (strchr(name, '/') || strchr(name, '.') || strstr(name, "checkpoint-"));
}

static void add_suite(struct making *m, const struct eval_suite *suite)
{
    struct lineage_node *node = add_node(m, LINEAGE_EVALUATED);

    if (!node)
        return;
    node->is_record = true;
    node->name = suite->artefact ? suite->artefact : suite->model;
    node->is_alias = !suite->artefact && !names_a_file(suite->model);
    node->sha256 = suite->sha256;
    node->step = suite->step;
    node->form = node->is_alias ? FORM_UNKNOWN : lineage_form_of(node->name);
    node->source_id = suite->source_id;
    node->line = suite->line;
    complete(m, node);
    if (!node->artefact && suite->artefact) { /* "adapter+bf16 base": the model may name the file */
        struct lineage_node by_model = *node;

        by_model.name = suite->model;
        complete(m, &by_model);
        node->artefact = by_model.artefact;
        node->sha256 = by_model.sha256;
        node->step = by_model.step;
    }
    keep_once(m);
}

static void add_evaluated(struct making *m)
{
    for (size_t i = 0; i < m->facts->n_eval_suites; i++)
        if (!eval_model_is_base(m->facts, m->facts->eval_suites[i].model))
            add_suite(m, &m->facts->eval_suites[i]);
}

static const struct setting *stated(const struct run_facts *facts, int64_t source_id, const char *name)
{
    size_t n;
    const struct setting *const *settings = facts_settings_of(facts, source_id, &n);

    for (size_t i = 0; i < n; i++) {
        const char *own = settings[i]->name ? settings[i]->name : settings[i]->raw_name;

        if (settings[i]->side == SIDE_SERVE && own && strcmp(own, name) == 0 && settings[i]->value &&
            settings[i]->value[0] && settings[i]->type != VALUE_NULL)
            return settings[i];
    }
    return NULL;
}

/* "none", "bf16": it is not quantised. */
static const char *quantisation_of(const struct setting *setting)
{
    static const char *const NOT[] = {"none", "null", "false", "no", "fp16", "bf16", "f16", "float16",
                                      "bfloat16", "auto", "fp32"};

    for (size_t i = 0; setting && i < sizeof NOT / sizeof *NOT; i++)
        if (str_is_ignoring_case(str_of(setting->value), NOT[i]))
            return NULL;
    return setting ? setting->value : NULL;
}

/* The base alone: what it serves is in the adapters beside it. */
static bool names_the_base(const struct run_facts *facts, const struct setting *model)
{
    const struct setting *base = facts_setting_on(facts, SIDE_ADAPTER, "base_model_name_or_path");

    return model && base && base->value &&
           (strcmp(model->value, base->value) == 0 || base_names_agree(model->value, base->value) == 1);
}

static void fill_served(struct making *m, struct lineage_node *node, int64_t source_id)
{
    const struct setting *artefact = stated(m->facts, source_id, "artefact");
    const struct setting *model = stated(m->facts, source_id, "model");
    const struct setting *hash = stated(m->facts, source_id, "sha256");
    const struct setting *step = stated(m->facts, source_id, "step");
    const struct setting *dtype = stated(m->facts, source_id, "dtype");
    const struct setting *names = artefact ? artefact : model;
    double number;

    node->is_record = true;
    node->name = names ? names->value : "";
    node->is_alias = !artefact && model && !names_a_file(model->value);
    node->sha256 = hash ? hash->value : NULL;
    node->source_id = source_id;
    node->line = hash ? hash->line : names ? names->line : step ? step->line : NONE;
    node->quantisation = quantisation_of(stated(m->facts, source_id, "quantization"));
    node->dtype = dtype ? dtype->value : NULL;
    if (setting_number(step, &number) && number >= 0.0 && number < 9e15)
        node->step = (int64_t)number;
    node->form = node->is_alias ? FORM_UNKNOWN : lineage_form_of(node->name);
    if (node->form == FORM_UNKNOWN && node->quantisation)
        node->form = lineage_form_of(node->quantisation) == FORM_GGUF ? FORM_GGUF : FORM_QUANTISED;
    complete(m, node);
}

/* One record of what is served, as one file states it. */
static void add_served(struct making *m, int64_t source_id)
{
    const struct setting *model = stated(m->facts, source_id, "model");
    bool says_more = stated(m->facts, source_id, "artefact") || stated(m->facts, source_id, "sha256") ||
                     stated(m->facts, source_id, "step");

    if (!says_more && (!model || stated(m->facts, source_id, "adapter") ||
                       names_the_base(m->facts, model)))
        return;
    struct lineage_node *node = add_node(m, LINEAGE_SERVED);
    if (node)
        fill_served(m, node, source_id);
}

/* Adapters that a server loads by name and path. */
static void add_served_adapters(struct making *m)
{
    const struct serving *serving = facts_serving(m->facts);

    for (size_t i = 0; serving && i < serving->n_adapters; i++) {
        const struct served_adapter *a = &serving->adapters[i];
        struct lineage_node *node = add_node(m, LINEAGE_SERVED);

        if (!node)
            return;
        node->is_record = true;
        node->is_alias = !a->path;
        node->name = a->path ? a->path : a->name ? a->name : "";
        node->form = FORM_ADAPTER;
        node->source_id = a->setting ? a->setting->source_id : 0;
        node->line = a->setting ? a->setting->line : NONE;
        complete(m, node);
        if (!node->artefact && a->artefact) {
            node->artefact = a->artefact;
            node->sha256 = a->artefact->sha256;
        }
        for (size_t k = 0; k + 1 < m->n_nodes; k++) /* the record that states it may state its hash too */
            if (m->nodes[k].role == LINEAGE_SERVED && m->nodes[k].is_record &&
                m->nodes[k].source_id == node->source_id &&
                (m->nodes[k].sha256 || m->nodes[k].artefact == node->artefact)) {
                m->n_nodes--;
                break;
            }
    }
}

static void add_records(struct making *m)
{
    add_evaluated(m);
    for (size_t i = 0; i < m->facts->n_sources; i++)
        if (strcmp(m->facts->sources[i].importer, "openai_request") != 0)
            add_served(m, m->facts->sources[i].id);
    add_served_adapters(m);
}

/* What the adapters say they were trained on, where no file of a base is there. */
static void add_base(struct making *m)
{
    const struct setting *base = facts_setting_on(m->facts, SIDE_ADAPTER, "base_model_name_or_path");

    for (size_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].role == LINEAGE_BASE)
            return;
    if (!base || !base->value || !base->value[0])
        base = facts_setting_on(m->facts, SIDE_TRAIN, "model_name_or_path");
    struct lineage_node *node = base && base->value && base->value[0] ? add_node(m, LINEAGE_BASE) : NULL;
    if (!node)
        return;
    node->is_record = true;
    node->name = base->value;
    node->form = FORM_FULL;
    node->source_id = base->source_id;
    node->line = base->line;
}

/* ---- Links ---- */

static void add_link(struct making *m, struct lineage_link link)
{
    if (m->n_links < MAX_LINKS)
        m->links[m->n_links++] = link;
}

/* Kinds that can be told from each other: a merged model is a whole one. */
static enum lineage_form broad_form(enum lineage_form form)
{
    return form == FORM_MERGED ? FORM_FULL : form;
}

static const char *short_hash(struct making *m, const char *hash)
{
    return arena_printf(m->arena, "%.12s", hash ? hash : "");
}

static struct lineage_link told_apart(struct making *m, const struct lineage_node *a,
                                      const struct lineage_node *b)
{
    enum lineage_form x = broad_form(a->form), y = broad_form(b->form);
    struct lineage_link link = {.state = LINK_BROKEN};

    if (x != FORM_UNKNOWN && y != FORM_UNKNOWN && x != y) {
        link.by = BY_FORM;
        link.why = arena_printf(m->arena, "%s was evaluated, %s is served", lineage_form_name(a->form),
                                lineage_form_name(b->form));
    } else if (a->step != NONE && b->step != NONE && a->step != b->step) {
        link.by = BY_STEP;
        link.why = arena_printf(m->arena, "step %lld was evaluated, step %lld is served",
                                (long long)a->step, (long long)b->step);
    } else if (a->step != NONE && a->step == b->step) {
        link = (struct lineage_link){.state = LINK_LIKELY, .by = BY_STEP, .why = "the same step"};
    } else if (a->is_alias || b->is_alias) {
        link = (struct lineage_link){.state = LINK_UNKNOWN, .why = "nothing to compare by"};
    } else if (a->name[0] && b->name[0] && strcmp(a->name, b->name) == 0) {
        link = (struct lineage_link){.state = LINK_LIKELY, .by = BY_NAME, .why = "the same name"};
    } else if (a->name[0] && b->name[0]) {
        link.by = BY_NAME;
        link.why = arena_printf(m->arena, "%s was evaluated, %s is served", a->name, b->name);
    } else {
        link = (struct lineage_link){.state = LINK_UNKNOWN, .why = "nothing to compare by"};
    }
    return link;
}

static struct lineage_link compare_nodes(struct making *m, const struct lineage_node *a,
                                         const struct lineage_node *b)
{
    int same = lineage_hashes_agree(a->sha256, b->sha256);

    if (same == 1)
        return (struct lineage_link){.state = LINK_SAME, .by = BY_HASH, .why = "the same sha256"};
    if (same == 0)
        return (struct lineage_link){
            .state = LINK_BROKEN,
            .by = BY_HASH,
            .why = arena_printf(m->arena, "sha256 %s was evaluated, %s is served",
                                short_hash(m, a->sha256), short_hash(m, b->sha256))};
    return told_apart(m, a, b);
}

static void link_evaluated(struct making *m)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        for (size_t k = 0; k < m->n_nodes; k++) {
            if (m->nodes[i].role != LINEAGE_EVALUATED || m->nodes[k].role != LINEAGE_SERVED)
                continue;
            struct lineage_link link = compare_nodes(m, &m->nodes[i], &m->nodes[k]);
            link.from = i;
            link.to = k;
            add_link(m, link);
        }
}

/* The file of the run that a record, or a file elsewhere, is. */
static void link_trained(struct making *m)
{
    for (size_t k = 0; k < m->n_nodes; k++) {
        const struct lineage_node *to = &m->nodes[k];

        if (to->role != LINEAGE_EVALUATED && to->role != LINEAGE_SERVED)
            continue;
        for (size_t i = 0; i < m->n_nodes; i++) {
            const struct lineage_node *from = &m->nodes[i];
            bool is_file = (from->role == LINEAGE_TRAINED || from->role == LINEAGE_MERGED) &&
                           !from->is_record;

            if (is_file && lineage_hashes_agree(from->sha256, to->sha256) == 1)
                add_link(m, (struct lineage_link){.from = i, .to = k, .state = LINK_SAME, .by = BY_HASH,
                                                  .why = "the same sha256"});
            else if (is_file && to->artefact && to->artefact == from->artefact && !to->sha256)
                add_link(m, (struct lineage_link){.from = i, .to = k, .state = LINK_LIKELY,
                                                  .by = BY_NAME, .why = "the record names the file"});
        }
    }
}

static void link_base(struct making *m)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        for (size_t k = 0; k < m->n_nodes; k++) {
            const struct lineage_node *base = &m->nodes[i], *to = &m->nodes[k];

            if (base->role != LINEAGE_BASE || to->role == LINEAGE_BASE || !to->base)
                continue;
            int same = base_names_agree(base->name, to->base);
            add_link(m, (struct lineage_link){
                            .from = i,
                            .to = k,
                            .state = same == 1   ? LINK_LIKELY
                                     : same == 0 ? LINK_BROKEN
                                                 : LINK_UNKNOWN,
                            .by = same < 0 ? BY_NOTHING : BY_NAME,
                            .why = arena_printf(m->arena, "it names %s as its base", to->base)});
        }
}

static int by_role(const void *pa, const void *pb)
{
    const struct lineage_node *a = pa, *b = pb;

    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->is_record != b->is_record)
        return a->is_record ? 1 : -1;
    if (a->source_id != b->source_id)
        return a->source_id < b->source_id ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static struct lineage *make(const struct run_facts *facts)
{
    struct making m = {.facts = facts, .arena = facts->cache->arena};
    struct lineage *out = arena_alloc(m.arena, sizeof *out);

    m.nodes = arena_array(m.arena, MAX_NODES, sizeof *m.nodes);
    m.links = arena_array(m.arena, MAX_LINKS, sizeof *m.links);
    if (!out || !m.nodes || !m.links)
        return NULL;
    for (size_t i = 0; i < facts->n_artefacts; i++)
        if (artefact_is_weights(&facts->artefacts[i]))
            add_file(&m, &facts->artefacts[i]);
    add_records(&m);
    add_base(&m);
    qsort(m.nodes, m.n_nodes, sizeof *m.nodes, by_role);
    link_base(&m);
    link_trained(&m);
    link_evaluated(&m);
    *out = (struct lineage){
        .nodes = m.nodes, .n_nodes = m.n_nodes, .links = m.links, .n_links = m.n_links};
    return out;
}

const struct lineage *facts_lineage(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;

    if (!cache->lineage)
        cache->lineage = make(facts);
    return cache->lineage;
}

const struct lineage_link *lineage_link_of(const struct lineage *lineage, enum lineage_role from,
                                           enum lineage_role to)
{
    static const int WEIGHT[] = {[LINK_SAME] = 2, [LINK_LIKELY] = 1, [LINK_UNKNOWN] = 0,
                                 [LINK_BROKEN] = 3};
    const struct lineage_link *best = NULL;

    for (size_t i = 0; lineage && i < lineage->n_links; i++) {
        const struct lineage_link *link = &lineage->links[i];

        if (lineage->nodes[link->from].role == from && lineage->nodes[link->to].role == to &&
            (!best || WEIGHT[link->state] > WEIGHT[best->state]))
            best = link;
    }
    return best;
}
