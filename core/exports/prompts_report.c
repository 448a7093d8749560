/* Two prompts and their difference as text. See prompts_report.h. */
#include "core/exports/prompts_report.h"

#include <inttypes.h>

#include "core/base/unicode.h"
#include "core/text/diff.h"

/* A whole text in one line: line ends as \n, blanks at its edges and hostile signs visible. */
static void prompts_visible(struct buf *out, struct str text)
{
    size_t n = text.n;

    while (n && text.p[n - 1] == ' ')
        n--;
    unicode_visible(out, str_first(text, n), false);
    for (size_t i = n; i < text.n; i++)
        buf_puts(out, "\xc2\xb7"); /* a middle dot for a blank that one would not see */
}

static void put_place(struct buf *out, const struct prompt_comparison *comparison)
{
    buf_printf(out, "byte %zu of training, byte %zu of serving", comparison->train_byte,
               comparison->serve_byte);
    if (comparison->train_token >= 0 && comparison->serve_token >= 0)
        buf_printf(out, " (token %td, token %td)", comparison->train_token, comparison->serve_token);
}

void prompts_verdict(struct buf *out, const struct prompt_pair *pair)
{
    const struct prompt_comparison *comparison = &pair->comparison;

    if (pair->train.origin == PROMPT_ABSENT || pair->serve.origin == PROMPT_ABSENT) {
        buf_puts(out, "cannot be compared: the ");
        buf_puts(out, pair->train.origin == PROMPT_ABSENT ? "training" : "serving");
        buf_puts(out, " prompt is not known");
        return;
    }
    switch (comparison->difference) {
    case PROMPTS_EQUAL:
        buf_puts(out, "equal up to the assistant's turn");
        break;
    case PROMPTS_OTHER_FAMILY:
        buf_printf(out, "other turn markers: %s in training, %s in serving; first difference at ",
                   marker_family_name(pair->train.side.shape.family),
                   marker_family_name(pair->serve.side.shape.family));
        put_place(out, comparison);
        break;
    case PROMPTS_SYSTEM_ONE_SIDE:
        buf_printf(out, "a system turn in %s alone; first difference at ",
                   comparison->system_train ? "training" : "serving");
        put_place(out, comparison);
        break;
    case PROMPTS_NO_HEADER:
        buf_puts(out, "serving stops before the assistant's header \"");
        unicode_visible(out, comparison->missing, false);
        buf_puts(out, "\" at ");
        put_place(out, comparison);
        break;
    case PROMPTS_OTHER_BYTES:
        buf_puts(out, "the same markers with other bytes between them: ");
        put_place(out, comparison);
        break;
    case PROMPTS_CONTENT_BLANKS:
        buf_puts(out, "only white space inside the messages differs: ");
        put_place(out, comparison);
        break;
    case PROMPTS_OTHER_IDS:
        buf_puts(out, "equal bytes, other token ids: ");
        put_place(out, comparison);
        break;
    case PROMPTS_OTHER_TEXT:
        buf_puts(out, "the same format; the conversations are others");
        break;
    case PROMPTS_UNKNOWN:
        buf_puts(out, "cannot be compared: no turn markers that are known");
        break;
    }
    if (comparison->system_differs)
        buf_puts(out, "; the system texts differ");
    if (comparison->note)
        buf_printf(out, "; %s", comparison->note);
}

static void put_side(struct buf *out, const char *name, const struct prompt_record *record)
{
    buf_printf(out, "%-9s ", name);
    if (record->origin == PROMPT_ABSENT) {
        buf_puts(out, "not known, missing: ");
        unicode_visible(out, str_of(record->missing), false);
    } else {
        unicode_visible(out, str_of(record->about), false);
        if (record->side.n_ids)
            buf_printf(out, ", %zu tokens", record->side.n_ids);
        buf_printf(out, ", %zu bytes", record->side.text.n);
    }
    if (record->failure) {
        buf_puts(out, "\n          the template refuses it: ");
        unicode_visible(out, str_of(record->failure), false);
    }
    buf_puts(out, "\n");
}

