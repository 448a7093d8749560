/* The worker thread: order, urgent requests, cancelling, messages. Run under tsan too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/jobs/job.h"

/* What the requests of a test share. Only the worker writes `order`; it is read when idle. */
struct shared {
    struct job *job;
    sem_t started, go;
    int order[16], n_order;
    atomic_int n_released;
};

struct argument {
    struct shared *shared;
    int value;
};

static int set_up(void **state)
{
    struct shared *shared = calloc(1, sizeof *shared);

    sem_init(&shared->started, 0, 0);
    sem_init(&shared->go, 0, 0);
    assert_int_equal(job_open(&shared->job, NULL), OK);
    *state = shared;
    return 0;
}

static int tear_down(void **state)
{
    struct shared *shared = *state;

    job_close(shared->job);
    sem_destroy(&shared->started);
    sem_destroy(&shared->go);
    free(shared);
    return 0;
}

static void release(void *argument)
{
    struct argument *a = argument;

    atomic_fetch_add(&a->shared->n_released, 1);
    free(a);
}

static struct argument *argument_of(struct shared *shared, int value)
{
    struct argument *a = calloc(1, sizeof *a);

    a->shared = shared;
    a->value = value;
    return a;
}

static int note_order(struct job *job, void *argument, struct error *err)
{
    struct argument *a = argument;

    (void)job;
    (void)err;
    a->shared->order[a->shared->n_order++] = a->value;
    return OK;
}

/* Holds the worker until the test says go, then yields. */
static int hold(struct job *job, void *argument, struct error *err)
{
    struct argument *a = argument;

    sem_post(&a->shared->started);
    sem_wait(&a->shared->go);

    int rc = job_yield(job, err);

    if (rc == OK)
        a->shared->order[a->shared->n_order++] = a->value;
    return rc;
}

static int break_down(struct job *job, void *argument, struct error *err)
{
    (void)job;
    (void)argument;

    int rc = error_set(err, E_IO, "no such disk");

    error_at(err, "/x/y", 3, NONE);
    return rc;
}

static void post(struct shared *shared, job_fn *fn, int value, bool is_urgent)
{
    assert_int_equal(job_post(shared->job, fn, argument_of(shared, value), release, value,
                              is_urgent, NULL),
                     OK);
}

