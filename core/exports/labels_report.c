/* Label rows as text. See labels_report.h. */
#include "core/exports/labels_report.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/unicode.h"

#define FEW_ROWS 3              /* shown when neither --row nor --all is given */
#define FAULTS_SHOWN 8
#define ROW_BYTES    4096       /* of a row among others */

static const struct {
    uint32_t flag;
    bool is_fault;              /* else only worth a count */
    const char *text;
} FLAGS[] = {
    {AUDIT_UNREADABLE, true, "not readable"},
    {AUDIT_REFUSED, true, "cannot be rendered"},
    {AUDIT_ALL_MASKED, true, "no supervised token"},
    {AUDIT_CUT_TO_NOTHING, true, "the cut took every supervised token"},
    {AUDIT_CUT_ANSWER, true, "answer cut"},
    {AUDIT_PROMPT_FILLS, true, "the prompt fills the limit"},
    {AUDIT_CUT, false, "longer than the limit"},
    {AUDIT_DROPPED, true, "left out by the trainer"},
    {AUDIT_NO_MARKER, true, "no response marker"},
    {AUDIT_TWO_BOS, true, "two BOS"},
    {AUDIT_NO_ASSISTANT, true, "no assistant turn"},
    {AUDIT_EMPTY_ANSWER, true, "empty answer"},
    {AUDIT_BAD_ID, true, "an id beyond the vocabulary"},
};
#define N_FLAGS (sizeof FLAGS / sizeof *FLAGS)

uint32_t labels_fault_mask(void)
{
    uint32_t mask = 0;

    for (size_t i = 0; i < N_FLAGS; i++)
        if (FLAGS[i].is_fault)
            mask |= FLAGS[i].flag;
    return mask;
}

void labels_faults(struct buf *out, uint32_t flags)
{
    const char *separator = "";

    /* What the cut took is said once. */
    if (flags & AUDIT_CUT_TO_NOTHING)
        flags &= ~(uint32_t)(AUDIT_ALL_MASKED | AUDIT_CUT_ANSWER);
    for (size_t i = 0; i < N_FLAGS; i++) {
        if (!(flags & FLAGS[i].flag))
            continue;
        buf_printf(out, "%s%s", separator, FLAGS[i].text);
        separator = ", ";
    }
}

/* ---- Counts ------------------------------------------------------------------------------------ */

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static void summarise_flags(struct buf *out, const struct audit *audit)
{
    for (size_t i = 0; i < N_FLAGS; i++) {
        int64_t n = audit->n_flagged[__builtin_ctz(FLAGS[i].flag)];

        if (n || FLAGS[i].flag == AUDIT_ALL_MASKED)
            buf_printf(out, "  %-38s %10" PRId64 "  %5.1f %%\n", FLAGS[i].text, n,
                       percent(n, audit->n_rows));
    }
}

static void summarise_end(struct buf *out, const struct audit *audit)
{
    int64_t n_with = audit->n_rows - audit->n_flagged[__builtin_ctz(AUDIT_ALL_MASKED)] -
                     audit->n_flagged[__builtin_ctz(AUDIT_REFUSED)] -
                     audit->n_flagged[__builtin_ctz(AUDIT_UNREADABLE)];
    int64_t n_end = audit->n_flagged[__builtin_ctz(AUDIT_END_TRAINED)];

    buf_printf(out, "  %-38s %10" PRId64 "  %5.1f %%\n", "last supervised token ends a turn", n_end,
               percent(n_end, n_with));
    if (audit->last_id == NONE)
        return;
    buf_puts(out, "  the last supervised token is mostly ");
    if (audit->last_text)
        unicode_visible(out, str_of(audit->last_text), false);
    buf_printf(out, " (id %" PRId64 ", in %" PRId64 " rows)\n", audit->last_id, audit->n_last_id);
}

