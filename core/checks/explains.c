/* Which finding explains which. Two constant tables, transcribed from CHECKS.md 1.4 and 1.5, and
 * the marking by them. Conditions on the kind of a finding are read from check_result.branch:
 *
 *   "text"     the finding has this branch
 *   "!text"    the finding has another branch
 *   NULL       any */
#include "core/checks/explains.h"

#include <string.h>

#include "core/base/str.h"

/* Causes and effects are written as ID, ID:BRANCH or ID:!BRANCH. */
struct cause {
    const char *finding;
    const char *effects[12];    /* ends with NULL */
};

static const struct cause CAUSES[] = {
    {"flat-zero-trainable",
     {"no-grad-graph", "flat-no-grad", "loss-flat", "overfit-ten-failed",
      "adapter-not-loaded:identical-output", "gain-within-ci", "wrong-adapter:equal-hash"}},
    {"flat-target-modules-mismatch",
     {"no-grad-graph", "flat-no-grad", "loss-flat", "overfit-ten-failed",
      "adapter-not-loaded:identical-output", "gain-within-ci"}},
    {"nan-fp16-overflow",
     {"nan-onset", "nan-hidden-in-log", "loss-scale-overflow", "loss-zero-all-masked", "diverged",
      "loss-flat", "last-not-best", "overfit", "general-regression", "catastrophic-forgetting",
      "gain-within-ci:worse"}},
    {"nan-high-lr",
     {"nan-onset", "nan-hidden-in-log", "diverged", "loss-scale-overflow", "loss-zero-all-masked",
      "last-not-best", "overfit", "general-regression", "catastrophic-forgetting",
      "gain-within-ci:worse"}},
    {"nan-bad-data", {"nan-onset", "nan-hidden-in-log", "nan-all-masked-rows:degenerate"}},
    {"nan-all-masked-rows", {"nan-onset", "nan-hidden-in-log"}},
    {"loss-scale-overflow", {"nan-onset", "nan-hidden-in-log", "diverged"}},
    {"diverged",
     {"last-not-best", "overfit", "general-regression", "catastrophic-forgetting",
      "gain-within-ci:worse"}},
    {"flat-all-masked",
     {"nan-onset", "nan-hidden-in-log", "loss-zero-all-masked", "loss-flat", "flat-no-grad",
      "overfit-ten-failed", "adapter-not-loaded:identical-output", "gain-within-ci",
      "wrong-adapter:equal-hash"}},
    {"loss-zero-all-masked",
     {"loss-flat", "flat-no-grad", "overfit-ten-failed", "adapter-not-loaded:identical-output"}},
    {"truncation-cuts-answer",
     {"flat-all-masked", "loss-zero-all-masked", "dropped-rows", "never-stops:cut-rows",
      "overfit-ten-failed"}},
    {"no-generation-markers", {"flat-all-masked", "loss-zero-all-masked", "overfit-ten-failed"}},
    {"flat-wrong-label-column", {"loss-flat", "flat-all-masked", "overfit-ten-failed"}},
    {"flat-no-grad",
     {"loss-flat", "overfit-ten-failed", "adapter-not-loaded:identical-output", "gain-within-ci",
      "wrong-adapter:equal-hash"}},
    {"lr-zero",
     {"loss-flat", "overfit-ten-failed", "adapter-not-loaded:identical-output", "gain-within-ci",
      "wrong-adapter:equal-hash"}},
    {"no-grad-graph", {"loss-flat"}},
    {"adapter-file-empty", {"adapter-not-loaded", "gain-within-ci"}},
    {"adapter-not-loaded", {"gain-within-ci:equal", "never-stops:generations"}},
    {"wrong-adapter", {"adapter-not-loaded:key-mismatch", "general-regression"}},
    {"tied-embeddings-saved", {"never-stops:generations", "general-regression"}},
    {"multiple-adapters", {"adapter-not-loaded:key-mismatch"}},
    {"truncation-mismatch",
     {"system-prompt-mismatch:cut-system", "missing-generation-prompt:cut-header"}},
    {"template-mismatch",
     {"missing-generation-prompt", "system-prompt-mismatch", "double-bos",
      "never-stops:generations", "general-regression", "gain-within-ci:worse"}},
    {"missing-generation-prompt",
     {"never-stops:generations", "general-regression", "gain-within-ci:worse"}},
    {"eos-config-mismatch",
     {"never-stops:generations", "general-regression", "gain-within-ci:worse"}},
    {"system-prompt-mismatch", {"general-regression", "gain-within-ci:worse"}},
    {"double-bos", {"general-regression", "gain-within-ci:worse"}},
    {"padding-side", {"general-regression", "gain-within-ci:worse"}},
    {"pad-equals-eos", {"never-stops"}},
    {"new-tokens-untrained:turn-end", {"never-stops"}},
    {"prompt-not-masked", {"overfit", "loss-flat"}},
    {"dataset-unshuffled", {"diverged", "loss-flat"}},
    {"resume-jump", {"diverged", "loss-flat"}},
    {"row-split:!no-key-column", {"leak-near-duplicate"}},
    {"overfit", {"general-regression", "catastrophic-forgetting"}},
    {"hyperparams-range:epochs", {"overfit"}},
    {"grpo-completions-clipped", {"grpo-no-signal", "kl-too-high", "gain-within-ci"}},
    {"grpo-no-signal", {"kl-too-high", "flat-no-grad", "loss-zero-all-masked", "gain-within-ci"}},
    {"kl-too-high", {"gain-within-ci"}},
    {"reward-hacking:contradiction",
     {"kl-too-low", "dpo-length-exploitation", "grpo-completions-clipped:rising",
      "general-regression", "catastrophic-forgetting", "gain-within-ci:worse"}},
    {"kl-too-low",
     {"reward-hacking:!contradiction", "dpo-length-exploitation",
      "grpo-completions-clipped:rising", "off-policy-drift", "general-regression",
      "catastrophic-forgetting", "gain-within-ci:worse"}},
    {"dpo-length-exploitation", {"length-only-gain", "grpo-completions-clipped"}},
    {"chosen-rejected-swapped",
     {"off-policy-drift", "dpo-length-exploitation", "general-regression",
      "catastrophic-forgetting", "gain-within-ci:worse"}},
    {"off-policy-drift",
     {"general-regression", "catastrophic-forgetting", "gain-within-ci:worse"}},
};
enum { N_CAUSES = sizeof CAUSES / sizeof CAUSES[0] };

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

