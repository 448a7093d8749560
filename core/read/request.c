/* Captured requests. See request.h. */
#include "core/read/request.h"

#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"

#define DEPTH_MAX 4

/* The value, or what it holds under one of the keys, also one in another. */
static const struct json *find_under(const struct json *value, const char *const *keys,
                                     bool (*is_it)(const struct json *), int depth)
{
    const struct json *found = NULL;

    if (!json_is(value, JSON_OBJECT) || depth > DEPTH_MAX)
        return NULL;
    if (is_it(value))
        return value;
    for (const char *const *key = keys; *key && !found; key++)
        found = find_under(json_get(value, *key), keys, is_it, depth + 1);
    return found;
}

/* TGI's own form is {inputs, parameters}, SGLang's {text, sampling_params}. */
static const struct json *native_prompt(const struct json *value)
{
    if (json_is(json_get(value, "parameters"), JSON_OBJECT))
        return json_get(value, "inputs");
    return json_is(json_get(value, "sampling_params"), JSON_OBJECT) ? json_get(value, "text") : NULL;
}

static bool is_body(const struct json *value)
{
    const struct json *prompt = json_get(value, "prompt");

    return json_is(json_get(value, "messages"), JSON_ARRAY) || json_is(prompt, JSON_STRING) ||
           json_is(prompt, JSON_ARRAY) || json_is(native_prompt(value), JSON_STRING);
}

const struct json *request_prompt_of(const struct json *body)
{
    const struct json *prompt = json_get(body, "prompt");

    if (!prompt)
        prompt = native_prompt(body);
    if (json_is(prompt, JSON_ARRAY))
        prompt = prompt->child;
    return json_is(prompt, JSON_STRING) && !json_is(json_get(body, "messages"), JSON_ARRAY) ? prompt
                                                                                           : NULL;
}

static bool is_answer(const struct json *value)
{
    return json_is(json_get(value, "choices"), JSON_ARRAY);
}

const struct json *request_body_of(const struct json *value)
{
    static const char *const KEYS[] = {"request", "body", "json", NULL};

    return find_under(value, KEYS, is_body, 0);
}

const struct json *request_answer_of(const struct json *value)
{
    static const char *const KEYS[] = {"response", "answer", "body", "json", NULL};

    return find_under(value, KEYS, is_answer, 0);
}

/* One object, or a list of them. */
static void tell(struct request_values *values, const struct json *tree)
{
    if (!json_is(tree, JSON_ARRAY)) {
        (void)values->value(values->ctx, tree, tree->line);
        return;
    }
    for (const struct json *item = tree->child; item; item = item->next)
        if (!values->value(values->ctx, item, item->line))
            return;
}

/* Lines; a streamed answer's lines begin with "data:". */
static int tell_lines(struct str text, struct arena *arena, struct request_values *values,
                      struct error *err)
{
    int64_t number = 0, n_read = 0;
    struct str line;

    while (str_split(&text, '\n', &line)) {
        const struct json *tree = NULL;
        struct error why = {0};

        number++;
        line = str_trim(line);
        if (str_starts(line, "data:"))
            line = str_trim(str_skip(line, 5));
        if (line.n == 0 || str_is(line, "[DONE]"))
            continue;
        int rc = json_parse(line, false, arena, &tree, NULL, &why);
        if (arena_failed(arena))
            return error_set(err, E_LIMIT, "line %lld: more values than a request has",
                             (long long)number);
        if (rc != OK) {
            if (values->n_bad++ == 0)
                values->first_bad = number;
            continue;
        }
        n_read++;
        if (!values->value(values->ctx, tree, number))
            return OK;
    }
    return n_read ? OK : error_set(err, E_PARSE, "no JSON object or line of one");
}

int request_read(const char *path, struct arena *arena, struct request_values *values,
                 struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    const struct json *tree = NULL;
    struct error why = {0};
    int rc = source_slurp(path, REQUEST_FILE_BYTES, &text, &n, err);

    values->n_bad = 0;
    values->first_bad = -1;
    if (rc != OK)
        return rc;
    struct str copy = arena_str(arena, str_from(text, n));  /* trees may borrow from it */
    free(text);
    rc = json_parse(copy, false, arena, &tree, NULL, &why);
    if (rc == OK)
        tell(values, tree);
    else if (arena_failed(arena))
        rc = error_set(err, E_LIMIT, "more values than a request has");
    else
        rc = tell_lines(copy, arena, values, err);
    return rc;
}
