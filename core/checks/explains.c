/* Which finding explains which. Two constant tables, transcribed from CHECKS.md 1.4 and 1.5, and
 * the marking by them. Conditions on the kind of a finding are read from check_result.branch:
 *
 *   "text"     the finding has this branch
 *   "!text"    the finding has another branch
 *   NULL       any
 *
 * Branches that the tables know: identical-output, key-mismatch (adapter-not-loaded), equal-hash
 * (wrong-adapter), worse, equal (gain-within-ci), generations, cut-rows (never-stops),
 * contradiction (reward-hacking), rising (grpo-completions-clipped), epochs (hyperparams-range),
 * prompt-at-limit (truncation-cuts-answer), degenerate (nan-all-masked-rows), suite-only
 * (catastrophic-forgetting), gone, one-file, deployed (last-not-best), stopped (run-incomplete),
 * turn-end (new-tokens-untrained), cut-system (system-prompt-mismatch), cut-header
 * (missing-generation-prompt), no-key-column (row-split), setting (of a cause that is a setting
 * without a measured fault). */
#include "core/checks/explains.h"

#include <string.h>

struct pair {
    const char *cause, *cause_branch;
    const char *effect, *effect_branch;
};

/* Every cause of `list` explains every effect of it: the table of 1.5 has groups on both sides. */
static const struct pair PAIRS[] = {
    {"flat-zero-trainable", NULL, "no-grad-graph", NULL},
    {"flat-target-modules-mismatch", NULL, "no-grad-graph", NULL},

    {"nan-fp16-overflow", NULL, "nan-onset", NULL},
    {"nan-fp16-overflow", NULL, "nan-hidden-in-log", NULL},
    {"nan-fp16-overflow", NULL, "loss-scale-overflow", NULL},
    {"nan-fp16-overflow", NULL, "loss-zero-all-masked", NULL},
    {"nan-fp16-overflow", NULL, "diverged", NULL},
    {"nan-fp16-overflow", NULL, "loss-flat", NULL},

    {"nan-high-lr", NULL, "nan-onset", NULL},
    {"nan-high-lr", NULL, "nan-hidden-in-log", NULL},
    {"nan-high-lr", NULL, "diverged", NULL},
    {"nan-high-lr", NULL, "loss-scale-overflow", NULL},
    {"nan-high-lr", NULL, "loss-zero-all-masked", NULL},

    {"nan-bad-data", NULL, "nan-onset", NULL},
    {"nan-bad-data", NULL, "nan-hidden-in-log", NULL},
    {"nan-all-masked-rows", NULL, "nan-onset", NULL},
    {"nan-all-masked-rows", NULL, "nan-hidden-in-log", NULL},
    {"nan-bad-data", NULL, "nan-all-masked-rows", "degenerate"},

    {"loss-scale-overflow", NULL, "nan-onset", NULL},
    {"loss-scale-overflow", NULL, "nan-hidden-in-log", NULL},
    {"loss-scale-overflow", NULL, "diverged", NULL},

    {"diverged", NULL, "last-not-best", NULL},
    {"diverged", NULL, "overfit", NULL},
    {"diverged", NULL, "general-regression", NULL},
    {"diverged", NULL, "catastrophic-forgetting", NULL},
    {"diverged", NULL, "gain-within-ci", "worse"},
    {"nan-high-lr", NULL, "last-not-best", NULL},
    {"nan-high-lr", NULL, "overfit", NULL},
    {"nan-high-lr", NULL, "general-regression", NULL},
    {"nan-high-lr", NULL, "catastrophic-forgetting", NULL},
    {"nan-high-lr", NULL, "gain-within-ci", "worse"},
    {"nan-fp16-overflow", NULL, "last-not-best", NULL},
    {"nan-fp16-overflow", NULL, "overfit", NULL},
    {"nan-fp16-overflow", NULL, "general-regression", NULL},
    {"nan-fp16-overflow", NULL, "catastrophic-forgetting", NULL},
    {"nan-fp16-overflow", NULL, "gain-within-ci", "worse"},

    {"flat-all-masked", NULL, "nan-onset", NULL},
    {"flat-all-masked", NULL, "nan-hidden-in-log", NULL},
    {"flat-all-masked", NULL, "loss-zero-all-masked", NULL},
    {"flat-all-masked", NULL, "loss-flat", NULL},
    {"flat-all-masked", NULL, "flat-no-grad", NULL},
    {"flat-all-masked", NULL, "overfit-ten-failed", NULL},
    {"flat-all-masked", NULL, "adapter-not-loaded", "identical-output"},
    {"flat-all-masked", NULL, "gain-within-ci", NULL},

    {"loss-zero-all-masked", NULL, "loss-flat", NULL},
    {"loss-zero-all-masked", NULL, "flat-no-grad", NULL},
    {"loss-zero-all-masked", NULL, "overfit-ten-failed", NULL},
    {"loss-zero-all-masked", NULL, "adapter-not-loaded", "identical-output"},

    {"truncation-cuts-answer", NULL, "flat-all-masked", NULL},
    {"truncation-cuts-answer", NULL, "loss-zero-all-masked", NULL},
    {"truncation-cuts-answer", NULL, "dropped-rows", NULL},
    {"truncation-cuts-answer", NULL, "never-stops", "cut-rows"},
    {"truncation-cuts-answer", NULL, "overfit-ten-failed", NULL},

    {"no-generation-markers", NULL, "flat-all-masked", NULL},
    {"no-generation-markers", NULL, "loss-zero-all-masked", NULL},
    {"no-generation-markers", NULL, "overfit-ten-failed", NULL},

    {"flat-wrong-label-column", NULL, "loss-flat", NULL},
    {"flat-wrong-label-column", NULL, "flat-all-masked", NULL},
    {"flat-wrong-label-column", NULL, "overfit-ten-failed", NULL},

    {"flat-zero-trainable", NULL, "flat-no-grad", NULL},
    {"flat-zero-trainable", NULL, "loss-flat", NULL},
    {"flat-zero-trainable", NULL, "overfit-ten-failed", NULL},
    {"flat-zero-trainable", NULL, "adapter-not-loaded", "identical-output"},
    {"flat-zero-trainable", NULL, "gain-within-ci", NULL},
    {"flat-target-modules-mismatch", NULL, "flat-no-grad", NULL},
    {"flat-target-modules-mismatch", NULL, "loss-flat", NULL},
    {"flat-target-modules-mismatch", NULL, "overfit-ten-failed", NULL},
    {"flat-target-modules-mismatch", NULL, "adapter-not-loaded", "identical-output"},
    {"flat-target-modules-mismatch", NULL, "gain-within-ci", NULL},

    {"flat-no-grad", NULL, "loss-flat", NULL},
    {"flat-no-grad", NULL, "overfit-ten-failed", NULL},
    {"flat-no-grad", NULL, "adapter-not-loaded", "identical-output"},
    {"flat-no-grad", NULL, "gain-within-ci", NULL},
    {"lr-zero", NULL, "loss-flat", NULL},
    {"lr-zero", NULL, "overfit-ten-failed", NULL},
    {"lr-zero", NULL, "adapter-not-loaded", "identical-output"},
    {"lr-zero", NULL, "gain-within-ci", NULL},

    {"flat-zero-trainable", NULL, "wrong-adapter", "equal-hash"},
    {"flat-no-grad", NULL, "wrong-adapter", "equal-hash"},
    {"lr-zero", NULL, "wrong-adapter", "equal-hash"},
    {"flat-all-masked", NULL, "wrong-adapter", "equal-hash"},

    {"no-grad-graph", NULL, "loss-flat", NULL},
    {"adapter-file-empty", NULL, "adapter-not-loaded", NULL},
    {"adapter-file-empty", NULL, "gain-within-ci", NULL},
    {"adapter-not-loaded", NULL, "gain-within-ci", "equal"},
    {"adapter-not-loaded", NULL, "never-stops", "generations"},
    {"wrong-adapter", NULL, "adapter-not-loaded", "key-mismatch"},
    {"wrong-adapter", NULL, "general-regression", NULL},
    {"tied-embeddings-saved", NULL, "never-stops", "generations"},
    {"tied-embeddings-saved", NULL, "general-regression", NULL},
    {"multiple-adapters", NULL, "adapter-not-loaded", "key-mismatch"},
    {"truncation-mismatch", NULL, "system-prompt-mismatch", "cut-system"},
    {"truncation-mismatch", NULL, "missing-generation-prompt", "cut-header"},

    {"template-mismatch", NULL, "missing-generation-prompt", NULL},
    {"template-mismatch", NULL, "system-prompt-mismatch", NULL},
    {"template-mismatch", NULL, "double-bos", NULL},
    {"template-mismatch", NULL, "never-stops", "generations"},
    {"missing-generation-prompt", NULL, "never-stops", "generations"},
    {"eos-config-mismatch", NULL, "never-stops", "generations"},

    {"template-mismatch", NULL, "general-regression", NULL},
    {"template-mismatch", NULL, "gain-within-ci", "worse"},
    {"missing-generation-prompt", NULL, "general-regression", NULL},
    {"missing-generation-prompt", NULL, "gain-within-ci", "worse"},
    {"system-prompt-mismatch", NULL, "general-regression", NULL},
    {"system-prompt-mismatch", NULL, "gain-within-ci", "worse"},
    {"double-bos", NULL, "general-regression", NULL},
    {"double-bos", NULL, "gain-within-ci", "worse"},
    {"padding-side", NULL, "general-regression", NULL},
    {"padding-side", NULL, "gain-within-ci", "worse"},
    {"eos-config-mismatch", NULL, "general-regression", NULL},
    {"eos-config-mismatch", NULL, "gain-within-ci", "worse"},

    {"pad-equals-eos", NULL, "never-stops", NULL},
    {"new-tokens-untrained", "turn-end", "never-stops", NULL},
    {"prompt-not-masked", NULL, "overfit", NULL},
    {"prompt-not-masked", NULL, "loss-flat", NULL},
    {"dataset-unshuffled", NULL, "diverged", NULL},
    {"dataset-unshuffled", NULL, "loss-flat", NULL},
    {"resume-jump", NULL, "diverged", NULL},
    {"resume-jump", NULL, "loss-flat", NULL},
    {"row-split", "!no-key-column", "leak-near-duplicate", NULL},
    {"overfit", NULL, "general-regression", NULL},
    {"overfit", NULL, "catastrophic-forgetting", NULL},
    {"hyperparams-range", "epochs", "overfit", NULL},

    {"grpo-completions-clipped", NULL, "grpo-no-signal", NULL},
    {"grpo-completions-clipped", NULL, "kl-too-high", NULL},
    {"grpo-completions-clipped", NULL, "gain-within-ci", NULL},
    {"grpo-no-signal", NULL, "kl-too-high", NULL},
    {"grpo-no-signal", NULL, "flat-no-grad", NULL},
    {"grpo-no-signal", NULL, "loss-zero-all-masked", NULL},
    {"grpo-no-signal", NULL, "gain-within-ci", NULL},
    {"kl-too-high", NULL, "gain-within-ci", NULL},

    {"reward-hacking", "contradiction", "kl-too-low", NULL},
    {"reward-hacking", "contradiction", "dpo-length-exploitation", NULL},
    {"reward-hacking", "contradiction", "grpo-completions-clipped", "rising"},
    {"reward-hacking", "contradiction", "general-regression", NULL},
    {"reward-hacking", "contradiction", "catastrophic-forgetting", NULL},
    {"reward-hacking", "contradiction", "gain-within-ci", "worse"},
    {"kl-too-low", NULL, "reward-hacking", "!contradiction"},
    {"kl-too-low", NULL, "dpo-length-exploitation", NULL},
    {"kl-too-low", NULL, "grpo-completions-clipped", "rising"},
    {"kl-too-low", NULL, "off-policy-drift", NULL},
    {"kl-too-low", NULL, "general-regression", NULL},
    {"kl-too-low", NULL, "catastrophic-forgetting", NULL},
    {"kl-too-low", NULL, "gain-within-ci", "worse"},
    {"dpo-length-exploitation", NULL, "length-only-gain", NULL},
    {"dpo-length-exploitation", NULL, "grpo-completions-clipped", NULL},
    {"chosen-rejected-swapped", NULL, "off-policy-drift", NULL},
    {"chosen-rejected-swapped", NULL, "dpo-length-exploitation", NULL},
    {"chosen-rejected-swapped", NULL, "general-regression", NULL},
    {"chosen-rejected-swapped", NULL, "catastrophic-forgetting", NULL},
    {"chosen-rejected-swapped", NULL, "gain-within-ci", "worse"},
    {"off-policy-drift", NULL, "general-regression", NULL},
    {"off-policy-drift", NULL, "catastrophic-forgetting", NULL},
    {"off-policy-drift", NULL, "gain-within-ci", "worse"},
};
enum { N_PAIRS = sizeof PAIRS / sizeof PAIRS[0] };

