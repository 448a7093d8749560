/* A captured request to an OpenAI-like server and its answer (FORMATS.md B23): a body, a list or lines
 * of them, each bare or under request, body, json. Kept is how the model was asked; the messages stay
 * in the file, where core/facts reads them again. Headers are not looked at. */
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/request.h"
#include "importers/importer.h"
#include "importers/peek.h"

/* Only requests have these; rows of data sets have messages and prompts too. */
static const char *const REQUEST_KEYS[] = {
    "max_tokens",  "max_completion_tokens", "stream",        "chat_template_kwargs",
    "temperature", "add_generation_prompt", "tool_choice",   "response_format",
    "top_p",       "logprobs",              "continue_final_message",
};

static bool is_named(const struct peek *peek)
{
    return peek_name_starts(peek, "request") || peek_name_starts(peek, "captured") ||
           peek_name_starts(peek, "capture") || peek_name_starts(peek, "openai_request") ||
           peek_name_starts(peek, "chat_request");
}

static int probe(const struct peek *peek)
{
    size_t n = 0;
    bool is_json = peek_name_ends(peek, ".json") || peek_name_ends(peek, ".jsonl");
    bool is_native = (peek_has_key(peek, "inputs") && peek_has_key(peek, "parameters")) ||
                     (peek_has_key(peek, "text") && peek_has_key(peek, "sampling_params"));
    bool has_text = peek_has_key(peek, "messages") || peek_has_key(peek, "prompt") || is_native;
    bool has_answer = peek_has_key(peek, "choices") &&
                      (peek_has_key(peek, "usage") || peek_has_key(peek, "finish_reason"));

    if (str_starts(peek->head, "data:") && str_find(peek->head, "\"choices\"") >= 0)
        return 90;              /* a streamed answer */
    if (!is_json || (!has_text && !has_answer))
        return 0;
    for (size_t i = 0; i < sizeof REQUEST_KEYS / sizeof *REQUEST_KEYS; i++)
        n += peek_has_key(peek, REQUEST_KEYS[i]);
    if (is_named(peek))
        return has_text || n > 0 ? 95 : 85;
    bool has_model = peek_has_key(peek, "model");
    bool is_row = peek_has_key(peek, "completion") || peek_has_key(peek, "chosen") ||
                  peek_has_key(peek, "output") || peek_has_key(peek, "suite");
    if (has_answer && has_model)
        return 85;
    if (is_native && !is_row)
        return 82;
    return has_text && has_model && n > 0 && !is_row ? 82 : 0;
}

struct reading {
    struct import *import;
    struct error *err;
    int rc;
    int64_t n_bodies, n_answers, n_system;
};

static const char *const KEPT[] = {
    "model",        "temperature",        "top_p",
    "top_k",        "min_p",              "max_tokens",
    "stop",         "seed",               "n",
    "stream",       "tool_choice",        "repetition_penalty",
    "chat_template", "chat_template_kwargs", "add_generation_prompt",
    "continue_final_message", "add_special_tokens", "truncate_prompt_tokens",
    "stop_token_ids", "lora_path",        "adapter_id",
};

/* What servers' own forms keep one level down: TGI's parameters, SGLang's sampling_params, Ollama's
 * options. */
static const char *const NESTED[] = {"parameters", "sampling_params", "options"};
static const char *const KEPT_NESTED[] = {
    "temperature", "top_p",       "top_k",      "min_p",     "max_new_tokens", "stop",
    "seed",        "adapter_id",  "truncate",   "num_ctx",   "num_predict",    "stop_token_ids",
    "repetition_penalty",
};

static bool has_system(const struct json *body)
{
    const struct json *messages = json_get(body, "messages");

    for (const struct json *m = messages ? messages->child : NULL; m; m = m->next) {
        const struct json *role = json_get(m, "role");

        if (json_is(role, JSON_STRING) &&
            (str_is(role->text, "system") || str_is(role->text, "developer")))
            return true;
    }
    return false;
}

