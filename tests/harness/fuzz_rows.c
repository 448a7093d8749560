/* The fuzzed reader of rows and of what they hold. See fuzz_targets.h. */
#include <stdlib.h>

#include "core/read/rows.h"
#include "core/read/source.h"
#include "core/text/conversation.h"
#include "tests/harness/fuzz_targets.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define FUZZED_PLACES 8

static size_t length_of_row(const struct json *row)
{
    struct buf text;

    if (!row)
        return 0;
    buf_init(&text, ARENA_BYTES);
    json_write(&text, row);
    size_t n = text.n;
    buf_free(&text);
    return n;
}

static void take_conversation(const struct json *row, struct arena *arena)
{
    struct conversation out, inner;
    struct error err;

    if (!row || conversation_of_row(row, NULL, arena, &out, &err) != OK)
        return;
    if (out.form != form_of_row(row, NULL))
        abort();
    for (const struct json *turn = out.messages ? out.messages->child : NULL; turn;
         turn = turn->next)
        (void)(turn_text(turn, arena).n + turn_role(turn).n);
    for (size_t i = 0; i < conversation_batch(&out) && i < FUZZED_PLACES; i++)
        conversation_batch_row(&out, i, &inner);
}

/* A row that is read again by its place is the same row. */
static void read_again(struct rows *rows, const struct row_place *place, size_t length,
                       struct arena *arena)
{
    const struct json *row;
    struct row_place again;
    struct error why, err;
    struct str raw;

    arena_reset(arena);
    if (rows_seek(rows, place->at, place->row, &err) != OK ||
        rows_next(rows, arena, &row, &again, &why, &err) != 1 || again.at != place->at ||
        again.length != place->length || again.row != place->row || length_of_row(row) != length)
        abort();
    if (rows_raw(rows, place, 100, arena, &raw, &err) != OK || raw.n > 100)
        abort();
}

/* The first byte chooses what the file is called. */
void fuzz_rows(const uint8_t *bytes, size_t n)
{
    static const char *const NAMES[] = {"a.jsonl", "a.json", "a.csv", "a.tsv"};
    struct row_place places[FUZZED_PLACES], place;
    size_t lengths[FUZZED_PLACES], n_places = 0;
    struct arena *arena = arena_open(ARENA_BYTES);
    struct source_file *file;
    struct rows *rows = NULL;
    const struct json *row;
    struct error why, err;

    if (!arena)
        abort();
    if (n == 0 || source_open_bytes(&file, "fuzz", bytes + 1, n - 1, &err) != OK) {
        arena_close(arena);
        return;
    }
    if (rows_open_source(&rows, file, NAMES[bytes[0] % 4], &err) == OK && !rows_is_table(rows))
        while (rows_next(rows, arena, &row, &place, &why, &err) == 1) {
            take_conversation(row, arena);
            lengths[n_places % FUZZED_PLACES] = length_of_row(row);
            places[n_places++ % FUZZED_PLACES] = place;
            arena_reset(arena);
        }
    for (size_t i = 0; i < n_places && i < FUZZED_PLACES; i++)
        read_again(rows, &places[i], lengths[i], arena);
    rows_close(rows);
    arena_close(arena);
}
