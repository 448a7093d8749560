/* What every report form needs of one run: verdicts, facts, and how paths and texts are shown.
 * Internal to core/exports. */
#ifndef CORE_EXPORTS_REPORT_RUN_H
#define CORE_EXPORTS_REPORT_RUN_H

#include "core/exports/report.h"

struct report_run {
    struct verdicts verdicts;
    struct run_facts *facts;
    const struct report_options *options;
    struct arena *arena;
    const char *argument;               /* real path of options->argument, or NULL */
    const struct remark *remarks;
    size_t n_remarks;
    const struct user_finding *user_findings;
    size_t n_user_findings;
};

struct report_job {
    struct store *store;
    const int64_t *run_ids;
    size_t n;
    const struct report_options *options;
    /* Puts what is said of the i-th run to the end of `out`. */
    void (*write)(struct buf *out, struct report_run *run, size_t i, void *ctx);
    void *ctx;
};
/* Each run in its turn, loaded into an arena of its own that is freed behind it. E_LIMIT when the texts
 * of a run did not fit into it: what was written is not whole. The functions below never give NULL. */
MUST_CHECK int report_each(struct buf *out, const struct report_job *job, struct error *err);

/* Path below the argument, else absolute; "" for no source. Redacted when anonymous. */
const char *report_path(const struct report_run *run, int64_t source_id);
const char *report_shown_path(const struct report_run *run, const char *path);
/* Redacted text, still with its own bytes (JSON escapes them). */
const char *report_redacted(const struct report_run *run, const char *text);
/* Redacted and harmless on one line. */
const char *report_line(const struct report_run *run, const char *text);
/* "train.log:42", "trainer_state.json:120 (step 40)", "steps 38-41", or "". */
const char *report_place(const struct report_run *run, const struct evidence *evidence);
/* Is the check asked for by options->only? */
bool report_wants(const struct report_options *options, const char *check_id);
/* The verdict word of the checklist: "FAIL", "warn", "?", "ok", "n/a". */
const char *report_word(enum verdict verdict);
/* "1240 of 3000", "1240", "-". */
const char *report_steps(const struct report_run *run);

#endif
