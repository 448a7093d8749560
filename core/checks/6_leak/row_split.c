/* C6.2: does the split follow the key by which rows belong together, or was it drawn row by row? */
#include "core/checks/leak_evidence.h"

enum { SHOWN_GROUPS = 5 };

static const double MOST = 0.5, SOME = 0.1, CLUSTERED = 0.1;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

struct found {
    const struct leak_set *set;
    const struct leak_column *column; /* NULL: none */
    int level;                        /* 2 FAIL, 1 WARN, 0 fine, -1 none */
};

static double shared_share(const struct leak_column *column)
{
    return leak_share(column->n_shared_groups, column->n_test_groups);
}

static int level_of(const struct leak_column *column)
{
    double share = shared_share(column);

    if (column->is_key_by_name)
        return share >= MOST ? 2 : share >= SOME;
    return share >= MOST;
}

/* The worst column of all test sets; of equally bad ones a key by its name. */
static struct found look(const struct leaks *leaks)
{
    struct found worst = {.level = -1};

    for (size_t i = 0; i < leaks->n_sets; i++)
        for (size_t k = 0; k < leaks->sets[i].n_columns; k++) {
            const struct leak_column *column = &leaks->sets[i].columns[k];
            int level = level_of(column);

            if (level > worst.level ||
                (level == worst.level && column->is_key_by_name && !worst.column->is_key_by_name))
                worst = (struct found){&leaks->sets[i], column, level};
        }
    return worst;
}

static bool has_key(const struct leak_set *set)
{
    return set->n_columns > 0 && set->columns[0].is_key_by_name;
}

static void show_column(struct check_ctx *ctx, const struct found *found)
{
    const struct leak_column *column = found->column;

    evidence_number(ctx, shared_share(column), column->is_key_by_name ? SOME : MOST,
                    "share of the %lld values of %s in %s that training has too (a split by rows "
                    "would share %.2f)",
                    (long long)column->n_test_groups, column->name, found->set->name,
                    column->expected);
    for (size_t i = 0; i < column->n_largest && i < SHOWN_GROUPS; i++) {
        struct evidence *e =
            evidence_add(ctx, "dataset", "%s %s: %lld training rows, %lld test rows", column->name,
                         column->largest[i].value, (long long)column->largest[i].n_train,
                         (long long)column->largest[i].n_test);

        e->source_id = found->set->dataset->source_id;
    }
}

static void advise(struct check_ctx *ctx, const char *key)
{
    check_fix(
        ctx,
        "split by the hash of %s: a row is a test row if SHA-256 of it, mod 100, is below the "
        "share (flatline make group-split)",
        key);
    check_fix(ctx, "keep the seed and the rule beside the data");
}

static int say_column(struct check_ctx *ctx, const struct leaks *leaks, const struct found *found)
{
    const struct leak_column *column = found->column;
    const bool is_all = !leaks->is_partial && !leaks->trouble;

    show_column(ctx, found);
    leak_tell(ctx, leaks, found->set);
    advise(ctx, column->name);
    if (found->level == 2)
        return check_fail(
            ctx, is_all ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG, "key",
            "%lld of %lld values of %s in %s are in training too (%.3g %%): the split "
            "was made by rows, not by %s",
            (long long)column->n_shared_groups, (long long)column->n_test_groups, column->name,
            found->set->name, 100.0 * shared_share(column), column->name);
    return check_warn(ctx, CONFIDENCE_LIKELY, column->is_key_by_name ? "key" : "other-column",
                      "%lld of %lld values of %s in %s are in training too (%.3g %%)%s",
                      (long long)column->n_shared_groups, (long long)column->n_test_groups,
                      column->name, found->set->name, 100.0 * shared_share(column),
                      column->is_key_by_name ? "" : "; it may be meant to recur");
}

/* Without a key: rows of one family on both sides. */
static int say_clusters(struct check_ctx *ctx, const struct leaks *leaks,
                        const struct leak_set *set)
{
    double share = leak_share(set->n_clustered, set->n_compared);

    evidence_number(ctx, share, CLUSTERED,
                    "share of %s that is in one cluster with a training row (Jaccard >= 0.5)",
                    set->name);
    leak_tell(ctx, leaks, set);
    advise(ctx, "the cluster");
    return check_warn(
        ctx, CONFIDENCE_LIKELY, "no-key-column",
        "%lld of %lld test rows in %s (%.3g %%) are of one family with a training row "
        "(Jaccard >= 0.5), and no column tells which rows belong together",
        (long long)set->n_clustered, (long long)set->n_compared, set->name, 100.0 * share);
}

static const struct leak_set *most_clustered(const struct leaks *leaks)
{
    const struct leak_set *worst = NULL;

    for (size_t i = 0; i < leaks->n_sets; i++) {
        const struct leak_set *set = &leaks->sets[i];

        if (!has_key(set) && (!worst || leak_share(set->n_clustered, set->n_compared) >
                                            leak_share(worst->n_clustered, worst->n_compared)))
            worst = set;
    }
    return worst;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct leaks *leaks = facts_leaks(ctx->facts);

    (void)err;
    if (!leaks || leaks->n_sets == 0)
        return leak_unknown(ctx);
    struct found found = look(leaks);
    const struct leak_set *keyless = most_clustered(leaks);
    if (found.level > 0)
        return say_column(ctx, leaks, &found);
    if (keyless && leak_share(keyless->n_clustered, keyless->n_compared) >= CLUSTERED)
        return say_clusters(ctx, leaks, keyless);
    if (keyless)
        return check_unknown(ctx,
                             "a column that tells which rows of %s and of training belong together "
                             "(user, document, session, template)",
                             keyless->name);
    if (leaks->is_partial || leaks->trouble)
        return check_unknown(ctx, "all rows of both sides: the comparison was stopped or a file "
                                  "cannot be read to its end");
    return check_pass(ctx, CONFIDENCE_CERTAIN,
                      "%lld of %lld values of %s in %s are in training too (bound 10 %%)",
                      (long long)found.column->n_shared_groups,
                      (long long)found.column->n_test_groups, found.column->name, found.set->name);
}

const struct check check_row_split = {
    .id = "row-split",
    .version = 1,
    .stage = STAGE_LEAK,
    .severity = SEVERITY_MISLEADS,
    .title = "The split follows a grouping key",
    .why = "Rows of one user, document or session are alike: when they stand on both sides, the "
           "test measures whether the group was seen, not whether the task was learned.",
    .needs = NEEDS_DATASET | NEEDS_TEST_DATASET,
    .applies = applies,
    .run = run,
};
