/* Which trainer's mask rules a run followed: the framework by what its files prove, in the order of
 * MASKS.md ("Which policy"). The rules of each are in mask_policy_*.c; nothing is simulated here.
 */
#include <stdio.h>
#include <string.h>

#include "core/facts/facts_cache.h"
#include "core/facts/mask_policy_parts.h"

static const char ASK_FOR_LABELS[] =
    "labels_sample.jsonl: a few collated rows with input_ids and labels";

/* ---- Evidence ---- */

const struct event *policy_event(const struct policy_maker *maker, const char *prefix)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_events; i++)
        if (facts->events[i].pattern &&
            strncmp(facts->events[i].pattern, prefix, strlen(prefix)) == 0)
            return &facts->events[i];
    return NULL;
}

/* "train.log:12", "training_args.bin". */
static const char *policy_place(const struct policy_maker *maker, int64_t source_id, int64_t line)
{
    const char *name = facts_file_name(maker->facts, source_id);

    if (!*name)
        return "what the user said";
    return line > 0 ? arena_printf(maker->arena, "%s:%lld", name, (long long)line)
                    : arena_strdup(maker->arena, name);
}

const struct setting *policy_raw(const struct policy_maker *maker, const char *const *names)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const char *dot = strrchr(s->raw_name, '.');

        if (s->side != SIDE_TRAIN || s->type == VALUE_NULL)
            continue;
        for (size_t k = 0; names[k]; k++)
            if (strcmp(dot ? dot + 1 : s->raw_name, names[k]) == 0)
                return s;
    }
    return NULL;
}

const struct setting *policy_class(const struct policy_maker *maker, const char *word)
{
    const struct setting *class = facts_setting(maker->facts, "args_class");

    return class && class->value && strstr(class->value, word) ? class : NULL;
}

enum tri policy_tri(const struct policy_maker *maker, const char *name)
{
    int is = facts_bool(maker->facts, name);

    return is == 1 ? YES : is == 0 ? NO : AUTO;
}

int64_t policy_max_length(const struct policy_maker *maker, int64_t standard, bool *is_stated)
{
    const struct setting *setting = facts_setting(maker->facts, "max_length");
    double limit;

    if (is_stated)
        *is_stated = setting != NULL;
    if (!setting)
        return standard;
    if (setting->type == VALUE_NULL)
        return NONE;
    return setting_number(setting, &limit) && limit >= 1 && limit < 1e9 ? (int64_t)limit : standard;
}

struct label_policy policy_of(const struct policy_maker *maker, enum mask_rule rule,
                              int64_t max_length)
{
    const struct audit_ids *ids = &maker->ids;
    const char *text_field = facts_text(maker->facts, "dataset_text_field");

    return (struct label_policy){
        .rule = rule,
        .completion_only = AUTO,
        .assistant_only = AUTO,
        .train_on_prompt = AUTO,
        .mask_history = AUTO,
        .efficient_eos = AUTO,
        .enable_thinking = AUTO,
        .train_on_inputs = AUTO,
        .last_response_only = AUTO,
        .max_length = max_length,
        .cut_keeps_end = ids->cut_keeps_end,
        .packs = facts_bool(maker->facts, "packing") == 1,
        .pad_id = ids->pad,
        .eos_id = ids->eos,
        .bos_id = ids->bos,
        .eos_text = ids->eos_text ? str_of(ids->eos_text) : (struct str){0},
        .bos_text = ids->bos_text ? str_of(ids->bos_text) : (struct str){0},
        .columns = {.text = text_field},
    };
}

void policy_assume(const struct policy_maker *maker, const char **assumption, const char *clause)
{
    *assumption = *assumption ? arena_printf(maker->arena, "%s; %s", *assumption, clause)
                              : arena_strdup(maker->arena, clause);
}

/* ---- The framework ---- */

