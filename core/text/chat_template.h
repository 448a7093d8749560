/* Chat templates as transformers' apply_chat_template uses them: which text of several, which
 * variables, continue_final_message. See TEMPLATES.md, "transformers around it".
 *
 * A set is what one place offers: a .jinja file, tokenizer_config.json (a text, or a list of
 * {name, template}), chat_template.json, or a tokenizer folder (chat_template.jinja wins over the
 * configuration; additional_chat_templates/NAME.jinja add names), or the metadata of a .gguf file
 * (tokenizer.chat_template, tokenizer.chat_template.NAME). */
#ifndef CORE_TEXT_CHAT_TEMPLATE_H
#define CORE_TEXT_CHAT_TEMPLATE_H

#include "core/base/arena.h"
#include "core/text/jinja/jinja.h"

#define CHAT_TEMPLATE_BYTES ((size_t)4 << 20) /* a larger text is refused: E_LIMIT */

struct chat_template;

struct chat_template_set {
    size_t n;
    const struct named_template {
        const char *name;   /* "default", "tool_use", … */
        const char *path;   /* file it came from */
        int64_t line;       /* of that file, from 1 */
        struct str text;
    } *items;               /* in the arena of the load */
};

/* `path`: a file or a folder. E_NOTFOUND when there is no template in it; E_PARSE, E_IO. */
MUST_CHECK int chat_template_find(const char *path, struct arena *arena,
                                  struct chat_template_set *out, struct error *err);
/* transformers' choice: "tool_use" when tools are given and it exists, else "default", else the only
 * one. NULL when that is not decided (several, none called default). */
const struct named_template *chat_template_choose(const struct chat_template_set *set,
                                                  bool has_tools);

/* The arguments of apply_chat_template; absent ones are passed as transformers passes them. */
struct chat_request {
    const struct json *messages;       /* array; NULL: not passed at all (unit tests of the language) */
    const struct json *tools;          /* NULL or JSON null: none */
    const struct json *documents;
    const struct json *kwargs;         /* object of more names, or NULL */
    const struct json *special_tokens; /* object of texts: bos_token …; an absent one is Undefined */
    bool add_generation_prompt, continue_final_message;
};

/* Compiles; E_PARSE with failure. The text need not outlive it. */
MUST_CHECK int chat_template_open(struct chat_template **out, struct str text,
                                  struct jinja_failure *failure, struct error *err);
void chat_template_close(struct chat_template *chat_template); /* NULL allowed */
const struct jinja_program *chat_template_program(const struct chat_template *chat_template);

/* `arena` holds the context for the time of the call; the caller resets it between rows. */
MUST_CHECK int chat_template_render(const struct chat_template *chat_template,
                                    const struct chat_request *request,
                                    const struct jinja_settings *settings, struct arena *arena,
                                    struct jinja_output *output, struct jinja_failure *failure,
                                    struct error *err);

/* The special tokens of a tokenizer folder's files as the object that a template sees
 * (tokenizer_config.json, special_tokens_map.json), or of a .gguf file in place of the folder. */
MUST_CHECK int chat_special_tokens(const char *folder, struct arena *arena,
                                   const struct json **out, struct error *err);

#endif
