/* Reads a header into names of metrics and the lines below it into rows. It knows no series and
 * no segments: console_progress.c does. */
#include "importers/run/console_table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/metric_names.h"
#include "core/model.h"

#define MAX_CELL 80

/* ---- Cells ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Emphasis of Markdown is none of the text. */
static struct str bare(struct str cell)
{
    cell = str_trim(cell);
    while (cell.n > 0 && (cell.p[0] == '*' || cell.p[0] == '`')) {
        cell = str_skip(cell, 1);
    }
    while (cell.n > 0 && (cell.p[cell.n - 1] == '*' || cell.p[cell.n - 1] == '`')) {
        cell.n--;
    }
    return str_trim(cell);
}

static enum console_table_style style_of(struct str line)
{
    if (line.n > 0 && line.p[0] == '|') {
        return TABLE_PIPES;
    }
    if (memchr(line.p, '\t', line.n) != NULL) {
        return TABLE_TABS;
    }
    return memchr(line.p, '|', line.n) != NULL ? TABLE_PIPES : TABLE_BLANKS;
}

/* The end of the first cell: a tab, a '|', or two blanks in a row. */
static size_t cell_end(struct str rest, enum console_table_style style)
{
    char separator = style == TABLE_TABS ? '\t' : '|';
    if (style != TABLE_BLANKS) {
        const char *end = rest.n > 0 ? memchr(rest.p, separator, rest.n) : NULL;
        return end != NULL ? (size_t)(end - rest.p) : rest.n;
    }
    for (size_t i = 0; i + 1 < rest.n; i++) {
        if (rest.p[i] == '\t' || (rest.p[i] == ' ' && is_blank(rest.p[i + 1]))) {
            return i;
        }
    }
    return rest.n;
}

/* The cells of a line; more than CONSOLE_TABLE_COLUMNS: 0. */
static size_t split_cells(struct str line, enum console_table_style style,
                          struct str cells[CONSOLE_TABLE_COLUMNS])
{
    struct str rest = str_trim(line);
    if (style == TABLE_PIPES && rest.n > 0 && rest.p[0] == '|') {
        rest = str_skip(rest, 1);
    }
    if (style == TABLE_PIPES && rest.n > 0 && rest.p[rest.n - 1] == '|') {
        rest.n--;
    }
    size_t n = 0;
    bool more = rest.n > 0;
    while (more) {
        if (n == CONSOLE_TABLE_COLUMNS) {
            return 0;
        }
        size_t end = cell_end(rest, style);
        cells[n++] = bare(str_first(rest, end));
        more = end < rest.n;
        rest = str_skip(rest, end + 1);
        while (style == TABLE_BLANKS && rest.n > 0 && is_blank(rest.p[0])) {
            rest = str_skip(rest, 1);
        }
    }
    return n;
}

/* ---- Header ---- */

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "completions / mean_length" is "completions/mean_length", "Wer Ortho" "wer_ortho". */
static void copy_name(char out[CONSOLE_TABLE_NAME], struct str cell)
{
    size_t n = 0;
    for (size_t i = 0; i < cell.n && n + 1 < CONSOLE_TABLE_NAME; i++) {
        char c = cell.p[i];
        char before = n > 0 ? out[n - 1] : '\0', behind = i + 1 < cell.n ? cell.p[i + 1] : '\0';
        if (c == ' ' && (before == '/' || before == '_' || behind == '/' || behind == ' ')) {
            continue;
        }
        out[n++] = c == ' ' ? '_' : (char)tolower((unsigned char)c);
    }
    out[n] = '\0';
}

/* The callback takes "eval_" away from what an evaluation measured and begins its words with
 * capitals; what the training logged keeps its small letters. */
static bool is_of_evaluation(struct str cell, const char *name)
{
    static const char *const training[] = {"epoch", "step",          "learning_rate", "grad_norm",
                                           "time",  "training_time", "elapsed",       "runtime"};
    return cell.n > 0 && isupper((unsigned char)cell.p[0]) &&
           strcmp(metric_name(name), name) == 0 &&
           !is_one_of(name, training, sizeof training / sizeof training[0]);
}

static void name_column(char out[CONSOLE_TABLE_NAME], struct str cell, bool has_validation)
{
    static const char *const loss[] = {"training_loss", "train_loss", "loss"};
    static const char *const eval_loss[] = {"validation_loss", "valid_loss", "valid._loss",
                                            "val_loss",        "eval_loss",  "test_loss"};
    copy_name(out, cell);
    if (is_one_of(out, loss, sizeof loss / sizeof loss[0])) {
        memcpy(out, "loss", 5);
    } else if (is_one_of(out, eval_loss, sizeof eval_loss / sizeof eval_loss[0])) {
        memcpy(out, "eval_loss", 10);
    } else if (has_validation && is_of_evaluation(cell, out) &&
               strlen(out) + 6 <= CONSOLE_TABLE_NAME) {
        memmove(out + 5, out, strlen(out) + 1);
        memcpy(out, "eval_", 5);
    }
}

