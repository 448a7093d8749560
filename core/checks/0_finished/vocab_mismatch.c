/* vocab-mismatch (CHECKS.md C0.10): has every token id an embedding row? By the embedding's own
 * assertion, by the ids of the tokenizer against the rows of the model, by what loading said. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define END_SHARE 0.9 /* of the embedding rows: the last rows of a vocabulary that is padded */

static bool is_pattern(const struct event *event, const char *pattern)
{
    return event->pattern && strcmp(event->pattern, pattern) == 0;
}

static bool is_embedding_error(const struct event *event)
{
    return is_pattern(event, "assert-embedding-cuda") || is_pattern(event, "index-out-of-range");
}

/* A size mismatch of the embedding on load; a saved shape of [0] is an empty file instead. */
static bool is_load_mismatch(const struct event *event)
{
    const char *name = event_capture(event, 1);

    return is_pattern(event, "size-mismatch") && strcmp(event_capture(event, 2), "[0]") != 0 &&
           (strstr(name, "embed_tokens") || strstr(name, "lm_head") || strstr(name, "wte") ||
            strstr(name, "word_embeddings"));
}

static const struct event *find(const struct run_facts *facts,
                                bool (*matches)(const struct event *))
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "vocab-mismatch", event)))
        if (matches(event))
            return event;
    return NULL;
}

/* ---- Rows of the embedding ---- */

static bool is_embedding(const char *name)
{
    return strstr(name, "embed_tokens.weight") || strstr(name, "wte.weight") ||
           strstr(name, "word_embeddings.weight");
}

/* "[32000,4096]" */
static double first_dimension(const char *shape)
{
    double rows = NAN;

    if (shape && shape[0] == '[' && number_prefix(str_of(shape + 1), &rows) > 0)
        return rows;
    return NAN;
}

struct rows {
    double n;                      /* NaN: not known */
    const struct setting *setting; /* what said so */
    const char *name;              /* or a tensor */
    int64_t source_id;
};

static void raise_rows(struct rows *rows, double n, const char *name, int64_t source_id)
{
    if (!(n > 0.0) || n <= rows->n)
        return;
    *rows = (struct rows){.n = n, .name = name, .source_id = source_id};
}

static void read_rows(const struct run_facts *facts, struct rows *rows)
{
    static const char *const NAMES[] = {"vocab_size", "text_config.vocab_size",
                                        "llm_config.vocab_size"};
    const struct event *event = NULL;

    *rows = (struct rows){.n = NAN};
    for (size_t i = 0; i < 3 && !(rows->n > 0.0); i++) {
        rows->setting = facts_setting_on(facts, SIDE_MODEL, NAMES[i]);
        if (!setting_number(rows->setting, &rows->n))
            rows->n = NAN;
    }
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        size_t n = 0;
        const struct tensor *tensors = facts_tensors(facts, &facts->artefacts[i], &n);
        for (size_t k = 0; k < n; k++)
            if (is_embedding(tensors[k].name) && !strstr(tensors[k].name, "lora_"))
                raise_rows(rows, first_dimension(tensors[k].shape), tensors[k].name,
                           facts->artefacts[i].source_id);
    }
    while ((event = facts_event(facts, NULL, event))) {
        double resized;
        if (is_pattern(event, "llf-resized-embeddings") &&
            number_parse(str_of(event_capture(event, 2)), &resized))
            raise_rows(rows, resized, "resized token embeddings", event->source_id);
    }
}

/* ---- The largest id ---- */

struct largest {
    double id; /* NaN: not known */
    const struct setting *setting; /* what has it, or … */
    const struct audit *audit;     /* … rows; see max_id_row */
};

/* The largest id of a file, or one added token: the id is the end of its name. */
static double id_of(const struct setting *setting)
{
    static const char ADDED[] = "added_token.";
    double id = NAN;

    if (setting->side != SIDE_TOKENIZER || !setting->raw_name)
        return NAN;
    if (strcmp(setting->raw_name, "max_token_id") == 0)
        return setting_number(setting, &id) ? id : NAN;
    if (strncmp(setting->raw_name, ADDED, sizeof ADDED - 1) == 0 &&
        number_prefix(str_of(setting->raw_name + sizeof ADDED - 1), &id) > 0)
        return id;
    return NAN;
}

static void read_largest(const struct run_facts *facts, struct largest *largest)
{
    *largest = (struct largest){.id = NAN};
    for (size_t i = 0; i < facts->n_settings; i++) {
        double id = id_of(&facts->settings[i]);
        if (id > largest->id || (isnan(largest->id) && !isnan(id)))
            *largest = (struct largest){.id = id, .setting = &facts->settings[i]};
    }
}

/* An id of the rows that were tokenised, recorded or simulated: it can only break the bound. */
static void add_sampled(const struct run_facts *facts, double rows, struct largest *largest)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        double id;
        if (s->raw_name && strcmp(s->raw_name, "rows.max_input_id") == 0 &&
            setting_number(s, &id) && id >= rows && !(id <= largest->id))
            *largest = (struct largest){.id = id, .setting = s};
    }
    for (int split = 0; split < 2; split++) {
        const struct audit *audit = ids_of(facts, split == 0 ? "train" : "eval");

        if (audit && audit->max_id != NONE && (double)audit->max_id >= rows &&
            !((double)audit->max_id < largest->id))
            *largest = (struct largest){.id = (double)audit->max_id, .audit = audit};
    }
}

