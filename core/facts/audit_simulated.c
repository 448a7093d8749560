/* The rows of a data set rendered, tokenised and masked as the run's trainer does it, some hundred
 * at a time over the threads. Where the files leave two rules open, both are run: what they agree
 * on needs no assumption. One row's work: audit_label.c. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"
#include "core/jobs/parallel.h"
#include "core/text/labels.h"

#define BATCH_ROWS      256                /* of the hooks too */
#define BATCH_BYTES     ((size_t)32 << 20) /* of trees, unless one row alone is larger */
#define MOST_TOO_MUCH   8 /* rows at a limit of time or memory: a template that never ends does so in all */
#define DIFFERENT_SHARE 0.02 /* of the rows: two rules that differ less give the same verdicts */

struct tally { /* what verdicts rest on */
    int64_t n_masked, n_end, n_cut_answer, n_nothing_left, n_trained, n_trained_prompt;
};

struct simulation {
    struct audit_job *job;
    struct audit *audit;
    struct audit_ids ids;
    struct parallel *parallel;
    struct label_worker workers[PARALLEL_MAX];
    int n_workers;
    struct arena *trees;                  /* of the rows of a batch */
    const struct json *lines[BATCH_ROWS]; /* NULL: cannot be read, unreadable[i] says why */
    const char *unreadable[BATCH_ROWS];
    struct label_result results[BATCH_ROWS];
    size_t n;
    atomic_int n_given_up;                /* rows of this run of the threads that were too much */
    int n_too_much;                       /* rows so far, in their order */
    struct tally first, second;
    bool is_same;  /* both rules gave the same for every row */
    bool has_long; /* a row longer than the limit */
};

/* ---- A batch ---- */

/* 1: rows were read; 0: the end, perhaps behind some rows; negative as rows_next. */
static int read_batch(struct simulation *s, struct rows *rows, struct error *err)
{
    struct row_place place;
    struct error why = {0};
    int rc = 1;

    arena_reset(s->trees);
    for (s->n = 0; rc == 1 && s->n < BATCH_ROWS && arena_used(s->trees) < BATCH_BYTES;) {
        const struct json *line = NULL;

        rc = rows_next(rows, s->trees, &line, &place, &why, err);
        if (rc != 1)
            break;
        bool is_row = json_is(line, JSON_OBJECT);
        s->lines[s->n] = is_row ? line : NULL;
        s->unreadable[s->n] = is_row ? NULL
                              : line ? "no JSON object"
                                     : arena_strdup(s->trees, why.message);
        s->n++;
    }
    return rc;
}

static void work(void *ctx, int worker, size_t i)
{
    struct simulation *s = ctx;
    struct label_result *result = &s->results[i];

    if (!s->lines[i])
        return;
    *result = (struct label_result){.is_left = true};
    if (s->n_too_much + atomic_load(&s->n_given_up) >= MOST_TOO_MUCH)
        return;
    label_worker_row(&s->workers[worker], s->lines[i], result);
    if (result->is_too_much)
        atomic_fetch_add(&s->n_given_up, 1);
}

static void add_to(struct tally *tally, const struct audit_row *row)
{
    tally->n_masked += (row->flags & AUDIT_ALL_MASKED) != 0;
    tally->n_end += (row->flags & AUDIT_END_TRAINED) != 0;
    tally->n_cut_answer += (row->flags & AUDIT_CUT_ANSWER) != 0;
    tally->n_nothing_left += (row->flags & AUDIT_CUT_TO_NOTHING) != 0;
    tally->n_trained += row->n_trained > 0 ? row->n_trained : 0;
    tally->n_trained_prompt += row->n_trained_prompt;
}

static void compare(struct simulation *s, const struct label_result *result)
{
    const struct audit_row *a = &result->row, *b = &result->second;
    const uint32_t of_text = AUDIT_NO_ASSISTANT | AUDIT_EMPTY_ANSWER;

    add_to(&s->first, a);
    add_to(&s->second, b);
    if (a->n_tokens != b->n_tokens || a->n_trained != b->n_trained ||
        a->n_trained_prompt != b->n_trained_prompt ||
        (a->flags & ~of_text) != (b->flags & ~of_text))
        s->is_same = false;
}

