/* Texts on their way through the pipeline, and the byte alphabet. See pipeline.h. */
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/pipeline.h"

void work_free(struct work *work)
{
    free(work->p);
    free(work->at);
    *work = (struct work){0};
}

int work_reserve(struct work *work, size_t n, struct error *err)
{
    size_t wanted = work->n + n, capacity = work->capacity ? work->capacity : 256;

    if (wanted <= work->capacity)
        return OK;
    if (n > PIPELINE_TEXT_BYTES || wanted > PIPELINE_TEXT_BYTES)
        return error_set(err, E_LIMIT, "text of more than %zu bytes after normalising",
                         PIPELINE_TEXT_BYTES);
    while (capacity < wanted)
        capacity *= 2;

    char *p = realloc(work->p, capacity);

    if (!p)
        return error_set(err, E_NOMEM, "no memory for a text of %zu bytes", capacity);
    work->p = p;

    struct span *at = realloc(work->at, capacity * sizeof *at);

    if (!at)
        return error_set(err, E_NOMEM, "no memory for the offsets of %zu bytes", capacity);
    work->at = at;
    work->capacity = capacity;
    return OK;
}

void work_put(struct work *work, const char *p, size_t n, struct span at)
{
    for (size_t i = 0; i < n; i++) {
        work->p[work->n] = p[i];
        work->at[work->n++] = at;
    }
}

static inline bool is_tail(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

struct span piece_span(const struct piece *piece, size_t i)
{
    size_t end = i + 1;

    if (piece->at)
        return piece->at[i];
    while (i > 0 && is_tail(piece->p[i]))
        i--;
    while (end < piece->n && is_tail(piece->p[end]))
        end++;
    return (struct span){piece->origin + (uint32_t)i, piece->origin + (uint32_t)end};
}

void work_copy(struct work *work, const struct piece *piece, size_t begin, size_t end)
{
    size_t n = end - begin;

    if (n == 0)
        return;
    memcpy(work->p + work->n, piece->p + begin, n);
    if (piece->at) {
        memcpy(work->at + work->n, piece->at + begin, n * sizeof *work->at);
        work->n += n;
        return;
    }
    for (size_t i = begin; i < end;) {
        size_t stop = i + 1;

        while (stop < end && is_tail(piece->p[stop]))
            stop++;

        struct span at = {piece->origin + (uint32_t)i, piece->origin + (uint32_t)stop};

        for (; i < stop; i++)
            work->at[work->n++] = at;
    }
}

struct piece piece_slice(const struct piece *piece, size_t begin, size_t end)
{
    struct piece slice = {.p = piece->p + begin, .n = end - begin};

    if (piece->at) {
        slice.at = piece->at + begin;
        slice.origin = begin < end ? piece->at[begin].from : piece->origin;
        slice.origin_end = begin < end ? piece->at[end - 1].to : piece->origin;
    } else {
        slice.origin = piece->origin + (uint32_t)begin;
        slice.origin_end = piece->origin + (uint32_t)end;
    }
    return slice;
}

struct str piece_text(const struct piece *piece)
{
    return str_from(piece->p, piece->n);
}

struct piece work_piece(const struct work *work, const struct piece *piece)
{
    return (struct piece){.p = work->p,
                          .n = work->n,
                          .at = work->at,
                          .origin = piece->origin,
                          .origin_end = piece->origin_end};
}

bool piece_begins_empty(const struct piece *piece)
{
    return piece->at && piece->n && piece->at[0].from == piece->at[0].to;
}

/* The bytes that a transformation of the whole piece covers. */
static void covered(const struct piece *piece, size_t *begin, size_t *end)
{
    size_t i = 0;

    *begin = 0;
    *end = piece->origin == piece->origin_end ? 0 : piece->n;
    if (!piece_begins_empty(piece) || *end == 0)
        return;
    while (i < piece->n && piece->at[i].from == piece->at[i].to)
        i++;
    *begin = i;
}

static size_t char_bytes(const struct piece *piece, size_t at, size_t end)
{
    int32_t c;

    return at < end ? unicode_next(str_from(piece->p + at, end - at), &c) : 0;
}

static int not_followed(struct error *err)
{
    return error_set(err, E_UNSUPPORTED,
                     "normalizers that put text before the first character and then change it");
}

int work_transform(struct work *work, const struct piece *piece, const struct unicode_steps *steps,
                   size_t n_removed, struct error *err)
{
    size_t begin, end;

    work->n = 0;
    if (piece->n == 0)
        return OK;
    covered(piece, &begin, &end);

    int rc = work_reserve(work, piece->n + 4 * steps->n, err);

    if (rc != OK)
        return rc;
    work_copy(work, piece, 0, begin);

    size_t next = begin; /* the next old character that is replaced */
    size_t place;        /* of it, as the library counts: it stays when nothing is left */

    while (n_removed-- > 0)
        next += char_bytes(piece, next, end);
    place = next;
    for (size_t i = 0; i < steps->n; i++) {
        char bytes[4];
        size_t n = unicode_put(bytes, steps->items[i].codepoint);
        int32_t change = steps->items[i].change;
        struct span at = {piece->origin, piece->origin};

        if (change <= 0 && place >= piece->n)
            return not_followed(err);
        if (change <= 0)
            at = piece_span(piece, place);
        else if (place > 0)
            at = piece_span(piece, place - 1);
        for (int32_t k = change; k <= 0; k++)
            next += char_bytes(piece, next, end);
        place = next;
        work_put(work, bytes, n, at);
    }
    work_copy(work, piece, end, piece->n);
    return OK;
}

/* ---- The byte alphabet ---- */

static bool is_itself(int byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

int32_t byte_char(unsigned char byte)
{
    if (is_itself(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100 + byte;
    return byte == 0xAD ? 0x143 : 0x121 + byte - 0x7F;
}

int char_byte(int32_t c)
{
    if (c < 0x100)
        return c >= 0 && is_itself(c) ? c : -1;
    if (c <= 0x120)
        return c - 0x100;
    if (c < 0x143)
        return c - 0x121 + 0x7F;
    return c == 0x143 ? 0xAD : -1;
}
