/* The head of the prompts pane: where the two part, where both are from, and what the chat template does
 * with plain conversations. See prompts_parts.h. */
#include <stdio.h>
#include <string.h>

#include "core/exports/prompts_report.h"
#include "core/text/template_lint.h"
#include "views/prompts_parts.h"

#define LEAST_TWO_COLUMNS 60            /* narrower panes show one side under the other … */
#define FEWEST_COLUMNS    20            /* … also when asked for both, below this */
#define FEW_ROWS          14            /* a pane with fewer has no room for keys */

bool prompts_in_columns(const struct prompts_state *state, int columns)
{
    if (columns < FEWEST_COLUMNS || state->sides == PROMPTS_UNIFIED)
        return false;
    return state->sides == PROMPTS_SIDE_BY_SIDE || columns >= LEAST_TWO_COLUMNS;
}

/* ---- Where they are from ---- */

static void say_side(struct textflow *flow, const char *name, enum style_role style,
                     const struct prompt_record *record)
{
    flow_indent(flow, 0, 4);
    flow_puts(flow, style, name);
    if (record->origin == PROMPT_ABSENT)
        flow_printf(flow, STYLE_UNKNOWN, "not known, missing: %s", record->missing ? record->missing : "");
    else if (record->is_assumed)
        flow_printf(flow, STYLE_TEXT, "assumed: %s", record->about);
    else
        flow_puts(flow, STYLE_TEXT, record->about);
    if (record->side.n_ids)
        flow_printf(flow, STYLE_DIM, ", %zu tokens", record->side.n_ids);
    flow_break(flow);
    if (record->failure) {
        flow_printf(flow, STYLE_FAIL, "    the template refuses it: %s", record->failure);
        flow_break(flow);
    }
    flow_indent(flow, 0, 0);
}

static enum style_role style_of_verdict(const struct prompt_comparison *comparison)
{
    switch (comparison->difference) {
    case PROMPTS_EQUAL:
    case PROMPTS_OTHER_TEXT:
        return comparison->system_differs ? STYLE_WARN : STYLE_PASS;
    case PROMPTS_OTHER_FAMILY:
    case PROMPTS_SYSTEM_ONE_SIDE:
    case PROMPTS_NO_HEADER:
        return STYLE_FAIL;
    case PROMPTS_OTHER_BYTES:
    case PROMPTS_OTHER_IDS:
        return STYLE_WARN;
    case PROMPTS_CONTENT_BLANKS:
        return STYLE_TEXT;
    case PROMPTS_UNKNOWN:
        break;
    }
    return STYLE_UNKNOWN;
}

static void say_verdict(struct textflow *flow, const struct prompt_pair *pair)
{
    bool is_pair = pair->train.origin != PROMPT_ABSENT && pair->serve.origin != PROMPT_ABSENT;
    struct buf text;

    buf_init(&text, 1 << 16);
    prompts_verdict(&text, pair);
    flow_text(flow, is_pair ? style_of_verdict(&pair->comparison) : STYLE_UNKNOWN,
              arena_str(flow->arena, buf_view(&text)));
    buf_free(&text);
    flow_break(flow);
}

/* ---- The template ---- */

static const char *lint_word(enum lint_verdict verdict, enum style_role *style)
{
    static const struct {
        const char *word;
        enum style_role style;
    } words[] = {
        [LINT_OK] = {"ok", STYLE_PASS},
        [LINT_FAILS] = {"FAIL", STYLE_FAIL},
        [LINT_NOTE] = {"note", STYLE_WARN},
        [LINT_NOT_APPLICABLE] = {"n/a", STYLE_NA},
    };

    *style = words[verdict].style;
    return words[verdict].word;
}

static void say_properties(struct textflow *flow, const struct lint *lint, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    flow_printf(flow, STYLE_DIM, "%s, over conversations that are built in",
                slash ? slash + 1 : path ? path : "the chat template");
    flow_break(flow);
    flow_indent(flow, 0, 5);
    for (size_t i = 0; i < N_LINT_PROPERTIES; i++) {
        const struct lint_line *line = &lint->lines[i];
        enum style_role style;
        const char *word = lint_word(line->verdict, &style);

        flow_printf(flow, style, "%-4s ", word);
        flow_printf(flow, STYLE_STRONG, "%s  ", line->name);
        if (line->shape)
            flow_printf(flow, STYLE_DIM, "%s: ", line->shape);
        flow_puts(flow, STYLE_TEXT, line->text ? line->text : "");
        flow_break(flow);
    }
    flow_indent(flow, 0, 0);
}

