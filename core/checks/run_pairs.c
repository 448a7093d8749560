/* Pairs of runs and the knobs by which they differ. */
#include "core/checks/run_pairs.h"

#include <math.h>
#include <string.h>

enum { FEWEST_KNOBS = 3 };

/* Settings of that many groups are stated: enough to say what differs. */
static bool states_settings(const struct run_facts *facts)
{
    unsigned seen = 0;
    int n = 0;

    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].side == SIDE_TRAIN && facts->settings[i].value)
            seen |= 1u << knob_of(facts->settings[i].name);
    for (unsigned k = KNOB_EPOCHS; k < N_KNOBS; k++)
        n += (seen >> k) & 1;
    return n >= FEWEST_KNOBS;
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

static bool same_base(const struct run_facts *a, const struct run_facts *b)
{
    const char *x = base_name(facts_text(a, "model_name_or_path"));
    const char *y = base_name(facts_text(b, "model_name_or_path"));

    return !x || !y || strcmp(x, y) == 0;
}

bool runs_are_comparable(const struct run_facts *a, const struct run_facts *b)
{
    unsigned marks = a->run.marks | b->run.marks;

    return !(marks & (MARK_TEN_ROW_TEST | MARK_EVAL_ONLY)) && a->run.kind == b->run.kind &&
           same_base(a, b) && states_settings(a) && states_settings(b);
}

static bool same_rows(const struct run_facts *a, const struct run_facts *b)
{
    int64_t x = facts_train_rows(a, NULL), y = facts_train_rows(b, NULL);

    return x == NONE || y == NONE || x == y;
}

/* What one run does not state may be the same there: it is no difference. */
static bool counts(const struct compared_setting *s)
{
    return s->knob != KNOB_NONE && !s->is_one_sided && !s->is_incidental;
}

bool run_pair_read(struct check_ctx *ctx, const struct run_facts *other, struct run_pair *out)
{
    double seed;

    *out = (struct run_pair){.other = other};
    if (!compare_settings(other, ctx->facts, ctx->arena, &out->settings, &out->n_settings))
        return false;
    for (size_t i = 0; i < out->n_settings; i++) {
        const struct compared_setting *s = &out->settings[i];

        if (!counts(s))
            continue;
        if (s->knob == KNOB_SEED)
            out->seed_differs = true;
        else
            out->knobs |= 1u << s->knob;
    }
    if (!same_rows(other, ctx->facts))
        out->knobs |= 1u << KNOB_DATA;
    for (unsigned k = KNOB_EPOCHS; k < N_KNOBS; k++)
        out->n_knobs += (out->knobs >> k) & 1;
    out->seed_is_unset =
        !facts_number(other, "seed", &seed) || !facts_number(ctx->facts, "seed", &seed);
    return true;
}

const char *run_pair_knobs(const struct check_ctx *ctx, const struct run_pair *pair)
{
    const char *text = "";

    for (unsigned k = KNOB_EPOCHS; k < N_KNOBS; k++)
        if (pair->knobs & (1u << k))
            text = arena_printf(ctx->arena, "%s%s%s", text ? text : "", text && *text ? ", " : "",
                                knob_name((enum knob)k));
    return text ? text : "several knobs";
}

void evidence_knobs(struct check_ctx *ctx, const struct run_pair *pair, unsigned knobs)
{
    const char *name = pair->other->run.name ? pair->other->run.name : "the other run";

    for (size_t i = 0; i < pair->n_settings; i++) {
        const struct compared_setting *s = &pair->settings[i];

        if (!counts(s) || !(knobs & (1u << s->knob)))
            continue;
        struct evidence *e = evidence_add(ctx, "setting", "%s = %.120s; %.120s%s in %s (%s)", s->name,
                                          s->b.text, s->a.text, s->a.is_default ? " by default" : "",
                                          name, knob_name(s->knob));
        if (s->b.setting) {
            e->source_id = s->b.setting->source_id;
            e->line = s->b.setting->line;
        }
    }
    if (!same_rows(pair->other, ctx->facts) && (knobs & (1u << KNOB_DATA)))
        evidence_add(ctx, "number", "%lld training rows; %lld in %s",
                     (long long)facts_train_rows(ctx->facts, NULL),
                     (long long)facts_train_rows(pair->other, NULL), name);
}
