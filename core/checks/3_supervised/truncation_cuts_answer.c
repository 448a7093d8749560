/* truncation-cuts-answer (CHECKS.md C3.5): does the cut leave the answers? By the audit of the
 * rows, by recorded rows that end at the limit, by token lengths (exact or estimated) against the
 * limit, by what the trainers say they dropped. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define FAIL_SHARE   0.10 /* prompt alone fills the limit, or dropped for it */
#define EMPTY_SHARE  0.05 /* no supervised token is left */
#define INSIDE_SHARE 0.20 /* answers cut inside */
#define NEARLY_ALL   0.90 /* then this leads the group "all labels masked" */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_PRETRAINING) {
        *reason = "plain text: there are no answers to cut";
        return false;
    }
    return labels_apply(facts, reason);
}

static double number_of(const char *text)
{
    double value;

    return number_parse(str_of(text), &value) ? value : NAN;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(
        ctx,
        "max_length at the 99th percentile of prompt + answer or above (memory grows with it)");
    check_fix(ctx, "shorten the prompts (examples, documents)");
    check_fix(ctx, "drop the rows that do not fit, by their list");
    check_fix(ctx, "cut the prompt's side, not the answer's");
}

/* ---- Rows ---- */

struct cuts {
    double n;       /* rows seen */
    double filled;  /* the prompt alone reaches the limit */
    double emptied; /* nothing supervised is left by the cut */
    double inside;  /* the answer's end is cut */
};

/* One verdict of the counts, in words that say where they are from. */
static void judge(struct check_ctx *ctx, const struct cuts *cuts, enum confidence confidence,
                  bool is_assumed, const char *how)
{
    double filled = cuts->filled / cuts->n;
    const char *branch = filled >= NEARLY_ALL ? "prompt-at-limit" : "";

    if (filled >= FAIL_SHARE)
        (void)check_fail(
            ctx, confidence, branch,
            "the prompt alone fills the length limit in %.0f of %.0f rows%s: nothing of "
            "the answer is left",
            cuts->filled, cuts->n, how);
    else if (cuts->emptied >= FAIL_SHARE * cuts->n && !is_assumed)
        (void)check_fail(ctx, confidence, "",
                         "the cut leaves no supervised token in %.0f of %.0f rows%s", cuts->emptied,
                         cuts->n, how);
    else if (cuts->emptied >= EMPTY_SHARE * cuts->n)
        (void)check_warn(ctx, confidence, "",
                         "the cut leaves no supervised token in %.0f of %.0f rows%s", cuts->emptied,
                         cuts->n, how);
    else if (cuts->inside >= INSIDE_SHARE * cuts->n)
        (void)check_warn(ctx, confidence < CONFIDENCE_STRONG ? confidence : CONFIDENCE_STRONG,
                         "inside", "the cut takes the end of the answer in %.0f of %.0f rows%s",
                         cuts->inside, cuts->n, how);
}

static bool is_emptied(const struct audit_row *row)
{
    return (row->flags & AUDIT_CUT_TO_NOTHING) ||
           ((row->flags & AUDIT_ALL_MASKED) && (row->flags & AUDIT_CUT));
}

/* Recorded rows are cut already: the limit is what is stated, else the longest length that two or
 * more rows share. */
static int64_t recorded_limit(const struct run_facts *facts, const struct audit *audit)
{
    double stated;
    int32_t longest = 0;
    int64_t n = 0;

    if (audit->max_length != NONE)
        return audit->max_length;
    if (facts_number(facts, "max_length", &stated) && stated > 0.0)
        return (int64_t)stated;
    for (int64_t i = 0; i < audit->n_rows; i++) {
        if (!labels_row_has(&audit->rows[i], 0, 0) || audit->rows[i].n_tokens < longest)
            continue;
        n = audit->rows[i].n_tokens > longest ? 1 : n + 1;
        longest = audit->rows[i].n_tokens;
    }
    return n >= 2 ? longest : NONE;
}

/* Masked rows of other lengths are masked for another reason, and then so may be those at the
 * limit. */
static bool count_recorded(const struct run_facts *facts, const struct audit *audit,
                           struct cuts *cuts)
{
    int64_t limit = recorded_limit(facts, audit), masked = 0, at_limit = 0;

    if (limit == NONE)
        return false;
    for (int64_t i = 0; i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (!labels_row_has(row, AUDIT_ALL_MASKED, 0))
            continue;
        masked++;
        at_limit += row->n_tokens == limit;
    }
    bool is_stated = audit->max_length != NONE || facts_setting(facts, "max_length");
    if (at_limit == 0 || (double)at_limit < NEARLY_ALL * (double)masked ||
        (!is_stated && masked == labels_seen(audit)))
        return true;
    cuts->emptied = (double)at_limit;
    return true;
}

