/* adapter-not-loaded (CHECKS.md C1.1): is the served model more than the base? By what loaders say, by
 * outputs of both on the same prompts, by the adapter's names against the served model's, by results
 * item by item, and by how it is served. */
#include <math.h>
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/adapter_serving.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/eval_suites.h"
#include "core/facts/model_outputs.h"

enum {
    FEWEST_PROMPTS = 3,         /* that are not trivial */
    FEWEST_ITEMS = 100,
    FEWEST_OF_EITHER = 3,       /* right and wrong items: else equal results say little */
    PAIRS_SHOWN = 3
};
#define MOST_UNMATCHED 0.5      /* of the adapter's modules */
#define NEARLY_ALL     0.9

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "a full fine-tune: there is no adapter to load";
    return facts_is_adapter_run(facts, NULL) != 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "the same adapter_name when saving and loading (PeftModel.from_pretrained without one)");
    check_fix(ctx, "strip or add the prefix of the keys (base_model.model., _orig_mod.) so that they name "
                   "the model's modules");
    check_fix(ctx, "vLLM --enable-lora --lora-modules name=path, request model: name, --max-lora-rank at "
                   "least r; Ollama ADAPTER path; llama.cpp --lora");
    check_fix(ctx, "make the health check part of start-up: one prompt whose answer the base does not give");
}

/* ---- (a) What loaders say ---- */

struct messages {
    const struct event *first;
    size_t n_lora;              /* keys or rows that name LoRA */
    bool is_partial;            /* some of the adapter was found */
    bool names_the_cause;       /* the adapter's name collides with the prefix */
};

/* How many LoRA tensors there should be: those of the file, else layers times targets. */
static size_t lora_tensors(struct check_ctx *ctx, const struct key_list *keys)
{
    const struct artefact *adapter = adapter_of_run(ctx->facts);
    struct adapter_facts facts;
    struct targets targets;

    if (adapter && adapter_facts_read(ctx->facts, adapter, ctx->arena, &facts) && facts.n_pairs > 0)
        return 2 * facts.n_pairs;
    targets_read(ctx->facts, ctx->arena, &targets);
    if (targets.form != TARGETS_LIST || keys->last_layer == NONE)
        return 0;
    return 2 * targets.n * (size_t)(keys->last_layer + 1);
}

static void read_keys(struct check_ctx *ctx, const struct event *event, int group, struct messages *out)
{
    struct key_list keys;

    key_list_read(event_capture(event, group), ctx->arena, &keys);
    size_t n_lora = keys.n_lora_a + keys.n_lora_b;
    if (n_lora == 0)
        return;
    size_t expected = lora_tensors(ctx, &keys);
    if (!keys.is_cut && expected && (double)n_lora < NEARLY_ALL * (double)expected)
        out->is_partial = true;
    out->n_lora += n_lora;
    struct evidence *e = evidence_event(ctx, event);
    e->value = (double)n_lora;
    e->has_value = true;
    check_begins(ctx, event->step);
    if (!out->first)
        out->first = event;
}

static void read_report_row(struct check_ctx *ctx, const struct event *event, struct messages *out)
{
    const char *name = event_capture(event, 1), *status = event_capture(event, 2);

    if (!strstr(name, "lora_") || (strcmp(status, "MISSING") != 0 && strcmp(status, "UNEXPECTED") != 0))
        return;
    if (out->n_lora++ < 4)
        evidence_event(ctx, event);
    if (!out->first)
        out->first = event;
}

static void read_messages(struct check_ctx *ctx, struct messages *out)
{
    const struct event *event = NULL;

    *out = (struct messages){0};
    while ((event = facts_event(ctx->facts, "adapter-not-loaded", event))) {
        const char *pattern = event->pattern ? event->pattern : "";

        if (strcmp(pattern, "missing-adapter-keys") == 0 ||
            strcmp(pattern, "incompatible-lora-keys") == 0)
            read_keys(ctx, event, 1, out);
        else if (strcmp(pattern, "adapter-keys-mismatch") == 0)
            read_keys(ctx, event, 2, out);
        else if (strcmp(pattern, "newly-initialized") == 0)
            read_keys(ctx, event, 3, out);
        else if (strcmp(pattern, "load-report") == 0)
            read_report_row(ctx, event, out);
        else if (strcmp(pattern, "adapter-name-in-prefix") == 0) {
            evidence_event(ctx, event);
            out->names_the_cause = true;
            if (!out->first)
                out->first = event;
        }
    }
}

/* outputs_differ: the tuned model was seen to answer otherwise, so something of it is loaded. */
static void by_messages(struct check_ctx *ctx, bool outputs_differ)
{
    struct messages seen;

    read_messages(ctx, &seen);
    if (!seen.first)
        return;
    const char *file = facts_file_name(ctx->facts, seen.first->source_id);
    long long line = (long long)seen.first->line;
    if (seen.n_lora == 0)
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "key-mismatch",
                         "the adapter's name collides with the prefix of its keys (%s:%lld)", file, line);
    else if ((seen.is_partial && !seen.names_the_cause) || outputs_differ)
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "key-mismatch",
                         "%zu LoRA keys of the adapter found no place in the model (%s:%lld)", seen.n_lora,
                         file, line);
    else
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "key-mismatch",
                         "the adapter was not loaded: %zu LoRA keys found no place in the model (%s:%lld)",
                         seen.n_lora, file, line);
}

