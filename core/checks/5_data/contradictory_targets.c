/* C5.1: does the same input have one target? Inputs that stand in several rows, by F13, over all training
 * rows; what was counted is core/facts/data_facts.c's. */
#include <math.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/checks/check.h"
#include "core/facts/data_facts.h"

enum { FEWEST_GROUPS = 2, SHOWN_INPUT = 90, SHOWN_TARGET = 50 };

static const double SHARE_OF_GROUPS = 0.05, SHARE_OF_ROWS = 0.05;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "texts alone are trained on: there is no input apart from the target";
    return facts->run.kind != KIND_PRETRAINING;
}

/* ---- Evidence ---- */

static const char *one_line(struct check_ctx *ctx, const char *text, size_t n_bytes)
{
    struct str cut = unicode_cut(str_of(text), n_bytes);
    struct buf shown;

    buf_init(&shown, 16 * n_bytes + 16);
    unicode_visible(&shown, cut, false);
    const char *line = arena_printf(ctx->arena, "%s%s", shown.p ? shown.p : "",
                                    strlen(text) > cut.n ? " …" : "");
    buf_free(&shown);
    return line;
}

static const char *targets_text(struct check_ctx *ctx, const struct data_group *group)
{
    const char *text = "";

    for (size_t i = 0; i < group->n_targets && i < 3; i++)
        text = arena_printf(ctx->arena, "%s%s\"%s\" (%lld)", text, i ? " against " : "",
                            one_line(ctx, group->targets[i].text, SHOWN_TARGET),
                            (long long)group->targets[i].count);
    int64_t more = (int64_t)group->n_targets - 3 + group->n_more;
    return more > 0 ? arena_printf(ctx->arena, "%s and %lld more", text, (long long)more) : text;
}

static const struct data_file *file_of(const struct data_facts *data, const struct data_target *target)
{
    int64_t file = target && target->n_rows ? target->rows[0].file : -1;

    return file >= 0 && (size_t)file < data->n_files ? &data->files[file] : NULL;
}

/* At the first row of the target that fewer rows have. */
static void show_group(struct check_ctx *ctx, const struct data_facts *data,
                       const struct data_group *group)
{
    const struct data_target *other =
        group->n_targets ? &group->targets[group->n_targets > 1 ? 1 : 0] : NULL;
    const struct data_file *file = file_of(data, other);
    struct evidence *e = evidence_add(ctx, "dataset", "%s%s\"%s\": %s",
                                      file && file->split ? file->split : "",
                                      file && file->split ? ": " : "",
                                      one_line(ctx, group->input, SHOWN_INPUT),
                                      targets_text(ctx, group));

    if (!other || other->n_rows == 0)
        return;
    e->row = other->rows[0].row;
    if (file)
        e->source_id = file->source_id;
}

static void show(struct check_ctx *ctx, const struct data_facts *data, bool is_free)
{
    for (size_t i = 0; i < data->n_shown; i++) {
        const struct data_group *group = &data->groups[i];

        if (is_free ? group->kind == DATA_FREE_TEXT : group->kind >= DATA_CONTRADICTORY)
            show_group(ctx, data, group);
    }
    if (data->n_preference || data->n_kto)
        return;
    struct evidence *e = evidence_number(ctx, data_ceiling(data), 1.0,
                                         "no model can give more than %.4f of the targets of repeated "
                                         "inputs as they stand",
                                         data_ceiling(data));
    e->has_bound = false;
}

static void advise(struct check_ctx *ctx)
{
    check_fix(ctx, "look at twenty of them side by side (flatline make contradictions) and decide which "
                   "target is right");
    check_fix(ctx, "add what the input leaves out: annotator, date, locale, the passage");
    check_fix(ctx, "keep the target that most rows of the input have");
    check_fix(ctx, "drop the rows");
}

/* ---- What all rows say beside it ---- */

static void inform(struct check_ctx *ctx, const struct data_facts *data)
{
    if (data->n_duplicates)
        check_info(ctx, "%lld of %lld rows are another row again, input and target",
                   (long long)data->n_duplicates, (long long)data->n_rows);
    if (data->n_degenerate)
        check_info(ctx, "%lld rows with an empty text were left out, the first of them row %lld",
                   (long long)data->n_degenerate, (long long)data->first_degenerate);
    if (data->n_unreadable)
        check_info(ctx, "%lld rows could not be read, the first of them row %lld",
                   (long long)data->n_unreadable, (long long)data->first_unreadable);
    if (data->limits)
        check_info(ctx, "%s", data->limits);
    if (data->n_not_grouped && !data->limits)
        check_info(ctx, "%lld rows were left out: the picture or sound that they ask about is not in "
                        "the file",
                   (long long)data->n_not_grouped);
    if (data->n_not_compared)
        check_info(ctx, "%lld repeated inputs have more or longer targets than were compared",
                   (long long)data->n_not_compared);
    if (data->n_free && !data->n_contradictory)
        check_info(ctx, "%lld repeated inputs have answers of different words; good answers may differ "
                        "so",
                   (long long)data->n_free);
}

static const char *what_contradicts(const struct data_facts *data)
{
    if (data->n_preference)
        return "have answers that are ranked both ways or in a circle";
    if (data->n_kto)
        return "have one answer with both labels";
    return "have targets that contradict each other";
}

static const char *branch_of(const struct data_facts *data)
{
    return data->n_preference ? "rankings" : data->n_kto ? "labels" : "targets";
}

/* ---- The rule ---- */

