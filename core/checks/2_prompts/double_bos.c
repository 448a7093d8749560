/* double-bos (CHECKS.md C2.5): does exactly one BOS start the sequence? By the ids of the rows and
 * of the served prompt; by what llama.cpp says. */
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/prompt_pair.h"
#include "core/facts/serving.h"

#define SHARE_FAILS 0.5

static const struct event *find(const struct run_facts *facts, const char *pattern)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "double-bos", event)))
        if (event->pattern && strcmp(event->pattern, pattern) == 0)
            return event;
    return NULL;
}

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "encoder and decoder: no BOS begins the prompt";
    return facts->run.kind != KIND_SEQ2SEQ || facts_event(facts, "double-bos", NULL);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx,
              "tokenise rendered text with add_special_tokens=False, or let apply_chat_template "
              "tokenise it (tokenize=True)");
    check_fix(ctx, "take the BOS out of the template, or out of the tokenizer (add_bos_token)");
    check_fix(ctx, "keep training and serving the same");
}

/* ---- Training ---- */

/* True when the rows' beginnings are known. */
static bool judge_rows(struct check_ctx *ctx)
{
    const struct audit *audit = ids_of(ctx->facts, "train");

    if (!audit || audit->bos_id == NONE)
        return false;
    double share = labels_share(audit, AUDIT_TWO_BOS);
    int64_t n = labels_count(audit, AUDIT_TWO_BOS);
    const char *bos = labels_token(ctx, audit->bos_id, NULL);

    labels_tell(ctx, audit);
    if (share < SHARE_FAILS) {
        if (n > 0)
            check_info(ctx, "%s begin with two BOS", labels_words(ctx, audit, n));
        return true;
    }
    for (int64_t i = 0, shown = 0; i < audit->n_rows && shown < LABEL_ROWS_SHOWN; i++)
        if (labels_row_has(&audit->rows[i], AUDIT_TWO_BOS, 0)) {
            labels_row(ctx, audit, i, 1, "it begins with %s twice", bos);
            shown++;
        }
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_TOKENIZER, "bos_token"));
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_TOKENIZER, "add_bos_token"));
    add_fixes(ctx);
    /* Rows padded on the left with the BOS itself look the same. */
    if (audit->pad_id == audit->bos_id && audit->basis == AUDIT_RECORDED)
        (void)check_warn(ctx, CONFIDENCE_POSSIBLE, "train",
                         "%s begin with %s twice; it is the pad token too, so it may be padding",
                         labels_words(ctx, audit, n), bos);
    else if (audit->assumption)
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "train", "%s begin with %s twice",
                         labels_words(ctx, audit, n), bos);
    else
        (void)check_fail(ctx, labels_confidence(audit), "train", "%s begin with %s twice",
                         labels_words(ctx, audit, n), bos);
    return true;
}

/* ---- Serving ---- */

static int64_t bos_of(const struct run_facts *facts)
{
    const struct audit *audit = ids_of(facts, "train");
    const struct setting *text = facts_setting_on(facts, SIDE_TOKENIZER, "bos_token");

    if (audit && audit->bos_id != NONE)
        return audit->bos_id;
    return text && text->value ? added_token_id(facts, text->value) : NONE;
}

static int serve_fails(struct check_ctx *ctx, const struct prompt_record *serve, const char *bos)
{
    struct evidence *e = evidence_add(ctx, "file", "the served prompt begins with %s twice (%s)",
                                      bos, serve->about ? serve->about : "");

    e->source_id = serve->source ? serve->source->id : 0;
    e->token = 1;
    add_fixes(ctx);
    /* the first of them is not of the text: the server adds it to a completion's prompt by default */
    if (serve->side.n_ids >= 2 && serve->side.begin[0] == serve->side.end[0])
        return check_warn(ctx, CONFIDENCE_LIKELY, "serve",
                          "the prompt that is sent begins with the text of %s, and the server adds one "
                          "(add_special_tokens is on for completions)",
                          bos);
    return check_fail(ctx, CONFIDENCE_CERTAIN, "serve", "the served prompt begins with %s twice",
                      bos);
}

