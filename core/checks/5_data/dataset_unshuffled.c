/* C5.3: do the rows arrive mixed? The runs of the class or source column as the importer counted
 * them, against those that chance gives, and what the settings say of the sampler. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/facts/dataset_shards.h"
#include "core/facts/eval_points.h"
#include "core/read/json.h"
#include "core/stats/runs_test.h"

enum { FEWEST_ROWS = 20, FEWEST_OF_CLASS = 5, MAX_LISTED = 32, MANY_ANSWERS = 20, NAMED = 4,
       NAME_BYTES = 40 };

static const double IN_BLOCKS = 0.2, IS_MIXED = 0.5, RISE = 1.5;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = facts->run.marks & MARK_TEN_ROW_TEST ? "ten rows have no order" : "nothing was trained";
    return !(facts->run.marks & (MARK_TEN_ROW_TEST | MARK_EVAL_ONLY));
}

/* ---- The sampler ---- */

enum order { ORDER_UNKNOWN, ORDER_MIXED, ORDER_AS_FILE };

struct sampler {
    enum order order;
    const struct setting *setting;  /* what decided, or NULL */
    const char *why;
};

static bool has_word(const char *text, const char *word)
{
    return text && str_has_ignoring_case(str_of(text), word);
}

/* A loader's own switch: "shuffle", "dataloader_shuffle", "train_ds.shuffle", "disable_shuffling". */
static bool says_shuffle(const struct setting *setting, int *shuffles)
{
    static const char *const NAMES[] = {"shuffle", "dataloader_shuffle", "train_dataloader_shuffle",
                                        "disable_shuffling"};
    const char *raw = setting->raw_name ? setting->raw_name : "";
    const char *dot = strrchr(raw, '.'), *last = dot ? dot + 1 : raw;

    if (setting->side != SIDE_TRAIN || has_word(raw, "val") || has_word(raw, "test"))
        return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strcmp(last, NAMES[i]) != 0)
            continue;
        *shuffles = setting_bool(setting);
        if (strcmp(last, "disable_shuffling") == 0 && *shuffles >= 0)
            *shuffles = !*shuffles;
        return *shuffles >= 0;
    }
    return false;
}

static bool is_framework(const struct run_facts *facts, const char *word)
{
    return has_word(facts->run.framework, word) || has_word(facts_text(facts, "framework"), word);
}

/* The weights of the two labels are arguments of TRL's KTO trainer alone, under these names. */
static bool has_kto_arguments(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"desirable_weight", "undesirable_weight"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct setting *weight = facts_setting_on(facts, SIDE_TRAIN, NAMES[i]);

        if (weight && weight->raw_name && strcmp(weight->raw_name, NAMES[i]) == 0)
            return true;
    }
    return false;
}

static bool is_kto(const struct run_facts *facts)
{
    return has_word(facts_text(facts, "args_class"), "kto") ||
           (is_framework(facts, "trl") && has_word(facts_text(facts, "trainer"), "kto")) ||
           (has_kto_arguments(facts) && !is_framework(facts, "llama") && !is_framework(facts, "swift"));
}

/* A stream is read in order unless a buffer mixes it; two frameworks have one unless told otherwise. */
static bool reads_stream(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"buffer_size", "shuffle_buffer_size"};
    bool has_default = is_framework(facts, "llama") || is_framework(facts, "swift");

    if (facts_bool(facts, "streaming") != 1 || has_default)
        return false;
    for (size_t i = 0; i < facts->n_settings; i++)
        for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
            double size = 0.0;
            const char *raw = facts->settings[i].raw_name;
            if (raw && strcmp(raw, NAMES[k]) == 0 &&
                setting_number(&facts->settings[i], &size) && size > 1.0)
                return false;
        }
    return true;
}

/* Training arguments of transformers or of what is built on it. */
static bool has_trainer_arguments(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"per_device_train_batch_size", "gradient_accumulation_steps",
                                        "num_train_epochs", "args_class"};
    static const char *const OTHERS[] = {"torchtune", "nemo", "litgpt", "mlx", "lightning"};

    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (is_framework(facts, OTHERS[i]))
            return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (facts_setting(facts, NAMES[i]))
            return true;
    return false;
}

static struct sampler find_sampler(const struct run_facts *facts)
{
    const struct setting *strategy = facts_setting(facts, "train_sampling_strategy");

