/* The findings as files: Markdown for people, JSON (flatline-check/1, CLI.md), TSV, plain text.
 *
 * Each writer appends to a buf from what verdicts_load gave; the same store gives the same bytes.
 * All text from files is redacted and made harmless. */
#ifndef CORE_EXPORTS_REPORT_H
#define CORE_EXPORTS_REPORT_H

#include "core/base/arena.h"
#include "core/checks/verdicts.h"
#include "core/exports/redact.h"

struct report_options {
    struct redact redact;
    bool unicode_charts;        /* braille; else ASCII */
    bool colour;                /* text only */
    int columns;                /* text only: width to fold to */
    const char *only;           /* check ids separated by ',', or NULL */
    const char *argument;       /* paths are shown below this; may be NULL */
    const char *version;        /* of the program */
    /* Draws the chart of a run's metric as plain text; views cannot be called from core, so the
     * caller lends one. NULL: no charts. */
    void (*chart)(struct buf *out, const struct run_facts *facts, const char *metric,
                  bool unicode);
};

MUST_CHECK int report_markdown(struct buf *out, struct store *store, const int64_t *run_ids,
                               size_t n, const struct report_options *options, struct error *err);
MUST_CHECK int report_json(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                           const struct report_options *options, struct error *err);
MUST_CHECK int report_tsv(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                          const struct report_options *options, struct error *err);
MUST_CHECK int report_text(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                           const struct report_options *options, struct error *err);

#endif
