/* wrong-adapter (CHECKS.md C1.2): does the loaded adapter belong to this base and to this run? By the
 * shapes of its tensors against the model's, by the names of the base, by its hash among the runs. */
#include <math.h>
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/lineage.h"
#include "core/facts/serving.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "a full fine-tune: there is no adapter";
    return facts_is_adapter_run(facts, NULL) != 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "point to the folder of this run's adapter");
    check_fix(ctx, "load the base that adapter_config.json names");
    check_fix(ctx, "write base name and revision into adapter_config.json");
}

/* ---- Shapes ---- */

/* torch's message when weights of one shape meet a parameter of another. */
static bool by_message(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, NULL, event))) {
        const char *name = event_capture(event, 1), *saved = event_capture(event, 2);

        if (!event->pattern || strcmp(event->pattern, "size-mismatch") != 0 ||
            !strstr(name, "lora_") || strcmp(saved, "[0]") == 0 || strcmp(saved, "[]") == 0)
            continue;
        evidence_event(ctx, event);
        evidence_of_loading(ctx, event);
        check_begins(ctx, event->step);
        return check_fail(ctx, CONFIDENCE_CERTAIN, "shape",
                          "the adapter is of another model: %s is %s in its file and %s in the model", name,
                          saved, event_capture(event, 3)) == OK;
    }
    return false;
}

static double model_number(const struct run_facts *facts, const char *name)
{
    double value;

    return setting_number(facts_setting_on(facts, SIDE_MODEL, name), &value) ? value : NAN;
}

/* What the base's config says a module takes; NaN: its name does not say. */
static double inputs_by_config(const struct run_facts *facts, const char *module)
{
    static const char *const OF_HIDDEN[] = {"q_proj",  "k_proj",          "v_proj",    "gate_proj", "up_proj",
                                            "c_attn",  "query_key_value", "W_pack",    "qkv_proj",
                                            "c_fc",    "gate_up_proj",    "fc1"};
    const char *dot = strrchr(module, '.'), *last = dot ? dot + 1 : module;
    double hidden = model_number(facts, "hidden_size");

    if (isnan(hidden))
        hidden = model_number(facts, "n_embd");
    for (size_t i = 0; i < sizeof OF_HIDDEN / sizeof *OF_HIDDEN; i++)
        if (strcmp(last, OF_HIDDEN[i]) == 0)
            return hidden;
    return strcmp(last, "down_proj") == 0 ? model_number(facts, "intermediate_size") : NAN;
}

/* The weight of the module in an imported model that is not packed by a quantiser. */
static bool base_shape(const struct run_facts *facts, const char *module, int64_t *in, int64_t *out)
{
    size_t length = strlen(module);

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        size_t n;
        const struct tensor *tensors = NULL;

        if (strcmp(a->kind, "base") != 0 || (tensors = facts_tensors(facts, a, &n)) == NULL)
            continue;
        for (size_t k = 0; k < n; k++) {
            const char *name = tensors[k].name;
            const char *at = strstr(name, module);
            int64_t shape[4];
            bool is_it = at && (at == name || at[-1] == '.') && strcmp(at + length, ".weight") == 0;
            bool is_plain = tensors[k].dtype && (strchr("FB", tensors[k].dtype[0]) != NULL) &&
                            tensors[k].dtype[0];

            if (!is_it || !is_plain || tensor_dimensions(&tensors[k], shape) != 2)
                continue;
            *out = shape[0];
            *in = shape[1];
            return true;
        }
    }
    return false;
}

/* A GPT-2 kind of linear keeps its weight the other way round. */
static bool fits_either_way(const struct lora_pair *pair, int64_t in, int64_t out)
{
    bool is_straight = (pair->n_in == NONE || pair->n_in == in) &&
                       (pair->n_out == NONE || pair->n_out == out);
    bool is_turned = (pair->n_in == NONE || pair->n_in == out) &&
                     (pair->n_out == NONE || pair->n_out == in);

    return is_straight || is_turned;
}

