/* See curve_choice.h. */
#include "core/facts/curve_choice.h"

#include <string.h>

#include "core/facts/curves.h"
#include "core/facts/other_runs.h"

/* B0 rule 6: trainer_state.json, event file, JSONL or CSV, console. Results files hold last values
 * only, so they come after everything that has a course. */
static int source_class(const char *importer)
{
    static const struct {
        const char *importer;
        int order;
    } ORDER[] = {
        {"hf_trainer_state", 0}, {"tensorboard", 1},  {"wandb", 1},      {"metrics_table", 2},
        {"trainer_log", 2},      {"mlflow_files", 2}, {"mlflow_db", 2},  {"lightning_csv", 2},
        {"console_log", 3},      {"notebook", 3},     {"hf_results", 5}, {"trackio", 1},
    };

    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++)
        if (strcmp(ORDER[i].importer, importer) == 0)
            return ORDER[i].order;
    return 4;
}

/* The step a state was written at: its own global_step, else that of its folder. */
static int64_t state_step(const struct run_facts *facts, const struct source *source)
{
    double value;
    size_t n;
    const struct setting *const *settings = facts_settings_of(facts, source->id, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(settings[i]->raw_name, "state.global_step") == 0 &&
            setting_number(settings[i], &value) && value >= 0 && value < 9e15)
            return (int64_t)value;
    return facts_checkpoint_step(facts, source->path);
}

static struct curve_candidate candidate_of(const struct run_facts *facts,
                                           const struct series *series)
{
    const struct source *source = facts_source(facts, series->source_id);
    struct curve_candidate out = {.series = series, .class = 4, .step = NONE};

    if (!source)
        return out;
    out.class = source_class(source->importer);
    out.rank = facts_rank(facts, source->path);
    out.in_checkpoint = facts_checkpoint_step(facts, source->path) != NONE;
    if (out.class == 0)
        out.step = state_step(facts, source);
    return out;
}

static bool is_better(const struct curve_candidate *a, const struct curve_candidate *b)
{
    if (a->class != b->class)
        return a->class < b->class;
    if (a->step != b->step)
        return a->step > b->step;
    if (a->in_checkpoint != b->in_checkpoint)
        return !a->in_checkpoint;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->series->n_points > b->series->n_points;
}

static bool may_count(const struct run_facts *facts, const struct series *series, const char *name)
{
    return strcmp(series->name, name) == 0 && series->n_points > 0 &&
           !other_runs_has(facts, series->source_id);
}

bool curve_choice_best(const struct run_facts *facts, const char *name, int above,
                       struct curve_candidate *best)
{
    bool found = false;

    for (size_t i = 0; i < facts->n_series; i++) {
        if (!may_count(facts, &facts->series[i], name))
            continue;
        struct curve_candidate c = candidate_of(facts, &facts->series[i]);
        if (c.class > above && (!found || is_better(&c, best))) {
            *best = c;
            found = true;
        }
    }
    return found;
}

const struct series *curves_best(const struct run_facts *facts, const char *name)
{
    struct curve_candidate best;

    return curve_choice_best(facts, name, -1, &best) ? best.series : NULL;
}

bool curve_choice_next(const struct run_facts *facts, const char *name, int above,
                       const struct curve_candidate *last, struct curve_candidate *next)
{
    bool found = false;

    for (size_t i = 0; i < facts->n_series; i++) {
        if (!may_count(facts, &facts->series[i], name))
            continue;
        struct curve_candidate c = candidate_of(facts, &facts->series[i]);
        bool comes_after =
            c.class > last->class || (c.class == last->class && !is_better(&c, last) &&
                                      (is_better(last, &c) || c.series > last->series));
        if (c.class > above && comes_after && (!found || is_better(&c, next))) {
            *next = c;
            found = true;
        }
    }
    return found;
}