static void take_marker(struct simulation *s, const struct label_result *result)
{
    struct audit *audit = s->audit;
    struct arena *arena = s->job->arena;

    if (!result->marker_ids || audit->marker_ids)
        return;
    audit->marker_ids = arena_strdup(arena, result->marker_ids);
    audit->marker = arena_strdup(arena, result->marker);
    audit->nearest_ids = arena_strdup(arena, result->nearest_ids);
    audit->nearest_text = arena_strdup(arena, result->nearest_text);
}

/* One huge row, one of another form than the first, is that row's trouble. */
static int merge(struct simulation *s, const struct label_result *result, struct error *err)
{
    struct audit_job *job = s->job;

    if (result->rc == E_LIMIT || (result->rc == E_UNSUPPORTED && job->list.n > 0))
        return audit_refuse(job, s->audit, AUDIT_REFUSED, result->why, err);
    if (result->rc != OK)
        return error_set(err, result->rc, "%s", result->why);
    if (result->refused) {
        s->n_too_much += result->is_too_much;
        return audit_refuse(job, s->audit, AUDIT_REFUSED, result->refused, err);
    }
    audit_add_seen(job, &result->seen);
    take_marker(s, result);
    if (s->ids.max_length != NONE && result->row.n_tokens > s->ids.max_length)
        s->has_long = true;
    if (job->policy->has_other)
        compare(s, result);
    return audit_list_add(&job->list, &result->row, err);
}

static int merge_batch(struct simulation *s, struct error *err)
{
    int rc = OK;

    atomic_store(&s->n_given_up, 0);
    for (size_t i = 0; rc == OK && i < s->n && s->n_too_much < MOST_TOO_MUCH; i++) {
        if (s->lines[i] && s->results[i].is_left)
            label_worker_row(&s->workers[0], s->lines[i], &s->results[i]);
        rc = s->lines[i] ? merge(s, &s->results[i], err)
                         : audit_refuse(s->job, s->audit, AUDIT_UNREADABLE, s->unreadable[i], err);
    }
    if (rc == OK && s->n_too_much == MOST_TOO_MUCH)
        rc = error_set(err, E_LIMIT, "%d rows are too much to render or tokenise (%s): those behind "
                       "row %zu were not looked at",
                       MOST_TOO_MUCH, s->audit->first_refusal, s->job->list.n - 1);
    for (int i = 0; i < s->n_workers; i++)
        arena_reset(s->workers[i].arena);
    return rc;
}

static int read_rows(struct simulation *s, struct rows *rows, struct error *err)
{
    int more = 1;

    while (more == 1) {
        struct error why = {0};

        more = read_batch(s, rows, &why);
        parallel_run(s->parallel, s->n, work, s);
        int rc = merge_batch(s, err);
        if (rc != OK)
            return rc;
        if (more < 0) {
            *err = why;
            return more;
        }
        if (!audit_goes_on(s->job, (int64_t)s->job->list.n))
            return OK;
    }
    return OK;
}

/* ---- What it rests on ---- */

static bool far_apart(int64_t a, int64_t b, int64_t of)
{
    int64_t difference = a > b ? a - b : b - a;

    return of > 0 && (double)difference / (double)of > DIFFERENT_SHARE;
}

/* A share near 0 or 1 that is exactly so under one rule only may turn a verdict too. */
static bool verdicts_may_differ(const struct simulation *s)
{
    const struct tally *a = &s->first, *b = &s->second;
    int64_t n = (int64_t)s->job->list.n;

    return far_apart(a->n_masked, b->n_masked, n) || (a->n_masked == 0) != (b->n_masked == 0) ||
           far_apart(a->n_end, b->n_end, n) || far_apart(a->n_cut_answer, b->n_cut_answer, n) ||
           far_apart(a->n_nothing_left, b->n_nothing_left, n) ||
           far_apart(a->n_trained_prompt, b->n_trained_prompt, a->n_trained) ||
           far_apart(a->n_trained, b->n_trained, a->n_trained);
}

static void assume(struct audit_job *job, struct audit *audit, const char *clause)
{
    if (clause)
        audit->assumption = audit->assumption
                                ? arena_printf(job->arena, "%s; %s", audit->assumption, clause)
                                : clause;
}

