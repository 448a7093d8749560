/* eos-config-mismatch (CHECKS.md C2.7): is the token that ends a trained turn a stop token at
 * inference? By the last supervised token of the rows against generation_config.json. Whether an
 * end is trained at all is never-stops. */
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/serving.h"

#define AGREED      0.9 /* of the rows end with the same token */
#define EMPTY_SHARE 0.5 /* of the outputs, with pad among the stop tokens */

static const struct event *line_of_axolotl(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "eos-config-mismatch", event)))
        if (event->pattern && strcmp(event->pattern, "axolotl-eos-not-in-template") == 0)
            return event;
    return NULL;
}

static bool applies(const struct run_facts *facts, const char **reason)
{
    return labels_apply(facts, reason) || line_of_axolotl(facts) != NULL;
}

static void add_fixes(struct check_ctx *ctx, const char *end, const char *eos)
{
    check_fix(ctx, "generation_config.json of the served folder: eos_token_id = [%s%s%s]", end,
              eos ? ", " : "", eos ? eos : "");
    check_fix(ctx, "name the turn's end as a stop string in the request");
    check_fix(ctx, "axolotl: eot_tokens; LLaMA-Factory: replace_eos");
}

/* The token that ends the trained turns of whole rows. */
struct turn_end {
    const struct audit *audit;
    int64_t id, n_rows, n_agree; /* rows that the cut left whole */
    int64_t first_row;
};

static bool read_end(const struct run_facts *facts, struct turn_end *end)
{
    *end = (struct turn_end){.audit = labels_of(facts, "train"), .id = NONE, .first_row = NONE};
    if (!end->audit || end->audit->last_id == NONE)
        return false;
    end->id = end->audit->last_id;
    for (int64_t i = 0; i < end->audit->n_rows; i++) {
        const struct audit_row *row = &end->audit->rows[i];

        if (!labels_row_has(row, 0, AUDIT_CUT_ANSWER) || row->n_trained <= 0)
            continue;
        end->n_rows++;
        end->n_agree += row->last_id == end->id;
        if (end->first_row == NONE && row->last_id == end->id)
            end->first_row = i;
    }
    return end->n_rows > 0;
}

static bool is_among(const int64_t *ids, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* pad among the stop tokens is stock in some configs; with empty outputs it is the fault. */
static void judge_pad(struct check_ctx *ctx, const int64_t *ids, size_t n,
                      const struct setting *stops)
{
    const struct setting *pad = facts_setting_on(ctx->facts, SIDE_GENERATION, "pad_token_id");
    const struct generation *first;
    double pad_id;
    size_t n_known, n_empty;

    if (!setting_number(pad, &pad_id) || !is_among(ids, n, (int64_t)pad_id))
        return;
    n_empty = outputs_count(ctx->facts, GENERATION_HAS_TEXT, GENERATION_IS_EMPTY, &n_known, &first);
    if (n_known < 3 || (double)n_empty < EMPTY_SHARE * (double)n_known) {
        check_info(ctx, "the pad token is among the stop tokens: stock in some configs");
        return;
    }
    evidence_setting(ctx, stops);
    evidence_setting(ctx, pad);
    struct evidence *e =
        evidence_add(ctx, "dataset", "%zu of %zu outputs are empty", n_empty, n_known);
    e->source_id = first->source_id;
    e->row = first->row != NONE ? first->row : first->ord;
    check_fix(ctx, "take the pad token out of eos_token_id, or give padding a token of its own");
    (void)check_fail(ctx, CONFIDENCE_STRONG, "pad-stops",
                     "the pad token %.0f is a stop token, and %zu of %zu outputs are empty", pad_id,
                     n_empty, n_known);
}

static void show_outputs(struct check_ctx *ctx)
{
    const struct generation *first;
    size_t n_known, n;

    n = outputs_count(ctx->facts, GENERATION_HAS_TEXT, GENERATION_RUNS_ON, &n_known, &first);
    if (!first)
        return;
    struct evidence *e =
        evidence_add(ctx, "dataset", "%zu of %zu outputs go on behind a turn's end", n, n_known);
    e->source_id = first->source_id;
    e->row = first->row != NONE ? first->row : first->ord;
}

/* Without a generation config transformers takes the model's. */
static int without_config(struct check_ctx *ctx, const struct turn_end *end, const char *name)
{
    const struct setting *model = facts_setting_on(ctx->facts, SIDE_MODEL, "eos_token_id");
    const struct audit *audit = end->audit;
    const char *const *items;
    double id;

    if (setting_number(model, &id) && (int64_t)id == end->id)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "the rows end with %s, which config.json states as "
                          "EOS; there is no generation_config.json",
                          name);
    for (size_t i = 0, n = setting_list(model, ctx->facts, &items); i < n; i++)
        if (str_is(str_of(items[i]), arena_printf(ctx->arena, "%lld", (long long)end->id)))
            return check_pass(ctx, CONFIDENCE_LIKELY,
                              "the rows end with %s, which config.json lists "
                              "as EOS",
                              name);
    if (audit->eos_id == NONE)
        return check_unknown(ctx, "generation_config.json of the served folder, and its tokenizer");
    if (audit->eos_id == end->id)
        return check_unknown(ctx,
                             "generation_config.json of the served folder: the rows end with the "
                             "tokenizer's EOS %s",
                             name);
    labels_row(ctx, audit, end->first_row, NONE, "it ends with %s", name);
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_TOKENIZER, "eos_token"));
    add_fixes(ctx, name, NULL);
    return check_warn(ctx, CONFIDENCE_LIKELY, "no-config",
                      "the trained turns end with %s, the tokenizer's EOS is %s, and there is no "
                      "generation_config.json",
                      name, labels_token(ctx, audit->eos_id, audit->eos_text));
}

