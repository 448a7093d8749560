/* How panes write a verdict and a place. See verdict_words.h. */
#include "views/verdict_words.h"

#include <string.h>

const char *verdict_word(enum verdict verdict)
{
    static const char *const words[] = {
        [VERDICT_FAIL] = "FAIL", [VERDICT_WARN] = "warn",         [VERDICT_UNKNOWN] = "?",
        [VERDICT_PASS] = "ok",   [VERDICT_NOT_APPLICABLE] = "n/a"};

    return words[verdict];
}

enum style_role verdict_style(enum verdict verdict)
{
    static const enum style_role styles[] = {[VERDICT_FAIL] = STYLE_FAIL,
                                             [VERDICT_WARN] = STYLE_WARN,
                                             [VERDICT_UNKNOWN] = STYLE_UNKNOWN,
                                             [VERDICT_PASS] = STYLE_PASS,
                                             [VERDICT_NOT_APPLICABLE] = STYLE_NA};

    return styles[verdict];
}

static const char *shown_path(const struct run_facts *facts, int64_t source_id)
{
    const struct source *source = facts && source_id ? facts_source(facts, source_id) : NULL;
    size_t n;

    if (!source)
        return "";
    n = facts->run.folder ? strlen(facts->run.folder) : 0;
    if (n && strncmp(source->path, facts->run.folder, n) == 0 && source->path[n] == '/')
        return source->path + n + 1;
    return facts_file_name(facts, source_id);
}

static const char *file_and_line(const struct run_facts *facts, const struct evidence *evidence,
                                 struct arena *arena)
{
    const char *path = shown_path(facts, evidence->source_id);

    if (path[0] && evidence->line != NONE)
        return arena_printf(arena, "%s:%lld", path, (long long)evidence->line);
    return path;
}

const char *evidence_place(const struct run_facts *facts, const struct evidence *evidence,
                           struct arena *arena)
{
    const char *file = file_and_line(facts, evidence, arena);
    const char *comma = file[0] ? ", " : "";

    if (evidence->step != NONE && evidence->last_step != NONE &&
        evidence->last_step != evidence->step)
        return arena_printf(arena, "%s%ssteps %lld-%lld", file, comma, (long long)evidence->step,
                            (long long)evidence->last_step);
    if (evidence->step != NONE)
        return arena_printf(arena, "%s%sstep %lld", file, comma, (long long)evidence->step);
    if (evidence->row != NONE)
        return arena_printf(arena, "%s%srow %lld", file, comma, (long long)evidence->row);
    return file;
}
