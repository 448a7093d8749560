/* A run built by hand, for the tests of checks: no files, no store.
 *
 *     struct fake_run *run = fake_run_new(KIND_SFT);
 *     fake_setting(run, "learning_rate", "0.003");
 *     fake_curve(run, "loss", loss, n);
 *     struct check_result r;
 *     fake_check(run, &check_loss_flat, &r);
 *     …
 *     fake_run_free(run);
 *
 * A fresh run has one console log (source 1), which began and was read whole, a last_step from
 * the longest curve, no settings, no end marker. Everything is copied; results live until the run
 * is freed. Any failure of the machinery aborts the test. */
#ifndef TESTS_HARNESS_FAKE_RUN_H
#define TESTS_HARNESS_FAKE_RUN_H

#include "core/checks/check.h"
#include "core/checks/runner.h"
#include "core/facts/audit.h"

#define FAKE_LOG 1          /* id of the first source */

struct fake_run;

struct fake_run *fake_run_new(enum run_kind kind);
/* A fresh sft run with rows of loss and, unless NULL, grad_norm. */
struct fake_run *fake_run_with_rows(const double *loss, const double *grad, size_t n);
void fake_run_free(struct fake_run *run);
struct arena *fake_arena(struct fake_run *run);

/* The decided part, to be changed freely before the first fake_facts: run.outcome, run.marks,
 * has_end_marker, max_steps, last_step, planned_epochs … */
struct run_facts *fake_decided(struct fake_run *run);

int64_t fake_source(struct fake_run *run, const char *path, const char *importer);

/* Values at the steps 1 … n of source FAKE_LOG, row i at line i + 1, one segment. */
void fake_curve(struct fake_run *run, const char *name, const double *y, size_t n);
/* The same at given steps; step[i] falling starts a new segment. Rows of one step get the same
 * seq (the step), so that curve_on_row finds them. */
void fake_curve_at(struct fake_run *run, const char *name, const int64_t *step, const double *y,
                   size_t n);
/* Every value the same. */
void fake_level(struct fake_run *run, const char *name, double value, size_t n);
/* From `first` to `last` in a straight line. */
void fake_line(struct fake_run *run, const char *name, double first, double last, size_t n);

/* name is canonical; the type follows the text: true/false, numbers, [lists], else text. */
void fake_setting(struct fake_run *run, const char *name, const char *value);
void fake_setting_on(struct fake_run *run, enum side side, const char *name, const char *value);
void fake_answer(struct fake_run *run, const char *name, const char *value);

/* Lines count up from 1,000 by themselves. The event may be changed (line, source_id) until the
 * next event is added. */
struct event *fake_event(struct fake_run *run, const char *kind, const char *pattern,
                         int64_t step, const char *text);
/* Group 1 … of the event added last. */
void fake_capture(struct fake_run *run, int group, const char *text);

void fake_artefact(struct fake_run *run, const char *kind, const char *path, int64_t step);
/* Tensors of the artefact added last. */
void fake_tensors(struct fake_run *run, const struct tensor *tensors, size_t n);
/* What was added last, to be completed: an artefact's role, hash and size, a suite's artefact, a setting's
 * source … */
struct artefact *fake_last_artefact(struct fake_run *run);
struct eval_suite *fake_last_suite(struct fake_run *run);
struct setting *fake_last_setting(struct fake_run *run);
struct source *fake_last_source(struct fake_run *run);
void fake_dataset(struct fake_run *run, const char *split, const char *form, int64_t n_rows);
/* Another file name than that of the split, for the dataset added last. */
void fake_dataset_name(struct fake_run *run, const char *name);
/* Rows of the dataset added last. */
void fake_samples(struct fake_run *run, const struct sample *samples, size_t n);
/* An audit of a data set of its own ("tokens" when recorded, else "messages") with these rows: ids NONE,
 * counts summed, no assumption; of all rows unless is_sampled is set. May be changed until the facts
 * are made. */
struct audit *fake_audit(struct fake_run *run, const char *split, enum audit_basis basis,
                         const struct audit_row *rows, size_t n);
/* What logged completions say (core/facts/completions.h); borrowed. */
struct completions;
void fake_completions(struct fake_run *run, const struct completions *completions);
void fake_lengths(struct fake_run *run, const int32_t *tokens, size_t n);
void fake_generation(struct fake_run *run, const struct generation *generation);
/* What a model reached on a suite: `correct` of n. */
void fake_suite(struct fake_run *run, const char *model, const char *suite, int64_t correct, int64_t n);
/* Items of the suite added last, which counts them; in order of their names. */
void fake_items(struct fake_run *run, const struct eval_item *items, size_t n);
/* All judgements of the run; texts are borrowed. */
void fake_judgements(struct fake_run *run, const struct judgement *judgements, size_t n);
/* The step of the suite added last. */
void fake_step(struct fake_run *run, int64_t step);
void fake_note(struct fake_run *run, enum note_severity severity, const char *message);

/* The facts; made at the first call, nothing may be added afterwards. */
const struct run_facts *fake_facts(struct fake_run *run);
/* Runs one check: applies, needs, rule. */
void fake_check(struct fake_run *run, const struct check *check, struct check_result *out);
/* The same with other runs of the project. */
void fake_check_among(struct fake_run *run, struct fake_run *const *others, size_t n_others,
                      const struct check *check, struct check_result *out);

#endif
