/* Recognises a progress bar by hand: nine tenths of a training log are bars. */
#include "importers/run/console_bar.h"

#include <string.h>

#define MAX_DIGITS 15

/* Digits at the start; returns their number (0: none or too many). */
static size_t read_count(struct str text, int64_t *out)
{
    const char *p = text.p, *end = p + (text.n < MAX_DIGITS + 1 ? text.n : MAX_DIGITS + 1);
    unsigned digit;
    uint64_t value = 0;
    for (; p < end && (digit = (unsigned char)*p - (unsigned)'0') <= 9; p++) {
        value = value * 10 + digit;
    }
    size_t n = (size_t)(p - text.p);
    *out = (int64_t)value;
    return n > MAX_DIGITS ? 0 : n;
}

static struct str skip_blanks(struct str text)
{
    while (text.n > 0 && text.p[0] == ' ') {
        text = str_skip(text, 1);
    }
    return text;
}

/* Where "%|" stands, with one to three digits before it; *digits is where those begin. */
static bool find_percentage(struct str piece, size_t *digits, size_t *bar)
{
    const char *p = piece.p, *end = piece.p + piece.n;
    while (p < end && (p = memchr(p, '|', (size_t)(end - p))) != NULL) {
        size_t at = (size_t)(p - piece.p);
        if (at >= 2 && piece.p[at - 1] == '%') {
            size_t begin = at - 1;
            while (begin > 0 && piece.p[begin - 1] >= '0' && piece.p[begin - 1] <= '9') {
                begin--;
            }
            if (begin < at - 1) {
                *digits = begin;
                *bar = at + 1;
                return true;
            }
        }
        p++;
    }
    return false;
}

/* " 2321/31570 [": what is left begins behind the bracket. */
static bool read_counts(struct str *text, struct console_bar *bar)
{
    struct str rest = skip_blanks(*text);
    size_t n = read_count(rest, &bar->done);
    if (n == 0 || n == rest.n || rest.p[n] != '/') {
        return false;
    }
    rest = str_skip(rest, n + 1);
    n = read_count(rest, &bar->total);
    if (n == 0) {
        return false;
    }
    rest = str_skip(rest, n);
    if (!str_starts(rest, " [")) {
        return false;
    }
    *text = str_skip(rest, 2);
    return true;
}

/* "00:12<01:40,  4.10s/it, loss=0.1" */
static void read_speed(struct str inside, struct console_bar *bar)
{
    struct str rest = inside, part;
    if (!str_split(&rest, ',', &part) || !str_split(&rest, ',', &part)) {
        return;
    }
    bar->counts_steps = str_ends(part, "it/s") || str_ends(part, "s/it") ||
                        str_ends(part, "step/s") || str_ends(part, "s/step") ||
                        str_ends(part, "batch/s") || str_ends(part, "s/batch");
    bar->postfix = skip_blanks(rest);
}

/* "Epoch 1/3", "Epoch [2/10]", "Epoch 0" */
static void read_epoch(struct console_bar *bar)
{
    bar->epoch = bar->n_epochs = NONE;
    if (!str_starts(bar->description, "Epoch") && !str_starts(bar->description, "epoch")) {
        return;
    }
    struct str rest = str_skip(bar->description, 5);
    while (rest.n > 0 && (rest.p[0] == ' ' || rest.p[0] == '[' || rest.p[0] == ':')) {
        rest = str_skip(rest, 1);
    }
    int64_t epoch, n_epochs;
    size_t n = read_count(rest, &epoch);
    if (n == 0 || epoch > 1000000) {
        return;
    }
    bar->epoch = epoch;
    rest = str_skip(rest, n);
    if (str_starts(rest, "/") && read_count(str_skip(rest, 1), &n_epochs) > 0 &&
        n_epochs <= 1000000) {
        bar->n_epochs = n_epochs;
    }
}

bool console_bar_read(struct str piece, struct console_bar *bar)
{
    size_t digits, begin;
    if (!find_percentage(piece, &digits, &begin)) {
        return false;
    }
    struct str rest = str_skip(piece, begin);
    const char *close = rest.n > 0 ? memchr(rest.p, '|', rest.n) : NULL;
    if (close == NULL) {
        return false;
    }
    *bar = (struct console_bar){.description = str_trim(str_first(piece, digits))};
    rest = str_skip(rest, (size_t)(close - rest.p) + 1);
    if (!read_counts(&rest, bar)) {
        return false;
    }
    const char *bracket = rest.n > 0 ? memchr(rest.p, ']', rest.n) : NULL;
    if (bracket == NULL) {
        return false;
    }
    read_speed(str_first(rest, (size_t)(bracket - rest.p)), bar);
    bar->rest = skip_blanks(str_skip(rest, (size_t)(bracket - rest.p) + 1));
    if (bar->description.n > 0 && bar->description.p[bar->description.n - 1] == ':') {
        bar->description.n--;
    }
    read_epoch(bar);
    return true;
}