void labels_summary(struct buf *out, const struct audit *audit)
{
    unicode_visible(out, str_of(audit->dataset ? audit->dataset->name : "labels"), false);
    buf_printf(out, ": %" PRId64 " rows", audit->n_rows);
    if (audit->n_file_rows != NONE && audit->n_file_rows != audit->n_rows)
        buf_printf(out, " of %" PRId64, audit->n_file_rows);
    buf_puts(out, audit->is_partial ? " (stopped before the end)\n" : "\n");
    buf_puts(out, audit->basis == AUDIT_RECORDED ? "  recorded labels" : "  simulated: ");
    if (audit->basis != AUDIT_RECORDED)
        unicode_visible(out, str_of(audit->policy), false);
    if (audit->because) {
        buf_puts(out, " (");
        unicode_visible(out, str_of(audit->because), false);
        buf_puts(out, ")");
    }
    buf_puts(out, "\n");
    if (audit->assumption) {
        buf_puts(out, "  assumed: ");
        unicode_visible(out, str_of(audit->assumption), false);
        buf_puts(out, "\n");
    }
    buf_printf(out, "  %-38s %10" PRId64 "\n  %-38s %10" PRId64 "  %5.1f %%\n", "tokens",
               audit->n_tokens, "supervised", audit->n_trained,
               percent(audit->n_trained, audit->n_tokens));
    if (audit->n_with_sides)
        buf_printf(out, "  %-38s %10" PRId64 "  %5.1f %% of the supervised\n", "of them in the prompt",
                   audit->n_trained_prompt, percent(audit->n_trained_prompt, audit->n_trained));
    if (audit->max_length != NONE)
        buf_printf(out, "  %-38s %10" PRId64 "\n", "limit (max_length)", audit->max_length);
    summarise_flags(out, audit);
    summarise_end(out, audit);
    if (audit->first_refusal) {
        buf_printf(out, "  row %" PRId64 " is the first that cannot be rendered: ",
                   audit->first_refused_row);
        unicode_visible(out, str_of(audit->first_refusal), false);
        buf_puts(out, "\n");
    }
    if (audit->marker) {
        buf_puts(out, "  looked for the marker ");
        unicode_visible(out, str_of(audit->marker), false);
        if (audit->nearest_text) {
            buf_puts(out, "; nearest in the rows: ");
            unicode_visible(out, str_of(audit->nearest_text), false);
        }
        buf_puts(out, "\n");
    }
}

/* ---- One row ------------------------------------------------------------------------------------- */

static bool is_trained(const struct labelled_row *row, size_t i)
{
    return row->trained[i] && i >= row->first_kept && i < row->end_kept;
}

/* Writes a row: two blanks before each line, none behind the last line end. */
struct row_writer {
    struct buf *out;
    const struct labelled_row *row;
    bool ascii, is_inside;      /* is_inside: of a line */
    bool is_open;               /* a bracket */
};

static void put_sign(struct row_writer *w, const char *sign)
{
    if (!w->is_inside)
        buf_puts(w->out, "  ");
    w->is_inside = true;
    buf_puts(w->out, sign);
}

/* Line ends as signs and as line ends. */
static void put_text(struct row_writer *w, size_t from, size_t to)
{
    struct str rest = str_from(w->row->text.p + from, to - from);

    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str line = str_first(rest, end ? (size_t)(end - rest.p) : rest.n);

        put_sign(w, "");
        unicode_visible(w->out, line, false);
        if (end) {
            buf_puts(w->out, "\\n\n");
            w->is_inside = false;
        }
        rest = str_skip(rest, line.n + (end ? 1 : 0));
    }
}

static void set_bracket(struct row_writer *w, bool opens)
{
    if (opens == w->is_open)
        return;
    put_sign(w, w->ascii ? (opens ? "[[" : "]]") : (opens ? "⟦" : "⟧"));
    w->is_open = opens;
}

