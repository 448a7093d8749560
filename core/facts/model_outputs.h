/* What the base and the tuned models wrote on the same prompts, put beside each other (CHECKS.md 4.0,
 * F-DIFF; 7.2). For C1.1, C1.6 and the known-different prompt of the health check. The texts are read
 * again from the files that hold them; where that is not possible the stored hashes still tell equal
 * outputs from others. Readings, no verdicts. */
#ifndef CORE_FACTS_MODEL_OUTPUTS_H
#define CORE_FACTS_MODEL_OUTPUTS_H

#include "core/base/str.h"
#include "core/facts/run_facts.h"

#define OUTPUT_FEWEST_WORDS 4       /* an output of fewer may well be the same of any two models */
#define OUTPUT_ALIKE        0.9     /* F-DIFF: texts whose word sets are that alike do not differ */

/* The outputs of two models on one prompt. Texts have p NULL where they could not be read again. */
struct output_pair {
    const struct generation *a, *b;     /* of the two models of the comparison */
    struct str prompt, a_text, b_text;  /* a prompt that stands before the output is left out of it */
    bool is_identical;                  /* the same text, after NFC and without blanks at the ends */
    bool is_short;                      /* b's output has fewer than OUTPUT_FEWEST_WORDS words */
    double jaccard;                     /* of the word sets; NaN without the texts */
    bool differs;                       /* F-DIFF; without the texts: not identical, and neither is short */
    int64_t source_id, line;            /* of b's output; line NONE */
};

/* One model against another: the base against a tuned one, or an adapter against its merged copy. */
struct output_comparison {
    const char *a, *b;                  /* names as the rows have them */
    int64_t b_step;                     /* NONE: the rows state none */
    bool a_is_base;
    bool is_assumed;                    /* which of the two is the base is not said */
    const struct output_pair *pairs; size_t n;
    size_t n_long;                      /* pairs that are not short */
    size_t n_identical, n_identical_long;
    size_t n_differ;
    ptrdiff_t most_different;           /* index of the smallest Jaccard among long pairs, or -1 */
};

struct model_outputs {
    const struct output_comparison *items; size_t n;    /* base against each tuned model first */
};

/* Made once for the facts; never NULL unless memory ran out (run_facts_status). */
const struct model_outputs *facts_model_outputs(const struct run_facts *facts);
/* The comparison of these two, or NULL. */
const struct output_comparison *outputs_of(const struct model_outputs *outputs, const char *a,
                                           const char *b);
/* NFC, trimmed at both ends; the text itself where nothing changes. */
struct str output_normal(struct str text, struct arena *arena);
/* Share of words that two normal texts have in common, of all their words. 1 for two empty ones. */
double output_jaccard(struct str a, struct str b, struct arena *arena);
size_t output_words(struct str text);

#endif
