/* Runs, their sources and the importers' notes. */
#include "core/store/runs.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/store/db.h"

#define RUN_COLUMNS                                                                            \
    "SELECT id, key, folder, name, project, framework, kind, marks, outcome, started_at,"      \
    " ended_at FROM run "

static void fill_run(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct run *run = item;
    const char *kind = db_text(row, 6, arena);
    const char *outcome = db_text(row, 8, arena);

    *run = (struct run){
        .id = sqlite3_column_int64(row, 0),
        .key = db_text(row, 1, arena),
        .folder = db_text(row, 2, arena),
        .name = db_text(row, 3, arena),
        .project = db_text(row, 4, arena),
        .framework = db_text(row, 5, arena),
        .marks = (unsigned)sqlite3_column_int(row, 7),
        .started_at = db_count(row, 9),
        .ended_at = db_count(row, 10),
    };
    if (!kind || !run_kind_parse(kind, &run->kind))
        run->kind = KIND_UNKNOWN;
    for (int i = OUTCOME_UNKNOWN; i <= OUTCOME_RUNNING; i++)
        if (outcome && strcmp(outcome, outcome_name((enum outcome)i)) == 0)
            run->outcome = (enum outcome)i;
}

int store_runs(struct store *store, struct arena *arena, const struct run **out, size_t *n,
               struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct run)};
    sqlite3_stmt *statement;
    int rc = db_prepare(store, RUN_COLUMNS "ORDER BY imported_at DESC, id DESC", &statement, err);

    if (rc == OK)
        rc = db_load(store, statement, &list, fill_run, err);
    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

int store_run_by_id(struct store *store, int64_t id, struct arena *arena, struct run *out,
                    struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct run)};
    int rc = db_load_by_id(store, RUN_COLUMNS "WHERE id = ?1", id, &list, fill_run, err);

    if (rc != OK)
        return rc;
    if (list.n == 0)
        return error_set(err, E_NOTFOUND, "no run number %lld in the cache", (long long)id);
    *out = *(struct run *)list.items;
    return OK;
}

/* One run must be meant: a name may be that of runs of several projects. */
static int one_of(const struct db_list *list, const char *what, struct run *out,
                  struct error *err)
{
    const struct run *runs = list->items;

    if (list->n > 1)
        return error_set(err, E_NOTFOUND,
                         "%zu runs are called %s: say which by its key, as %s or %s", list->n,
                         what, runs[0].key, runs[1].key);
    *out = runs[0];
    return OK;
}

int store_run_find(struct store *store, const char *what, struct arena *arena, struct run *out,
                   struct error *err)
{
    static const char *const WAYS[] = {
        RUN_COLUMNS "WHERE key = ?1",
        RUN_COLUMNS "WHERE name = ?1 ORDER BY imported_at DESC, id DESC",
        RUN_COLUMNS "WHERE folder = ?1 ORDER BY imported_at DESC, id DESC",
    };
    char *real = realpath(what, NULL);
    int rc = OK;

    for (size_t i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++) {
        struct db_list list = {.arena = arena, .item_bytes = sizeof(struct run)};
        const char *key = i == 2 && real ? real : what;

        rc = db_load_by_key(store, WAYS[i], key, &list, fill_run, err);
        if (rc == OK && list.n > 0)
            rc = one_of(&list, what, out, err);
        if (rc != OK || list.n > 0)
            goto out;
    }
    rc = error_set(err, E_NOTFOUND, "no run of this key, name or folder in the cache: %s", what);
out:
    free(real);
    return rc;
}

