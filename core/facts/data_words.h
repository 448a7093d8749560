/* Words as the checks of stage 5 count and compare them (CHECKS.md F13, F19): runs of letters and
 * digits of a normal text, special tokens taken out before; where a script has no blanks each
 * character is a word. */
#ifndef CORE_FACTS_DATA_WORDS_H
#define CORE_FACTS_DATA_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

#define DATA_SHORT_WORDS  12    /* an answer up to here may contradict another one */
#define DATA_SHORTEST     3     /* … and up to here by any difference */

/* Appends the text without <|…|>, <s>, </s>, [INST] and their kind. */
void data_without_special(struct str text, struct buf *out);

/* The next word of a normal text, taken off *rest; false: there is none. */
bool data_next_word(struct str *rest, struct str *word);
size_t data_count_words(struct str normal);
/* Of ASCII without special tokens: its normal text and how many words it has, in one pass. False, and
 * nothing is done, for any other text. `room` takes text.n bytes. */
bool data_normal_ascii(struct str text, char *room, size_t *n, size_t *n_words);

/* The words of a text by their hashes, at most so many of them. */
struct data_words {
    uint64_t *hashes;           /* in the order of the text; then sorted, each once */
    size_t n, n_distinct;
    uint64_t *sorted;
};
#define DATA_MAX_WORDS 4096
/* Room for 2 * DATA_MAX_WORDS hashes at `room`. */
void data_words_of(struct str normal, uint64_t *room, struct data_words *out);
double data_words_jaccard(const struct data_words *a, const struct data_words *b);

enum data_difference {
    DATA_SAME,                  /* but for marks and style */
    DATA_CONTRADICTS,           /* short answers that cannot both be right */
    DATA_OTHER_TEXT             /* longer texts of different words, which two good answers may be */
};
/* F13 and C5.1; a and b are normal texts. *jaccard of the word sets. */
enum data_difference data_compare(struct str a, struct str b, double *jaccard);

#endif