/* The lines of a stretch, each behind its sign; a line end that is there is shown. */
static void put_lines(struct buf *out, char sign, struct str text)
{
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;

        buf_printf(out, "%c ", sign);
        prompts_visible(out, str_first(text, n));
        buf_puts(out, end ? "\\n\n" : "\n");
        text = str_skip(text, end ? n + 1 : n);
    }
}

static size_t same_bytes(struct str a, struct str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

void prompts_compared(const struct prompt_pair *pair, size_t *train_end, size_t *serve_end)
{
    const struct prompt_side *a = &pair->train.side, *b = &pair->serve.side;
    /* Without a header at its end the last one of the serving side is of an earlier turn. */
    bool is_whole = b->shape.ends_with_header || pair->comparison.difference == PROMPTS_NO_HEADER;

    *train_end = a->shape.ends_with_header ? a->text.n : a->shape.prompt_end;
    *serve_end = is_whole ? b->text.n : b->shape.prompt_end;
    if (is_whole && !a->shape.ends_with_header) /* a thinking block that both put there */
        *train_end += same_bytes(str_skip(a->text, *train_end), str_skip(b->text, b->shape.prompt_end));
}

/* What stands behind the assistant's header: for the eye, no part of the verdict. */
static void put_answer(struct buf *out, const char *side, struct str text)
{
    if (!text.n)
        return;
    buf_printf(out, "\nthe assistant's turn in %s, not compared\n", side);
    put_lines(out, ' ', text);
}

static int put_diff(struct buf *out, const struct prompt_pair *pair, struct error *err)
{
    const struct prompt_side *a = &pair->train.side, *b = &pair->serve.side;
    size_t train_end, serve_end;
    prompts_compared(pair, &train_end, &serve_end);
    struct str train = str_first(a->text, train_end), serve = str_first(b->text, serve_end);
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    struct diff diff;
    int rc = arena ? diff_texts(train, serve, DIFF_LINES, NULL, 0, NULL, 0, arena, &diff, err)
                   : error_set(err, E_NOMEM, "comparing two prompts");

    buf_puts(out, "\n- training\n+ serving\n\n");
    for (size_t i = 0; rc == OK && i < diff.n; i++) {
        const struct diff_part *part = &diff.parts[i];

        if (part->kind != DIFF_ADDED)
            put_lines(out, part->kind == DIFF_EQUAL ? ' ' : '-',
                      str_from(train.p + part->a_begin, part->a_end - part->a_begin));
        else
            put_lines(out, '+', str_from(serve.p + part->b_begin, part->b_end - part->b_begin));
    }
    if (rc == OK && diff.is_bounded)
        buf_puts(out, "(too different to be lined up: one stretch was replaced whole)\n");
    put_answer(out, "training", str_skip(a->text, train.n));
    put_answer(out, "serving", str_skip(b->text, serve.n));
    arena_close(arena);
    return rc;
}

int prompts_report(struct buf *out, const struct run_facts *facts, struct error *err)
{
    const struct prompt_pair *pair = facts_prompt_pair(facts);
    bool has_train, has_serve;

    if (!pair)
        return run_facts_status(facts, err) != OK ? err->status
                                                  : error_set(err, E_NOMEM, "comparing two prompts");
    has_train = pair->train.origin != PROMPT_ABSENT;
    has_serve = pair->serve.origin != PROMPT_ABSENT;
    if (!has_train && !has_serve)
        return error_set(err, E_NOTFOUND, "no prompt to show, missing: %s",
                         pair->train.missing ? pair->train.missing : "a chat template and data");
    put_side(out, "training", &pair->train);
    put_side(out, "serving", &pair->serve);
    buf_puts(out, "verdict   ");
    prompts_verdict(out, pair);
    buf_puts(out, "\n");
    if (has_train && has_serve)
        return put_diff(out, pair, err);
    buf_puts(out, "\n");
    put_lines(out, ' ', has_train ? pair->train.side.text : pair->serve.side.text);
    return OK;
}
