/* Unicode's normal forms. See unicode_norm.h. Decomposition, classes and pairs are utf8proc's; the
 * order of work is our own, since utf8proc does not tell what became of which character. */
#include "core/base/unicode_norm.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "core/base/unicode.h"
#include "core/base/unicode_case.h"

#define LONGEST_DECOMPOSITION 32

struct range {
    int32_t from, to;
};

/* Code points that have a class or a decomposition, but were not assigned in Unicode 9. */
static const struct range ASSIGNED_LATER[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},
    {0xC3C, 0xC3C},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},
    {0xA82C, 0xA82C},   {0xAB69, 0xAB69},   {0x10781, 0x10785}, {0x10787, 0x107B0},
    {0x107B2, 0x107BA}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
    {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11938, 0x11938}, {0x1193D, 0x1193E},
    {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47},
    {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97},
    {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E030, 0x1E06D}, {0x1E08F, 0x1E08F},
    {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF},
    {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9},
};

static bool is_later(int32_t c)
{
    size_t low = 0, high = sizeof ASSIGNED_LATER / sizeof *ASSIGNED_LATER;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (c > ASSIGNED_LATER[middle].to)
            low = middle + 1;
        else if (c < ASSIGNED_LATER[middle].from)
            high = middle;
        else
            return true;
    }
    return false;
}

void unicode_steps_free(struct unicode_steps *steps)
{
    free(steps->items);
    *steps = (struct unicode_steps){0};
}

static int grow(struct unicode_steps *steps, struct error *err)
{
    size_t capacity = steps->capacity ? steps->capacity * 2 : 256;
    struct unicode_step *items = realloc(steps->items, capacity * sizeof *items);

    if (!items)
        return error_set(err, E_NOMEM, "no memory for a text of %zu characters", capacity);
    steps->items = items;
    steps->capacity = capacity;
    return OK;
}

int unicode_steps_push(struct unicode_steps *steps, int32_t codepoint, int32_t change,
                       struct error *err)
{
    int rc = steps->n < steps->capacity ? OK : grow(steps, err);

    if (rc == OK)
        steps->items[steps->n++] = (struct unicode_step){codepoint, change};
    return rc;
}

static int class_of(int32_t c)
{
    if (c < 0x300)
        return 0;

    int class = utf8proc_get_property(c)->combining_class;

    return class && is_later(c) ? 0 : class;
}

static bool is_hangul(int32_t c)
{
    return c >= 0xAC00 && c <= 0xD7A3;
}

/* Composes with what stands before it: marks, the second halves of pairs, vowels of Hangul. */
static bool may_compose(int32_t c)
{
    const utf8proc_property_t *property = utf8proc_get_property(c);

    return property->combining_class != 0 || property->comb_index != UINT16_MAX ||
           (c >= 0x1161 && c <= 0x11C2);
}

bool unicode_may_change(struct str text, enum unicode_form form)
{
    bool is_composed = form == UNICODE_NFC || form == UNICODE_NFKC;
    bool is_compatible = form == UNICODE_NFKC || form == UNICODE_NFKD;

    for (size_t i = 0; i < text.n;) {
        if ((unsigned char)text.p[i] < 0x80) {
            i++;
            continue;
        }

        int32_t c;

        i += unicode_next(str_skip(text, i), &c);
        /* Below U+00C0 only compatibility decomposes; up to U+02FF nothing composes with others. */
        if (c < 0xC0 ? is_compatible : !is_composed || c >= 0x300) {
            const utf8proc_property_t *property = utf8proc_get_property(c);

            if (property->combining_class || (!is_composed && is_hangul(c)))
                return true;
            if (property->decomp_seqindex != UINT16_MAX &&
                (is_compatible || (property->decomp_type == 0 && !is_composed)))
                return true;
            if (is_composed && (property->decomp_seqindex != UINT16_MAX || may_compose(c)))
                return true;
        } else if (is_compatible && utf8proc_get_property(c)->decomp_seqindex != UINT16_MAX) {
            return true;
        }
    }
    return false;
}

/* Puts the marks from `from` on in the order of their classes; equal ones keep theirs. */
static void sort_marks(struct unicode_step *items, size_t from, size_t n)
{
    for (size_t i = from + 1; i < n; i++) {
        struct unicode_step moved = items[i];
        int class = class_of(moved.codepoint);
        size_t to = i;

        for (; to > from && class_of(items[to - 1].codepoint) > class; to--)
            items[to] = items[to - 1];
        items[to] = moved;
    }
}

/* Long runs of marks (hostile texts have them) by counting, in as many rounds as there are classes.
 */
static int sort_long(struct unicode_step *items, size_t from, size_t n, struct error *err)
{
    size_t at[257] = {0}, n_items = n - from;
    struct unicode_step *copy = malloc(n_items * sizeof *copy);

    if (!copy)
        return error_set(err, E_NOMEM, "no memory for %zu combining marks", n_items);
    for (size_t i = 0; i < n_items; i++) {
        copy[i] = items[from + i];
        at[class_of(copy[i].codepoint) + 1]++;
    }
    for (size_t i = 1; i < 257; i++)
        at[i] += at[i - 1];
    for (size_t i = 0; i < n_items; i++)
        items[from + at[class_of(copy[i].codepoint)]++] = copy[i];
    free(copy);
    return OK;
}

static int put_in_order(struct unicode_steps *steps, size_t from, struct error *err)
{
    if (steps->n - from > 64)
        return sort_long(steps->items, from, steps->n, err);
    if (steps->n > from)
        sort_marks(steps->items, from, steps->n);
    return OK;
}

