/* What probes are shown of a file: of a packed one its unpacked head and its name without the ending. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "importers/look.h"
#include "tests/harness/packing.h"
#include "tests/harness/tempdir.h"

static const char ROWS[] = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";

static void look(const char *folder, const char *name, struct look *out)
{
    struct error err;

    if (look_at(out, tempdir_path(folder, name), &err) != OK)
        fail_msg("%s: %s", name, err.message);
}

static void a_packed_file_is_shown_unpacked(void **state)
{
    char *folder = tempdir_make();
    struct look *seen = malloc(sizeof *seen);
    struct buf packed, text;

    (void)state;
    buf_init(&packed, 1 << 20);
    buf_init(&text, 1 << 20);
    pack_gzip(&packed, ROWS, sizeof ROWS - 1);
    tempdir_write(folder, "train.jsonl.gz", packed.p, packed.n);
    look(folder, "train.jsonl.gz", seen);
    assert_string_equal(seen->peek.name, "train.jsonl");
    assert_true(str_is(seen->peek.head, ROWS));
    assert_int_equal(seen->peek.size, sizeof ROWS - 1);
    assert_int_equal(seen->peek.tail.n, 0);
    assert_int_equal(seen->packing, PACKING_GZIP);
    /* One that is longer than the head. */
    buf_repeat(&text, 'x', PEEK_HEAD_BYTES + 5);
    buf_clear(&packed);
    pack_zstd(&packed, text.p, text.n);
    tempdir_write(folder, "long.jsonl.zst", packed.p, packed.n);
    look(folder, "long.jsonl.zst", seen);
    assert_int_equal(seen->peek.head.n, PEEK_HEAD_BYTES);
    assert_true(seen->peek.size > PEEK_HEAD_BYTES);
    buf_free(&packed);
    buf_free(&text);
    free(seen);
    tempdir_remove(folder);
}

static void a_plain_file_is_shown_with_its_end(void **state)
{
    char *folder = tempdir_make();
    struct look *seen = malloc(sizeof *seen);

    (void)state;
    tempdir_write_text(folder, "notes.gz", ROWS); /* the bytes decide, not the name */
    look(folder, "notes.gz", seen);
    assert_string_equal(seen->peek.name, "notes.gz");
    assert_true(str_is(seen->peek.head, ROWS));
    assert_true(str_is(seen->peek.tail, ROWS));
    assert_int_equal(seen->packing, PACKING_NONE);
    free(seen);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_file_is_shown_unpacked),
        cmocka_unit_test(a_plain_file_is_shown_with_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
