/* What a training process printed: metric rows, progress, messages, tracebacks (FORMATS.md B3).
 *
 * The log is read once, piece by piece. A bare progress bar and a dict of numbers are recognised
 * by hand and need no look at the patterns; every other piece goes through the filter of
 * console_patterns.c. This file only divides the work: bars and rows are console_progress.c,
 * tracebacks console_traceback.c, counting console_events.c. */
#include "importers/run/console_log.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/decompress.h"
#include "importers/importer.h"
#include "importers/run/console_exception.h"
#include "importers/run/console_loop.h"
#include "importers/run/console_patterns.h"
#include "importers/run/console_probe.h"
#include "importers/run/console_progress.h"
#include "importers/run/console_ranks.h"
#include "importers/run/console_split.h"
#include "importers/run/console_table.h"
#include "importers/run/console_wrap.h"

#define MAX_RANKS     4096
#define MAX_CUT_NOTES 3
#define LOOK_EVERY    4096 /* pieces between two looks at `cancel` */

struct reader {
    struct import *import;
    struct console_patterns *patterns;
    struct console_split split;
    struct console_events events;
    struct console_tracebacks tracebacks;
    struct console_progress progress;
    struct console_table table; /* the one that is being read */
    struct console_loop loop;
    struct console_wrap wrap;
    struct buf stripped, unwrapped;
    int64_t last_line_number, last_line_byte, n_lines, n_pieces;
    int n_cut;
    bool has_marker; /* something said that a training ran */
    uint64_t ranks[MAX_RANKS / 64];
    int64_t n_ranks;
    struct buf first_rank; /* whose rows count: 0 where it has some, else the first that has */
    bool knows_rank;
    struct console_row *row;
    struct regex_match match;
};

/* ---- Patterns ---- */

/* A training marker, a plan, something that console_traceback.c reads on. 1: no event. */
static int see_special(struct reader *reader, const struct console_pattern *pattern,
                       const struct console_line *line, struct error *err)
{
    const char *kind = pattern->kinds[0];
    if (strcmp(kind, "traceback") == 0) {
        int rc = console_tracebacks_begin(&reader->tracebacks, line, err);
        return rc == OK ? 1 : rc;
    }
    if (strcmp(kind, "root-cause") == 0) {
        console_tracebacks_begin_report(&reader->tracebacks, line);
        return 1;
    }
    if (strcmp(kind, "start-marker") == 0) {
        reader->has_marker = true;
        struct console_place place = {line->line, line->byte, line->text, NONE, false};
        int rc = console_tracebacks_settle(&reader->tracebacks, err);
        return rc == OK ? console_progress_start(&reader->progress, &place, err) : rc;
    }
    if (strcmp(kind, "eval-marker") == 0) {
        console_progress_evaluate(&reader->progress);
    }
    if (strcmp(kind, "end-marker") == 0 || strcmp(kind, "flat-zero-trainable") == 0) {
        reader->has_marker = true;
    }
    bool is_banner = strcmp(pattern->name, "unsloth-steps") == 0;
    if (is_banner && reader->progress.n_rows > 0) { /* a second training of the same process */
        struct console_place place = {line->line, line->byte, line->text, NONE, false};
        int rc = console_tracebacks_settle(&reader->tracebacks, err);
        rc = rc == OK ? console_progress_start(&reader->progress, &place, err) : rc;
        if (rc != OK) {
            return rc;
        }
    }
    if (is_banner || strcmp(pattern->name, "total-steps") == 0) {
        struct str number = reader->match.group[reader->match.n_groups - 1];
        char digits[24];
        size_t n = 0;
        for (size_t i = 0; i < number.n && n < sizeof digits; i++) {
            if (number.p[i] != ',') {
                digits[n++] = number.p[i];
            }
        }
        int64_t steps;
        if (number_parse_int(str_from(digits, n), &steps)) {
            console_progress_plan(&reader->progress, steps);
        }
    }
    return OK;
}

static int say_pattern(struct reader *reader, const struct console_pattern *pattern,
                       const struct console_line *line, struct error *err)
{
    struct console_said said = {.pattern = pattern->name,
                                .step = line->step,
                                .line = line->line,
                                .byte = line->byte,
                                .text = line->text};
    for (int g = 1; g < reader->match.n_groups && g <= EVENT_MAX_CAPTURES; g++) {
        said.captures[said.n_captures++] = reader->match.group[g];
    }
    for (size_t k = 0; k < pattern->n_kinds; k++) {
        said.kind = pattern->kinds[k];
        int rc = console_events_add(&reader->events, &said, err);
        if (rc != OK) {
            return rc;
        }
    }
    return OK;
}

