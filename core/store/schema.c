/* The tables of cache.db and triage.db, as ordered migrations: only ever append to these lists.
 *
 * cache.db can be rebuilt: a migration of it may drop everything. triage.db holds what the user
 * wrote: a migration never drops a row of it. Tables are STRICT; rows of a file hang on `source`,
 * which hangs on `run`, so that one DELETE takes all that a file or a run brought. Every
 * referencing column that does not lead its primary key has an index, else a deletion scans. */
#include "core/store/schema.h"

#include <stdio.h>

static const char *const CACHE_MIGRATIONS[] = {
    "CREATE TABLE run ("
    " id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, name TEXT NOT NULL,"
    " project TEXT, framework TEXT, kind TEXT NOT NULL, marks INTEGER NOT NULL,"
    " outcome TEXT NOT NULL, started_at INTEGER, ended_at INTEGER,"
    " imported_at INTEGER NOT NULL) STRICT;"

    /* A file read for two runs is there twice: each run owns all of its rows. */
    "CREATE TABLE source ("
    " id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,"
    " path TEXT NOT NULL, importer TEXT NOT NULL, importer_version INTEGER NOT NULL,"
    " size INTEGER, mtime_ns INTEGER, device INTEGER, inode INTEGER, role TEXT,"
    " read_to INTEGER NOT NULL,"
    " state TEXT NOT NULL CHECK (state IN ('whole','growing','damaged','gone')),"
    " imported_at INTEGER NOT NULL, UNIQUE (run_id, path, importer)) STRICT;"
    "CREATE TABLE note ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " severity INTEGER NOT NULL, line INTEGER, byte_off INTEGER, message TEXT NOT NULL) STRICT;"
    "CREATE INDEX note_by_source ON note (source_id);"

    "CREATE TABLE series ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " raw_name TEXT NOT NULL, name TEXT, unit TEXT, n_points INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE (source_id, raw_name)) STRICT;"
    /* Up to 4,096 points of one series. value_bits are doubles as they are (a REAL column would
     * turn NaN into NULL); the others are columns of columns.h, NULL where no point has one.
     * `segments` is NULL when all points are of `segment`. hash is over all of these: SQLite has no
     * checksums, and a flipped byte must not become a wrong verdict. */
    "CREATE TABLE point_block ("
    " series_id INTEGER NOT NULL REFERENCES series ON DELETE CASCADE, block INTEGER NOT NULL,"
    " n INTEGER NOT NULL, segment INTEGER NOT NULL, segments BLOB,"
    " seq_deltas BLOB NOT NULL, step_deltas BLOB, line_deltas BLOB, wall_deltas BLOB,"
    " value_bits BLOB NOT NULL, hash INTEGER NOT NULL,"
    " CHECK (n BETWEEN 1 AND 4096), CHECK (length(value_bits) = 8 * n),"
    " PRIMARY KEY (series_id, block)) STRICT, WITHOUT ROWID;"

    /* captures: each text with its NUL. */
    "CREATE TABLE event ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, kind TEXT NOT NULL, pattern TEXT, step INTEGER, line INTEGER,"
    " byte_off INTEGER, text TEXT, captures BLOB) STRICT;"
    "CREATE INDEX event_by_source ON event (source_id, seq);"

    "CREATE TABLE config_key ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " side TEXT NOT NULL CHECK (side IN"
    "  ('train','eval','serve','model','adapter','tokenizer','generation')),"
    " raw_name TEXT NOT NULL, name TEXT, value TEXT, type INTEGER NOT NULL, line INTEGER,"
    " UNIQUE (source_id, side, raw_name)) STRICT;"

    "CREATE TABLE artefact ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " kind TEXT NOT NULL, role TEXT, path TEXT, size INTEGER, step INTEGER, sha256 TEXT) STRICT;"
    "CREATE INDEX artefact_by_source ON artefact (source_id);"
    "CREATE TABLE tensor ("
    " artefact_id INTEGER NOT NULL REFERENCES artefact ON DELETE CASCADE, ord INTEGER NOT NULL,"
    " name TEXT NOT NULL, dtype TEXT, shape TEXT, n_values INTEGER, norm BLOB,"
    " n_nonzero INTEGER, n_nonfinite INTEGER,"
    " PRIMARY KEY (artefact_id, ord)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE dataset ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " name TEXT, split TEXT, form TEXT, columns TEXT, n_rows INTEGER, n_unreadable INTEGER)"
    " STRICT;"
    "CREATE INDEX dataset_by_source ON dataset (source_id);"
    /* Up to 4,096 rows; each BLOB is a column of columns.h. */
    "CREATE TABLE sample_block ("
    " dataset_id INTEGER NOT NULL REFERENCES dataset ON DELETE CASCADE, block INTEGER NOT NULL,"
    " n INTEGER NOT NULL, at BLOB, length BLOB, flags BLOB, n_tokens BLOB,"
    " n_prompt_tokens BLOB, n_trained BLOB, hash INTEGER NOT NULL, CHECK (n BETWEEN 1 AND 4096),"
    " PRIMARY KEY (dataset_id, block)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE generation ("
    " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
    " ord INTEGER NOT NULL, row_no INTEGER, step INTEGER, model TEXT, finish_reason TEXT,"
    " n_tokens INTEGER, max_new_tokens INTEGER, batch INTEGER, exact INTEGER NOT NULL) STRICT;"
    "CREATE INDEX generation_by_source ON generation (source_id, ord);",

    "CREATE TABLE check_result ("
    " run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, check_id TEXT NOT NULL,"
    " check_version INTEGER NOT NULL, verdict TEXT NOT NULL, confidence INTEGER NOT NULL,"
    " finding TEXT, branch TEXT, from_step INTEGER, inputs_hash INTEGER NOT NULL,"
    " ran_at INTEGER NOT NULL, PRIMARY KEY (run_id, check_id)) STRICT, WITHOUT ROWID;"
    /* value and bound: doubles as they are; NULL when the evidence has none. */
    "CREATE TABLE evidence ("
    " run_id INTEGER NOT NULL, check_id TEXT NOT NULL, ord INTEGER NOT NULL, kind TEXT NOT NULL,"
    " source_id INTEGER REFERENCES source ON DELETE SET NULL, line INTEGER, step INTEGER,"
    " last_step INTEGER, row_no INTEGER, token INTEGER, series TEXT, commit_id TEXT,"
    " value BLOB, bound BLOB, text TEXT, PRIMARY KEY (run_id, check_id, ord),"
    " FOREIGN KEY (run_id, check_id) REFERENCES check_result ON DELETE CASCADE)"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX evidence_by_source ON evidence (source_id);"
    "CREATE TABLE result_text ("
    " run_id INTEGER NOT NULL, check_id TEXT NOT NULL,"
    " list TEXT NOT NULL CHECK (list IN ('fix','missing','information')), ord INTEGER NOT NULL,"
    " text TEXT NOT NULL, PRIMARY KEY (run_id, check_id, list, ord),"
    " FOREIGN KEY (run_id, check_id) REFERENCES check_result ON DELETE CASCADE)"
    " STRICT, WITHOUT ROWID;",

    /* So that opening a run of a million rows reads none of them. max_step -1: no step; both NULL:
     * written before these columns, or no points yet. last_value: a double as it is. */
    ("ALTER TABLE series ADD COLUMN max_step INTEGER;"
     "ALTER TABLE series ADD COLUMN last_value BLOB;"),

    /* What core/facts made of a data set's rows; gone with the data set. `key`: of all that it was
     * made from. hash: of the head, and of the columns of a block. */
    ("CREATE TABLE audit ("
     " id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,"
     " dataset_id INTEGER NOT NULL UNIQUE REFERENCES dataset ON DELETE CASCADE,"
     " key INTEGER NOT NULL, n_rows INTEGER NOT NULL CHECK (n_rows >= 0), head TEXT NOT NULL,"
     " hash INTEGER NOT NULL) STRICT;"
     "CREATE INDEX audit_by_run ON audit (run_id);"
     "CREATE TABLE audit_block ("
     " audit_id INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE, block INTEGER NOT NULL,"
     " n INTEGER NOT NULL, c0 BLOB, c1 BLOB, c2 BLOB, c3 BLOB, c4 BLOB, c5 BLOB,"
     " hash INTEGER NOT NULL, CHECK (n BETWEEN 1 AND 4096),"
     " PRIMARY KEY (audit_id, block)) STRICT, WITHOUT ROWID;"),

    /* What an output shows of itself (enum generation_flag); 0: not known. */
    ("ALTER TABLE generation ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE generation ADD COLUMN prompt_hash INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE generation ADD COLUMN output_hash INTEGER NOT NULL DEFAULT 0;"),

    /* What models reached on suites. n_correct, score: doubles as they are. */
    ("CREATE TABLE eval_suite ("
     " id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,"
     " suite TEXT NOT NULL, model TEXT NOT NULL, metric TEXT NOT NULL, step INTEGER, n INTEGER,"
     " n_correct BLOB, artefact TEXT, sha256 TEXT, frozen TEXT, line INTEGER) STRICT;"
     "CREATE INDEX eval_suite_by_source ON eval_suite (source_id);"
     "CREATE TABLE eval_item ("
     " suite_id INTEGER NOT NULL REFERENCES eval_suite ON DELETE CASCADE, item TEXT NOT NULL,"
     " score BLOB NOT NULL, cluster TEXT, prompt_hash INTEGER NOT NULL,"
     " PRIMARY KEY (suite_id, item)) STRICT, WITHOUT ROWID;"),

    /* Histories of files in git, made by core/facts/config_history.h. Runs of one repository share
     * them; one that no run has is dropped. `head`: the maker's own text. */
    ("CREATE TABLE git_history ("
     " id INTEGER PRIMARY KEY, repository TEXT NOT NULL, path TEXT NOT NULL, head_id TEXT NOT NULL,"
     " version INTEGER NOT NULL, is_whole INTEGER NOT NULL, head TEXT,"
     " UNIQUE (repository, path)) STRICT;"
     "CREATE TABLE revision ("
     " history_id INTEGER NOT NULL REFERENCES git_history ON DELETE CASCADE, ord INTEGER NOT NULL,"
     " commit_id TEXT NOT NULL, authored_at INTEGER NOT NULL, committed_at INTEGER NOT NULL,"
     " zone INTEGER NOT NULL, author TEXT, subject TEXT, path TEXT NOT NULL, old_path TEXT,"
     " status TEXT NOT NULL, similarity INTEGER NOT NULL, blob_id TEXT, n_settings INTEGER NOT NULL,"
     " n_more INTEGER NOT NULL, by_lines TEXT, PRIMARY KEY (history_id, ord)) STRICT, WITHOUT ROWID;"
     "CREATE TABLE config_change ("
     " history_id INTEGER NOT NULL, ord INTEGER NOT NULL, i INTEGER NOT NULL, name TEXT NOT NULL,"
     " old_value TEXT, new_value TEXT, line INTEGER, PRIMARY KEY (history_id, ord, i),"
     " FOREIGN KEY (history_id, ord) REFERENCES revision ON DELETE CASCADE) STRICT, WITHOUT ROWID;"
     "CREATE TABLE run_history ("
     " run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, ord INTEGER NOT NULL,"
     " history_id INTEGER REFERENCES git_history ON DELETE CASCADE, key INTEGER NOT NULL,"
     " head TEXT, PRIMARY KEY (run_id, ord)) STRICT, WITHOUT ROWID;"
     "CREATE INDEX run_history_by_history ON run_history (history_id);"),

    /* delta_norm: a double as it is. file_hash: what a file's bytes came to, so that a large one is
     * read once; it belongs to no run and is asked by what the file system says of the file. */
    ("ALTER TABLE tensor ADD COLUMN delta_norm BLOB;"
     "ALTER TABLE tensor ADD COLUMN content_hash INTEGER NOT NULL DEFAULT 0;"
     "CREATE TABLE file_hash ("
     " device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL,"
     " mtime_ns INTEGER NOT NULL, sha256 TEXT NOT NULL,"
     " PRIMARY KEY (device, inode)) STRICT, WITHOUT ROWID;"),

    /* The time of the records and the ends of the file, so that a later look can tell whether it is
     * still the same file that goes on. */
    ("ALTER TABLE source ADD COLUMN first_wall INTEGER;"
     "ALTER TABLE source ADD COLUMN last_wall INTEGER;"
     "ALTER TABLE source ADD COLUMN hashed_to INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE source ADD COLUMN head_hash INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE source ADD COLUMN tail_hash INTEGER NOT NULL DEFAULT 0;"),

    /* Columns of counts may repeat a code (columns.h): an older program must not read them. */
    (""),

    /* Texts that core/facts made of a run's files, by name; gone with the run. `key`: of all that it
     * was made from. */
    ("CREATE TABLE derived ("
     " run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL,"
     " key INTEGER NOT NULL, text TEXT NOT NULL, hash INTEGER NOT NULL,"
     " PRIMARY KEY (run_id, name)) STRICT, WITHOUT ROWID;"),

    /* How an output begins and how long it is; 0: not known. */
    ("ALTER TABLE generation ADD COLUMN opening_hash INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE generation ADD COLUMN n_words INTEGER NOT NULL DEFAULT 0;"),

    /* Which of two answers a judge preferred. score: a double as it is. */
    ("CREATE TABLE judgement ("
     " source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE, ord INTEGER NOT NULL,"
     " item TEXT, base TEXT NOT NULL, candidate TEXT NOT NULL, length_base INTEGER,"
     " length_candidate INTEGER, score BLOB NOT NULL, step INTEGER, line INTEGER,"
     " PRIMARY KEY (source_id, ord)) STRICT, WITHOUT ROWID;"),
};

