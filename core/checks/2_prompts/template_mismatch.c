/* template-mismatch (CHECKS.md C2.1): do training and serving render the same format? Two prompts decide;
 * what a log or a missing template says only warns. */
#include <string.h>

#include "core/checks/prompt_evidence.h"
#include "core/checks/registry.h"

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "save the training template into the tokenizer folder that is served "
                   "(chat_template.jinja)");
    check_fix(ctx, "vLLM --chat-template, llama.cpp --chat-template-file, Ollama TEMPLATE and PARAMETER "
                   "stop, Unsloth get_chat_template on both sides, LLaMA-Factory the same template: for "
                   "train and export");
    check_fix(ctx, "or retrain with the serving template");
}

/* ---- Two prompts ---- */

static bool other_family(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_shape *train = &pair->train.side.shape, *serve = &pair->serve.side.shape;

    if (pair->comparison.difference != PROMPTS_OTHER_FAMILY)
        return false;
    prompts_show(ctx, pair);
    check_fail(ctx, prompts_confidence(pair), "family",
               "training renders %s, serving %s: they part at byte %zu",
               marker_family_name(train->family), marker_family_name(serve->family),
               pair->comparison.train_byte);
    return true;
}

/* What Ollama's TEMPLATE makes of a chat is what it sends; whether clients of another server use its chat
 * template or send texts is known of a captured prompt alone. */
static bool is_sent(const struct prompt_record *serve)
{
    return prompt_is_captured(serve) ||
           (serve->source && strcmp(serve->source->importer, "ollama_modelfile") == 0);
}

/* Turns on one side, text without any marker on the other. "Human:" may be a word of the text. */
static bool plain_on_one_side(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_shape *train = &pair->train.side.shape, *serve = &pair->serve.side.shape;
    const struct prompt_shape *rendered = train->family == FAMILY_NONE ? serve : train;

    if (!prompts_are_known(pair) || pair->comparison.difference != PROMPTS_UNKNOWN ||
        (train->family == FAMILY_NONE) == (serve->family == FAMILY_NONE) ||
        rendered->family == FAMILY_HUMAN || rendered->assistant == rendered->n ||
        !is_sent(&pair->serve) || pair->train.side.text.n == 0 ||
        str_trim(pair->serve.side.text).n == 0)
        return false;
    prompts_show(ctx, pair);
    if (rendered == train)
        check_fail(ctx, CONFIDENCE_STRONG, "plain",
                   "training renders %s, and the prompt that is sent has no turn markers at all",
                   marker_family_name(train->family));
    else
        check_fail(ctx, CONFIDENCE_STRONG, "plain",
                   "training has plain text without turn markers, serving renders %s",
                   marker_family_name(serve->family));
    return true;
}

static bool other_bytes(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_comparison *c = &pair->comparison;

    if (c->difference == PROMPTS_OTHER_BYTES) {
        prompts_show(ctx, pair);
        check_warn(ctx, prompts_confidence(pair), "bytes",
                   "the same %s markers with other bytes between them: byte %zu in training, %zu in "
                   "serving",
                   marker_family_name(pair->train.side.shape.family), c->train_byte, c->serve_byte);
        return true;
    }
    if (c->difference != PROMPTS_OTHER_IDS)
        return false;
    prompts_show(ctx, pair);
    check_warn(ctx, CONFIDENCE_STRONG, "ids",
               "equal bytes become other tokens from token %td on: the tokenizers differ, or the prompt "
               "ends inside of a token",
               c->train_token);
    return true;
}

/* ---- One side alone ---- */

static bool no_serving_template(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    bool is_templated = pair->train.side.shape.family != FAMILY_NONE ||
                        pair->train_template != FAMILY_NONE || pair->rows_are_templated;

    if (!pair->bare_serve || pair->serve.origin != PROMPT_ABSENT || !is_templated)
        return false;
    bool is_gguf = strcmp(pair->bare_serve->importer, "gguf") == 0;
    evidence_add(ctx, "file", "the served %s has no chat template",
                 is_gguf ? "GGUF file" : "tokenizer")
        ->source_id = pair->bare_serve->id;
    check_warn(ctx, CONFIDENCE_LIKELY, "no-template",
               "training renders turns, and the %s that is served has no chat template",
               is_gguf ? "GGUF file" : "tokenizer");
    return true;
}

/* Two templates by name or text, of which not both could be rendered. */
static bool other_template(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_shape *train = &pair->train.side.shape, *serve = &pair->serve.side.shape;
    enum marker_family a = pair->train.origin != PROMPT_ABSENT && train->family != FAMILY_NONE
                               ? train->family
                           : pair->rows_are_templated || !pair->dataset ? pair->train_template
                                                                        : FAMILY_NONE;
    enum marker_family b = pair->serve.origin != PROMPT_ABSENT ? serve->family : pair->serve_template;

    if (prompts_are_known(pair) || a == FAMILY_NONE || b == FAMILY_NONE || a == b)
        return false;
    evidence_setting(ctx, facts_setting(ctx->facts, "template"));
    evidence_setting(ctx, facts_setting(ctx->facts, "chat_template"));
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_SERVE, "chat_template"));
    prompts_show(ctx, pair);
    check_fail(ctx, CONFIDENCE_STRONG, "family", "training uses a %s template, serving a %s one",
               marker_family_name(a), marker_family_name(b));
    return true;
}

/* A template around rows that hold markers of another format, or rows that bypass the template which the
 * tokenizer will bring to serving. */