static int pattern_row(struct reader *reader, const struct console_pattern *pattern,
                       const struct console_line *line, struct error *err)
{
    struct console_row *row = reader->row;
    bool has_step = false;
    row->n = 0;
    for (int g = 1; g < reader->match.n_groups && g < REGEX_MAX_GROUPS; g++) {
        const char *name = pattern->fields[g];
        struct str text = reader->match.group[g];
        bool is_step = name != NULL && strcmp(name, "step") == 0;
        if (name == NULL || text.p == NULL || (is_step && has_step)) {
            continue;
        }
        struct console_field *field = &row->fields[row->n];
        *field = (struct console_field){.key = str_of(name), .text = text};
        field->is_number = console_row_amount(text, &field->value);
        row->n += field->is_number;
        has_step |= is_step && field->is_number;
    }
    console_row_count_batches(row);
    if (row->n == 0) {
        return OK;
    }
    int rc = console_tracebacks_settle(&reader->tracebacks, err);
    struct console_place place = {line->line, line->byte, line->text, NONE, false};
    return rc == OK ? console_progress_row(&reader->progress, row, &place, err) : rc;
}

static int one_pattern(struct reader *reader, struct console_pattern *pattern,
                       const struct console_line *line, bool *has_row, struct error *err)
{
    bool is_found = console_pattern_match(pattern, line->text, &reader->match) == 1;
    if (!is_found && line->inner.p != line->text.p) {
        is_found = console_pattern_match(pattern, line->inner, &reader->match) == 1;
    }
    if (!is_found) {
        return OK;
    }
    if (pattern->use == CONSOLE_ROW) {
        bool is_first = !*has_row;
        *has_row = true;
        return is_first ? pattern_row(reader, pattern, line, err) : OK;
    }
    int rc = see_special(reader, pattern, line, err);
    if (rc != OK) {
        return rc < 0 ? rc : OK;
    }
    return say_pattern(reader, pattern, line, err);
}

static int see_patterns(struct reader *reader, const struct console_line *line, bool *has_row,
                        struct error *err)
{
    struct console_set set = {0};
    console_filter_line(reader->patterns->filter, line->text, &set);
    console_filter_start(reader->patterns->filter, line->inner, &set);
    if (!set.any) {
        return OK;
    }
    for (size_t w = 0; w < CONSOLE_MAX_PATTERNS / 64; w++) {
        for (uint64_t bits = set.bits[w]; bits != 0; bits &= bits - 1) {
            size_t i = w * 64 + (size_t)__builtin_ctzll(bits);
            int rc = one_pattern(reader, &reader->patterns->all[i], line, has_row, err);
            if (rc != OK) {
                return rc;
            }
        }
    }
    return OK;
}

/* ---- Rows ---- */

/* Rows of other ranks repeat those of the one that counts. */
static bool is_of_other_rank(struct reader *reader, struct str rank)
{
    if (reader->progress.n_rows == 0 && !reader->knows_rank) {
        buf_clear(&reader->first_rank);
        buf_str(&reader->first_rank, str_first(rank, 100));
    }
    return !str_eq(buf_view(&reader->first_rank), str_first(rank, 100));
}

/* 1 the line is a row and nothing else, 0 look at the patterns, negative: error. *has_row is set
 * when it holds one. */
static int see_row(struct reader *reader, const struct console_line *line, struct str rank,
                   bool *has_row, struct error *err)
{
    struct str rest = line->inner;
    const char *brace = rest.n > 0 ? memchr(rest.p, '{', rest.n) : NULL;
    if (brace == NULL || brace + 2 >= rest.p + rest.n || (brace[1] != '\'' && brace[1] != '"')) {
        return 0;
    }
    rest = str_skip(rest, (size_t)(brace - rest.p));
    if (!console_row_read(rest, reader->import->arena, reader->row) ||
        !console_row_is_metric(reader->row)) {
        arena_reset(reader->import->arena);
        return 0;
    }
    *has_row = true;
    bool is_final = false;
    for (size_t i = 0; i < reader->row->n; i++) {
        is_final |= str_is(reader->row->fields[i].key, "train_runtime");
    }
    bool is_alone = brace == line->inner.p && str_trim(str_skip(rest, reader->row->used)).n == 0;
    int rc = OK;
    if (!is_of_other_rank(reader, rank)) {
        rc = console_tracebacks_settle(&reader->tracebacks, err);
        struct console_place place = {line->line, line->byte, line->text, NONE, false};
        if (rc == OK) {
            rc = console_progress_row(&reader->progress, reader->row, &place, err);
        }
    }
    arena_reset(reader->import->arena);
    return rc != OK ? rc : is_alone && !is_final;
}

