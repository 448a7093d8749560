/* Prompts for the health check from the training rows: short answers of their own kind that do not
 * repeat their question, one a fifth of the lengths. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/exports/healthcheck_parts.h"
#include "core/facts/audit.h"
#include "core/facts/model_outputs.h"
#include "core/exports/row_prompt.h"
#include "core/read/rows.h"
#include "core/text/conversation.h"
#include "core/text/text_size.h"

enum { FEWEST_TOKENS = 8, MOST_TOKENS = 40, MOST_ROWS = 20000, PREFIX_WORDS = 8 };

#define ROW_ARENA ((size_t)128 << 20)

static const double MOST_OVERLAP = 0.3;

struct candidate {
    int64_t row, at, n_tokens;
    double overlap;
    uint64_t target;                /* hash: answers that repeat are no candidates */
};

struct choice {
    struct health *health;
    const struct dataset *dataset;
    struct rows *rows;
    struct candidate *list;
    size_t n, capacity;
};

struct str health_first_words(struct str text, int n_words)
{
    struct str rest = str_trim(text);
    size_t at = 0;

    for (int i = 0; i < n_words && at < rest.n; i++) {
        while (at < rest.n && strchr(" \t\r\n", rest.p[at]))
            at++;
        while (at < rest.n && !strchr(" \t\r\n", rest.p[at]))
            at++;
    }
    return str_first(rest, at);
}

/* ---- A row's question and answer ---- */

struct asked {
    struct str messages, question, answer;  /* messages as JSON; p NULL: the row has no such shape */
};

static void put_message(struct buf *out, const char *role, struct str text)
{
    buf_printf(out, "%s{\"role\": \"%s\", \"content\": ", out->n > 1 ? ", " : "", role);
    json_write_string(out, text);
    buf_putc(out, '}');
}

/* The turns before the first answer. */
static void ask_turns(const struct json *messages, struct arena *arena, struct buf *out,
                      struct asked *asked)
{
    for (const struct json *turn = messages ? messages->child : NULL; turn; turn = turn->next) {
        struct str role = turn_role(turn), text = turn_text(turn, arena);

        if (!text.p)
            return;
        if (str_is(role, "assistant")) {
            asked->answer = text;
            return;
        }
        if (!str_is(role, "user") && !str_is(role, "system"))
            return;
        put_message(out, str_is(role, "user") ? "user" : "system", text);
        asked->question = text;
    }
}

static void read_row(const struct json *row, struct arena *arena, struct asked *out)
{
    struct conversation talk;
    struct buf messages;

    *out = (struct asked){0};
    if (conversation_of_row(row, NULL, arena, &talk, NULL) != OK || talk.oddity)
        return;
    buf_init(&messages, (size_t)16 << 20);
    buf_putc(&messages, '[');
    if (talk.prompt_messages) {
        ask_turns(talk.prompt_messages, arena, &messages, out);
        const struct json *first = talk.completion_messages ? talk.completion_messages->child : NULL;
        out->answer = first ? turn_text(first, arena) : (struct str){0};
    } else if (talk.messages) {
        ask_turns(talk.messages, arena, &messages, out);
    } else if (talk.prompt.p && talk.completion.p) {
        put_message(&messages, "user", talk.prompt);
        out->question = talk.prompt;
        out->answer = talk.completion;
    }
    buf_putc(&messages, ']');
    out->messages = arena_str(arena, buf_view(&messages));
    if (messages.failed || !out->question.p || !out->answer.p)
        out->messages = (struct str){0};
    buf_free(&messages);
}

/* ---- Which rows ---- */

static void consider(struct choice *choice, const struct asked *asked, const struct row_place *place)
{
    struct str answer = str_trim(asked->answer);
    int64_t n_tokens = text_size_tokens(text_size_of(answer));
    double overlap;

    if (!asked->messages.p || n_tokens < FEWEST_TOKENS || n_tokens > MOST_TOKENS ||
        choice->n == choice->capacity)
        return;
    struct arena *scratch = arena_open(ROW_ARENA);
    overlap = scratch ? output_jaccard(asked->question, answer, scratch) : 1.0;
    arena_close(scratch);
    if (overlap < MOST_OVERLAP)
        choice->list[choice->n++] = (struct candidate){.row = place->row,
                                                       .at = place->at,
                                                       .n_tokens = n_tokens,
                                                       .overlap = overlap,
                                                       .target = hash_bytes(answer.p, answer.n)};
}

