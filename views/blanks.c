/* Visible blanks. See blanks.h. */
#include "views/blanks.h"

#include <stdio.h>

#include "core/base/unicode.h"

const char *blanks_dot(const struct canvas *canvas)
{
    return canvas && canvas->ascii ? "_" : "\xc2\xb7";
}

/* The kinds of space that Unicode has beside the plain one. */
static bool is_odd_space(int32_t c)
{
    return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

static bool is_blank(int32_t c)
{
    return c == ' ' || c == '\t' || is_odd_space(c);
}

/* Where the blanks at the end begin. */
static size_t end_of_words(struct str text)
{
    size_t n = text.n;

    while (n && (text.p[n - 1] == ' ' || text.p[n - 1] == '\t'))
        n--;
    return n;
}

/* One stretch: blanks to be shown, or text up to the next of them. */
struct blanks_step {
    size_t n;
    int32_t blank;              /* 0: plain text */
};

static struct blanks_step next_step(struct str text, size_t at, bool all, size_t end)
{
    struct blanks_step step = {0};

    while (at + step.n < text.n) {
        int32_t c;
        size_t n = unicode_next(str_skip(text, at + step.n), &c);
        bool is_shown = is_blank(c) && (all || at + step.n >= end);

        if (is_shown && step.n == 0)
            return (struct blanks_step){.n = n, .blank = c};
        if (is_shown)
            return step;
        step.n += n;
    }
    return step;
}

static const char *sign_of(const struct canvas *canvas, int32_t blank, char room[16])
{
    if (blank == ' ')
        return blanks_dot(canvas);
    if (blank == '\t')
        return "\\t";
    snprintf(room, 16, "<U+%04X>", (unsigned)blank);
    return room;
}

void blanks_text(struct textflow *flow, enum style_role style, struct str text, bool all, bool is_end)
{
    size_t end = is_end ? end_of_words(text) : text.n;

    for (size_t at = 0; at < text.n;) {
        struct blanks_step step = next_step(text, at, all, end);
        char room[16];

        if (!step.blank)
            flow_text(flow, style, str_from(text.p + at, step.n));
        else if (step.blank == ' ')
            flow_puts(flow, style, blanks_dot(flow->canvas));
        else
            flow_printf(flow, STYLE_HOSTILE, "%s", sign_of(flow->canvas, step.blank, room));
        at += step.n;
    }
}

int blanks_width(const struct canvas *canvas, struct str text, bool all, bool is_end)
{
    size_t end = is_end ? end_of_words(text) : text.n;
    int width = 0;

    for (size_t at = 0; at < text.n;) {
        struct blanks_step step = next_step(text, at, all, end);
        char room[16];

        width += step.blank ? canvas_width(canvas, str_of(sign_of(canvas, step.blank, room)))
                            : canvas_width(canvas, str_from(text.p + at, step.n));
        at += step.n;
    }
    return width;
}
