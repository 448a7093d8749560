#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "core/read/decompress_block.h"
#include "core/read/thrift_compact.h"

static struct thrift of(const char *bytes, size_t n)
{
    return thrift_of(str_from(bytes, n));
}

static void fields_are_read_by_delta_and_by_number(void **state)
{
    struct thrift in = of("\x15\x04\x18\x02hi\x06\xc8\x01\x01\x00", 11);
    struct thrift_field field = {0};

    (void)state;
    assert_true(thrift_next(&in, &field));
    assert_int_equal(field.id, 1);
    assert_int_equal(thrift_int(&in, &field), 2);
    assert_true(thrift_next(&in, &field));
    assert_int_equal(field.id, 2);
    assert_true(str_is(thrift_bytes(&in, &field), "hi"));
    assert_true(thrift_next(&in, &field)); /* delta 0: the number follows */
    assert_int_equal(field.id, 100);
    assert_int_equal(thrift_int(&in, &field), -1);
    assert_false(thrift_next(&in, &field));
    assert_null(in.wrong);
}

static void lengths_that_lie_end_the_walk(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } LIES[] = {
        {"\x18\xff\xff\xff\xff\x0f", 6},                     /* a text of 4 GiB */
        {"\x19\xfc\xff\xff\xff\xff\x0f", 7},                 /* a list of as many structs */
        {"\x1b\xff\xff\xff\xff\x0f\x88", 7},                 /* a map */
        {"\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12}, /* a number without end */
        {"\x1e\x00", 2},                                      /* a type that is none */
        {"\x15", 1},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof LIES / sizeof *LIES; i++) {
        struct thrift in = of(LIES[i].bytes, LIES[i].n);
        struct thrift_field field = {0};

        while (thrift_next(&in, &field))
            thrift_skip(&in, &field);
        assert_non_null(in.wrong);
    }
}

static void structs_in_structs_without_end_are_refused(void **state)
{
    char deep[5000];
    struct thrift_field field = {0};

    (void)state;
    memset(deep, 0x1c, sizeof deep);
    struct thrift in = of(deep, sizeof deep);
    assert_true(thrift_next(&in, &field));
    thrift_skip(&in, &field);
    assert_string_equal(in.wrong, "it is nested too deep");
}

static void a_value_of_another_type_is_wrong(void **state)
{
    struct thrift in = of("\x18\x00", 2);
    struct thrift_field field = {0};

    (void)state;
    assert_true(thrift_next(&in, &field));
    assert_int_equal(thrift_int(&in, &field), 0);
    assert_string_equal(in.wrong, "a number was expected");
}

/* The head says 4 GiB; nothing of that size may be touched. */
static void a_block_that_claims_another_size_is_refused(void **state)
{
    static const enum block_codec CODECS[] = {BLOCK_PLAIN,   BLOCK_SNAPPY,     BLOCK_GZIP,
                                              BLOCK_BROTLI,  BLOCK_ZSTD,       BLOCK_LZ4_RAW,
                                              BLOCK_LZ4_HADOOP, BLOCK_LZ4_FRAME};
    char out[16];
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof CODECS / sizeof *CODECS; i++) {
        struct str lie = str_from("\xff\xff\xff\xff\x0f\x00", 6);

        assert_int_equal(block_unpack(CODECS[i], lie, out, sizeof out, &err), E_PARSE);
        assert_non_null(strstr(err.message, "do not unpack to the 16 bytes they should"));
        assert_int_equal(block_unpack(CODECS[i], str_of(""), out, sizeof out, &err), E_PARSE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_by_delta_and_by_number),
        cmocka_unit_test(lengths_that_lie_end_the_walk),
        cmocka_unit_test(structs_in_structs_without_end_are_refused),
        cmocka_unit_test(a_value_of_another_type_is_wrong),
        cmocka_unit_test(a_block_that_claims_another_size_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
