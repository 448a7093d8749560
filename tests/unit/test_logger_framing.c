/* Records of event files and of .wandb logs: checksums, lengths that lie, blocks, and what is found again
 * behind damage. Which run such a file tells of is test_loggers's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/read/crc32.h"
#include "core/read/source.h"
#include "core/read/tfrecord.h"
#include "core/read/wandb_log.h"
#include "tests/harness/logger_files.h"
#include "tests/harness/tempdir.h"

static void checksums_are_those_of_the_formats(void **state)
{
    struct crc32_table table;

    (void)state;
    crc32_make_table(&table, CRC32C_POLYNOMIAL);
    assert_int_equal(crc32_of(&table, "123456789", 9), 0xE3069283);
    assert_int_equal(crc32_of(&table, "", 0), 0);
    crc32_make_table(&table, CRC32_POLYNOMIAL);
    assert_int_equal(crc32_of(&table, "123456789", 9), 0xCBF43926);
}

/* ---- TFRecord ---- */

/* "D3 X5 C": data of 3 bytes, 5 bytes that are no record, a tail that is cut. */
static void expect_records(const struct buf *file, const char *expected)
{
    struct source_file *source;
    struct tfrecord_reader *reader;
    struct tfrecord record;
    struct error err;
    char got[500] = "";

    assert_int_equal(source_open_bytes(&source, "test", file->p, file->n, &err), OK);
    assert_int_equal(tfrecord_open(&reader, source, &err), OK);
    while (tfrecord_next(reader, &record, &err) == 1) {
        size_t n = strlen(got);

        if (record.kind == TFRECORD_DATA)
            snprintf(got + n, sizeof got - n, "D%zu ", record.data.n);
        else if (record.kind == TFRECORD_DAMAGED)
            snprintf(got + n, sizeof got - n, "X%d ", (int)(record.end - record.byte));
        else
            snprintf(got + n, sizeof got - n, "%c ", record.kind == TFRECORD_CUT ? 'C' : 'L');
    }
    assert_string_equal(got, expected);
    tfrecord_close(reader);
    source_close(source);
}

static void records_are_found_again_behind_damage(void **state)
{
    struct buf file;

    (void)state;
    buf_init(&file, (size_t)8 << 20);
    logger_put_record(&file, str_of("one"));
    size_t second = file.n;
    logger_put_record(&file, str_of("three"));
    size_t third = file.n;
    logger_put_record(&file, str_of("seventh"));
    expect_records(&file, "D3 D5 D7 ");

    file.p[second + 12] ^= 1; /* data */
    expect_records(&file, "D3 X21 D7 ");
    file.p[second + 12] ^= 1;
    file.p[second] ^= 1; /* length */
    expect_records(&file, "D3 X21 D7 ");
    file.p[second] ^= 1;
    file.p[third + 9] ^= 1; /* the last one: nothing behind it tells */
    expect_records(&file, "D3 D5 X23 ");
    file.p[third + 9] ^= 1;
    for (size_t n = third + 1; n < file.n; n++) {
        const struct buf cut = {.p = file.p, .n = n};

        expect_records(&cut, "D3 D5 C ");
    }
    memmove(file.p + second + 4, file.p + second + 9, file.n - second - 9); /* bytes are missing */
    file.n -= 5;
    expect_records(&file, "D3 X16 D7 ");
    buf_free(&file);
}

static void a_length_that_lies_is_no_record(void **state)
{
    struct buf file, content;

    (void)state;
    buf_init(&file, (size_t)8 << 20);
    buf_init(&content, (size_t)8 << 20);
    logger_put_record(&file, str_of("one"));
    logger_put_header(&file, UINT64_C(1) << 62); /* with the right checksum */
    logger_put_record(&file, str_of("three"));
    expect_records(&file, "D3 X12 D5 ");
    buf_repeat(&content, 'x', TFRECORD_MAX_BYTES + 1);
    logger_put_record(&file, buf_view(&content));
    logger_put_record(&file, str_of("six"));
    expect_records(&file, "D3 X12 D5 L D3 ");
    buf_free(&content);
    buf_free(&file);
}

/* ---- .wandb ---- */

static void expect_chunks(const struct buf *file, const char *expected)
{
    struct source_file *source;
    struct wandb_log *log;
    struct wandb_log_record record;
    struct error err;
    char got[500] = "";

    assert_int_equal(source_open_bytes(&source, "test", file->p, file->n, &err), OK);
    assert_int_equal(wandb_log_open(&log, source, &err), OK);
    while (wandb_log_next(log, &record, &err) == 1) {
        size_t n = strlen(got);

        if (record.kind == WANDB_LOG_DATA)
            snprintf(got + n, sizeof got - n, "D%zu ", record.data.n);
        else
            snprintf(got + n, sizeof got - n, "%c ", "?LXC"[record.kind]);
    }
    assert_string_equal(got, expected);
    wandb_log_close(log);
    source_close(source);
}

static void records_over_several_blocks_are_one(void **state)
{
    struct buf file, content;

    (void)state;
    buf_init(&file, (size_t)8 << 20);
    buf_init(&content, (size_t)8 << 20);
    buf_repeat(&content, 'x', 100000);
    logger_begin_wandb(&file);
    logger_put_wandb(&file, str_of("one"));
    logger_put_wandb(&file, buf_view(&content));
    logger_put_wandb(&file, str_of("three"));
    expect_chunks(&file, "D3 D100000 D5 ");
    file.p[40000] ^= 1; /* in the middle of the second */
    expect_chunks(&file, "D3 X X X D5 ");
    file.p[40000] ^= 1;
    file.p[0] = 'x'; /* no header: what begins in the first block cannot be trusted */
    expect_chunks(&file, "X X X X D5 ");
    file.p[0] = ':';
    file.n -= 3;
    expect_chunks(&file, "D3 D100000 C ");
    file.n -= 30000;
    expect_chunks(&file, "D3 C ");
    buf_free(&content);
    buf_free(&file);
}

static void a_block_of_zeros_is_passed_over(void **state)
{
    struct buf file;

    (void)state;
    buf_init(&file, (size_t)1 << 20);
    logger_begin_wandb(&file);
    logger_put_wandb(&file, str_of("one"));
    buf_repeat(&file, '\0', 32768 - file.n);
    logger_put_wandb(&file, str_of("three"));
    expect_chunks(&file, "D3 D5 ");
    buf_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_the_formats),
        cmocka_unit_test(records_are_found_again_behind_damage),
        cmocka_unit_test(a_length_that_lies_is_no_record),
        cmocka_unit_test(records_over_several_blocks_are_one),
        cmocka_unit_test(a_block_of_zeros_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
