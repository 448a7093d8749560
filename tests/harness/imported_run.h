/* A run folder written by a test and imported as the program does it, into a store in memory.
 *
 *     struct imported_run *run = imported_run_new();
 *     tempdir_write_text(run->folder, "labels_sample.jsonl", "…");
 *     imported_run_read(run);
 *     … run->facts …
 *     imported_run_free(run);
 *
 * imported_run_read may be called again after files changed. Any failure aborts the test. */
#ifndef TESTS_HARNESS_IMPORTED_RUN_H
#define TESTS_HARNESS_IMPORTED_RUN_H

#include "core/facts/audit.h"
#include "tests/harness/tempdir.h"

struct imported_run {
    char *root, *folder;        /* "run" in a temporary folder, whose own name says "test" */
    struct arena *arena;
    struct store *store;
    struct run_facts *facts;
    struct error err;
};

struct imported_run *imported_run_new(void);
void imported_run_free(struct imported_run *run);
/* Imports the folder and opens the facts of its first run. */
void imported_run_read(struct imported_run *run);
/* The same, then makes the audits. */
void imported_run_audit(struct imported_run *run, const struct audit_hooks *hooks);

#endif
