/* The properties of the template lint that look at one rendered text: balanced markers, contents, no
 * Python repr, generation spans. */
#include <string.h>

#include "core/text/template_lint_parts.h"

/* ---- Markers ---------------------------------------------------------------------------------- */

static const struct {
    const char *opens, *closes;
} PAIRS[] = {
    {"<|im_start|>", "<|im_end|>"},
    {"<|start_header_id|>", "<|end_header_id|>"},
    {"<start_of_turn>", "<end_of_turn>"},
    {"[INST]", "[/INST]"},
    {"<<SYS>>", "<</SYS>>"},
    {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
    {"[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"},
    {"<|start_of_role|>", "<|end_of_role|>"},
    {"<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
    {"<think>", "</think>"},
    {"<tool_call>", "</tool_call>"},
    {"<tool_response>", "</tool_response>"},
    {"<tools>", "</tools>"},
};

static size_t count(struct str text, const char *what)
{
    size_t n = 0;
    ptrdiff_t at;

    while ((at = str_find(text, what)) >= 0) {
        text = str_skip(text, (size_t)at + strlen(what));
        n++;
    }
    return n;
}

int lint_check_markers(struct linter *linter)
{
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text text;

        /* A tool prompt explains its tags in prose, one at a time. */
        if (!shape->is_plain && !shape->has_texts)
            continue;
        int rc = lint_render(linter, shape, shape->messages->n, false, &text);

        if (rc != OK)
            return rc;
        for (size_t k = 0; text.is_there && k < sizeof PAIRS / sizeof *PAIRS; k++) {
            size_t n_open = count(text.text, PAIRS[k].opens);
            size_t n_closed = count(text.text, PAIRS[k].closes);

            if (n_open != n_closed)
                lint_say(linter, LINT_MARKERS, LINT_FAILS, shape,
                         arena_printf(linter->arena, "%zu times %s, %zu times %s, the text ends \"%s\"",
                                      n_open, PAIRS[k].opens, n_closed, PAIRS[k].closes,
                                      lint_excerpt(linter->arena, text.text, true)));
        }
    }
    return OK;
}

/* ---- Contents ----------------------------------------------------------------------------------- */

static void check_contents(struct linter *linter, const struct lint_shape *shape, struct str text)
{
    size_t number = 1;

    for (const struct json *message = shape->messages->child; message; message = message->next, number++) {
        struct str content = lint_content(message), bare = str_trim(content);
        ptrdiff_t at = lint_find(text, content);
        struct str role = lint_role(message);

        if (at >= 0) {
            text = str_skip(text, (size_t)at + content.n);
            continue;
        }
        at = lint_find(text, bare);
        lint_say(linter, LINT_CONTENT, at >= 0 ? LINT_NOTE : LINT_FAILS, shape,
                 arena_printf(linter->arena,
                              at >= 0 ? "the blanks at the edges of message %zu (%.*s) are removed"
                                      : "the text of message %zu (%.*s) is not there as it was given, after "
                                        "those before it",
                              number, (int)role.n, role.p));
        if (at < 0)
            return;
        text = str_skip(text, (size_t)at + bare.n);
    }
}

int lint_check_content(struct linter *linter)
{
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text text;

        if (!shape->has_texts)
            continue;
        int rc = lint_render(linter, shape, shape->messages->n, false, &text);

        if (rc != OK)
            return rc;
        if (text.is_there)
            check_contents(linter, shape, text.text);
    }
    return OK;
}

/* ---- Python values in the text ---------------------------------------------------------------------- */

int lint_check_repr(struct linter *linter)
{
    static const char *const signs[] = {"[{'", "{'", "None", "Undefined"};

    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text text;
        int rc = lint_render(linter, shape, shape->messages->n, false, &text);

        if (rc != OK)
            return rc;
        for (size_t k = 0; text.is_there && k < sizeof signs / sizeof *signs; k++) {
            ptrdiff_t at = str_find(text.text, signs[k]);

            if (at < 0)
                continue;
            lint_say(linter, LINT_REPR, LINT_FAILS, shape,
                     arena_printf(linter->arena, "\"%s\"",
                                  lint_excerpt(linter->arena, str_skip(text.text, (size_t)at), false)));
            break;
        }
    }
    return OK;
}

/* ---- Generation spans ---------------------------------------------------------------------------------- */

/* What a text begins with, when it ends a turn; n 0: nothing of the kind. */
static struct str end_marker(struct str text, const struct linter *linter)
{
    static const char *const ends[] = {"<|im_end|>",     "<|eot_id|>", "<end_of_turn>", "<|end|>",
                                       "<|end_of_text|>", "</s>",       "<|endoftext|>", "<|eom_id|>",
                                       "<|END_OF_TURN_TOKEN|>"};
    const struct json *eos = json_get(linter->special_tokens, "eos_token");

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_starts(text, ends[i]))
            return str_of(ends[i]);
    if (json_is(eos, JSON_STRING) && eos->text.n && text.n >= eos->text.n &&
        memcmp(text.p, eos->text.p, eos->text.n) == 0)
        return eos->text;
    return str_from("", 0);
}

static void check_span(struct linter *linter, const struct lint_shape *shape, struct lint_text text,
                       size_t i, struct str content)
{
    struct jinja_span span = text.spans[i];
    struct str trained = str_from(text.text.p + span.begin, span.end - span.begin);
    struct str left_out = end_marker(str_skip(text.text, span.end), linter);

    if (lint_find(trained, str_trim(content)) < 0)
        lint_say(linter, LINT_GENERATION_SPANS, LINT_FAILS, shape,
                 arena_printf(linter->arena, "span %zu holds \"%s\", not the answer", i + 1,
                              lint_excerpt(linter->arena, trained, false)));
    else if (left_out.n)
        lint_say(linter, LINT_GENERATION_SPANS, LINT_FAILS, shape,
                 arena_printf(linter->arena, "the end of turn %.*s stands behind span %zu: it is not trained",
                              (int)left_out.n, left_out.p, i + 1));
}

int lint_check_spans(struct linter *linter)
{
    if (!jinja_has_generation(chat_template_program(linter->chat_template))) {
        lint_say(linter, LINT_GENERATION_SPANS, LINT_NOT_APPLICABLE, NULL,
                 "no {% generation %} in the template: assistant-only masks need it");
        return OK;
    }
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text text;
        size_t n = 0;

        if (!shape->has_texts)
            continue;
        int rc = lint_render(linter, shape, shape->messages->n, false, &text);

        if (rc != OK)
            return rc;
        for (const struct json *message = shape->messages->child; text.is_there && message;
             message = message->next) {
            if (!str_is(lint_role(message), "assistant"))
                continue;
            if (n < text.n_spans)
                check_span(linter, shape, text, n, lint_content(message));
            n++;
        }
        if (text.is_there && n != text.n_spans)
            lint_say(linter, LINT_GENERATION_SPANS, LINT_FAILS, shape,
                     arena_printf(linter->arena, "%zu answers, %zu spans", n, text.n_spans));
    }
    return OK;
}
