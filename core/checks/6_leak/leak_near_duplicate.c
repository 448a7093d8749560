/* C6.1: is a test row a copy or a near copy of a training row? */
#include "core/checks/leak_evidence.h"

enum { SHOWN_PAIRS = 10 };

static const double COPIES = 0.01, CONTAINED = 0.05;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

/* The larger the worse: a FAIL before any WARN, then the share of leaked rows. */
static double weight(const struct leak_set *set)
{
    bool has_failed =
        set->n_leaked > 0 && (leak_share(set->n_near, set->n_compared) >= COPIES ||
                              leak_share(set->n_contained, set->n_compared) >= CONTAINED);

    return (has_failed ? 2.0 : 0.0) + leak_share(set->n_leaked, set->n_compared);
}

static const struct leak_set *worst_of(const struct leaks *leaks)
{
    const struct leak_set *worst = &leaks->sets[0];

    for (size_t i = 1; i < leaks->n_sets; i++)
        if (weight(&leaks->sets[i]) > weight(worst))
            worst = &leaks->sets[i];
    return worst;
}

static void show_pairs(struct check_ctx *ctx, const struct leak_set *set)
{
    for (size_t i = 0; i < set->n_pairs && i < SHOWN_PAIRS; i++) {
        const struct leak_pair *pair = &set->pairs[i];
        bool is_facts = leaks_dataset_is_facts(pair->test);
        struct evidence *e = evidence_add(
            ctx, "dataset", "%s%s%s row %lld of %s (Jaccard %.3f, containment %.3f)",
            is_facts ? pair->test->name : "", is_facts ? ": " : "",
            pair->flags & LEAK_EXACT ? "a copy of" : "like", (long long)pair->train_row,
            pair->train->name, leak_jaccard(pair), leak_containment(pair));

        e->source_id = pair->test->source_id;
        e->row = pair->row;
    }
    if (set->n_leaked > (int64_t)set->n_pairs)
        check_info(ctx, "all %lld such rows are counted and listed; of the first %zu alone it is kept which "
                        "training row each is like",
                   (long long)set->n_leaked, set->n_pairs);
    if (set->n_leaked > SHOWN_PAIRS)
        check_info(ctx, "%lld more such test rows: flatline make drop-rows lists all",
                   (long long)set->n_leaked - SHOWN_PAIRS);
}

static void tell_others(struct check_ctx *ctx, const struct leaks *leaks,
                        const struct leak_set *worst)
{
    for (size_t i = 0; i < leaks->n_sets; i++)
        if (&leaks->sets[i] != worst)
            check_info(ctx, "%s: %lld of %lld rows are copies, near copies or contained",
                       leaks->sets[i].name, (long long)leaks->sets[i].n_leaked,
                       (long long)leaks->sets[i].n_compared);
}

static void show(struct check_ctx *ctx, const struct leaks *leaks, const struct leak_set *set)
{
    evidence_number(ctx, leak_share(set->n_near, set->n_compared), COPIES,
                    "share of %s with an exact or near copy in training", set->name);
    evidence_number(ctx, leak_share(set->n_contained, set->n_compared), CONTAINED,
                    "share of %s that stands in a training row", set->name);
    show_pairs(ctx, set);
    leak_scores(ctx, set);
    leak_tell(ctx, leaks, set);
    tell_others(ctx, leaks, set);
    check_fix(ctx, "take the %lld rows out of the test set (flatline make drop-rows)",
              (long long)set->n_leaked);
    check_fix(ctx, "split by the key that the near copies share (flatline make group-split)");
    check_fix(ctx, "evaluate again on the clean rows%s",
              leaks->limits ? "" : " (flatline make clean-test)");
}

static int say_leak(struct check_ctx *ctx, const struct leaks *leaks, const struct leak_set *set)
{
    const double near = leak_share(set->n_near, set->n_compared);
    const double contained = leak_share(set->n_contained, set->n_compared);
    const enum confidence sure = leak_is_whole(leaks, set) ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG;

    show(ctx, leaks, set);
    if (set->n_exact > 1 && set->n_exact == set->n_compared && set->n_not_compared == 0)
        return check_fail(ctx, sure, "exact",
                          "%s is training data again: each of its %lld rows is a training row, input "
                          "and target",
                          set->name, (long long)set->n_compared);
    if (near >= COPIES)
        return check_fail(ctx, sure, set->n_exact ? "exact" : "near",
                          "%lld of %lld test rows in %s (%.3g %%) are copies or near copies of "
                          "training rows (Jaccard >= 0.8), %lld of them exact",
                          (long long)set->n_near, (long long)set->n_compared, set->name,
                          100.0 * near, (long long)set->n_exact);
    if (contained >= CONTAINED)
        return check_fail(ctx, sure, "contained",
                          "%lld of %lld test rows in %s (%.3g %%) stand in a training row "
                          "(containment >= 0.8)",
                          (long long)set->n_contained, (long long)set->n_compared, set->name,
                          100.0 * contained);
    return check_warn(ctx, sure, "few",
                      "%lld of %lld test rows in %s are copies of training rows or near them: %lld "
                      "exact or at Jaccard >= 0.8, %lld contained",
                      (long long)set->n_leaked, (long long)set->n_compared, set->name,
                      (long long)set->n_near, (long long)set->n_contained);
}

/* Nothing was found: is that of all rows? */
static int say_clean(struct check_ctx *ctx, const struct leaks *leaks)
{
    int64_t n = 0;

    for (size_t i = 0; i < leaks->n_sets; i++) {
        const struct leak_set *set = &leaks->sets[i];

        leak_tell(ctx, leaks, set);
        n += set->n_compared;
        if (set->n_rows == 0)
            return check_unknown(ctx, "rows in %s, which has none that can be read", set->name);
        if (!leak_is_whole(leaks, set))
            return check_unknown(ctx,
                                 "all rows of %s and of training, readable: not each test row was "
                                 "compared",
                                 set->name);
    }
    if (n == 0)
        return check_unknown(ctx, "test rows of more than three words");
    if (leaks->limits)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "none of %lld test rows is a copy of one of %lld training rows or near one "
                          "(Jaccard 0.8); of rows inside longer ones the bands of facts show a part",
                          (long long)n, (long long)leaks->n_train);
    return check_pass(ctx, CONFIDENCE_CERTAIN,
                      "none of %lld test rows is a copy of one of %lld training rows or near one "
                      "(Jaccard 0.8, containment 0.8)",
                      (long long)n, (long long)leaks->n_train);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct leaks *leaks = facts_leaks(ctx->facts);

    (void)err;
    if (!leaks || leaks->n_sets == 0)
        return leak_unknown(ctx);
    const struct leak_set *worst = worst_of(leaks);
    return worst->n_leaked > 0 ? say_leak(ctx, leaks, worst) : say_clean(ctx, leaks);
}

const struct check check_leak_near_duplicate = {
    .id = "leak-near-duplicate",
    .version = 1,
    .stage = STAGE_LEAK,
    .severity = SEVERITY_MISLEADS,
    .title = "No test row is a near copy of a training row",
    .why =
        "A model that saw the test rows is measured on what it remembers. Rows derived from logs "
        "come from templates, so near copies cross a split by rows easily.",
    .needs = NEEDS_DATASET | NEEDS_TEST_DATASET,
    .applies = applies,
    .run = run,
};
