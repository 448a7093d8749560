/* What tests of audits ask of an audit, and of the store that keeps it. */
#ifndef TESTS_HARNESS_AUDITED_H
#define TESTS_HARNESS_AUDITED_H

#include "tests/harness/imported_run.h"

/* How many rows have the flag. */
int64_t audited_flagged(const struct audit *audit, enum audit_flag flag);
/* The id of the one audit that is stored for the run; the test fails unless there is exactly one. */
int64_t audited_id(struct imported_run *run);

#endif
