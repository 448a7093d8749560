/* new-tokens-untrained (CHECKS.md C3.15): have added tokens trained embeddings? LoRA leaves the
 * embedding and the head as they are, so a row that was added stays near its random start. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/row_search.h"

enum { MAX_NEW = 64 }; /* looked for in the rows; more are counted only */

/* Tokens of the run that the base model's vocabulary has not. */
struct new_tokens {
    int64_t from;                       /* first new id; NONE: the base is not known */
    const struct setting *from_setting; /* what says so, or … */
    const struct event *resized;        /* … the line of a resize */
    struct row_search texts[MAX_NEW];
    int64_t ids[MAX_NEW];
    const struct setting *settings[MAX_NEW];
    size_t n;
    int64_t n_all; /* with those beyond MAX_NEW, and those of a resize line alone */
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "every weight is trained: new embeddings too";
    if (facts_is_adapter_run(facts, NULL) == 0)
        return false;
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

/* ---- What is new ---- */

static bool is_base(const struct run_facts *facts, const struct setting *setting)
{
    const struct source *source = facts_source(facts, setting->source_id);

    return source && source->role && strcmp(source->role, "base") == 0;
}

/* The largest id of the base's own tokenizer.json: the matrix may be padded beyond it. */
static const struct setting *base_max(const struct run_facts *facts, int64_t *id)
{
    const struct setting *found = NULL;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        double value;

        if (s->side != SIDE_TOKENIZER || !s->raw_name || strcmp(s->raw_name, "max_token_id") != 0 ||
            !is_base(facts, s) ||
            strcmp(facts_file_name(facts, s->source_id), "tokenizer.json") != 0 ||
            !setting_number(s, &value) || (found && value <= (double)*id))
            continue;
        *id = (int64_t)value;
        found = s;
    }
    return found;
}

static const struct event *resize_line(const struct run_facts *facts, int64_t *from, int64_t *to)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "new-tokens-untrained", event)))
        if (event->pattern && strcmp(event->pattern, "llf-resized-embeddings") == 0 &&
            number_parse_int(str_of(event_capture(event, 1)), from) &&
            number_parse_int(str_of(event_capture(event, 2)), to) && *to > *from)
            return event;
    return NULL;
}

static void read_first_new(const struct run_facts *facts, struct new_tokens *new)
{
    int64_t id = NONE, to = NONE;
    double rows;

    new->from = NONE;
    new->resized = resize_line(facts, &id, &to);
    if (new->resized) {
        new->from = id;
        new->n_all = to - id;
        return;
    }
    new->from_setting = base_max(facts, &id);
    if (new->from_setting) {
        new->from = id + 1;
        return;
    }
    const struct audit *audit = ids_of(facts, "train");
    if (audit && audit->first_new_id != NONE) {
        new->from = audit->first_new_id;
        return;
    }
    /* The config of the base: of the run's own folder it may be the resized one. */
    const struct setting *vocab = facts_setting_on(facts, SIDE_MODEL, "vocab_size");
    if (!vocab || !is_base(facts, vocab))
        return;
    if (setting_number(vocab, &rows) && rows > 0.0) {
        new->from = (int64_t)rows;
        new->from_setting = vocab;
    }
}

static void add_token(struct new_tokens *new, int64_t id, const struct setting *setting)
{
    for (size_t i = 0; i < new->n; i++)
        if (new->ids[i] == id)
            return;
    if (!new->resized)
        new->n_all++;
    if (new->n == MAX_NEW)
        return;
    new->ids[new->n] = id;
    new->texts[new->n] = (struct row_search){.text = setting->value, .first_row = NONE};
    new->settings[new->n++] = setting;
}

static void read_new(const struct run_facts *facts, struct new_tokens *new)
{
    static const char ADDED[] = "added_token.";

    *new = (struct new_tokens){.from = NONE};
    read_first_new(facts, new);
    for (size_t i = 0; new->from != NONE &&i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        int64_t id;

        if (s->side == SIDE_TOKENIZER && s->raw_name && s->value && s->value[0] &&
            strncmp(s->raw_name, ADDED, sizeof ADDED - 1) == 0 && !is_base(facts, s) &&
            number_parse_int(str_of(s->raw_name + sizeof ADDED - 1), &id) && id >= new->from)
            add_token(new, id, s);
    }
    /* Ids that stand in rows and that no file names. */
    const struct audit *audit = ids_of(facts, "train");
    if (new->n == 0 && new->from != NONE && audit && audit->first_new_id >= new->from &&
        (int64_t)audit->n_new_ids > new->n_all)
        new->n_all = (int64_t)audit->n_new_ids;
}