/* False: without a limit nothing can be said. */
static bool count_cuts(const struct run_facts *facts, const struct audit *audit, struct cuts *cuts)
{
    *cuts = (struct cuts){.n = (double)labels_seen(audit)};
    if (audit->basis == AUDIT_RECORDED)
        return count_recorded(facts, audit, cuts);
    for (int64_t i = 0; i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (!labels_row_has(row, 0, 0))
            continue;
        cuts->filled += (row->flags & AUDIT_PROMPT_FILLS) != 0;
        cuts->emptied += is_emptied(row);
        cuts->inside += (row->flags & AUDIT_CUT_ANSWER) && !is_emptied(row);
    }
    return true;
}

/* Rows that the prompt fills go first where they are the finding. */
static void show_audit(struct check_ctx *ctx, const struct audit *audit)
{
    int64_t limit = recorded_limit(ctx->facts, audit);
    unsigned with = labels_share(audit, AUDIT_PROMPT_FILLS) >= FAIL_SHARE ? AUDIT_PROMPT_FILLS : 0;

    for (int64_t i = 0, shown = 0; i < audit->n_rows && shown < LABEL_ROWS_SHOWN; i++) {
        const struct audit_row *row = &audit->rows[i];
        bool is_cut =
            audit->basis == AUDIT_RECORDED
                ? (row->flags & AUDIT_ALL_MASKED) && row->n_tokens == limit
                : (row->flags & (AUDIT_PROMPT_FILLS | AUDIT_CUT_ANSWER)) || is_emptied(row);

        if (!labels_row_has(row, with, 0) || !is_cut)
            continue;
        shown++;
        if (row->n_prompt >= 0)
            labels_row(ctx, audit, i, row->n_prompt,
                       "%d tokens, the answer begins at token %d, the limit is %lld, %d "
                       "supervised tokens are left",
                       row->n_tokens, row->n_prompt, (long long)limit, row->n_trained);
        else
            labels_row(ctx, audit, i, NONE,
                       "%d tokens, the limit is %lld, %d supervised tokens are left", row->n_tokens,
                       (long long)limit, row->n_trained);
    }
}

/* True when the rows were measured. */
static bool by_audit(struct check_ctx *ctx, const struct audit *audit)
{
    struct cuts cuts;

    if (!audit || !count_cuts(ctx->facts, audit, &cuts))
        return false;
    labels_tell(ctx, audit);
    judge(ctx, &cuts, labels_confidence(audit), audit->assumption != NULL,
          audit->basis == AUDIT_RECORDED ? " (recorded labels)" : "");
    if (check_verdict(ctx) >= VERDICT_WARN) {
        show_audit(ctx, audit);
        return true;
    }
    if (audit->basis == AUDIT_RECORDED && !labels_rule_out(audit, EMPTY_SHARE)) {
        const struct audit *other = labels_beside(ctx->facts, audit, AUDIT_ALL_MASKED);

        return other ? by_audit(ctx, other)
                     : check_unknown(ctx,
                                     "labels of more rows, or the data with its tokenizer: of %lld "
                                     "recorded rows %.0f are cut",
                                     (long long)labels_seen(audit), cuts.emptied) == OK;
    }
    return check_pass(
               ctx, labels_confidence(audit),
               "the cut leaves the answers: %.0f of %.0f rows have no supervised token left, %.0f "
               "are cut inside the answer",
               cuts.emptied, cuts.n, cuts.inside) == OK;
}

/* ---- Lengths without labels ---- */

struct lengths {
    const struct dataset *dataset;
    struct cuts cuts;
    bool has_prompts, is_estimated;
    int64_t first_filled, first_over;
    int32_t filled_tokens;
};

static void count_lengths(const struct sample *samples, size_t n, double limit, struct lengths *out)
{
    out->first_filled = out->first_over = NONE;
    for (size_t i = 0; i < n; i++) {
        const struct sample *s = &samples[i];

        if (s->n_tokens < 0)
            continue;
        out->cuts.n += 1.0;
        out->has_prompts |= s->n_prompt_tokens >= 0;
        out->is_estimated |= (s->flags & SAMPLE_ESTIMATED) != 0;
        if (s->n_prompt_tokens >= 0 && (double)s->n_prompt_tokens >= limit) {
            out->cuts.filled += 1.0;
            out->filled_tokens =
                out->first_filled == NONE ? s->n_prompt_tokens : out->filled_tokens;
            out->first_filled = out->first_filled == NONE ? (int64_t)i : out->first_filled;
        } else if ((double)s->n_tokens > limit) {
            out->cuts.inside += 1.0;
            out->first_over = out->first_over == NONE ? (int64_t)i : out->first_over;
        }
    }
}

/* lengths.csv first, then what the importer estimated of the rows. */
static bool read_lengths(const struct run_facts *facts, double limit, struct lengths *out)
{
    size_t n = 0;
    const struct sample *samples = facts_lengths(facts, &n, &out->dataset);

    if (!samples || n == 0) {
        (void)facts_train_rows(facts, &out->dataset);
        samples = facts_samples(facts, out->dataset, &n);
    }
    if (samples)
        count_lengths(samples, n, limit, out);
    return out->cuts.n > 0.0;
}