static const char *const KEPT_MIGRATIONS[] = {
    "CREATE TABLE kept.triage ("
    " run_key TEXT NOT NULL, check_id TEXT NOT NULL,"
    " state TEXT NOT NULL CHECK (state IN ('seen','dismissed')), reason TEXT,"
    " set_at INTEGER NOT NULL, PRIMARY KEY (run_key, check_id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE kept.answer ("
    " run_key TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, set_at INTEGER NOT NULL,"
    " PRIMARY KEY (run_key, name)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE kept.remark ("
    " id INTEGER PRIMARY KEY, run_key TEXT NOT NULL, check_id TEXT, place TEXT,"
    " text TEXT NOT NULL, written_at INTEGER NOT NULL) STRICT;"
    "CREATE INDEX kept.remark_by_run ON remark (run_key);"
    "CREATE TABLE kept.user_finding ("
    " id INTEGER PRIMARY KEY, run_key TEXT NOT NULL, check_id TEXT, verdict TEXT NOT NULL,"
    " sentence TEXT NOT NULL, path TEXT, line INTEGER, step INTEGER, commit_id TEXT,"
    " exported INTEGER NOT NULL DEFAULT 0, made_at INTEGER NOT NULL) STRICT;"
    "CREATE INDEX kept.user_finding_by_run ON user_finding (run_key);",
};