    for (size_t i = 0; i < facts->n_settings; i++) {
        int shuffles = -1;
        if (says_shuffle(&facts->settings[i], &shuffles) && shuffles == 0)
            return (struct sampler){ORDER_AS_FILE, &facts->settings[i], "shuffling is off"};
    }
    if (strategy && has_word(strategy->value, "sequential"))
        return (struct sampler){ORDER_AS_FILE, strategy, "the sampler is sequential"};
    if (strategy && (has_word(strategy->value, "random") || has_word(strategy->value, "group") ||
                     has_word(strategy->value, "rebalance")))
        return (struct sampler){ORDER_MIXED, strategy, "the sampler mixes the rows"};
    if (facts_bool(facts, "group_by_length") == 1)
        return (struct sampler){ORDER_MIXED, facts_setting(facts, "group_by_length"),
                                "rows are drawn at random and grouped by length"};
    if (reads_stream(facts))
        return (struct sampler){ORDER_AS_FILE, facts_setting(facts, "streaming"),
                                "the rows are streamed without a shuffle buffer"};
    if (is_kto(facts))
        return (struct sampler){ORDER_AS_FILE, facts_setting(facts, "args_class"),
                                "TRL's KTO trainer reads in the order of the file"};
    for (size_t i = 0; i < facts->n_settings; i++) {
        int shuffles = -1;
        if (says_shuffle(&facts->settings[i], &shuffles) && shuffles == 1)
            return (struct sampler){ORDER_MIXED, &facts->settings[i], "shuffling is on"};
    }
    if (has_trainer_arguments(facts))
        return (struct sampler){ORDER_MIXED, NULL,
                                "a transformers trainer without a sampler setting draws at random"};
    return (struct sampler){ORDER_UNKNOWN, NULL, "the sampler is not known"};
}

/* ---- The order of the file ---- */

struct blocks {
    const struct setting *setting;
    const struct dataset *dataset;
    struct shard_set set;       /* of a data set in several files; n 0: it is one file */
    const char *column;
    int64_t runs, n_rows;
    int64_t edges[MAX_LISTED];
    size_t n_edges, n_classes;
    struct runs_test test;
    const char *names;          /* " (neg, pos)" of its classes, or "" */
};

static size_t read_list(const struct json *list, int64_t *out)
{
    size_t n = 0;

    for (const struct json *item = json_is(list, JSON_ARRAY) ? list->child : NULL;
         item && n < MAX_LISTED; item = item->next)
        if (item->type == JSON_NUMBER && item->number >= 0.0 && item->number < 9e15)
            out[n++] = (int64_t)item->number;
    return n;
}

/* An answer is a class only where few of them recur. */
static bool is_answer(const char *column)
{
    static const char *const NAMES[] = {"output", "completion", "answer", "response", "target"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(column, NAMES[i]) == 0)
            return true;
    return false;
}

static const struct json *tree_of(struct check_ctx *ctx, const struct setting *setting)
{
    const struct json *tree = NULL;

    return setting->value &&
                   json_parse(str_of(setting->value), false, ctx->arena, &tree, NULL, NULL) == OK
               ? tree
               : NULL;
}

/* ---- The order of shards ---- */

/* All shards as one: their classes by hash, their runs, less those that go on in the next file. */
struct joined {
    struct str classes[MAX_LISTED], last, names[MAX_LISTED];
    int64_t counts[MAX_LISTED], runs, edges[MAX_LISTED];
    size_t n_classes, n_edges;
};

static const struct json *first_of(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->child : NULL;
}

static bool join_counts(struct joined *all, const struct json *tree)
{
    const struct json *count = first_of(json_get(tree, "counts"));
    const struct json *name = first_of(json_get(tree, "names"));

    for (const struct json *c = first_of(json_get(tree, "classes")); c && count;
         c = c->next, count = count->next, name = name ? name->next : NULL) {
        size_t at = 0;

        while (at < all->n_classes && !str_eq(all->classes[at], c->text))
            at++;
        if (at == MAX_LISTED || c->type != JSON_STRING || count->type != JSON_NUMBER)
            return false;
        if (at == all->n_classes)
            all->classes[all->n_classes++] = c->text;
        all->counts[at] += (int64_t)count->number;
        if (json_is(name, JSON_STRING))
            all->names[at] = name->text;
    }
    return true;
}