bool console_table_header(struct console_table *table, struct str line)
{
    struct str cells[CONSOLE_TABLE_COLUMNS];
    line = str_trim(line);
    enum console_table_style style = style_of(line);
    size_t n = split_cells(line, style, cells);
    if (n < 2 ||
        (!str_is_ignoring_case(cells[0], "step") && !str_is_ignoring_case(cells[0], "epoch"))) {
        return false;
    }
    bool has_metric = false, has_validation = false;
    double number;
    for (size_t i = 1; i < n; i++) {
        if (cells[i].n == 0 || cells[i].n > MAX_CELL || number_parse_any(cells[i], &number)) {
            return false;
        }
        has_metric |=
            str_has_ignoring_case(cells[i], "loss") || str_has_ignoring_case(cells[i], "reward");
        has_validation |= str_is(cells[i], "Validation Loss");
    }
    if (!has_metric) {
        return false;
    }
    table->style = style;
    table->n_columns = n;
    table->has_step = false;
    for (size_t i = 0; i < n; i++) {
        name_column(table->names[i], cells[i], has_validation);
        table->has_step |= strcmp(table->names[i], "step") == 0;
    }
    return true;
}

/* ---- Rows ---- */

/* "|---|:--:|", "+----+", "==  ==", "...": nothing but strokes. */
static bool is_ruler(struct str line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (strchr("-+=:|. \t_", line.p[i]) == NULL || line.p[i] == '\0') {
            return false;
        }
    }
    return line.n > 0;
}

static int64_t end_of_epoch(const struct console_table *table, double epoch)
{
    bool is_known = table->total != NONE && epoch >= 1 && epoch <= (double)table->n_epochs &&
                    floor(epoch) == epoch;
    return is_known ? table->total / table->n_epochs * (int64_t)epoch : NONE;
}

int console_table_row(struct console_table *table, struct str line, struct console_row *row,
                      int64_t *step)
{
    struct str cells[CONSOLE_TABLE_COLUMNS];
    *step = NONE;
    row->n = row->used = 0;
    line = str_trim(line);
    if (is_ruler(line)) {
        return 0;
    }
    size_t n = split_cells(line, table->style, cells), n_numbers = 0;
    double first;
    if (n != table->n_columns || !number_parse(cells[0], &first)) {
        table->style = TABLE_CLOSED;
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        struct console_field *field = &row->fields[row->n];
        *field =
            (struct console_field){.key = str_of(table->names[i]), .text = cells[i], .value = NAN};
        field->is_number = number_parse_any(cells[i], &field->value);
        n_numbers += field->is_number;
        row->n += field->is_number; /* "No log", a time */
    }
    if (n_numbers < 2) {
        table->style = TABLE_CLOSED;
        return -1;
    }
    if (!table->has_step) {
        *step = end_of_epoch(table, first);
    }
    return 1;
}

/* ---- The bar above ---- */

static struct str skip_blanks(struct str text)
{
    while (text.n > 0 && is_blank(text.p[0])) {
        text = str_skip(text, 1);
    }
    return text;
}

/* "22/290"; returns the bytes used, 0: none. */
static size_t read_fraction(struct str text, double *done, double *total)
{
    size_t n = number_prefix(text, done);
    if (n == 0 || n >= text.n || text.p[n] != '/') {
        return 0;
    }
    size_t m = number_prefix(str_skip(text, n + 1), total);
    return m > 0 ? n + 1 + m : 0;
}

static bool is_count(double value)
{
    return value >= 0 && value < 1e12 && floor(value) == value;
}

bool console_table_bar(struct console_table *table, struct str line, struct console_bar *bar)
{
    double done, total, epoch, n_epochs;
    line = str_trim(line);
    if (line.n < 16 || line.p[0] != '[' || line.p[line.n - 1] != ']') {
        return false;
    }
    struct str rest = skip_blanks(str_skip(line, 1));
    size_t used = read_fraction(rest, &done, &total);
    ptrdiff_t at = str_find(rest, ", Epoch ");
    if (used == 0 || at < 0 || !is_count(done) || !is_count(total) || total < 1) {
        return false;
    }
    rest = str_skip(rest, (size_t)at + 8);
    used = read_fraction(rest, &epoch, &n_epochs);
    if (used == 0 || used + 1 != rest.n) {
        return false;
    }
    *bar = (struct console_bar){.done = (int64_t)done,
                                .total = (int64_t)total,
                                .counts_steps = true,
                                .epoch = NONE,
                                .n_epochs = NONE};
    bool is_even = is_count(n_epochs) && n_epochs >= 1 && fmod(total, n_epochs) == 0 &&
                   fabs(epoch - done * n_epochs / total) < 0.011; /* not so with max_steps */
    table->total = is_even ? (int64_t)total : NONE;
    table->n_epochs = is_even ? (int64_t)n_epochs : NONE;
    return true;
}
