/* What the runs under a configuration's commits tell. See history_effect.h. */
#include "core/facts/history_effect.h"

#include <string.h>

#include "core/base/number.h"

/* ---- The last healthy commit ---- */

bool history_run_is_healthy(const struct history_run *run)
{
    return run->run.outcome != OUTCOME_CRASHED && run->was_checked && run->verdict != VERDICT_FAIL;
}

const char *history_run_word(const struct history_run *run)
{
    if (!run->was_checked)
        return "not checked";
    return run->verdict >= VERDICT_WARN ? verdict_name(run->verdict) : "no fault found";
}

static const struct history_run *run_of(const struct history_run *runs, size_t n_runs, int64_t run_id)
{
    for (size_t i = 0; i < n_runs; i++)
        if (runs[i].run.id == run_id)
            return &runs[i];
    return NULL;
}

bool history_run_broke(const struct history_run *runs, size_t n_runs, int64_t run_id)
{
    const struct history_run *own = run_of(runs, n_runs, run_id);

    return own && (own->run.outcome == OUTCOME_CRASHED || own->verdict == VERDICT_FAIL);
}

/* Of two runs under one commit the later one. */
static bool is_later(const struct history_run *a, const struct history_run *b)
{
    return a->began != NONE && (b->began == NONE || a->began > b->began);
}

struct net {
    struct config_change *list;
    size_t n, most;
    bool is_rough;
};

/* One change after those that are there; the same name's old value is kept. */
static void add_change(struct net *net, const struct config_change *change)
{
    for (size_t i = 0; i < net->n; i++) {
        struct config_change *known = &net->list[i];

        if (strcmp(known->name, change->name) != 0)
            continue;
        bool follows = known->new_value ? change->old_value &&
                                              config_values_are_equal(known->new_value, change->old_value)
                                        : !change->old_value;
        net->is_rough |= !follows;
        known->new_value = change->new_value;
        known->line = change->line;
        return;
    }
    if (net->n < net->most)
        net->list[net->n++] = *change;
}

static bool is_taken_back(const struct config_change *change)
{
    if (!change->old_value || !change->new_value)
        return change->old_value == change->new_value;
    return config_values_are_equal(change->old_value, change->new_value);
}

/* Commit by commit, from the older revision to the newer one. */
static bool gather(const struct config_history *h, ptrdiff_t older, ptrdiff_t newer, size_t room,
                   struct arena *arena, struct net *net)
{
    *net = (struct net){.most = room};
    for (ptrdiff_t i = newer; i < older; i++)
        net->most += h->revisions[i].n_changes;
    net->list = arena_array(arena, net->most + 1, sizeof *net->list);
    for (ptrdiff_t i = older - 1; net->list && i >= newer; i--) {
        const struct revision *r = &h->revisions[i];

        for (size_t k = 0; k < r->n_changes; k++)
            add_change(net, &r->changes[k]);
        /* A version that came out of nothing, or went, is no step from the one before. */
        net->is_rough |= r->by_lines || r->n_more || !r->blob || strcmp(r->status, "added") == 0;
    }
    return net->list != NULL;
}

static void drop_taken_back(struct net *net)
{
    size_t kept = 0;

    for (size_t i = 0; i < net->n; i++)
        if (!is_taken_back(&net->list[i]))
            net->list[kept++] = net->list[i];
    net->n = kept;
}

bool history_net_changes(const struct config_history *history, ptrdiff_t older, ptrdiff_t newer,
                         struct arena *arena, const struct config_change **out, size_t *n)
{
    struct net net;

    if (!gather(history, older, newer, 0, arena, &net))
        return false;
    drop_taken_back(&net);
    *out = net.list;
    *n = net.n;
    return true;
}

ptrdiff_t history_changed_by(const struct config_history *history, ptrdiff_t older, ptrdiff_t newer,
                             const char *name)
{
    for (ptrdiff_t i = newer; i < older; i++)
        for (size_t k = 0; k < history->revisions[i].n_changes; k++)
            if (strcmp(history->revisions[i].changes[k].name, name) == 0)
                return i;
    return -1;
}

/* … and on to the run's own file. */
static bool add_changes(const struct config_history *h, ptrdiff_t older, ptrdiff_t newer,
                        struct arena *arena, struct history_healthy *out)
{
    struct net net;

    if (!gather(h, older, newer, h->n_dirty, arena, &net))
        return false;
    /* Beside HEAD it is what the work tree holds now. */
    for (size_t k = 0; h->dirty_from && strcmp(h->dirty_from, "HEAD") != 0 && k < h->n_dirty; k++)
        add_change(&net, &h->dirty[k]);
    drop_taken_back(&net);
    out->changes = net.list;
    out->n_changes = net.n;
    out->n_commits = (size_t)(older - newer);
    out->is_rough = net.is_rough;
    return true;
}

