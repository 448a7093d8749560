/* What completions say as the store keeps it: one JSON text. See completions.h. */
#include <math.h>
#include <string.h>

#include "core/facts/completions_parts.h"
#include "core/read/json.h"

/* ---- Members that are numbers ---- */

struct count_member {
    const char *name;
    size_t at;
};
#define AT(member) offsetof(struct completions, member)
static const struct count_member COUNTS[] = {
    {"n", AT(n)},
    {"n_files", AT(n_files)},
    {"n_bad", AT(n_bad)},
    {"n_without_step", AT(n_without_step)},
    {"n_not_numbers", AT(n_not_numbers)},
    {"n_more_steps", AT(n_more_steps)},
    {"n_length", AT(n_length)},
    {"n_tested", AT(n_tested)},
    {"min_groups", AT(min_groups)},
    {"n_inflated", AT(n_inflated)},
};
enum { N_COUNTS = sizeof COUNTS / sizeof *COUNTS, STEP_NUMBERS = 10, PHRASE_NUMBERS = 9 };

static void put_text(struct buf *out, const char *name, const char *text)
{
    if (!text)
        return;
    buf_printf(out, ",\"%s\":", name);
    json_write_string(out, str_of(text));
}

static void put_number(struct buf *out, const char *name, double value)
{
    if (isnan(value))
        return;
    buf_printf(out, ",\"%s\":%.17g", name, value);
}

/* A list of numbers; null is NaN. */
static void put_list(struct buf *out, const double *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_putc(out, ',');
        if (isfinite(list[i]))
            buf_printf(out, "%.17g", list[i]);
        else
            buf_puts(out, "null");
    }
}

static void put_steps(struct buf *out, const struct completions *completions)
{
    buf_puts(out, ",\"steps\":[");
    for (size_t i = 0; i < completions->n_steps; i++) {
        const struct completion_step *step = &completions->steps[i];
        const double numbers[STEP_NUMBERS] = {
            (double)step->step,     (double)step->n,      step->words,
            step->reward,           (double)step->n_grouped, (double)step->n_groups,
            (double)step->n_dead,   (double)step->n_dead_rows, (double)step->n_wrong,
            (double)step->n_right};

        buf_puts(out, i ? ",[" : "[");
        put_list(out, numbers, STEP_NUMBERS);
        if (completions->n_rewards)
            buf_putc(out, ',');
        put_list(out, step->parts, completions->n_rewards);
        buf_putc(out, ']');
    }
    buf_putc(out, ']');
}

static void put_phrases(struct buf *out, const struct completions *completions)
{
    buf_puts(out, ",\"phrases\":[");
    for (size_t i = 0; i < completions->n_phrases; i++) {
        const struct completion_phrase *phrase = &completions->phrases[i];
        const double numbers[PHRASE_NUMBERS] = {
            (double)phrase->n_first, (double)phrase->n_last, phrase->first, phrase->last,
            phrase->times,           phrase->p,              phrase->gain,  (double)phrase->n_gain,
            (double)phrase->n_gain_up};

        buf_puts(out, i ? ",[" : "[");
        json_write_string(out, str_of(phrase->text));
        buf_putc(out, ',');
        put_list(out, numbers, PHRASE_NUMBERS);
        buf_putc(out, ']');
    }
    buf_putc(out, ']');
}

static void put_quarter(struct buf *out, const char *name, const struct completion_quarter *quarter)
{
    buf_printf(out,
               ",\"%s\":{\"first_step\":%lld,\"last_step\":%lld,\"n\":%lld,\"n_groups\":%lld,"
               "\"n_all\":%lld,\"n_prompts\":%lld,\"n_same\":%lld,\"n_opening\":%lld",
               name, (long long)quarter->first_step, (long long)quarter->last_step,
               (long long)quarter->n, (long long)quarter->n_groups, (long long)quarter->n_all,
               (long long)quarter->alike.n_prompts, (long long)quarter->alike.n_same,
               (long long)quarter->alike.n_opening);
    put_text(out, "same", quarter->alike.same);
    put_text(out, "opening", quarter->alike.opening);
    buf_putc(out, '}');
}

void completions_put(const struct completions *completions, struct buf *out)
{
    buf_printf(out, "{\"version\":%d", COMPLETIONS_VERSION);
    for (size_t i = 0; i < N_COUNTS; i++)
        buf_printf(out, ",\"%s\":%lld", COUNTS[i].name,
                   (long long)*(const int64_t *)(const void *)((const char *)completions +
                                                                COUNTS[i].at));
    buf_printf(out, ",\"is_partial\":%s,\"is_weighted\":%s",
               completions->is_partial ? "true" : "false",
               completions->is_weighted ? "true" : "false");
    put_text(out, "missing", completions->missing);
    put_number(out, "low", completions->low);
    put_number(out, "high", completions->high);
    put_number(out, "length_r", completions->length_r);
    buf_puts(out, ",\"rewards\":[");
    for (size_t i = 0; i < completions->n_rewards; i++) {
        buf_puts(out, i ? "," : "");
        json_write_string(out, str_of(completions->rewards[i]));
    }
    buf_putc(out, ']');
    put_steps(out, completions);
    put_quarter(out, "first", &completions->first);
    put_quarter(out, "last", &completions->last);
    put_phrases(out, completions);
    buf_putc(out, '}');
}

