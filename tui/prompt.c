/* One line of input at the bottom. See prompt.h. */
#include "tui/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "tui/keys.h"

#define PROMPT_BYTES 4096

void prompt_init(struct prompt *prompt)
{
    *prompt = (struct prompt){0};
    buf_init(&prompt->text, PROMPT_BYTES);
}

void prompt_close(struct prompt *prompt)
{
    buf_free(&prompt->text);
    for (size_t i = 0; i < prompt->n_history; i++)
        free(prompt->history[i]);
}

static void set_text(struct prompt *prompt, const char *text)
{
    buf_clear(&prompt->text);
    buf_puts(&prompt->text, text);
    prompt->at = prompt->text.n;
}

void prompt_open(struct prompt *prompt, enum prompt_kind kind, const char *text)
{
    prompt->kind = kind;
    prompt->history_at = prompt->n_history;
    prompt->candidates[0] = '\0';
    set_text(prompt, text);
}

void prompt_remember(struct prompt *prompt, const char *command)
{
    char *copy = strdup(command);

    if (!copy)
        return;
    if (prompt->n_history == PROMPT_HISTORY) {
        free(prompt->history[0]);
        memmove(prompt->history, prompt->history + 1, (PROMPT_HISTORY - 1) * sizeof(char *));
        prompt->n_history--;
    }
    prompt->history[prompt->n_history++] = copy;
}

/* Puts the bytes at the cursor; all or, in a full line, nothing. */
static bool insert(struct prompt *prompt, const char *bytes, size_t n)
{
    size_t behind = prompt->text.n - prompt->at;

    if (prompt->text.n + n > PROMPT_BYTES)
        return false;
    buf_add(&prompt->text, bytes, n);           /* makes the room */
    if (prompt->text.failed)
        return false;
    memmove(prompt->text.p + prompt->at + n, prompt->text.p + prompt->at, behind);
    memcpy(prompt->text.p + prompt->at, bytes, n);
    prompt->at += n;
    return true;
}

static size_t before(const struct prompt *prompt)
{
    size_t at = prompt->at;

    do
        at--;
    while (at > 0 && ((unsigned char)prompt->text.p[at] & 0xc0) == 0x80);
    return at;
}

static void drop(struct prompt *prompt, size_t from, size_t to)
{
    memmove(prompt->text.p + from, prompt->text.p + to, prompt->text.n - to + 1);
    prompt->text.n -= to - from;
    prompt->at = from;
}

static void drop_word(struct prompt *prompt)
{
    size_t from = prompt->at;

    while (from > 0 && prompt->text.p[from - 1] == ' ')
        from--;
    while (from > 0 && prompt->text.p[from - 1] != ' ' && prompt->text.p[from - 1] != '/')
        from--;
    if (from == prompt->at && from > 0)
        from--;
    if (prompt->at > from)
        drop(prompt, from, prompt->at);
}

static size_t after(const struct prompt *prompt)
{
    int32_t codepoint;

    return prompt->at +
           unicode_next(str_skip(buf_view(&prompt->text), prompt->at), &codepoint);
}

static void show_history(struct prompt *prompt, int by)
{
    if (prompt->kind != PROMPT_COMMAND)
        return;
    if (by < 0 && prompt->history_at > 0)
        prompt->history_at--;
    else if (by > 0 && prompt->history_at < prompt->n_history)
        prompt->history_at++;
    set_text(prompt, prompt->history_at < prompt->n_history ? prompt->history[prompt->history_at]
                                                            : "");
}

/* Takes over what all candidates share; shows them when there are several. */
static void complete_text(struct prompt *prompt, prompt_complete_fn *complete, void *ctx)
{
    struct buf found;
    struct str rest, one, first = {NULL, 0};
    size_t n = 0, n_shared = 0;

    if (!complete)
        return;
    buf_init(&found, (size_t)1 << 18);
    complete(ctx, prompt->text.p, &found);
    rest = buf_view(&found);
    prompt->candidates[0] = '\0';
    while (str_split(&rest, '\n', &one)) {
        size_t length = strlen(prompt->candidates), k = 0;

        if (one.n == 0)
            continue;
        if (n++ == 0)
            n_shared = (first = one).n;
        while (k < n_shared && k < one.n && first.p[k] == one.p[k])
            k++;
        n_shared = k;

        /* only the last word of each is shown */
        struct str shown = one;

        for (size_t i = one.n; i-- > 0;)
            if (one.p[i] == ' ') {
                shown = str_skip(one, i + 1);
                break;
            }
        if (length + shown.n + 3 < sizeof prompt->candidates) {
            memcpy(prompt->candidates + length, shown.p, shown.n);
            memcpy(prompt->candidates + length + shown.n, "  ", 3);
        }
    }
    first = unicode_cut(first, n_shared);
    if (first.n > prompt->text.n) {
        char *copy = strndup(first.p, first.n);

        set_text(prompt, copy ? copy : prompt->text.p);
        free(copy);
    }
    if (n == 1) {
        prompt->candidates[0] = '\0';
        prompt->at = prompt->text.n;
        if (prompt->text.n && !strchr("/=", prompt->text.p[prompt->text.n - 1]))
            (void)insert(prompt, " ", 1);
    }
    buf_free(&found);
}