/* A row of a notebook's table, its header, the bar above it. 1 a row or a bar and nothing else,
 * 0 look at the patterns, negative: error. */
static int see_table(struct reader *reader, const struct console_line *line, bool *has_row,
                     struct error *err)
{
    struct console_table *table = &reader->table;
    struct console_place place = {line->line, line->byte, line->text, NONE, true};
    if (table->style != TABLE_CLOSED) {
        int is_row = console_table_row(table, line->inner, reader->row, &place.step);
        if (is_row == 1) {
            *has_row = true;
            int rc = console_tracebacks_settle(&reader->tracebacks, err);
            rc = rc == OK ? console_progress_row(&reader->progress, reader->row, &place, err) : rc;
            return rc == OK ? 1 : rc;
        }
        if (is_row == 0) {
            return 1;
        }
    }
    if (!console_table_may_begin(line->inner)) {
        return 0;
    }
    struct console_bar bar;
    if (!console_table_bar(table, line->inner, &bar)) {
        console_table_header(table, line->inner);
        return 0;
    }
    if (bar.total != reader->progress.total) {
        console_progress_plan(&reader->progress, bar.total);
    }
    int rc = console_progress_bar(&reader->progress, &bar, line->line, line->byte, err);
    return rc == OK ? 1 : rc;
}

/* "Epoch 1/3 | train_loss 1.23" of a loop written by hand. Its words are looked at, too. */
static int see_loop(struct reader *reader, const struct console_line *line, bool *has_row,
                    struct error *err)
{
    if (*has_row || !console_loop_read(&reader->loop, line->inner, reader->row)) {
        return OK;
    }
    *has_row = true;
    const struct console_progress *progress = &reader->progress;
    int64_t step = progress->bar_since_row ? progress->done : NONE; /* not of the next epoch's */
    struct console_place place = {line->line, line->byte, line->text, step, false};
    int rc = console_tracebacks_settle(&reader->tracebacks, err);
    return rc == OK ? console_progress_row(&reader->progress, reader->row, &place, err) : rc;
}

/* ---- Pieces ---- */

static void see_rank(struct reader *reader, struct str rank)
{
    int64_t number;
    if (!number_parse_int(rank, &number) || number < 0 || number >= MAX_RANKS) {
        return;
    }
    uint64_t bit = UINT64_C(1) << (number % 64);
    uint64_t *word = &reader->ranks[number / 64];
    reader->n_ranks += (*word & bit) == 0;
    *word |= bit;
}

static void keep_last_line(struct reader *reader, const struct console_piece *piece)
{
    reader->last_line_number = piece->line;
    reader->last_line_byte = piece->byte;
}

/* Numbers behind the speed: "loss=0.52" of tqdm's set_postfix. */
static int see_postfix(struct reader *reader, const struct console_bar *bar,
                       const struct console_line *line, bool *has_row, struct error *err)
{
    if (bar->postfix.n < 6 || !console_row_read_pairs(bar->postfix, reader->row) ||
        !console_row_is_metric(reader->row)) {
        return OK;
    }
    for (size_t i = 0; i < reader->row->n; i++) {
        if (str_is(reader->row->fields[i].key, "v_num")) {
            reader->row->fields[i].is_number = false; /* Lightning's version of the folder */
        }
    }
    bool is_of_epoch = bar->epoch != NONE && reader->progress.done != NONE;
    int64_t step = is_of_epoch ? reader->progress.done : bar->done;
    struct console_place place = {line->line, line->byte, line->text, step, false};
    *has_row = true;
    return console_progress_row(&reader->progress, reader->row, &place, err);
}

/* 1 a bar and nothing else, 0 more to look at. */
static int see_bar(struct reader *reader, struct console_line *line, bool *has_row,
                   struct error *err)
{
    struct console_bar bar;
    if (!console_bar_read(line->text, &bar)) {
        return 0;
    }
    int rc = console_progress_bar(&reader->progress, &bar, line->line, line->byte, err);
    if (rc == OK) {
        rc = see_postfix(reader, &bar, line, has_row, err);
    }
    if (rc != OK) {
        return rc;
    }
    line->body = bar.rest;
    return bar.rest.n == 0 && bar.description.n == 0;
}

