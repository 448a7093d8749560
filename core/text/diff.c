/* The difference of two texts: cut into units, numbered, and Myers' shortest edit over the numbers.
 * The trace of furthest reaching paths is kept whole, so the bound is on edits, not on lengths. */
#include "core/text/diff.h"

#include <ctype.h>
#include <string.h>

#include "core/base/hash.h"

#define EDITS_MAX 1500                  /* the trace of as many edits takes 9 MB */
#define UNITS_MAX ((size_t)1 << 24)     /* of one text */

struct units {
    const uint32_t *end;        /* of each unit, in bytes, rising */
    uint32_t *number;           /* equal units have equal numbers */
    size_t n;
};

/* ---- Units ---- */

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t unit_bytes(struct str rest, enum diff_unit unit)
{
    size_t n = 1;

    if (unit == DIFF_LINES) {
        const char *newline = memchr(rest.p, '\n', rest.n);

        return newline ? (size_t)(newline - rest.p) + 1 : rest.n;
    }
    if (is_word_byte(rest.p[0]))
        while (n < rest.n && is_word_byte(rest.p[n]))
            n++;
    else if (is_blank(rest.p[0]))
        while (n < rest.n && is_blank(rest.p[n]))
            n++;
    return n;
}

static size_t cut(struct str text, enum diff_unit unit, uint32_t *ends)
{
    size_t n = 0, at = 0;

    while (at < text.n) {
        at += unit_bytes(str_skip(text, at), unit);
        if (ends)
            ends[n] = (uint32_t)at;
        n++;
    }
    return n;
}

/* Tokens without bytes of the text are no units; what stands behind the last one is. */
static size_t cut_tokens(struct str text, const uint32_t *token_ends, size_t n_tokens, uint32_t *ends)
{
    size_t n = 0;
    uint32_t last = 0;

    for (size_t i = 0; i < n_tokens; i++) {
        uint32_t end = token_ends[i] < text.n ? token_ends[i] : (uint32_t)text.n;

        if (end <= last)
            continue;
        if (ends)
            ends[n] = end;
        n++;
        last = end;
    }
    if (last < text.n) {
        if (ends)
            ends[n] = (uint32_t)text.n;
        n++;
    }
    return n;
}

static int units_of(struct str text, enum diff_unit unit, const uint32_t *token_ends,
                    size_t n_tokens, struct arena *arena, struct units *out, struct error *err)
{
    bool by_token = unit == DIFF_TOKENS && token_ends;
    size_t n = by_token ? cut_tokens(text, token_ends, n_tokens, NULL)
                        : cut(text, unit == DIFF_TOKENS ? DIFF_WORDS : unit, NULL);
    uint32_t *ends = arena_array(arena, n + 1, sizeof *ends);

    out->n = n;
    out->number = arena_array(arena, n + 1, sizeof *out->number);
    if (!ends || !out->number)
        return error_set(err, E_NOMEM, "comparing two texts");
    if (by_token)
        cut_tokens(text, token_ends, n_tokens, ends);
    else
        cut(text, unit == DIFF_TOKENS ? DIFF_WORDS : unit, ends);
    out->end = ends;
    return OK;
}

static uint32_t unit_begin(const struct units *units, size_t i)
{
    return i ? units->end[i - 1] : 0;
}

static struct str unit_text(struct str text, const struct units *units, size_t i)
{
    uint32_t begin = unit_begin(units, i);

    return str_from(text.p + begin, units->end[i] - begin);
}

struct names {
    struct str *text;           /* by slot of the table */
    uint32_t *number;           /* 0: the slot is free */
    size_t mask;
    uint32_t n;
};

static void number_units(struct names *names, struct str text, struct units *units)
{
    for (size_t i = 0; i < units->n; i++) {
        struct str unit = unit_text(text, units, i);
        size_t slot = (size_t)hash_bytes(unit.p, unit.n) & names->mask;

        while (names->number[slot] && !str_eq(names->text[slot], unit))
            slot = (slot + 1) & names->mask;
        if (!names->number[slot]) {
            names->number[slot] = ++names->n;
            names->text[slot] = unit;
        }
        units->number[i] = names->number[slot];
    }
}

