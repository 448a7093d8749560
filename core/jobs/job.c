/* One worker thread with a queue of requests, and messages back. See job.h.
 *
 * One mutex guards both queues. The pipe holds a byte exactly while messages wait: it is written
 * when the first one comes and read when the last one is taken, so it never fills up. The message
 * that ends a request is allocated with the request, so that it cannot be lost. */
#include "core/jobs/job.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"

#define PROGRESS_NS  100000000
#define MAX_MESSAGES 1000       /* an owner that never looks must not cost memory without end */

struct node {
    struct node *next;
    struct job_message message;
};

struct request {
    struct request *next;
    job_fn *fn;
    void *argument;
    void (*release)(void *);
    int tag;
    bool is_urgent;
    struct node *end;           /* says how it ended */
};

struct requests {
    struct request *first, *last;
};

struct job {
    bool is_inline;             /* no thread: messages go nowhere */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_idle;
    int pipe[2];
    atomic_bool cancel;
    atomic_int n_pending;       /* queued and running */

    /* Guarded by the lock. */
    struct requests urgent, normal;
    struct node *first, *last;  /* messages */
    int n_messages;
    bool is_closing;

    /* The worker's own. */
    int tag;                    /* of the running request */
    int depth;                  /* 2: an urgent request inside job_yield */
    int64_t progress_at;        /* of the last progress message, or NONE */
};

/* ---- Queues --------------------------------------------------------------------------------- */

static void push(struct requests *queue, struct request *request)
{
    if (queue->last)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
}

static struct request *pop(struct requests *queue)
{
    struct request *request = queue->first;

    if (request) {
        queue->first = request->next;
        if (!queue->first)
            queue->last = NULL;
        request->next = NULL;
    }
    return request;
}

static void free_request(struct request *request)
{
    if (request->release)
        request->release(request->argument);
    free(request->end);
    free(request);
}

static void drop_all(struct requests *queue)
{
    for (struct request *request; (request = pop(queue));)
        free_request(request);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void push_message(struct job *job, struct node *node)
{
    static const char BYTE = 'm';

    node->next = NULL;
    if (job->last)
        job->last->next = node;
    else
        job->first = node;
    job->last = node;
    if (job->n_messages++ == 0 && write(job->pipe[1], &BYTE, 1) != 1)
        log_line("job: the owner could not be woken: %s", strerror(errno));
}

/* Nothing is lost by these: the next one says the same or more. */
static bool is_superfluous(const struct job *job, const struct job_message *message)
{
    const struct job_message *last = job->last ? &job->last->message : NULL;

    if (job->n_messages >= MAX_MESSAGES)
        return true;
    return message->kind == JOB_BATCH && last && last->kind == JOB_BATCH && last->a == message->a &&
           last->tag == message->tag;
}

void job_send(struct job *job, enum job_message_kind kind, int64_t a, int64_t b, const char *fmt,
              ...)
{
    va_list args;

    if (job->is_inline)
        return;
    if (kind == JOB_PROGRESS) {
        int64_t now = clock_ticks_ns();

        if (job->progress_at != NONE && now - job->progress_at < PROGRESS_NS)
            return;
        job->progress_at = now;
    }

    struct node *node = calloc(1, sizeof *node);

    if (!node) {
        log_line("job: no memory for a message");
        return;
    }
    node->message.kind = kind;
    node->message.tag = job->tag;
    node->message.a = a;
    node->message.b = b;
    if (fmt) {
        va_start(args, fmt);
        vsnprintf(node->message.text, sizeof node->message.text, fmt, args);
        va_end(args);
    }
    pthread_mutex_lock(&job->lock);
    if (is_superfluous(job, &node->message)) {
        pthread_mutex_unlock(&job->lock);
        free(node);
        return;
    }
    push_message(job, node);
    pthread_mutex_unlock(&job->lock);
}

bool job_next_message(struct job *job, struct job_message *message)
{
    char byte;

    pthread_mutex_lock(&job->lock);

    struct node *node = job->first;

    if (node) {
        job->first = node->next;
        if (!job->first)
            job->last = NULL;
        if (--job->n_messages == 0 && read(job->pipe[0], &byte, 1) != 1)
            log_line("job: the pipe was empty: %s", strerror(errno));
    }
    pthread_mutex_unlock(&job->lock);
    if (!node)
        return false;
    *message = node->message;
    free(node);
    return true;
}

/* ---- The worker ----------------------------------------------------------------------------- */

static void run_request(struct job *job, struct request *request)
{
    int outer_tag = job->tag;
    int64_t outer_progress = job->progress_at;
    struct job_message *end = &request->end->message;
    struct error err = {.status = OK};

    job->tag = request->tag;
    job->progress_at = NONE;
    job->depth++;
    end->tag = request->tag;
    end->kind = JOB_DONE;
    if (request->fn(job, request->argument, &err) != OK) {
        char text[sizeof err.path + sizeof err.message + 32];

        error_format(&err, text, sizeof text);
        end->kind = JOB_FAILED;
        snprintf(end->text, sizeof end->text, "%.*s", (int)sizeof end->text - 1, text);
    }
    job->depth--;
    job->tag = outer_tag;
    job->progress_at = outer_progress;
    if (request->release)
        request->release(request->argument);
    pthread_mutex_lock(&job->lock);
    push_message(job, request->end);
    if (atomic_fetch_sub(&job->n_pending, 1) == 1)
        pthread_cond_broadcast(&job->is_idle);
    pthread_mutex_unlock(&job->lock);
    free(request);
}

static struct request *next_request(struct job *job)
{
    struct request *request = NULL;

    pthread_mutex_lock(&job->lock);
    while (!(request = pop(&job->urgent)) && !job->is_closing) {
        request = pop(&job->normal);
        if (request)
            break;
        pthread_cond_wait(&job->has_work, &job->lock);
    }
    if (request && !job->is_closing)
        atomic_store(&job->cancel, false);
    pthread_mutex_unlock(&job->lock);
    return request;
}

static void *work(void *argument)
{
    struct job *job = argument;

    for (struct request *request; (request = next_request(job));)
        run_request(job, request);
    return NULL;
}

int job_yield(struct job *job, struct error *err)
{
    while (!job->is_inline && job->depth == 1) {
        pthread_mutex_lock(&job->lock);

        struct request *request = pop(&job->urgent);

        pthread_mutex_unlock(&job->lock);
        if (!request)
            break;
        run_request(job, request);
    }
    if (atomic_load(&job->cancel))
        return error_set(err, E_CANCELLED, "cancelled");
    return OK;
}

/* ---- The owner ------------------------------------------------------------------------------ */

static int make_pipe(int fds[2])
{
    if (pipe(fds) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        if (fcntl(fds[i], F_SETFL, O_NONBLOCK) != 0 || fcntl(fds[i], F_SETFD, FD_CLOEXEC) != 0) {
            int code = errno;

            close(fds[0]);
            close(fds[1]);
            return code;
        }
    return 0;
}

/* Signals are the owner's: the worker gets none. */
static int start_thread(struct job *job)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);

    int code = pthread_create(&job->thread, NULL, work, job);

    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}

