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

/* Rows that say something only beside each other. */
static bool is_about_pairs(const struct check *check)
{
    return check && strcmp(check->id, "contradictory-targets") == 0;
}

const char *evidence_view(const struct check *check, const struct evidence *evidence)
{
    if (is_kind(evidence, "setting"))
        return "settings";
    if (is_about_prompts(check) && !is_kind(evidence, "log"))
        return "prompts";
    if (is_kind(evidence, "artefact"))
        return "artefacts";
    if (is_kind(evidence, "dataset") && evidence->row != NONE)
        return is_about_pairs(check) ? "pairs" : "labels";
    if (evidence->source_id && evidence->line != NONE)
        return "log";
    if (evidence->step != NONE)
        return "curves";
    return evidence->source_id ? "log" : NULL;
}
