/* The two prompts of a run: recorded, captured, in the rows themselves, or rendered. See prompt_pair.h.
 * What can be had directly is never replaced by what would have to be rendered. */
#include "core/facts/prompt_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/facts_cache.h"
#include "core/facts/prompt_pair_parts.h"
#include "core/read/request.h"
#include "core/read/rows.h"
#include "core/read/source.h"

#define SCRATCH_BYTES ((size_t)256 << 20)

static struct prompt_record absent(const char *missing)
{
    return (struct prompt_record){.origin = PROMPT_ABSENT, .row = NONE, .missing = missing};
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- Recorded ---- */

static bool take_recorded(const struct prompt_maker *maker, enum side side,
                          struct prompt_record *record)
{
    const struct source *source = prompt_recorded(maker->facts, side);
    char *text = NULL;
    size_t n = 0;
    struct error why = {0};

    if (!source)
        return false;
    if (source_slurp(source->path, PROMPT_FILE_BYTES, &text, &n, &why) != OK) {
        record->failure = arena_printf(maker->arena, "%s: %s", name_of(source->path), why.message);
        return false;
    }
    record->origin = PROMPT_RECORDED;
    record->source = source;
    record->row = NONE;
    record->about = arena_printf(maker->arena, "recorded in %s", name_of(source->path));
    record->side.text = arena_str(maker->arena, str_from(text, n));
    free(text);
    return true;
}

/* ---- A captured request ---- */

static bool keep_first_body(void *ctx, const struct json *value, int64_t line)
{
    const struct json **body = ctx;

    (void)line;
    *body = request_body_of(value);
    return *body == NULL;
}

static const struct json *system_message(const struct json *messages)
{
    for (const struct json *m = messages ? messages->child : NULL; m; m = m->next) {
        const struct json *role = json_get(m, "role");

        if (json_is(role, JSON_STRING) &&
            (str_is(role->text, "system") || str_is(role->text, "developer")))
            return m;
    }
    return NULL;
}

static void read_request(struct prompt_maker *maker, struct arena *scratch)
{
    const struct source *source = prompt_request(maker->facts);
    const struct json *body = NULL;
    struct request_values values = {.value = keep_first_body, .ctx = &body};
    struct error why = {0};

    if (!source || request_read(source->path, scratch, &values, &why) != OK || !body)
        return;
    maker->request = body;
    maker->request_source = source;
    const struct json *messages = json_get(body, "messages");
    if (!json_is(messages, JSON_ARRAY))
        return;
    const struct json *message = system_message(messages);
    const struct json *content = json_get(message, "content");
    maker->pair->request_has_system = message != NULL;
    if (json_is(content, JSON_STRING))
        maker->pair->request_system =
            arena_strndup(maker->arena, content->text.p, content->text.n);
}

/* A completion request carries the rendered prompt itself. */
static bool take_request_prompt(const struct prompt_maker *maker, struct prompt_record *record)
{
    const struct json *prompt = request_prompt_of(maker->request);

    if (!prompt)
        return false;
    record->origin = PROMPT_REQUEST;
    record->source = maker->request_source;
    record->row = NONE;
    record->about = arena_printf(maker->arena, "the prompt in %s",
                                 name_of(maker->request_source->path));
    record->side.text = arena_str(maker->arena, prompt->text);
    return true;
}

/* A server that logs its requests prints the prompt that the model got. */
static bool take_logged_prompt(const struct prompt_maker *maker, struct prompt_record *record)
{
    const struct setting *logged = facts_setting_on(maker->facts, SIDE_SERVE, "logged_prompt");

    if (!logged || !logged->value || !logged->value[0])
        return false;
    record->origin = PROMPT_REQUEST;
    record->source = facts_source(maker->facts, logged->source_id);
    record->row = NONE;
    record->about = arena_printf(maker->arena, "the prompt of a request, %s:%lld",
                                 record->source ? name_of(record->source->path) : "log",
                                 (long long)logged->line);
    record->side.text = arena_str(maker->arena, str_of(logged->value));
    return true;
}

/* A rendered prompt beside the outputs is what the model was given; a question alone is not. */
static bool take_generation_prompt(const struct prompt_maker *maker, struct arena *scratch,
                                   struct prompt_record *record)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];
        struct rows *rows = NULL;
        struct row_place place;
        const struct json *row = NULL;
        struct error why = {0}, err = {0};
        struct prompt_shape shape = {.family = FAMILY_NONE};

        if (strcmp(source->importer, "generations") != 0 ||
            rows_open(&rows, source->path, &err) != OK)
            continue;
        bool is_row = rows_next(rows, scratch, &row, &place, &why, &err) == 1 && row;
        const struct json *prompt = is_row ? json_get(row, "prompt") : NULL;
        if (json_is(prompt, JSON_STRING))
            prompt_shape_of(prompt->text, NULL, 0, scratch, &shape);
        bool is_rendered = shape.family != FAMILY_NONE && shape.family != FAMILY_HUMAN;
        if (is_rendered) {
            record->origin = PROMPT_REQUEST;
            record->source = source;
            record->row = place.row;
            record->about = arena_printf(maker->arena, "the prompt of row %lld in %s",
                                         (long long)place.row, name_of(source->path));
            record->side.text = arena_str(maker->arena, prompt->text);
        }
        rows_close(rows);
        if (is_rendered)
            return true;
    }
    return false;
}