static struct str id_of(const char *finding)
{
    const char *colon = strchr(finding, ':');

    return (struct str){finding, colon ? (size_t)(colon - finding) : strlen(finding)};
}

static const char *branch_of(const char *finding)
{
    const char *colon = strchr(finding, ':');

    return colon ? colon + 1 : NULL;
}

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

/* The result of that check when it fired, whatever its branch. */
static ptrdiff_t find(const struct marking *m, const char *finding)
{
    struct str id = id_of(finding);

    for (size_t i = 0; i < m->n; i++)
        if (m->results[i].check_id && str_is(id, m->results[i].check_id))
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

static void mark_effects(struct marking *m, size_t cause, const char *const *effects)
{
    for (; *effects; effects++) {
        ptrdiff_t effect = find(m, *effects);

        if (effect >= 0 && has_branch(&m->results[effect], branch_of(*effects)) &&
            may_explain(&m->results[cause], &m->results[effect]))
            put_below(m, (size_t)effect, cause, false);
    }
}

static void mark_causes(struct marking *m)
{
    /* A failing cause is named before a warning one, an earlier before a later one. */
    for (int level = VERDICT_FAIL; level >= VERDICT_WARN; level--)
        for (size_t i = 0; i < m->n; i++) {
            const struct check_result *result = &m->results[i];

            if (!is_present(m, i) || (int)result->verdict != level || !result->check_id)
                continue;
            for (size_t c = 0; c < N_CAUSES; c++)
                if (str_is(id_of(CAUSES[c].finding), result->check_id) &&
                    has_branch(result, branch_of(CAUSES[c].finding)))
                    mark_effects(m, i, CAUSES[c].effects);
        }
}

/* ---- run-incomplete: explained by whoever owns its exception or last line ---- */

static bool is_place(const struct evidence *e)
{
    return e->source_id > 0 && e->line > 0 && e->kind && strcmp(e->kind, "log") == 0;
}

/* "Error(s) in loading state_dict for X:" goes on over the lines below it. */
enum { MESSAGE_LINES = 64 };

static int64_t last_line_of(const struct evidence *e)
{
    size_t n = e->text ? strlen(e->text) : 0;

    while (n > 0 && (e->text[n - 1] == ' ' || e->text[n - 1] == '\r'))
        n--;
    return n > 0 && e->text[n - 1] == ':' ? e->line + MESSAGE_LINES : e->line;
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
            high = last_line_of(line) > high ? last_line_of(line) : high;
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
    mark_causes(&m);
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

static bool may_be_same(const char *a, const char *b)
{
    return str_eq(id_of(a), id_of(b)) && !excludes(branch_of(a), branch_of(b));
}

/* From this finding on, by causes and effects, to the goal. */
static bool reaches(const char *from, const char *goal, size_t depth)
{
    if (may_be_same(from, goal))
        return true;
    for (size_t c = 0; c < N_CAUSES && depth > 0; c++)
        for (const char *const *effect = CAUSES[c].effects; *effect; effect++)
            if (may_be_same(from, CAUSES[c].finding) && reaches(*effect, goal, depth - 1))
                return true;
    return false;
}

/* A check is named once among the causes, and once among the effects of a cause. */
static bool is_named_again(size_t c, const char *const *effect)
{
    for (size_t i = 0; i < c; i++)
        if (str_eq(id_of(CAUSES[i].finding), id_of(CAUSES[c].finding)))
            return true;
    for (const char *const *other = CAUSES[c].effects; other < effect; other++)
        if (str_eq(id_of(*other), id_of(*effect)))
            return true;
    return false;
}

bool explains_is_sound(void)
{
    for (size_t c = 0; c < N_CAUSES; c++)
        for (const char *const *effect = CAUSES[c].effects; *effect; effect++)
            if (is_named_again(c, effect) || reaches(*effect, CAUSES[c].finding, 12))
                return false;
    return true;
}
