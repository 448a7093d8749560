/* Takes the tags off the HTML that transformers shows while it trains: a progress bar and a table
 * of metrics. In place: a row stands where its <tr> began, and the newlines that stood inside the
 * row follow it, so that lines keep their numbers. */
#include "importers/run/notebook_text.h"

#include <string.h>
#include <strings.h>

#include "core/base/str.h"

struct strip {
    char *p;
    size_t n, in, out;
    size_t newlines; /* inside the row, not yet written */
    bool in_row, in_cell, has_cell;
};

static void fill(struct strip *strip)
{
    while (strip->newlines > 0) {
        strip->p[strip->out++] = '\n';
        strip->newlines--;
    }
    memset(strip->p + strip->out, '\r', strip->in - strip->out);
    strip->out = strip->in;
}

static bool is_tag(struct str tag, const char *name)
{
    size_t n = strlen(name);
    return tag.n >= n && strncasecmp(tag.p, name, n) == 0 &&
           (tag.n == n || (tag.p[n] != '\0' && strchr(" \t\r\n", tag.p[n]) != NULL));
}

static void see_tag(struct strip *strip, struct str tag)
{
    if (is_tag(tag, "tr")) {
        strip->in_row = true;
        strip->in_cell = strip->has_cell = false;
    } else if (strip->in_row && (is_tag(tag, "td") || is_tag(tag, "th"))) {
        if (strip->has_cell) {
            strip->p[strip->out++] = '\t';
        }
        strip->in_cell = strip->has_cell = true;
    } else if (is_tag(tag, "/td") || is_tag(tag, "/th")) {
        strip->in_cell = false;
    } else if (is_tag(tag, "/tr") || is_tag(tag, "/table")) {
        strip->in_row = strip->in_cell = false;
    }
}

/* "<", up to its ">"; a '<' without one is text ("02:29 < 10:16:13"). */
static bool see_markup(struct strip *strip)
{
    const char *begin = strip->p + strip->in;
    size_t left = strip->n - strip->in;
    if (left < 3 || (begin[1] != '/' && (unsigned)((begin[1] | 0x20) - 'a') > 25)) {
        return false;
    }
    const char *end = memchr(begin, '>', left);
    if (end == NULL) {
        return false;
    }
    size_t bytes = (size_t)(end - begin) + 1;
    struct str tag = str_from(begin + 1, bytes - 2);
    if (is_tag(tag, "tr")) {
        fill(strip); /* the row stands where the tag stood */
    }
    for (size_t i = 0; i < bytes; i++) {
        strip->newlines += begin[i] == '\n';
    }
    strip->in += bytes;
    see_tag(strip, tag);
    if (!strip->in_row) {
        fill(strip);
    }
    return true;
}

static void see_text(struct strip *strip)
{
    char c = strip->p[strip->in++];
    if (!strip->in_row) {
        strip->p[strip->out++] = c;
    } else if (c == '\n') {
        strip->newlines++;
    } else if (strip->in_cell && c != '\r') {
        strip->p[strip->out++] = c;
    }
}

static bool shows_training(struct str text)
{
    return str_find(text, "Training Loss") >= 0 || str_find(text, "Validation Loss") >= 0 ||
           str_find(text, "<progress") >= 0;
}

void notebook_html(char *bytes, size_t n)
{
    struct strip strip = {.p = bytes, .n = n};
    bool is_training = shows_training(str_from(bytes, n));
    if (!is_training) {
        for (size_t i = 0; i < n; i++) {
            bytes[i] = bytes[i] == '\n' ? '\n' : '\r';
        }
        return;
    }
    while (strip.in < n) {
        if (bytes[strip.in] != '<' || !see_markup(&strip)) {
            see_text(&strip);
        }
    }
    fill(&strip);
}
