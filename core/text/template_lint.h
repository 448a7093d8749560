/* What a chat template does with a built-in set of conversation shapes: one line a property with the
 * first shape that breaks it (`flatline render --lint`, and the prompt pane). */
#ifndef CORE_TEXT_TEMPLATE_LINT_H
#define CORE_TEXT_TEMPLATE_LINT_H

#include "core/text/chat_template.h"

enum lint_property {
    LINT_RENDERS,           /* plain shapes render; a refusal by raise_exception is said, not a fault */
    LINT_PREFIX,            /* each prefix of a conversation is a prefix of the render */
    LINT_GENERATION_PROMPT, /* it is exactly what training puts before the answer */
    LINT_MARKERS,           /* turn markers are balanced */
    LINT_CONTENT,           /* contents are there, unchanged, in order */
    LINT_CLOCK,             /* does not depend on the clock */
    LINT_REPR,              /* no Python repr leaks (None, [{'type': …) */
    LINT_GENERATION_SPANS,  /* {% generation %} spans hold the answers with their end of turn */
    N_LINT_PROPERTIES
};

enum lint_verdict { LINT_OK, LINT_FAILS, LINT_NOTE, LINT_NOT_APPLICABLE };

struct lint_line {
    enum lint_property property;
    enum lint_verdict verdict;
    const char *name;           /* "prefix" */
    const char *shape;          /* the first conversation shape that breaks it, or NULL */
    const char *text;           /* one sentence: what was found, with a short excerpt */
};

struct lint {
    struct lint_line lines[N_LINT_PROPERTIES];
    bool fails;
};

/* Texts live in the arena. E_NOMEM; a template that does not compile gives LINT_RENDERS failing. */
MUST_CHECK int template_lint(struct str text, const struct json *special_tokens,
                             struct arena *arena, struct lint *out, struct error *err);

#endif