static int judge(struct check_ctx *ctx, const struct turn_end *end, const int64_t *ids, size_t n,
                 const struct setting *stops)
{
    const struct audit *audit = end->audit;
    const char *name = labels_token(ctx, end->id, audit->last_text);

    if (!stops)
        return without_config(ctx, end, name);
    if (is_among(ids, n, end->id)) {
        if (audit->eos_id != NONE && audit->eos_id != end->id)
            check_info(ctx, "the tokenizer's own EOS is another token, %s",
                       labels_token(ctx, audit->eos_id, audit->eos_text));
        return check_pass(ctx, labels_confidence(audit),
                          "%s end with %s, which is a stop token (%s)",
                          labels_words(ctx, audit, end->n_agree), name, stops->value);
    }
    labels_row(ctx, audit, end->first_row, NONE, "it ends with %s, supervised", name);
    evidence_setting(ctx, stops);
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_TOKENIZER, "eos_token"));
    show_outputs(ctx);
    if (audit->eos_id == end->id)
        check_info(ctx,
                   "a server that reads the tokenizer's EOS (vLLM) stops there; pipelines do not");
    add_fixes(ctx, arena_printf(ctx->arena, "%lld", (long long)end->id),
              stops->type == VALUE_LIST ? NULL : stops->value);
    if (audit->assumption)
        return check_warn(
            ctx, CONFIDENCE_LIKELY, "config",
            "the trained turns end with %s by simulation, but generation stops only at "
            "%s",
            name, stops->value);
    return check_fail(ctx, labels_confidence(audit), "config",
                      "the trained turns end with %s, but generation stops only at %s", name,
                      stops->value);
}

/* ---- Runners of GGUF files: they do not read generation_config.json ---- */

static bool runs_gguf(const struct serving *serving)
{
    return serving && (serving->engine == SERVING_OLLAMA || serving->engine == SERVING_LLAMA_CPP ||
                       serving->has_gguf);
}

static bool is_stop_text(const struct serving *serving, const char *text)
{
    for (size_t i = 0; text && i < serving->n_stops; i++)
        if (strcmp(serving->stops[i], text) == 0)
            return true;
    return false;
}