/* 1 something does not fit, 0 all that could be compared fits, -1 nothing could be. */
static int by_shapes(struct check_ctx *ctx, const struct adapter_facts *adapter)
{
    size_t n_compared = 0;

    for (size_t i = 0; i < adapter->n_pairs; i++) {
        const struct lora_pair *pair = &adapter->pairs[i];
        double expected = inputs_by_config(ctx->facts, pair->module);
        int64_t in, out;
        bool has_shape = base_shape(ctx->facts, pair->module, &in, &out);

        if (pair->n_in == NONE || pair->n_in == 0 || (!has_shape && isnan(expected)))
            continue;
        n_compared++;
        if (has_shape ? fits_either_way(pair, in, out) : (double)pair->n_in == expected)
            continue;
        if (!has_shape)
            in = (int64_t)expected;
        evidence_add(ctx, "artefact", "%s: %s %s", artefact_shown(ctx->facts, adapter->artefact),
                     pair->a ? pair->a->name : pair->module, pair->a ? pair->a->shape : "")
            ->source_id = adapter->artefact->source_id;
        evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_MODEL, "hidden_size"));
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "shape",
                         "the adapter is of another model: its %s takes %lld values, the base's %lld",
                         pair->module, (long long)pair->n_in, (long long)in);
        return 1;
    }
    return n_compared ? 0 : -1;
}

/* Adapted layers that the base has not. */
static bool by_depth(struct check_ctx *ctx, const struct adapter_facts *adapter)
{
    int64_t last = NONE;

    for (size_t i = 0; i < adapter->n_pairs; i++)
        if (adapter->pairs[i].layer > last)
            last = adapter->pairs[i].layer;
    if (adapter->n_layers == NONE || last < adapter->n_layers)
        return false;
    evidence_add(ctx, "artefact", "%s adapts layer %lld", artefact_shown(ctx->facts, adapter->artefact),
                 (long long)last)
        ->source_id = adapter->artefact->source_id;
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_MODEL, "num_hidden_layers"));
    return check_fail(ctx, CONFIDENCE_CERTAIN, "depth",
                      "the adapter is of another model: it adapts layer %lld, the base has %lld layers",
                      (long long)last, (long long)adapter->n_layers) == OK;
}

/* ---- Two configurations: the base that was trained and the one that is served ---- */

static const struct setting *with_role(const struct run_facts *facts, const char *name,
                                       const char *const *roles)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct source *source = facts_source(facts, s->source_id);

        for (size_t k = 0; s->side == SIDE_MODEL && s->name && strcmp(s->name, name) == 0 && s->value &&
                           s->type != VALUE_NULL && source && source->role && roles[k];
             k++)
            if (strcmp(source->role, roles[k]) == 0)
                return s;
    }
    return NULL;
}

/* Words in the names of models that leave no doubt of the type in their config. */
static const struct {
    const char *word, *type;
} FAMILIES[] = {
    {"qwen2", "qwen2"},  {"qwen3", "qwen3"},     {"mistral-7b", "mistral"}, {"llama-2", "llama"},
    {"llama-3", "llama"}, {"tinyllama", "llama"}, {"gemma-2-", "gemma2"},    {"gemma-3-", "gemma3"},
    {"phi-3", "phi3"},   {"falcon-7b", "falcon"}, {"chatglm", "chatglm"},    {"gpt2", "gpt2"},
};

static const char *family_of(const char *name)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (str_has_ignoring_case(str_of(name), FAMILIES[i].word))
            return FAMILIES[i].type;
    return NULL;
}

/* Of the text models above: a model with another type may well hold one of them. */
static bool is_family(const char *type)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (strcmp(FAMILIES[i].type, type) == 0)
            return true;
    return false;
}

