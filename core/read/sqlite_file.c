/* Foreign databases: see sqlite_file.h. The program's own are core/store/'s. */
#include "core/read/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read/source.h"

#define OPS_A_LOOK 100000
#define LOOKS_MAX  40000 /* four thousand million steps of its machine: hours of metrics */
#define PATH_BYTES 4096

struct sqlite_file {
    sqlite3 *db;
    const atomic_bool *cancel;
    int64_t n_looks;
    char *folder; /* of the private copy; NULL: read in place */
};

struct sqlite_rows {
    sqlite3_stmt *statement;
    struct sqlite_file *file;
};

static int fail(struct sqlite_file *file, int result, struct error *err)
{
    if (file->cancel && atomic_load(file->cancel))
        return error_set(err, E_CANCELLED, "import cancelled");
    if (result == SQLITE_NOMEM)
        return error_set(err, E_NOMEM, "no memory for a database");
    if (result == SQLITE_INTERRUPT)
        return error_set(err, E_LIMIT, "the database asks for more work than its metrics can be");
    if (result == SQLITE_TOOBIG)
        return error_set(err, E_LIMIT, "a value of more than %d bytes", SQLITE_FILE_VALUE_BYTES);
    return error_set(err, E_PARSE, "the database cannot be read here: %s",
                     file->db ? sqlite3_errmsg(file->db) : sqlite3_errstr(result));
}

/* ---- A private copy ---- */

static const char *const COMPANIONS[] = {"-wal", "-journal"};

static bool has_companion(const char *path)
{
    char name[PATH_BYTES];
    struct source_stat stat;

    for (size_t i = 0; i < sizeof COMPANIONS / sizeof *COMPANIONS; i++)
        if (snprintf(name, sizeof name, "%s%s", path, COMPANIONS[i]) < (int)sizeof name &&
            source_stat_path(name, &stat, NULL) == OK && stat.is_regular && stat.size > 0)
            return true;
    return false;
}

static int write_all(int fd, struct str bytes, struct error *err)
{
    while (bytes.n > 0) {
        ssize_t once = write(fd, bytes.p, bytes.n);

        if (once < 0 && errno == EINTR)
            continue;
        if (once < 0)
            return error_set(err, E_IO, "copying a database: %s", strerror(errno));
        bytes = str_skip(bytes, (size_t)once);
    }
    return OK;
}

static int copy(const char *from, const char *to, struct error *err)
{
    struct source_file *file = NULL;
    struct str chunk;
    int rc = source_open(&file, from, err);

    if (rc != OK)
        return rc;
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        rc = error_set(err, E_IO, "a copy of the database: %s", strerror(errno));
    else if (source_size(file) > SQLITE_FILE_COPY_BYTES)
        rc = error_set(err, E_LIMIT, "a database of %lld bytes that a process has open",
                       (long long)source_size(file));
    while (rc == OK && (rc = source_chunk(file, &chunk, err)) == OK && chunk.n > 0)
        rc = write_all(fd, chunk, err);
    if (fd >= 0)
        close(fd);
    source_close(file);
    return rc;
}

static void remove_copy(char *folder)
{
    static const char *const NAMES[] = {"db", "db-wal", "db-journal", "db-shm"};
    char name[PATH_BYTES];

    for (size_t i = 0; folder && i < sizeof NAMES / sizeof *NAMES; i++)
        if (snprintf(name, sizeof name, "%s/%s", folder, NAMES[i]) < (int)sizeof name)
            (void)unlink(name);
    if (folder)
        (void)rmdir(folder);
    free(folder);
}

/* The log before the database: what is checkpointed in between is in both. */
static int make_copy(struct sqlite_file *file, const char *path, char out[PATH_BYTES],
                     struct error *err)
{
    const char *tmp = getenv("TMPDIR");
    char from[PATH_BYTES], to[PATH_BYTES];
    struct source_stat stat;
    int rc = OK;