/* Up to a whole character: a label that changes inside of one is shown before or behind it. */
static size_t whole(struct str text, size_t at)
{
    for (int i = 0; i < 3 && at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80; i++)
        at++;
    return at;
}

/* The row's text with [[trained]] spans (or their Unicode brackets), special characters visible. */
static void labels_row_text(struct buf *out, const struct labelled_row *row, bool ascii)
{
    struct row_writer w = {.out = out, .row = row, .ascii = ascii};
    size_t shown = 0, taken = 0;    /* what is written, and what waits to be written in one piece */

    for (size_t i = 0; i < row->n && !out->failed; i++) {
        bool wants = is_trained(row, i), is_named = row->begin[i] == row->end[i];

        if (row->begin[i] > taken && !is_named)
            taken = row->begin[i];
        if (wants != w.is_open || is_named || i == row->end_kept) {
            put_text(&w, shown, taken);
            shown = taken;
        }
        if (i == row->end_kept && i > 0) {
            set_bracket(&w, false);
            put_sign(&w, ascii ? "<CUT>" : "✂");
        }
        set_bracket(&w, wants);
        if (is_named) {
            put_sign(&w, "");
            buf_printf(out, "<id %" PRIu32 ">", row->ids[i]);
        } else if (row->end[i] > taken) {
            taken = whole(row->text, row->end[i]);
        }
    }
    put_text(&w, shown, taken);
    set_bracket(&w, false);
    put_text(&w, taken, row->text.n);
    if (w.is_inside || !row->text.n)
        buf_puts(out, "\n");
}

/* One line a token: place, id, label, why, text. */
static void labels_row_ids(struct buf *out, const struct labelled_row *row,
                           const struct tokenizer *tokenizer)
{
    buf_puts(out, "   token       id    label  why                             text\n");
    for (size_t i = 0; i < row->n && !out->failed; i++) {
        bool trained = is_trained(row, i);
        struct str text = tokenizer ? tokenizer_token(tokenizer, row->ids[i]) : str_from(NULL, 0);
        uint32_t label = row->label_id ? row->label_id[i] : row->ids[i];

        if (i == row->end_kept)
            buf_puts(out, "   ---- what follows is cut off ----\n");
        buf_printf(out, "%8zu %8" PRIu32 " ", i, row->ids[i]);
        if (trained)
            buf_printf(out, "%8" PRIu32, label);
        else
            buf_puts(out, "    -100");
        buf_printf(out, "  %-30s  ", trained ? "" : label_why_text((enum label_why)row->why[i]));
        if (row->end[i] > row->begin[i])
            unicode_visible(out, str_from(row->text.p + row->begin[i], row->end[i] - row->begin[i]), false);
        else if (text.p)
            unicode_visible(out, text, false);
        buf_puts(out, "\n");
    }
}

static void row_heading(struct buf *out, const struct audit *audit, int64_t row)
{
    const struct audit_row *facts = audit->rows ? &audit->rows[row] : NULL;

    buf_printf(out, "\nrow %" PRId64, row);
    if (facts && facts->n_tokens >= 0 && facts->n_trained >= 0)
        buf_printf(out, "  %" PRId32 " tokens, %" PRId32 " supervised", facts->n_tokens,
                   facts->n_trained);
    else if (facts && facts->n_tokens >= 0)
        buf_printf(out, "  %" PRId32 " tokens, labels not known", facts->n_tokens);
    if (facts && facts->flags & labels_fault_mask()) {
        buf_puts(out, "  FAULT: ");
        labels_faults(out, facts->flags & labels_fault_mask());
    }
    buf_puts(out, "\n");
}

