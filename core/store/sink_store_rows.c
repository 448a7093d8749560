/* The records that the sink of the cache writes at once: settings, events, artefacts and tensors, what
 * models wrote and reached, notes. Numbers that are gathered in blocks are sink_store.c's. */
#include "core/store/outputs.h"
#include "core/store/sink_store_parts.h"

int row_setting(void *self, const struct setting *set, struct error *err)
{
    struct store_sink *sink = self;
    struct store *store = sink->store;
    sqlite3_stmt *statement;
    /* The last statement of a file counts, as for Python; its place in the order too. */
    int rc = sink_prepare(sink,
                          "INSERT OR REPLACE INTO config_key (source_id, side, raw_name, name,"
                          " value, type, line) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, sink->source_id);
    db_bind_text(store, statement, 2, side_name(set->side));
    db_bind_text(store, statement, 3, set->raw_name);
    db_bind_text(store, statement, 4, set->name);
    db_bind_text(store, statement, 5, set->value);
    db_bind_int(store, statement, 6, (int64_t)set->type);
    db_bind_count(store, statement, 7, set->line);
    return sink_insert(sink, statement, err);
}

int row_event(void *self, const struct event *said, struct error *err)
{
    struct store_sink *sink = self;
    struct store *store = sink->store;
    struct buf captures;
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink,
                          "INSERT INTO event (source_id, seq, kind, pattern, step, line, byte_off,"
                          " text, captures) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                          &statement, err);

    if (rc != OK)
        return rc;
    buf_init(&captures, ARENA_BATCH_BYTES);
    for (int i = 0; i < said->n_captures; i++) {
        buf_puts(&captures, said->captures[i] ? said->captures[i] : "");
        buf_putc(&captures, '\0');
    }
    db_bind_int(store, statement, 1, sink->source_id);
    db_bind_int(store, statement, 2, said->seq);
    db_bind_text(store, statement, 3, said->kind ? said->kind : "");
    db_bind_text(store, statement, 4, said->pattern);
    db_bind_count(store, statement, 5, said->step);
    db_bind_count(store, statement, 6, said->line);
    db_bind_count(store, statement, 7, said->byte);
    db_bind_text(store, statement, 8, said->text);
    db_bind_blob(store, statement, 9, captures.n ? captures.p : NULL, captures.n);
    rc = captures.failed ? sink_no_memory(err) : sink_insert(sink, statement, err);
    buf_free(&captures);
    return rc;
}

int row_artefact(void *self, const struct artefact *found, int64_t *id, struct error *err)
{
    struct store_sink *sink = self;
    struct store *store = sink->store;
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink,
                          "INSERT INTO artefact (source_id, kind, role, path, size, step, sha256)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?7, (SELECT h.sha256 FROM source s"
                          " JOIN file_hash h ON h.device = s.device AND h.inode = s.inode"
                          " AND h.size = s.size AND h.mtime_ns = s.mtime_ns WHERE s.id = ?1)))",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, sink->source_id);
    db_bind_text(store, statement, 2, found->kind ? found->kind : "");
    db_bind_text(store, statement, 3, found->role);
    db_bind_text(store, statement, 4, found->path);
    db_bind_count(store, statement, 5, found->size);
    db_bind_count(store, statement, 6, found->step);
    db_bind_text(store, statement, 7, found->sha256);
    rc = db_run(store, statement, err);
    if (rc != OK)
        return rc;
    *id = sqlite3_last_insert_rowid(store->db);
    return sink_wrote(sink, 0, err);
}

int row_tensor(void *self, int64_t artefact_id, const struct tensor *of, struct error *err)
{
    struct store_sink *sink = self;
    struct store *store = sink->store;
    uint8_t bits[8], delta_bits[8];
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink,
                          "INSERT INTO tensor (artefact_id, ord, name, dtype, shape, n_values, norm,"
                          " n_nonzero, n_nonfinite, delta_norm, content_hash)"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, artefact_id);
    db_bind_int(store, statement, 2, sink->next_tensor++);
    db_bind_text(store, statement, 3, of->name ? of->name : "");
    db_bind_text(store, statement, 4, of->dtype);
    db_bind_text(store, statement, 5, of->shape);
    db_bind_count(store, statement, 6, of->n_values);
    db_bind_double(store, statement, 7, of->norm, bits);
    db_bind_count(store, statement, 8, of->n_nonzero);
    db_bind_count(store, statement, 9, of->n_nonfinite);
    db_bind_double(store, statement, 10, of->delta_norm, delta_bits);
    db_bind_int(store, statement, 11, of->content_hash);
    return sink_insert(sink, statement, err);
}

static int after(struct store_sink *sink, int rc, struct error *err)
{
    return rc == OK ? sink_wrote(sink, 0, err) : rc;
}

int row_generation(void *self, const struct generation *made, struct error *err)
{
    struct store_sink *sink = self;

    return after(sink, output_put_generation(sink->store, sink->source_id, made, err), err);
}

int row_eval_suite(void *self, const struct eval_suite *suite, int64_t *id, struct error *err)
{
    struct store_sink *sink = self;

    return after(sink, output_put_suite(sink->store, sink->source_id, suite, id, err), err);
}

int row_eval_item(void *self, int64_t suite_id, const struct eval_item *item, struct error *err)
{
    struct store_sink *sink = self;

    return after(sink, output_put_item(sink->store, suite_id, item, err), err);
}

int row_judgement(void *self, const struct judgement *said, struct error *err)
{
    struct store_sink *sink = self;

    return after(sink, output_put_judgement(sink->store, sink->source_id, said, err), err);
}

int row_note(void *self, const struct note *said, struct error *err)
{
    struct store_sink *sink = self;
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink,
                          "INSERT INTO note (source_id, severity, line, byte_off, message)"
                          " VALUES (?1, ?2, ?3, ?4, ?5)",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(sink->store, statement, 1, sink->source_id);
    db_bind_int(sink->store, statement, 2, (int64_t)said->severity);
    db_bind_count(sink->store, statement, 3, said->line);
    db_bind_count(sink->store, statement, 4, said->byte);
    db_bind_text(sink->store, statement, 5, said->message);
    return sink_insert(sink, statement, err);
}
