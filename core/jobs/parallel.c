/* Threads that wait for a range of items and take one after the other. See parallel.h. */
#include "core/jobs/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct helper {
    struct parallel *parallel;
    int worker;
    pthread_t thread;
};

struct parallel {
    int n_workers; /* the owner's own thread is worker 0 */
    struct helper helpers[PARALLEL_MAX];
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_done;
    bool is_closing;
    unsigned round; /* counts the runs; a helper works once in each */
    int n_busy;
    parallel_fn *fn;
    void *ctx;
    size_t n;
    atomic_size_t next;
};

static void work(struct parallel *p, int worker)
{
    for (;;) {
        size_t i = atomic_fetch_add(&p->next, 1);

        if (i >= p->n)
            return;
        p->fn(p->ctx, worker, i);
    }
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct parallel *p = helper->parallel;
    unsigned seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->is_closing && p->round == seen)
            pthread_cond_wait(&p->has_work, &p->lock);
        if (p->is_closing)
            break;
        seen = p->round;
        pthread_mutex_unlock(&p->lock);
        work(p, helper->worker);
        pthread_mutex_lock(&p->lock);
        if (--p->n_busy == 0)
            pthread_cond_signal(&p->is_done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int machine_workers(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > PARALLEL_MAX ? PARALLEL_MAX : (int)n;
}

int parallel_open(struct parallel **out, int n_workers, struct error *err)
{
    struct parallel *p = calloc(1, sizeof *p);
    int wanted = n_workers < 1 ? machine_workers() : n_workers;

    if (!p)
        return error_set(err, E_NOMEM, "no memory for threads");
    if (wanted > PARALLEL_MAX)
        wanted = PARALLEL_MAX;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->has_work, NULL);
    pthread_cond_init(&p->is_done, NULL);
    p->n_workers = 1;
    /* Fewer threads than wanted are slower, not wrong. */
    while (p->n_workers < wanted) {
        struct helper *helper = &p->helpers[p->n_workers];

        *helper = (struct helper){.parallel = p, .worker = p->n_workers};
        if (pthread_create(&helper->thread, NULL, help, helper) != 0)
            break;
        p->n_workers++;
    }
    *out = p;
    return OK;
}

void parallel_close(struct parallel *parallel)
{
    if (!parallel)
        return;
    pthread_mutex_lock(&parallel->lock);
    parallel->is_closing = true;
    pthread_cond_broadcast(&parallel->has_work);
    pthread_mutex_unlock(&parallel->lock);
    for (int i = 1; i < parallel->n_workers; i++)
        pthread_join(parallel->helpers[i].thread, NULL);
    pthread_cond_destroy(&parallel->is_done);
    pthread_cond_destroy(&parallel->has_work);
    pthread_mutex_destroy(&parallel->lock);
    free(parallel);
}

int parallel_workers(const struct parallel *parallel)
{
    return parallel->n_workers;
}

void parallel_run(struct parallel *parallel, size_t n, parallel_fn *fn, void *ctx)
{
    pthread_mutex_lock(&parallel->lock);
    parallel->fn = fn;
    parallel->ctx = ctx;
    parallel->n = n;
    atomic_store(&parallel->next, 0);
    parallel->n_busy = parallel->n_workers - 1;
    parallel->round++;
    pthread_cond_broadcast(&parallel->has_work);
    pthread_mutex_unlock(&parallel->lock);
    work(parallel, 0);
    pthread_mutex_lock(&parallel->lock);
    while (parallel->n_busy > 0)
        pthread_cond_wait(&parallel->is_done, &parallel->lock);
    pthread_mutex_unlock(&parallel->lock);
}
