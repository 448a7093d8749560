/* A run that was put into a store by hand, for the tests of reports and of what reads the store.
 *
 *     struct stored_run *run = stored_run_open();
 *     stored_run_put(run, "qwen-sft-07", "train.log");
 *     stored_run_results(run, results, n);
 *     …
 *     stored_run_close(run);
 *
 * The store is in memory, the clock stands still. Any failure of the machinery aborts the test. */
#ifndef TESTS_HARNESS_STORED_RUN_H
#define TESTS_HARNESS_STORED_RUN_H

#include "core/base/arena.h"
#include "core/store/store.h"

struct stored_run {
    char *folder;               /* temporary; the run's folder is below it */
    struct store *store;
    struct arena *arena;
    struct run run;
    int64_t log, state;         /* source ids of the console log and of trainer_state.json */
};

struct stored_run *stored_run_open(void);
void stored_run_close(struct stored_run *run);
/* A run folder of that name with a log (one note, line 17) and four rows of loss at the steps
 * 10 … 40 in trainer_state.json: 2.5, 2.25, NaN, inf. */
void stored_run_put(struct stored_run *run, const char *name, const char *log_name);
/* The given results, and n.a. for every other check of the registry: a golden file then does not
 * change with each new check. */
void stored_run_results(struct stored_run *run, const struct check_result *given, size_t n);
/* Five results: nan-onset FAIL and nan-fp16-overflow FAIL (one fault), nan-high-lr UNKNOWN,
 * oom-train PASS, run-incomplete WARN. `text` stands where texts of files can get: a finding,
 * evidence, a fix, what is missing, an information. */
void stored_run_findings(struct stored_run *run, const char *text);
/* A remark and a finding about nan-onset, and run-incomplete dismissed, all with this text. */
void stored_run_remarks(struct stored_run *run, const char *text);
struct evidence stored_run_evidence(int64_t source, int64_t line, int64_t step, const char *text);

#endif
