/* Rows gathered in memory until they are one block of the database. See blocks.h. */
#include "core/store/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

static void bind_column(struct store *store, sqlite3_stmt *statement, int i,
                        const struct column *column)
{
    db_bind_blob(store, statement, i, column->has_any ? column->bytes : NULL, column->n);
}

static int end_columns(struct column *columns, int n, struct error *err)
{
    for (int i = 0; i < n; i++)
        if (!column_end(&columns[i]))
            return error_set(err, E_NOMEM, "no memory for the rows of a file");
    return OK;
}

static size_t clear_columns(struct column *columns, int n)
{
    size_t bytes = 0;

    for (int i = 0; i < n; i++) {
        bytes += columns[i].n;
        column_clear(&columns[i]);
    }
    return bytes;
}

uint64_t block_hash_more(uint64_t seed, const void *bytes, size_t n)
{
    uint64_t length = bytes ? n : UINT64_MAX;

    seed = hash_more(seed, &length, sizeof length);
    return bytes ? hash_more(seed, bytes, n) : seed;
}

static uint64_t hash_column(uint64_t seed, const struct column *column)
{
    return block_hash_more(seed, column->has_any ? column->bytes : NULL, column->n);
}

/* ---- Points --------------------------------------------------------------------------------- */

static inline bool add_bits(struct point_block *block, double value)
{
    uint64_t word;

    if (block->n == block->bits_capacity) {
        size_t capacity = block->bits_capacity ? block->bits_capacity * 2 : 16;
        uint8_t *bits = realloc(block->bits, capacity * 8);

        if (!bits)
            return false;
        block->bits = bits;
        block->bits_capacity = capacity;
    }
    memcpy(&word, &value, sizeof word);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(block->bits + 8 * block->n, &word, sizeof word);
    return true;
}

/* Microseconds; a time that is none, or absurd, is not kept. */
static int64_t wall_us(double wall)
{
    return wall >= 0 && wall < 9e12 ? (int64_t)(wall * 1e6 + 0.5) : NONE;
}

static bool is_empty(const struct column *column)
{
    return column->n == 0 && column->n_codes == 0;
}

/* A column that is only kept when it says something: it begins late, with the rows before it. */
static bool add_late(struct column *column, int64_t before, size_t n_before, int64_t value)
{
    if (is_empty(column))
        for (size_t i = 0; i < n_before; i++)
            if (!column_add(column, before))
                return false;
    return column_add(column, value);
}

static inline bool add_rare(struct point_block *block, const struct point *point)
{
    struct column *columns = block->columns;
    int64_t wall = wall_us(point->wall);

    if (block->n == 0)
        block->segment = point->segment;
    if (point->segment != block->segment)
        block->segments_differ = true;
    if (block->segments_differ &&
        !add_late(&columns[SEGMENT], block->segment, block->n, point->segment))
        return false;
    return (wall < 0 && is_empty(&columns[WALL])) || add_late(&columns[WALL], NONE, block->n, wall);
}

bool point_block_add(struct point_block *block, const struct point *point)
{
    struct column *columns = block->columns;

    if (!add_bits(block, point->value) || !column_add_next(&columns[SEQ], point->seq) ||
        !column_add_next(&columns[STEP], point->step) ||
        !column_add_next(&columns[LINE], point->line) ||
        !add_rare(block, point))
        return false;
    if (block->n == 0 || point->step > block->max_step)
        block->max_step = point->step < 0 ? NONE : point->step;
    block->n++;
    return true;
}

/* In the order of the columns of the table, as series.c reads them. */
static uint64_t hash_points(const struct point_block *block)
{
    uint64_t hash = block->n;

    hash = block_hash_more(hash, &block->segment, sizeof block->segment);
    if (block->segments_differ)
        hash = hash_column(hash, &block->columns[SEGMENT]);
    hash = block_hash_more(hash, block->columns[SEQ].bytes, block->columns[SEQ].n);
    hash = hash_column(hash, &block->columns[STEP]);
    hash = hash_column(hash, &block->columns[LINE]);
    return block_hash_more(hash, block->bits, 8 * block->n);
}

static void find_last_value(struct point_block *block)
{
    block->has_value = false;
    for (size_t i = block->n; i-- > 0 && !block->has_value;) {
        uint64_t word;

        memcpy(&word, block->bits + 8 * i, sizeof word);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        memcpy(&block->last_value, &word, sizeof word);
        block->has_value = !isnan(block->last_value);
    }
}

