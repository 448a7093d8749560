/* Cuts a log into pieces in bounded memory, and removes terminal codes. */
#include "importers/run/console_split.h"

#include "importers/run/console_log.h"

#define ESC '\x1b'

#if defined(__SSE2__)
#include <emmintrin.h>

/* Bits of the bytes that end a piece, and of those that must be removed. */
static unsigned block_mask(const char *p, unsigned *escapes)
{
    const __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i newline = _mm_cmpeq_epi8(block, _mm_set1_epi8('\n'));
    const __m128i carriage = _mm_cmpeq_epi8(block, _mm_set1_epi8('\r'));
    const __m128i escape = _mm_cmpeq_epi8(block, _mm_set1_epi8(ESC));
    const __m128i nul = _mm_cmpeq_epi8(block, _mm_setzero_si128());
    *escapes = (unsigned)_mm_movemask_epi8(_mm_or_si128(escape, nul));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(newline, carriage));
}

static size_t end_by_blocks(const char *p, size_t n, bool *has_escape)
{
    size_t at = 0;
    for (; at + 16 <= n; at += 16) {
        unsigned escapes;
        unsigned ends = block_mask(p + at, &escapes);
        if (ends != 0) {
            unsigned first = (unsigned)__builtin_ctz(ends);
            *has_escape |= (escapes & ((1u << first) - 1u)) != 0;
            return at + first;
        }
        *has_escape |= escapes != 0;
    }
    return at;
}
#else
static size_t end_by_blocks(const char *p, size_t n, bool *has_escape)
{
    (void)p;
    (void)n;
    (void)has_escape;
    return 0;
}
#endif

size_t console_piece_end(const char *p, size_t n, bool *has_escape)
{
    *has_escape = false;
    size_t at = end_by_blocks(p, n, has_escape);
    while (at < n && p[at] != '\n' && p[at] != '\r') {
        *has_escape |= p[at] == ESC || p[at] == '\0';
        at++;
    }
    return at;
}

/* Bytes of the escape sequence at the start of the text. */
static size_t escape_length(struct str text)
{
    if (text.n < 2) {
        return text.n;
    }
    size_t i = 2;
    if (text.p[1] == '[') {
        while (i < text.n && (unsigned char)text.p[i] >= 0x20 && (unsigned char)text.p[i] < 0x40) {
            i++;
        }
        return i < text.n ? i + 1 : i;
    }
    if (text.p[1] == ']') {
        while (i < text.n && text.p[i] != '\a' && text.p[i] != ESC) {
            i++;
        }
        bool is_string_end = i + 1 < text.n && text.p[i] == ESC && text.p[i + 1] == '\\';
        return i < text.n && text.p[i] == '\a' ? i + 1 : is_string_end ? i + 2 : i;
    }
    return text.p[1] == '(' || text.p[1] == ')' ? (text.n < 3 ? text.n : 3) : 2;
}

void console_strip(struct buf *out, struct str text)
{
    size_t begin = 0;
    for (size_t i = 0; i < text.n;) {
        if (text.p[i] != ESC && text.p[i] != '\0') {
            i++;
            continue;
        }
        buf_add(out, text.p + begin, i - begin);
        i += text.p[i] == '\0' ? 1 : escape_length(str_skip(text, i));
        begin = i;
    }
    buf_add(out, text.p + begin, text.n - begin);
}

void console_split_open(struct console_split *split, struct source_file *file)
{
    *split = (struct console_split){.file = file, .line = 1};
    buf_init(&split->carry, CONSOLE_LINE_BYTES);
}

void console_split_close(struct console_split *split)
{
    buf_free(&split->carry);
}

static int carry_add(struct console_split *split, struct str part, bool has_escape,
                     struct error *err)
{
    size_t room = CONSOLE_LINE_BYTES - split->carry.n;
    split->carry_is_cut |= part.n > room;
    split->carry_has_escape |= has_escape;
    split->carry_bytes += (int64_t)part.n;
    buf_str(&split->carry, str_first(part, room));
    if (split->carry.failed) {
        return error_set(err, E_NOMEM, "no memory for a long line");
    }
    return OK;
}

static void carry_drop(struct console_split *split)
{
    if (split->carry_is_out) {
        buf_clear(&split->carry);
        split->carry_is_out = split->carry_has_escape = split->carry_is_cut = false;
        split->carry_bytes = 0;
    }
}

/* Hands the carried piece out; its bytes were not yet counted. */
static void carry_give(struct console_split *split, struct console_piece *piece)
{
    piece->text = buf_view(&split->carry);
    piece->line = split->line;
    piece->byte = split->byte;
    piece->has_escape = split->carry_has_escape;
    piece->is_cut = split->carry_is_cut;
    split->byte += split->carry_bytes;
    split->carry_is_out = true;
}

/* Steps over the piece and its end in the chunk. */
static void step_over(struct console_split *split, size_t piece_bytes, bool count_piece)
{
    split->line += split->chunk.p[piece_bytes] == '\n';
    split->byte += (int64_t)(count_piece ? piece_bytes : 0) + 1;
    split->chunk = str_skip(split->chunk, piece_bytes + 1);
}

int console_split_next(struct console_split *split, struct console_piece *piece, struct error *err)
{
    carry_drop(split);
    for (;;) {
        if (split->chunk.n == 0) {
            int rc = source_chunk(split->file, &split->chunk, err);
            if (rc < 0) {
                return rc;
            }
            if (split->chunk.n == 0 && split->carry.n == 0) {
                return 0;
            }
            if (split->chunk.n == 0) {
                carry_give(split, piece);
                return 1;
            }
        }
        bool has_escape;
        size_t end = console_piece_end(split->chunk.p, split->chunk.n, &has_escape);
        struct str part = str_first(split->chunk, end);
        if (end == split->chunk.n || split->carry.n > 0) {
            int rc = carry_add(split, part, has_escape, err);
            if (rc < 0) {
                return rc;
            }
            if (end == split->chunk.n) {
                split->chunk = str_skip(split->chunk, end);
                continue;
            }
            carry_give(split, piece);
            step_over(split, end, false);
            return 1;
        }
        piece->text = part;
        piece->line = split->line;
        piece->byte = split->byte;
        piece->has_escape = has_escape;
        piece->is_cut = false;
        step_over(split, end, true);
        if (end > 0) {
            return 1;
        }
    }
}