static const char *sentence_of(struct check_ctx *ctx, const struct data_facts *data)
{
    const char *ceiling = data->n_preference || data->n_kto
                              ? ""
                              : arena_printf(ctx->arena, ", accuracy ceiling %.4f", data_ceiling(data));

    return arena_printf(ctx->arena,
                        "%lld of %lld repeated inputs %s (%lld of %lld rows, %.3g %%%s)",
                        (long long)data->n_contradictory, (long long)data->n_groups,
                        what_contradicts(data), (long long)data->n_contradictory_rows,
                        (long long)data->n_rows,
                        100.0 * (double)data->n_contradictory_rows / (double)data->n_rows, ceiling);
}

static int judge_contradictions(struct check_ctx *ctx, const struct data_facts *data)
{
    double share = (double)data->n_contradictory / (double)data->n_groups;
    bool is_bad = share >= SHARE_OF_GROUPS && data->n_contradictory >= FEWEST_GROUPS;
    const char *sentence = sentence_of(ctx, data);

    if (is_bad)
        check_fail(ctx, CONFIDENCE_CERTAIN, branch_of(data), "%s", sentence);
    else
        check_warn(ctx, CONFIDENCE_CERTAIN, branch_of(data), "%s", sentence);
    evidence_number(ctx, share, SHARE_OF_GROUPS, "%lld of %lld repeated inputs",
                    (long long)data->n_contradictory, (long long)data->n_groups);
    show(ctx, data, false);
    advise(ctx);
    return OK;
}

static int judge_free_text(struct check_ctx *ctx, const struct data_facts *data)
{
    double share = (double)data->n_free_rows / (double)data->n_rows;

    check_warn(ctx, CONFIDENCE_POSSIBLE, "free-text",
               "%lld of %lld repeated inputs have answers of different words (%lld of %lld rows); they "
               "may all be right",
               (long long)data->n_free, (long long)data->n_groups, (long long)data->n_free_rows,
               (long long)data->n_rows);
    evidence_number(ctx, share, SHARE_OF_ROWS, "share of rows in those groups");
    show(ctx, data, true);
    check_fix(ctx, "read twenty of them side by side (flatline make contradictions)");
    check_fix(ctx, "where one answer is meant: keep one of each input");
    return OK;
}

/* F13: with no contradiction in n groups the rate is at most this (95 %). */
static double unseen_rate(int64_t n_clean)
{
    return 1.0 - pow(0.05, 1.0 / (double)n_clean);
}

static int judge_clean(struct check_ctx *ctx, const struct data_facts *data)
{
    if (data->is_partial && data->n_rows == data->n_file_rows)
        return check_unknown(ctx, "rows that can all be read: %s", data->missing ? data->missing : "stopped");
    if (data->is_partial) {
        check_unknown(ctx, "the rest of the rows: %lld of %lld were read (%s)", (long long)data->n_rows,
                      (long long)data->n_file_rows, data->missing ? data->missing : "stopped");
        if (data->n_groups)
            check_info(ctx, "none of %lld repeated inputs contradicts itself so far: the rate is at most "
                            "%.1f %%",
                       (long long)data->n_groups, 100.0 * unseen_rate(data->n_groups));
        return OK;
    }
    if (data->limits && data->n_not_compared)
        return check_unknown(ctx, "the texts of %lld repeated inputs, which are not among the candidates of "
                                  "the facts",
                             (long long)data->n_not_compared);
    if (data->n_groups == 0)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "no input stands in two of the %lld rows",
                          (long long)data->n_rows);
    return check_pass(ctx, CONFIDENCE_CERTAIN, "%lld inputs stand in several of the %lld rows, none %s",
                      (long long)data->n_groups, (long long)data->n_rows,
                      data->n_preference ? "with answers that are ranked both ways"
                      : data->n_kto      ? "with one answer that has both labels"
                                         : "with targets that contradict each other");
}

/* Nothing to group: why. */
static int judge_nothing(struct check_ctx *ctx, const struct data_facts *data)
{
    int64_t n_read = data->n_rows - data->n_unreadable;

    if (n_read <= 0)
        return check_unknown(ctx, "training rows that can be read%s%s", data->missing ? ": " : "",
                             data->missing ? data->missing : "");
    if (data->limits && data->n_no_target == n_read)
        return check_unknown(ctx, "facts of rows whose columns tell input and target apart (prompt and "
                                  "completion, messages), or the rows themselves");
    if (data->n_no_target == n_read)
        return check_skip(ctx, "the rows have no targets");
    return check_unknown(ctx, "the rows as prompt and completion or as messages: a text alone does not "
                              "say what is input and what is target");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct data_facts *data = facts_data(ctx->facts);

    (void)err;
    if (!data)
        return check_unknown(ctx, "the training data (JSONL, JSON, CSV, Parquet or Arrow)");
    int64_t n_read = data->n_rows - data->n_unreadable;
    if (n_read <= 0 || data->n_no_target == n_read || data->n_no_input == n_read)
        return judge_nothing(ctx, data);
    inform(ctx, data);
    if (data->not_grouped)
        return check_unknown(ctx, "the rows themselves: %s, so that inputs cannot be compared",
                             data->not_grouped);
    if (data->n_contradictory > 0)
        return judge_contradictions(ctx, data);
    if (data->n_free >= FEWEST_GROUPS &&
        (double)data->n_free_rows >= SHARE_OF_ROWS * (double)data->n_rows)
        return judge_free_text(ctx, data);
    return judge_clean(ctx, data);
}

const struct check check_contradictory_targets = {
    .id = "contradictory-targets",
    .version = 1,
    .stage = STAGE_DATA,
    .severity = SEVERITY_WASTES,
    .title = "the same input has one target",
    .why = "If the same input is answered in two ways, the model cannot do better than the disagreement, "
           "and the loss stays above it.",
    .needs = NEEDS_DATASET,
    .applies = applies,
    .run = run,
};
