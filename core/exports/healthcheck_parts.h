/* Between the files of the health check. */
#ifndef CORE_EXPORTS_HEALTHCHECK_PARTS_H
#define CORE_EXPORTS_HEALTHCHECK_PARTS_H

#include "core/base/arena.h"
#include "core/exports/healthcheck.h"
#include "core/read/json.h"

struct health_prompt {
    int64_t row;                    /* of the training data; NONE */
    struct str messages;            /* JSON array, as a request takes it */
    struct str rendered;            /* by the training template; p NULL: not known */
    struct str expect_prefix;       /* first words of what the tuned model should write */
    struct str base_output;         /* p NULL: not known */
    const char *why;
};

struct health {
    const struct run_facts *facts;
    struct arena *arena;
    struct health_prompt prompts[HEALTHCHECK_PROMPTS];
    size_t n;
    bool is_verified;               /* chosen by outputs of both models */
};

/* ---- healthcheck_rows.c: prompts from the training rows ---- */

MUST_CHECK int health_choose_rows(struct health *health, struct error *err);
/* The first words of a text, at most `n_words`, without the blanks at the ends. */
struct str health_first_words(struct str text, int n_words);

/* ---- healthcheck_script.c ---- */

MUST_CHECK int health_write_script(const struct health *health, const struct made_folder *folder,
                                   struct error *err);

#endif