/* A member of a group that may lead it, when its finding has the branch (and fails). */
struct leader {
    const char *id, *branch;
    bool has_to_fail;
};

struct group {
    struct leader leaders[10]; /* first applicable leads; ends with a NULL id */
    const char *members[6];    /* folded below the leader; ends with NULL */
};

/* A group appears once for each order in which its members may lead; the first entry of GROUPS
 * that finds a leader for a member decides. */
static const struct group GROUPS[] = {
    /* all labels masked */
    {{{"truncation-cuts-answer", "prompt-at-limit", false},
      {"no-generation-markers", NULL, false},
      {"flat-all-masked", NULL, false}},
     {"flat-all-masked", "loss-zero-all-masked", "no-generation-markers"}},
    /* some rows masked */
    {{{"nan-all-masked-rows", NULL, true}}, {"truncation-cuts-answer"}},
    {{{"truncation-cuts-answer", NULL, false}}, {"nan-all-masked-rows"}},
    /* nothing trainable */
    {{{"flat-target-modules-mismatch", NULL, true}, {"flat-zero-trainable", NULL, false}},
     {"flat-zero-trainable", "flat-target-modules-mismatch"}},
    /* never stops */
    {{{"pad-equals-eos", NULL, false}}, {"never-stops"}},
    /* ability lost */
    {{{"catastrophic-forgetting", "!suite-only", false}, {"general-regression", NULL, false}},
     {"general-regression", "catastrophic-forgetting"}},
    /* past the best */
    {{{"last-not-best", "gone", false},
      {"last-not-best", "one-file", false},
      {"last-not-best", "deployed", false},
      {"overfit", NULL, false}},
     {"overfit", "last-not-best"}},
    /* long tail */
    {{{"oom-longest-sequence", NULL, false}}, {"max-length-oversized"}},
    /* non-finite: a found cause, precision before the rate (C0.14) */
    {{{"nan-fp16-overflow", NULL, true},
      {"nan-high-lr", NULL, false},
      {"nan-all-masked-rows", NULL, false},
      {"nan-bad-data", NULL, false},
      {"loss-scale-overflow", NULL, false},
      {"flat-all-masked", NULL, false},
      {"nan-onset", NULL, false}},
     {"nan-onset", "nan-hidden-in-log"}},
};
enum { N_GROUPS = sizeof GROUPS / sizeof GROUPS[0] };

