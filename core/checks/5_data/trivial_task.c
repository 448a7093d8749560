/* C5.2: can the target be read off a surface cue? Openings and lengths of the rows by F19, over all
 * training rows (counted by core/facts/data_facts.c), and curves that are right too early. */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/facts/data_facts.h"

enum { MOST_SHOWN = 6, ROWS_IN_A_ROW = 3 };

static const double COVERED = 0.95, NEARLY_COVERED = 0.80, IN_OTHERS = 0.05, MAJORITY = 0.80,
                    ALL_RIGHT = 0.99, FIRST_TENTH = 0.1, FIRST_HALF = 0.5, EPOCHS = 0.5,
                    FORMAT_SHARE = 0.3;

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & MARK_TEN_ROW_TEST) {
        *reason = "a ten-row test is meant to be learned by heart";
        return false;
    }
    *reason = "reinforcement learning and pretraining have no target that a cue could give away";
    return facts->run.kind != KIND_GRPO && facts->run.kind != KIND_PPO &&
           facts->run.kind != KIND_PRETRAINING;
}

/* ---- Openings ---- */

struct cue {
    const struct data_class *class;
    double in, out;             /* shares of its rows, and of the others, that begin so */
};

static struct cue cue_of(const struct data_facts *data, const struct data_class *class, int k)
{
    const struct data_opening *opening = &class->openings[k];
    int64_t n_others = data->n_class_rows - class->n_rows;

    return (struct cue){.class = class,
                        .in = opening->text ? (double)opening->n_in / (double)class->n_rows : 0.0,
                        .out = n_others > 0 ? (double)opening->n_out / (double)n_others : 1.0};
}

/* The first two words, behind an instruction that all rows have. */
static int two_words(const struct data_facts *data)
{
    return (int)data->n_shared_words + 1;
}

static bool gives_away(struct cue cue, double covered)
{
    return cue.in >= covered && cue.out <= IN_OTHERS;
}

/* The class that its first two words give away most. */
static struct cue strongest_cue(const struct data_facts *data)
{
    struct cue best = {0};

    for (size_t i = 0; i < data->n_kept_classes; i++) {
        struct cue cue = cue_of(data, &data->classes[i], two_words(data));

        if (gives_away(cue, NEARLY_COVERED) &&
            (!best.class || cue.in > best.in || (cue.in == best.in && cue.out < best.out)))
            best = cue;
    }
    return best;
}

/* How often the class is told right by its cue alone: begins so, or does not. */
static double accuracy_of(const struct data_facts *data, struct cue cue)
{
    const struct data_opening *opening = &cue.class->openings[two_words(data)];
    int64_t n_others = data->n_class_rows - cue.class->n_rows;

    return (double)(opening->n_in + n_others - opening->n_out) / (double)data->n_class_rows;
}

static void show_openings(struct check_ctx *ctx, const struct data_facts *data, struct cue best)
{
    size_t n = 0;

    for (size_t i = 0; i < data->n_kept_classes && n < MOST_SHOWN; i++) {
        struct cue cue = cue_of(data, &data->classes[i], two_words(data));

        if (!gives_away(cue, NEARLY_COVERED))
            continue;
        struct evidence *e = evidence_add(
            ctx, "dataset", "\"%s\" begins %lld of %lld rows of class %s and %lld of %lld others",
            cue.class->openings[two_words(data)].text, (long long)cue.class->openings[two_words(data)].n_in,
            (long long)cue.class->n_rows, cue.class->name,
            (long long)cue.class->openings[two_words(data)].n_out,
            (long long)(data->n_class_rows - cue.class->n_rows));
        e->source_id = data->n_files ? data->files[0].source_id : 0;
        n++;
    }
    for (int k = 0; k < DATA_OPENINGS; k++) {
        struct cue cue = cue_of(data, best.class, k);

        if (k != two_words(data) && best.class->openings[k].text && gives_away(cue, NEARLY_COVERED)) {
            evidence_add(ctx, "number", "of %d words: \"%s\" %.1f %% of the class, %.1f %% of the others",
                         k + 1, best.class->openings[k].text, 100.0 * cue.in, 100.0 * cue.out);
            break;
        }
    }
    evidence_number(ctx, accuracy_of(data, best), COVERED,
                    "share of rows that the opening alone puts in or out of class %s", best.class->name);
}