/* ---- (b) Outputs on the same prompts ---- */

static bool adapter_was_seen_to_differ(const struct model_outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (outputs->items[i].a_is_base && strcmp(outputs->items[i].b, "merged") != 0 &&
            outputs->items[i].n_differ > 0)
            return true;
    return false;
}

static void show_pairs(struct check_ctx *ctx, const struct output_comparison *c, bool identical)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n && n < PAIRS_SHOWN; i++) {
        const struct output_pair *pair = &c->pairs[i];

        if (pair->is_identical != identical || pair->is_short)
            continue;
        struct evidence *e =
            pair->b_text.p
                ? evidence_add(ctx, "file", "%s%.*s%s both answer: %.*s", pair->prompt.n ? "\"" : "",
                               (int)(pair->prompt.n < 80 ? pair->prompt.n : 80),
                               pair->prompt.p ? pair->prompt.p : "", pair->prompt.n ? "\"" : "",
                               (int)(pair->b_text.n < 160 ? pair->b_text.n : 160), pair->b_text.p)
                : evidence_add(ctx, "file", "%s and %s give the same output", c->a, c->b);
        e->source_id = pair->source_id;
        e->line = pair->line;
        e->row = pair->b->row;
        n++;
    }
}

/* The model was asked again later in its training: early on it may well answer as the base. */
static bool is_superseded(const struct model_outputs *outputs, const struct output_comparison *c)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (outputs->items[i].a_is_base && strcmp(outputs->items[i].b, c->b) == 0 &&
            outputs->items[i].b_step > c->b_step)
            return true;
    return false;
}

/* Returns the number of tuned outputs that differ from the base's; *n_pairs all that were compared. */
static size_t by_outputs(struct check_ctx *ctx, const struct model_outputs *outputs, size_t *n_pairs)
{
    bool differs = adapter_was_seen_to_differ(outputs);
    size_t n_differ = 0;

    *n_pairs = 0;
    for (size_t i = 0; i < outputs->n; i++) {
        const struct output_comparison *c = &outputs->items[i];

        if (!(c->a_is_base || c->is_assumed) || c->b_step == 0 ||
            (differs && strcmp(c->b, "merged") == 0)) /* C1.6 asks why the merged one lost it */
            continue;
        *n_pairs += c->n;
        n_differ += c->n_differ;
        if (c->n_identical < c->n || c->n_long < FEWEST_PROMPTS || is_superseded(outputs, c))
            continue;
        show_pairs(ctx, c, true);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "identical-output",
                         "%s gives the base's output on all of %zu prompts (%zu of four words or more)",
                         c->b[0] ? c->b : "the tuned model", c->n, c->n_long);
    }
    return n_differ;
}

/* ---- (c) Names ---- */

static void by_names(struct check_ctx *ctx)
{
    const struct artefact *adapter = adapter_of_run(ctx->facts);
    struct adapter_facts facts;

    if (!adapter || !adapter_facts_read(ctx->facts, adapter, ctx->arena, &facts) || facts.n_pairs == 0)
        return;
    if (facts.modules.n > 0 &&
        (double)facts.n_unmatched >= MOST_UNMATCHED * (double)facts.n_pairs) {
        evidence_add(ctx, "artefact", "%s: %s is no module of %s", artefact_shown(ctx->facts, adapter),
                     facts.first_unmatched, facts.modules.from)
            ->source_id = adapter->source_id;
        evidence_add(ctx, "file", "%s: %s", facts.modules.from,
                     facts.modules.names[facts.modules.n / 2])
            ->source_id = facts.modules.source_id;
        evidence_number(ctx, (double)facts.n_unmatched / (double)facts.n_pairs, MOST_UNMATCHED,
                        "%zu of %zu adapted modules are not in the model", facts.n_unmatched,
                        facts.n_pairs);
        (void)check_fail(ctx, CONFIDENCE_STRONG, "key-mismatch",
                         "%zu of %zu modules of the adapter match no module of the served model, first %s",
                         facts.n_unmatched, facts.n_pairs, facts.first_unmatched);
        return;
    }
    if (!facts.wrapper)
        return;
    evidence_add(ctx, "artefact", "%s: %s", artefact_shown(ctx->facts, adapter),
                 facts.pairs[0].a ? facts.pairs[0].a->name : facts.pairs[0].module)
        ->source_id = adapter->source_id;
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "key-mismatch",
                     "the adapter's keys hold %s, which no model that loads them has", facts.wrapper);
}

/* ---- (d) Results of an evaluation ---- */

struct scores {
    size_t n_suites, n_same, n_same_items;
    int64_t n_items;
    const struct eval_pair *first;
};

