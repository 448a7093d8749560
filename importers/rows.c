/* Do two files tell of the same run (FORMATS.md B0 rule 6)? Reads only steps, epochs and losses, of
 * a bounded number of rows; the importers read everything later. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/read/json.h"
#include "core/read/jsonl.h"
#include "core/store/sink_points.h"
#include "importers/plan_parts.h"
#include "importers/run/notebook_text.h"

#define LOG_LINE_BYTES    ((size_t)64 << 10)
#define LOG_MAX_BYTES     ((int64_t)256 << 20)
#define MENTION_MAX_BYTES ((int64_t)16 << 20)
/* Losses that differ by more are never one, however short the print: 4 significant digits or 4
 * decimals, the shortest that trainers have. Epochs have 2 decimals. */
#define LOSS_RELATIVE  6e-4
#define LOSS_ABSOLUTE  6e-5
/* A mean over the same numbers comes out a little differently in 32 bits than in 64. */
#define FLOAT_RELATIVE 1e-5
#define EPOCH_ABSOLUTE 6e-3

struct reader {
    struct loss_rows *rows;
};

static bool put(struct loss_rows *rows, double step, double epoch, double loss)
{
    if (rows->n == LOSS_ROWS_MAX)
        return false;
    rows->step[rows->n] = step;
    rows->epoch[rows->n] = epoch;
    rows->loss[rows->n++] = loss;
    rows->is_training = true;
    return true;
}

/* ---- JSON rows ---- */

static bool is_one_of(struct str key, const char *const *names)
{
    for (; *names; names++)
        if (str_is(key, *names))
            return true;
    return false;
}

/* Rows with nested values come as a tree; they are rare and left out. */
static int json_loss(void *ctx, const struct json_row *row, struct error *err)
{
    static const char *const STEP[] = {"step",      "global_step", "current_steps",     "iter",
                                       "iteration", "_step",       "train/global_step", NULL};
    static const char *const LOSS[] = {"loss", "train/loss", "train_loss", NULL};
    struct reader *reader = ctx;
    double step = NAN, epoch = NAN, loss = NAN;
    bool has_loss = false;

    (void)err;
    for (size_t i = 0; i < row->n; i++) {
        const struct json_field *f = &row->fields[i];

        if (is_one_of(f->key, STEP) && isnan(step))
            step = f->number;
        else if (str_is(f->key, "epoch"))
            epoch = f->number;
        else if (is_one_of(f->key, LOSS)) {
            loss = f->number;
            has_loss = true;
        } else if (str_is(f->key, "train_runtime"))
            return OK; /* the last row: its loss is the mean */
    }
    if (has_loss && !put(reader->rows, step, epoch, loss))
        return E_CANCELLED; /* enough */
    return OK;
}

static int skip_bad(void *ctx, const struct source_line *line, bool is_last,
                    const struct error *why, struct error *err)
{
    (void)ctx, (void)line, (void)is_last, (void)why, (void)err;
    return OK;
}

static int skip_member(void *ctx, const struct json *value, struct error *err)
{
    (void)ctx, (void)value, (void)err;
    return OK;
}

/* ---- Tables ---- */

static void csv_line(struct str line, struct str *cells, size_t max, size_t *n)
{
    struct str cell;

    *n = 0;
    while (*n < max && str_split(&line, ',', &cell))
        cells[(*n)++] = str_trim(cell);
}

static double cell_number(const struct str *cells, size_t n, int at)
{
    double value;

    return at >= 0 && (size_t)at < n && number_parse_any(cells[at], &value) ? value : NAN;
}

static int read_csv(struct source_file *file, struct loss_rows *rows, struct error *err)
{
    static const char *const STEP[] = {"step", "global_step", "iter", "iteration", NULL};
    static const char *const LOSS[] = {"loss", "train_loss", "train/loss", NULL};
    struct source_line line;
    struct str cells[256];
    size_t n = 0;
    int step = -1, epoch = -1, loss = -1, rc;

    rc = source_next_line(file, LOG_LINE_BYTES, &line, err);
    if (rc != 1)
        return rc;
    csv_line(line.text, cells, 256, &n);
    for (size_t i = 0; i < n; i++) {
        step = step < 0 && is_one_of(cells[i], STEP) ? (int)i : step;
        loss = loss < 0 && is_one_of(cells[i], LOSS) ? (int)i : loss;
        epoch = str_is(cells[i], "epoch") ? (int)i : epoch;
    }
    while (loss >= 0 && (rc = source_next_line(file, LOG_LINE_BYTES, &line, err)) == 1) {
        csv_line(line.text, cells, 256, &n);
        double value = cell_number(cells, n, loss);

        if (!isnan(value) &&
            !put(rows, cell_number(cells, n, step), cell_number(cells, n, epoch), value))
            return OK;
    }
    return rc < 0 ? rc : OK;
}

