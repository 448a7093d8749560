/* A small run folder from files to facts: plan, import, what is known, and imports again. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/facts/run_facts.h"
#include "core/store/store.h"
#include "importers/folder.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder, *kept;
    struct arena *arena;
    struct store *store;
    struct sink *sink;
    struct plan plan;
    struct run_facts *facts;
    struct import_hooks hooks;
    int n_read, n_current, n_damaged, n_runs;
    int64_t last_progress, total;
};

static void file_done(void *ctx, const struct import_event *event)
{
    struct fixture *f = ctx;

    f->n_current += event->was_current;
    f->n_read += !event->was_current;
    f->n_damaged += event->state == SOURCE_DAMAGED;
}

static void run_done(void *ctx, const struct plan_run *run)
{
    struct fixture *f = ctx;

    assert_non_null(run);
    f->n_runs++;
}

static void progress(void *ctx, int64_t done, int64_t total)
{
    struct fixture *f = ctx;

    f->last_progress = done;
    f->total = total;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err;

    f->folder = tempdir_make();
    f->kept = tempdir_make();
    f->arena = arena_open((size_t)64 << 20);
    const struct store_options options = {.in_memory = true,
                                          .kept_path = tempdir_path(f->kept, "kept.db")};
    assert_int_equal(store_open(&f->store, &options, &err), OK);
    assert_int_equal(sink_open_store(&f->sink, f->store, &err), OK);
    f->hooks = (struct import_hooks){
        .file_done = file_done, .run_done = run_done, .progress = progress, .ctx = f};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    run_facts_close(f->facts);
    sink_close(f->sink);
    store_close(f->store);
    tempdir_remove(f->folder);
    tempdir_remove(f->kept);
    arena_close(f->arena);
    free(f);
    return 0;
}

static void write_run(struct fixture *f)
{
    tempdir_write_text(
        f->folder, "run/checkpoint-20/trainer_state.json",
        "{\"epoch\": 1.0, \"global_step\": 20, \"max_steps\": 40, \"num_train_epochs\": 2,\n"
        "\"log_history\": [\n"
        "{\"epoch\": 0.5, \"learning_rate\": 0.002, \"loss\": 1.46291, \"step\": 10},\n"
        "{\"epoch\": 1.0, \"learning_rate\": 0.001, \"loss\": 1.2, \"step\": 20},\n"
        "{\"epoch\": 1.0, \"eval_loss\": 1.3, \"step\": 20}]}\n");
    tempdir_write_text(f->folder, "run/training_args.json",
                       "{\"learning_rate\": 0.002, \"num_train_epochs\": 2, "
                       "\"per_device_train_batch_size\": 4, \"fp16\": false}\n");
    tempdir_write_text(f->folder, "console.log",
                       "***** Running training *****\n"
                       "  Num examples = 80\n"
                       "  Num Epochs = 2\n"
                       "  Total optimization steps = 40\n"
                       "{'loss': 1.4629, 'learning_rate': 0.002, 'epoch': 0.5}\n"
                       " 50%|#####     | 20/40 [00:01<00:01, 20.00it/s]\n"
                       "{'loss': 1.2, 'learning_rate': 0.001, 'epoch': 1.0}\n"
                       " 60%|######    | 24/40 [00:01<00:01, 20.00it/s]\n"
                       "Traceback (most recent call last):\n"
                       "  File \"train.py\", line 3, in <module>\n"
                       "    trainer.train()\n"
                       "OSError: [Errno 28] No space left on device\n");
    tempdir_write_text(f->folder, "data/train.jsonl",
                       "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, "
                       "{\"role\": \"assistant\", \"content\": \"Hello\"}]}\n"
                       "{\"messages\": [{\"role\": \"user\", \"content\": \"Bye\"}, "
                       "{\"role\": \"assistant\", \"content\": \"See you\"}]}\n");
}

static void import(struct fixture *f, bool again)
{
    const char *path = f->folder;
    struct error err = {0};
    struct run run;

    f->n_read = f->n_current = f->n_damaged = f->n_runs = 0;
    assert_int_equal(plan_make(&path, 1, NULL, f->arena, &f->plan, &err), OK);
    assert_int_equal(f->plan.n_runs, 1);
    assert_int_equal(plan_import(&f->plan, f->sink, again, &f->hooks, &err), OK);
    run_facts_close(f->facts);
    f->facts = NULL;
    assert_int_equal(store_run_find(f->store, f->plan.runs[0].run.key, f->arena, &run, &err), OK);
    assert_int_equal(run_facts_open(&f->facts, f->store, run.id, &err), OK);
}

static void a_run_folder_becomes_facts(void **state)
{
    struct fixture *f = *state;
    double value;
    size_t n;

    write_run(f);
    import(f, false);
    const struct run_facts *facts = f->facts;
    assert_int_equal(f->n_runs, 1);
    assert_int_equal(f->n_read, 5);
    assert_int_equal(f->last_progress, f->total);
    assert_int_equal(facts->run.kind, KIND_SFT);
    assert_int_equal(facts->run.outcome, OUTCOME_CRASHED);
    assert_string_equal(facts->outcome_reason, "exception at console.log:12");
    assert_int_equal(facts->max_steps, 40);
    assert_int_equal(facts->last_step, 24);
    assert_true(facts->planned_epochs == 2);
    assert_true(facts->has_training_log);
    assert_false(facts->has_final_state);
    assert_false(facts->has_end_marker);
    assert_int_equal(facts_curve(facts, "loss")->n, 2);
    assert_true(facts_curve(facts, "loss")->value[0] == 1.46291);
    assert_int_equal(facts_eval_losses(facts, &n)[0]->n, 1);
    assert_true(facts_number(facts, "learning_rate", &value) && value == 0.002);
    assert_int_equal(facts_bool(facts, "fp16"), 0);
    assert_int_equal(facts_train_rows(facts, NULL), 2);
    assert_int_equal(run_facts_status(facts, NULL), OK);
}

static void checkpoints_on_disk_are_artefacts(void **state)
{
    struct fixture *f = *state;
    const struct artefact *checkpoint = NULL;
    static const char OPTIMIZER[5000];

    write_run(f);
    tempdir_write(f->folder, "run/checkpoint-20/optimizer.pt", OPTIMIZER, sizeof OPTIMIZER);
    import(f, false);
    for (size_t i = 0; i < f->facts->n_artefacts; i++)
        if (strcmp(f->facts->artefacts[i].kind, "checkpoint") == 0)
            checkpoint = &f->facts->artefacts[i];
    assert_non_null(checkpoint);
    assert_int_equal(checkpoint->step, 20);
    assert_true(checkpoint->size > (int64_t)sizeof OPTIMIZER);
    assert_string_equal(strrchr(checkpoint->path, '/'), "/checkpoint-20");
}

static void what_is_current_is_not_read_again(void **state)
{
    struct fixture *f = *state;

    write_run(f);
    import(f, false);
    uint64_t hash = f->facts->inputs_hash;
    import(f, false);
    assert_int_equal(f->n_current, 4); /* the folder is looked at each time */
    assert_int_equal(f->n_read, 1);
    assert_true(f->facts->inputs_hash == hash);
    import(f, true);
    assert_int_equal(f->n_read, 5);
}