static int read_rows(struct choice *choice, struct error *err)
{
    struct arena *arena = arena_open(ROW_ARENA);
    int rc = arena ? 1 : error_set(err, E_NOMEM, "reading rows");

    for (int64_t i = 0; rc == 1 && i < MOST_ROWS; i++) {
        const struct json *row;
        struct row_place place;
        struct error why = {0};
        struct asked asked;

        arena_reset(arena);
        rc = rows_next(choice->rows, arena, &row, &place, &why, err);
        if (rc != 1 || !row)
            continue;
        read_row(row, arena, &asked);
        consider(choice, &asked, &place);
    }
    arena_close(arena);
    return rc < 0 ? rc : OK;
}

static int by_target(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    return (left->target > right->target) - (left->target < right->target);
}

static int by_length(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    if (left->n_tokens != right->n_tokens)
        return left->n_tokens < right->n_tokens ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static void drop_repeated(struct choice *choice)
{
    size_t n = 0;

    qsort(choice->list, choice->n, sizeof *choice->list, by_target);
    for (size_t i = 0, end; i < choice->n; i = end) {
        for (end = i + 1; end < choice->n && choice->list[end].target == choice->list[i].target; end++)
            ;
        if (end == i + 1)
            choice->list[n++] = choice->list[i];
    }
    choice->n = n;
    qsort(choice->list, choice->n, sizeof *choice->list, by_length);
}

/* The row of the fifth that repeats least of its question. */
static const struct candidate *best_of_fifth(const struct choice *choice, size_t k)
{
    size_t from = k * choice->n / HEALTHCHECK_PROMPTS, to = (k + 1) * choice->n / HEALTHCHECK_PROMPTS;
    const struct candidate *best = NULL;

    for (size_t i = from; i < to; i++)
        if (!best || choice->list[i].overlap < best->overlap)
            best = &choice->list[i];
    return best;
}

static struct audit_window *open_window(const struct health *health, const struct dataset *dataset)
{
    size_t n;
    const struct audit *const *audits = facts_audits(health->facts, &n);
    struct audit_window *window = NULL;
    struct error ignored;

    for (size_t i = 0; i < n && !window; i++)
        if (audits[i]->basis == AUDIT_SIMULATED && audits[i]->dataset == dataset &&
            audit_window_open(&window, health->facts, audits[i], &ignored) != OK)
            window = NULL;
    return window;
}

/* Without a tokenizer and template there is no rendered prompt: the request has the messages. */
static struct str rendered_prompt(struct audit_window *window, int64_t row, struct arena *arena)
{
    struct row_prompt prompt = {0};
    const struct labelled_row *labelled;
    struct error ignored;

    if (window && audit_window_row(window, row, &labelled, NULL, &ignored) == OK && !labelled->refused)
        row_prompt_of(labelled, audit_window_tokenizer(window), arena, &prompt);
    return prompt.prompt;
}

static int take(struct choice *choice, const struct candidate *chosen, struct audit_window *window,
                struct error *err)
{
    struct health *health = choice->health;
    const struct json *row = NULL;
    struct row_place place;
    struct error why = {0};
    struct asked asked;
    int rc = rows_seek(choice->rows, chosen->at, chosen->row, err);

    if (rc == OK)
        rc = rows_next(choice->rows, health->arena, &row, &place, &why, err);
    if (rc != 1 || !row)
        return rc < 0 ? rc : OK; /* the file changed meanwhile: one prompt less */
    read_row(row, health->arena, &asked);
    if (asked.messages.p)
        health->prompts[health->n++] = (struct health_prompt){
            .row = chosen->row,
            .messages = asked.messages,
            .rendered = rendered_prompt(window, chosen->row, health->arena),
            .expect_prefix = health_first_words(asked.answer, PREFIX_WORDS),
            .why = arena_printf(health->arena,
                                "row %" PRId64 " of %s, unverified until run once against the base",
                                chosen->row, choice->dataset->name),
        };
    return OK;
}

int health_choose_rows(struct health *health, struct error *err)
{
    struct choice choice = {.health = health, .capacity = MOST_ROWS};
    struct audit_window *window = NULL;
    const struct source *source;
    int rc;

    (void)facts_train_rows(health->facts, &choice.dataset);
    source = choice.dataset ? facts_source(health->facts, choice.dataset->source_id) : NULL;
    if (!source)
        return OK;
    choice.list = malloc(choice.capacity * sizeof *choice.list);
    rc = choice.list ? rows_open(&choice.rows, source->path, err)
                     : error_set(err, E_NOMEM, "choosing prompts");
    if (rc == OK)
        rc = read_rows(&choice, err);
    if (rc == OK && choice.n) {
        drop_repeated(&choice);
        window = open_window(health, choice.dataset);
        for (size_t k = 0; rc == OK && k < HEALTHCHECK_PROMPTS; k++) {
            const struct candidate *best = best_of_fifth(&choice, k);

            if (best)
                rc = take(&choice, best, window, err);
        }
    }
    audit_window_close(window);
    rows_close(choice.rows);
    free(choice.list);
    return rc;
}
