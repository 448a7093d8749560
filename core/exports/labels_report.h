/* `flatline labels`: the counts of an audit and decoded rows with the mask shown, as text. */
#ifndef CORE_EXPORTS_LABELS_REPORT_H
#define CORE_EXPORTS_LABELS_REPORT_H

#include "core/base/str.h"
#include "core/facts/audit.h"

struct labels_report_options {
    int64_t row;        /* this row alone, with its ids; NONE: rows with a fault, else the first ones */
    bool all;           /* every row */
    bool ascii;
};

/* What was counted, for one audit: policy, assumption, counts, shares. */
void labels_summary(struct buf *out, const struct audit *audit);
/* "cut, no supervised token": the faults of a row, "" when it has none. */
void labels_faults(struct buf *out, uint32_t flags);
/* Flags that make a row worth a look. */
uint32_t labels_fault_mask(void);

/* All audits of the run with their rows. E_NOTFOUND when there is nothing to show: the message says
 * what to import, or which rows there are. */
MUST_CHECK int labels_report(struct buf *out, const struct run_facts *facts,
                             const struct labels_report_options *options, struct error *err);

#endif
