/* Rows labelled with a tokenizer whose tokens are words, so that a test reads its labels off the ids.
 *
 *     struct label_policy policy = word_policy(MASK_TRL);
 *     struct labeller *labeller = word_labeller(&policy);
 *     struct labelled_row row = label(labeller, "{\"prompt\":\"a b\",\"completion\":\" c\"}");
 *     assert_labels(&row, "9- 10- 11+");
 *     labeller_close(labeller);
 *
 * The ids are the vocabulary in word_labels.c. Any failure fails the test. */
#ifndef TESTS_HARNESS_WORD_LABELS_H
#define TESTS_HARNESS_WORD_LABELS_H

#include "core/text/labels.h"

/* The fixtures of the whole group; the tokenizer and what word_row returns live between them. */
int word_labels_open(void **state);
int word_labels_close(void **state);
struct tokenizer *word_tokenizer(void);

/* The rule, with everything else left open. */
struct label_policy word_policy(enum mask_rule rule);
struct labeller *word_labeller(const struct label_policy *policy);
struct conversation word_row(const char *text);
struct labelled_row label(struct labeller *labeller, const char *text);

/* "9- 10+": id and whether it is trained, in what the cut leaves. */
void assert_labels(const struct labelled_row *row, const char *expected);
/* "suath": one letter a token, of the side it belongs to; "-" for none. */
void assert_sides(const struct labelled_row *row, const char *expected);

#endif
