/* What importers call. An importer knows what a file means and this interface, not SQL.
 *
 * Call trace for one file:
 *
 *     sink_begin(run, source)
 *         sink_setting*
 *         sink_series ─ sink_point*, sink_point_row*     (the handle is valid until sink_end)
 *         sink_event*
 *         sink_artefact ─ sink_tensor*
 *         sink_dataset ─ sink_sample*
 *         sink_generation*
 *         sink_eval_suite ─ sink_eval_item*
 *         sink_judgement*
 *         sink_note*                             (anywhere between begin and end)
 *         sink_mark
 *     sink_end(read_to, state)                   or sink_abort
 *
 * All texts are copied before the call returns; source_id and id members of the records are
 * ignored. Behind it stands the database (sink_open_store), a text dump for the importer tests
 * (sink_open_text) or nothing (sink_open_null, fuzzers and benchmarks).
 *
 * Begin deletes what the source held before and inserts anew in batches inside transactions; a
 * reader sees whole batches only. sink_abort keeps nothing of the source but its notes, and marks
 * it damaged. The store's errors come out of the call that met them and of every later one, until
 * the source is given up; after E_LIMIT notes are still taken; a sink_end that fails gives it up.
 *
 * A source belongs to one run: a file that was begun for two runs is stored once for each, so that
 * dropping a run drops all of its rows and nothing of another run's. The same setting (side and
 * raw name) twice in a source: the last one counts. Until sink_end a source is "growing", so that
 * an import that was cut short is never taken as current. */
#ifndef CORE_STORE_SINK_H
#define CORE_STORE_SINK_H

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/model.h"

struct sink;
struct store;

MUST_CHECK int sink_open_store(struct sink **out, struct store *store, struct error *err);
/* One line a record, tab-separated, stable: what tests/importers compare. */
MUST_CHECK int sink_open_text(struct sink **out, struct buf *text, struct error *err);
MUST_CHECK int sink_open_null(struct sink **out, struct error *err);
void sink_close(struct sink *sink);

/* `run` gives key, folder, name, project (the row is made or found by key); `source` gives path,
 * importer, importer_version, size, mtime_ns, device, inode, role. A source may belong to several
 * runs (a base model beside two runs): begin it once for each. */
MUST_CHECK int sink_begin(struct sink *sink, const struct run *run, const struct source *source,
                          struct error *err);
MUST_CHECK int sink_setting(struct sink *sink, const struct setting *setting, struct error *err);
/* The same raw_name gives the same handle. name: canonical, or NULL when there is none. Beyond
 * 20,000 metrics of a source the handle takes points and keeps none; sink_end notes it. */
MUST_CHECK int sink_series(struct sink *sink, const char *raw_name, const char *name,
                           int *handle, struct error *err);
MUST_CHECK int sink_point(struct sink *sink, int handle, const struct point *point,
                          struct error *err);
/* What sink_point would do for each value, which have all the rest in common. */
struct point_row {
    int64_t seq, step, line;
    int32_t segment;
    double wall;
    size_t n;
    const int *handles;
    const double *values;
};
MUST_CHECK int sink_point_row(struct sink *sink, const struct point_row *row, struct error *err);
MUST_CHECK int sink_event(struct sink *sink, const struct event *event, struct error *err);
MUST_CHECK int sink_artefact(struct sink *sink, const struct artefact *artefact, int64_t *id,
                             struct error *err);
MUST_CHECK int sink_tensor(struct sink *sink, int64_t artefact_id, const struct tensor *tensor,
                           struct error *err);
/* n_rows and n_unreadable may be NONE here; sink_dataset_done states them. */
MUST_CHECK int sink_dataset(struct sink *sink, const struct dataset *dataset, int64_t *id,
                            struct error *err);
MUST_CHECK int sink_sample(struct sink *sink, int64_t dataset_id, const struct sample *sample,
                           struct error *err);
MUST_CHECK int sink_dataset_done(struct sink *sink, int64_t dataset_id, const char *form,
                                 const char *columns, int64_t n_rows, int64_t n_unreadable,
                                 struct error *err);
MUST_CHECK int sink_generation(struct sink *sink, const struct generation *generation,
                               struct error *err);
/* n and n_correct of a suite whose items follow are counted from them: NONE and NaN here. The same
 * item twice: the last one counts. */
MUST_CHECK int sink_eval_suite(struct sink *sink, const struct eval_suite *suite, int64_t *id,
                               struct error *err);
MUST_CHECK int sink_eval_item(struct sink *sink, int64_t suite_id, const struct eval_item *item,
                              struct error *err);
/* In the order of the file, each with an ord of its own. */
MUST_CHECK int sink_judgement(struct sink *sink, const struct judgement *judgement,
                              struct error *err);
MUST_CHECK int sink_note(struct sink *sink, enum note_severity severity, int64_t line,
                         int64_t byte, struct error *err, const char *fmt, ...)
    PRINTF_LIKE(6, 7);
/* The earliest and the latest time that the points of the source have so far, seconds since 1970; NaN:
 * none has one, or none that can be true. */
void sink_times(const struct sink *sink, double *first, double *last);
/* Before sink_end: first_wall … tail_hash of `marks` are kept with the source. */
MUST_CHECK int sink_mark(struct sink *sink, const struct source *marks, struct error *err);
MUST_CHECK int sink_end(struct sink *sink, int64_t read_to, enum source_state state,
                        struct error *err);
void sink_abort(struct sink *sink);

/* True when this very file (size, mtime, device, inode, importer version) is in the store for this
 * run already and whole: it need not be read again. Always false for text and null sinks. */
bool sink_is_current(struct sink *sink, const struct run *run, const struct source *source);
/* Drops from the run every source that is not in `keep` (paths + importer ids), as gone. */
MUST_CHECK int sink_keep_only(struct sink *sink, const struct run *run,
                              const struct source *keep, size_t n, struct error *err);

#endif