/* The adapter's base is of one family by its name, the model beside it of another by its config. */
static bool by_family(struct check_ctx *ctx)
{
    static const char *const ROLES[] = {"base", "served", NULL};
    const struct setting *own = facts_setting_on(ctx->facts, SIDE_ADAPTER, "base_model_name_or_path");
    const struct setting *type = with_role(ctx->facts, "model_type", ROLES);
    const char *family = own && own->value ? family_of(own->value) : NULL;

    if (!family || !type || !is_family(type->value) || strncmp(type->value, family, 4) == 0)
        return false;
    evidence_setting(ctx, own);
    evidence_setting(ctx, type);
    return check_fail(ctx, CONFIDENCE_STRONG, "architecture",
                      "the adapter was made on %s, the model it is put on is of type %s", own->value,
                      type->value) == OK;
}

static bool by_architecture(struct check_ctx *ctx)
{
    static const char *const NAMES[] = {"model_type", "hidden_size", "num_hidden_layers"};
    static const char *const BASE[] = {"base", NULL}, *const SERVED[] = {"served", NULL};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct setting *a = with_role(ctx->facts, NAMES[i], BASE);
        const struct setting *b = with_role(ctx->facts, NAMES[i], SERVED);

        if (!a || !b || strcmp(a->value, b->value) == 0)
            continue;
        evidence_setting(ctx, a);
        evidence_setting(ctx, b);
        return check_fail(ctx, CONFIDENCE_CERTAIN, "architecture",
                          "the served model is not the base of the adapter: %s is %s there and %s in the "
                          "base", NAMES[i], b->value, a->value) == OK;
    }
    return false;
}

/* ---- Names ---- */

static bool is_stated(const struct setting *s)
{
    return s && s->value && s->value[0] && s->type != VALUE_NULL;
}

/* A base that a record of serving or the training arguments name. */
static const struct setting *named_base(const struct run_facts *facts, bool *is_served)
{
    static const char *const SERVED[] = {"base", "base_model", "base_model_name_or_path"};
    const struct serving *serving = facts_serving(facts);
    const struct setting *model = serving ? serving->model : NULL;

    *is_served = true;
    for (size_t i = 0; i < facts->n_settings; i++)
        for (size_t k = 0; k < sizeof SERVED / sizeof *SERVED; k++)
            if (facts->settings[i].side == SIDE_SERVE && is_stated(&facts->settings[i]) &&
                strcmp(facts->settings[i].raw_name, SERVED[k]) == 0)
                return &facts->settings[i];
    /* with an adapter beside it the model is its base; alone it may be the merged one */
    if (is_stated(model) && serving->n_adapters > 0 && model != serving->requested &&
        lineage_form_of(model->value) != FORM_ADAPTER)
        return model;
    *is_served = false;
    const struct setting *trained = facts_setting_on(facts, SIDE_TRAIN, "model_name_or_path");
    return is_stated(trained) ? trained : NULL;
}

/* By its name in the file: an empty value has no other. */
static const struct setting *base_of_adapter(const struct run_facts *facts,
                                             const struct artefact *adapter)
{
    static const char NAME[] = "base_model_name_or_path";
    const struct setting *own =
        adapter ? facts_setting_beside(facts, adapter->path, SIDE_ADAPTER, NAME) : NULL;

    if (!own)
        own = facts_setting_on(facts, SIDE_ADAPTER, NAME);
    for (size_t i = 0; !own && i < facts->n_settings; i++)
        if (facts->settings[i].side == SIDE_ADAPTER && strcmp(facts->settings[i].raw_name, NAME) == 0)
            own = &facts->settings[i];
    return own;
}

/* 1 they agree, 0 not (stated), -1 not to be told. */
static int by_name(struct check_ctx *ctx, const struct artefact *adapter)
{
    bool is_served;
    const struct setting *own = base_of_adapter(ctx->facts, adapter);
    const struct setting *other = named_base(ctx->facts, &is_served);

    if (own && !is_stated(own)) {
        evidence_setting(ctx, own);
        (void)check_warn(ctx, CONFIDENCE_POSSIBLE, "no-base",
                         "adapter_config.json names no base model: what it belongs to cannot be told");
        return 0;
    }
    if (!own || !other)
        return -1;
    int agree = base_names_agree(own->value, other->value);
    if (agree != 0)
        return agree;
    if (!is_served) {
        /* a later stage starts from what an earlier one made: only the served base decides */
        check_info(ctx, "the adapter names %s as its base, the training arguments %s", own->value,
                   other->value);
        return -1;
    }
    evidence_setting(ctx, own);
    evidence_setting(ctx, other);
    if (base_names_differ_in_tuning(own->value, other->value))
        (void)check_fail(ctx, CONFIDENCE_STRONG, "base-name",
                         "the adapter was made on %s, %s is served: an instruction-tuned and a plain base "
                         "are two models", own->value, other->value);
    else
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "base-name", "the adapter was made on %s, %s is served",
                         own->value, other->value);
    return 0;
}