struct marking {
    const struct check_result *results;
    const bool *is_dismissed;
    size_t n;
    ptrdiff_t *explained_by;
    bool *is_folded;
};

static bool has_branch(const struct check_result *result, const char *branch)
{
    const char *own = result->branch ? result->branch : "";

    if (!branch)
        return true;
    if (branch[0] == '!')
        return strcmp(own, branch + 1) != 0;
    return strcmp(own, branch) == 0;
}

static bool is_present(const struct marking *m, size_t i)
{
    return m->results[i].verdict >= VERDICT_WARN && !(m->is_dismissed && m->is_dismissed[i]);
}

static ptrdiff_t find(const struct marking *m, const char *id)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->results[i].check_id && strcmp(m->results[i].check_id, id) == 0)
            return is_present(m, i) ? (ptrdiff_t)i : -1;
    return -1;
}

/* Indirect evidence explains no measured fault, and nothing explains what came before it. An
 * effect without a position (a file, an evaluation) is not earlier than anything. */
static bool may_explain(const struct check_result *cause, const struct check_result *effect)
{
    if (cause->verdict == VERDICT_WARN && cause->confidence == CONFIDENCE_POSSIBLE &&
        effect->verdict == VERDICT_FAIL)
        return false;
    return cause->from_step == NONE || effect->from_step == NONE ||
           effect->from_step >= cause->from_step;
}

