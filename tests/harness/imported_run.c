/* A run folder imported as the program does it. See imported_run.h. */
#include "tests/harness/imported_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/store/sink.h"
#include "importers/folder.h"

static void must(const struct imported_run *run, int rc)
{
    if (rc != OK)
        fail_msg("%s", run->err.message);
}

struct imported_run *imported_run_new(void)
{
    struct imported_run *run = calloc(1, sizeof *run);

    assert_non_null(run);
    run->root = tempdir_make();
    run->folder = strdup(tempdir_path(run->root, "run"));
    assert_non_null(run->folder);
    assert_int_equal(mkdir(run->folder, 0777), 0);
    run->arena = arena_open((size_t)64 << 20);
    assert_non_null(run->arena);
    const struct store_options options = {.in_memory = true,
                                          .kept_path = tempdir_path(run->root, "kept.db")};
    must(run, store_open(&run->store, &options, &run->err));
    return run;
}

void imported_run_free(struct imported_run *run)
{
    run_facts_close(run->facts);
    store_close(run->store);
    arena_close(run->arena);
    tempdir_remove(run->root);
    free(run->folder);
    free(run);
}

void imported_run_read(struct imported_run *run)
{
    static const struct plan_options no_options;
    static const struct import_hooks no_hooks;
    const char *const paths[] = {run->folder};
    struct sink *sink = NULL;
    struct plan plan;
    struct run stored;

    run_facts_close(run->facts);
    run->facts = NULL;
    must(run, plan_make(paths, 1, &no_options, run->arena, &plan, &run->err));
    assert_true(plan.n_runs >= 1);
    must(run, sink_open_store(&sink, run->store, &run->err));
    must(run, plan_import(&plan, sink, false, &no_hooks, &run->err));
    sink_close(sink);
    must(run, store_run_find(run->store, plan.runs[0].run.key, run->arena, &stored, &run->err));
    must(run, run_facts_open(&run->facts, run->store, stored.id, &run->err));
}

void imported_run_audit(struct imported_run *run, const struct audit_hooks *hooks)
{
    imported_run_read(run);
    must(run, audits_refresh(run->facts, run->store, hooks, &run->err));
}
