/* Outputs of one row. See generation_row.h. */
#include "core/read/generation_row.h"

#include "core/base/hash.h"

/* Keys that hold the output of the model of that name. */
static const char *const MODELS[] = {"base", "finetuned", "adapter", "merged"};
#define N_MODELS (sizeof MODELS / sizeof *MODELS)

static const struct json *text_at(const struct json *row, const char *key)
{
    const struct json *value = json_get(row, key);

    return json_is(value, JSON_STRING) ? value : NULL;
}

/* A row may state how an output came out without the output itself. */
static bool has_facts(const struct json *row)
{
    return json_get(row, "exact") || json_get(row, "finish_reason") ||
           json_get(row, "output_tokens");
}

size_t generation_row_outputs(const struct json *row, struct row_output out[GENERATION_ROW_OUTPUTS])
{
    const struct json *output = text_at(row, "output"), *model = text_at(row, "model");
    bool has_models = false;
    size_t n = 0;

    for (size_t i = 0; i < N_MODELS; i++)
        has_models |= text_at(row, MODELS[i]) != NULL;
    if (output || (!has_models && has_facts(row)))
        out[n++] = (struct row_output){.model = model ? model->text : str_of(""), .text = output};
    for (size_t i = 0; i < N_MODELS; i++)
        if (text_at(row, MODELS[i]))
            out[n++] =
                (struct row_output){.model = str_of(MODELS[i]), .text = text_at(row, MODELS[i])};
    return n;
}

static struct str last_user(const struct json *messages)
{
    struct str last = {0};

    if (!json_is(messages, JSON_ARRAY))
        return last;
    for (const struct json *message = messages->child; message; message = message->next) {
        const struct json *role = text_at(message, "role"), *content = text_at(message, "content");

        if (role && content && str_is(role->text, "user"))
            last = content->text;
    }
    return last;
}

struct str generation_row_prompt(const struct json *row)
{
    const struct json *prompt = json_get(row, "prompt");

    if (json_is(prompt, JSON_STRING) && prompt->text.n)
        return prompt->text;
    return last_user(json_is(prompt, JSON_ARRAY) ? prompt : json_get(row, "messages"));
}

static int64_t hash_of(struct str text)
{
    text = str_trim(text);
    return text.n ? (int64_t)hash_bytes(text.p, text.n) : 0;
}

int64_t generation_row_key(const struct json *row)
{
    int64_t prompt = hash_of(generation_row_prompt(row));
    const struct json *id = text_at(row, "id");

    if (prompt || !id)
        return prompt;
    return id->text.n ? (int64_t)hash_more(hash_bytes("id", 2), id->text.p, id->text.n) : 0;
}