/* True when i stands in the chain above j: j must not be put above i then. */
static bool is_above(const struct marking *m, size_t i, size_t j)
{
    ptrdiff_t at = (ptrdiff_t)j;

    for (size_t steps = 0; at >= 0 && steps <= m->n; steps++) {
        if ((size_t)at == i)
            return true;
        at = m->explained_by[at];
    }
    return false;
}

static void put_below(struct marking *m, size_t effect, size_t cause, bool is_folded)
{
    if (m->explained_by[effect] >= 0 || is_above(m, effect, cause))
        return;
    m->explained_by[effect] = (ptrdiff_t)cause;
    m->is_folded[effect] = is_folded;
}

static ptrdiff_t leader_of(const struct marking *m, const struct group *group,
                           const struct check_result *member)
{
    for (size_t i = 0; i < 10 && group->leaders[i].id; i++) {
        const struct leader *leader = &group->leaders[i];
        ptrdiff_t at = find(m, leader->id);
        if (at < 0 || !has_branch(&m->results[at], leader->branch) ||
            (leader->has_to_fail && m->results[at].verdict != VERDICT_FAIL) ||
            !may_explain(&m->results[at], member))
            continue;
        return at;
    }
    return -1;
}

static void fold(struct marking *m)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        for (size_t k = 0; k < 6 && GROUPS[g].members[k]; k++) {
            ptrdiff_t member = find(m, GROUPS[g].members[k]);
            ptrdiff_t leader = member < 0 ? -1 : leader_of(m, &GROUPS[g], &m->results[member]);
            if (leader >= 0 && leader != member)
                put_below(m, (size_t)member, (size_t)leader, true);
        }
}

