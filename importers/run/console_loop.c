/* Takes such a line apart as words and the number behind them; it needs no more than that the
 * words before a number name it, whatever stands between ("Val Loss: 1.3", "val_loss=1.3"). */
#include "importers/run/console_loop.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "importers/run/console_loop_head.h"

#define MAX_NAME 48

/* "Step [100/600]" */
struct pair {
    char name[MAX_NAME];
    struct str text;
    double value, total; /* total: NAN when there is none */
    bool has_unit;       /* "12s", "85%" */
};

static const struct {
    const char *word, *key;
} names[] = {
    {"epoch", "epoch"},
    {"step", "step"},
    {"global_step", "global_step"}, /* goes on over the epochs */
    {"iter", "step"},
    {"iteration", "step"},
    {"it", "step"},
    {"update", "step"},
    {"batch", "step"},
    {"loss", "loss"},
    {"train_loss", "loss"},
    {"training_loss", "loss"},
    {"total_loss", "loss"},
    {"lm_loss", "loss"},
    {"reduced_train_loss", "loss"},
    {"val_loss", "eval_loss"},
    {"valid_loss", "eval_loss"},
    {"validation_loss", "eval_loss"},
    {"eval_loss", "eval_loss"},
    {"dev_loss", "eval_loss"},
    {"test_loss", "eval_loss"},
    {"lr", "learning_rate"},
    {"learning_rate", "learning_rate"},
    {"grad", "grad_norm"},
    {"grad_norm", "grad_norm"},
    {"gnorm", "grad_norm"},
};

static const char *key_of(const char *name)
{
    static const char *const means[] = {"average_", "avg_", "mean_"};
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++) {
        if (strncmp(name, means[i], strlen(means[i])) == 0) {
            name += strlen(means[i]);
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i].word) == 0) {
            return names[i].key;
        }
    }
    return NULL;
}