static bool is_readable(const struct job *job)
{
    struct pollfd fd = {.fd = job_fd(job), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

static void requests_run_in_order_and_say_that_they_ended(void **state)
{
    struct shared *shared = *state;
    struct job_message message;

    for (int i = 1; i <= 5; i++)
        post(shared, note_order, i, false);
    job_wait_idle(shared->job);
    assert_false(job_is_busy(shared->job));
    assert_int_equal(shared->n_order, 5);
    assert_int_equal(atomic_load(&shared->n_released), 5);
    for (int i = 1; i <= 5; i++) {
        assert_true(is_readable(shared->job));
        assert_true(job_next_message(shared->job, &message));
        assert_int_equal(message.kind, JOB_DONE);
        assert_int_equal(message.tag, i);
        assert_int_equal(shared->order[i - 1], i);
    }
    assert_false(job_next_message(shared->job, &message));
    assert_false(is_readable(shared->job));
}

static void a_failure_is_told_with_its_place(void **state)
{
    struct shared *shared = *state;
    struct job_message message;

    post(shared, break_down, 9, false);
    job_wait_idle(shared->job);
    assert_true(job_next_message(shared->job, &message));
    assert_int_equal(message.kind, JOB_FAILED);
    assert_int_equal(message.tag, 9);
    assert_string_equal(message.text, "/x/y:3: no such disk");
}

static void urgent_requests_are_served_inside_a_long_one(void **state)
{
    struct shared *shared = *state;
    struct job_message message;

    post(shared, hold, 1, false);
    sem_wait(&shared->started);
    assert_true(job_is_busy(shared->job));
    post(shared, note_order, 2, false);
    post(shared, note_order, 3, true);
    post(shared, note_order, 4, true);
    sem_post(&shared->go);
    job_wait_idle(shared->job);

    static const int ORDER[] = {3, 4, 1, 2};

    assert_int_equal(shared->n_order, 4);
    assert_memory_equal(shared->order, ORDER, sizeof ORDER);
    for (int i = 0; i < 4; i++) {
        assert_true(job_next_message(shared->job, &message));
        assert_int_equal(message.tag, ORDER[i]);
        assert_int_equal(message.kind, JOB_DONE);
    }
}

static void cancelling_stops_the_running_request_only(void **state)
{
    struct shared *shared = *state;
    struct job_message message;

    post(shared, hold, 1, false);
    sem_wait(&shared->started);
    post(shared, note_order, 2, false);
    post(shared, note_order, 3, true);
    job_cancel(shared->job);
    assert_true(atomic_load(job_cancel_flag(shared->job)));
    sem_post(&shared->go);
    job_wait_idle(shared->job);

    static const int ORDER[] = {3, 2};      /* what the user wrote is served even then */

    assert_int_equal(shared->n_order, 2);
    assert_memory_equal(shared->order, ORDER, sizeof ORDER);
    assert_true(job_next_message(shared->job, &message));
    assert_int_equal(message.tag, 3);
    assert_true(job_next_message(shared->job, &message));
    assert_int_equal(message.tag, 1);
    assert_int_equal(message.kind, JOB_FAILED);
    assert_true(job_next_message(shared->job, &message));
    assert_int_equal(message.tag, 2);
    assert_int_equal(message.kind, JOB_DONE);
}

static void cancelling_nothing_does_not_stop_the_next_request(void **state)
{
    struct shared *shared = *state;

    job_cancel(shared->job);
    post(shared, hold, 1, false);
    sem_wait(&shared->started);
    sem_post(&shared->go);
    job_wait_idle(shared->job);
    assert_int_equal(shared->n_order, 1);
}

static int work_until_cancelled(struct job *job, void *argument, struct error *err)
{
    struct argument *a = argument;
    int rc = OK;

    sem_post(&a->shared->started);
    while ((rc = job_yield(job, err)) == OK)
        sched_yield();
    return rc;
}

static void closing_runs_what_is_urgent_and_drops_the_rest(void **state)
{
    struct shared *shared = *state;
    struct job *second;

    assert_int_equal(job_open(&second, NULL), OK);

    struct job *own = shared->job;

    shared->job = second;
    post(shared, work_until_cancelled, 1, false);
    sem_wait(&shared->started);
    post(shared, note_order, 2, false);
    post(shared, note_order, 3, true);
    job_close(second);
    shared->job = own;
    assert_int_equal(shared->n_order, 1);
    assert_int_equal(shared->order[0], 3);
    assert_int_equal(atomic_load(&shared->n_released), 3);
    job_close(NULL);
}

static int talk(struct job *job, void *argument, struct error *err)
{
    (void)argument;
    (void)err;
    for (int i = 0; i < 1000; i++)
        job_send(job, JOB_PROGRESS, i, 1000, NULL);
    job_send(job, JOB_BATCH, 7, 0, NULL);
    job_send(job, JOB_BATCH, 7, 0, NULL);
    job_send(job, JOB_NOTICE, 0, 0, "moved %s", "aside");
    return OK;
}

static void progress_is_thinned_and_the_rest_is_kept(void **state)
{
    struct shared *shared = *state;
    struct job_message message;
    int n_progress = 0;

    post(shared, talk, 5, false);
    job_wait_idle(shared->job);
    while (job_next_message(shared->job, &message) && message.kind == JOB_PROGRESS) {
        if (n_progress == 0)
            assert_int_equal(message.a, 0);
        assert_int_equal(message.b, 1000);
        assert_int_equal(message.tag, 5);
        n_progress++;
    }
    assert_true(n_progress >= 1 && n_progress < 500);
    assert_int_equal(message.kind, JOB_BATCH);
    assert_int_equal(message.a, 7);
    assert_true(job_next_message(shared->job, &message));
    assert_int_equal(message.kind, JOB_NOTICE);
    assert_string_equal(message.text, "moved aside");
    assert_true(job_next_message(shared->job, &message));
    assert_int_equal(message.kind, JOB_DONE);
}

static int flood(struct job *job, void *argument, struct error *err)
{
    (void)argument;
    (void)err;
    for (int i = 0; i < 100000; i++)
        job_send(job, JOB_BATCH, i, 0, NULL);
    return OK;
}

static void an_owner_that_does_not_look_costs_no_memory_without_end(void **state)
{
    struct shared *shared = *state;
    struct job_message message;
    int n = 0;

    post(shared, flood, 1, false);
    job_wait_idle(shared->job);
    while (job_next_message(shared->job, &message))
        n++;
    assert_true(n < 2000);
    assert_int_equal(message.kind, JOB_DONE);
    assert_false(is_readable(shared->job));
}

static int nothing(struct job *job, void *argument, struct error *err)
{
    (void)job;
    (void)argument;
    (void)err;
    return OK;
}

static void the_pipe_wakes_a_polling_owner(void **state)
{
    struct shared *shared = *state;
    struct pollfd fd = {.fd = job_fd(shared->job), .events = POLLIN};
    struct job_message message;

    for (int i = 0; i < 100; i++) {
        post(shared, nothing, i, false);
        assert_int_equal(poll(&fd, 1, 10000), 1);
        assert_true(job_next_message(shared->job, &message));
        assert_int_equal(message.tag, i);
    }
}

static int inline_fn(struct job *job, void *argument, struct error *err)
{
    int *n = argument;

    job_send(job, JOB_PROGRESS, 1, 2, NULL);
    job_send(job, JOB_NOTICE, 0, 0, "%d", 1);
    (*n)++;
    assert_false(atomic_load(job_cancel_flag(job)));

    int rc = job_yield(job, err);

    return rc != OK ? rc : error_set(err, E_LIMIT, "enough");
}

static void a_request_runs_without_a_thread_too(void **state)
{
    struct error err;
    int n = 0;

    (void)state;
    assert_int_equal(job_run_inline(inline_fn, &n, &err), E_LIMIT);
    assert_int_equal(n, 1);
    assert_string_equal(err.message, "enough");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_run_in_order_and_say_that_they_ended),
        TEST(a_failure_is_told_with_its_place),
        TEST(urgent_requests_are_served_inside_a_long_one),
        TEST(cancelling_stops_the_running_request_only),
        TEST(cancelling_nothing_does_not_stop_the_next_request),
        TEST(closing_runs_what_is_urgent_and_drops_the_rest),
        TEST(progress_is_thinned_and_the_rest_is_kept),
        TEST(an_owner_that_does_not_look_costs_no_memory_without_end),
        TEST(the_pipe_wakes_a_polling_owner),
        cmocka_unit_test(a_request_runs_without_a_thread_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
