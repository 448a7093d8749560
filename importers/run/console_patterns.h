/* The rows of console_patterns.tsv, and which of them a line may match.
 *
 * The table is data: a row names the line it looks for by a regex. What makes it fast is the
 * filter: from each regex the longest text is taken that every match must hold, and one look at a
 * line says which of these texts occur in it; only then the regex runs. */
#ifndef IMPORTERS_RUN_CONSOLE_PATTERNS_H
#define IMPORTERS_RUN_CONSOLE_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/regex.h"
#include "core/base/str.h"

#define CONSOLE_MAX_PATTERNS 320
#define CONSOLE_MAX_KINDS    2 /* alternatives of one row: "a | b" */
#define CONSOLE_MAX_LITERALS 6 /* alternatives inside one regex */

enum console_use {
    CONSOLE_EVENT, /* becomes one event of each of its kinds */
    CONSOLE_ROW,   /* a metric row whose groups are named in the groups column */
    CONSOLE_SKIP   /* read by hand (dicts, bars), or of no interest (benign, prefix) */
};

struct console_pattern {
    const char *name;
    struct str regex_text, groups, examples;
    enum console_use use;
    const char *kinds[CONSOLE_MAX_KINDS];
    size_t n_kinds;
    const char *fields[REGEX_MAX_GROUPS];      /* CONSOLE_ROW: metric of each group, or NULL */
    struct str literals[CONSOLE_MAX_LITERALS]; /* any of them is in every match */
    size_t n_literals;
    bool at_start;       /* no usable text, but anchored: tried at line starts */
    struct regex *regex; /* compiled at the first look; NULL before */
    bool is_broken;      /* does not compile: never matches */
};

struct console_filter;

struct console_patterns {
    struct console_pattern *all;
    size_t n;
    struct console_filter *filter;
    struct arena *arena;
};

/* A set of patterns: bit i is all[i]. */
struct console_set {
    uint64_t bits[CONSOLE_MAX_PATTERNS / 64];
    bool any;
};

/* The table that is compiled in. */
MUST_CHECK int console_patterns_open(struct console_patterns **out, struct error *err);
/* A table of the same form from memory (borrowed), for tests. */
MUST_CHECK int console_patterns_parse(struct console_patterns **out, struct str table,
                                      struct error *err);
void console_patterns_close(struct console_patterns *patterns); /* NULL allowed */

/* Adds to *set every pattern whose text occurs in the line. */
void console_filter_line(const struct console_filter *filter, struct str line,
                         struct console_set *set);
/* Adds the patterns that are tried at the start of a line whatever it holds. */
void console_filter_start(const struct console_filter *filter, struct str line,
                          struct console_set *set);
bool console_set_has(const struct console_set *set, size_t i);

/* 1 the line matches, 0 not. A pattern that gives up (limits) does not match. */
int console_pattern_match(struct console_pattern *pattern, struct str line,
                          struct regex_match *match);

/* ---- console_literals.c, console_filter.c ---- */

/* The best set of texts of which one is in every match of the regex; *n 0 when there is none.
 * Texts live in the arena. */
void console_literals(struct str regex, struct arena *arena,
                      struct str literals[CONSOLE_MAX_LITERALS], size_t *n);
MUST_CHECK int console_filter_open(struct console_filter **out, struct console_pattern *patterns,
                                   size_t n, struct error *err);
void console_filter_close(struct console_filter *filter);

#endif