static void mark_pairs(struct marking *m)
{
    /* A failing cause is named before a warning one, an earlier before a later one. */
    for (int level = VERDICT_FAIL; level >= VERDICT_WARN; level--)
        for (size_t cause = 0; cause < m->n; cause++) {
            if (!is_present(m, cause) || (int)m->results[cause].verdict != level)
                continue;
            for (size_t p = 0; p < N_PAIRS; p++) {
                if (!m->results[cause].check_id ||
                    strcmp(PAIRS[p].cause, m->results[cause].check_id) != 0)
                    continue;
                ptrdiff_t effect = find(m, PAIRS[p].effect);
                if (effect >= 0 && has_branch(&m->results[cause], PAIRS[p].cause_branch) &&
                    has_branch(&m->results[effect], PAIRS[p].effect_branch) &&
                    may_explain(&m->results[cause], &m->results[effect]))
                    put_below(m, (size_t)effect, cause, false);
            }
        }
}

/* ---- run-incomplete: explained by whoever owns its exception or last line ---- */

static bool is_place(const struct evidence *e)
{
    return e->source_id > 0 && e->line > 0 && e->kind && strcmp(e->kind, "log") == 0;
}

/* run-incomplete states a traceback as its range: `line` its first line, `last_step` unused, the
 * exception line as another record of the same file. Lines between the two are inside. */
