/* wrong-artefact (CHECKS.md C1.5): is what was evaluated what is deployed? By hash, by kind of file, by
 * step, and where nothing else is known by name. */
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/lineage.h"

enum { SHOWN = 4 };

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "evaluate the exact file that is deployed");
    check_fix(ctx, "record its sha256 with the result (eval_results.jsonl: sha256) and with the deployment");
}

/* ---- Weights that a loader left out ---- */

static void say_unused(struct check_ctx *ctx, const struct event *event, const char *name)
{
    evidence_event(ctx, event);
    check_begins(ctx, event->step);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "unused",
                     "weights of the checkpoint were not used by the class that loaded it, first %s "
                     "(%s:%lld)",
                     name, facts_file_name(ctx->facts, event->source_id), (long long)event->line);
}

/* Towers that a text class leaves out on purpose. */
static bool is_left_out_on_purpose(const char *key)
{
    static const char *const WORDS[] = {"vision", "visual", "audio", "image", "multi_modal", "mtp",
                                        "_head", "pooler"};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(key, WORDS[i]))
            return true;
    return key_is_head(key) || key_is_buffer(key) || strstr(key, "lora_") != NULL;
}

static void by_messages(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, NULL, event))) {
        const char *pattern = event->pattern ? event->pattern : "";
        const char *name = event_capture(event, 1);
        struct key_list keys;

        if (strcmp(pattern, "weights-not-used") == 0) {
            key_list_read(event_capture(event, 3), ctx->arena, &keys);
            /* an adapter's keys in a whole model, "base_model.model.lm_head.weight", are no old head */
            const char *adapted = strstr(event_capture(event, 3), "base_model.model.");
            if (!adapted && (!keys.first || is_left_out_on_purpose(keys.first)))
                continue;
            say_unused(ctx, event, adapted ? "base_model.model. …" : keys.first);
        } else if (strcmp(pattern, "load-report") == 0 &&
                   strcmp(event_capture(event, 2), "UNEXPECTED") == 0 &&
                   (strncmp(name, "base_model.model.", 17) == 0 || !is_left_out_on_purpose(name)) &&
                   !strstr(name, "lora_")) {
            say_unused(ctx, event, name);
        } else {
            continue;
        }
        return;
    }
}

/* ---- Records ---- */

static const char *describe(struct check_ctx *ctx, const struct lineage_node *node)
{
    const char *text = node->name[0] ? node->name : "a file without a name";

    if (node->sha256)
        text = arena_printf(ctx->arena, "%s, sha256 %.12s", text, node->sha256);
    if (node->step != NONE)
        text = arena_printf(ctx->arena, "%s, step %lld", text, (long long)node->step);
    if (node->quantisation)
        text = arena_printf(ctx->arena, "%s, %s", text, node->quantisation);
    if (node->dtype)
        text = arena_printf(ctx->arena, "%s, %s", text, node->dtype);
    return text;
}

static void show(struct check_ctx *ctx, const struct lineage_node *node)
{
    struct evidence *e = evidence_add(ctx, "artefact", "%s: %s", lineage_role_name(node->role),
                                      describe(ctx, node));

    e->source_id = node->source_id;
    e->line = node->line;
    e->step = node->step;
}

/* What the run itself has under that hash. */
static void show_origin(struct check_ctx *ctx, const struct lineage *lineage, size_t node)
{
    for (size_t i = 0; i < lineage->n_links; i++) {
        const struct lineage_link *link = &lineage->links[i];

        if (link->to != node || link->state != LINK_SAME ||
            lineage->nodes[link->from].role == LINEAGE_EVALUATED)
            continue;
        evidence_add(ctx, "artefact", "the %s file has the bytes of %s",
                     lineage_role_name(lineage->nodes[node].role), lineage->nodes[link->from].name)
            ->source_id = lineage->nodes[link->from].source_id;
        return;
    }
}

struct sides {
    size_t n_evaluated, n_served;       /* nodes */
    bool has_record;                    /* a record says what is served: files beside it do not count */
};

static bool counts(const struct lineage_node *node, const struct sides *sides)
{
    return node->role != LINEAGE_SERVED || node->is_record || !sides->has_record;
}

static void count_sides(const struct lineage *lineage, struct sides *out)
{
    *out = (struct sides){0};
    for (size_t i = 0; i < lineage->n_nodes; i++) {
        const struct lineage_node *node = &lineage->nodes[i];

        out->n_evaluated += node->role == LINEAGE_EVALUATED;
        out->n_served += node->role == LINEAGE_SERVED;
        out->has_record |= node->role == LINEAGE_SERVED && node->is_record &&
                           (node->sha256 || node->step != NONE || node->form != FORM_UNKNOWN);
    }
}

/* The best link: one evaluated artefact that is the served one is enough. */
static const struct lineage_link *best_link(const struct lineage *lineage, const struct sides *sides)
{
    static const int ORDER[] = {[LINK_SAME] = 3, [LINK_LIKELY] = 2, [LINK_BROKEN] = 1, [LINK_UNKNOWN] = 0};
    static const int BY[] = {[BY_HASH] = 4, [BY_FORM] = 3, [BY_STEP] = 2, [BY_NAME] = 1, [BY_NOTHING] = 0};
    const struct lineage_link *best = NULL;

    for (size_t i = 0; i < lineage->n_links; i++) {
        const struct lineage_link *link = &lineage->links[i];

        if (lineage->nodes[link->from].role != LINEAGE_EVALUATED ||
            !counts(&lineage->nodes[link->to], sides))
            continue;
        if (!best || ORDER[link->state] > ORDER[best->state] ||
            (link->state == best->state && BY[link->by] > BY[best->by]))
            best = link;
    }
    return best;
}