static int see_piece(struct reader *reader, const struct console_piece *piece, struct error *err)
{
    struct console_line line = {.text = piece->text, .line = piece->line, .byte = piece->byte};
    if (piece->has_escape) {
        buf_clear(&reader->stripped);
        console_strip(&reader->stripped, piece->text);
        line.text = buf_view(&reader->stripped);
    }
    if (str_trim(line.text).n == 0) {
        return OK;
    }
    keep_last_line(reader, piece);
    line.body = line.text;
    bool has_row = false;
    int rc = see_bar(reader, &line, &has_row, err);
    if (rc != 0) {
        return rc < 0 ? rc : OK;
    }
    struct str rank = {0};
    size_t n_rank = console_rank(line.body, &rank);
    if (n_rank > 0) {
        see_rank(reader, rank);
    }
    line.inner = str_skip(line.body, n_rank);
    rc = see_row(reader, &line, rank, &has_row, err);
    rc = rc == 0 && !has_row ? see_table(reader, &line, &has_row, err) : rc;
    if (rc != 0) {
        return rc < 0 ? rc : OK;
    }
    rc = console_loop_may_begin(line.inner) ? see_loop(reader, &line, &has_row, err) : OK;
    if (rc == OK && !has_row) {
        rc = console_progress_settle(&reader->progress, err);
    }
    line.step = console_progress_step(&reader->progress);
    if (rc == OK) {
        rc = console_tracebacks_line(&reader->tracebacks, &line, err);
    }
    rc = rc == OK ? see_patterns(reader, &line, &has_row, err) : rc;
    return rc == OK ? see_loop(reader, &line, &has_row, err) : rc; /* behind a logger's head */
}

/* A piece of a wrapped line is a text that may hold several. */
static int see_wrapped(struct reader *reader, const struct console_piece *piece, struct error *err)
{
    struct console_piece part = *piece;
    struct str rest = console_wrap_open(&reader->wrap, piece->text, &reader->unwrapped);
    int rc = OK;
    while (rest.n > 0 && rc == OK) {
        size_t n = console_piece_end(rest.p, rest.n, &part.has_escape);
        part.text = str_first(rest, n);
        rest = str_skip(rest, n < rest.n ? n + 1 : n);
        rc = n > 0 ? see_piece(reader, &part, err) : OK;
    }
    return rc;
}

/* ---- The whole ---- */

static int note_cut(struct reader *reader, const struct console_piece *piece, struct error *err)
{
    if (reader->n_cut++ >= MAX_CUT_NOTES) {
        return OK;
    }
    return sink_note(reader->import->sink, NOTE_INFO, piece->line, piece->byte, err,
                     "line longer than 1 MiB: read up to there");
}

static int read_pieces(struct reader *reader, struct error *err)
{
    struct console_piece piece;
    int rc;
    while ((rc = console_split_next(&reader->split, &piece, err)) == 1) {
        if (piece.is_cut) {
            rc = note_cut(reader, &piece, err);
            if (rc != OK) {
                return rc;
            }
        }
        rc = reader->wrap.kind == WRAP_NONE ? see_piece(reader, &piece, err)
                                            : see_wrapped(reader, &piece, err);
        if (rc != OK) {
            return rc;
        }
        if (++reader->n_pieces % LOOK_EVERY == 0) {
            if (import_is_cancelled(reader->import)) {
                return error_set(err, E_CANCELLED, "import cancelled");
            }
            if (reader->import->progress != NULL) {
                reader->import->progress(reader->import->progress_ctx, piece.byte);
            }
        }
        if (reader->import->max_rows > 0 && reader->progress.n_rows >= reader->import->max_rows) {
            return OK;
        }
    }
    return rc;
}

static int say_last_line(struct reader *reader, struct source_file *file, struct error *err)
{
    char bytes[4096];
    size_t got = 0;
    if (reader->last_line_number == 0) {
        return OK;
    }
    int rc = source_at(file, reader->last_line_byte, bytes, sizeof bytes, &got, err);
    if (rc != OK) {
        return rc;
    }
    bool has_escape;
    size_t n = console_piece_end(bytes, got, &has_escape);
    buf_clear(&reader->stripped);
    console_strip(&reader->stripped, str_from(bytes, n));
    struct console_said said = {.kind = "last-line",
                                .step = console_progress_step(&reader->progress),
                                .line = reader->last_line_number,
                                .byte = reader->last_line_byte,
                                .text = buf_view(&reader->stripped)};
    return console_events_add(&reader->events, &said, err);
}

static int say_progress(struct reader *reader, struct error *err)
{
    const struct console_progress *progress = &reader->progress;
    char done[32], total[32];
    if (progress->total == NONE || progress->done == NONE) {
        return OK;
    }
    struct console_said said = {.kind = "last-progress",
                                .step = progress->done,
                                .line = progress->bar_line,
                                .byte = progress->bar_byte,
                                .text = str_of(""),
                                .n_captures = 2};
    said.captures[0] = console_line_text(done, progress->done);
    said.captures[1] = console_line_text(total, progress->total);
    return console_events_add(&reader->events, &said, err);
}