/* Among others a row is cut where it would bury them; alone it is whole. */
static void put_row(struct buf *out, const struct labelled_row *row, int64_t at,
                    const struct labels_report_options *options)
{
    struct labelled_row cut = *row;
    size_t n = 0;

    while (n < row->n && row->end[n] <= ROW_BYTES)
        n++;
    if (options->row != NONE || n == row->n) {
        labels_row_text(out, row, options->ascii);
        return;
    }
    cut.n = n;
    cut.text.n = whole(row->text, n ? row->end[n - 1] : 0);
    labels_row_text(out, &cut, options->ascii);
    buf_printf(out, "  (%zu tokens more: --row %" PRId64 " shows them)\n", row->n - n, at);
}

static int show_row(struct buf *out, struct audit_window *window, const struct audit *audit,
                    int64_t at, const struct labels_report_options *options, struct error *err)
{
    const struct labelled_row *row;
    struct str raw;
    int rc = audit_window_row(window, at, &row, &raw, err);

    if (rc != OK)
        return rc;
    row_heading(out, audit, at);
    if (row->refused) {
        buf_puts(out, "  cannot be rendered: ");
        unicode_visible(out, str_of(row->refused), false);
        buf_puts(out, "\n");
        return OK;
    }
    put_row(out, row, at, options);
    if (options->row != NONE) {
        labels_row_ids(out, row, audit_window_tokenizer(window));
        buf_puts(out, "  source: ");
        unicode_visible(out, raw, true);
        buf_puts(out, "\n");
    }
    return OK;
}

/* ---- The report ------------------------------------------------------------------------------------- */

static bool is_wanted(const struct audit *audit, int64_t row, const struct labels_report_options *options,
                      bool has_faults)
{
    if (options->row != NONE)
        return row == options->row;
    if (options->all)
        return true;
    return has_faults ? audit->rows && audit->rows[row].flags & labels_fault_mask() : row < FEW_ROWS;
}

static bool has_faults(const struct audit *audit)
{
    for (int64_t i = 0; audit->rows && i < audit->n_rows; i++)
        if (audit->rows[i].flags & labels_fault_mask())
            return true;
    return false;
}

static int show_rows(struct buf *out, const struct run_facts *facts, const struct audit *audit,
                     const struct labels_report_options *options, struct error *err)
{
    struct audit_window *window = NULL;
    bool faults = has_faults(audit);
    int64_t n_shown = 0, most = options->all ? INT64_MAX : FAULTS_SHOWN;
    int rc = audit_window_open(&window, facts, audit, err);

    for (int64_t i = 0; rc == OK && i < audit->n_rows && n_shown < most && !out->failed; i++) {
        if (!is_wanted(audit, i, options, faults))
            continue;
        rc = show_row(out, window, audit, i, options, err);
        n_shown++;
    }
    if (rc == OK && faults && !options->all && options->row == NONE && n_shown == most)
        buf_printf(out, "\n(the first %" PRId64 " rows with a fault; --all shows every row)\n", most);
    audit_window_close(window);
    return rc;
}

int labels_report(struct buf *out, const struct run_facts *facts,
                  const struct labels_report_options *options, struct error *err)
{
    size_t n, n_shown = 0;
    const struct audit *const *audits = facts_audits(facts, &n);
    const char *missing = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct audit *audit = audits[i];
        int rc;

        if (audit->missing)
            missing = audit->missing;
        if (audit->basis == AUDIT_NONE || (options->row != NONE && options->row >= audit->n_rows))
            continue;
        if (n_shown++)
            buf_puts(out, "\n");
        labels_summary(out, audit);
        rc = show_rows(out, facts, audit, options, err);
        if (rc != OK)
            return rc;
    }
    if (n_shown)
        return out->failed ? error_set(err, E_LIMIT, "the rows are too long to show: name one with --row")
                           : OK;
    if (options->row != NONE && n)
        return error_set(err, E_NOTFOUND, "there is no row %" PRId64 " among the rows of the run",
                         options->row);
    return error_set(err, E_NOTFOUND, "no labels to show, missing: %s",
                     missing ? missing : "the training data with the tokenizer folder, or "
                                         "labels_sample.jsonl");
}
