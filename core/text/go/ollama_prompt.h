/* The prompt that Ollama builds from a template and messages (FORMATS.md B21): which variables the
 * template gets, how messages are joined, what is cut after .Response, what is appended. */
#ifndef CORE_TEXT_GO_OLLAMA_PROMPT_H
#define CORE_TEXT_GO_OLLAMA_PROMPT_H

#include "core/read/json.h"
#include "core/text/go/go_template.h"

struct ollama_request {
    struct str template_text;
    struct str system;                  /* SYSTEM of the Modelfile; used when no message is one */
    const struct json *examples;        /* MESSAGE turns [{role, content}], or NULL */
    const struct json *messages;        /* as of /api/chat or OpenAI's form */
    const struct json *tools;           /* or NULL */
    int think;                          /* 1, 0, -1 not set */
    struct go_settings clock;
};

/* Replaces *out by the prompt up to where the model begins to write. *uses_messages (may be NULL):
 * the template names .Messages. Errors as go_template_render; the arena holds the data meanwhile. */
MUST_CHECK int ollama_prompt(const struct ollama_request *request, struct arena *arena,
                             struct buf *out, bool *uses_messages, struct go_failure *failure,
                             struct error *err);

/* What a template does by itself, by looking at its parse tree and at trial renders. */
struct ollama_template_facts {
    bool uses_messages, uses_system, uses_prompt, uses_response, uses_tools;
};
MUST_CHECK int ollama_template_look(struct str template_text, struct ollama_template_facts *out,
                                    struct go_failure *failure, struct error *err);

#endif