/* ---- Console ---- */

/* The number after 'key': or "key": in a printed row; quotes around the number are fine. */
static bool printed(struct str line, const char *single, const char *twice, double *out)
{
    ptrdiff_t at = str_find(line, single);

    if (at < 0)
        at = str_find(line, twice);
    if (at < 0)
        return false;
    line = str_skip(line, (size_t)at + strlen(single));
    while (line.n && strchr(": '\"", *line.p))
        line = str_skip(line, 1);
    size_t n = 0;
    while (n < line.n && !strchr(",}'\" ", line.p[n]))
        n++;
    return number_parse_any(str_first(line, n), out);
}

/* Hand-written loops print "step 160/400 loss 1.23" in all kinds of ways. */
static bool looks_like_a_step(struct str line)
{
    static const char *const PLACES[] = {"step", "iter", "epoch"};
    const char *at = NULL;

    for (size_t i = 0; i + 4 < line.n && !at; i++)
        if (strncasecmp(line.p + i, "loss", 4) == 0)
            at = line.p + i + 4;
    if (!at)
        return false;
    struct str rest = str_skip(line, (size_t)(at - line.p));
    while (rest.n && strchr(":= |", *rest.p))
        rest = str_skip(rest, 1);
    double value;
    if (number_prefix(rest, &value) == 0)
        return false;
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
        if (str_has_ignoring_case(line, PLACES[i]))
            return true;
    return false;
}

static bool is_marker(struct str line)
{
    static const char *const MARKS[] = {
        "***** Running training *****", "'train_runtime'",
        "Number of trainable parameters = ", "Total optimization steps",
        "Step\tTraining Loss", "Epoch\tTraining Loss"};

    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        if (str_find(line, MARKS[i]) >= 0)
            return true;
    return false;
}

static int read_console(struct source_file *file, struct loss_rows *rows, struct error *err)
{
    struct source_line line;
    int rc;

    while ((rc = source_next_line(file, LOG_LINE_BYTES, &line, err)) == 1) {
        double loss, step = NAN, epoch = NAN;
        struct str rest = line.text, part;

        if (line.byte > LOG_MAX_BYTES)
            break;
        while (str_split(&rest, '\r', &part)) {
            if (printed(part, "'loss'", "\"loss\"", &loss)) {
                if (!printed(part, "'step'", "\"step\"", &step))
                    (void)printed(part, "'current_steps'", "\"current_steps\"", &step);
                (void)printed(part, "'epoch'", "\"epoch\"", &epoch);
                if (!put(rows, step, epoch, loss))
                    return OK;
            } else if (!rows->is_training) {
                rows->is_training = is_marker(part) || looks_like_a_step(part);
            }
        }
    }
    return rc < 0 ? rc : OK;
}

static int read_notebook(const char *path, struct loss_rows *rows, struct error *err)
{
    struct notebook_text text;
    struct source_file *outputs = NULL;
    char *bytes = NULL;
    size_t n = 0;
    int rc = source_slurp(path, NOTEBOOK_MAX_BYTES, &bytes, &n, err);

    if (rc != OK)
        return rc;
    notebook_text(bytes, n, &text);
    rc = source_open_bytes(&outputs, path, bytes, n, err);
    if (rc == OK)
        rc = read_console(outputs, rows, err);
    source_close(outputs);
    free(bytes);
    return rc;
}

/* ---- Loggers' own files ---- */

static int take_point(void *ctx, const struct point *point, struct error *err)
{
    struct reader *reader = ctx;
    double step = point->step == NONE ? (double)NAN : (double)point->step;

    if (!put(reader->rows, step, NAN, point->value))
        return error_set(err, E_CANCELLED, "enough rows");
    return OK;
}