/* ---- What is trained ---- */

struct trained {
    bool embedding, head, by_index;
    const struct setting *modules, *targets, *indices;
};

static void read_names(const struct run_facts *facts, const struct setting *setting,
                       struct trained *out)
{
    static const char *const EMBEDDINGS[] = {
        "embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "shared"};
    static const char *const HEADS[] = {"lm_head", "embed_out", "output_layer"};
    const char *const *items;
    size_t n = setting_list(setting, facts, &items);

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof EMBEDDINGS / sizeof EMBEDDINGS[0]; k++)
            out->embedding |= strstr(items[i], EMBEDDINGS[k]) != NULL;
        for (size_t k = 0; k < sizeof HEADS / sizeof HEADS[0]; k++)
            out->head |= strstr(items[i], HEADS[k]) != NULL;
    }
}

static bool is_embedding_tensor(const char *name)
{
    return str_ends(str_of(name), "embed_tokens.weight") || str_ends(str_of(name), "wte.weight");
}

/* The same tensor of another checkpoint: 1 changed since, 0 not, -1 not to be told. */
static int has_moved(const struct run_facts *facts, const struct artefact *own,
                     const struct tensor *tensor)
{
    for (size_t i = 0; tensor->content_hash && i < facts->n_artefacts; i++) {
        const struct artefact *other = &facts->artefacts[i];
        size_t n = 0;
        const struct tensor *tensors = other != own && strcmp(other->kind, "adapter") == 0 &&
                                               other->step != NONE && other->step != own->step
                                           ? facts_tensors(facts, other, &n)
                                           : NULL;

        for (size_t k = 0; k < n; k++)
            if (tensors[k].content_hash && strcmp(tensors[k].name, tensor->name) == 0)
                return tensors[k].content_hash != tensor->content_hash;
    }
    return -1;
}

/* PEFT saves a resized embedding whether it was trained or not: only rows of its own, a pair of its own
 * or another content in an earlier checkpoint show that it was. */
static void read_tensors(const struct run_facts *facts, struct trained *out)
{
    const struct artefact *adapter = trained_adapter(facts);
    size_t n = 0;
    const struct tensor *tensors = adapter ? facts_tensors(facts, adapter, &n) : NULL;

    for (size_t i = 0; i < n; i++) {
        out->by_index |= strstr(tensors[i].name, "trainable_tokens") != NULL;
        out->embedding |= strstr(tensors[i].name, "lora_embedding_A") != NULL;
        if (is_embedding_tensor(tensors[i].name) && has_moved(facts, adapter, &tensors[i]) == 1)
            out->embedding = true;
    }
}

static void read_trained(const struct run_facts *facts, struct trained *out)
{
    *out = (struct trained){
        .modules = facts_setting(facts, "modules_to_save"),
        .targets = facts_setting(facts, "target_modules"),
        .indices = facts_setting(facts, "trainable_token_indices"),
    };
    read_names(facts, out->modules, out);
    read_names(facts, out->targets, out);
    out->by_index = out->indices && out->indices->type != VALUE_NULL && out->indices->value &&
                    out->indices->value[0] && strcmp(out->indices->value, "[]") != 0;
    read_tensors(facts, out);
}

/* ---- Verdicts ---- */

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "trainable_token_indices of LoraConfig: the new rows alone are trained");
    check_fix(ctx, "modules_to_save: [embed_tokens, lm_head] (with tied embeddings see "
                   "tied-embeddings-saved)");
    check_fix(ctx, "LLaMA-Factory: additional_target and resize_vocab: true");
    check_fix(ctx, "do without new tokens: reuse markers that the base knows");
}