static void say_faults(struct textflow *flow, const struct lint *lint)
{
    if (!lint->fails)
        return;
    flow_puts(flow, STYLE_STRONG, "template lint: ");
    for (size_t i = 0; i < N_LINT_PROPERTIES; i++)
        if (lint->lines[i].verdict == LINT_FAILS)
            flow_printf(flow, STYLE_FAIL, "FAIL %s  ", lint->lines[i].name);
    flow_puts(flow, STYLE_DIM, "(l)");
    flow_break(flow);
}

/* What the tokenizer beside the template calls its special tokens; NULL: not known. */
static const struct json *special_tokens(const struct mask_policy *policy, struct arena *arena)
{
    const char *path = policy->tokenizer_path, *slash = path ? strrchr(path, '/') : NULL;
    const struct json *special = NULL;
    struct error why;

    if (!path)
        return NULL;
    if (chat_special_tokens(path, arena, &special, &why) == OK && special && special->child)
        return special;
    if (!slash || chat_special_tokens(arena_strndup(arena, path, (size_t)(slash - path)), arena, &special,
                                      &why) != OK)
        return NULL;
    return special;
}

/* `in_full`: a line a property; else one line, and none while nothing fails. */
static int say_lint(struct textflow *flow, const struct view *view, bool in_full, struct error *err)
{
    struct arena *arena = flow->arena;
    struct mask_policy policy;
    struct chat_template_set set;
    const struct named_template *chosen;
    const struct json *special;
    struct lint lint;
    int rc;

    mask_policy_choose(view->desk->facts, arena, &policy);
    if (!policy.template_path)
        return OK;
    rc = chat_template_find(policy.template_path, arena, &set, err);
    chosen = rc == OK ? chat_template_choose(&set, false) : NULL;
    if (!chosen)
        return rc == E_NOMEM ? rc : OK;
    special = special_tokens(&policy, arena);
    rc = template_lint(chosen->text, special, arena, &lint, err);
    if (rc != OK)
        return rc;
    if (in_full)
        say_properties(flow, &lint, chosen->path);
    else
        say_faults(flow, &lint);
    return OK;
}

/* ---- All of it ---- */

static void make_heading(struct prompts_state *state, int columns)
{
    static const char *const units[] = {"by line", "by word", "by token"};
    const struct prompt_side *a = &state->pair->train.side, *b = &state->pair->serve.side;
    bool has_ids = a->n_ids && b->n_ids;

    if (state->shows_lint)
        snprintf(state->heading, sizeof state->heading, "template lint  (l back)");
    else
        snprintf(state->heading, sizeof state->heading, "training %s serving  %s",
                 prompts_in_columns(state, columns) ? "|" : "-+",
                 state->unit == PROMPTS_BY_TOKEN && !has_ids ? "by word (no tokens)" : units[state->unit]);
}

int prompts_write(struct prompts_state *state, const struct view *view, struct error *err)
{
    struct textflow *flow = &state->scroll.flow;
    const struct prompt_pair *pair = state->pair;
    bool has_train = pair->train.origin != PROMPT_ABSENT, has_serve = pair->serve.origin != PROMPT_ABSENT;
    int rc;

    make_heading(state, view->columns);
    if (state->shows_lint)
        return say_lint(flow, view, true, err);
    say_verdict(flow, pair);
    say_side(flow, "- training: ", STYLE_REMOVED, &pair->train);
    say_side(flow, "+ serving: ", STYLE_ADDED, &pair->serve);
    rc = say_lint(flow, view, false, err);
    if (rc != OK)
        return rc;
    if (view->rows >= FEW_ROWS) {
        flow_puts(flow, STYLE_DIM, "n difference   d sides   t unit   W blanks   w wrap   l lint");
        flow_break(flow);
        flow_break(flow);
    }
    if (has_train && has_serve)
        return prompts_write_diff(state, flow, err);
    if (has_train || has_serve)
        prompts_write_text(state, flow, has_train ? pair->train.side.text : pair->serve.side.text);
    return OK;
}
