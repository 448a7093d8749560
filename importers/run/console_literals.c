/* The text that every match of a regex must hold, found by reading the regex.
 *
 * Knows the part of PCRE2 that console_patterns.tsv uses: sequences, groups, alternatives,
 * classes, escapes, the quantifiers ? * +. Whatever it does not know breaks a text, never adds to
 * one, so that the answer may be poorer than possible but never wrong. */
#include <string.h>

#include "importers/run/console_patterns.h"

#define LITERAL_BYTES 64 /* longer texts are cut: enough to be rare */

struct literal_set {
    struct str texts[CONSOLE_MAX_LITERALS];
    size_t n; /* 0: nothing is known */
};

struct reader {
    const char *p, *end;
    struct arena *arena;
    int depth;
};

/* A run of characters that stand side by side. */
struct run {
    char bytes[LITERAL_BYTES];
    size_t n;
};

static size_t set_score(const struct literal_set *set)
{
    size_t shortest = set->n > 0 ? SIZE_MAX : 0;
    for (size_t i = 0; i < set->n; i++) {
        if (set->texts[i].n < shortest) {
            shortest = set->texts[i].n;
        }
    }
    return shortest;
}

/* More bytes are better; at 12 one text is better than several. */
static bool set_is_better(const struct literal_set *a, const struct literal_set *b)
{
    size_t score_a = set_score(a), score_b = set_score(b);
    if (score_a >= 12 && score_b >= 12 && a->n != b->n) {
        return a->n < b->n;
    }
    return score_a > score_b;
}

static void run_end(struct reader *reader, struct run *run, struct literal_set *best)
{
    if (run->n > 0) {
        struct literal_set set = {.n = 1};
        set.texts[0] = arena_str(reader->arena, str_from(run->bytes, run->n));
        if (set_is_better(&set, best)) {
            *best = set;
        }
    }
    run->n = 0;
}

static void run_add(struct reader *reader, struct run *run, struct literal_set *best, char c)
{
    if (run->n == LITERAL_BYTES) {
        run_end(reader, run, best);
    }
    run->bytes[run->n++] = c;
}

/* Skips a class; p is behind the '['. */
static void skip_class(struct reader *reader)
{
    if (reader->p < reader->end && *reader->p == '^') {
        reader->p++;
    }
    if (reader->p < reader->end && *reader->p == ']') {
        reader->p++;
    }
    while (reader->p < reader->end && *reader->p != ']') {
        reader->p += *reader->p == '\\' && reader->p + 1 < reader->end ? 2 : 1;
    }
    if (reader->p < reader->end) {
        reader->p++;
    }
}

/* A quantifier after an atom: 0 none, '+' at least once, '?' perhaps never. */
static char take_quantifier(struct reader *reader)
{
    if (reader->p >= reader->end) {
        return 0;
    }
    char c = *reader->p;
    if (c != '?' && c != '*' && c != '+' && c != '{') {
        return 0;
    }
    reader->p++;
    if (c == '{') {
        while (reader->p < reader->end && *reader->p != '}') {
            reader->p++;
        }
        reader->p += reader->p < reader->end;
    }
    if (reader->p < reader->end && (*reader->p == '?' || *reader->p == '+')) {
        reader->p++;
    }
    return c == '+' ? '+' : '?';
}

static void read_alternatives(struct reader *reader, struct literal_set *out);

/* Behind the '('. */
static void read_group(struct reader *reader, struct literal_set *best)
{
    bool is_plain = true;
    if (reader->p + 1 < reader->end && reader->p[0] == '?') {
        is_plain = reader->p[1] == ':';
        reader->p += 2;
    }
    struct literal_set inner = {0};
    if (++reader->depth > 40) {
        reader->p = reader->end;
        return;
    }
    read_alternatives(reader, &inner);
    reader->depth--;
    if (reader->p < reader->end) {
        reader->p++; /* ')' */
    }
    bool is_certain = take_quantifier(reader) != '?';
    if (is_plain && is_certain && set_is_better(&inner, best)) {
        *best = inner;
    }
}

static bool is_literal_escape(char c)
{
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
}

/* A single character that stands for itself, with its quantifier. */
static void read_character(struct reader *reader, struct run *run, struct literal_set *best, char c)
{
    char quantifier = take_quantifier(reader);
    if (quantifier == '?') {
        run_end(reader, run, best);
        return;
    }
    run_add(reader, run, best, c);
    if (quantifier == '+') {
        run_end(reader, run, best);
    }
}

static void read_sequence(struct reader *reader, struct literal_set *best)
{
    struct run run = {.n = 0};
    while (reader->p < reader->end && *reader->p != '|' && *reader->p != ')') {
        char c = *reader->p++;
        if (c == '\\' && reader->p < reader->end) {
            char escaped = *reader->p++;
            if (is_literal_escape(escaped)) {
                read_character(reader, &run, best, escaped);
                continue;
            }
            run_end(reader, &run, best);
            take_quantifier(reader);
        } else if (c == '(') {
            run_end(reader, &run, best);
            read_group(reader, best);
        } else if (c == '[') {
            run_end(reader, &run, best);
            skip_class(reader);
            take_quantifier(reader);
        } else if (c == '.' || c == '^' || c == '$') {
            run_end(reader, &run, best);
            take_quantifier(reader);
        } else {
            read_character(reader, &run, best, c);
        }
    }
    run_end(reader, &run, best);
}

/* Every alternative must give a text, else there is none that is always there. */
static void read_alternatives(struct reader *reader, struct literal_set *out)
{
    struct literal_set all = {0};
    bool is_known = true;
    for (;;) {
        struct literal_set one = {0};
        read_sequence(reader, &one);
        if (one.n == 0 || all.n + one.n > CONSOLE_MAX_LITERALS) {
            is_known = false;
        } else if (is_known) {
            memcpy(all.texts + all.n, one.texts, one.n * sizeof one.texts[0]);
            all.n += one.n;
        }
        if (reader->p >= reader->end || *reader->p != '|') {
            break;
        }
        reader->p++;
    }
    *out = is_known ? all : (struct literal_set){0};
}

void console_literals(struct str regex, struct arena *arena,
                      struct str literals[CONSOLE_MAX_LITERALS], size_t *n)
{
    struct reader reader = {.p = regex.p, .end = regex.p + regex.n, .arena = arena};
    struct literal_set set = {0};
    read_alternatives(&reader, &set);
    bool is_whole = reader.p == reader.end && reader.depth == 0;
    *n = is_whole ? set.n : 0;
    memcpy(literals, set.texts, *n * sizeof literals[0]);
}