static bool join_shard(struct joined *all, const struct json *tree, int64_t first_row)
{
    const struct json *ends = json_get(tree, "ends"), *runs = json_get(tree, "runs");
    int64_t edges[MAX_LISTED];

    if (!json_is(ends, JSON_ARRAY) || !json_is(ends->child, JSON_STRING) ||
        !json_is(ends->child->next, JSON_STRING) || !json_is(runs, JSON_NUMBER) ||
        !join_counts(all, tree))
        return false;
    bool goes_on = all->last.n && str_eq(all->last, ends->child->text);
    size_t n = read_list(json_get(tree, "edges"), edges);
    all->runs += (int64_t)runs->number - goes_on;
    for (size_t i = goes_on; i < n && all->n_edges < MAX_LISTED; i++)
        all->edges[all->n_edges++] = first_row + edges[i];
    all->last = ends->child->next->text;
    return true;
}

static const struct setting *blocks_of(const struct run_facts *facts, const char *raw_name,
                                       int64_t source_id)
{
    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].source_id == source_id && facts->settings[i].raw_name &&
            strcmp(facts->settings[i].raw_name, raw_name) == 0)
            return &facts->settings[i];
    return NULL;
}

/* A shard without the column, or of too many classes, leaves the order of all unknown. */
static bool join_shards(struct check_ctx *ctx, struct blocks *out, struct joined *all)
{
    for (size_t i = 0; i < out->set.n; i++) {
        const struct shard *shard = &out->set.shards[i];
        const struct setting *setting =
            blocks_of(ctx->facts, out->setting->raw_name, shard->dataset->source_id);

        if (!setting || !join_shard(all, tree_of(ctx, setting), shard->first_row))
            return false;
    }
    return true;
}

static const struct dataset *dataset_of(const struct run_facts *facts, int64_t source_id)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].source_id == source_id)
            return &facts->datasets[i];
    return NULL;
}

/* " (neg, pos, neutral and 5 more)" */
static const char *names_text(struct check_ctx *ctx, const struct str *names, size_t n)
{
    const char *text = "";

    for (size_t i = 0; text && i < n && i < NAMED; i++) {
        if (names[i].n == 0)
            return "";
        text = arena_printf(ctx->arena, "%s%s%.*s", text, i ? ", " : " (",
                            (int)(names[i].n < NAME_BYTES ? names[i].n : NAME_BYTES), names[i].p);
    }
    if (text && n > NAMED)
        text = arena_printf(ctx->arena, "%s and %zu more", text, n - NAMED);
    return text && n ? arena_printf(ctx->arena, "%s)", text) : "";
}

static size_t read_names(const struct json *list, struct str names[MAX_LISTED])
{
    size_t n = 0;

    for (const struct json *name = first_of(list); name && n < MAX_LISTED; name = name->next)
        names[n++] = json_is(name, JSON_STRING) ? name->text : str_of(NULL);
    return n;
}

/* Runs, counts and edges, of the file or of all shards; *n: counts. 0: not known, or told by the first
 * shard. */
static size_t read_counts(struct check_ctx *ctx, struct blocks *out, int64_t counts[MAX_LISTED])
{
    const struct json *tree = tree_of(ctx, out->setting), *runs = json_get(tree, "runs");
    struct joined all = {.n_classes = 0};

    if (!tree)
        return 0;
    if (!out->dataset || !shard_set_of(ctx->facts, out->dataset, ctx->arena, &out->set)) {
        size_t n_names = read_names(json_get(tree, "names"), all.names);
        out->names = names_text(ctx, all.names, n_names);
        out->n_edges = read_list(json_get(tree, "edges"), out->edges);
        out->runs = json_is(runs, JSON_NUMBER) ? (int64_t)runs->number : 0;
        return read_list(json_get(tree, "counts"), counts);
    }
    if (out->set.shards[0].dataset != out->dataset || !join_shards(ctx, out, &all))
        return 0;
    out->names = names_text(ctx, all.names, all.n_classes);
    out->runs = all.runs;
    out->n_edges = all.runs <= (int64_t)all.n_edges ? all.n_edges : 0;
    memcpy(out->edges, all.edges, sizeof all.edges);
    memcpy(counts, all.counts, sizeof all.counts);
    return all.n_classes;
}