static int number_both(struct str a, struct units *x, struct str b, struct units *y,
                       struct arena *arena, struct error *err)
{
    size_t slots = 16;

    while (slots < 2 * (x->n + y->n))
        slots *= 2;
    struct names names = {.text = arena_array(arena, slots, sizeof *names.text),
                          .number = arena_array(arena, slots, sizeof *names.number),
                          .mask = slots - 1};
    if (!names.text || !names.number)
        return error_set(err, E_NOMEM, "comparing two texts");
    number_units(&names, a, x);
    number_units(&names, b, y);
    return OK;
}

/* ---- The shortest edit ---- */

struct script {
    struct arena *arena;
    const struct units *a, *b;
    struct diff_part *parts;
    size_t n, capacity;
};

/* Appends a stretch, or makes the last one longer. Removed stands before added. */
static void put(struct script *script, enum diff_kind kind, size_t a, size_t a_end, size_t b,
                size_t b_end)
{
    struct diff_part part = {kind, unit_begin(script->a, a), unit_begin(script->a, a_end),
                             unit_begin(script->b, b), unit_begin(script->b, b_end)};
    struct diff_part *last = script->n ? &script->parts[script->n - 1] : NULL;

    if (a == a_end && b == b_end)
        return;
    if (last && last->kind == kind) {
        last->a_end = part.a_end;
        last->b_end = part.b_end;
        return;
    }
    struct diff_part *room = arena_room(script->arena, script->parts, script->n, &script->capacity,
                                        sizeof *room);
    if (!room)
        return;
    script->parts = room;
    script->parts[script->n++] = part;
}

struct box {                    /* what is left between the common ends */
    size_t a, b;                /* first unit */
    ptrdiff_t n, m;             /* units */
};

static ptrdiff_t slide(const struct script *s, const struct box *box, ptrdiff_t x, ptrdiff_t k)
{
    while (x < box->n && x - k < box->m &&
           s->a->number[box->a + (size_t)x] == s->b->number[box->b + (size_t)(x - k)])
        x++;
    return x;
}

/* Row d of the trace begins at d * d and has the diagonals -d … d. */
static int32_t *cell(int32_t *trace, ptrdiff_t d, ptrdiff_t k)
{
    return &trace[d * d + k + d];
}

static bool comes_from_above(int32_t *trace, ptrdiff_t d, ptrdiff_t k)
{
    return k == -d || (k != d && *cell(trace, d - 1, k - 1) < *cell(trace, d - 1, k + 1));
}

/* The number of edits, or -1 beyond the bound. */
static ptrdiff_t search(const struct script *s, const struct box *box, int32_t *trace,
                        ptrdiff_t most)
{
    for (ptrdiff_t d = 0; d <= most; d++)
        for (ptrdiff_t k = -d; k <= d; k += 2) {
            ptrdiff_t x = d == 0                       ? 0
                          : comes_from_above(trace, d, k) ? *cell(trace, d - 1, k + 1)
                                                       : *cell(trace, d - 1, k - 1) + 1;
            bool is_outside = x > box->n || x - k > box->m;

            if (!is_outside)
                x = slide(s, box, x, k);
            *cell(trace, d, k) = (int32_t)x;
            if (x >= box->n && x - k >= box->m && !is_outside)
                return d;
        }
    return -1;
}

struct edit {
    bool is_added;
    ptrdiff_t x, y;             /* place before the edit */
};

static void walk_back(int32_t *trace, const struct box *box, ptrdiff_t d, struct edit *edits)
{
    ptrdiff_t x = box->n, y = box->m;

    for (; d > 0; d--) {
        ptrdiff_t k = x - y;
        bool is_added = comes_from_above(trace, d, k);
        ptrdiff_t before = is_added ? k + 1 : k - 1;

        x = *cell(trace, d - 1, before);
        y = x - before;
        edits[d - 1] = (struct edit){is_added, x, y};
    }
}

