/* `flatline compare`: two runs side by side, as text or as JSON. */
#ifndef CORE_EXPORTS_COMPARE_REPORT_H
#define CORE_EXPORTS_COMPARE_REPORT_H

#include "core/checks/verdicts.h"
#include "core/facts/compare.h"

struct compared_run {
    const struct run_facts *facts;
    const struct verdicts *verdicts;
};

MUST_CHECK int compare_text(struct buf *out, const struct compared_run *a, const struct compared_run *b,
                            struct error *err);
/* One JSON object, "flatline-compare/1": runs, settings, data, curves, verdicts. */
MUST_CHECK int compare_json(struct buf *out, const struct compared_run *a, const struct compared_run *b,
                            struct error *err);

/* ---- Shared with the pane ---- */

/* All that differs, in one go. */
struct comparison {
    const struct compared_setting *settings;    size_t n_settings;
    const struct compared_data *data;           size_t n_data;
    const struct compared_curve *curves;        size_t n_curves;
};
MUST_CHECK int comparison_make(struct comparison *out, const struct run_facts *a,
                               const struct run_facts *b, struct arena *arena, struct error *err);
/* "0.0002", "3.0 (default)", "not stated"; cut to 60 bytes, the length of what was longer behind it. */
const char *compared_value_text(const struct compared_value *value, struct arena *arena);
/* "part at step 120: 1.203 against 1.457 (+21 %)", "equal on 400 steps" … */
const char *compared_curve_text(const struct compared_curve *curve, struct arena *arena);

#endif
