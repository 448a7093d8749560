/* safetensors: shapes, norms by dtype, cut and hostile headers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/read/safetensors.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct arena *arena;
    struct weights file;
    struct error err;
};

static int setup(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    fixture.folder = tempdir_make();
    fixture.arena = arena_open(16u << 20);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_close(f->arena);
    tempdir_remove(f->folder);
    return 0;
}

static int read_with(struct fixture *f, const char *header, const void *data, size_t n)
{
    struct buf file;
    size_t length = strlen(header);

    buf_init(&file, 1 << 20);
    for (int i = 0; i < 8; i++)
        buf_putc(&file, (char)(length >> (8 * i) & 255));
    buf_puts(&file, header);
    buf_add(&file, data, n);
    tempdir_write(f->folder, "a.safetensors", file.p, file.n);
    buf_free(&file);
    return safetensors_read(tempdir_path(f->folder, "a.safetensors"),
                            &(struct weight_options){.values_up_to = 1 << 20}, f->arena, &f->file,
                            &f->err);
}

static void norms_are_the_same_in_every_dtype(void **state)
{
    struct fixture *f = *state;
    static const unsigned char data[] = {
        0,    0,    0x40, 0x40, 0, 0, 0x80, 0xc0,                               /* F32 3, -4 */
        0,    0x42, 0,    0xc4,                                                 /* F16 3, -4 */
        0x40, 0x40, 0x80, 0xc0,                                                 /* BF16 3, -4 */
        0,    0,    0,    0,    0, 0, 8,    0x40, 0, 0, 0, 0, 0, 0, 0x10, 0xc0, /* F64 3, -4 */
    };

    assert_int_equal(
        read_with(f,
                  "{\"__metadata__\":{\"format\":\"pt\"},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                  "\"d\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[16,32]},"
                  "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]},"
                  "\"c\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[12,16]}}  ",
                  data, sizeof data),
        OK);
    assert_int_equal(f->file.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(f->file.tensors[i].facts.norm - 5) < 1e-12);
        assert_int_equal(f->file.tensors[i].facts.n_nonzero, 2);
        assert_int_equal(f->file.tensors[i].facts.n_nonfinite, 0);
    }
    assert_string_equal(f->file.tensors[3].facts.name, "d");
    assert_string_equal(f->file.tensors[3].facts.shape, "[1,2]");
}

static void zeros_and_non_finite_values_are_counted(void **state)
{
    struct fixture *f = *state;
    static const unsigned char data[] = {0, 0, 0,    0,    0, 0, 0xc0, 0x7f,
                                         0, 0, 0x80, 0x7f, 0, 0, 0x80, 0x3f};

    assert_int_equal(read_with(f,
                               "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
                               data, sizeof data),
                     OK);
    assert_int_equal(f->file.tensors[0].facts.n_nonzero, 3);
    assert_int_equal(f->file.tensors[0].facts.n_nonfinite, 2);
    assert_true(fabs(f->file.tensors[0].facts.norm - 1) < 1e-12);
}

static void a_file_without_tensors_and_an_empty_tensor_are_read(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_with(f, "{\"__metadata__\":{\"format\":\"pt\"}}", "", 0), OK);
    assert_int_equal(f->file.n, 0);
    assert_int_equal(
        read_with(f, "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", "", 0),
        OK);
    assert_int_equal(f->file.tensors[0].facts.n_values, 0);
    assert_false(f->file.is_cut);
}

static void a_cut_file_says_how_much_is_missing(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_with(f,
                               "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
                               "1234567", 7),
                     OK);
    assert_true(f->file.is_cut);
    assert_int_equal(f->file.missing_bytes, 9);
    assert_true(isnan(f->file.tensors[0].facts.norm));
}

static void entries_that_contradict_themselves_are_left_out(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_with(f,
                               "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,15]},"
                               "\"b\":{\"dtype\":\"Q9\",\"shape\":[4],\"data_offsets\":[0,16]},"
                               "\"c\":{\"dtype\":\"F32\",\"shape\":[9007199254740992,"
                               "9007199254740992],\"data_offsets\":[0,16]},"
                               "\"d\":7,"
                               "\"e\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,0]}}",
                               "0123456789abcdef", 16),
                     OK);
    assert_int_equal(f->file.n, 0);
    assert_int_equal(f->file.n_bad, 5);
    assert_string_equal(f->file.first_bad, "a");
}

static void overlapping_tensors_are_not_read(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_with(f,
                               "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                               "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[2,6]}}",
                               "0123456789", 10),
                     OK);
    assert_true(f->file.is_overlapping);
    assert_int_equal(f->file.tensors[1].facts.n_nonzero, NONE);
}

static void what_is_no_safetensors_file_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *const path = tempdir_path(f->folder, "a.safetensors");
    static const char *const files[] = {"", "1234567", "version https://git-lfs",
                                        "\x10\0\0\0\0\0\0\0{"};
    static const size_t sizes[] = {0, 7, 23, 9};

    for (size_t i = 0; i < 4; i++) {
        tempdir_write(f->folder, "a.safetensors", files[i], sizes[i]);
        assert_int_equal(safetensors_read(path, NULL, f->arena, &f->file, &f->err), E_PARSE);
    }
    assert_int_equal(read_with(f, "[]", "", 0), E_PARSE);
    assert_int_equal(read_with(f, "{\"a\":", "", 0), E_PARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(norms_are_the_same_in_every_dtype, setup, teardown),
        cmocka_unit_test_setup_teardown(zeros_and_non_finite_values_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_without_tensors_and_an_empty_tensor_are_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_cut_file_says_how_much_is_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(entries_that_contradict_themselves_are_left_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(overlapping_tensors_are_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_safetensors_file_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
