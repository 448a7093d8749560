/* The wire walker: every wire type, and every way in which a message can be wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/read/protobuf.h"

static void fields_of_every_wire_type_are_given_in_order(void **state)
{
    static const char bytes[] = "\x08\x96\x01"                         /* 1: 150 */
                                "\x12\x03" "abc"                       /* 2: "abc" */
                                "\x1d\x00\x00\xC0\xBF"                 /* 3: -1.5 as a float */
                                "\x21\x01\x00\x00\x00\x00\x00\x00\x80" /* 4: 64 bits */
                                "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"; /* 5: -1 */
    struct protobuf in = protobuf_of(str_from(bytes, sizeof bytes - 1));
    struct protobuf_field field;
    struct error err;

    (void)state;
    assert_int_equal(protobuf_next(&in, &field, &err), 1);
    assert_int_equal(field.number, 1);
    assert_int_equal(protobuf_int(&field), 150);
    assert_int_equal(protobuf_next(&in, &field, &err), 1);
    assert_true(str_is(field.bytes, "abc"));
    assert_int_equal(protobuf_next(&in, &field, &err), 1);
    assert_true(protobuf_float(&field) == -1.5f);
    assert_int_equal(protobuf_next(&in, &field, &err), 1);
    assert_true(field.value == UINT64_C(0x8000000000000001));
    assert_int_equal(protobuf_next(&in, &field, &err), 1);
    assert_int_equal(protobuf_int(&field), -1);
    assert_int_equal(protobuf_next(&in, &field, &err), 0);
}

static void wrong_messages_are_refused_where_they_are_wrong(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } wrong[] = {
        {"\x08", 1},                                             /* no value */
        {"\x08\x80", 2},                                         /* a number that goes on */
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12}, /* eleven bytes */
        {"\x12\x05" "abc", 5},                                   /* longer than what is left */
        {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},    /* 2^64 - 1 bytes */
        {"\x1d\x00\x00", 3},
        {"\x21\x00\x00\x00\x00", 5},
        {"\x00\x00", 2},                                         /* field 0 */
        {"\x0b", 1},                                             /* a group */
        {"\x0e", 1},                                             /* wire type 6 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct protobuf in = protobuf_of(str_from(wrong[i].bytes, wrong[i].n));
        struct protobuf_field field;
        struct error err;

        assert_int_equal(protobuf_next(&in, &field, &err), E_PARSE);
        assert_true(err.byte >= 0 && err.byte <= (int64_t)wrong[i].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_every_wire_type_are_given_in_order),
        cmocka_unit_test(wrong_messages_are_refused_where_they_are_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