static int decompose_one(int32_t c, bool is_compatible, int32_t out[LONGEST_DECOMPOSITION])
{
    int options = UTF8PROC_DECOMPOSE | (is_compatible ? UTF8PROC_COMPAT : 0), last = 0;
    utf8proc_ssize_t n =
        c < 0x80 || is_later(c)
            ? 0
            : utf8proc_decompose_char(c, out, LONGEST_DECOMPOSITION, options, &last);

    if (n > 0 && n <= LONGEST_DECOMPOSITION)
        return (int)n;
    out[0] = c;
    return 1;
}

static int decompose(struct str text, bool is_compatible, struct unicode_steps *steps,
                     struct error *err)
{
    size_t pending = 0; /* marks from here on are not yet in order */
    int rc = OK;

    for (size_t i = 0; rc == OK && i < text.n;) {
        int32_t parts[LONGEST_DECOMPOSITION], c;

        i += unicode_next(str_skip(text, i), &c);

        int n = decompose_one(c, is_compatible, parts);

        for (int k = 0; rc == OK && k < n; k++) {
            bool is_base = class_of(parts[k]) == 0;

            if (is_base)
                rc = put_in_order(steps, pending, err);
            if (rc == OK)
                rc = unicode_steps_push(steps, parts[k], k > 0, err);
            if (is_base)
                pending = steps->n;
        }
    }
    return rc == OK ? put_in_order(steps, pending, err) : rc;
}

/* The character that two make, or -1. */
static int32_t pair(int32_t first, int32_t second)
{
    if (first >= 0x1100 && first <= 0x1112 && second >= 0x1161 && second <= 0x1175)
        return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
    if (is_hangul(first) && (first - 0xAC00) % 28 == 0 && second >= 0x11A8 && second <= 0x11C2)
        return first + second - 0x11A7;
    if (second < 0x300 || !may_compose(second))
        return -1;

    utf8proc_int32_t both[2] = {first, second};
    utf8proc_ssize_t n = utf8proc_normalize_utf32(both, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE);

    return n == 1 && !is_later(both[0]) ? both[0] : -1;
}

struct composer {
    struct unicode_step *items;
    size_t n;    /* written */
    size_t base; /* place of the last base character */
    bool has_base, has_marks;
    int last_class; /* of the marks kept behind it */
};

static void keep(struct composer *composer, struct unicode_step step, int class)
{
    composer->items[composer->n++] = step;
    composer->has_marks = true;
    composer->last_class = class;
}

static void begin_base(struct composer *composer, struct unicode_step step)
{
    composer->base = composer->n;
    composer->items[composer->n++] = step;
    composer->has_base = true;
    composer->has_marks = false;
}

static void compose_step(struct composer *composer, struct unicode_step step)
{
    int class = class_of(step.codepoint);

    if (!composer->has_base) {
        if (class == 0)
            begin_base(composer, step);
        else
            composer->items[composer->n++] = step;
        return;
    }

    bool is_blocked = composer->has_marks && composer->last_class >= class;
    struct unicode_step *base = &composer->items[composer->base];
    int32_t both = is_blocked ? -1 : pair(base->codepoint, step.codepoint);

    if (both >= 0)
        *base = (struct unicode_step){both, base->change + step.change - 1};
    else if (class == 0)
        begin_base(composer, step);
    else
        keep(composer, step, class);
}

int unicode_normalize(struct str text, enum unicode_form form, struct unicode_steps *steps,
                      struct error *err)
{
    int rc;

    steps->n = 0;
    rc = decompose(text, form == UNICODE_NFKC || form == UNICODE_NFKD, steps, err);
    if (rc != OK || form == UNICODE_NFD || form == UNICODE_NFKD)
        return rc;

    /* In place: what is written never overtakes what is read. */
    struct composer composer = {.items = steps->items};

    for (size_t i = 0; i < steps->n; i++)
        compose_step(&composer, steps->items[i]);
    steps->n = composer.n;
    return OK;
}

/* ---- Unicode 14's NFKC, whole ---- */

static int add_nfkc(struct str part, struct buf *out, struct error *err)
{
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE;
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)part.p;
    utf8proc_ssize_t n = utf8proc_decompose(bytes, (utf8proc_ssize_t)part.n, NULL, 0, options);
    utf8proc_int32_t *points = n < 0 ? NULL : malloc(((size_t)n + 1) * sizeof *points);

    if (!points)
        return error_set(err, E_NOMEM, "no memory for a text of %zu bytes", part.n);
    n = utf8proc_decompose(bytes, (utf8proc_ssize_t)part.n, points, n, options);
    n = utf8proc_normalize_utf32(points, n, options);
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        char bytes_of[4];

        buf_add(out, bytes_of, unicode_put(bytes_of, points[i]));
    }
    free(points);
    return OK;
}

/* A code point that is not assigned has no class and takes part in nothing: it parts the text. */
int unicode_nfkc(struct str text, struct buf *out, struct error *err)
{
    size_t from = 0;
    int rc = OK;

    for (size_t at = 0, n = 0; rc == OK && at < text.n; at += n) {
        int32_t c;

        n = unicode_next(str_skip(text, at), &c);
        if (c < 0x80 || unicode_is_assigned(c))
            continue;
        rc = add_nfkc(str_from(text.p + from, at - from), out, err);
        buf_add(out, text.p + at, n);
        from = at + n;
    }
    if (rc == OK && from < text.n)
        rc = add_nfkc(str_skip(text, from), out, err);
    return rc == OK && out->failed ? error_set(err, E_NOMEM, "no memory for a text") : rc;
}
