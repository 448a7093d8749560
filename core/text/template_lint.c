/* Properties of a chat template over built-in conversations. See template_lint.h.
 *
 * The conversations are plain on purpose: what breaks here breaks on real rows. A shape that the
 * template refuses by its own raise_exception is no fault of the other properties: it is left out
 * there and told under "renders". */
#include "core/text/template_lint.h"

#include <string.h>

#include "core/text/template_lint_parts.h"

#define EXCERPT_BYTES 60

const char *lint_excerpt(struct arena *arena, struct str text, bool from_end)
{
    struct buf out;
    struct str part = text;
    const char *made;

    if (text.n > EXCERPT_BYTES && from_end)
        part = str_skip(text, text.n - EXCERPT_BYTES);
    else
        part = unicode_cut(text, EXCERPT_BYTES);
    buf_init(&out, EXCERPT_BYTES * 16);
    if (from_end && part.n < text.n)
        buf_puts(&out, "...");
    unicode_visible(&out, part, false);
    if (!from_end && part.n < text.n)
        buf_puts(&out, "...");
    made = arena_strndup(arena, out.p, out.n);
    buf_free(&out);
    return made;
}

void lint_say(struct linter *linter, enum lint_property property, enum lint_verdict verdict,
              const struct lint_shape *shape, const char *text)
{
    struct lint_line *line = &linter->out->lines[property];

    /* The first shape that breaks the property stands; a note gives way to a failure. */
    if (line->verdict == LINT_FAILS || (line->verdict == LINT_NOTE && verdict != LINT_FAILS))
        return;
    line->verdict = verdict;
    line->shape = shape ? shape->name : NULL;
    line->text = text;
}

/* ---- Rendering a shape ------------------------------------------------------------------------ */

/* The array of the first n messages. */
static const struct json *first_messages(struct linter *linter, const struct json *messages,
                                         size_t n)
{
    struct json *list = arena_alloc(linter->arena, sizeof *list);
    struct json **link;
    const struct json *from = messages->child;

    if (!list)
        return messages;
    *list = *messages;
    list->child = NULL;
    list->next = NULL;
    list->n = 0;
    link = &list->child;
    for (; from && list->n < n; from = from->next, list->n++) {
        struct json *copy = arena_alloc(linter->arena, sizeof *copy);

        if (!copy)
            break;
        *copy = *from;
        copy->next = NULL;
        *link = copy;
        link = &copy->next;
    }
    return list;
}

int lint_render(struct linter *linter, const struct lint_shape *shape, size_t n_messages,
                bool wants_prompt, struct lint_text *out)
{
    struct chat_request request = {
        .messages = first_messages(linter, shape->messages, n_messages),
        .tools = shape->tools,
        .special_tokens = linter->special_tokens,
        .add_generation_prompt = wants_prompt,
    };
    struct jinja_settings settings = {.now = linter->now};
    int rc = chat_template_render(linter->chat_template, &request, &settings, linter->arena,
                                  &linter->output, &linter->failure, linter->err);

    *out = (struct lint_text){0};
    if (rc == E_PARSE)
        return OK; /* refused: linter->failure says why */
    if (rc != OK)
        return rc;
    out->is_there = true;
    out->text = arena_str(linter->arena, buf_view(&linter->output.text));
    out->n_spans = linter->output.n_generation;
    out->spans = arena_array(linter->arena, out->n_spans, sizeof *out->spans);
    if (out->n_spans && out->spans)
        memcpy(out->spans, linter->output.generation, out->n_spans * sizeof *out->spans);
    return arena_failed(linter->arena) ? error_set(linter->err, E_NOMEM, "linting a template") : OK;
}

/* ---- Does it render? --------------------------------------------------------------------------- */