/* A new token that ends the turn: then it explains that the model does not stop. */
static bool ends_turn(const struct run_facts *facts, const struct new_tokens *new)
{
    const struct audit *audit = labels_of(facts, "train");
    const struct setting *eos = facts_setting_on(facts, SIDE_TOKENIZER, "eos_token");

    for (size_t i = 0; i < new->n; i++)
        if ((audit && (audit->turn_end_id == new->ids[i] || audit->last_id == new->ids[i])) ||
            (eos && eos->value && strcmp(eos->value, new->texts[i].text) == 0))
            return true;
    return false;
}

static int64_t by_uses(struct check_ctx *ctx, struct new_tokens *new)
{
    const struct audit *audit = ids_of(ctx->facts, "train");
    const struct dataset *dataset = NULL;
    int64_t uses = 0;

    (void)facts_train_rows(ctx->facts, &dataset);
    int64_t n_rows = row_search(ctx->facts, dataset, new->texts, new->n);
    for (size_t i = 0; i < new->n; i++)
        uses += new->texts[i].n_rows;
    for (size_t i = 0, shown = 0; i < new->n &&shown < LABEL_ROWS_SHOWN; i++) {
        if (uses > 0 && new->texts[i].n_rows == 0)
            continue;
        struct evidence *e = evidence_add(ctx, "dataset", "%s (%lld): in %lld of %lld rows",
                                          new->texts[i].text, (long long)new->ids[i],
                                          (long long)new->texts[i].n_rows, (long long)n_rows);
        e->source_id = dataset ? dataset->source_id : new->settings[i]->source_id;
        e->row = new->texts[i].first_row;
        shown++;
    }
    if (audit && uses == 0 && labels_count(audit, AUDIT_HAS_NEW_ID) > 0) {
        uses = labels_count(audit, AUDIT_HAS_NEW_ID);
        (void)labels_show_rows(ctx, audit, AUDIT_HAS_NEW_ID, 0,
                               "holds an id that the base has not");
        for (size_t i = 0; i < audit->n_new_ids && i < LABEL_ROWS_SHOWN; i++)
            evidence_add(ctx, "number", "%s: in %lld rows",
                         labels_token(ctx, audit->new_ids[i].id, audit->new_ids[i].text),
                         (long long)audit->new_ids[i].n_rows);
    }
    return uses;
}

static void show_settings(struct check_ctx *ctx, const struct new_tokens *new,
                          const struct trained *trained)
{
    if (new->resized)
        evidence_event(ctx, new->resized);
    evidence_setting(ctx, new->from_setting);
    evidence_setting(ctx, trained->modules);
    evidence_setting(ctx, trained->targets);
    evidence_setting(ctx, trained->indices);
}

static const char *names_of(struct check_ctx *ctx, const struct new_tokens *new)
{
    if (new->n == 0)
        return arena_printf(ctx->arena, "%lld new tokens", (long long)new->n_all);
    return arena_printf(ctx->arena, "%lld new token%s (%s%s)", (long long)new->n_all,
                        new->n_all == 1 ? "" : "s", new->texts[0].text, new->n_all > 1 ? " …" : "");
}

static int untrained(struct check_ctx *ctx, struct new_tokens *new, const struct trained *trained)
{
    int is_adapter = facts_is_adapter_run(ctx->facts, NULL);
    int64_t uses = by_uses(ctx, new);
    const char *branch = ends_turn(ctx->facts, new) ? "turn-end" : "";

    show_settings(ctx, new, trained);
    if (is_adapter < 0)
        return check_unknown(
            ctx,
            "adapter_config.json or the training arguments: whether the embeddings "
            "of %s were trained is not known",
            names_of(ctx, new));
    add_fixes(ctx);
    if (uses > 0)
        return check_fail(ctx, CONFIDENCE_STRONG, branch,
                          "%s stand in the rows, and neither embed_tokens nor lm_head is trained: "
                          "their embeddings stay near random",
                          names_of(ctx, new));
    return check_warn(ctx, CONFIDENCE_LIKELY, branch,
                      "%s, and neither embed_tokens nor lm_head is trained", names_of(ctx, new));
}