int store_run_update(struct store *store, const struct run *run, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    rc = db_prepare(store,
                    "UPDATE run SET framework = ?2, kind = ?3, marks = ?4, outcome = ?5,"
                    " started_at = ?6, ended_at = ?7 WHERE id = ?1 AND"
                    /* what does not change is not written: nobody has to look again */
                    " (framework, kind, marks, outcome, started_at, ended_at)"
                    " IS NOT (?2, ?3, ?4, ?5, ?6, ?7)",
                    &statement, err);
    if (rc == OK) {
        db_bind_int(store, statement, 1, run->id);
        db_bind_text(store, statement, 2, run->framework);
        db_bind_text(store, statement, 3, run_kind_name(run->kind));
        db_bind_int(store, statement, 4, (int64_t)run->marks);
        db_bind_text(store, statement, 5, outcome_name(run->outcome));
        db_bind_count(store, statement, 6, run->started_at);
        db_bind_count(store, statement, 7, run->ended_at);
        rc = db_run(store, statement, err);
    }
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

int store_run_forget(struct store *store, int64_t id, struct error *err)
{
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    rc = db_run_id(store, "DELETE FROM run WHERE id = ?1", id, err);
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

/* ---- Sources and notes ---------------------------------------------------------------------- */

#define SOURCE_COLUMNS                                                                         \
    "SELECT id, path, importer, importer_version, size, mtime_ns, device, inode, read_to,"     \
    " state, role, first_wall, last_wall, hashed_to, head_hash, tail_hash FROM source "

static void fill_source(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct source *source = item;
    const char *state = db_text(row, 9, arena);

    *source = (struct source){
        .id = sqlite3_column_int64(row, 0),
        .path = db_text(row, 1, arena),
        .importer = db_text(row, 2, arena),
        .importer_version = sqlite3_column_int(row, 3),
        .size = db_count(row, 4),
        .mtime_ns = db_count(row, 5),
        .device = db_count(row, 6),
        .inode = db_count(row, 7),
        .read_to = sqlite3_column_int64(row, 8),
        .state = SOURCE_DAMAGED,
        .role = db_text(row, 10, arena),
        .first_wall = db_count(row, 11),
        .last_wall = db_count(row, 12),
        .hashed_to = sqlite3_column_int64(row, 13),
        .head_hash = sqlite3_column_int64(row, 14),
        .tail_hash = sqlite3_column_int64(row, 15),
    };
    if (state && !source_state_parse(state, &source->state))
        source->state = SOURCE_DAMAGED;
}

int store_sources(struct store *store, int64_t run_id, struct arena *arena,
                  const struct source **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct source)};
    int rc = db_load_by_id(store, SOURCE_COLUMNS "WHERE run_id = ?1 ORDER BY id", run_id, &list,
                           fill_source, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

static int mark_gone(struct store *store, int64_t id, const char *path, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "UPDATE source SET state = 'gone', path = coalesce(?2, path) WHERE id = ?1",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, id);
    db_bind_text(store, statement, 2, path);
    return db_run(store, statement, err);
}

static int put_note(struct store *store, int64_t source_id, const char *text, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO note (source_id, severity, line, byte_off, message)"
                        " VALUES (?1, ?2, NULL, NULL, ?3)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, source_id);
    db_bind_int(store, statement, 2, NOTE_WARN);
    db_bind_text(store, statement, 3, text);
    return db_run(store, statement, err);
}

int store_source_set_gone(struct store *store, int64_t id, const char *path, const char *note,
                          struct error *err)
{
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    rc = mark_gone(store, id, path, err);
    if (rc == OK)
        rc = put_note(store, id, note, err);
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

static void fill_note(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct note *note = item;

    *note = (struct note){
        .source_id = sqlite3_column_int64(row, 0),
        .path = db_text(row, 1, arena),
        .severity = (enum note_severity)sqlite3_column_int(row, 2),
        .line = db_count(row, 3),
        .byte = db_count(row, 4),
        .message = db_text(row, 5, arena),
    };
    if (note->severity > NOTE_ERROR)
        note->severity = NOTE_ERROR;
}

int store_notes(struct store *store, int64_t run_id, struct arena *arena,
                const struct note **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct note)};
    int rc = db_load_by_id(store,
                           "SELECT s.id, s.path, n.severity, n.line, n.byte_off, n.message"
                           " FROM source s JOIN note n ON n.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, n.id",
                           run_id, &list, fill_note, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- What a sink makes and drops ------------------------------------------------------------ */

int run_put(struct store *store, const struct run *run, int64_t *id, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                     "INSERT INTO run (key, folder, name, project, kind, marks, outcome,"
                     " imported_at) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)"
                     " ON CONFLICT (key) DO UPDATE SET folder = ?2, name = ?3, project = ?4,"
                     " imported_at = ?7 RETURNING id",
                     &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run->key ? run->key : "");
    db_bind_text(store, statement, 2, run->folder ? run->folder : "");
    db_bind_text(store, statement, 3, run->name ? run->name : "");
    db_bind_text(store, statement, 4, run->project);
    db_bind_text(store, statement, 5, run_kind_name(KIND_UNKNOWN));
    db_bind_text(store, statement, 6, outcome_name(OUTCOME_UNKNOWN));
    db_bind_int(store, statement, 7, clock_now());
    rc = db_step(store, statement, err);
    if (rc == 1) {
        *id = sqlite3_column_int64(statement, 0);
        rc = db_run(store, statement, err);
    }
    return rc < 0 ? rc : OK;
}

/* "growing" until sink_end: a source whose import was cut short is never current. */
int source_put(struct store *store, int64_t run_id, const struct source *source, int64_t *id,
               struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                     "INSERT INTO source (run_id, path, importer, importer_version, size,"
                     " mtime_ns, device, inode, role, read_to, state, imported_at)"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 'growing', ?10)"
                     " ON CONFLICT (run_id, path, importer) DO UPDATE SET importer_version = ?4,"
                     " size = ?5, mtime_ns = ?6, device = ?7, inode = ?8, role = ?9, read_to = 0,"
                     " state = 'growing', imported_at = ?10, first_wall = NULL,"
                     " last_wall = NULL, hashed_to = 0 RETURNING id",
                     &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_text(store, statement, 2, source->path ? source->path : "");
    db_bind_text(store, statement, 3, source->importer ? source->importer : "");
    db_bind_int(store, statement, 4, source->importer_version);
    db_bind_count(store, statement, 5, source->size);
    db_bind_count(store, statement, 6, source->mtime_ns);
    db_bind_count(store, statement, 7, source->device);
    db_bind_count(store, statement, 8, source->inode);
    db_bind_text(store, statement, 9, source->role);
    db_bind_int(store, statement, 10, clock_now());
    rc = db_step(store, statement, err);
    if (rc == 1) {
        *id = sqlite3_column_int64(statement, 0);
        rc = db_run(store, statement, err);
    }
    return rc < 0 ? rc : OK;
}