static bool read_blocks(struct check_ctx *ctx, const struct setting *setting, struct blocks *out)
{
    static const char PREFIX[] = "rows.blocks.";
    int64_t counts[MAX_LISTED];

    if (!setting->raw_name || strncmp(setting->raw_name, PREFIX, sizeof PREFIX - 1) != 0)
        return false;
    *out = (struct blocks){.setting = setting,
                           .column = setting->raw_name + sizeof PREFIX - 1,
                           .dataset = dataset_of(ctx->facts, setting->source_id)};
    out->n_classes = read_counts(ctx, out, counts);
    size_t n_large = 0;
    for (size_t i = 0; i < out->n_classes; i++)
        n_large += counts[i] >= FEWEST_OF_CLASS;
    out->test = runs_test(counts, out->n_classes, out->runs);
    out->n_rows = out->test.n;
    if (is_answer(out->column) && (n_large < out->n_classes || out->n_classes > MANY_ANSWERS))
        return false;
    return out->n_rows >= FEWEST_ROWS && n_large >= 2 && isfinite(out->test.ratio);
}

static bool is_training(const struct dataset *dataset)
{
    return dataset && (!dataset->split || (strcmp(dataset->split, "eval") != 0 &&
                                           strcmp(dataset->split, "test") != 0));
}

/* The column whose rows stand most in blocks. */
static bool find_blocks(struct check_ctx *ctx, struct blocks *worst)
{
    bool any = false;

    for (size_t i = 0; i < ctx->facts->n_settings; i++) {
        struct blocks now;
        if (!read_blocks(ctx, &ctx->facts->settings[i], &now) || !is_training(now.dataset))
            continue;
        if (!any || now.test.ratio < worst->test.ratio)
            *worst = now;
        any = true;
    }
    return any;
}

/* ---- The loss at the edges ---- */

struct edges {
    size_t n_epochs;            /* in which the loss rises at most of the edges */
    size_t shown;               /* row of the loss curve after the first of them */
    double before, after;
};

static double mean3(const double *y, size_t from, size_t to)
{
    double sum = 0.0;
    size_t n = to - from < 3 ? to - from : 3;

    for (size_t i = 0; i < n; i++)
        sum += y[from + i];
    return n ? sum / (double)n : NAN;
}

/* The rise at a step: the mean of 3 rows before against the highest of 3 rows behind it. */
static bool rises_at(const struct eval_points *loss, double step, double *before, double *after,
                     size_t *row)
{
    size_t at = 0;

    while (at < loss->n && (double)loss->step[at] <= step)
        at++;
    if (at < 3 || at >= loss->n)
        return false;
    *before = mean3(loss->value, at - 3, at);
    *after = 0.0;
    for (size_t i = at; i < loss->n && i < at + 3; i++)
        if (loss->value[i] > *after) {
            *after = loss->value[i];
            *row = i;
        }
    return *after > RISE * *before && *before > 0.0;
}

static struct edges look_at_edges(struct check_ctx *ctx, const struct blocks *b)
{
    const struct run_facts *facts = ctx->facts;
    struct edges found = {0};
    struct eval_points loss;

    if (!(facts->last_epoch >= 2.0) || facts->last_epoch > 1000.0 || facts->last_step <= 0 ||
        b->n_edges < 2 || b->n_rows <= 0 ||
        !eval_points_read(facts_curve(facts, "loss"), ctx->arena, &loss) || loss.step[0] == NONE)
        return found;
    double per_epoch = (double)facts->last_step / facts->last_epoch;
    for (double epoch = 0.0; epoch + 0.5 < facts->last_epoch; epoch++) {
        size_t n = 0, n_rises = 0;

        for (size_t i = epoch > 0.0 ? 0 : 1; i < b->n_edges; i++) {
            double before, after, share = (double)b->edges[i] / (double)b->n_rows;
            size_t row = 0;

            n++;
            if (!rises_at(&loss, (epoch + share) * per_epoch, &before, &after, &row))
                continue;
            if (n_rises++ == 0 && found.n_epochs == 0)
                found = (struct edges){0, row, before, after};
        }
        found.n_epochs += n_rises * 2 > n;
    }
    return found;
}

/* ---- The verdict ---- */

/* The first row of the second block, in the file that it lies in. */
static void show_edge(const struct blocks *b, struct evidence *evidence)
{
    const struct shard *shard = shard_of_row(&b->set, b->edges[1]);

    evidence->row = b->edges[1] - (shard ? shard->first_row : 0);
    if (shard)
        evidence->source_id = shard->dataset->source_id;
}