/* TRL's line about a cloned template. */
static void by_message(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "new-tokens-untrained", event))) {
        if (!event->pattern || strcmp(event->pattern, "trl-cloned-template-tokens") != 0)
            continue;
        evidence_event(ctx, event);
        add_fixes(ctx);
        (void)check_warn(ctx, CONFIDENCE_STRONG, "message",
                         "the cloned template added tokens, and lm_head is not trained (%s:%lld)",
                         facts_file_name(ctx->facts, event->source_id), (long long)event->line);
        return;
    }
}

/* A base that never saw chat markers: Qwen's 1.5, 2 and 2.5 without a suffix, or any with "-Base".
 */
static bool is_raw_qwen(const char *name)
{
    struct str text = str_of(name);

    if (!name || !str_has_ignoring_case(text, "qwen"))
        return false;
    if (str_has_ignoring_case(text, "-base"))
        return true;
    return (str_has_ignoring_case(text, "qwen1.5-") || str_has_ignoring_case(text, "qwen2-") ||
            str_has_ignoring_case(text, "qwen2.5-")) &&
           !str_has_ignoring_case(text, "instruct") && !str_has_ignoring_case(text, "chat") &&
           !str_has_ignoring_case(text, "-vl") && !str_has_ignoring_case(text, "omni");
}

static bool by_raw_base(struct check_ctx *ctx, const struct trained *trained)
{
    const struct audit *audit = labels_of(ctx->facts, "train");
    const struct setting *base = facts_setting(ctx->facts, "base_model_name_or_path");

    if (!base)
        base = facts_setting(ctx->facts, "model_name_or_path");
    if (facts_is_adapter_run(ctx->facts, NULL) != 1 || !base || !is_raw_qwen(base->value) ||
        trained->embedding || trained->head || trained->by_index || !audit ||
        !audit->turn_end_text || strcmp(audit->turn_end_text, "<|im_end|>") != 0)
        return false;
    evidence_setting(ctx, base);
    evidence_setting(ctx, trained->modules);
    labels_row(ctx, audit, 0, NONE, "the rows' turns end with %s", audit->turn_end_text);
    add_fixes(ctx);
    return check_warn(
               ctx, CONFIDENCE_POSSIBLE, "raw-base",
               "the template uses markers that the base %s hardly saw, and their embeddings are "
               "not trained",
               base->value) == OK;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct new_tokens new;
    struct trained trained;
    int tied = setting_bool(facts_setting_on(ctx->facts, SIDE_MODEL, "tie_word_embeddings"));

    (void)err;
    by_message(ctx);
    read_new(ctx->facts, &new);
    read_trained(ctx->facts, &trained);
    if (new.from == NONE && !by_raw_base(ctx, &trained) && check_verdict(ctx) < VERDICT_WARN)
        return check_unknown(ctx,
                             "the base model's tokenizer.json or config.json: which tokens are new "
                             "is not known");
    if (new.from == NONE)
        return OK;
    if (new.n_all == 0) {
        if (by_raw_base(ctx, &trained))
            return OK;
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "no token lies beyond the base's vocabulary (%lld)", (long long)new.from);
    }
    if (trained.by_index || (trained.embedding && (trained.head || tied == 1)))
        return check_pass(ctx, CONFIDENCE_STRONG, "%s, and the embeddings are trained",
                          names_of(ctx, &new));
    if (!trained.embedding && !trained.head)
        return untrained(ctx, &new, &trained);
    if (trained.embedding && tied < 0)
        return check_unknown(
            ctx, "config.json of the base (tie_word_embeddings): embed_tokens is trained "
                 "and lm_head is not");
    show_settings(ctx, &new, &trained);
    add_fixes(ctx);
    return check_warn(ctx, CONFIDENCE_LIKELY, "half",
                      trained.embedding
                          ? "%s: embed_tokens is trained, but the head is untied and is not"
                          : "%s: lm_head is trained, but embed_tokens is not",
                      names_of(ctx, &new));
}

const struct check check_new_tokens_untrained = {
    .id = "new-tokens-untrained",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_MISLEADS,
    .title = "Added tokens have trained embeddings",
    .why = "LoRA trains neither the embedding nor the head: a token that was added keeps a random "
           "vector, and the model can neither read nor write it.",
    .applies = applies,
    .run = run,
};
