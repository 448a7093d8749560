/* TRL's SFTTrainer, its response-template collator, and Unsloth on top of it (MASKS.md 1 and 2).
 * A version's behaviour is chosen by what proves it: a stated version, lines that only some
 * versions print, arguments that only some have. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/facts_cache.h"
#include "core/facts/mask_policy_parts.h"
#include "core/read/python_literal.h"

#define TRL_LENGTH 1024
#define NEWEST     "999"
#define OLDEST     "0"

/* ---- Versions ---- */

struct span_of_versions {
    const char *from, *to; /* inclusive; equal: stated */
};

static void at_least(struct span_of_versions *span, const char *version)
{
    if (version_compare(version, span->from) > 0)
        span->from = version;
}

static void at_most(struct span_of_versions *span, const char *version)
{
    if (version_compare(version, span->to) < 0)
        span->to = version;
}

static bool has_argument(const struct policy_maker *maker, const char *name)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].side == SIDE_TRAIN &&
            strcmp(facts->settings[i].raw_name, name) == 0 &&
            facts_source_is(facts, facts->settings[i].source_id, "hf_training_args"))
            return true;
    return false;
}

static struct span_of_versions trl_versions(const struct policy_maker *maker)
{
    static const struct {
        const char *argument, *since;
    } SINCE[] = {{"completion_only_loss", "0.17"}, {"packing_strategy", "0.19"}};
    struct span_of_versions span = {OLDEST, NEWEST};
    const char *stated = facts_package(maker->facts, "trl");

    if (stated)
        return (struct span_of_versions){stated, stated};
    for (size_t i = 0; i < sizeof SINCE / sizeof *SINCE; i++)
        if (has_argument(maker, SINCE[i].argument))
            at_least(&span, SINCE[i].since);
    if (facts_has_whole_arguments(maker->facts) && policy_class(maker, "SFTConfig") &&
        !has_argument(maker, "completion_only_loss"))
        at_most(&span, "0.16.99");
    if (policy_event(maker, "trl-dropping-masked"))
        at_least(&span, "1.9");
    if (policy_event(maker, "prompt-not-prefix"))
        at_least(&span, "1.15");
    if (policy_event(maker, "prompt-mismatch"))
        at_most(&span, "1.14.99");
    if (version_compare(span.from, span.to) > 0) /* the log of one run, the arguments of another */
        span.to = span.from;
    return span;
}

/* ---- The policy of a version ---- */

static bool is_since(const char *version, const char *since)
{
    return version_compare(version, since) >= 0;
}

static int64_t trl_length(const struct policy_maker *maker, const char *version)
{
    const struct setting *limit =
        facts_setting_on(maker->facts, SIDE_TOKENIZER, "model_max_length");
    double model_limit;
    int64_t standard = TRL_LENGTH;

    /* 0.12 and older: the smaller of both */
    if (!is_since(version, "0.13") && setting_number(limit, &model_limit) && model_limit >= 1 &&
        model_limit < standard)
        standard = (int64_t)model_limit;
    int64_t stated = policy_max_length(maker, standard, NULL);
    return stated == NONE && !is_since(version, "0.13") ? standard : stated;
}

static bool packs_whole(const struct policy_maker *maker)
{
    const char *strategy = facts_text(maker->facts, "packing_strategy");

    return !strategy || strcmp(strategy, "bfd") == 0 || strcmp(strategy, "ffd") == 0;
}

static struct label_policy trl_of_version(const struct policy_maker *maker, const char *version)
{
    bool is_old = !is_since(version, "0.17");
    struct label_policy policy =
        policy_of(maker, is_old ? MASK_TRL_OLD : MASK_TRL, trl_length(maker, version));

    policy.completion_only = policy_tri(maker, "completion_only_loss");
    policy.assistant_only = facts_bool(maker->facts, "assistant_only_loss") == 1 ? YES : NO;
    policy.boundary_is_prefix = is_since(version, "1.15");
    policy.drops_masked = is_since(version, "1.9");
    policy.appends_eos = !is_old;
    policy.appends_eos_id = is_since(version, "0.16") && is_old;
    policy.template_is_patched = is_since(version, "1.1") && !policy_template_has_markers(maker);
    policy.packs_whole = policy.packs && packs_whole(maker);
    if (policy.pad_id == NONE)
        policy.pad_id = policy.eos_id;
    return policy;
}

static bool differs(const struct label_policy *a, const struct label_policy *b)
{
    return a->rule != b->rule || a->boundary_is_prefix != b->boundary_is_prefix ||
           a->drops_masked != b->drops_masked || a->appends_eos != b->appends_eos ||
           a->appends_eos_id != b->appends_eos_id ||
           (a->template_is_patched != b->template_is_patched && a->assistant_only == YES) ||
           a->max_length != b->max_length;
}

/* The newest version that the evidence allows is assumed; the one before the last change is the
 * other. */
static void by_versions(struct policy_maker *maker, struct span_of_versions span)
{
    static const char *const BREAKS[] = {"1.15", "1.9", "1.1", "0.17", "0.16", "0.13"};
    static const char *const BEFORE[] = {"1.14", "1.8", "1.0", "0.16", "0.15", "0.12"};
    struct mask_policy *out = maker->out;

    out->policy = trl_of_version(maker, span.to);
    if (strcmp(span.from, span.to) == 0)
        return;
    for (size_t i = 0; i < sizeof BREAKS / sizeof *BREAKS && !out->has_other; i++) {
        if (!is_since(span.to, BREAKS[i]) || is_since(span.from, BREAKS[i]))
            continue;
        out->other = trl_of_version(maker, BEFORE[i]);
        out->has_other = differs(&out->policy, &out->other);
        if (!out->has_other)
            continue;
        out->version_assumption = arena_printf(maker->arena, "TRL %s or later", BREAKS[i]);
        out->other_assumption = arena_printf(maker->arena, "TRL before %s", BREAKS[i]);
        out->missing = "pip_freeze.txt, for the version of TRL";
    }
}

