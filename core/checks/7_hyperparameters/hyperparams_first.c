/* C7.3: were hyperparameters left alone until the cheap checks passed? The run before this one is
 * asked: what did its checks of stages 1 to 3 say when epochs, targets, rank, rate or batch changed? Where
 * the configuration is in git, the commits that the runs used tell their order, and which commit changed
 * what. */
#include <string.h>

#include "core/checks/gate.h"
#include "core/checks/registry.h"
#include "core/checks/run_pairs.h"
#include "core/checks/runner.h"
#include "core/facts/history_effect.h"
#include "core/facts/run_time.h"

enum { MAX_OPEN = 64 };

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = facts->run.marks & MARK_TEN_ROW_TEST ? "a ten-row test is no try of hyperparameters"
                                                   : "nothing was trained";
    return !(facts->run.marks & (MARK_TEN_ROW_TEST | MARK_EVAL_ONLY));
}

/* ---- By the commits that the runs used ---- */

/* The history that both runs have a known place in, the older one in a commit before; NULL: none. */
static const struct config_history *shared_history(const struct run_facts *older,
                                                   const struct run_facts *newer, ptrdiff_t *from,
                                                   ptrdiff_t *to)
{
    const struct config_history *a = facts_history(older), *b = facts_history(newer);

    if (!a || !b || !a->id || a->id != b->id || a->used_at < 0 || b->used_at < 0 ||
        a->used_at >= (ptrdiff_t)b->n_revisions)
        return NULL;
    *from = a->used_at;
    *to = b->used_at;
    return b;
}

/* As run_order: -1 when a was made under the older commit. */
static int order_by_commits(const struct run_facts *a, const struct run_facts *b)
{
    ptrdiff_t from, to;

    if (!shared_history(a, b, &from, &to) || from == to)
        return 0;
    return from > to ? -1 : 1;
}

static int order_of(const struct run_facts *a, const struct run_facts *b)
{
    int order = run_order(a, b);

    return order ? order : order_by_commits(a, b);
}

/* Hyperparameters that commits between changed, where the runs themselves do not state them. */
static unsigned knobs_of_commits(struct check_ctx *ctx, const struct run_facts *older)
{
    const struct config_change *changes;
    unsigned knobs = 0;
    ptrdiff_t from, to;
    size_t n;
    const struct config_history *h = shared_history(older, ctx->facts, &from, &to);

    if (!h || from <= to || !history_net_changes(h, from, to, ctx->arena, &changes, &n))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (knob_is_hyperparameter(knob_of(changes[i].name)) &&
            !(facts_setting(older, changes[i].name) && facts_setting(ctx->facts, changes[i].name)))
            knobs |= 1u << knob_of(changes[i].name);
    return knobs;
}