bool source_is_current(struct store *store, const struct run *run, const struct source *source)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "SELECT 1 FROM run r JOIN source s ON s.run_id = r.id"
                        " WHERE r.key = ?1 AND s.path = ?2 AND s.importer = ?3"
                        " AND s.importer_version = ?4 AND s.size IS ?5 AND s.mtime_ns IS ?6"
                        " AND s.device IS ?7 AND s.inode IS ?8 AND s.role IS ?9"
                        " AND s.state = 'whole'",
                        &statement, NULL);

    if (rc != OK)
        return false;
    db_bind_text(store, statement, 1, run->key);
    db_bind_text(store, statement, 2, source->path);
    db_bind_text(store, statement, 3, source->importer);
    db_bind_int(store, statement, 4, source->importer_version);
    db_bind_count(store, statement, 5, source->size);
    db_bind_count(store, statement, 6, source->mtime_ns);
    db_bind_count(store, statement, 7, source->device);
    db_bind_count(store, statement, 8, source->inode);
    db_bind_text(store, statement, 9, source->role);

    bool is_there = db_step(store, statement, NULL) == 1;

    sqlite3_reset(statement);
    return is_there;
}

static void fill_name(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct source *)item = (struct source){
        .id = sqlite3_column_int64(row, 0),
        .path = db_text(row, 1, arena),
        .importer = db_text(row, 2, arena),
    };
}

/* A run may have tens of thousands of sources (a state in each checkpoint): sorted, then found. */
static int by_name(const void *pa, const void *pb)
{
    const struct source *a = *(const struct source *const *)pa;
    const struct source *b = *(const struct source *const *)pb;
    int c = strcmp(a->path, b->path);

    return c ? c : strcmp(a->importer, b->importer);
}

static const struct source **sorted(const struct source_list *keep, struct arena *arena)
{
    const struct source **list = arena_array(arena, keep->n + 1, sizeof(void *));

    for (size_t i = 0; list && i < keep->n; i++)
        list[i] = &keep->items[i];
    if (list)
        qsort(list, keep->n, sizeof(void *), by_name);
    return list;
}

static int drop_others(struct store *store, const struct db_list *list,
                       const struct source_list *keep, struct error *err)
{
    const struct source *sources = list->items;
    const struct source **kept = sorted(keep, list->arena);
    bool is_begun = false;
    int rc = OK;

    if (!kept)
        return error_set(err, E_NOMEM, "no memory for %zu sources", keep->n);
    for (size_t i = 0; i < list->n && rc == OK; i++) {
        const struct source *source = &sources[i];

        if (bsearch(&source, kept, keep->n, sizeof(void *), by_name))
            continue;
        if (!is_begun && (rc = store_begin(store, err)) != OK)
            return rc;
        is_begun = true;
        rc = db_run_id(store, "DELETE FROM source WHERE id = ?1", sources[i].id, err);
    }
    if (rc == OK)
        return is_begun ? store_commit(store, err) : OK;
    store_rollback(store);
    return rc;
}

int sources_keep_only(struct store *store, const struct run *run, const struct source_list *keep,
                      struct error *err)
{
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct source)};

    if (!arena)
        return error_set(err, E_NOMEM, "no memory for the sources of a run");

    int rc = db_load_by_key(store,
                            "SELECT s.id, s.path, s.importer FROM run r"
                            " JOIN source s ON s.run_id = r.id WHERE r.key = ?1",
                            run->key, &list, fill_name, err);

    if (rc == OK)
        rc = drop_others(store, &list, keep, err);
    arena_close(arena);
    return rc;
}