/* ---- The runner's own BOS ---- */

/* 1 the runner puts a BOS before what it is given, 0 not, -1 not known. *why: what says so, or NULL. */
static int runner_adds(const struct run_facts *facts, const struct setting **why)
{
    static const char *const ADDING[] = {"llama-bpe", "llama3", "llama-v3", "falcon3", "tekken"};
    static const char *const PLAIN[] = {"qwen2", "deepseek-r1-qwen", "gpt-2", "gpt-4o", "smollm",
                                        "starcoder"};
    const struct serving *serving = facts_serving(facts);
    const struct setting *pre = facts_setting_on(facts, SIDE_SERVE, "gguf.tokenizer_pre");
    const struct setting *kind = facts_setting_on(facts, SIDE_SERVE, "gguf.tokenizer");

    if (!serving)
        return -1;
    if (serving->engine == SERVING_VLLM || serving->engine == SERVING_SGLANG ||
        serving->engine == SERVING_TGI)
        return -1;      /* of chats they add none; of plain prompts the tokenizer's own rule holds */
    if (serving->engine != SERVING_OLLAMA && serving->engine != SERVING_LLAMA_CPP &&
        !serving->has_gguf)
        return -1;
    *why = facts_setting_on(facts, SIDE_SERVE, "add_bos_token");
    if (setting_bool(*why) >= 0)
        return setting_bool(*why);
    *why = pre ? pre : kind;
    if (kind && kind->value && strcmp(kind->value, "llama") == 0)
        return 1;
    for (size_t i = 0; pre && pre->value && i < sizeof ADDING / sizeof *ADDING; i++)
        if (strcmp(pre->value, ADDING[i]) == 0)
            return 1;
    for (size_t i = 0; pre && pre->value && i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (strcmp(pre->value, PLAIN[i]) == 0)
            return 0;
    return -1;
}

/* What the served prompt should begin with once: of the GGUF file, else of the tokenizer. */
static const char *served_bos(const struct run_facts *facts)
{
    const struct setting *own = facts_setting_on(facts, SIDE_SERVE, "gguf.bos_token");
    const struct setting *text =
        own ? own : facts_setting_on(facts, SIDE_TOKENIZER, "bos_token");

    return text && text->value && text->type != VALUE_NULL && text->value[0] ? text->value : NULL;
}

/* The template prints the BOS and the runner adds one. True when it is known that it does or not. */
static bool judge_runner(struct check_ctx *ctx, const struct prompt_record *serve)
{
    const struct setting *why = NULL;
    int adds = runner_adds(ctx->facts, &why);
    const char *bos = served_bos(ctx->facts);

    if (adds < 0 || !bos)
        return false;
    if (adds == 0 || !str_starts(serve->side.text, bos))
        return true;
    struct evidence *e = evidence_add(ctx, "file", "the prompt begins with %s (%s)", bos,
                                      serve->about ? serve->about : "");
    e->source_id = serve->source ? serve->source->id : 0;
    evidence_setting(ctx, why);
    add_fixes(ctx);
    check_info(ctx, "llama.cpp's newer builds take one of the two away");
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "runner",
                     "the served template prints %s, and the runner adds one", bos);
    return true;
}