static void show_sides(struct check_ctx *ctx, const struct lineage *lineage, const struct sides *sides,
                       const struct lineage_link *link)
{
    size_t n = 0;

    show(ctx, &lineage->nodes[link->from]);
    show(ctx, &lineage->nodes[link->to]);
    show_origin(ctx, lineage, link->to);
    for (size_t i = 0; i < lineage->n_nodes && n < SHOWN; i++)
        if (lineage->nodes[i].role == LINEAGE_EVALUATED && i != link->from) {
            show(ctx, &lineage->nodes[i]);
            n++;
        }
    (void)sides;
}

static int broken(struct check_ctx *ctx, const struct lineage *lineage, const struct sides *sides,
                  const struct lineage_link *link)
{
    const struct lineage_node *served = &lineage->nodes[link->to];

    show_sides(ctx, lineage, sides, link);
    switch (link->by) {
    case BY_HASH:
        return check_fail(ctx, CONFIDENCE_CERTAIN, "hash",
                          "no evaluation is of the file that is served: %s", link->why);
    case BY_FORM:
        return check_fail(ctx, CONFIDENCE_STRONG, "kind", "what is served was not evaluated: %s", link->why);
    case BY_STEP:
        return check_fail(ctx, CONFIDENCE_STRONG, "step", "what is served was not evaluated: %s", link->why);
    case BY_NAME:
    case BY_NOTHING:
        break;
    }
    return check_warn(ctx, CONFIDENCE_POSSIBLE, "name",
                      "by its name what is served (%s) was not evaluated: %s", served->name, link->why);
}

/* The record names a file whose bytes are others than it says. */
static void by_record_of_file(struct check_ctx *ctx, const struct lineage *lineage)
{
    for (size_t i = 0; i < lineage->n_nodes; i++) {
        const struct lineage_node *node = &lineage->nodes[i];

        if (node->role != LINEAGE_SERVED || !node->is_record || !node->artefact ||
            lineage_hashes_agree(node->sha256, node->artefact->sha256) != 0)
            continue;
        show(ctx, node);
        evidence_add(ctx, "artefact", "%s: sha256 %.12s", artefact_shown(ctx->facts, node->artefact),
                     node->artefact->sha256)
            ->source_id = node->artefact->source_id;
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "file",
                         "the deployed file is another than its record says: %s has sha256 %.12s",
                         artefact_shown(ctx->facts, node->artefact), node->artefact->sha256);
        return;
    }
}

/* The weights may be the same and what was computed with them is not. */
static void say_precision(struct check_ctx *ctx, const struct lineage *lineage)
{
    static const char *const NAMES[] = {"lm_eval.load_in_4bit", "lm_eval.load_in_8bit"};

    for (size_t i = 0; i < 2; i++) {
        const struct setting *loaded = facts_setting_on(ctx->facts, SIDE_EVAL, NAMES[i]);

        if (!loaded || !loaded->value || !str_is_ignoring_case(str_of(loaded->value), "true"))
            continue;
        for (size_t k = 0; k < lineage->n_nodes; k++)
            if (lineage->nodes[k].role == LINEAGE_SERVED && !lineage->nodes[k].quantisation &&
                lineage->nodes[k].form != FORM_QUANTISED && lineage->nodes[k].form != FORM_GGUF) {
                evidence_setting(ctx, loaded);
                check_info(ctx, "the evaluation loaded the model in %s bit, what is served names no "
                                "quantisation: its score is that of the packed model",
                           i == 0 ? "4" : "8");
                return;
            }
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct lineage *lineage = facts_lineage(ctx->facts);
    struct sides sides;

    if (!lineage)
        return error_set(err, E_NOMEM, "no memory for what was trained, evaluated and served");
    count_sides(lineage, &sides);
    const struct lineage_link *link = best_link(lineage, &sides);
    if (link && link->state == LINK_BROKEN)
        (void)broken(ctx, lineage, &sides, link);
    by_record_of_file(ctx, lineage);
    by_messages(ctx);
    say_precision(ctx, lineage);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (link && link->state == LINK_SAME)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "the served file was evaluated: the same sha256 %.12s",
                          lineage->nodes[link->to].sha256);
    if (link && link->state == LINK_LIKELY)
        return check_unknown(ctx, "the sha256 of what was evaluated and of what is served: so far %s is all "
                                  "that joins them", link->why);
    if (sides.n_evaluated == 0)
        return check_unknown(ctx, "the results of the evaluation, with the artefact and its sha256 "
                                  "(eval_results.jsonl)");
    return check_unknown(ctx, "what is deployed: deploy.json with artefact, sha256 and quantization");
}

const struct check check_wrong_artefact = {
    .id = "wrong-artefact",
    .version = 1,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_MISLEADS,
    .title = "What was evaluated is what is deployed",
    .why = "Merging, converting and quantising make new files; a score belongs to the file it was measured "
           "on and to no other.",
    .run = run,
};