static const char *versioned(const struct policy_maker *maker, const char *shown,
                             const char *package)
{
    const char *version = facts_package(maker->facts, package);

    return version ? arena_printf(maker->arena, "%s %s", shown, version) : shown;
}

/* What proves a framework: an importer, a class, lines of the log, settings of its own, a package.
 */
struct proof {
    const char *importers[3], *class, *event, *package;
    const char *raw[6];
};

static bool by_importer(struct policy_maker *maker, const struct proof *proof)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_sources; i++)
        for (size_t k = 0; k < 3 && proof->importers[k]; k++)
            if (strcmp(facts->sources[i].importer, proof->importers[k]) == 0) {
                maker->out->because = policy_place(maker, facts->sources[i].id, NONE);
                return true;
            }
    return false;
}

static bool by_setting(struct policy_maker *maker, const struct setting *setting)
{
    if (!setting)
        return false;
    maker->out->because = arena_printf(maker->arena, "%s in %s", setting->raw_name,
                                       policy_place(maker, setting->source_id, setting->line));
    return true;
}

static bool by_package(struct policy_maker *maker, const char *package)
{
    const char *version = package ? facts_package(maker->facts, package) : NULL;

    if (!version)
        return false;
    for (size_t i = 0; i < maker->facts->n_settings; i++) {
        const struct setting *s = &maker->facts->settings[i];

        if (s->value == version) {
            maker->out->because = arena_printf(maker->arena, "%s %s in %s", package, version,
                                               policy_place(maker, s->source_id, s->line));
            return true;
        }
    }
    return false;
}

static bool is_proven(struct policy_maker *maker, const struct proof *proof)
{
    const struct event *event = proof->event ? policy_event(maker, proof->event) : NULL;

    if (by_importer(maker, proof))
        return true;
    if (proof->class && policy_class(maker, proof->class)) {
        const struct setting *class = policy_class(maker, proof->class);

        maker->out->because = arena_printf(maker->arena, "%s in %s", class->value,
                                           policy_place(maker, class->source_id, NONE));
        return true;
    }
    if (event) {
        maker->out->because = policy_place(maker, event->source_id, event->line);
        return true;
    }
    return by_setting(maker, policy_raw(maker, proof->raw)) || by_package(maker, proof->package);
}

static const struct proof LLAMAFACTORY = {
    .importers = {"llamafactory", "trainer_log"},
    .class = "llamafactory",
    .event = "llf-",
    .package = "llamafactory",
    .raw = {"train_on_prompt", "mask_history", "neat_packing"},
};
static const struct proof AXOLOTL = {
    .importers = {"axolotl"},
    .event = "axolotl-",
    .package = "axolotl",
    .raw = {"sequence_len", "roles_to_train", "train_on_eos", "sample_packing",
            "excess_length_strategy"},
};
static const struct proof UNSLOTH = {
    .importers = {"unsloth"},
    .class = "unsloth",
    .event = "unsloth-",
    .package = "unsloth",
    .raw = {"instruction_part", "response_part", "train_on_responses_only"},
};
/* The class of its arguments before the package: a run may have TRL installed and use the plain
 * Trainer. */
static const struct proof TRL = {
    .class = "SFTConfig",
    .event = "trl-",
    .raw = {"completion_only_loss", "assistant_only_loss"},
};
static const struct proof TRL_LOOSE = {.package = "trl"};

/* Was the setting told to the masking code itself? A script's option of that name may be unused. */
static const struct setting *marker_setting(const struct policy_maker *maker)
{
    const struct setting *marker = facts_setting(maker->facts, "response_template");

    if (!marker || !marker->value || marker->type == VALUE_NULL)
        return NULL;
    bool is_certain = facts_source_is(maker->facts, marker->source_id, "side_files") ||
                      policy_event(maker, "response-key") || marker->source_id == 0;

    return is_certain || (facts_bool(maker->facts, "assistant_only_loss") != 1 &&
                          facts_bool(maker->facts, "completion_only_loss") != 1)
               ? marker
               : NULL;
}

