/* `flatline history`: commits that changed the configuration, setting by setting, as text. */
#ifndef CORE_EXPORTS_HISTORY_REPORT_H
#define CORE_EXPORTS_HISTORY_REPORT_H

#include "core/facts/config_history.h"

struct history_report_options {
    bool ascii;
};

/* One history: head line, a commit with its changes, what is not committed, which commit the run used.
 * `runs`: other runs under it, may be none. */
void history_report(struct buf *out, const struct config_history *history,
                    const struct history_run *runs, size_t n_runs,
                    const struct history_report_options *options);

/* "learning_rate  1e-5 → 2e-4", "+ packing  true", "- max_length  4096"; values cut. */
void history_change_text(struct buf *out, const struct config_change *change, bool ascii);
/* "2026-03-07 09:07 +0000", the author's own zone. */
void history_time_text(struct buf *out, int64_t time, int offset_minutes);
/* What stands where a revision has no changes to show: "first version, 10 settings" …; may be nothing. */
void history_summary_text(struct buf *out, const struct revision *revision);
/* The newest revision under which a run was healthy (pass or warn), -1; *run gets it. */
ptrdiff_t history_last_healthy(const struct history_run *runs, size_t n_runs, const struct history_run **run);

#endif