static bool owns_line(const struct check_result *cause, const struct check_result *stop)
{
    for (size_t i = 0; i < cause->n_evidence; i++) {
        const struct evidence *own = &cause->evidence[i];
        int64_t low = INT64_MAX, high = 0;
        if (!is_place(own))
            continue;
        for (size_t k = 0; k < stop->n_evidence; k++) {
            const struct evidence *line = &stop->evidence[k];
            if (!is_place(line) || line->source_id != own->source_id)
                continue;
            low = line->line < low ? line->line : low;
            high = line->line > high ? line->line : high;
        }
        if (own->line >= low && own->line <= high)
            return true;
    }
    return false;
}

static bool explains_stop(const struct check_result *cause, const struct check_result *stop)
{
    /* A kill by the kernel leaves no line in the run's own log. */
    if (strcmp(cause->check_id, "host-oom-killed") == 0 && !has_branch(stop, "exception"))
        return true;
    return owns_line(cause, stop);
}

static void mark_run_incomplete(struct marking *m)
{
    ptrdiff_t stop = find(m, "run-incomplete");

    for (int level = VERDICT_FAIL; stop >= 0 && level >= VERDICT_WARN; level--)
        for (size_t i = 0; i < m->n; i++) {
            const struct check_result *cause = &m->results[i];
            if ((ptrdiff_t)i == stop || !is_present(m, i) || (int)cause->verdict != level ||
                (cause->verdict == VERDICT_WARN && cause->confidence == CONFIDENCE_POSSIBLE &&
                 m->results[stop].verdict == VERDICT_FAIL))
                continue;
            if (explains_stop(cause, &m->results[stop]))
                put_below(m, (size_t)stop, i, false);
        }
}

void explains_mark(const struct check_result *results, const bool *is_dismissed, size_t n,
                   ptrdiff_t *explained_by, bool *is_folded)
{
    struct marking m = {results, is_dismissed, n, explained_by, is_folded};

    for (size_t i = 0; i < n; i++) {
        explained_by[i] = -1;
        is_folded[i] = false;
    }
    fold(&m);
    mark_run_incomplete(&m);
    mark_pairs(&m);
}

/* ---- Soundness, for the tests ---- */

/* Branch conditions are part of a node's identity only where they exclude each other ("x" and
 * "!x"): kl-too-low and reward-hacking point at each other on different branches. */
static bool excludes(const char *a, const char *b)
{
    if (!a || !b)
        return false;
    if (a[0] == '!' && strcmp(a + 1, b) == 0)
        return true;
    if (b[0] == '!' && strcmp(b + 1, a) == 0)
        return true;
    return a[0] != '!' && b[0] != '!' && strcmp(a, b) != 0;
}

static bool reaches(size_t from, const struct pair *goal, size_t depth)
{
    if (strcmp(PAIRS[from].effect, goal->cause) == 0 &&
        !excludes(PAIRS[from].effect_branch, goal->cause_branch))
        return true;
    if (depth == 0)
        return false;
    for (size_t p = 0; p < N_PAIRS; p++)
        if (strcmp(PAIRS[p].cause, PAIRS[from].effect) == 0 &&
            !excludes(PAIRS[from].effect_branch, PAIRS[p].cause_branch) &&
            reaches(p, goal, depth - 1))
            return true;
    return false;
}

bool explains_is_sound(void)
{
    for (size_t p = 0; p < N_PAIRS; p++) {
        if (strcmp(PAIRS[p].cause, PAIRS[p].effect) == 0 || reaches(p, &PAIRS[p], 12))
            return false;
        for (size_t q = 0; q < p; q++)
            if (strcmp(PAIRS[p].cause, PAIRS[q].cause) == 0 &&
                strcmp(PAIRS[p].effect, PAIRS[q].effect) == 0)
                return false;
    }
    return true;
}