bool history_last_healthy(const struct config_history *history, const struct history_run *runs,
                          size_t n_runs, int64_t run_id, struct arena *arena, struct history_healthy *out)
{
    const struct history_run *own = run_of(runs, n_runs, run_id), *best = NULL;

    *out = (struct history_healthy){.at = -1};
    if (!history_run_broke(runs, n_runs, run_id))
        return true;
    for (size_t i = 0; i < n_runs; i++) {
        const struct history_run *run = &runs[i];

        if (run == own || run->used_at < 0 || (own->used_at >= 0 && run->used_at < own->used_at) ||
            !history_run_is_healthy(run))
            continue;
        if (!best || run->used_at < best->used_at ||
            (run->used_at == best->used_at && is_later(run, best)))
            best = run;
    }
    if (!best || best->used_at >= (ptrdiff_t)history->n_revisions)
        return true;
    out->at = best->used_at;
    out->run = best;
    out->is_same_commit = own->used_at == best->used_at;
    return own->used_at < 0 || add_changes(history, best->used_at, own->used_at, arena, out);
}

/* ---- When a commit took effect ---- */

static bool is_earlier(const struct history_run *a, const struct history_run *b)
{
    return a->began != NONE && (b->began == NONE || a->began < b->began);
}

/* Nearest to the commit from its younger side, of equal ones the first; from the older side, the last. */
static void look_by_commit(const struct history_run *runs, size_t n_runs, ptrdiff_t at,
                           struct history_effect *out)
{
    for (size_t i = 0; i < n_runs; i++) {
        const struct history_run *run = &runs[i], *with = out->with, *before = out->before;

        if (run->used_at < 0)
            continue;
        if (run->used_at <= at && (!with || run->used_at > with->used_at ||
                                   (run->used_at == with->used_at && is_earlier(run, with))))
            out->with = run;
        if (run->used_at > at && (!before || run->used_at < before->used_at ||
                                  (run->used_at == before->used_at && is_later(run, before))))
            out->before = run;
    }
}

static void look_by_time(const struct history_run *runs, size_t n_runs, int64_t time,
                         struct history_effect *out)
{
    const struct history_run *with = NULL, *before = NULL;

    for (size_t i = 0; i < n_runs; i++) {
        const struct history_run *run = &runs[i];

        if (run->used_at >= 0 || run->began == NONE)
            continue;
        if (run->began >= time && (!with || is_earlier(run, with)))
            with = run;
        if (run->began < time && (!before || is_later(run, before)))
            before = run;
    }
    out->with = out->with ? out->with : with;
    out->before = out->before ? out->before : before;
}

/* Seconds in the name of TensorBoard's event file, one of which is made by each start of the process. */
static int64_t began_of(const struct run_facts *facts, int64_t source_id)
{
    static const char WORD[] = "tfevents.";

    for (size_t i = 0; i < facts->n_sources; i++) {
        const char *at = facts->sources[i].id == source_id && facts->sources[i].path
                             ? strstr(facts->sources[i].path, WORD)
                             : NULL;
        int64_t seconds;

        if (!at)
            continue;
        at += sizeof WORD - 1;
        size_t digits = strspn(at, "0123456789");
        if (digits >= 10 && number_parse_int(str_from(at, digits), &seconds))
            return seconds;
    }
    return NONE;
}

static const struct curve *first_curve(const struct run_facts *facts)
{
    const struct curve *curve = facts_has_curve(facts, "loss") ? facts_curve(facts, "loss") : NULL;

    for (size_t i = 0; (!curve || curve->n == 0) && i < facts->n_series; i++)
        curve = facts->series[i].name ? facts_curve(facts, facts->series[i].name) : NULL;
    return curve && curve->n ? curve : NULL;
}

/* The first step of the part of the run that began after the time, if one before it did not. */
static int64_t step_of_part(const struct run_facts *facts, const struct curve *curve, int64_t time)
{
    int64_t source = curve ? curve_source(curve, 0) : 0;
    int64_t began = curve ? began_of(facts, source) : NONE;

    if (!curve || began == NONE || began >= time)
        return NONE;
    for (size_t i = 1; i < curve->n; i++) {
        if (curve_source(curve, i) == source)
            continue;
        source = curve_source(curve, i);
        began = began_of(facts, source);
        if (began != NONE && began >= time)
            return curve->step[i];
    }
    return NONE;
}

static int64_t first_step(const struct curve *curve)
{
    for (size_t i = 0; curve && i < curve->n; i++)
        if (curve->step[i] != NONE)
            return curve->step[i];
    return NONE;
}

struct history_effect history_effect_of(const struct config_history *history,
                                        const struct history_run *runs, size_t n_runs,
                                        const struct run_facts *facts, ptrdiff_t at)
{
    struct history_effect out = {.kind = HISTORY_EFFECT_UNKNOWN, .step = NONE};
    const struct curve *curve = first_curve(facts);
    const struct history_run *own = run_of(runs, n_runs, facts->run.id);
    int64_t time = history->revisions[at].commit_time;

    look_by_commit(runs, n_runs, at, &out);
    look_by_time(runs, n_runs, time, &out);
    if (own && (own->used_at < 0 || own->used_at > at)) {
        out.step = step_of_part(facts, curve, time);
        if (out.step != NONE) {
            out.kind = HISTORY_EFFECT_RESUMED;
            out.with = NULL;
            return out;
        }
    }
    if (out.with && out.with == own) {
        out.kind = HISTORY_EFFECT_HERE;
        out.step = first_step(curve);
        out.with = NULL;
    } else if (out.with) {
        out.kind = HISTORY_EFFECT_OTHER;
    }
    return out;
}
