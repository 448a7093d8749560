/* `flatline history`: commits that changed the configuration, setting by setting, as text. */
#ifndef CORE_EXPORTS_HISTORY_REPORT_H
#define CORE_EXPORTS_HISTORY_REPORT_H

#include "core/facts/history_effect.h"

struct history_report_options {
    bool ascii;
    int64_t run_id;             /* the run that is told of; 0: none */
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
/* "last healthy: c8e6b65, run sft-02; 2 commits since changed" … what the changes then list. */
void history_healthy_text(struct buf *out, const struct config_history *history,
                          const struct history_healthy *healthy);

#endif