static bool judge_openings(struct check_ctx *ctx, const struct data_facts *data)
{
    struct cue best = strongest_cue(data);

    if (!best.class)
        return false;
    const struct data_opening *opening = &best.class->openings[two_words(data)];
    int64_t n_others = data->n_class_rows - best.class->n_rows;
    if (gives_away(best, COVERED))
        check_fail(ctx, CONFIDENCE_CERTAIN, "opening",
                   "the first words give the target away: \"%s\" begins %lld of %lld rows of class %s "
                   "(%.1f %%) and %lld of %lld other rows",
                   opening->text, (long long)opening->n_in, (long long)best.class->n_rows,
                   best.class->name, 100.0 * best.in, (long long)opening->n_out, (long long)n_others);
    else
        check_warn(ctx, CONFIDENCE_LIKELY, "opening",
                   "the first words nearly give the target away: \"%s\" begins %lld of %lld rows of "
                   "class %s (%.1f %%) and %lld of %lld other rows",
                   opening->text, (long long)opening->n_in, (long long)best.class->n_rows,
                   best.class->name, 100.0 * best.in, (long long)opening->n_out, (long long)n_others);
    show_openings(ctx, data, best);
    return true;
}

/* ---- Length ---- */

static double share_right(const struct data_length_rule *rule)
{
    return rule->of && rule->n_rows > 0 ? (double)rule->n_right / (double)rule->n_rows : 0.0;
}

static bool judge_length(struct check_ctx *ctx, const struct data_facts *data)
{
    const struct data_length_rule *rule = &data->length_rule;
    double right = share_right(rule);
    double majority = rule->n_rows > 0 ? (double)rule->n_majority / (double)rule->n_rows : 1.0;

    if (right < COVERED || majority > MAJORITY) {
        if (right >= NEARLY_COVERED && majority <= MAJORITY)
            check_info(ctx, "the length alone (%lld %s) tells %.1f %% of the rows right; the largest class "
                            "has %.1f %%",
                       (long long)rule->threshold, rule->of, 100.0 * right, 100.0 * majority);
        return false;
    }
    check_fail(ctx, CONFIDENCE_CERTAIN, "length",
               "the length gives the target away: up to %lld %s is class %s, above it %s, and that is "
               "right in %lld of %lld rows (%.1f %%)",
               (long long)rule->threshold, rule->of, rule->below, rule->above,
               (long long)rule->n_right, (long long)rule->n_rows, 100.0 * right);
    evidence_number(ctx, right, COVERED, "accuracy of one threshold on the length; the largest class "
                                         "alone gives %.3f",
                    majority);
    return true;
}

/* ---- Curves that are right too early ---- */

/* The first row from which this one and those behind it, three together, are right; -1. */
static ptrdiff_t first_right(const struct curve *curve, double bound, size_t n_together)
{
    for (size_t i = 0; i + n_together <= curve->n; i++) {
        double sum = 0.0;

        for (size_t k = 0; k < n_together; k++)
            sum += curve->value[i + k];
        if (sum / (double)n_together >= bound)
            return (ptrdiff_t)i;
    }
    return -1;
}

/* How far the run was at that row, of all its planned steps; NaN: not known. */
static double part_of_run(const struct run_facts *facts, const struct curve *curve, size_t i)
{
    int64_t last = facts->max_steps > 0 ? facts->max_steps : facts->last_step;

    return last > 0 && curve->step[i] >= 0 ? (double)curve->step[i] / (double)last : NAN;
}