enum prompt_result prompt_key(struct prompt *prompt, int key, prompt_complete_fn *complete,
                              void *ctx)
{
    char bytes[4];

    if (key != KEYCODE_TAB)
        prompt->candidates[0] = '\0';
    switch (key) {
    case KEYCODE_ENTER:
        return PROMPT_ACCEPTED;
    case KEYCODE_ESC:
    case 3:                     /* Ctrl-C */
        return PROMPT_CANCELLED;
    case KEYCODE_BACKSPACE:
        if (prompt->text.n == 0)
            return PROMPT_CANCELLED;
        if (prompt->at > 0)
            drop(prompt, before(prompt), prompt->at);
        return PROMPT_CHANGED;
    case KEYCODE_DELETE:
        if (prompt->at < prompt->text.n)
            drop(prompt, prompt->at, after(prompt));
        return PROMPT_CHANGED;
    case KEYCODE_LEFT:
        if (prompt->at > 0)
            prompt->at = before(prompt);
        return PROMPT_GOES_ON;
    case KEYCODE_RIGHT:
        if (prompt->at < prompt->text.n)
            prompt->at = after(prompt);
        return PROMPT_GOES_ON;
    case KEYCODE_HOME:
    case 1:
        prompt->at = 0;
        return PROMPT_GOES_ON;
    case KEYCODE_END:
    case 5:
        prompt->at = prompt->text.n;
        return PROMPT_GOES_ON;
    case 21:                    /* Ctrl-U */
        set_text(prompt, "");
        return PROMPT_CHANGED;
    case 23:                    /* Ctrl-W */
        drop_word(prompt);
        return PROMPT_CHANGED;
    case KEYCODE_UP:
        show_history(prompt, -1);
        return PROMPT_CHANGED;
    case KEYCODE_DOWN:
        show_history(prompt, 1);
        return PROMPT_CHANGED;
    case KEYCODE_TAB:
        complete_text(prompt, complete, ctx);
        return PROMPT_CHANGED;
    default:
        if (key < ' ' || key == 127 || key >= KEYCODE_FIRST)
            return PROMPT_GOES_ON;
        (void)insert(prompt, bytes, unicode_put(bytes, key));
        return PROMPT_CHANGED;
    }
}

/* A line is a line: breaks and tabs become one blank, other control characters and broken bytes are
 * left out. */
void prompt_paste(struct prompt *prompt, struct str text)
{
    bool has_blank = false;

    while (text.n) {
        int32_t codepoint;
        size_t n = unicode_next(text, &codepoint);
        bool is_blank = codepoint == '\n' || codepoint == '\r' || codepoint == '\t';

        if (is_blank && !has_blank && !insert(prompt, " ", 1))
            return;
        if (!is_blank && codepoint >= ' ' && codepoint != 127 && !insert(prompt, text.p, n))
            return;
        has_blank = is_blank;
        text = str_skip(text, n);
    }
}

void prompt_draw(const struct prompt *prompt, struct canvas *canvas, int row)
{
    static const char *const signs[] = {[PROMPT_NONE] = "", [PROMPT_COMMAND] = ":",
                                        [PROMPT_SEARCH] = "/", [PROMPT_REMARK] = "remark: ",
                                        [PROMPT_DISMISS] = "not a problem, because: "};
    struct area area = canvas_area(canvas);
    int column = canvas_puts(canvas, row, 0, STYLE_STRONG, signs[prompt->kind]);
    int room = area.columns - column - 1;
    struct str left = str_first(buf_view(&prompt->text), prompt->at);

    /* keep the cursor in sight: what does not fit is cut off on the left */
    while (left.n && canvas_width(canvas, left) > room) {
        int32_t codepoint;

        left = str_skip(left, unicode_next(left, &codepoint));
    }
    column = canvas_text(canvas, row, column, STYLE_TEXT, left);
    canvas->cursor_row = area.top + row;
    canvas->cursor_column = area.left + column;
    canvas_text(canvas, row, column, STYLE_TEXT, str_skip(buf_view(&prompt->text), prompt->at));
}
