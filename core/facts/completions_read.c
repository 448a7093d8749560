/* The first pass over logged completions: each becomes numbers and hashes, each step sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/completions_parts.h"
#include "core/facts/preference_facts.h"
#include "core/read/completion_rows.h"

enum { FIRST_ROWS = 1024, ROWS_BETWEEN = 256, SHORT_WORDS = 4 };

struct reader {
    struct completion_pass *pass;
    int32_t file;
    int64_t ord;
    size_t at_step;             /* the step of the row before */
};

/* ---- Names ---- */

/* Numbers beside a completion that are no reward. */
static bool is_other_number(struct str name)
{
    static const char *const NAMES[] = {
        "index",   "idx",    "id",        "uid",         "row",        "rank",
        "epoch",   "step",   "entropy",   "length",      "num_turns",  "completion_length",
        "n_tokens", "num_tokens", "response_length", "prompt_length", "completion_tokens",
        "prompt_tokens", "seed", "gts", "request_id", "answer", "target", "solution", "label"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is_ignoring_case(name, NAMES[i]))
            return true;
    return false;
}

/* A column that states the whole reward. */
static bool is_whole(struct str name)
{
    return str_is(name, "reward") || str_is(name, "rewards") || str_is(name, "score");
}

static ptrdiff_t known_reward(const struct completion_pass *pass, struct str name)
{
    for (size_t i = 0; i < pass->files->n_rewards; i++)
        if (str_is(name, pass->files->rewards[i]))
            return (ptrdiff_t)i;
    return -1;
}

static bool any_is_known(const struct completion_pass *pass, const struct completion_row *row)
{
    for (size_t i = 0; i < row->n_values; i++)
        if (known_reward(pass, row->values[i].name) >= 0)
            return true;
    return false;
}

static ptrdiff_t part_of(struct completion_pass *pass, struct str name)
{
    struct completions *out = pass->out;

    for (size_t i = 0; i < out->n_rewards; i++)
        if (str_is(name, out->rewards[i]))
            return (ptrdiff_t)i;
    if (out->n_rewards == COMPLETION_REWARDS)
        return -1;
    out->rewards[out->n_rewards] = arena_strndup(pass->arena, name.p, name.n);
    return (ptrdiff_t)out->n_rewards++;
}

/* ---- Steps ---- */

static bool steps_room(struct completion_pass *pass)
{
    size_t capacity = pass->steps_capacity ? 2 * pass->steps_capacity : 64;

    if (pass->n_steps < pass->steps_capacity)
        return true;
    struct completion_step *steps = realloc(pass->steps, capacity * sizeof *steps);
    if (!steps)
        return false;
    pass->steps = steps;
    int64_t(*counts)[COMPLETION_REWARDS + 1] = realloc(pass->counts, capacity * sizeof *counts);
    if (!counts)
        return false;
    pass->counts = counts;
    pass->steps_capacity = capacity;
    return true;
}