/* Which commit changed what: one record a setting of the knobs. */
static void evidence_commits(struct check_ctx *ctx, const struct run_facts *older, unsigned knobs)
{
    const struct config_change *changes;
    ptrdiff_t from, to;
    size_t n;
    const struct config_history *h = shared_history(older, ctx->facts, &from, &to);

    if (!h || from <= to || !history_net_changes(h, from, to, ctx->arena, &changes, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct config_change *c = &changes[i];
        ptrdiff_t at = history_changed_by(h, from, to, c->name);

        if (!(knobs & (1u << knob_of(c->name))) || at < 0)
            continue;
        const struct revision *r = &h->revisions[at];
        struct evidence *e = evidence_add(ctx, "setting", "%s: %.60s became %.60s in %.7s (%.80s)", c->name,
                                          c->old_value ? c->old_value : "not stated",
                                          c->new_value ? c->new_value : "not stated", r->commit, r->subject);
        e->commit = r->commit;
    }
}

/* One run alone: its history may tell which commit another one should be imported from. */
static int skip_alone(struct check_ctx *ctx)
{
    const struct config_history *h = facts_history(ctx->facts);

    if (!h || h->used_at < 0)
        return check_skip(ctx, "there is one run only");
    for (ptrdiff_t i = h->used_at; i < (ptrdiff_t)h->n_revisions; i++)
        for (size_t k = 0; k < h->revisions[i].n_changes; k++) {
            const char *name = h->revisions[i].changes[k].name;

            if (knob_is_hyperparameter(knob_of(name)))
                return check_skip(ctx,
                                  "there is one run only; %.7s changed %s before it: import the run made "
                                  "before that commit as well",
                                  h->revisions[i].commit, name);
        }
    return check_skip(ctx, "there is one run only");
}

/* ---- The run before ---- */

/* The latest comparable one that came earlier; NULL when none is known to have. */
static const struct run_facts *run_before(const struct check_ctx *ctx, size_t *n_comparable)
{
    const struct run_facts *best = NULL;

    *n_comparable = 0;
    for (size_t i = 0; i < ctx->n_others; i++) {
        const struct run_facts *other = ctx->others[i];

        if (!runs_are_comparable(ctx->facts, other))
            continue;
        ++*n_comparable;
        if (order_of(other, ctx->facts) < 0 && (!best || order_of(best, other) < 0))
            best = other;
    }
    return best;
}

/* ---- What was open then ---- */

/* A change that is itself the fix of a finding: the finding's id and the knob it turns. A flat loss and ten
 * rows that are not learned are no reason to turn one: the plumbing is at fault. */
static const struct {
    const char *check;
    enum knob knob;
} REMEDIES[] = {
    {"nan-high-lr", KNOB_RATE},        {"diverged", KNOB_RATE},
    {"nan-onset", KNOB_RATE},          {"loss-scale-overflow", KNOB_RATE},
    {"nan-fp16-overflow", KNOB_RATE},  {"lr-zero", KNOB_RATE},
    {"resume-jump", KNOB_RATE},
    {"flat-target-modules-mismatch", KNOB_TARGETS}, {"flat-zero-trainable", KNOB_TARGETS},
    {"flat-no-grad", KNOB_TARGETS},    {"no-grad-graph", KNOB_TARGETS},
    {"new-tokens-untrained", KNOB_TARGETS},
    {"oom-train", KNOB_BATCH},         {"oom-longest-sequence", KNOB_BATCH},
    {"oom-eval", KNOB_BATCH},          {"oom-memory-held", KNOB_BATCH},
    {"oom-train", KNOB_TARGETS},       {"oom-train", KNOB_RANK},
    {"grad-accum-loss-scale", KNOB_BATCH}, {"host-oom-killed", KNOB_BATCH},
    {"run-incomplete", KNOB_EPOCHS},
};

struct open_checks {
    const struct check *failed[MAX_OPEN];
    size_t n_failed;
    unsigned remedied;          /* knobs that a finding asked to turn */
    size_t n_rows_known, n_rows_open;   /* checks of what was supervised: decided, undecided */
    size_t n_prompts_known, n_prompts_open;
    const char *first_unknown;
};

/* What the labels and the prompts are is required; the rest of the stages hangs on single files. */
static void count_required(struct open_checks *open, const struct check *check, enum verdict verdict)
{
    static const char *const LABELS[] = {"flat-all-masked", "prompt-not-masked", "truncation-cuts-answer"};

    if (check->stage == STAGE_PROMPTS) {
        open->n_prompts_open += verdict == VERDICT_UNKNOWN;
        open->n_prompts_known += verdict == VERDICT_PASS || verdict >= VERDICT_WARN;
    }
    for (size_t i = 0; i < sizeof LABELS / sizeof *LABELS; i++)
        if (strcmp(check->id, LABELS[i]) == 0) {
            open->n_rows_open += verdict == VERDICT_UNKNOWN;
            open->n_rows_known += verdict == VERDICT_PASS || verdict >= VERDICT_WARN;
        }
}

static void add_remedies(struct open_checks *open, const char *id)
{
    for (size_t i = 0; i < sizeof REMEDIES / sizeof *REMEDIES; i++)
        if (strcmp(REMEDIES[i].check, id) == 0)
            open->remedied |= 1u << REMEDIES[i].knob;
}

/* The checks of stages 0 to 3 on the run before, as they stand now. */
static int look_at(struct check_ctx *ctx, const struct run_facts *older, struct open_checks *open,
                   struct error *err)
{
    int rc = OK;

    for (size_t i = 0; rc == OK && i < check_count(); i++) {
        const struct check *check = check_at(i);
        struct check_ctx inner = {.facts = older, .arena = ctx->arena};
        struct check_result result;

        if (check->stage > STAGE_SUPERVISED)
            continue;
        rc = check_run_one(check, &inner, &result, err);
        if (rc != OK)
            break;
        if (result.verdict >= VERDICT_WARN)
            add_remedies(open, check->id);
        if (check->stage == STAGE_FINISHED)
            continue;
        count_required(open, check, result.verdict);
        if (result.verdict == VERDICT_FAIL && open->n_failed < MAX_OPEN)
            open->failed[open->n_failed++] = check;
    }
    return rc;
}

/* ---- The verdict ---- */

static int warn(struct check_ctx *ctx, const struct run_pair *pair, const struct open_checks *open,
                unsigned changed)
{
    const char *name = pair->other->run.name ? pair->other->run.name : "the run before";
    struct run_pair shown = *pair;

    shown.knobs = changed;
    evidence_knobs(ctx, &shown, changed);
    evidence_commits(ctx, pair->other, changed);
    for (size_t i = 0; i < open->n_failed; i++)
        check_fix(ctx, "settle %s of %s first: %s", open->failed[i]->id, name, open->failed[i]->title);
    if (open->n_failed > 0)
        return check_warn(ctx, CONFIDENCE_LIKELY, "failed",
                          "%s changed after %s, in which %s fails: that comes first",
                          run_pair_knobs(ctx, &shown), name, open->failed[0]->id);
    check_fix(ctx, "import the training data, the tokenizer folder and the served prompt of %s, and look "
                   "at stages 2 and 3 first",
              name);
    return check_warn(ctx, CONFIDENCE_POSSIBLE, "open",
                      "%s changed after %s, of which neither the prompts nor the labels could be checked",
                      run_pair_knobs(ctx, &shown), name);
}

static bool is_open(const struct open_checks *open)
{
    return open->n_prompts_open > 0 && open->n_prompts_known == 0 && open->n_rows_open > 0 &&
           open->n_rows_known == 0;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct open_checks open = {0};
    const struct check *failed = NULL;
    struct run_pair pair;
    size_t n_comparable = 0;
    unsigned changed = 0;

    if (ctx->n_others == 0)
        return skip_alone(ctx);
    int rc = gate_failure(ctx, &failed, err);
    if (rc != OK || failed)
        return rc != OK ? rc : check_skip(ctx, "not yet: %s fails", failed->id);
    const struct run_facts *older = run_before(ctx, &n_comparable);
    if (n_comparable == 0)
        return check_unknown(ctx, "a second run of this kind and base model with its training arguments");
    if (!older)
        return check_skip(ctx, "no run of this project is known to have been made before this one");
    if (!run_pair_read(ctx, older, &pair))
        return error_set(err, E_NOMEM, "no memory to compare two runs");
    for (unsigned k = KNOB_EPOCHS; k <= KNOB_BATCH; k++)
        changed |= pair.knobs & (1u << k);
    changed |= knobs_of_commits(ctx, older);
    const char *name = older->run.name ? older->run.name : "the run before";
    if (changed == 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "no hyperparameter changed since %s", name);
    rc = look_at(ctx, older, &open, err);
    if (rc != OK)
        return rc;
    changed &= ~open.remedied;
    if (changed == 0)
        return check_pass(ctx, CONFIDENCE_LIKELY, "what changed since %s is the fix of its findings", name);
    if (open.n_failed > 0 || is_open(&open))
        return warn(ctx, &pair, &open, changed);
    if (open.n_prompts_open + open.n_rows_open > 0)
        check_info(ctx, "of %s some checks of stages 2 and 3 could not be decided", name);
    return check_pass(ctx, CONFIDENCE_LIKELY, "no check of stages 1 to 3 fails for %s", name);
}

const struct check check_hyperparams_first = {
    .id = "hyperparams-first",
    .version = 3,
    .stage = STAGE_HYPERPARAMETERS,
    .severity = SEVERITY_WASTES,
    .title = "Hyperparameters were left alone until the cheap checks passed",
    .why = "A wrong mask or prompt is not repaired by another learning rate: each try costs a run and "
           "tells nothing.",
    .applies = applies,
    .run = run,
};