static void read_serving_record(struct prompt_maker *maker)
{
    const struct setting *system = facts_setting_on(maker->facts, SIDE_SERVE, "system");

    if (maker->pair->request_has_system >= 0 || !system || !system->value ||
        system->type != VALUE_TEXT)
        return;
    maker->pair->request_has_system = system->value[0] != '\0';
    maker->pair->request_system = system->value;
}

/* ---- The rows themselves ---- */

static bool take_row(const struct prompt_maker *maker, struct prompt_record *record)
{
    if (maker->text_row == NONE)
        return false;
    record->origin = PROMPT_ROWS;
    record->source = facts_source(maker->facts, maker->dataset->source_id);
    record->row = maker->text_row;
    record->about = arena_printf(maker->arena, "row %lld of %s, which holds its markers itself",
                                 (long long)maker->text_row, maker->dataset->name);
    record->side.text = maker->row_text;
    return true;
}

/* ---- Both ---- */

/* Added tokens may be words or blanks too; markers are bracketed. */
static bool is_bracketed(const char *token)
{
    size_t n = strlen(token);

    return n >= 3 && strchr("<[{", token[0]) && strchr(">]}", token[n - 1]);
}

/* Added tokens of all tokenizers of the run: the markers of formats that no family has. */
static const struct str *special_tokens(const struct prompt_maker *maker, size_t *n)
{
    const struct run_facts *facts = maker->facts;
    size_t capacity = 0, most = 4096;
    struct str *list = NULL;

    *n = 0;
    for (size_t i = 0; i < facts->n_settings && *n < most; i++) {
        const struct setting *s = &facts->settings[i];

        if (s->side != SIDE_TOKENIZER || !s->value || !is_bracketed(s->value) ||
            strncmp(s->raw_name, "added_token.", 12) != 0)
            continue;
        struct str *room = arena_room(maker->arena, list, *n, &capacity, sizeof *room);
        if (!room)
            return list;
        list = room;
        list[(*n)++] = str_of(s->value);
    }
    return list;
}

static void compare(const struct prompt_maker *maker)
{
    struct prompt_pair *pair = maker->pair;
    size_t n_special = 0;
    const struct str *special = special_tokens(maker, &n_special);
    struct prompt_record *sides[] = {&pair->train, &pair->serve};

    for (size_t i = 0; i < 2; i++)
        if (sides[i]->origin != PROMPT_ABSENT)
            prompt_shape_of(sides[i]->side.text, special, n_special, maker->arena,
                            &sides[i]->side.shape);
    pair->comparison = (struct prompt_comparison){.difference = PROMPTS_UNKNOWN,
                                                  .train_token = -1,
                                                  .serve_token = -1,
                                                  .system_jaccard = NAN};
    if (pair->train.origin == PROMPT_ABSENT || pair->serve.origin == PROMPT_ABSENT)
        return;
    prompt_compare(&pair->train.side, &pair->serve.side, maker->arena, &pair->comparison);
    if (pair->comparison.difference == PROMPTS_EQUAL ||
        pair->comparison.difference == PROMPTS_CONTENT_BLANKS)
        pair->is_same_conversation = true;
}

static void make(struct prompt_maker *maker, struct arena *scratch)
{
    struct prompt_pair *pair = maker->pair;

    pair->train = absent("prompt_train.txt, or the training data with the run's chat template");
    pair->serve = absent("prompt_infer.txt or a captured request (request.json), or what is served: the "
                         "tokenizer folder (serve/), the GGUF file, the Modelfile, or the server's "
                         "command");
    pair->system_share = pair->system_constant_share = NAN;
    pair->request_has_system = -1;
    pair->n_rows = NONE;
    prompt_read_rows(maker);
    read_request(maker, scratch);
    read_serving_record(maker);
    if (!take_recorded(maker, SIDE_TRAIN, &pair->train))
        (void)take_row(maker, &pair->train);
    if (!take_recorded(maker, SIDE_SERVE, &pair->serve))
        (void)(take_request_prompt(maker, &pair->serve) || take_logged_prompt(maker, &pair->serve) ||
               take_generation_prompt(maker, scratch, &pair->serve));
    prompt_render_sides(maker);
    compare(maker);
}

const struct prompt_pair *facts_prompt_pair(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;

    if (cache->prompt_pair)
        return cache->prompt_pair;
    struct prompt_maker maker = {.facts = facts, .arena = cache->arena};
    struct arena *scratch = arena_open(SCRATCH_BYTES);
    maker.pair = arena_alloc(cache->arena, sizeof *maker.pair);
    if (scratch && maker.pair)
        make(&maker, scratch);
    arena_close(scratch);
    if (!scratch || !maker.pair || arena_failed(cache->arena)) {
        struct error why;

        (void)error_set(&why, E_NOMEM, "comparing the prompts of a run");
        facts_fail(facts, &why);
        return NULL;
    }
    cache->prompt_pair = maker.pair;
    return maker.pair;
}
