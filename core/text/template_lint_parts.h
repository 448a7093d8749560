/* Between the files of the template lint: the built-in conversations and how a property speaks. */
#ifndef CORE_TEXT_TEMPLATE_LINT_PARTS_H
#define CORE_TEXT_TEMPLATE_LINT_PARTS_H

#include "core/base/unicode.h"
#include "core/text/template_lint.h"

struct lint_shape {
    const char *name;               /* "system, user, assistant" */
    const struct json *messages, *tools;
    bool is_plain;                  /* texts by user and assistant: every template has to render it */
    bool has_order;                 /* its prefixes are conversations too */
    bool has_texts;                 /* every content is a text that must stand in the render */
};

struct linter {
    struct arena *arena;
    struct lint *out;
    struct error *err;
    struct chat_template *chat_template;
    const struct json *special_tokens;
    const struct json *usual_tokens;    /* where the caller gave none: <s> and </s> */
    const struct lint_shape *shapes;
    size_t n_shapes;
    struct jinja_output output;
    struct jinja_failure failure;       /* of the last refused render */
    int64_t now;
};

struct lint_text {                      /* one render, in the arena */
    bool is_there;                      /* false: refused */
    struct str text;
    struct jinja_span *spans;
    size_t n_spans;
};

struct lint_answer {                    /* a conversation up to an answer, as trained */
    struct str trained;
    struct str content;                 /* of the answer, without the blanks at its edges */
};

MUST_CHECK int lint_shapes(struct linter *linter);
/* The first n messages of the shape. A template that refuses them gives OK with is_there false. */
MUST_CHECK int lint_render(struct linter *linter, const struct lint_shape *shape, size_t n_messages,
                           bool wants_prompt, struct lint_text *out);
void lint_say(struct linter *linter, enum lint_property property, enum lint_verdict verdict,
              const struct lint_shape *shape, const char *text);
const char *lint_excerpt(struct arena *arena, struct str text, bool from_end);
size_t lint_same_bytes(struct str a, struct str b);
ptrdiff_t lint_find(struct str text, struct str what);
struct str lint_role(const struct json *message);
struct str lint_content(const struct json *message);    /* n 0: no text */

MUST_CHECK int lint_check_markers(struct linter *linter);
MUST_CHECK int lint_check_content(struct linter *linter);
MUST_CHECK int lint_check_repr(struct linter *linter);
MUST_CHECK int lint_check_spans(struct linter *linter);

#endif
