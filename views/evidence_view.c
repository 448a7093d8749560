/* Which pane shows a piece of evidence. See evidence_view.h. */
#include "views/evidence_view.h"

#include <string.h>

static bool is_kind(const struct evidence *evidence, const char *kind)
{
    return evidence->kind && strcmp(evidence->kind, kind) == 0;
}

/* The checks that lay two prompts beside each other. */
static bool is_about_prompts(const struct check *check)
{
    static const char *const ids[] = {"template-mismatch", "missing-generation-prompt",
                                      "system-prompt-mismatch"};

    for (size_t i = 0; check && i < sizeof ids / sizeof *ids; i++)
        if (strcmp(check->id, ids[i]) == 0)
            return true;
    return false;
}

static bool is_check(const struct check *check, const char *id)
{
    return strcmp(check->id, id) == 0;
}

/* Scores of models: the row or line they were read from says less than the difference with its interval. */
static const char *view_of_scores(const struct evidence *evidence)
{
    return is_kind(evidence, "log") || is_kind(evidence, "file") ? "log" : "evals";
}

/* Rows that say something only beside each other, or the table of all with what was counted. */
static const char *view_of_rows(const struct check *check, const struct evidence *evidence)
{
    if (is_kind(evidence, "log") || is_kind(evidence, "file"))
        return "log";
    if (evidence->series)
        return "curves";
    if (is_check(check, "contradictory-targets"))
        return "pairs";
    if (!is_check(check, "leak-near-duplicate"))
        return "data";
    /* of a leak the scores alone stand in another file, without a row */
    return is_kind(evidence, "dataset") && evidence->row == NONE ? "evals" : "pairs";
}

/* One series says it all; elsewhere two tell a story only beside each other. */
static bool is_of_one_series(const struct check *check)
{
    return is_check(check, "grpo-completions-clipped") || is_check(check, "grpo-no-signal") ||
           is_check(check, "negative-kl");
}

static const char *view_of_preference(const struct check *check, const struct evidence *evidence)
{
    if (is_kind(evidence, "log") || is_kind(evidence, "file"))
        return "log";
    if (is_check(check, "chosen-rejected-swapped") && !evidence->series)
        return "pairs";
    if (evidence->series && is_of_one_series(check))
        return "curves";
    if (!is_kind(evidence, "number") || !evidence->source_id || evidence->series)
        return "preference";
    /* held-out quality stands at its line, outputs that are alike in their file */
    return evidence->line != NONE ? "evals" : "log";
}

static const char *view_of_stage(const struct check *check, const struct evidence *evidence)
{
    if (check->stage == STAGE_EVAL_POWER)
        return view_of_scores(evidence);
    if (check->stage == STAGE_DATA || check->stage == STAGE_LEAK)
        return view_of_rows(check, evidence);
    return check->stage == STAGE_PREFERENCE ? view_of_preference(check, evidence) : NULL;
}

const char *evidence_view(const struct check *check, const struct evidence *evidence)
{
    if (is_kind(evidence, "setting"))
        return "settings";
    if (is_about_prompts(check) && !is_kind(evidence, "log"))
        return "prompts";
    if (is_kind(evidence, "artefact"))
        return "artefacts";
    if (check && view_of_stage(check, evidence))
        return view_of_stage(check, evidence);
    if (is_kind(evidence, "dataset") && evidence->row != NONE)
        return "labels";
    if (evidence->source_id && evidence->line != NONE)
        return "log";
    if (evidence->step != NONE)
        return "curves";
    return evidence->source_id ? "log" : NULL;
}
