/* What a program wrote, compared with what was accepted before: tests/unit/data/<name>.
 *
 *     golden_compare("report/small.md", text.p);
 *
 * GOLDEN=accept in the environment (`make golden`) writes the file instead; review the diff. */
#ifndef TESTS_HARNESS_GOLDEN_H
#define TESTS_HARNESS_GOLDEN_H

/* Fails the test at the first line that differs, or when the file is not there. */
void golden_compare(const char *name, const char *text);

#endif