    int n = snprintf(out, PATH_BYTES, "%s/flatline-db-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n >= PATH_BYTES - 32 || !mkdtemp(out))
        return error_set(err, E_IO, "a folder for a copy of the database: %s", strerror(errno));
    file->folder = strdup(out);
    if (!file->folder)
        return error_set(err, E_NOMEM, "no memory for a database");
    for (size_t i = 0; i < sizeof COMPANIONS / sizeof *COMPANIONS && rc == OK; i++) {
        bool fits =
            snprintf(from, sizeof from, "%s%s", path, COMPANIONS[i]) < (int)sizeof from &&
            snprintf(to, sizeof to, "%s/db%s", file->folder, COMPANIONS[i]) < (int)sizeof to;

        if (fits && source_stat_path(from, &stat, NULL) == OK && stat.is_regular)
            rc = copy(from, to, err);
    }
    if (rc == OK && snprintf(to, sizeof to, "%s/db", file->folder) < (int)sizeof to)
        rc = copy(path, to, err);
    snprintf(out, PATH_BYTES, "%.*s/db", PATH_BYTES - 8, file->folder);
    return rc;
}

/* ---- Opening ---- */

static int look(void *ctx)
{
    struct sqlite_file *file = ctx;

    return (file->cancel && atomic_load(file->cancel)) || ++file->n_looks > LOOKS_MAX;
}

static int harden(struct sqlite_file *file, struct error *err)
{
    static const struct {
        int option, value;
    } CONFIG[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                  {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                  {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                  {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                  {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
    static const struct {
        int limit, value;
    } LIMITS[] = {{SQLITE_LIMIT_LENGTH, SQLITE_FILE_VALUE_BYTES},
                  {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                  {SQLITE_LIMIT_COLUMN, 500},
                  {SQLITE_LIMIT_EXPR_DEPTH, 50},
                  {SQLITE_LIMIT_COMPOUND_SELECT, 5},
                  {SQLITE_LIMIT_VDBE_OP, 100000},
                  {SQLITE_LIMIT_FUNCTION_ARG, 8},
                  {SQLITE_LIMIT_ATTACHED, 0},
                  {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                  {SQLITE_LIMIT_WORKER_THREADS, 0}};

    for (size_t i = 0; i < sizeof CONFIG / sizeof *CONFIG; i++)
        (void)sqlite3_db_config(file->db, CONFIG[i].option, CONFIG[i].value, NULL);
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++)
        (void)sqlite3_limit(file->db, LIMITS[i].limit, LIMITS[i].value);
    sqlite3_progress_handler(file->db, OPS_A_LOOK, look, file);
    int result = sqlite3_exec(file->db,
                              "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                              "PRAGMA cache_size=-8000; PRAGMA query_only=1;",
                              NULL, NULL, NULL);
    return result == SQLITE_OK ? OK : fail(file, result, err);
}

/* The path as a URI: what has a meaning there is written in percent. */
static bool uri_of(const char *path, const char *query, char *out, size_t n)
{
    size_t k = (size_t)snprintf(out, n, "file:");

    for (; *path && k + 4 < n; path++)
        if (strchr("%?#", *path))
            k += (size_t)snprintf(out + k, n - k, "%%%02X", (unsigned)(unsigned char)*path);
        else
            out[k++] = *path;
    out[k] = '\0';
    return *path == '\0' && snprintf(out + k, n - k, "?%s", query) < (int)(n - k);
}

int sqlite_file_open(struct sqlite_file **out, const char *path, const atomic_bool *cancel,
                     struct error *err)
{
    struct sqlite_file *file = calloc(1, sizeof *file);
    char uri[2 * PATH_BYTES], place[PATH_BYTES];
    bool is_copy = has_companion(path), fits;
    struct source_stat stat;
    int rc = source_stat_path(path, &stat, err);

    if (rc == OK && !stat.is_regular)
        rc = error_set(err, E_UNSUPPORTED, "no regular file, expected a database");
    if (!file)
        rc = error_set(err, E_NOMEM, "no memory for a database");
    if (rc != OK) {
        free(file);
        return rc;
    }
    file->cancel = cancel;
    if (is_copy)
        rc = make_copy(file, path, place, err);
    if (rc == OK) {
        fits = is_copy ? uri_of(place, "mode=rw", uri, sizeof uri)
                       : uri_of(path, "mode=ro&immutable=1", uri, sizeof uri);
        int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                    (is_copy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
        int result = fits ? sqlite3_open_v2(uri, &file->db, flags, NULL) : SQLITE_CANTOPEN;

        rc = result == SQLITE_OK ? harden(file, err) : fail(file, result, err);
    }
    if (rc != OK) {
        sqlite_file_close(file);
        return rc;
    }
    *out = file;
    return OK;
}

void sqlite_file_close(struct sqlite_file *file)
{
    if (!file)
        return;
    (void)sqlite3_close(file->db);
    remove_copy(file->folder);
    free(file);
}

bool sqlite_file_is_copy(const struct sqlite_file *file)
{
    return file->folder != NULL;
}

/* ---- Rows ---- */

int sqlite_rows_open(struct sqlite_rows **out, struct sqlite_file *file, const char *sql,
                     const char *first, const char *second, struct error *err)
{
    struct sqlite_rows *rows = calloc(1, sizeof *rows);
    const char *const values[] = {first, first ? second : NULL};
    int result = SQLITE_OK;

    if (!rows)
        return error_set(err, E_NOMEM, "no memory for a database");
    rows->file = file;
    result = sqlite3_prepare_v2(file->db, sql, -1, &rows->statement, NULL);
    for (int i = 0; i < 2 && result == SQLITE_OK && values[i]; i++)
        result = sqlite3_bind_text(rows->statement, i + 1, values[i], -1, SQLITE_TRANSIENT);
    if (result != SQLITE_OK) {
        int rc = fail(file, result, err);

        sqlite_rows_close(rows);
        return rc;
    }
    *out = rows;
    return OK;
}

void sqlite_rows_close(struct sqlite_rows *rows)
{
    if (!rows)
        return;
    (void)sqlite3_finalize(rows->statement);
    free(rows);
}

int sqlite_rows_next(struct sqlite_rows *rows, struct error *err)
{
    int result = sqlite3_step(rows->statement);

    if (result == SQLITE_ROW)
        return 1;
    return result == SQLITE_DONE ? 0 : fail(rows->file, result, err);
}

struct str sqlite_rows_text(struct sqlite_rows *rows, int column)
{
    const unsigned char *text = sqlite3_column_text(rows->statement, column);
    int n = sqlite3_column_bytes(rows->statement, column);

    return text ? str_from((const char *)text, (size_t)n) : str_of("");
}

int64_t sqlite_rows_int(struct sqlite_rows *rows, int column)
{
    return sqlite3_column_int64(rows->statement, column);
}

double sqlite_rows_double(struct sqlite_rows *rows, int column)
{
    return sqlite3_column_double(rows->statement, column);
}

bool sqlite_rows_is_null(struct sqlite_rows *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

int sqlite_file_has(struct sqlite_file *file, const char *table, const char *column, bool *has,
                    struct error *err)
{
    static const char SQL[] = "SELECT 1 FROM sqlite_schema s JOIN pragma_table_info(s.name) c "
                              "WHERE s.type = 'table' AND s.name = ?1 AND c.name = ?2";
    struct sqlite_rows *rows = NULL;
    int rc = sqlite_rows_open(&rows, file, SQL, table, column, err);

    if (rc != OK)
        return rc;
    rc = sqlite_rows_next(rows, err);
    *has = rc == 1;
    sqlite_rows_close(rows);
    return rc < 0 ? rc : OK;
}