static void a_file_that_is_gone_leaves_the_run(void **state)
{
    struct fixture *f = *state;

    write_run(f);
    import(f, false);
    assert_int_equal(remove(tempdir_path(f->folder, "console.log")), 0);
    import(f, false);
    assert_false(f->facts->has_training_log);
    assert_int_equal(f->facts->n_events, 0);
    assert_int_equal(f->facts->run.outcome, OUTCOME_UNKNOWN);
}

static void a_damaged_file_does_not_stop_the_others(void **state)
{
    struct fixture *f = *state;

    write_run(f);
    tempdir_write_text(
        f->folder, "run/checkpoint-20/trainer_state.json",
        "{\"global_step\": 20, \"log_history\": [{\"loss\": 1.4629, \"step\": 10}, {");
    import(f, false);
    assert_int_equal(f->n_damaged, 1);
    assert_true(f->facts->n_notes > 0);
    assert_int_equal(f->facts->run.outcome, OUTCOME_CRASHED);
}

static void half_a_last_row_does_not_make_a_run_a_running_one(void **state)
{
    struct fixture *f = *state;
    const struct source *table = NULL;

    tempdir_write_text(f->folder, "metrics.jsonl",
                       "{\"step\": 1, \"loss\": 1.5}\n{\"step\": 2, \"loss\": 1.25}\n"
                       "{\"step\": 3, \"loss\": 1.125}\n{\"step\": 4, \"lo");
    tempdir_write_text(f->folder, "train_config.json",
                       "{\"learning_rate\": 0.001, \"max_steps\": 40}");
    import(f, false);
    for (size_t i = 0; i < f->facts->n_sources; i++)
        if (strcmp(f->facts->sources[i].importer, "metrics_table") == 0)
            table = &f->facts->sources[i];
    assert_non_null(table);
    assert_int_equal(table->state, SOURCE_DAMAGED);
    assert_int_equal(f->facts->run.outcome, OUTCOME_STOPPED);
    assert_int_equal(f->facts->last_step, 3);
    assert_int_equal(f->facts->max_steps, 40);
}

static void a_log_that_another_process_writes_is_of_a_running_one(void **state)
{
    struct fixture *f = *state;
    int told[2], done[2];
    char byte = 0;

    write_run(f);
    tempdir_write_text(f->folder, "console.log",
                       "***** Running training *****\n  Total optimization steps = 40\n"
                       "{'loss': 1.4629, 'learning_rate': 0.002, 'epoch': 0.5}\n");
    const char *path = tempdir_path(f->folder, "console.log");
    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(done), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY | O_APPEND);
        _exit(fd < 0 || write(told[1], "x", 1) != 1 || read(done[0], &byte, 1) < 0);
    }
    assert_true(child > 0);
    assert_int_equal(read(told[0], &byte, 1), 1);
    import(f, false);
    assert_int_equal(write(done[1], "x", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 2; i++) {
        close(told[i]);
        close(done[i]);
    }
    assert_int_equal(f->facts->run.outcome, OUTCOME_RUNNING);
}

static void a_cancelled_import_says_so(void **state)
{
    struct fixture *f = *state;
    const char *path = f->folder;
    atomic_bool cancel = true;
    struct error err = {0};

    write_run(f);
    f->hooks.cancel = &cancel;
    assert_int_equal(plan_make(&path, 1, NULL, f->arena, &f->plan, &err), OK);
    assert_int_equal(plan_import(&f->plan, f->sink, false, &f->hooks, &err), E_CANCELLED);
    assert_int_equal(f->n_runs, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_run_folder_becomes_facts),
        CASE(checkpoints_on_disk_are_artefacts),
        CASE(what_is_current_is_not_read_again),
        CASE(a_file_that_is_gone_leaves_the_run),
        CASE(a_damaged_file_does_not_stop_the_others),
        CASE(half_a_last_row_does_not_make_a_run_a_running_one),
        CASE(a_log_that_another_process_writes_is_of_a_running_one),
        CASE(a_cancelled_import_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
