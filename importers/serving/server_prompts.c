/* Prompts that an inference server printed as it got them: vLLM's line of a request. Only the first one
 * is kept, as of captured requests. What the server was started with is server_log.c's. */
#include "importers/serving/server_prompts.h"

#include "core/read/repr.h"

/* The Python literal behind "prompt: " of a request's line; p NULL: not such a line. */
static struct str literal_in(struct str line)
{
    static const char MARK[] = "prompt: ";
    ptrdiff_t request = str_find(line, "Received request "), details = str_find(line, " details: ");

    if (request < 0 && (details < 0 || str_find(line, "Request ") < 0))
        return (struct str){NULL, 0};
    struct str rest = str_skip(line, (size_t)(request < 0 ? details : request));
    ptrdiff_t at = str_find(rest, MARK);
    if (at < 0)
        return (struct str){NULL, 0};
    rest = str_skip(rest, (size_t)at + sizeof MARK - 1);
    return rest.n && (rest.p[0] == '\'' || rest.p[0] == '"') ? rest : (struct str){NULL, 0};
}

int server_prompt_take(struct import *import, struct arena *arena, struct str line, int64_t number,
                       bool *is_known, struct error *err)
{
    struct str literal = *is_known ? (struct str){NULL, 0} : literal_in(line);
    const struct json *prompt = NULL;
    struct error ignored = {0};
    size_t used = 0;

    /* a prompt that the log cut short has no end: it is none */
    if (!literal.p || repr_parse(literal, arena, &prompt, &used, &ignored) != OK ||
        !json_is(prompt, JSON_STRING) || prompt->text.n == 0)
        return OK;
    *is_known = true;
    return import_setting(import, SIDE_SERVE, "logged_prompt",
                          arena_strndup(arena, prompt->text.p, prompt->text.n), VALUE_TEXT, number, err);
}