/* ---- Reading ---- */

static double number_of(const struct json *value)
{
    return json_is(value, JSON_NUMBER) ? value->number : NAN;
}

static int64_t whole(double value)
{
    return value >= 0.0 && value < 9e15 ? (int64_t)value : 0;
}

static const char *text_of(const struct json *value, struct arena *arena)
{
    return json_is(value, JSON_STRING) ? arena_strndup(arena, value->text.p, value->text.n) : NULL;
}

static size_t count(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->n : 0;
}

static size_t take_list(const struct json *first, double *out, size_t most)
{
    size_t n = 0;

    for (; first && n < most; first = first->next)
        out[n++] = number_of(first);
    return n;
}

static bool take_steps(const struct json *list, struct arena *arena, struct completions *out)
{
    struct completion_step *steps = arena_array(arena, count(list) + 1, sizeof *steps);
    size_t n = 0;

    if (!steps)
        return false;
    for (const struct json *item = count(list) ? list->child : NULL; item; item = item->next) {
        double x[STEP_NUMBERS + COMPLETION_REWARDS];

        if (take_list(item->child, x, STEP_NUMBERS + out->n_rewards) != STEP_NUMBERS + out->n_rewards)
            return false;
        struct completion_step *step = &steps[n++];
        *step = (struct completion_step){whole(x[0]), whole(x[1]), x[2],        x[3],
                                         whole(x[4]), whole(x[5]), whole(x[6]), whole(x[7]),
                                         whole(x[8]), whole(x[9]), {0}};
        for (size_t k = 0; k < COMPLETION_REWARDS; k++)
            step->parts[k] = k < out->n_rewards ? x[STEP_NUMBERS + k] : NAN;
    }
    out->steps = steps;
    out->n_steps = n;
    return true;
}

static bool take_phrases(const struct json *list, struct arena *arena, struct completions *out)
{
    struct completion_phrase *phrases = arena_array(arena, count(list) + 1, sizeof *phrases);
    size_t n = 0;

    if (!phrases)
        return false;
    for (const struct json *item = count(list) ? list->child : NULL; item; item = item->next) {
        double x[PHRASE_NUMBERS];
        const char *text = item->child ? text_of(item->child, arena) : NULL;

        if (!text || take_list(item->child->next, x, PHRASE_NUMBERS) != PHRASE_NUMBERS)
            return false;
        phrases[n++] = (struct completion_phrase){text, whole(x[0]), whole(x[1]), x[2], x[3],
                                                  x[4], x[5],        x[6],        whole(x[7]),
                                                  whole(x[8])};
    }
    out->phrases = phrases;
    out->n_phrases = n;
    return true;
}

static void take_quarter(const struct json *tree, struct arena *arena,
                         struct completion_quarter *out)
{
    const char *same = text_of(json_get(tree, "same"), arena),
               *opening = text_of(json_get(tree, "opening"), arena);

    *out = (struct completion_quarter){
        .first_step = whole(number_of(json_get(tree, "first_step"))),
        .last_step = whole(number_of(json_get(tree, "last_step"))),
        .n = whole(number_of(json_get(tree, "n"))),
        .n_groups = whole(number_of(json_get(tree, "n_groups"))),
        .n_all = whole(number_of(json_get(tree, "n_all"))),
        .alike = {.n_prompts = whole(number_of(json_get(tree, "n_prompts"))),
                  .n_same = whole(number_of(json_get(tree, "n_same"))),
                  .n_opening = whole(number_of(json_get(tree, "n_opening"))),
                  .same = same ? same : "",
                  .opening = opening ? opening : ""}};
}

static bool take_rewards(const struct json *list, struct arena *arena, struct completions *out)
{
    for (const struct json *item = count(list) ? list->child : NULL; item; item = item->next) {
        const char *name = text_of(item, arena);

        if (!name || out->n_rewards == COMPLETION_REWARDS)
            return false;
        out->rewards[out->n_rewards++] = name;
    }
    return true;
}

bool completions_take(const char *text, struct arena *arena, struct completions *out)
{
    const struct json *tree = NULL;
    struct error ignored;

    *out = (struct completions){0};
    if (json_parse(str_of(text), false, arena, &tree, NULL, &ignored) != OK ||
        !json_is(tree, JSON_OBJECT) ||
        whole(number_of(json_get(tree, "version"))) != COMPLETIONS_VERSION)
        return false;
    for (size_t i = 0; i < N_COUNTS; i++)
        *(int64_t *)(void *)((char *)out + COUNTS[i].at) =
            whole(number_of(json_get(tree, COUNTS[i].name)));
    out->is_partial = json_is(json_get(tree, "is_partial"), JSON_TRUE);
    out->is_weighted = json_is(json_get(tree, "is_weighted"), JSON_TRUE);
    out->missing = text_of(json_get(tree, "missing"), arena);
    out->low = number_of(json_get(tree, "low"));
    out->high = number_of(json_get(tree, "high"));
    out->length_r = number_of(json_get(tree, "length_r"));
    take_quarter(json_get(tree, "first"), arena, &out->first);
    take_quarter(json_get(tree, "last"), arena, &out->last);
    return take_rewards(json_get(tree, "rewards"), arena, out) &&
           take_steps(json_get(tree, "steps"), arena, out) &&
           take_phrases(json_get(tree, "phrases"), arena, out);
}
