/* Series and their points, read back from the blocks that sink_store.c writes. */
#include <string.h>

#include "core/store/blocks.h"
#include "core/store/db.h"

static void fill_series(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct series *)item = (struct series){
        .id = sqlite3_column_int64(row, 0),
        .source_id = sqlite3_column_int64(row, 1),
        .name = db_text(row, 2, arena),
        .raw_name = db_text(row, 3, arena),
        .unit = db_text(row, 4, arena),
        .n_points = sqlite3_column_int64(row, 5),
        .is_summed = sqlite3_column_type(row, 6) != SQLITE_NULL,
        .max_step = db_count(row, 6),
        .last_value = db_double(row, 7),
    };
}

int store_series(struct store *store, int64_t run_id, struct arena *arena,
                 const struct series **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct series)};
    int rc = db_load_by_id(
        store,
        "SELECT e.id, e.source_id, e.name, e.raw_name, e.unit, e.n_points,"
        " e.max_step, e.last_value"
        " FROM source s JOIN series e ON e.source_id = s.id WHERE s.run_id = ?1"
        " ORDER BY s.id, e.id",
        run_id, &list, fill_series, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Points --------------------------------------------------------------------------------- */

/* A column that is read: compared with `shared` as long as it is equal to it, else kept in `own`. */
struct counts {
    const int64_t *shared;
    int64_t *own;
};

struct target {
    struct arena *arena;
    size_t n, capacity;
    double *value;
    struct counts step, seq, line;
    const int32_t *shared_segment;
    int32_t *segment;
};

static int damaged(struct store *store, struct error *err)
{
    int rc = error_set(err, E_DB, "the points of a series are damaged in the database");

    error_at(err, store->cache_path, NONE, NONE);
    store->is_damaged = true;
    return rc;
}

static struct counts make_counts(const struct target *target, const int64_t *shared)
{
    return (struct counts){
        .shared = shared,
        .own = shared ? NULL : arena_array(target->arena, target->capacity, sizeof(int64_t)),
    };
}

/* `count` stays on its row, so that both reads see the same state of the database. */
static int make_target(struct store *store, sqlite3_stmt *count,
                       const struct point_columns *beside, struct target *target,
                       struct error *err)
{
    static const struct point_columns nothing;
    int rc = db_step(store, count, err);

    if (rc < 0)
        return rc;

    int64_t n = rc == 1 ? sqlite3_column_int64(count, 0) : 0;

    target->capacity = n > 0 ? (size_t)n : 0;
    if (!beside || beside->n != target->capacity)
        beside = &nothing;
    target->value = arena_array(target->arena, target->capacity, sizeof *target->value);
    target->step = make_counts(target, beside->step);
    target->seq = make_counts(target, beside->seq);
    target->line = make_counts(target, beside->line);
    target->shared_segment = beside->segment;
    if (!beside->segment)
        target->segment = arena_array(target->arena, target->capacity, sizeof(int32_t));
    return db_arena_check(target->arena, "the points of a series", err);
}

static uint64_t hash_column(uint64_t seed, sqlite3_stmt *row, int column)
{
    const void *bytes = sqlite3_column_blob(row, column);

    return block_hash_more(seed, bytes, (size_t)sqlite3_column_bytes(row, column));
}

/* As blocks.c made it. */
static bool is_sound(sqlite3_stmt *row)
{
    int32_t segment = sqlite3_column_int(row, 1);
    uint64_t hash = (uint64_t)sqlite3_column_int64(row, 0);

    hash = block_hash_more(hash, &segment, sizeof segment);
    if (sqlite3_column_type(row, 2) != SQLITE_NULL)
        hash = hash_column(hash, row, 2);
    for (int i = 3; i <= 6; i++)
        hash = hash_column(hash, row, i);
    return hash == (uint64_t)sqlite3_column_int64(row, 7);
}

static bool take_column(sqlite3_stmt *row, int column, int64_t *out, size_t n)
{
    const uint8_t *bytes = sqlite3_column_blob(row, column);

    return column_decode(bytes, (size_t)sqlite3_column_bytes(row, column), out, n);
}

/* Those of the points target->n …; false also without memory, which the arena tells. */
static bool take_counts(sqlite3_stmt *row, int column, const struct target *target,
                        struct counts *counts, size_t n)
{
    int64_t got[COLUMN_MAX_ROWS];
    size_t at = target->n;

    if (counts->own)
        return take_column(row, column, counts->own + at, n);
    if (!take_column(row, column, got, n))
        return false;
    if (memcmp(got, counts->shared + at, n * sizeof *got) == 0)
        return true;
    counts->own = arena_array(target->arena, target->capacity, sizeof *got);
    if (!counts->own)
        return false;
    memcpy(counts->own, counts->shared, at * sizeof *got);
    memcpy(counts->own + at, got, n * sizeof *got);
    return true;
}

static bool read_segments(sqlite3_stmt *row, int32_t *out, size_t n)
{
    int64_t segments[COLUMN_MAX_ROWS];
    int32_t only = sqlite3_column_int(row, 1);

    if (sqlite3_column_type(row, 2) == SQLITE_NULL) {
        for (size_t i = 0; i < n; i++)
            out[i] = only;
        return true;
    }
    if (!take_column(row, 2, segments, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)segments[i];
    return true;
}

static bool take_segments(sqlite3_stmt *row, struct target *target, size_t n)
{
    int32_t got[COLUMN_MAX_ROWS];
    size_t at = target->n;

    if (target->segment)
        return read_segments(row, target->segment + at, n);
    if (!read_segments(row, got, n))
        return false;
    if (memcmp(got, target->shared_segment + at, n * sizeof *got) == 0)
        return true;
    target->segment = arena_array(target->arena, target->capacity, sizeof *got);
    if (!target->segment)
        return false;
    memcpy(target->segment, target->shared_segment, at * sizeof *got);
    memcpy(target->segment + at, got, n * sizeof *got);
    return true;
}

static bool take_values(sqlite3_stmt *row, double *out, size_t n)
{
    const uint8_t *bits = sqlite3_column_blob(row, 6);

    if (!bits || (size_t)sqlite3_column_bytes(row, 6) != 8 * n)
        return false;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out, bits, 8 * n);
#else
    for (size_t i = 0; i < n; i++) {
        uint64_t word = 0;

        for (int b = 0; b < 8; b++)
            word |= (uint64_t)bits[8 * i + (size_t)b] << (8 * b);
        memcpy(&out[i], &word, 8);
    }
#endif
    return true;
}

static bool take_block(sqlite3_stmt *row, struct target *target)
{
    int64_t n_points = sqlite3_column_int64(row, 0);

    if (n_points < 1 || n_points > COLUMN_MAX_ROWS ||
        (size_t)n_points > target->capacity - target->n || !is_sound(row))
        return false;

    size_t n = (size_t)n_points;

    if (!take_segments(row, target, n) || !take_counts(row, 3, target, &target->seq, n) ||
        !take_counts(row, 4, target, &target->step, n) ||
        !take_counts(row, 5, target, &target->line, n) ||
        !take_values(row, target->value + target->n, n))
        return false;
    target->n += n;
    return true;
}

static int take_blocks(struct store *store, int64_t series_id, struct target *target,
                       struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "SELECT n, segment, segments, seq_deltas, step_deltas, line_deltas,"
                        " value_bits, hash FROM point_block WHERE series_id = ?1 ORDER BY block",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, series_id);
    while ((rc = db_step(store, statement, err)) == 1) {
        if (!take_block(statement, target)) {
            sqlite3_reset(statement);
            rc = db_arena_check(target->arena, "the points of a series", err);
            return rc == OK ? damaged(store, err) : rc;
        }
    }
    return rc;
}

static const int64_t *counts_of(const struct counts *counts)
{
    return counts->own ? counts->own : counts->shared;
}

int store_points_beside(struct store *store, int64_t series_id,
                        const struct point_columns *beside, struct arena *arena,
                        struct point_columns *out, struct error *err)
{
    struct target target = {.arena = arena};
    sqlite3_stmt *count;
    int rc = db_prepare(store, "SELECT n_points FROM series WHERE id = ?1", &count, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, count, 1, series_id);
    rc = make_target(store, count, beside, &target, err);
    if (rc == OK)
        rc = take_blocks(store, series_id, &target, err);
    sqlite3_reset(count);
    if (rc != OK)
        return rc;
    *out = (struct point_columns){
        .n = target.n,
        .value = target.value,
        .step = counts_of(&target.step),
        .seq = counts_of(&target.seq),
        .line = counts_of(&target.line),
        .segment = target.segment ? target.segment : target.shared_segment,
    };
    return OK;
}

int store_points(struct store *store, int64_t series_id, struct arena *arena,
                 struct point_columns *out, struct error *err)
{
    return store_points_beside(store, series_id, NULL, arena, out, err);
}