/* Read by their importer, which tells a sink that only listens for the loss. */
static int read_logged(const struct found *found, struct loss_rows *rows, struct error *err)
{
    struct reader reader = {rows};
    struct arena *arena = arena_open(ARENA_BATCH_BYTES);
    struct sink *sink = NULL;
    int rc = arena ? sink_open_points(&sink, "loss", take_point, &reader, err)
                   : error_set(err, E_NOMEM, "no memory for the rows of %s", found->file->shown);

    if (rc == OK) {
        struct run run = {.key = "", .folder = found->file->folder, .name = ""};
        struct source source = {.path = found->file->path, .importer = found->importer->id};
        struct import import = {
            .path = found->file->path,
            .run = &run,
            .role = found->part ? arena_printf(arena, "run %s", found->part) : NULL,
            .sink = sink,
            .arena = arena};

        rc = sink_begin(sink, &run, &source, err);
        if (rc == OK)
            rc = found->importer->run(&import, err);
    }
    sink_close(sink);
    arena_close(arena);
    return rc;
}

static bool is_logger(const char *id)
{
    static const char *const IDS[] = {"tensorboard", "wandb", "mlflow_files", "mlflow_db",
                                      "trackio"};

    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++)
        if (strcmp(id, IDS[i]) == 0)
            return true;
    return false;
}

/* ---- Any file ---- */

static int read_rows(const struct found *found, struct source_file *file, struct loss_rows *rows,
                     struct error *err)
{
    struct reader reader = {rows};
    const char *id = found->importer ? found->importer->id : "";
    struct str name = str_of(found->file->name);
    bool cut = false;

    if (is_logger(id))
        return read_logged(found, rows, err);
    if (strcmp(id, "console_log") == 0)
        return read_console(file, rows, err);
    if (strcmp(id, "notebook") == 0)
        return read_notebook(found->file->path, rows, err);
    if (str_ends(name, ".csv"))
        return read_csv(file, rows, err);
    if (str_ends(name, ".jsonl") || strcmp(id, "metrics_table") == 0)
        return jsonl_read(
            file, &(struct jsonl_handler){.row = json_loss, .bad = skip_bad, .ctx = &reader}, err);
    return json_stream(
        file,
        &(struct json_stream){
            .array_key = "log_history", .member = skip_member, .row = json_loss, .ctx = &reader},
        &cut, err);
}

/* How finely a file prints: 1.4629 has four decimals and five digits. Zeros at the end are lost in
 * most prints, so that the finest of all rows says it. */
static void see_precision(struct loss_rows *rows)
{
    char text[32];

    for (size_t i = 0; i < rows->n; i++) {
        int digits = 0, decimals = 0, exponent = 0;
        bool is_fraction = false;

        if (!isfinite(rows->loss[i]) || rows->loss[i] == 0)
            continue;
        number_repr(text, fabs(rows->loss[i]));
        for (const char *at = text; *at; at++) {
            if (*at == 'e') {
                exponent = (int)strtol(at + 1, NULL, 10);
                break;
            }
            is_fraction |= *at == '.';
            decimals += is_fraction && *at != '.';
            digits += *at != '.' && (digits > 0 || *at != '0');
        }
        decimals -= exponent;
        rows->decimals = decimals > rows->decimals ? decimals : rows->decimals;
        rows->digits = digits > rows->digits ? digits : rows->digits;
    }
}

static double *keep(struct arena *arena, const double *values, size_t n)
{
    double *kept = arena_array(arena, n + 1, sizeof *kept);

    if (kept && n)
        memcpy(kept, values, n * sizeof *kept);
    return kept;
}

int rows_read(const struct found *found, struct arena *arena, struct loss_rows *out,
              struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    double *scratch = calloc(3 * LOSS_ROWS_MAX, sizeof *scratch);
    struct loss_rows rows = {.step = scratch};

    if (!scratch)
        return error_set(err, E_NOMEM, "no memory for the rows of %s", found->file->shown);
    rows.epoch = scratch + LOSS_ROWS_MAX;
    rows.loss = scratch + 2 * LOSS_ROWS_MAX;
    int rc = source_open(&file, found->file->path, &why);
    if (rc == OK)
        rc = read_rows(found, file, &rows, &why);
    source_close(file);
    *out = (struct loss_rows){.n = rows.n,
                              .step = keep(arena, rows.step, rows.n),
                              .epoch = keep(arena, rows.epoch, rows.n),
                              .loss = keep(arena, rows.loss, rows.n),
                              .is_training = rows.is_training};
    free(scratch);
    if (rc == E_NOMEM || !out->loss)
        return error_set(err, E_NOMEM, "no memory for the rows of %s", found->file->shown);
    see_precision(out);
    return OK; /* what could be read counts */
}