#define N_CACHE ((int)(sizeof CACHE_MIGRATIONS / sizeof CACHE_MIGRATIONS[0]))
#define N_KEPT  ((int)(sizeof KEPT_MIGRATIONS / sizeof KEPT_MIGRATIONS[0]))

int schema_cache_version(void)
{
    return N_CACHE;
}

int schema_kept_version(void)
{
    return N_KEPT;
}

static int exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Another program may have migrated while we waited for the lock: the version is read again
 * inside the transaction. */
static int version_now(sqlite3 *db, const char *pragma, int *version)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, pragma, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *version = sqlite3_column_int(statement, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

static int migrate(sqlite3 *db, const char *name, int id, const char *const *steps, int i)
{
    char pragma[64], mark[128];
    int version = 0;
    int code = exec(db, "BEGIN IMMEDIATE");

    if (code != SQLITE_OK)
        return code;
    snprintf(pragma, sizeof pragma, "PRAGMA %s.user_version", name);
    snprintf(mark, sizeof mark, "PRAGMA %s.application_id = %d; PRAGMA %s.user_version = %d;",
             name, id, name, i + 1);
    code = version_now(db, pragma, &version);
    if (code == SQLITE_OK && version == i)
        code = exec(db, steps[i]);
    if (code == SQLITE_OK && version == i)
        code = exec(db, mark);
    if (code == SQLITE_OK)
        code = exec(db, "COMMIT");
    if (code != SQLITE_OK && !sqlite3_get_autocommit(db))
        exec(db, "ROLLBACK");
    return code;
}

int schema_migrate_cache(sqlite3 *db, int from)
{
    int code = SQLITE_OK;

    for (int i = from; i < N_CACHE && code == SQLITE_OK; i++)
        code = migrate(db, "main", CACHE_APPLICATION_ID, CACHE_MIGRATIONS, i);
    return code;
}

int schema_migrate_kept(sqlite3 *db, int from)
{
    int code = SQLITE_OK;

    for (int i = from; i < N_KEPT && code == SQLITE_OK; i++)
        code = migrate(db, "kept", KEPT_APPLICATION_ID, KEPT_MIGRATIONS, i);
    return code;
}