static int count_points(struct store *store, const struct point_block *block, struct error *err)
{
    sqlite3_stmt *statement;
    uint8_t bits[8];
    int rc = db_prepare(store,
                        "UPDATE series SET n_points = n_points + ?2,"
                        " max_step = max(ifnull(max_step, -1), ?3),"
                        " last_value = ifnull(?4, last_value) WHERE id = ?1",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, block->id);
    db_bind_int(store, statement, 2, (int64_t)block->n);
    db_bind_int(store, statement, 3, block->max_step);
    if (block->has_value)
        db_bind_double(store, statement, 4, block->last_value, bits);
    return db_run(store, statement, err);
}

int point_block_write(struct point_block *block, struct store *store, size_t *bytes,
                      struct error *err)
{
    sqlite3_stmt *statement;
    int rc = end_columns(block->columns, N_POINT_COLUMNS, err);

    if (rc != OK)
        return rc;
    rc = db_prepare(store,
                        "INSERT INTO point_block (series_id, block, n, segment, segments,"
                        " seq_deltas, step_deltas, line_deltas, wall_deltas, value_bits, hash)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, block->id);
    db_bind_int(store, statement, 2, block->block);
    db_bind_int(store, statement, 3, (int64_t)block->n);
    db_bind_int(store, statement, 4, block->segment);
    if (block->segments_differ)
        bind_column(store, statement, 5, &block->columns[SEGMENT]);
    db_bind_blob(store, statement, 6, block->columns[SEQ].bytes, block->columns[SEQ].n);
    bind_column(store, statement, 7, &block->columns[STEP]);
    bind_column(store, statement, 8, &block->columns[LINE]);
    bind_column(store, statement, 9, &block->columns[WALL]);
    db_bind_blob(store, statement, 10, block->bits, 8 * block->n);
    db_bind_int(store, statement, 11, (int64_t)hash_points(block));
    rc = db_run(store, statement, err);
    find_last_value(block);
    if (rc == OK)
        rc = count_points(store, block, err);
    if (rc != OK)
        return rc;
    *bytes = 8 * block->n + clear_columns(block->columns, N_POINT_COLUMNS);
    block->block++;
    block->n = 0;
    block->segments_differ = false;
    return OK;
}

void point_block_free(struct point_block *block)
{
    for (int i = 0; i < N_POINT_COLUMNS; i++)
        column_free(&block->columns[i]);
    free(block->bits);
    *block = (struct point_block){0};
}

/* ---- Rows of datasets ----------------------------------------------------------------------- */

bool sample_block_add(struct sample_block *block, const struct sample *sample)
{
    struct column *columns = block->columns;

    if (!column_add(&columns[AT], sample->at) || !column_add(&columns[LENGTH], sample->length) ||
        !column_add(&columns[FLAGS], sample->flags) ||
        !column_add(&columns[TOKENS], sample->n_tokens) ||
        !column_add(&columns[PROMPT_TOKENS], sample->n_prompt_tokens) ||
        !column_add(&columns[TRAINED], sample->n_trained))
        return false;
    block->n++;
    return true;
}

int sample_block_write(struct sample_block *block, struct store *store, size_t *bytes,
                       struct error *err)
{
    uint64_t hash = block->n;
    sqlite3_stmt *statement;
    int rc = end_columns(block->columns, N_SAMPLE_COLUMNS, err);

    if (rc != OK)
        return rc;
    rc = db_prepare(store,
                        "INSERT INTO sample_block (dataset_id, block, n, at, length, flags,"
                        " n_tokens, n_prompt_tokens, n_trained, hash)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, block->id);
    db_bind_int(store, statement, 2, block->block);
    db_bind_int(store, statement, 3, (int64_t)block->n);
    for (int i = 0; i < N_SAMPLE_COLUMNS; i++) {
        bind_column(store, statement, 4 + i, &block->columns[i]);
        hash = hash_column(hash, &block->columns[i]);
    }
    db_bind_int(store, statement, 10, (int64_t)hash);
    rc = db_run(store, statement, err);
    if (rc != OK)
        return rc;
    *bytes = clear_columns(block->columns, N_SAMPLE_COLUMNS);
    block->block++;
    block->n = 0;
    return OK;
}

void sample_block_free(struct sample_block *block)
{
    for (int i = 0; i < N_SAMPLE_COLUMNS; i++)
        column_free(&block->columns[i]);
    *block = (struct sample_block){0};
}