static void show(struct check_ctx *ctx, const struct blocks *b, const struct sampler *s,
                 const struct edges *e)
{
    struct evidence *runs = evidence_add(
        ctx, "dataset", "column %s: %lld runs in %lld rows of %zu classes%s, %.0f expected of mixed rows",
        b->column, (long long)b->runs, (long long)b->n_rows, b->n_classes, b->names ? b->names : "",
        b->test.expected);
    runs->source_id = b->setting->source_id;
    runs->value = (double)b->runs;
    runs->has_value = true;
    runs->bound = IN_BLOCKS * b->test.expected;
    runs->has_bound = true;
    if (b->n_edges > 1)
        show_edge(b, runs);
    evidence_setting(ctx, s->setting);
    if (b->set.n && !b->set.is_whole)
        check_info(ctx, "%zu of %lld files of the data set were imported: of the others nothing is known",
                   b->set.n, (long long)b->set.total);
    struct eval_points loss;
    if (e->n_epochs > 0 && eval_points_read(facts_curve(ctx->facts, "loss"), ctx->arena, &loss) &&
        e->shown < loss.n)
        evidence_point(ctx, loss.curve, loss.at[e->shown],
                       "loss %.4g at the edge of a block, %.4g before it (epochs with such edges: %zu)",
                       e->after, e->before, e->n_epochs);
    check_fix(ctx, "shuffle: train_sampling_strategy random (LLaMA-Factory: disable_shuffling false)");
    check_fix(ctx, "shuffle the file itself, with a seed");
    check_fix(ctx, "of a stream: a larger shuffle buffer");
}

static int judge_blocks(struct check_ctx *ctx, const struct blocks *b, const struct sampler *s)
{
    struct edges edges = look_at_edges(ctx, b);
    bool shows = edges.n_epochs >= 2;

    if (s->order == ORDER_MIXED && !shows)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "the rows stand in blocks by %s (%lld runs, %.0f expected), but %s", b->column,
                          (long long)b->runs, b->test.expected, s->why);
    show(ctx, b, s, &edges);
    if (s->order == ORDER_AS_FILE)
        return check_fail(ctx, CONFIDENCE_CERTAIN, "",
                          "the rows come in %lld blocks by %s (%.0f runs expected of mixed rows) and "
                          "%s%s",
                          (long long)b->runs, b->column, b->test.expected, s->why,
                          shows ? "; the loss rises at their edges" : "");
    return check_warn(ctx, shows ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE, "",
                      "the rows stand in %lld blocks by %s (%.0f runs expected of mixed rows); %s%s",
                      (long long)b->runs, b->column, b->test.expected, s->why,
                      shows ? ", and the loss rises at their edges in each epoch" : "");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct sampler sampler = find_sampler(ctx->facts);
    struct blocks blocks = {0};

    (void)err;
    bool has_blocks = find_blocks(ctx, &blocks);
    if (has_blocks && blocks.test.ratio < IN_BLOCKS)
        return judge_blocks(ctx, &blocks, &sampler);
    if (sampler.order == ORDER_MIXED)
        return check_pass(ctx, CONFIDENCE_LIKELY, "%s", sampler.why);
    if (has_blocks && blocks.test.ratio >= IS_MIXED)
        return check_pass(ctx, CONFIDENCE_STRONG, "by %s the rows are mixed: %lld runs, %.0f expected",
                          blocks.column, (long long)blocks.runs, blocks.test.expected);
    if (has_blocks && sampler.order == ORDER_AS_FILE)
        return check_unknown(ctx, "metric rows of two epochs: the rows stand partly in blocks by %s (%lld "
                                  "runs, %.0f expected) and %s",
                             blocks.column, (long long)blocks.runs, blocks.test.expected, sampler.why);
    if (sampler.order == ORDER_AS_FILE)
        return check_unknown(ctx, "training rows with a label or source column: %s", sampler.why);
    return check_unknown(ctx, "the training arguments (which sampler draws the rows)");
}

const struct check check_dataset_unshuffled = {
    .id = "dataset-unshuffled",
    .version = 3,
    .stage = STAGE_DATA,
    .severity = SEVERITY_WASTES,
    .title = "Rows arrive mixed",
    .why = "Rows that come class by class are learned and forgotten in turn: each step pulls towards "
           "one class only.",
    .applies = applies,
    .run = run,
};
