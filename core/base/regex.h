/* PCRE2 with limits. Patterns are compiled as UTF with invalid bytes allowed to match nothing
 * (PCRE2_MATCH_INVALID_UTF), match and depth limits set, JIT used where available. A compiled
 * regex is const and may be shared; a match needs its own `struct regex_match`. */
#ifndef CORE_BASE_REGEX_H
#define CORE_BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/str.h"

#define REGEX_MAX_GROUPS 24

struct regex;

MUST_CHECK int regex_compile(struct regex **out, struct str pattern, struct error *err);
void regex_close(struct regex *regex); /* NULL allowed */

struct regex_match {
    int n_groups;                       /* groups set, the whole match included */
    struct str group[REGEX_MAX_GROUPS]; /* p NULL: did not take part */
};

/* 1 match, 0 none, negative enum status (E_LIMIT: gave up). Searches anywhere in the text. */
int regex_search(const struct regex *regex, struct str text, struct regex_match *match);

#endif