static double epoch_at(const struct run_facts *facts, const struct curve *curve, size_t i)
{
    const struct curve *epochs = facts_curve(facts, "epoch");
    double epoch;

    if (epochs && curve_on_row(epochs, curve, i, &epoch))
        return epoch;
    if (curve->step[i] < 0 || facts->last_step <= 0)
        return NAN;
    return facts->last_epoch * (double)curve->step[i] / (double)facts->last_step;
}

static bool judge_eval_accuracy(struct check_ctx *ctx)
{
    const struct curve *curve = facts_curve(ctx->facts, "eval_accuracy");
    ptrdiff_t i = curve ? first_right(curve, 1.0, 1) : -1;

    if (i < 0 || !(epoch_at(ctx->facts, curve, (size_t)i) <= EPOCHS))
        return false;
    check_warn(ctx, CONFIDENCE_LIKELY, "series", "eval accuracy is 1.0 after %.2f epochs",
               epoch_at(ctx->facts, curve, (size_t)i));
    evidence_point(ctx, curve, (size_t)i, "eval_accuracy = %.4g", curve->value[i]);
    return true;
}

/* ORPO, CPO and SimPO weigh the pairs by the model alone: after a fine-tune on the chosen texts all are told
 * apart from the first row on. */
static bool is_without_reference(const struct run_facts *facts)
{
    const char *loss = facts_text(facts, "loss_type");

    return facts_setting(facts, "simpo_gamma") || facts_setting(facts, "cpo_alpha") ||
           facts_bool(facts, "reference_free") == 1 || facts_has_curve(facts, "log_odds_ratio") ||
           (loss && (strstr(loss, "simpo") || strstr(loss, "orpo")));
}

/* Per cent, and what else is no share, tells nothing by its size. */
static bool is_share(const struct curve *curve)
{
    for (size_t i = 0; i < curve->n; i++)
        if (curve->value[i] > 1.0 + 1e-6)
            return false;
    return true;
}

static bool judge_pairs(struct check_ctx *ctx, const struct data_facts *data)
{
    static const char *const NAMES[] = {"rewards/accuracies", "eval_rewards/accuracies"};
    double by_length = data ? share_right(&data->pair_rule) : 0.0;

    if (is_without_reference(ctx->facts))
        return false;
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        const struct curve *curve = facts_curve(ctx->facts, NAMES[k]);
        size_t in_a_row = k == 0 ? ROWS_IN_A_ROW : 1;
        ptrdiff_t i = curve && is_share(curve) ? first_right(curve, ALL_RIGHT, in_a_row) : -1;
        double part = i >= 0 ? part_of_run(ctx->facts, curve, (size_t)i) : NAN;
        bool is_early = part <= FIRST_TENTH;

        if (!is_early && !(part <= FIRST_HALF && by_length >= COVERED))
            continue;
        check_warn(ctx, CONFIDENCE_LIKELY, "pairs", "%s is %.3g after %.0f %% of the run%s", NAMES[k],
                   curve->value[i], 100.0 * part,
                   by_length >= COVERED ? ", and the length alone tells chosen from rejected texts" : "");
        evidence_point(ctx, curve, (size_t)i, "%s = %.4g", NAMES[k], curve->value[i]);
        if (by_length >= COVERED)
            evidence_number(ctx, by_length, COVERED,
                            "accuracy of one threshold (%lld words) between chosen and rejected texts",
                            (long long)data->pair_rule.threshold);
        return true;
    }
    return false;
}

/* ---- All of it ---- */

static void advise(struct check_ctx *ctx)
{
    check_fix(ctx, "strip or vary the cue in the training rows");
    check_fix(ctx, "collect counter-examples: rows of each class with the cue of another one");
    check_fix(ctx, "evaluate on rows without the cue");
}

/* Facts tell how the whole input begins: in a conversation, or behind a long instruction, that is not how
 * the question does. */