/* Added tokens alone may stand anywhere in the vocabulary: only where they stand at its end is the
 * largest of them the largest id. */
static bool is_whole(const struct largest *largest, const struct rows *rows)
{
    return largest->audit || largest->id >= END_SHARE * rows->n ||
           (largest->setting && strcmp(largest->setting->raw_name, "max_token_id") == 0);
}

static void show_numbers(struct check_ctx *ctx, const struct largest *largest,
                         const struct rows *rows)
{
    evidence_setting(ctx, largest->setting);
    if (largest->audit)
        labels_row(ctx, largest->audit, largest->audit->max_id_row, NONE,
                   "it holds id %s; %lld rows hold one beyond the vocabulary",
                   labels_token(ctx, largest->audit->max_id, NULL),
                   (long long)labels_count(largest->audit, AUDIT_BAD_ID));
    evidence_setting(ctx, rows->setting);
    if (rows->name) {
        struct evidence *e = evidence_add(ctx, "artefact", "%s has %.0f rows", rows->name, rows->n);
        e->source_id = rows->source_id;
    }
    if (!isnan(largest->id) && !isnan(rows->n))
        evidence_number(ctx, largest->id, rows->n, "largest token id %.0f, embedding rows %.0f",
                        largest->id, rows->n);
}

/* cublas errors and bare device-side asserts have two causes. */
static const struct event *ambiguous(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "vocab-mismatch", event)))
        if (is_pattern(event, "cublas-alloc") || is_pattern(event, "cublas-init") ||
            is_pattern(event, "device-side-assert"))
            return event;
    return NULL;
}

static int fails(struct check_ctx *ctx, const struct event *event, const struct largest *largest,
                 const struct rows *rows)
{
    const struct run_facts *facts = ctx->facts;

    if (event)
        evidence_event(ctx, event);
    if (ambiguous(facts) && ambiguous(facts) != event)
        evidence_event(ctx, ambiguous(facts));
    show_numbers(ctx, largest, rows);
    check_begins(ctx, event ? event->step : NONE);
    check_fix(ctx, "remove the stray entry of added_tokens.json, or use a reserved token instead");
    check_fix(ctx, "model.resize_token_embeddings(len(tokenizer)), and train the new rows "
                   "(LLaMA-Factory: resize_vocab: true)");
    check_fix(ctx, "the tokenizer of the right model");
    if (event && is_load_mismatch(event))
        return check_fail(ctx, CONFIDENCE_CERTAIN, "load",
                          "%s was saved with shape %s and the model has %s (%s:%lld)",
                          event_capture(event, 1), event_capture(event, 2), event_capture(event, 3),
                          facts_file_name(facts, event->source_id), (long long)event->line);
    if (event)
        return check_fail(ctx, CONFIDENCE_CERTAIN, "error",
                          "a token id has no embedding row (%s:%lld)",
                          facts_file_name(facts, event->source_id), (long long)event->line);
    return check_fail(ctx, CONFIDENCE_STRONG, "ids",
                      "token id %.0f (%s) has no embedding row: there are %.0f", largest->id,
                      facts_file_name(facts, largest->setting
                                                 ? largest->setting->source_id
                                                 : largest->audit->dataset->source_id), rows->n);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct event *error = find(facts, is_embedding_error);
    const struct curve *loss = facts_curve(facts, "loss");
    struct largest largest;
    struct rows rows;

    (void)err;
    if (!error)
        error = find(facts, is_load_mismatch);
    read_rows(facts, &rows);
    read_largest(facts, &largest);
    /* Ids that were trained on without an error are inside, whatever the config says. */
    if (rows.n > 0.0 && !(loss && loss->n > 0))
        add_sampled(facts, rows.n, &largest);
    if (error)
        return fails(ctx, error, &largest, &rows);
    bool are_known = !isnan(largest.id) && rows.n > 0.0;
    bool has_trained = loss && loss->n > 0;
    if (are_known && largest.id >= rows.n && !has_trained)
        return fails(ctx, ambiguous(facts), &largest, &rows);
    if (are_known && largest.id >= rows.n) {
        show_numbers(ctx, &largest, &rows);
        check_fix(ctx, "model.resize_token_embeddings(len(tokenizer)) before the token is used");
        return check_warn(ctx, CONFIDENCE_LIKELY, "unused",
                          "token id %.0f has no embedding row (%.0f rows); the run trained without "
                          "an error, so the token did not occur",
                          largest.id, rows.n);
    }
    if (are_known && is_whole(&largest, &rows))
        return check_pass(ctx, CONFIDENCE_CERTAIN, "largest token id %.0f, %.0f embedding rows",
                          largest.id, rows.n);
    if (has_trained)
        check_info(ctx, "%zu training rows without an error: the ids of these steps are inside",
                   loss->n);
    if (isnan(largest.id) || are_known)
        check_unknown(ctx, "%s", need_hint(NEEDS_TOKENIZER));
    if (!(rows.n > 0.0))
        check_unknown(ctx, "%s", need_hint(NEEDS_MODEL_CONFIG));
    return OK;
}

const struct check check_vocab_mismatch = {
    .id = "vocab-mismatch",
    .version = 3,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "Every token id has an embedding row",
    .why = "A token id past the last row of the embedding reads foreign memory: on a GPU it shows "
           "as a device-side assert or a cuBLAS error.",
    .run = run,
};