static int say_summary(struct reader *reader, struct error *err)
{
    char lines[32], rows[32], ranks[32];
    bool is_training =
        reader->has_marker || reader->progress.n_rows > 0 || reader->tracebacks.saw_training;
    struct console_said said = {
        .kind = "log-summary", .step = NONE, .line = NONE, .byte = NONE, .n_captures = 4};
    said.text = str_of("");
    said.captures[0] = console_line_text(lines, reader->n_lines);
    said.captures[1] = console_line_text(rows, reader->progress.n_rows);
    said.captures[2] = str_of(is_training ? "training" : "");
    said.captures[3] = console_line_text(ranks, reader->n_ranks);
    return console_events_add(&reader->events, &said, err);
}

static int finish(struct reader *reader, struct source_file *file, struct error *err)
{
    reader->n_lines = reader->last_line_number;
    int rc = console_progress_settle(&reader->progress, err);
    rc = rc == OK ? console_tracebacks_finish(&reader->tracebacks, err) : rc;
    rc = rc == OK ? say_progress(reader, err) : rc;
    rc = rc == OK ? say_last_line(reader, file, err) : rc;
    rc = rc == OK ? say_summary(reader, err) : rc;
    return rc == OK ? console_events_finish(&reader->events, err) : rc;
}

static int open_reader(struct reader *reader, struct source_file *file, struct error *err)
{
    buf_init(&reader->stripped, CONSOLE_LINE_BYTES);
    buf_init(&reader->unwrapped, CONSOLE_LINE_BYTES);
    buf_init(&reader->first_rank, 128);
    console_split_open(&reader->split, file);
    reader->table.total = NONE;
    reader->row = malloc(sizeof *reader->row);
    if (reader->row == NULL) {
        return error_set(err, E_NOMEM, "no memory for a metric row");
    }
    int rc = console_wrap_find_in(&reader->wrap, file, err);
    reader->knows_rank =
        rc == OK && reader->wrap.kind == WRAP_NONE && console_rank_0_has_rows(file);
    buf_puts(&reader->first_rank, reader->knows_rank ? "0" : "");
    rc = rc == OK ? console_patterns_open(&reader->patterns, err) : rc;
    struct sink *sink = reader->import->sink;
    rc = rc == OK ? console_events_open(&reader->events, sink, err) : rc;
    rc = rc == OK ? console_tracebacks_open(&reader->tracebacks, &reader->events, err) : rc;
    return rc == OK ? console_progress_open(&reader->progress, sink, &reader->events, err) : rc;
}

static void close_reader(struct reader *reader)
{
    console_progress_close(&reader->progress);
    console_tracebacks_close(&reader->tracebacks);
    console_events_close(&reader->events);
    console_patterns_close(reader->patterns);
    console_split_close(&reader->split);
    buf_free(&reader->stripped);
    buf_free(&reader->unwrapped);
    buf_free(&reader->first_rank);
    free(reader->row);
    free(reader);
}

int console_log_read(struct import *import, struct source_file *file, struct error *err)
{
    struct reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return error_set(err, E_NOMEM, "no memory for reading a log");
    }
    import->n_rows_are = "metric rows";
    import->state = SOURCE_WHOLE;
    reader->import = import;
    int rc = open_reader(reader, file, err);
    rc = rc == OK ? read_pieces(reader, err) : rc;
    rc = rc == OK ? finish(reader, file, err) : rc;
    import->n_rows = reader->progress.n_rows;
    import->read_to = source_tell(file);
    close_reader(reader);
    return rc;
}

static int run(struct import *import, struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    enum packing packing = PACKING_NONE;
    bool is_odd;
    int rc = console_look_whether_odd(import, &is_odd, err);
    if (rc != OK || is_odd) {
        return rc;
    }
    rc = source_open_unpacked(&file, &packing, import->path, &why);
    rc = rc == OK ? console_log_read(import, file, err) : import_note_error(import, &why, err);
    if (file != NULL && packing != PACKING_NONE) {
        import->read_to = source_packed_tell(file);
    }
    source_close(file);
    return rc;
}

const struct importer importer_console_log = {
    .id = "console_log",
    .title = "console output of a training or serving process",
    .hint = "train.log, nohup.out, slurm-*.out, stderr.log, a notebook's output",
    .supplies = NEEDS_LOG | NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES,
    .version = 6,
    .role = "log",
    .reads_packed = true,
    .probe = console_probe,
    .run = run,
};
