/* C7.4: do runs that are compared differ in one knob? Of the other runs of the project the one that
 * differs in the fewest groups is taken: where a run with one group changed exists, the comparison that
 * C7.4 asks for can be made. */
#include "core/checks/gate.h"
#include "core/checks/run_pairs.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = facts->run.marks & MARK_TEN_ROW_TEST ? "a ten-row test is compared with nothing"
                                                   : "nothing was trained";
    return !(facts->run.marks & (MARK_TEN_ROW_TEST | MARK_EVAL_ONLY));
}

/* Fewer groups, then the same seed. Copies of one run tell nothing of a knob, and neither does the same
 * run with another seed: they are taken when there is nothing else. */
static bool is_nearer(const struct run_pair *a, const struct run_pair *b)
{
    if ((a->n_knobs == 0) != (b->n_knobs == 0))
        return b->n_knobs == 0;
    if (a->n_knobs != b->n_knobs)
        return a->n_knobs < b->n_knobs;
    return !a->seed_differs && b->seed_differs;
}

static int warn(struct check_ctx *ctx, const struct run_pair *pair)
{
    const char *name = pair->other->run.name ? pair->other->run.name : "the other run";

    evidence_knobs(ctx, pair, pair->knobs | 1u << KNOB_SEED);
    check_fix(ctx, "rerun with one group changed and the same seed");
    if (pair->n_knobs >= 2)
        return check_warn(ctx, CONFIDENCE_LIKELY, "groups",
                          "%zu groups of settings differ from %s: %s%s", pair->n_knobs, name,
                          run_pair_knobs(ctx, pair), pair->seed_differs ? "; the seed too" : "");
    if (pair->seed_differs)
        return check_warn(ctx, CONFIDENCE_LIKELY, "seed", "besides %s the seed differs from %s",
                          run_pair_knobs(ctx, pair), name);
    return check_warn(ctx, CONFIDENCE_POSSIBLE, "seed-unset",
                      "%s differs from %s, and no seed is set in one of them", run_pair_knobs(ctx, pair),
                      name);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct run_pair best = {0};
    const struct check *failed = NULL;

    if (ctx->n_others == 0)
        return check_skip(ctx, "there is one run only");
    int rc = gate_failure(ctx, &failed, err);
    if (rc != OK || failed)
        return rc != OK ? rc : check_skip(ctx, "not yet: %s fails", failed->id);
    for (size_t i = 0; i < ctx->n_others; i++) {
        struct run_pair pair;

        if (!runs_are_comparable(ctx->facts, ctx->others[i]))
            continue;
        if (!run_pair_read(ctx, ctx->others[i], &pair))
            return error_set(err, E_NOMEM, "no memory to compare two runs");
        if (!best.other || is_nearer(&pair, &best))
            best = pair;
    }
    if (!best.other)
        return check_unknown(ctx, "a second run of this kind and base model with its training arguments");
    const char *name = best.other->run.name ? best.other->run.name : "the other run";
    if (best.n_knobs == 0 && !best.seed_differs)
        return check_pass(ctx, CONFIDENCE_LIKELY, "no setting that was stated differs from %s", name);
    if (best.n_knobs == 0) {
        evidence_knobs(ctx, &best, 1u << KNOB_SEED);
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "only the seed differs from %s: what the two differ by is the noise of a run",
                          name);
    }
    if (best.n_knobs >= 2 || best.seed_differs || best.seed_is_unset)
        return warn(ctx, &best);
    evidence_knobs(ctx, &best, best.knobs);
    return check_pass(ctx, CONFIDENCE_STRONG, "only %s differs from %s, and the seed is the same",
                      run_pair_knobs(ctx, &best), name);
}

const struct check check_many_knobs = {
    .id = "many-knobs",
    .version = 2,
    .stage = STAGE_HYPERPARAMETERS,
    .severity = SEVERITY_WASTES,
    .title = "Runs that are compared differ in one knob",
    .why = "When several settings change at once, or the seed with them, nobody can say which of them "
           "made the difference.",
    .applies = applies,
    .run = run,
};