static bool rows_of_other_family(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    enum marker_family family =
        pair->train_template != FAMILY_NONE ? pair->train_template : pair->serve_template;

    if (pair->rows_family == FAMILY_NONE || family == FAMILY_NONE || family == pair->rows_family)
        return false;
    bool is_double = pair->rows_are_templated;
    if (!is_double && prompts_are_known(pair))
        return false;           /* the prompts themselves decide */
    struct evidence *e = evidence_add(
        ctx, "dataset", "most rows hold %s markers, the chat template renders %s",
        marker_family_name(pair->rows_family), marker_family_name(family));
    if (pair->dataset)
        e->source_id = pair->dataset->source_id;
    if (is_double)
        check_warn(ctx, CONFIDENCE_STRONG, "double",
                   "the rows already hold %s markers inside of turns that are rendered as %s",
                   marker_family_name(pair->rows_family), marker_family_name(family));
    else
        check_warn(ctx, CONFIDENCE_POSSIBLE, "rows",
                   "the rows are trained as %s text, and the tokenizer's chat template renders %s",
                   marker_family_name(pair->rows_family), marker_family_name(family));
    return true;
}

static bool log_lines(struct check_ctx *ctx)
{
    static const struct {
        const char *pattern, *branch, *sentence;
        enum confidence confidence;
    } LINES[] = {
        {"llf-template-missing", "no-template-set",
         "LLaMA-Factory was given no template: what it trained with is a guess from the tokenizer",
         CONFIDENCE_LIKELY},
        {"prompt-mismatch", "prompt-prefix",
         "the tokenised prompt is not the beginning of the tokenised prompt and completion",
         CONFIDENCE_LIKELY},
        {"prompt-not-prefix", "prompt-prefix",
         "the tokenised prompt is not the beginning of the tokenised prompt and completion",
         CONFIDENCE_LIKELY},
    };
    bool found = false;

    for (const struct event *e = facts_event(ctx->facts, NULL, NULL); e && !found;
         e = facts_event(ctx->facts, NULL, e))
        for (size_t i = 0; i < sizeof LINES / sizeof LINES[0] && e->pattern && !found; i++) {
            if (strcmp(e->pattern, LINES[i].pattern) != 0)
                continue;
            evidence_event(ctx, e);
            check_begins(ctx, e->step);
            check_warn(ctx, LINES[i].confidence, LINES[i].branch, "%s", LINES[i].sentence);
            found = true;
        }
    return found;
}

/* ---- The verdict ---- */

static bool is_settled(enum prompt_difference difference)
{
    return difference == PROMPTS_EQUAL || difference == PROMPTS_CONTENT_BLANKS ||
           difference == PROMPTS_OTHER_TEXT;
}

/* The server's own count of the prompt's tokens is a check on what was rendered here. */
static void tell_count(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    double counted = 0.0;
    size_t n = pair->serve.side.n_ids;

    if (pair->serve.origin == PROMPT_REQUEST && n > 0 &&
        setting_number(facts_setting_on(ctx->facts, SIDE_SERVE, "answer.prompt_tokens"), &counted) &&
        counted > 0.0 && counted != (double)n)
        check_info(ctx, "the server counted %.0f prompt tokens, %s has %zu: another template, or a BOS "
                        "more",
                   counted, pair->serve.about, n);
}

static void pass(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_comparison *c = &pair->comparison;

    tell_count(ctx, pair);

    if (c->note)
        check_info(ctx, "%s", c->note);
    if (pair->serve.is_assumed)
        check_unknown(ctx, "the tokenizer folder that is served (serve/): the request was rendered with "
                           "the training template");
    else if (is_settled(c->difference))
        check_pass(ctx, prompts_confidence(pair),
                   "both sides render %s, %s up to the assistant's turn (training: %s; serving: %s)",
                   marker_family_name(pair->train.side.shape.family),
                   c->difference == PROMPTS_OTHER_TEXT ? "with the same bytes between markers"
                                                       : "equal",
                   pair->train.about, pair->serve.about);
    else if (c->difference == PROMPTS_SYSTEM_ONE_SIDE)
        check_pass(ctx, CONFIDENCE_STRONG,
                   "both sides render %s; that one has no system turn is its own finding",
                   marker_family_name(pair->train.side.shape.family));
    else if (c->difference == PROMPTS_NO_HEADER)
        check_pass(ctx, CONFIDENCE_STRONG,
                   "both sides render %s; that serving lacks the header is its own finding",
                   marker_family_name(pair->train.side.shape.family));
    else
        prompts_unknown(ctx, pair);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct prompt_pair *pair = facts_prompt_pair(ctx->facts);

    (void)err;
    if (!pair)
        return OK;
    bool fired = other_family(ctx, pair) || plain_on_one_side(ctx, pair) || other_bytes(ctx, pair) ||
                 other_template(ctx, pair);
    fired |= no_serving_template(ctx, pair);
    fired |= rows_of_other_family(ctx, pair);
    fired |= log_lines(ctx);
    if (fired) {
        add_fixes(ctx);
        return OK;
    }
    pass(ctx, pair);
    return OK;
}

const struct check check_template_mismatch = {
    .id = "template-mismatch",
    .version = 3,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "Both sides render the same format",
    .why = "The model answers to the format that it was trained on. Another one at serving leaves the "
           "training without effect.",
    .applies = prompts_apply,
    .run = run,
};