/* Runs of edits in one place are told as one removed and one added stretch. */
static void tell(struct script *s, const struct box *box, const struct edit *edits, ptrdiff_t d)
{
    ptrdiff_t x = 0, y = 0;

    for (ptrdiff_t i = 0; i < d;) {
        put(s, DIFF_EQUAL, box->a + (size_t)x, box->a + (size_t)edits[i].x, box->b + (size_t)y,
            box->b + (size_t)edits[i].y);
        ptrdiff_t from_x = edits[i].x, from_y = edits[i].y;
        x = from_x;
        y = from_y;
        while (i < d && edits[i].x == x && edits[i].y == y) {
            if (edits[i].is_added)
                y++;
            else
                x++;
            i++;
        }
        put(s, DIFF_REMOVED, box->a + (size_t)from_x, box->a + (size_t)x, box->b + (size_t)from_y,
            box->b + (size_t)from_y);
        put(s, DIFF_ADDED, box->a + (size_t)x, box->a + (size_t)x, box->b + (size_t)from_y,
            box->b + (size_t)y);
    }
    put(s, DIFF_EQUAL, box->a + (size_t)x, box->a + (size_t)box->n, box->b + (size_t)y,
        box->b + (size_t)box->m);
}

static int edit_box(struct script *s, const struct box *box, struct diff *out, struct error *err)
{
    ptrdiff_t most = box->n + box->m < EDITS_MAX ? box->n + box->m : EDITS_MAX;
    int32_t *trace = arena_array(s->arena, (size_t)((most + 1) * (most + 1)), sizeof *trace);
    struct edit *edits = arena_array(s->arena, (size_t)most + 1, sizeof *edits);

    if (!trace || !edits)
        return error_set(err, E_NOMEM, "comparing two texts");
    ptrdiff_t d = box->n && box->m ? search(s, box, trace, most) : -1;
    if (d >= 0) {
        walk_back(trace, box, d, edits);
        tell(s, box, edits, d);
        return OK;
    }
    out->is_bounded = box->n > 0 && box->m > 0;
    size_t a_end = box->a + (size_t)box->n, b_end = box->b + (size_t)box->m;
    put(s, DIFF_REMOVED, box->a, a_end, box->b, box->b);
    put(s, DIFF_ADDED, a_end, a_end, box->b, b_end);
    return OK;
}

static int edit_all(struct script *s, struct diff *out, struct error *err)
{
    size_t before = 0, behind = 0, n = s->a->n, m = s->b->n;

    while (before < n && before < m && s->a->number[before] == s->b->number[before])
        before++;
    while (behind < n - before && behind < m - before &&
           s->a->number[n - 1 - behind] == s->b->number[m - 1 - behind])
        behind++;
    struct box box = {before, before, (ptrdiff_t)(n - before - behind),
                      (ptrdiff_t)(m - before - behind)};
    put(s, DIFF_EQUAL, 0, before, 0, before);
    int rc = edit_box(s, &box, out, err);
    put(s, DIFF_EQUAL, n - behind, n, m - behind, m);
    return rc;
}

int diff_texts(struct str a, struct str b, enum diff_unit unit, const uint32_t *a_ends, size_t n_a,
               const uint32_t *b_ends, size_t n_b, struct arena *arena, struct diff *out,
               struct error *err)
{
    struct units x, y;

    *out = (struct diff){0};
    if (a.n > UNITS_MAX || b.n > UNITS_MAX)
        return error_set(err, E_LIMIT, "a text of %zu bytes is too long to be compared",
                         a.n > b.n ? a.n : b.n);
    int rc = units_of(a, unit, a_ends, n_a, arena, &x, err);
    if (rc == OK)
        rc = units_of(b, unit, b_ends, n_b, arena, &y, err);
    if (rc == OK)
        rc = number_both(a, &x, b, &y, arena, err);
    if (rc != OK)
        return rc;
    struct script script = {.arena = arena, .a = &x, .b = &y};
    rc = edit_all(&script, out, err);
    out->parts = script.parts;
    out->n = script.n;
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "comparing two texts");
    return rc;
}