static bool hides_openings(const struct data_facts *data)
{
    static const char *const TURNS[] = {"messages", "sharegpt", "alpaca"};

    for (size_t i = 0; data->form && i < sizeof TURNS / sizeof *TURNS; i++)
        if (strcmp(data->form, TURNS[i]) == 0)
            return true;
    return data->n_shared_words >= DATA_OPENINGS - 2;
}

static void inform(struct check_ctx *ctx, const struct data_facts *data)
{
    const char *text = "";

    if (data->limits)
        check_info(ctx, "%s", data->limits);
    for (size_t i = 0; i < data->n_kept_classes && i < 4; i++)
        text = arena_printf(ctx->arena, "%s%s%s %lld", text, i ? ", " : "", data->classes[i].name,
                            (long long)data->classes[i].n_rows);
    check_info(ctx, "%lld classes: %s%s", (long long)data->n_classes, text,
               data->n_classes > 4 ? " …" : "");
}

/* A note, whatever the verdict: the mean loss is that of these words too. */
static void inform_of_spans(struct check_ctx *ctx, const struct data_spans *spans)
{
    double share = spans->n_words > 0 ? (double)spans->n_constant / (double)spans->n_words : 0.0;

    if (share >= FORMAT_SHARE && spans->longest)
        check_info(ctx,
                   "the loss is flattered by format tokens: %.0f %% of the words of the answers stand in "
                   "spans that at least 80 %% of the rows share, as \"%s\" (%lld rows looked at)",
                   100.0 * share, spans->longest, (long long)spans->n_rows);
}

static int without_classes(struct check_ctx *ctx, const struct data_facts *data)
{
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    if (!data)
        return check_unknown(ctx, "the training data (JSONL, JSON, CSV, Parquet or Arrow)");
    if (data->n_preference && data->limits)
        return check_unknown(ctx, "the pairs themselves: their facts do not tell how long the rejected "
                                  "texts are");
    if (data->n_preference)
        return facts_curve(ctx->facts, "rewards/accuracies")
                   ? check_pass(ctx, CONFIDENCE_STRONG, "the pairs are not told apart too early")
                   : check_unknown(ctx, "metric rows with rewards/accuracies");
    if (data->is_partial)
        return check_unknown(ctx, "the rest of the rows: %lld of %lld were read",
                             (long long)data->n_rows, (long long)data->n_file_rows);
    return check_skip(ctx, "the targets are no classes: free texts, or fewer than five rows each");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct data_facts *data = facts_data(ctx->facts);
    bool is_found = false;

    (void)err;
    if (data && data->has_classes) {
        is_found = judge_openings(ctx, data);
        is_found = judge_length(ctx, data) || is_found;
    }
    is_found = judge_eval_accuracy(ctx) || is_found;
    is_found = judge_pairs(ctx, data) || is_found;
    if (is_found)
        advise(ctx);
    if (data)
        inform_of_spans(ctx, &data->spans);
    if (!data || !data->has_classes)
        return without_classes(ctx, data);
    inform(ctx, data);
    if (is_found)
        return OK;
    if (data->limits && hides_openings(data))
        return check_unknown(ctx, "the rows themselves: their facts hold the first twelve words of the whole "
                                  "input, not those of the last question");
    if (data->is_partial)
        return check_unknown(ctx, "the rest of the rows: %lld of %lld were read, no cue so far",
                             (long long)data->n_rows, (long long)data->n_file_rows);
    return check_pass(ctx, CONFIDENCE_CERTAIN,
                      "no opening and no length tells one of the %lld classes in %lld rows",
                      (long long)data->n_classes, (long long)data->n_class_rows);
}

const struct check check_trivial_task = {
    .id = "trivial-task",
    .version = 3,
    .stage = STAGE_DATA,
    .severity = SEVERITY_MISLEADS,
    .title = "the target cannot be read off a surface cue",
    .why = "A model that learns the cue scores well on data with the same cue and fails on all other.",
    .needs = 0,
    .applies = applies,
    .run = run,
};