static int check_renders(struct linter *linter)
{
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text text;
        const struct jinja_failure *why = &linter->failure;
        int rc = lint_render(linter, shape, shape->messages->n, false, &text);

        if (rc != OK)
            return rc;
        if (text.is_there)
            continue;
        lint_say(linter, LINT_RENDERS,
                 shape->is_plain && why->kind != JINJA_RAISED ? LINT_FAILS : LINT_NOTE, shape,
                 arena_printf(linter->arena, "%s at line %d: %s",
                              why->kind == JINJA_RAISED ? "refuses it" : jinja_fault_name(why->kind),
                              why->line, lint_excerpt(linter->arena, str_of(why->message), false)));
    }
    return OK;
}

/* ---- Is each prefix of the conversation a prefix of the render? ---------------------------------- */

static int check_prefixes(struct linter *linter)
{
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text whole, part;
        int rc;

        if (!shape->has_order)
            continue;
        rc = lint_render(linter, shape, shape->messages->n, false, &whole);
        for (size_t n = 1; rc == OK && whole.is_there && n < shape->messages->n; n++) {
            size_t same;

            rc = lint_render(linter, shape, n, false, &part);
            if (rc != OK || !part.is_there)
                continue;
            same = lint_same_bytes(part.text, whole.text);
            if (same < part.text.n)
                lint_say(linter, LINT_PREFIX, LINT_FAILS, shape,
                         arena_printf(linter->arena,
                                      "%zu of %zu messages render \"%s\" at byte %zu, where the whole has "
                                      "\"%s\"",
                                      n, shape->messages->n,
                                      lint_excerpt(linter->arena, str_skip(part.text, same), false), same,
                                      lint_excerpt(linter->arena, str_skip(whole.text, same), false)));
        }
        if (rc != OK)
            return rc;
    }
    return OK;
}

/* ---- The generation prompt against what training puts before the answer --------------------------- */

static void compare_generation_prompt(struct linter *linter, const struct lint_shape *shape,
                                      struct str bare, struct str asked, struct lint_answer answer)
{
    size_t same = lint_same_bytes(asked, answer.trained);
    struct arena *arena = linter->arena;
    struct str rest = str_skip(answer.trained, asked.n);

    if (same < asked.n) {
        lint_say(linter, LINT_GENERATION_PROMPT, LINT_FAILS, shape,
                 arena_printf(arena, "at byte %zu it has \"%s\", training has \"%s\"", same,
                              lint_excerpt(arena, str_skip(asked, same), false),
                              lint_excerpt(arena, str_skip(answer.trained, same), false)));
        return;
    }
    ptrdiff_t at = answer.content.n ? lint_find(rest, answer.content) : 0;
    struct str between = at > 0 ? str_first(rest, (size_t)at) : str_from("", 0);

    if (str_trim(between).n == 0)
        return;
    if (str_eq(bare, asked))
        lint_say(linter, LINT_GENERATION_PROMPT, LINT_FAILS, shape,
                 arena_printf(arena, "add_generation_prompt adds nothing, training puts \"%s\" before the "
                                     "answer",
                              lint_excerpt(arena, between, false)));
    else
        lint_say(linter, LINT_GENERATION_PROMPT, LINT_NOTE, shape,
                 arena_printf(arena, "training puts \"%s\" between it and the answer: the model has to write "
                                     "that itself",
                              lint_excerpt(arena, between, false)));
}

static int check_generation_prompt(struct linter *linter)
{
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        size_t n = 0;

        if (!shape->has_order)
            continue;
        for (const struct json *message = shape->messages->child; message; message = message->next, n++) {
            struct lint_text bare, asked, trained;
            struct str content = lint_content(message);

            if (n == 0 || !str_is(lint_role(message), "assistant") || !content.n)
                continue;
            int rc = lint_render(linter, shape, n, false, &bare);

            if (rc == OK)
                rc = lint_render(linter, shape, n, true, &asked);
            if (rc == OK)
                rc = lint_render(linter, shape, n + 1, false, &trained);
            if (rc != OK)
                return rc;
            if (bare.is_there && asked.is_there && trained.is_there)
                compare_generation_prompt(linter, shape, bare.text, asked.text,
                                          (struct lint_answer){trained.text, str_trim(content)});
        }
    }
    return OK;
}

/* ---- The clock ------------------------------------------------------------------------------------- */