/* True when the served prompt's beginning is known. */
static bool judge_serving(struct check_ctx *ctx)
{
    const struct prompt_pair *pair = facts_prompt_pair(ctx->facts);
    const struct setting *text = facts_setting_on(ctx->facts, SIDE_TOKENIZER, "bos_token");
    int64_t bos = bos_of(ctx->facts);

    if (!pair || pair->serve.origin == PROMPT_ABSENT || pair->serve.failure)
        return false;
    const struct prompt_side *side = &pair->serve.side;
    bool is_runner_known = judge_runner(ctx, &pair->serve);
    if (side->n_ids >= 2 && bos != NONE) {
        if (side->ids[0] == (uint32_t)bos && side->ids[1] == (uint32_t)bos)
            (void)serve_fails(ctx, &pair->serve, labels_token(ctx, bos, NULL));
        return true;
    }
    if (!text || !text->value || !text->value[0])
        return is_runner_known;
    if (str_starts(side->text, text->value) &&
        str_starts(str_skip(side->text, strlen(text->value)), text->value)) {
        (void)serve_fails(ctx, &pair->serve, text->value);
        return true;
    }
    return is_runner_known; /* the text alone does not tell what the server adds */
}

/* Without ids: rows whose own text begins with the BOS, and a tokenizer that adds one. */
static bool judge_text(struct check_ctx *ctx)
{
    const struct prompt_pair *pair = facts_prompt_pair(ctx->facts);
    const struct setting *text = facts_setting_on(ctx->facts, SIDE_TOKENIZER, "bos_token");
    const struct setting *adds = facts_setting_on(ctx->facts, SIDE_TOKENIZER, "add_bos_token");

    if (!pair || pair->train.origin != PROMPT_ROWS || pair->rows_are_templated || !text ||
        !text->value || !text->value[0] || setting_bool(adds) != 1 ||
        !str_starts(pair->train.side.text, text->value))
        return false;
    struct evidence *e = evidence_add(ctx, "dataset", "row %lld begins with the text %s",
                                      (long long)pair->train.row, text->value);
    e->source_id = pair->train.source ? pair->train.source->id : 0;
    e->row = pair->train.row;
    evidence_setting(ctx, adds);
    add_fixes(ctx);
    return check_warn(ctx, CONFIDENCE_POSSIBLE, "text",
                      "the rows begin with the text of the BOS, and the tokenizer adds one") == OK;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct event *said = find(ctx->facts, "llamacpp-double-bos");
    const struct event *handled = find(ctx->facts, "unsloth-double-bos");
    const struct setting *bos = facts_setting_on(ctx->facts, SIDE_TOKENIZER, "bos_token");

    (void)err;
    if (said) {
        evidence_event(ctx, said);
        add_fixes(ctx);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                         "the server added a BOS to a prompt that begins with one (%s:%lld)",
                         facts_file_name(ctx->facts, said->source_id), (long long)said->line);
    }
    if (handled)
        check_info(ctx, "Unsloth found two BOS and took one out (%s:%lld)",
                   facts_file_name(ctx->facts, handled->source_id), (long long)handled->line);
    bool has_rows = judge_rows(ctx), has_serving = judge_serving(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN || (!has_rows && judge_text(ctx)))
        return OK;
    if (!has_rows && bos && (bos->type == VALUE_NULL || !bos->value || !bos->value[0]) &&
        !facts_event(ctx->facts, "double-bos", NULL))
        return check_pass(ctx, CONFIDENCE_STRONG, "the tokenizer has no BOS token");
    const struct audit *audit = ids_of(ctx->facts, "train");
    if (!has_rows && audit && bos)
        return check_unknown(ctx, "tokenizer.json of the run: which id its BOS has is not known");
    if (!has_rows)
        return labels_unknown(ctx, "train");
    if (!has_serving)
        return check_unknown(ctx, "a captured request or prompt_infer.txt with its tokenizer: the "
                                  "training rows begin with one BOS or none");
    return check_pass(ctx, labels_confidence(audit), "one BOS or none on both sides");
}

const struct check check_double_bos = {
    .id = "double-bos",
    .version = 3,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "Exactly one BOS starts the sequence",
    .why =
        "A template that prints the BOS and a tokenizer that adds one give two: the first tokens "
        "are not what the base model saw, and often not what the other side sends.",
    .applies = applies,
    .run = run,
};