/* Where the step stands or belongs; rows come mostly in its order. */
static size_t find_step(const struct completion_pass *pass, size_t from, int64_t step)
{
    size_t low = 0, high = pass->n_steps;

    if (from < pass->n_steps && pass->steps[from].step == step)
        return from;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pass->steps[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL: there are too many, or there is no memory (which *failed says). */
static struct completion_step *step_of(struct reader *reader, int64_t step, bool *failed)
{
    struct completion_pass *pass = reader->pass;
    size_t at = find_step(pass, reader->at_step, step);

    *failed = false;
    reader->at_step = at;
    if (at < pass->n_steps && pass->steps[at].step == step)
        return &pass->steps[at];
    if (pass->n_steps == COMPLETION_STEPS) {
        pass->out->n_more_steps++;
        return NULL;
    }
    *failed = !steps_room(pass);
    if (*failed)
        return NULL;
    memmove(&pass->steps[at + 1], &pass->steps[at], (pass->n_steps - at) * sizeof *pass->steps);
    memmove(&pass->counts[at + 1], &pass->counts[at], (pass->n_steps - at) * sizeof *pass->counts);
    pass->steps[at] = (struct completion_step){.step = step};
    memset(pass->counts[at], 0, sizeof pass->counts[at]);
    pass->n_steps++;
    return &pass->steps[at];
}

/* ---- Rewards ---- */

struct taken {
    double parts[COMPLETION_REWARDS];
    double whole, sum, accuracy;
    bool has_sum;
};

static void take_rewards(struct completion_pass *pass, const struct completion_row *row,
                         struct taken *taken)
{
    bool only_known = any_is_known(pass, row);

    *taken = (struct taken){.whole = NAN, .accuracy = NAN};
    for (size_t i = 0; i < COMPLETION_REWARDS; i++)
        taken->parts[i] = NAN;
    for (size_t i = 0; i < row->n_values; i++) {
        struct str name = row->values[i].name;
        double value = row->values[i].value, weight = 1.0;
        ptrdiff_t known = known_reward(pass, name);

        if (is_whole(name) && known < 0) {
            taken->whole = value;
            pass->out->is_weighted = true;
            continue;
        }
        if (only_known ? known < 0 : is_other_number(name))
            continue;
        ptrdiff_t at = part_of(pass, name);
        if (at < 0)
            continue;
        if (known >= 0 && (size_t)at < pass->files->n_weights) {
            weight = pass->files->weights[at];
            pass->out->is_weighted = true;
        }
        taken->parts[at] = value;
        taken->sum += weight * value;
        taken->has_sum = true;
        if (isnan(taken->accuracy) && reward_name_is_accuracy(pass->out->rewards[at]))
            taken->accuracy = value;
    }
    if (isnan(taken->whole) && taken->has_sum)
        taken->whole = taken->sum;
}

static void add_to_step(struct completion_pass *pass, struct completion_step *step,
                        const struct taken *taken, int64_t words)
{
    int64_t *counts = pass->counts[step - pass->steps];

    step->n++;
    step->words += (double)words;
    for (size_t i = 0; i < COMPLETION_REWARDS; i++) {
        if (isnan(taken->parts[i]))
            continue;
        step->parts[i] += taken->parts[i];
        counts[i]++;
    }
    if (!isnan(taken->whole)) {
        step->reward += taken->whole;
        counts[COMPLETION_REWARDS]++;
    }
}

/* ---- One row ---- */

static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c & '\x80';
}

bool completion_next_word(struct str *rest, struct str *word)
{
    size_t i = 0, from, to;

    while (i < rest->n && strchr(" \t\r\n\v\f", rest->p[i]) && rest->p[i])
        i++;
    from = i;
    while (i < rest->n && (!rest->p[i] || !strchr(" \t\r\n\v\f", rest->p[i])))
        i++;
    to = i;
    *word = str_from(rest->p + from, to - from);
    *rest = str_skip(*rest, i);
    if (word->n == 0)
        return false;
    size_t a = 0, b = word->n;
    while (a < b && !is_word_byte(word->p[a]))
        a++;
    while (b > a && !is_word_byte(word->p[b - 1]))
        b--;
    if (b > a)
        *word = str_from(word->p + a, b - a);
    return true;
}

static void look_at_text(struct str text, struct completion_fact *fact)
{
    struct str rest = text, word;
    uint64_t hash = 0;

    while (completion_next_word(&rest, &word)) {
        if (fact->words < GENERATION_OPENING_WORDS)
            hash = hash_more(hash + 1, word.p, word.n);
        if (fact->words < INT32_MAX)
            fact->words++;
        if (fact->words == GENERATION_OPENING_WORDS)
            fact->opening = hash ? hash : 1;
    }
    text = str_trim(text);
    if (fact->words >= SHORT_WORDS) {
        fact->output = hash_bytes(text.p, text.n);
        fact->output += fact->output == 0;
    }
}

static bool rows_room(struct completion_pass *pass)
{
    size_t capacity = pass->capacity ? 2 * pass->capacity : FIRST_ROWS;

    if (pass->n < pass->capacity)
        return true;
    struct completion_fact *rows = realloc(pass->rows, capacity * sizeof *rows);
    if (!rows)
        return false;
    pass->rows = rows;
    pass->capacity = capacity;
    return true;
}

static bool is_stopped(const struct completion_pass *pass)
{
    return pass->hooks && pass->hooks->cancel && atomic_load(pass->hooks->cancel);
}

/* E_CANCELLED ends the reading; what was read counts. */
static int pause_between(struct completion_pass *pass, struct error *err)
{
    const struct audit_hooks *hooks = pass->hooks;

    if (pass->n % ROWS_BETWEEN || !hooks)
        return OK;
    if (is_stopped(pass)) {
        pass->out->is_partial = true;
        pass->out->missing = "stopped";
        return error_set(err, E_CANCELLED, "stopped");
    }
    return hooks->yield ? hooks->yield(hooks->ctx, err) : OK;
}

static int on_row(void *ctx, const struct completion_row *row, struct error *err)
{
    struct reader *reader = ctx;
    struct completion_pass *pass = reader->pass;
    struct completions *out = pass->out;
    struct completion_fact fact = {.step = row->step, .file = reader->file, .ord = reader->ord++,
                                   .advantage = row->advantage};
    struct taken taken;
    bool failed;
    int rc = pause_between(pass, err);

    if (rc != OK)
        return rc;
    out->n++;
    if (pass->n == COMPLETION_ROWS) {
        out->is_partial = true;
        out->missing = "more completions than are looked at";
        return error_set(err, E_CANCELLED, "enough");
    }
    look_at_text(row->text, &fact);
    if (row->prompt.p) {
        fact.prompt = hash_bytes(row->prompt.p, row->prompt.n);
        fact.prompt += fact.prompt == 0;
    }
    take_rewards(pass, row, &taken);
    fact.reward = taken.whole;
    fact.accuracy = taken.accuracy;
    out->n_not_numbers += isnan(taken.whole);
    if (row->step == NONE) {
        out->n_without_step++;
        return OK;
    }
    struct completion_step *step = step_of(reader, row->step, &failed);
    if (failed || !rows_room(pass))
        return error_set(err, E_NOMEM, "no memory for %zu completions", pass->n);
    if (step) {
        add_to_step(pass, step, &taken, fact.words);
        pass->rows[pass->n++] = fact;
    }
    return OK;
}

static int on_bad(void *ctx, int64_t line, const char *why, struct error *err)
{
    struct reader *reader = ctx;

    (void)line, (void)why, (void)err;
    reader->ord++;
    reader->pass->out->n_bad++;
    return OK;
}

/* ---- Files ---- */

static bool is_ours(int rc)
{
    return rc == E_NOMEM || rc == E_DB || rc == E_CANCELLED;
}

int completions_read_all(struct completion_pass *pass, struct error *err)
{
    int rc = OK;

    for (size_t i = 0; i < pass->files->n && rc == OK; i++) {
        struct reader reader = {.pass = pass, .file = (int32_t)i};
        struct completion_handler handler = {on_row, on_bad, &reader};
        struct error why = {0};

        rc = completion_rows_read(pass->files->paths[i], &handler, &why);
        pass->out->n_files++;
        if (rc == OK)
            continue;
        if (is_ours(rc) && !(rc == E_CANCELLED && pass->out->is_partial)) {
            *err = why;
            return rc;
        }
        if (rc == E_CANCELLED)
            return OK;
        pass->out->missing = arena_printf(pass->arena, "%s: %s", pass->files->paths[i], why.message);
        rc = OK;
    }
    return rc;
}