/* Blocks of joined rows, or the end kept: the answer is not what a cut takes. */
static bool cuts_answers(const struct run_facts *facts)
{
    const char *mode = facts_text(facts, "truncation_mode");
    const struct setting *side = facts_setting_on(facts, SIDE_TOKENIZER, "truncation_side");

    if (facts_bool(facts, "packing") == 1 || facts_bool(facts, "neat_packing") == 1)
        return false;
    if (mode && (strcmp(mode, "keep_end") == 0 || strcmp(mode, "left") == 0))
        return false;
    return !(side && side->value && strcmp(side->value, "left") == 0);
}

static bool by_lengths(struct check_ctx *ctx)
{
    const struct setting *setting = facts_setting(ctx->facts, "max_length");
    struct lengths lengths = {0};
    double limit;

    if (!setting_number(setting, &limit) || limit <= 0.0 || !cuts_answers(ctx->facts) ||
        !read_lengths(ctx->facts, limit, &lengths))
        return false;
    judge(ctx, &lengths.cuts, lengths.is_estimated ? CONFIDENCE_LIKELY : CONFIDENCE_STRONG, true,
          lengths.is_estimated ? " (lengths estimated)" : "");
    if (check_verdict(ctx) < VERDICT_WARN)
        return lengths.has_prompts && !lengths.is_estimated &&
               check_pass(
                   ctx, CONFIDENCE_STRONG,
                   "of %.0f rows the prompt fills the limit of %.0f tokens in %.0f, and %.0f are "
                   "longer",
                   lengths.cuts.n, limit, lengths.cuts.filled, lengths.cuts.inside) == OK;
    bool is_filled = lengths.first_filled != NONE;
    struct evidence *e =
        is_filled ? evidence_add(ctx, "dataset", "row %lld: %s%d prompt tokens, the limit is %.0f",
                                 (long long)lengths.first_filled,
                                 lengths.is_estimated ? "about " : "", lengths.filled_tokens, limit)
                  : evidence_add(ctx, "dataset", "row %lld is longer than the limit of %.0f",
                                 (long long)lengths.first_over, limit);
    e->source_id = lengths.dataset ? lengths.dataset->source_id : 0;
    e->row = is_filled ? lengths.first_filled : lengths.first_over;
    if (is_filled)
        e->token = lengths.filled_tokens;
    evidence_setting(ctx, setting);
    if (lengths.is_estimated)
        check_info(ctx,
                   "the lengths are estimated from the text: import the tokenizer to know them");
    return true;
}

/* ---- What trainers say ---- */

static double rows_before(const struct run_facts *facts)
{
    int64_t rows = facts_train_rows(facts, NULL);
    double stated;

    if (rows != NONE)
        return (double)rows;
    return facts_number(facts, "num_rows", &stated) ||
                   facts_number(facts, "dataset.num_rows", &stated)
               ? stated
               : NAN;
}

static bool by_messages(struct check_ctx *ctx)
{
    const struct event *event = NULL;
    bool is_open = false;

    while ((event = facts_event(ctx->facts, "truncation-cuts-answer", event))) {
        bool is_unsloth = event->pattern && strcmp(event->pattern, "unsloth-removed") == 0;
        bool is_axolotl = event->pattern && strcmp(event->pattern, "axolotl-dropped") == 0 &&
                          strcmp(event_capture(event, 2), "eval") != 0;
        double n = number_of(event_capture(event, 1));
        double of = is_unsloth ? number_of(event_capture(event, 2)) : rows_before(ctx->facts);

        if ((!is_unsloth && !is_axolotl) || isnan(n))
            continue;
        if (isnan(of) || of <= 0.0) {
            is_open = true;
            continue;
        }
        /* All rows gone is a mask that finds nothing: flat-all-masked. */
        if (n < FAIL_SHARE * of || n >= NEARLY_ALL * of)
            continue;
        evidence_event(ctx, event);
        (void)check_fail(ctx, is_axolotl ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "dropped",
                         "%.0f of %.0f rows were dropped because no trainable token was left", n,
                         of);
    }
    return is_open;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    (void)err;
    bool is_open = by_messages(ctx);
    bool is_measured = by_audit(ctx, labels_of(ctx->facts, "train"));

    if (check_verdict(ctx) < VERDICT_WARN &&
        (!is_measured || check_verdict(ctx) == VERDICT_UNKNOWN))
        is_measured |= by_lengths(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        evidence_setting(ctx, facts_setting(ctx->facts, "max_length"));
        add_fixes(ctx);
        return OK;
    }
    if (is_open)
        return check_unknown(ctx,
                             "the training file or dataset_info.json (num_rows): rows were dropped "
                             "without a trainable token, of how many is not known");
    if (is_measured)
        return OK;
    if (!facts_setting(ctx->facts, "max_length"))
        (void)check_unknown(ctx, "the length limit (max_length, cutoff_len, sequence_len)");
    return labels_unknown(ctx, "train");
}

const struct check check_truncation_cuts_answer = {
    .id = "truncation-cuts-answer",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Truncation leaves the answers",
    .why = "The answer stands at the end of a row: a limit below prompt and answer cuts what was "
           "to be "
           "learned, and a prompt that fills it leaves nothing.",
    .applies = applies,
    .run = run,
};