void policy_trl(struct policy_maker *maker)
{
    struct mask_policy *out = maker->out;
    bool is_stated;

    by_versions(maker, trl_versions(maker));
    out->is_known = true;
    (void)policy_max_length(maker, TRL_LENGTH, &is_stated);
    if (!is_stated)
        out->length_assumption = "max_length left at its default of 1024";
    if (!facts_setting(maker->facts, "completion_only_loss") &&
        !facts_setting(maker->facts, "assistant_only_loss") &&
        !facts_has_whole_arguments(maker->facts))
        policy_assume(maker, &out->assumption, "the loss settings left at their defaults");
}

/* ---- Markers ---- */

static void marker_of_list(const struct policy_maker *maker, const struct json *list,
                           struct marker *out)
{
    uint32_t *ids = arena_array(maker->arena, list->n + 1, sizeof *ids);

    for (const struct json *id = ids ? list->child : NULL; id; id = id->next) {
        if (!json_is(id, JSON_NUMBER) || !(id->number >= 0) || id->number >= INT32_MAX)
            return;
        ids[out->n_ids++] = (uint32_t)id->number;
    }
    out->ids = ids;
}

/* A text, or ids: "[33706, 25]". */
static struct marker marker_of(const struct policy_maker *maker, const struct setting *setting)
{
    struct marker marker = {.text = {0}};
    const struct json *list;

    if (!setting || !setting->value || setting->type == VALUE_NULL)
        return marker;
    if (setting->value[0] == '[' &&
        json_parse(str_of(setting->value), false, maker->arena, &list, NULL, NULL) == OK &&
        json_is(list, JSON_ARRAY) && list->n > 0 && json_is(list->child, JSON_NUMBER)) {
        marker_of_list(maker, list, &marker);
        return marker;
    }
    marker.text = str_of(setting->value);
    return marker;
}

void policy_response_template(struct policy_maker *maker, const struct setting *setting)
{
    struct mask_policy *out = maker->out;
    struct label_policy policy =
        policy_of(maker, MASK_RESPONSE_TEMPLATE, policy_max_length(maker, TRL_LENGTH, NULL));

    policy.response = marker_of(maker, setting);
    policy.instruction = marker_of(maker, facts_setting(maker->facts, "instruction_template"));
    policy.masks_pad_id = true;
    if (policy.pad_id == NONE)
        policy.pad_id = policy.eos_id;
    out->policy = policy;
    out->is_known = true;
    if (!policy_event(maker, "response-key") &&
        !facts_source_is(maker->facts, setting->source_id, "side_files"))
        policy_assume(maker, &out->assumption,
                      "response_template was given to DataCollatorForCompletionOnlyLM");
}

/* ---- Unsloth ---- */

/* "'<|im_start|>user\n'" as Python prints it. */
static struct marker marker_of_literal(const struct policy_maker *maker, const char *literal)
{
    const struct json *value;
    size_t used;

    if (python_literal_parse(str_of(literal), maker->arena, &value, &used, NULL) == OK &&
        json_is(value, JSON_STRING))
        return (struct marker){.text = value->text};
    return (struct marker){.text = str_of(literal)};
}

static bool find_markers(const struct policy_maker *maker, struct label_policy *policy)
{
    const struct setting *response = facts_setting(maker->facts, "response_part");
    const struct event *event = policy_event(maker, "unsloth-mask-markers");

    if (response) {
        policy->response = marker_of(maker, response);
        policy->instruction = marker_of(maker, facts_setting(maker->facts, "instruction_part"));
        return true;
    }
    if (!event)
        return false;
    policy->instruction = marker_of_literal(maker, event_capture(event, 1));
    policy->response = marker_of_literal(maker, event_capture(event, 2));
    return true;
}

/* Lines that only train_on_responses_only prints. */
static bool masks_responses(const struct policy_maker *maker)
{
    return policy_event(maker, "unsloth-removed") ||
           policy_event(maker, "unsloth-labels-ignored") ||
           facts_bool(maker->facts, "train_on_responses_only") == 1;
}

void policy_unsloth(struct policy_maker *maker)
{
    struct mask_policy *out = maker->out;
    struct label_policy policy =
        policy_of(maker, MASK_UNSLOTH, policy_max_length(maker, TRL_LENGTH, NULL));
    bool is_removing = policy_event(maker, "unsloth-removed") != NULL;

    policy.completion_only = policy_tri(maker, "completion_only_loss");
    policy.assistant_only = facts_bool(maker->facts, "assistant_only_loss") == 1 ? YES : NO;
    policy.last_response_only = policy_tri(maker, "last_response_only");
    policy.stops_at_end_tokens = true;
    policy.drops_masked = true;
    if (!find_markers(maker, &policy)) {
        out->missing = masks_responses(maker)
                           ? "instruction_part and response_part in mask_config.json"
                           : "mask_config.json with instruction_part and response_part, if "
                             "train_on_responses_only was called; or labels_sample.jsonl";
        return;
    }
    out->policy = policy;
    out->is_known = true;
    if (is_removing || policy_event(maker, "unsloth-mask-markers"))
        return; /* only newer versions print these */
    out->other = policy;
    out->other.stops_at_end_tokens = false;
    out->other.drops_masked = false;
    out->has_other = true;
    out->version_assumption = "a version of Unsloth that ends a response at the end token";
    out->other_assumption = "an older Unsloth, which runs on to the next instruction";
    out->missing = "pip_freeze.txt, for the version of Unsloth";
}
