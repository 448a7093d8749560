/* What tests of checks ask of a run and its result. The expectations print what was found instead. */
#ifndef TESTS_HARNESS_JUDGED_H
#define TESTS_HARNESS_JUDGED_H

#include "tests/harness/fake_run.h"

/* Runs the check; the test fails unless it gives this verdict. */
void judged_expect(struct fake_run *run, const struct check *check, enum verdict verdict,
                   struct check_result *out);
/* The first evidence at that step or line, or that contains the text; NULL when there is none. */
const struct evidence *judged_at_step(const struct check_result *result, int64_t step);
const struct evidence *judged_at_line(const struct check_result *result, int64_t line);
const struct evidence *judged_with_text(const struct check_result *result, const char *text);
/* An information, or a fix, contains the text. */
bool judged_informs(const struct check_result *result, const char *text);
bool judged_offers(const struct check_result *result, const char *text);

#endif