static bool is_other_trainer(const struct policy_maker *maker)
{
    const struct setting *class = facts_setting(maker->facts, "args_class");

    return class && class->value && !strstr(class->value, "SFTConfig") &&
           !strstr(class->value, "unsloth") && !strstr(class->value, "llamafactory");
}

static void unknown(struct policy_maker *maker)
{
    struct mask_policy *out = maker->out;

    out->because = NULL;
    if (is_other_trainer(maker)) {
        const struct setting *class = facts_setting(maker->facts, "args_class");

        out->framework = "transformers' Trainer";
        out->because = arena_printf(maker->arena, "%s in %s", class->value,
                                    policy_place(maker, class->source_id, NONE));
        out->missing =
            arena_printf(maker->arena, "%s (the run's own code made the labels)", ASK_FOR_LABELS);
        return;
    }
    out->missing =
        arena_printf(maker->arena, "the training arguments or the log, to know the trainer; or %s",
                     ASK_FOR_LABELS);
}

/* Trainers that make their labels in a way of their own, by their settings files. */
static bool is_not_simulated(struct policy_maker *maker)
{
    static const struct {
        const char *importer, *shown;
    } TRAINERS[] = {{"ms_swift", "ms-swift"},
                    {"torchtune", "torchtune"},
                    {"litgpt", "LitGPT"},
                    {"nemo", "NeMo"}};

    for (size_t i = 0; i < sizeof TRAINERS / sizeof *TRAINERS; i++) {
        const struct proof proof = {.importers = {TRAINERS[i].importer}};

        if (!by_importer(maker, &proof))
            continue;
        maker->out->framework = TRAINERS[i].shown;
        maker->out->missing = arena_printf(maker->arena, "%s (labels of %s are not simulated)",
                                           ASK_FOR_LABELS, TRAINERS[i].shown);
        return true;
    }
    return false;
}

static bool is_simulated_kind(enum run_kind kind)
{
    return kind == KIND_SFT || kind == KIND_PRETRAINING || kind == KIND_SEQ2SEQ ||
           kind == KIND_UNKNOWN;
}

static void choose(struct policy_maker *maker)
{
    const struct setting *marker = marker_setting(maker);
    struct mask_policy *out = maker->out;

    if (!is_simulated_kind(maker->facts->run.kind)) {
        out->missing = arena_printf(maker->arena, "%s (labels of a %s run are not simulated)",
                                    ASK_FOR_LABELS, run_kind_name(maker->facts->run.kind));
    } else if (is_proven(maker, &LLAMAFACTORY)) {
        out->framework = versioned(maker, "LLaMA-Factory", "llamafactory");
        policy_llamafactory(maker);
    } else if (marker) {
        by_setting(maker, marker);
        out->framework = versioned(maker, "TRL", "trl");
        policy_response_template(maker, marker);
    } else if (is_proven(maker, &AXOLOTL)) {
        out->framework = versioned(maker, "axolotl", "axolotl");
        policy_axolotl(maker);
    } else if (is_proven(maker, &UNSLOTH)) {
        out->framework = versioned(maker, "Unsloth", "unsloth");
        policy_unsloth(maker);
    } else if (is_not_simulated(maker)) {
        return;
    } else if (is_proven(maker, &TRL) ||
               (!is_other_trainer(maker) && is_proven(maker, &TRL_LOOSE))) {
        out->framework = versioned(maker, "TRL", "trl");
        policy_trl(maker);
    } else {
        unknown(maker);
    }
    if (!out->is_known && !out->missing)
        out->missing = ASK_FOR_LABELS;
}

void mask_policy_choose(const struct run_facts *facts, struct arena *arena, struct mask_policy *out)
{
    struct policy_maker maker = {.facts = facts, .arena = arena, .out = out};

    *out = (struct mask_policy){0};
    audit_ids_find(facts, NULL, NULL, arena, &maker.ids);
    policy_find_files(&maker);
    choose(&maker);
}
