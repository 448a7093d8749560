/* The logged completions in the preference pane. See preference_parts.h. */
#include <math.h>

#include "core/checks/preference_completions.h"
#include "views/preference_parts.h"

static void say_groups(struct textflow *flow, struct check_ctx *ctx)
{
    struct completion_sums sums;

    if (!completions_sum(ctx, &sums))
        return;
    flow_printf(flow, sums.n_dead ? STYLE_TEXT : STYLE_DIM,
                "%lld of %lld groups have no difference in reward", (long long)sums.n_dead,
                (long long)sums.n_groups);
    if (sums.n_dead)
        flow_printf(flow, STYLE_TEXT, ": %lld all wrong, %lld all right, %lld between; %.0f %% of the "
                                      "completions taught nothing",
                    (long long)sums.n_wrong, (long long)sums.n_right,
                    (long long)(sums.n_dead - sums.n_wrong - sums.n_right),
                    100.0 * (double)sums.n_dead_rows / (double)sums.n_grouped);
    flow_break(flow);
}

static void say_alike(struct textflow *flow, const struct completions *completions)
{
    const struct completion_alike *alike = &completions->last.alike;
    bool is_same = alike->n_same >= alike->n_opening;
    int64_t n = is_same ? alike->n_same : alike->n_opening;

    if (alike->n_prompts < 5 || 5 * n < alike->n_prompts)
        return;
    flow_printf(flow, STYLE_TEXT, "at last %lld of %lld prompts get %s: ", (long long)n,
                (long long)alike->n_prompts, is_same ? "one text" : "one opening");
    flow_puts(flow, STYLE_STRONG, is_same ? alike->same : alike->opening);
    flow_break(flow);
}

static void say_phrase(struct textflow *flow, const struct completion_phrase *phrase)
{
    flow_printf(flow, STYLE_TEXT, "%6.2g %% %6.3g %% %6.1fx ", 100.0 * phrase->first,
                100.0 * phrase->last, phrase->times);
    if (isnan(phrase->gain))
        flow_puts(flow, STYLE_DIM, "       - ");
    else
        flow_printf(flow, STYLE_TEXT, "%+8.2g ", phrase->gain);
    flow_puts(flow, STYLE_STRONG, phrase->text);
    flow_break(flow);
}

static void say_phrases(struct textflow *flow, const struct completions *completions)
{
    if (completions->last.n == 0) {
        flow_puts(flow, STYLE_DIM, "phrases: completions of four steps or more are needed");
        flow_break(flow);
        return;
    }
    if (completions->n_phrases == 0) {
        flow_printf(flow, STYLE_DIM, "no phrase of %lld rises with the reward beyond chance "
                                     "(%lld prompts at first, %lld at last)",
                    (long long)completions->n_tested, (long long)completions->first.n_groups,
                    (long long)completions->last.n_groups);
        flow_break(flow);
        return;
    }
    flow_puts(flow, STYLE_STRONG, "phrases that rise with the reward");
    flow_printf(flow, STYLE_DIM, "  %lld of %lld tested, steps %lld-%lld against %lld-%lld",
                (long long)completions->n_inflated, (long long)completions->n_tested,
                (long long)completions->first.first_step, (long long)completions->first.last_step,
                (long long)completions->last.first_step, (long long)completions->last.last_step);
    flow_break(flow);
    flow_puts(flow, STYLE_DIM, "   first     last   times   reward phrase");
    flow_break(flow);
    for (size_t i = 0; i < completions->n_phrases; i++)
        say_phrase(flow, &completions->phrases[i]);
}

void preference_say_completions(struct textflow *flow, struct check_ctx *ctx)
{
    const struct completions *completions = facts_completions(ctx->facts);

    if (!completions)
        return;
    flow_printf(flow, STYLE_TEXT, "%lld logged completions in %lld file%s, %zu step%s",
                (long long)completions->n, (long long)completions->n_files,
                completions->n_files == 1 ? "" : "s", completions->n_steps,
                completions->n_steps == 1 ? "" : "s");
    if (completions->missing) {
        flow_puts(flow, STYLE_UNKNOWN, "  not all: ");
        flow_puts(flow, STYLE_UNKNOWN, completions->missing);
    }
    flow_break(flow);
    say_groups(flow, ctx);
    if (!isnan(completions->length_r)) {
        flow_printf(flow, STYLE_TEXT, "inside a group length and reward correlate, r %+.2f",
                    completions->length_r);
        flow_break(flow);
    }
    say_alike(flow, completions);
    say_phrases(flow, completions);
}