static int put_body(struct reading *r, const struct json *body)
{
    const struct json *most = json_get(body, "max_tokens");
    int rc = OK;

    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT && rc == OK; i++)
        rc = import_json_setting(r->import, SIDE_SERVE, KEPT[i], json_get(body, KEPT[i]), r->err);
    if (rc == OK && !most)
        rc = import_json_setting(r->import, SIDE_SERVE, "max_tokens",
                                 json_get(body, "max_completion_tokens"), r->err);
    for (size_t k = 0; k < sizeof NESTED / sizeof *NESTED && rc == OK; k++) {
        const struct json *nested = json_get(body, NESTED[k]);

        for (size_t i = 0; i < sizeof KEPT_NESTED / sizeof *KEPT_NESTED && nested && rc == OK; i++)
            rc = import_json_setting(r->import, SIDE_SERVE, KEPT_NESTED[i],
                                     json_get(nested, KEPT_NESTED[i]), r->err);
    }
    return rc;
}

static int put_answer(struct reading *r, const struct json *answer)
{
    const struct json *usage = json_get(answer, "usage"), *choices = json_get(answer, "choices");
    const struct json *finish =
        choices && choices->child ? json_get(choices->child, "finish_reason") : NULL;
    int rc = import_json_setting(r->import, SIDE_SERVE, "answer.prompt_tokens",
                                 json_get(usage, "prompt_tokens"), r->err);

    if (rc == OK)
        rc = import_json_setting(r->import, SIDE_SERVE, "answer.completion_tokens",
                                 json_get(usage, "completion_tokens"), r->err);
    if (rc == OK)
        rc = import_json_setting(r->import, SIDE_SERVE, "answer.finish_reason",
                                 json_is(finish, JSON_STRING) ? finish : NULL, r->err);
    if (rc == OK)
        rc = import_json_setting(r->import, SIDE_SERVE, "answer.model", json_get(answer, "model"),
                                 r->err);
    return rc;
}

/* Of several requests the first one's settings are kept, as it is the first one that is rendered. The
 * pieces of a streamed answer come one by one: each says more than the one before. */
static bool on_value(void *ctx, const struct json *value, int64_t line)
{
    struct reading *r = ctx;
    const struct json *body = request_body_of(value), *answer = request_answer_of(value);

    if (import_is_cancelled(r->import))
        r->rc = error_set(r->err, E_CANCELLED, "cancelled");
    else if (!body && !answer)
        r->rc = sink_note(r->import->sink, NOTE_WARN, line, NONE, r->err,
                          "no request: neither messages, prompt nor choices");
    if (r->rc == OK && body && r->n_bodies++ == 0)
        r->rc = put_body(r, body);
    if (r->rc == OK && body)
        r->n_system += has_system(body);
    if (r->rc == OK && answer) {
        r->n_answers++;
        if (r->n_bodies <= 1)
            r->rc = put_answer(r, answer);
    }
    return r->rc == OK;
}

static int put_count(struct reading *r, const char *name, int64_t n)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)n);
    return import_setting(r->import, SIDE_SERVE, name, text, VALUE_INT, NONE, r->err);
}

static int put_counts(struct reading *r)
{
    int rc = OK;

    if (r->n_bodies == 0)
        return OK;
    rc = put_count(r, "request.n", r->n_bodies);
    return rc == OK ? put_count(r, "request.n_with_system", r->n_system) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import, .err = err};
    struct request_values values = {.value = on_value, .ctx = &reading};
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "requests";
    if (rc != OK || is_odd)
        return rc;
    struct arena *arena = arena_open(REQUEST_ARENA_BYTES);
    if (!arena)
        return error_set(err, E_NOMEM, "a captured request");
    rc = request_read(import->path, arena, &values, &why);
    arena_close(arena);
    if (reading.rc != OK)
        return reading.rc;
    if (rc != OK)
        return import_note_error(import, &why, err);
    import->n_rows = reading.n_bodies + reading.n_answers;
    rc = put_counts(&reading);
    if (rc == OK && values.n_bad > 0)
        rc = sink_note(import->sink, NOTE_WARN, values.first_bad, NONE, err,
                       "%lld lines are no JSON", (long long)values.n_bad);
    return rc;
}

const struct importer importer_openai_request = {
    .id = "openai_request",
    .title = "a captured request",
    .hint = "request.json (the body that the client sends)",
    .supplies = NEEDS_REQUEST | NEEDS_SERVING,
    .version = 2,
    .role = "served",
    .probe = probe,
    .run = run,
};