/* Words of a name are joined by '_'; one that does not fit names nothing we know. */
static void add_word(char name[MAX_NAME], struct str word)
{
    size_t n = strlen(name);
    if (n + word.n + 2 > MAX_NAME) {
        memcpy(name, "?", 2);
        return;
    }
    if (n > 0) {
        name[n++] = '_';
    }
    for (size_t i = 0; i < word.n; i++) {
        name[n++] = (char)tolower((unsigned char)word.p[i]);
    }
    name[n] = '\0';
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The '/' of "val/loss". */
static bool joins(struct str rest)
{
    return rest.n > 1 && rest.p[0] == '/' && isalpha((unsigned char)rest.p[1]);
}

/* "/600" behind a number. */
static size_t read_total(struct str text, double *total)
{
    size_t slash = 0;
    while (slash < text.n && text.p[slash] == ' ') {
        slash++;
    }
    if (slash >= text.n || text.p[slash] != '/') {
        return 0;
    }
    slash++;
    while (slash < text.n && text.p[slash] == ' ') {
        slash++;
    }
    size_t n = number_prefix(str_skip(text, slash), total);
    return n > 0 ? slash + n : 0;
}

static size_t read_word(struct str rest)
{
    size_t n = 0;
    while (n < rest.n && is_word_byte(rest.p[n])) {
        n++;
    }
    return n;
}

/* The next number with the words before it; false at the end of the line. */
static bool next_pair(struct str *line, struct pair *pair)
{
    *pair = (struct pair){.total = NAN};
    while (line->n > 0) {
        char c = line->p[0];
        bool is_signed = (c == '-' || c == '+') && line->n > 1;
        char first = is_signed ? line->p[1] : c;
        size_t n = 0;
        if (isdigit((unsigned char)first) || first == '.') {
            n = number_prefix(*line, &pair->value);
        }
        if (n == 0 && (is_signed || isalpha((unsigned char)c) || is_word_byte(c))) {
            n = read_word(str_skip(*line, is_signed)) + is_signed;
            if (!number_parse_any(str_first(*line, n), &pair->value)) {
                if (n > (size_t)is_signed) {
                    add_word(pair->name, str_skip(str_first(*line, n), is_signed));
                } else {
                    pair->name[0] = '\0'; /* " - " */
                }
                *line = str_skip(*line, n > 0 ? n : 1);
                continue;
            }
        }
        if (n > 0) {
            pair->text = str_first(*line, n);
            *line = str_skip(*line, n);
            *line = str_skip(*line, read_total(*line, &pair->total));
            pair->has_unit = line->n > 0 && (is_word_byte(line->p[0]) || line->p[0] == '%');
            return true;
        }
        bool is_short = c == '.' && line->n > 1 && line->p[1] == ' '; /* "Val. Loss" */
        if ((strchr(" \t:=[(#", c) == NULL || c == '\0') && !joins(*line) && !is_short) {
            pair->name[0] = '\0';
        }
        *line = str_skip(*line, 1);
    }
    return false;
}

static struct console_field *find(struct console_row *row, const char *key)
{
    for (size_t i = 0; i < row->n; i++) {
        if (str_is(row->fields[i].key, key)) {
            return &row->fields[i];
        }
    }
    return NULL;
}

static void add(struct console_row *row, const char *key, const struct pair *pair)
{
    if (find(row, key) != NULL) {
        return;
    }
    row->fields[row->n++] = (struct console_field){
        .key = str_of(key), .text = pair->text, .value = pair->value, .is_number = true};
}

/* A count that falls while the epoch rises begins anew in each epoch. */
static void count_on(struct console_loop *loop, double epoch, struct console_field *step,
                     double total)
{
    if (epoch < loop->epoch) {
        *loop = (struct console_loop){0};
    } else if (epoch > loop->epoch && step->value <= loop->step) {
        loop->base += isnan(total) ? loop->step : total;
    }
    loop->epoch = epoch;
    loop->step = step->value;
    step->value += loop->base;
}

/* What follows a number is no more than a pair of a known name. */
static void take_pair(struct console_row *row, const struct pair *pair, const char *key,
                      double *step_total)
{
    if (strcmp(key, "step") == 0 && find(row, "step") == NULL) {
        *step_total = pair->total;
    }
    add(row, key, pair);
}

static bool read_pairs(struct str rest, struct console_row *row, double *step_total)
{
    struct pair pair;
    row->n = row->used = 0;
    while (row->n < sizeof names / sizeof names[0] && next_pair(&rest, &pair)) {
        const char *key = pair.has_unit ? NULL : key_of(pair.name);
        bool counts = key != NULL && (strcmp(key, "epoch") == 0 || strcmp(key, "step") == 0 ||
                                      strcmp(key, "global_step") == 0);
        if (row->n == 0 && !counts) {
            return false;
        }
        if (key != NULL) {
            take_pair(row, &pair, key, step_total);
        }
    }
    return row->n > 0;
}

/* A count over all epochs beats one inside the epoch. True when there is one. */
static bool prefer_global_step(struct console_row *row)
{
    struct console_field *global = find(row, "global_step"), *step = find(row, "step");
    if (global == NULL) {
        return false;
    }
    if (step != NULL) {
        step->value = global->value;
        step->text = global->text;
        *global = row->fields[--row->n];
    } else {
        global->key = str_of("step");
    }
    return true;
}

/* Loggers that print the last evaluation beside every step have said it before. */
static void drop_repeated_eval(struct console_loop *loop, struct console_row *row)
{
    struct console_field *eval = find(row, "eval_loss");
    if (eval == NULL || find(row, "loss") == NULL || find(row, "step") == NULL) {
        return;
    }
    bool is_said = eval->value == loop->eval_loss;
    loop->eval_loss = eval->value;
    if (is_said) {
        *eval = row->fields[--row->n];
    }
}

/* "Epoch 01 | Time: 1m 10s" says which epoch the next two lines are of. */
static void see_epoch_line(struct console_loop *loop, struct str line, struct console_row *row)
{
    struct str rest;
    double step_total = NAN;
    bool is_held_out;
    loop->n_lines_of_epoch -= loop->n_lines_of_epoch > 0;
    if (console_loop_head(line, &rest, &is_held_out) && read_pairs(rest, row, &step_total) &&
        row->n == 1 && str_is(row->fields[0].key, "epoch")) {
        loop->epoch_above = row->fields[0].value;
        loop->n_lines_of_epoch = 2;
    }
    row->n = 0;
}

/* "Train Loss: 1.9 | Train PPL: 6.8" below it, or Keras's "50/50 [====] - 30s - loss: 1.9": no word
 * but a loss's comes first. */
static bool read_below(struct console_loop *loop, struct str line, struct console_row *row)
{
    struct str rest = str_trim(line);
    struct pair pair;
    bool is_first = true;
    row->n = row->used = 0;
    if (loop->n_lines_of_epoch == 0 || memchr(line.p, '{', line.n) != NULL) {
        return false;
    }
    add(row, "epoch", &(struct pair){.value = loop->epoch_above});
    while (row->n < sizeof names / sizeof names[0] && next_pair(&rest, &pair)) {
        const char *key = pair.has_unit ? NULL : key_of(pair.name);
        bool is_named = pair.name[0] != '\0' && !pair.has_unit;
        if (is_first && is_named && (key == NULL || !str_ends(str_of(key), "loss"))) {
            break;
        }
        is_first = is_first && !is_named;
        if (key != NULL) {
            add(row, key, &pair);
        }
    }
    bool has_loss = find(row, "loss") != NULL || find(row, "eval_loss") != NULL;
    row->n = has_loss ? row->n : 0;
    return has_loss;
}

bool console_loop_read(struct console_loop *loop, struct str line, struct console_row *row)
{
    if (str_find(line, "oss") < 0) {
        bool may_be_epoch = line.n > 6 && (line.p[0] | 0x20) == 'e';
        if (loop->n_lines_of_epoch > 0 || may_be_epoch) {
            see_epoch_line(loop, line, row);
        }
    } else if (read_below(loop, line, row)) {
        loop->n_lines_of_epoch--;
        return true;
    }
    struct str rest;
    double step_total = NAN;
    bool is_held_out = false;
    if (console_dashed_read(line, row)) {
        return true;
    }
    row->n = row->used = 0;
    if (str_find(line, "oss") < 0 || memchr(line.p, '{', line.n) != NULL ||
        !console_loop_head(line, &rest, &is_held_out) || !read_pairs(rest, row, &step_total)) {
        return false;
    }
    struct console_field *loss = find(row, "loss");
    if (loss == NULL && find(row, "eval_loss") == NULL) {
        return false;
    }
    if (is_held_out && loss != NULL && find(row, "eval_loss") == NULL) {
        loss->key = str_of("eval_loss");
    }
    bool is_global = prefer_global_step(row);
    struct console_field *epoch = find(row, "epoch"), *step = find(row, "step");
    if (!is_global && epoch != NULL && step != NULL) {
        count_on(loop, epoch->value, step, step_total);
    } else if (!is_global && !isnan(step_total)) {
        struct pair total = {.value = step_total};
        add(row, "total", &total);
    }
    drop_repeated_eval(loop, row);
    return true;
}

size_t console_loop_count(struct str head, size_t enough)
{
    struct console_row *row = calloc(1, sizeof *row);
    struct console_loop loop = {0};
    struct str line;
    size_t n = 0;
    while (row != NULL && n < enough && str_split(&head, '\n', &line)) {
        n += console_loop_read(&loop, line, row);
    }
    free(row);
    return n;
}