/* The evaluation is no serving: what it loaded the adapter on is said, and decides nothing. */
static void say_evaluated_base(struct check_ctx *ctx, const struct artefact *adapter)
{
    const struct setting *own = base_of_adapter(ctx->facts, adapter);
    const struct setting *peft = facts_setting_on(ctx->facts, SIDE_EVAL, "lm_eval.peft");

    for (size_t i = 0; i < ctx->facts->n_settings && peft && is_stated(own); i++) {
        const struct setting *beside = &ctx->facts->settings[i];

        if (beside->source_id == peft->source_id && beside->raw_name &&
            strcmp(beside->raw_name, "lm_eval.pretrained") == 0 && is_stated(beside) &&
            base_names_agree(own->value, beside->value) == 0)
            check_info(ctx, "the evaluation loaded the adapter on %s, it was made on %s", beside->value,
                       own->value);
    }
}

static void by_revision(struct check_ctx *ctx)
{
    const struct setting *own = facts_setting_on(ctx->facts, SIDE_ADAPTER, "revision");
    const struct setting *other = facts_setting_on(ctx->facts, SIDE_SERVE, "revision");

    if (!is_stated(own) || !is_stated(other) || strcmp(own->value, other->value) == 0 ||
        strncmp(own->value, other->value, 7) == 0)
        return;
    evidence_setting(ctx, own);
    evidence_setting(ctx, other);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "revision",
                     "the adapter was made on revision %s of its base, %s is served", own->value,
                     other->value);
}

/* ---- Runs ---- */

static bool is_adapter_file(const struct artefact *a)
{
    return strcmp(a->kind, "adapter") == 0 && a->sha256 && artefact_is_weights(a);
}

static bool is_served(const struct artefact *a)
{
    return a->role && strcmp(a->role, "served") == 0;
}

/* The other run's adapter with these bytes, in a folder of its own. That it serves what this run
 * trained is told of it, not of this run. */
static const struct artefact *same_in(const struct run_facts *other, const struct artefact *adapter)
{
    for (size_t i = 0; i < other->n_artefacts; i++) {
        const struct artefact *a = &other->artefacts[i];
        size_t n = other->run.folder ? strlen(other->run.folder) : 0;

        if (is_adapter_file(a) && strcmp(a->sha256, adapter->sha256) == 0 &&
            strcmp(a->path, adapter->path) != 0 && n && strncmp(a->path, other->run.folder, n) == 0 &&
            (!is_served(a) || is_served(adapter)))
            return a;
    }
    return NULL;
}

static bool starts_from(const struct run_facts *facts, const struct run_facts *other)
{
    const char *start = facts_text(facts, "adapter_name_or_path");
    const char *resume = facts_text(facts, "resume_from_checkpoint");

    return (start && other->run.name && strstr(start, other->run.name)) ||
           (resume && other->run.name && strstr(resume, other->run.name));
}