static int check_clock(struct linter *linter)
{
    if (!jinja_uses_clock(chat_template_program(linter->chat_template)))
        return OK;
    for (size_t i = 0; i < linter->n_shapes; i++) {
        const struct lint_shape *shape = &linter->shapes[i];
        struct lint_text today, later;
        int rc = lint_render(linter, shape, shape->messages->n, false, &today);

        linter->now += 400 * 86400;
        if (rc == OK)
            rc = lint_render(linter, shape, shape->messages->n, false, &later);
        linter->now -= 400 * 86400;
        if (rc != OK)
            return rc;
        if (!today.is_there || !later.is_there || str_eq(today.text, later.text))
            continue;
        size_t same = lint_same_bytes(today.text, later.text);
        size_t from = same > 20 ? same - 20 : 0;

        lint_say(linter, LINT_CLOCK, LINT_FAILS, shape,
                 arena_printf(linter->arena, "the day of the render stands in the text: \"%s\"",
                              lint_excerpt(linter->arena, str_skip(today.text, from), false)));
    }
    return OK;
}

/* ---- All of it ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *fine;
} PROPERTIES[N_LINT_PROPERTIES] = {
    [LINT_RENDERS] = {"renders", "every built-in conversation renders"},
    [LINT_PREFIX] = {"prefix", "each prefix of a conversation is a prefix of its render"},
    [LINT_GENERATION_PROMPT] = {"generation-prompt", "it is what training puts before the answer"},
    [LINT_MARKERS] = {"markers", "turn markers are balanced"},
    [LINT_CONTENT] = {"content", "contents are there, unchanged and in order"},
    [LINT_CLOCK] = {"clock", "the render does not depend on the day"},
    [LINT_REPR] = {"repr", "no Python value is printed where a text belongs"},
    [LINT_GENERATION_SPANS] = {"generation-spans", "each span holds its answer and the end of the turn"},
};

static void begin(struct lint *out)
{
    out->fails = false;
    for (size_t i = 0; i < N_LINT_PROPERTIES; i++)
        out->lines[i] = (struct lint_line){.property = (enum lint_property)i,
                                           .verdict = LINT_OK,
                                           .name = PROPERTIES[i].name,
                                           .text = PROPERTIES[i].fine};
}

static void give_up(struct linter *linter)
{
    for (size_t i = 0; i < N_LINT_PROPERTIES; i++) {
        linter->out->lines[i].verdict = LINT_NOT_APPLICABLE;
        linter->out->lines[i].text = "the template does not compile";
    }
    linter->out->lines[LINT_RENDERS].verdict = LINT_FAILS;
    linter->out->lines[LINT_RENDERS].text =
        arena_printf(linter->arena, "%s at line %d: %s", jinja_fault_name(linter->failure.kind),
                     linter->failure.line,
                     lint_excerpt(linter->arena, str_of(linter->failure.message), false));
}

int template_lint(struct str text, const struct json *special_tokens, struct arena *arena,
                  struct lint *out, struct error *err)
{
    static int (*const checks[])(struct linter *) = {
        check_renders, check_prefixes,  check_generation_prompt, lint_check_markers,
        lint_check_content, check_clock, lint_check_repr,        lint_check_spans,
    };
    struct linter linter = {.arena = arena, .out = out, .err = err, .now = 1768435200};
    int rc = lint_shapes(&linter);

    begin(out);
    linter.special_tokens = special_tokens ? special_tokens : linter.usual_tokens;
    if (rc == OK)
        rc = chat_template_open(&linter.chat_template, text, &linter.failure, err);
    if (rc == E_PARSE) {
        give_up(&linter);
        rc = OK;
    }
    for (size_t i = 0; rc == OK && linter.chat_template && i < sizeof checks / sizeof *checks; i++)
        rc = checks[i](&linter);
    for (size_t i = 0; i < N_LINT_PROPERTIES; i++)
        out->fails |= out->lines[i].verdict == LINT_FAILS;
    chat_template_close(linter.chat_template);
    jinja_output_free(&linter.output);
    return rc;
}