/* The ids may be another vocabulary's: where texts are known they decide. */
static bool ends_in_gguf(const struct run_facts *facts, const struct serving *serving, int64_t id,
                         const char *text)
{
    const struct setting *tokens = facts_setting_on(facts, SIDE_SERVE, "gguf.stop_tokens");
    const char *const *items;
    size_t n = setting_list(tokens, facts, &items);

    if (n == 0 || !text)
        return is_among(serving->stop_ids, serving->n_stop_ids, id);
    for (size_t i = 0; i < n; i++)
        if (strcmp(items[i], text) == 0)
            return true;
    return false;
}

static int judge_runner(struct check_ctx *ctx, const struct turn_end *end,
                        const struct serving *serving)
{
    const struct audit *audit = end->audit;
    const char *text = audit->last_text, *name = labels_token(ctx, end->id, text);
    const struct setting *stop = facts_setting_on(ctx->facts, SIDE_SERVE, "stop");
    const struct setting *tokens = facts_setting_on(ctx->facts, SIDE_SERVE, "gguf.stop_tokens");

    if (is_stop_text(serving, text))
        return check_pass(ctx, labels_confidence(audit), "%s is a stop text of the server (%s)", name,
                          facts_file_name(ctx->facts, stop ? stop->source_id : 0));
    if (serving->n_stop_ids == 0 && !tokens)
        return check_unknown(ctx, "the GGUF file that is served: which tokens end its generation%s",
                             serving->engine == SERVING_OLLAMA ? ", or PARAMETER stop" : "");
    if (ends_in_gguf(ctx->facts, serving, end->id, text))
        return check_pass(ctx, labels_confidence(audit),
                          "%s ends the generation of the served GGUF file", name);
    labels_row(ctx, audit, end->first_row, NONE, "it ends with %s", name);
    evidence_setting(ctx, tokens);
    evidence_setting(ctx, stop);
    show_outputs(ctx);
    check_fix(ctx, "Ollama: PARAMETER stop \"%s\"; a request: \"stop\": [\"%s\"]", text ? text : name,
              text ? text : name);
    check_fix(ctx, "convert the model again from a folder whose tokenizer has %s as its EOS", name);
    return check_fail(ctx, labels_confidence(audit), "runner",
                      "the trained turns end with %s, the served GGUF file ends only at %s", name,
                      tokens && tokens->value ? tokens->value : "its EOS");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct event *event = line_of_axolotl(ctx->facts);
    const struct setting *stops;
    int64_t ids[MAX_STOP_IDS];
    size_t n = stop_ids_read(ctx->facts, ids, &stops);
    struct turn_end end;

    (void)err;
    if (event) {
        evidence_event(ctx, event);
        add_fixes(ctx, "the turn's end", NULL);
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "message",
                         "the chat template never prints the EOS token %s: no turn ends with it",
                         event_capture(event, 1));
    }
    judge_pad(ctx, ids, n, stops);
    if (!read_end(ctx->facts, &end))
        return labels_unknown(ctx, "train");
    labels_tell(ctx, end.audit);
    if ((double)end.n_agree < AGREED * (double)end.n_rows)
        return check_unknown(ctx, "rows that end alike: %lld of %lld end with %s",
                             (long long)end.n_agree, (long long)end.n_rows,
                             labels_token(ctx, end.id, end.audit->last_text));
    if (!end.audit->last_is_special && !is_among(ids, n, end.id))
        return check_unknown(ctx,
                             "rows whose end of turn is supervised: they end with %s, no special "
                             "token (see never-stops)",
                             labels_token(ctx, end.id, end.audit->last_text));
    const struct serving *serving = facts_serving(ctx->facts);
    if (runs_gguf(serving))
        return judge_runner(ctx, &end, serving);
    if (serving && !is_among(ids, n, end.id) && is_stop_text(serving, end.audit->last_text))
        return check_pass(ctx, labels_confidence(end.audit),
                          "the request or the server names %s as a stop text",
                          end.audit->last_text);
    return judge(ctx, &end, ids, n, stops);
}

const struct check check_eos_config_mismatch = {
    .id = "eos-config-mismatch",
    .version = 2,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "The token that ends a trained turn is a stop token at inference",
    .why = "A model that learned to end its turn with a token that generation does not stop at "
           "goes on "
           "and plays both sides of the conversation.",
    .applies = applies,
    .run = run,
};
