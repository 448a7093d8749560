/* What the runs made under a configuration's commits tell: the last commit under which a run was healthy,
 * what changed since, and when a commit took effect. Pure: from what config_history.h gives. */
#ifndef CORE_FACTS_HISTORY_EFFECT_H
#define CORE_FACTS_HISTORY_EFFECT_H

#include "core/facts/config_history.h"

/* It did not crash, it was checked, and no check of it fails. */
bool history_run_is_healthy(const struct history_run *run);
/* "fail", "warn", "no fault found", "not checked" */
const char *history_run_word(const struct history_run *run);

struct history_healthy {
    ptrdiff_t at;                       /* revision, -1: no run under this or an older commit was healthy */
    const struct history_run *run;      /* the one that was healthy under it */
    /* From there to the commit that the run used, the run's own changes with it. */
    const struct config_change *changes; size_t n_changes;
    size_t n_commits;
    bool is_same_commit;                /* the healthy run used the very commit */
    bool is_rough;                      /* commits of several branches, or compared by lines: see each */
};

/* For a run that broke: the newest commit, not after the one it used, under which another run was healthy.
 * `run_id` is the run; a healthy one is answered with at -1. False without memory. */
bool history_last_healthy(const struct config_history *history, const struct history_run *runs,
                          size_t n_runs, int64_t run_id, struct arena *arena, struct history_healthy *out);
/* What the settings of revision `newer` differ in from those of `older` (the greater index), as far as the
 * commits between tell. False without memory. */
bool history_net_changes(const struct config_history *history, ptrdiff_t older, ptrdiff_t newer,
                         struct arena *arena, const struct config_change **out, size_t *n);
/* The newest commit of those after `older` up to `newer` that changed the setting, -1. */
ptrdiff_t history_changed_by(const struct config_history *history, ptrdiff_t older, ptrdiff_t newer,
                             const char *name);
/* The run broke: what the above asks of it first. */
bool history_run_broke(const struct history_run *runs, size_t n_runs, int64_t run_id);

enum history_effect_kind {
    HISTORY_EFFECT_UNKNOWN,             /* no run is known that began under or after it */
    HISTORY_EFFECT_HERE,                /* the run itself is the first one under it */
    HISTORY_EFFECT_RESUMED,             /* a part of the run: it was resumed after the commit */
    HISTORY_EFFECT_OTHER                /* another run is the first one under it */
};
struct history_effect {
    enum history_effect_kind kind;
    int64_t step;                       /* HERE, RESUMED: the first one under it; NONE when none was logged */
    const struct history_run *with;     /* the first run under it; NULL: the run itself, or none */
    const struct history_run *before;   /* the last run that was made without it, or NULL */
};

/* When revision `at` took effect, seen from the run of the facts. By the commits that runs used, and by
 * their times where that is not known. */
struct history_effect history_effect_of(const struct config_history *history,
                                        const struct history_run *runs, size_t n_runs,
                                        const struct run_facts *facts, ptrdiff_t at);

#endif