static bool is_telling(const struct eval_suite *suite)
{
    double wrong = (double)suite->n - suite->n_correct;

    return suite->n >= FEWEST_ITEMS && suite->n_correct >= FEWEST_OF_EITHER && wrong >= FEWEST_OF_EITHER;
}

static bool has_same_items(const struct run_facts *facts, const struct eval_pair *pair)
{
    size_t n_a, n_b;
    const struct eval_item *a = facts_eval_items(facts, pair->base, &n_a);
    const struct eval_item *b = facts_eval_items(facts, pair->candidate, &n_b);

    if (!a || !b || n_a != n_b || n_a < FEWEST_ITEMS)
        return false;
    for (size_t i = 0; i < n_a; i++) /* in the order of their names */
        if (strcmp(a[i].item, b[i].item) != 0 || a[i].score != b[i].score)
            return false;
    return true;
}

static void count_scores(struct check_ctx *ctx, const struct eval_pair *pairs, size_t n,
                         const struct eval_pair *of, struct scores *out)
{
    *out = (struct scores){.first = of};
    for (size_t i = 0; i < n; i++) {
        const struct eval_pair *pair = &pairs[i];

        if (strcmp(pair->candidate->model, of->candidate->model) != 0 ||
            pair->candidate->step != of->candidate->step)
            continue;
        bool is_same = pair->base->n == pair->candidate->n &&
                       pair->base->n_correct == pair->candidate->n_correct;
        out->n_suites++;
        if (!is_same)
            return;
        if (!is_telling(pair->candidate))
            continue;
        out->n_same++;
        out->n_same_items += has_same_items(ctx->facts, pair);
        out->n_items += pair->candidate->n;
        evidence_add(ctx, "file", "%s: base and %s both %s", pair->candidate->suite,
                     pair->candidate->model, eval_reached(pair->candidate, ctx->arena))
            ->source_id = pair->candidate->source_id;
    }
}

static bool suites_agree(const struct eval_pair *pairs, size_t n, const struct eval_pair *of)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        const struct eval_pair *pair = &pairs[i];

        if (strcmp(pair->candidate->model, of->candidate->model) != 0 ||
            pair->candidate->step != of->candidate->step)
            continue;
        if (pair->base->n != pair->candidate->n || pair->base->n_correct != pair->candidate->n_correct)
            return false;
        any |= is_telling(pair->candidate);
    }
    return any;
}

static bool has_later(const struct eval_pair *pairs, size_t n, const struct eval_pair *of)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i].candidate->model, of->candidate->model) == 0 &&
            pairs[i].candidate->step > of->candidate->step)
            return true;
    return false;
}

static void by_scores(struct check_ctx *ctx)
{
    struct eval_pair *pairs = NULL;
    struct scores scores;
    size_t n = 0;

    if (!eval_pairs_read(ctx->facts, ctx->arena, &pairs, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].candidate->step == 0 || has_later(pairs, n, &pairs[i]) ||
            !suites_agree(pairs, n, &pairs[i]))
            continue;
        count_scores(ctx, pairs, n, &pairs[i], &scores);
        const char *model = pairs[i].candidate->model;
        if (scores.n_same > 0 && scores.n_same_items == scores.n_same)
            (void)check_fail(ctx, CONFIDENCE_STRONG, "identical-output",
                             "%s and the base have the same result on each of %lld items", model,
                             (long long)scores.n_items);
        else if (scores.n_same > 0 && pairs[i].candidate->n_items == 0)
            (void)check_warn(ctx, CONFIDENCE_LIKELY, "identical-output",
                             "%s and the base have equal counts on every suite (%s)", model,
                             eval_reached(pairs[i].candidate, ctx->arena));
        return;
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct model_outputs *outputs = facts_model_outputs(ctx->facts);
    size_t n_pairs, n_differ = 0;

    if (!outputs)
        return error_set(err, E_NOMEM, "no memory for the outputs of the models");
    by_messages(ctx, adapter_was_seen_to_differ(outputs));
    n_differ = by_outputs(ctx, outputs, &n_pairs);
    by_names(ctx);
    by_scores(ctx);
    serving_limits_targets(ctx);
    if (n_differ == 0)
        serving_leaves_adapter_out(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (n_differ > 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "the tuned model answers %zu of %zu prompts differently "
                                                  "from the base", n_differ, n_pairs);
    if (n_pairs > 0)
        return check_unknown(ctx, "outputs of both models on at least %d prompts with answers of four words "
                                  "or more: on the %zu there are they hardly differ", FEWEST_PROMPTS,
                             n_pairs);
    return check_unknown(ctx, "outputs of the base and of the served model on the same prompts "
                              "(generations.jsonl, healthcheck.out.jsonl)");
}

const struct check check_adapter_not_loaded = {
    .id = "adapter-not-loaded",
    .version = 3,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_MISLEADS,
    .title = "The served model is not simply the base",
    .why = "A loader that finds no place for the adapter's keys says so in one line and serves the base; "
           "every number measured then is the base's.",
    .applies = applies,
    .run = run,
};