static void free_job(struct job *job)
{
    close(job->pipe[0]);
    close(job->pipe[1]);
    pthread_cond_destroy(&job->has_work);
    pthread_cond_destroy(&job->is_idle);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

int job_open(struct job **out, struct error *err)
{
    struct job *job = calloc(1, sizeof *job);

    if (!job)
        return error_set(err, E_NOMEM, "no memory for the worker");
    job->progress_at = NONE;
    atomic_init(&job->cancel, false);
    atomic_init(&job->n_pending, 0);

    int code = make_pipe(job->pipe);

    if (code) {
        free(job);
        return error_set(err, E_IO, "no pipe for the worker: %s", strerror(code));
    }
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->has_work, NULL);
    pthread_cond_init(&job->is_idle, NULL);
    code = start_thread(job);
    if (code) {
        free_job(job);
        return error_set(err, E_IO, "no thread for the worker: %s", strerror(code));
    }
    *out = job;
    return OK;
}

void job_close(struct job *job)
{
    if (!job)
        return;
    pthread_mutex_lock(&job->lock);
    job->is_closing = true;
    atomic_store(&job->cancel, true);
    pthread_cond_broadcast(&job->has_work);
    pthread_mutex_unlock(&job->lock);
    pthread_join(job->thread, NULL);
    drop_all(&job->urgent);
    drop_all(&job->normal);
    for (struct node *node = job->first, *next; node; node = next) {
        next = node->next;
        free(node);
    }
    free_job(job);
}

int job_fd(const struct job *job)
{
    return job->pipe[0];
}

int job_post(struct job *job, job_fn *fn, void *argument, void (*release)(void *), int tag,
             bool is_urgent, struct error *err)
{
    struct request *request = calloc(1, sizeof *request);
    struct node *end = calloc(1, sizeof *end);

    if (!request || !end) {
        free(request);
        free(end);
        if (release)
            release(argument);
        return error_set(err, E_NOMEM, "no memory for a request");
    }
    *request = (struct request){.fn = fn, .argument = argument, .release = release, .tag = tag,
                                .is_urgent = is_urgent, .end = end};
    pthread_mutex_lock(&job->lock);
    atomic_fetch_add(&job->n_pending, 1);
    push(is_urgent ? &job->urgent : &job->normal, request);
    pthread_cond_signal(&job->has_work);
    pthread_mutex_unlock(&job->lock);
    return OK;
}

bool job_is_busy(const struct job *job)
{
    return atomic_load(&job->n_pending) > 0;
}

void job_cancel(struct job *job)
{
    atomic_store(&job->cancel, true);
}

const atomic_bool *job_cancel_flag(const struct job *job)
{
    return &job->cancel;
}

void job_wait_idle(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    while (atomic_load(&job->n_pending) > 0)
        pthread_cond_wait(&job->is_idle, &job->lock);
    pthread_mutex_unlock(&job->lock);
}

/* ---- Without a thread ----------------------------------------------------------------------- */

int job_run_inline(job_fn *fn, void *argument, struct error *err)
{
    struct job job = {.is_inline = true, .pipe = {-1, -1}, .depth = 1, .progress_at = NONE};

    return fn(&job, argument, err);
}