/* Half a unit of the last place that the file prints of a number of this size, and a little. */
static double rounding(const struct loss_rows *rows, double size)
{
    double by_decimals = pow(10, -rows->decimals);
    double by_digits = pow(10, floor(log10(size)) + 1 - rows->digits);

    return 0.6 * fmax(by_decimals, by_digits);
}

/* Are losses of the two files equal at the precision of the shorter print? */
static bool alike(const struct loss_rows *in_a, double a, const struct loss_rows *in_b, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    double size = fmax(fabs(a), fabs(b)), apart = fabs(a - b);
    if (apart == 0)
        return true;
    return apart <= LOSS_ABSOLUTE + LOSS_RELATIVE * size &&
           apart <= fmax(rounding(in_a, size), rounding(in_b, size)) + FLOAT_RELATIVE * size;
}

/* Rows by step where both files state it, else by epoch, which is printed with two decimals. */
struct places {
    const double *a, *b;
    double tolerance;
    bool is_sorted; /* a rises: what lies before can be skipped */
};

static bool all_stated(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(values[i]))
            return false;
    return true;
}

static struct places places_of(const struct loss_rows *a, const struct loss_rows *b)
{
    bool by_step = all_stated(a->step, a->n) && all_stated(b->step, b->n);
    struct places places = {by_step ? a->step : a->epoch, by_step ? b->step : b->epoch,
                            by_step ? 0 : EPOCH_ABSOLUTE, true};

    for (size_t i = 1; i < a->n && places.is_sorted; i++)
        places.is_sorted = places.a[i] >= places.a[i - 1];
    return places;
}

static size_t first_at(const struct places *places, size_t n, double from)
{
    size_t low = 0, high = places->is_sorted ? n : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (places->a[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* 1 an equal row stands at the same place, 0 only different ones, -1 nothing is there. */
static int compare_row(const struct loss_rows *a, const struct loss_rows *b,
                       const struct places *places, size_t j)
{
    double place = places->b[j];
    int result = -1;

    for (size_t i = first_at(places, a->n, place - places->tolerance); i < a->n; i++) {
        if (places->is_sorted && places->a[i] > place + places->tolerance)
            break;
        if (!(fabs(places->a[i] - place) <= places->tolerance))
            continue; /* also where a place is NaN */
        if (alike(a, a->loss[i], b, b->loss[j]))
            return 1;
        result = 0;
    }
    return result;
}

bool rows_are_same(const struct loss_rows *a, const struct loss_rows *b)
{
    const struct loss_rows *longer = a->n < b->n ? b : a, *shorter = a->n < b->n ? a : b;
    size_t common = 0, differing = 0, telling = 0;
    double last = NAN;

    if (shorter->n < 3)
        return false;
    const struct places places = places_of(longer, shorter);
    for (size_t j = 0; j < shorter->n; j++) {
        int same = compare_row(longer, shorter, &places, j);

        common += same == 1;
        if (same == 1 && isfinite(shorter->loss[j]) && shorter->loss[j] != last) {
            last = shorter->loss[j];
            telling++;
        }
        differing += same == 0;
        if (differing * 20 > shorter->n)
            return false;
    }
    /* Two runs whose loss is 0.0 or NaN throughout agree everywhere and are not the same for it. */
    if (telling < 3)
        return false;
    /* A console shows the rows before a crash and again after the resume: a few repeat a place with
     * other numbers, next to the many that agree. */
    return (common >= 3 && differing == 0) || (common >= 20 && differing * 20 <= common);
}

void rows_compare(const struct loss_rows *a, const struct loss_rows *b, size_t *common,
                  size_t *differing)
{
    const struct places places = places_of(a, b);

    *common = *differing = 0;
    for (size_t j = 0; j < b->n; j++) {
        int same = compare_row(a, b, &places, j);

        *common += same >= 0;
        *differing += same == 0;
    }
}

bool file_mentions(const char *path, const char *const *words, size_t n)
{
    struct source_file *file = NULL;
    struct source_line line;
    bool found = false;

    if (source_open(&file, path, NULL) != OK)
        return false;
    while (!found && source_next_line(file, LOG_LINE_BYTES, &line, NULL) == 1 &&
           line.byte < MENTION_MAX_BYTES)
        for (size_t i = 0; i < n && !found; i++)
            found = str_find(line.text, words[i]) >= 0;
    source_close(file);
    return found;
}