/* TRL's own variant of a template is known by its markers only. */
static void assume_patched(struct simulation *s)
{
    const struct label_policy *policy = &s->job->policy->policy;
    struct patched_template kind;

    if (policy->template_is_patched && policy->assistant_only == YES &&
        s->job->engine->template_text.p &&
        !jinja_has_generation(chat_template_program(s->job->engine->chat_template)) &&
        labels_patched_kind(s->job->engine->template_text, &kind))
        assume(s->job, s->audit,
               arena_printf(s->job->arena, "TRL's own variant of the %s template", kind.family));
}

static void give_up(struct simulation *s, const char *missing)
{
    s->audit->basis = AUDIT_NONE;
    s->audit->missing = missing;
    audit_list_free(&s->job->list);
    s->job->n_new_ids = 0;
    s->job->max_id = s->job->max_id_row = NONE;
}

static void conclude(struct simulation *s)
{
    const struct mask_policy *policy = s->job->policy;

    s->audit->assumption = policy->assumption;
    if (s->has_long)
        assume(s->job, s->audit, policy->length_assumption);
    assume_patched(s);
    if (!policy->has_other || s->is_same)
        return;
    if (verdicts_may_differ(s)) {
        give_up(s, policy->missing);
        s->audit->assumption = arena_printf(s->job->arena, "%s and %s give other labels",
                                            policy->version_assumption, policy->other_assumption);
        return;
    }
    assume(s->job, s->audit, policy->version_assumption);
    s->audit->missing = policy->missing;
}

static const char *policy_line(struct audit_job *job)
{
    struct buf text;
    const char *kept;

    buf_init(&text, 4096);
    label_policy_about(&job->policy->policy, &text);
    kept = arena_strdup(job->arena, text.p ? text.p : "");
    buf_free(&text);
    return kept;
}

static int open_all(struct simulation *s, struct rows **rows, struct error *why)
{
    const struct audit_hooks *hooks = s->job->hooks;
    int threads = hooks && hooks->n_threads ? hooks->n_threads : 1;
    int rc;

    if (s->job->dataset->n_rows < BATCH_ROWS)
        threads = 1;
    rc = parallel_open(&s->parallel, threads, why);
    for (int i = 0; rc == OK && i < parallel_workers(s->parallel); i++) {
        rc = label_worker_open(&s->workers[i], s->job, &s->ids, why);
        if (rc == OK)
            s->n_workers++;
    }
    s->trees = arena_open(AUDIT_ROW_ARENA);
    if (rc == OK && !s->trees)
        rc = error_set(why, E_NOMEM, "no memory for rows");
    return rc == OK ? rows_open(rows, s->job->source->path, why) : rc;
}

static void close_all(struct simulation *s, struct rows *rows)
{
    rows_close(rows);
    arena_close(s->trees);
    parallel_close(s->parallel);
    for (int i = 0; i < s->n_workers; i++)
        label_worker_close(&s->workers[i]);
}

static int simulate(struct simulation *s, struct error *err)
{
    struct audit *audit = s->audit;
    struct rows *rows = NULL;
    struct error why = {0};
    int rc = open_all(s, &rows, &why);
    bool is_open = rc == OK;

    if (is_open)
        rc = read_rows(s, rows, &why);
    close_all(s, rows);
    if (rc == E_NOMEM) {
        *err = why;
        return rc;
    }
    if (rc != OK && (!is_open || s->job->list.n == 0)) {
        const char *broken = s->job->engine->no_template;

        give_up(s, arena_strdup(s->job->arena,
                                rc == E_UNSUPPORTED && is_open && broken ? broken : why.message));
        return OK;
    }
    if (rc != OK) { /* what can be read of the file was */
        audit->missing = arena_strdup(s->job->arena, why.message);
        audit->is_partial = true;
    }
    conclude(s);
    return OK;
}

int audit_simulated(struct audit_job *job, struct audit *audit, struct error *err)
{
    struct simulation *s = calloc(1, sizeof *s);

    if (!s)
        return error_set(err, E_NOMEM, "no memory to label rows");
    *s = (struct simulation){.job = job, .audit = audit, .ids = *job->ids, .is_same = true};
    audit->basis = AUDIT_SIMULATED;
    audit->because = job->policy->because;
    if (!job->policy->is_known) {
        give_up(s, job->policy->missing);
        free(s);
        return OK;
    }
    audit->policy = policy_line(job);
    audit->max_length = s->ids.max_length = job->policy->policy.max_length;
    s->ids.cut_keeps_end = job->policy->policy.cut_keeps_end;
    int rc = simulate(s, err);
    free(s);
    return rc;
}