/* The same rows: the same training once more, which may well end in the same bytes. */
static bool is_repeated(const struct run_facts *a, const struct run_facts *b)
{
    const struct curve *x = facts_curve(a, "loss"), *y = facts_curve(b, "loss");

    if (!x || !y || x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (x->value[i] != y->value[i] && !(isnan(x->value[i]) && isnan(y->value[i])))
            return false;
    return true;
}

static bool in_own_folder(const struct run_facts *facts, const struct artefact *a)
{
    size_t n = facts->run.folder ? strlen(facts->run.folder) : 0;

    return n && a->path && strncmp(a->path, facts->run.folder, n) == 0;
}

/* Some adapter of the run itself has these bytes. */
static bool is_of_run(const struct run_facts *facts, const struct artefact *adapter)
{
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];

        if (a != adapter && is_adapter_file(a) && in_own_folder(facts, a) &&
            strcmp(a->sha256, adapter->sha256) == 0)
            return true;
    }
    return false;
}

static bool by_hash(struct check_ctx *ctx, const struct artefact *adapter)
{
    if (!adapter || !is_adapter_file(adapter) || (adapter->role && strcmp(adapter->role, "served") == 0 &&
                                                  is_of_run(ctx->facts, adapter)))
        return false;
    for (size_t i = 0; i < ctx->n_others; i++) {
        const struct run_facts *other = ctx->others[i];
        const struct artefact *same = same_in(other, adapter);

        if (!same || starts_from(ctx->facts, other) || starts_from(other, ctx->facts) ||
            is_repeated(ctx->facts, other))
            continue;
        evidence_add(ctx, "artefact", "%s: sha256 %.12s", artefact_shown(ctx->facts, adapter),
                     adapter->sha256)
            ->source_id = adapter->source_id;
        evidence_add(ctx, "artefact", "%s of %s has the same bytes", artefact_shown(other, same),
                     other->run.name);
        return check_fail(ctx, CONFIDENCE_CERTAIN, "equal-hash",
                          "the adapter is that of the run %s: the same sha256 %.12s",
                          other->run.name ? other->run.name : "beside it", adapter->sha256) == OK;
    }
    return false;
}

/* What is served is of a step that this run never reached. */
static bool by_step(struct check_ctx *ctx)
{
    const struct setting *step = facts_setting_on(ctx->facts, SIDE_SERVE, "step");
    double served;

    if (!setting_number(step, &served) || ctx->facts->last_step == NONE ||
        served <= (double)ctx->facts->last_step)
        return false;
    evidence_setting(ctx, step);
    return check_warn(ctx, CONFIDENCE_LIKELY, "step",
                      "the served adapter is of step %.0f, this run ended at step %lld", served,
                      (long long)ctx->facts->last_step) == OK;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct artefact *adapter = adapter_of_run(ctx->facts);
    struct adapter_facts facts;
    int shapes = -1, names;
    bool has_pairs =
        adapter && adapter_facts_read(ctx->facts, adapter, ctx->arena, &facts) && facts.n_pairs > 0;

    (void)err;
    if (!by_message(ctx) && has_pairs && !by_depth(ctx, &facts))
        shapes = by_shapes(ctx, &facts);
    if (!by_architecture(ctx))
        (void)by_family(ctx);
    names = by_name(ctx, adapter);
    say_evaluated_base(ctx, adapter);
    by_revision(ctx);
    (void)by_hash(ctx, adapter);
    (void)by_step(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (names == 1 && shapes != -1)
        return check_pass(ctx, CONFIDENCE_STRONG, "the base's name and the shapes of %zu pairs fit",
                          facts.n_pairs);
    if (names == 1)
        return check_pass(ctx, CONFIDENCE_LIKELY, "the adapter names the base that is used");
    if (shapes == 0)
        return check_pass(ctx, CONFIDENCE_LIKELY, "the shapes of %zu pairs fit the base", facts.n_pairs);
    if (!adapter && !base_of_adapter(ctx->facts, NULL))
        return check_unknown(ctx, "adapter_config.json and the adapter's weights");
    return check_unknown(ctx, "the base model's config.json or the serving record (serve.json): which base "
                              "the adapter is used with");
}

const struct check check_wrong_adapter = {
    .id = "wrong-adapter",
    .version = 2,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_MISLEADS,
    .title = "The loaded adapter belongs to this base and this run",
    .why = "An adapter of another base or another run loads without a word where the shapes fit, and "
           "answers like neither.",
    .applies = applies,
    .run = run,
};
