/* Values of tensors: every dtype, norms, hashes of equal tensors, norms of LoRA products; state dicts
 * of torch beside safetensors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "core/read/tensor_values.h"
#include "core/read/weights.h"
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

/* ---- Dtypes ---- */

static double value_of(const char *dtype, const char *bytes)
{
    float value = -1.0f;

    assert_true(tensor_floats(dtype, bytes, 1, &value));
    return (double)value;
}

/* Expected values: torch 2's view of these bytes. */
static void the_eight_bit_floats_have_the_values_that_torch_gives(void **state)
{
    (void)state;
    assert_true(value_of("F8_E4M3", "\x38") == 1.0);
    assert_true(value_of("F8_E4M3", "\x7e") == 448.0);
    assert_true(value_of("F8_E4M3", "\x01") == 0.001953125);
    assert_true(isnan(value_of("F8_E4M3", "\x7f")));
    assert_true(value_of("F8_E4M3", "\xb8") == -1.0);
    assert_true(value_of("F8_E5M2", "\x3c") == 1.0);
    assert_true(value_of("F8_E5M2", "\x7b") == 57344.0);
    assert_true(isinf(value_of("F8_E5M2", "\x7c")));
    assert_true(isnan(value_of("F8_E5M2", "\x7d")));
    assert_true(value_of("F8_E5M2", "\x01") == 0x1p-16);
    assert_true(value_of("F8_E4M3FNUZ", "\x40") == 1.0);
    assert_true(value_of("F8_E4M3FNUZ", "\x7f") == 240.0);
    assert_true(isnan(value_of("F8_E4M3FNUZ", "\x80")));
    assert_true(value_of("F8_E5M2FNUZ", "\x40") == 1.0);
    assert_true(value_of("F8_E5M2FNUZ", "\x7f") == 57344.0);
    assert_true(value_of("F8_E8M0", "\x7f") == 1.0);
    assert_true(isnan(value_of("F8_E8M0", "\xff")));
}

static void halves_are_exact_from_the_least_to_infinity(void **state)
{
    (void)state;
    assert_true(value_of("F16", "\x00\x3c") == 1.0);
    assert_true(value_of("F16", "\x01\x00") == 0x1p-24);
    assert_true(value_of("F16", "\xff\x03") == 1023 * 0x1p-24);
    assert_true(value_of("F16", "\xff\x7b") == 65504.0);
    assert_true(value_of("F16", "\x00\x80") == 0.0 && signbit(value_of("F16", "\x00\x80")));
    assert_true(value_of("F16", "\x00\xc0") == -2.0);
    assert_true(value_of("F16", "\x00\xfc") == -INFINITY);
    assert_true(isnan(value_of("F16", "\x01\x7c")));
    assert_true(value_of("BF16", "\x80\xbf") == -1.0);
}

static void whole_numbers_are_measured_with_their_sign(void **state)
{
    struct tensor_sums sums = {0};
    struct tensor tensor = {.dtype = "I8", .norm = NAN};

    (void)state;
    tensor_sums_add(&sums, "I8", "\xfd\x04\x00", 3);
    tensor_sums_done(&sums, &tensor);
    assert_true(tensor.norm == 5.0);
    assert_int_equal(tensor.n_nonzero, 2);
    assert_true(value_of("I16", "\xff\xff") == -1.0);
    assert_true(value_of("U16", "\xff\xff") == 65535.0);
    assert_true(value_of("I64", "\xfe\xff\xff\xff\xff\xff\xff\xff") == -2.0);
    assert_int_equal(tensor_value_bytes("F4"), 0);
    assert_int_equal(tensor_dtype_bits("F6_E2M3"), 6);
    assert_int_equal(tensor_dtype_bits("Q9"), 0);
}

/* Lengths around the size of a block, with a value that is not finite in the last place. */
static void sums_do_not_depend_on_where_a_block_ends(void **state)
{
    static float values[2100];

    (void)state;
    for (size_t n = 1020; n <= 2060; n += 4) {
        struct tensor_sums sums = {0};
        struct tensor tensor = {.dtype = "F32", .norm = NAN};

        for (size_t i = 0; i < n; i++)
            values[i] = i % 5 == 0 ? 0.0f : 2.0f;
        values[n - 1] = NAN;
        tensor_sums_add(&sums, "F32", values, n * sizeof *values);
        tensor_sums_done(&sums, &tensor);
        size_t n_zero = (n - 1 + 4) / 5;
        assert_int_equal(tensor.n_nonzero, (int64_t)(n - n_zero));
        assert_int_equal(tensor.n_nonfinite, 1);
        assert_true(fabs(tensor.norm - sqrt(4.0 * (double)(n - 1 - n_zero))) < 1e-9);
    }
}

static void shapes_are_read_as_files_and_pickles_write_them(void **state)
{
    int64_t sides[8];

    (void)state;
    assert_int_equal(tensor_sides("[4096,16]", sides), 2);
    assert_int_equal(sides[0], 4096);
    assert_int_equal(sides[1], 16);
    assert_int_equal(tensor_sides("[]", sides), 0);
    assert_int_equal(tensor_sides("(3, 4)", sides), 2);
    assert_int_equal(tensor_sides("", sides), -1);
    assert_int_equal(tensor_sides("[1", sides), -1);
}

/* ---- Pairs ---- */

/* Some A of 2 x 3 and a B of 2 x 2. */
static const float MATRIX_A[] = {1, 4, 7, 1, 1, 2}, MATRIX_B[] = {-1, 0, 0, 0};

static int write_pair(struct fixture *f, const char *name, const float *a, const float *b)
{
    static const char HEADER[] =
        "{\"m.q.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"m.q.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[24,40]}}";
    const struct weight_options options = {.values_up_to = 1 << 20, .products_up_to = 1000};
    char bytes[8 + sizeof HEADER + 40] = {0};
    size_t n = sizeof HEADER - 1;

    bytes[0] = (char)(n & 255);
    bytes[1] = (char)(n >> 8);
    memcpy(bytes + 8, HEADER, n);
    memcpy(bytes + 8 + n, a, 24);
    memcpy(bytes + 8 + n + 24, b, 16);
    tempdir_write(f->folder, name, bytes, 8 + n + 40);
    return weights_read(tempdir_path(f->folder, name), &options, f->arena, &f->file, &f->err);
}

static void the_norm_of_a_lora_product_is_that_of_the_product(void **state)
{
    struct fixture *f = *state;
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {-1, 0.5f, 2, 3};
    double product = 0;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            double value = (double)b[2 * i] * (double)a[k] + (double)b[2 * i + 1] * (double)a[3 + k];

            product += value * value;
        }
    assert_int_equal(write_pair(f, "a.safetensors", a, b), OK);
    assert_int_equal(f->file.n, 2);
    assert_true(isnan(f->file.tensors[0].facts.delta_norm));
    assert_true(fabs(f->file.tensors[1].facts.delta_norm - sqrt(product)) < 1e-9);
}

static void a_zero_b_gives_a_product_of_zero(void **state)
{
    struct fixture *f = *state;
    const float zero[4] = {0};

    assert_int_equal(write_pair(f, "a.safetensors", MATRIX_A, zero), OK);
    assert_true(f->file.tensors[1].facts.delta_norm == 0.0);
    assert_true(f->file.tensors[1].facts.norm == 0.0);
}

static void products_that_cost_too_much_stay_unknown(void **state)
{
    struct fixture *f = *state;
    const struct weight_options few = {.values_up_to = 1 << 20, .products_up_to = 19};

    assert_int_equal(write_pair(f, "a.safetensors", MATRIX_A, MATRIX_B), OK);
    assert_false(isnan(f->file.tensors[1].facts.delta_norm));
    assert_int_equal(weights_read(tempdir_path(f->folder, "a.safetensors"), &few, f->arena, &f->file,
                                  &f->err),
                     OK);
    assert_true(isnan(f->file.tensors[1].facts.delta_norm));
    assert_false(isnan(f->file.tensors[1].facts.norm));
}

static void equal_tensors_of_two_files_have_equal_hashes(void **state)
{
    struct fixture *f = *state;
    const float other[] = {-1, 0, 0, 1e-7f};

    assert_int_equal(write_pair(f, "a.safetensors", MATRIX_A, MATRIX_B), OK);
    int64_t first_a = f->file.tensors[0].facts.content_hash;
    int64_t first_b = f->file.tensors[1].facts.content_hash;
    assert_true(first_a != 0 && first_b != 0 && first_a != first_b);
    assert_int_equal(write_pair(f, "b.safetensors", MATRIX_A, other), OK);
    assert_true(f->file.tensors[0].facts.content_hash == first_a);
    assert_true(f->file.tensors[1].facts.content_hash != first_b);
}

static void a_cancelled_reading_says_so(void **state)
{
    struct fixture *f = *state;
    const atomic_bool cancel = true;
    const struct weight_options options = {.values_up_to = 1 << 20, .cancel = &cancel};

    assert_int_equal(write_pair(f, "a.safetensors", MATRIX_A, MATRIX_B), OK);
    assert_int_equal(weights_read(tempdir_path(f->folder, "a.safetensors"), &options, f->arena,
                                  &f->file, &f->err),
                     E_CANCELLED);
}

/* ---- Files of the real writers (tests/engines/weights/WRITERS.txt) ---- */

static const struct tensor *tensor_named(const struct weights *file, struct str name)
{
    for (size_t i = 0; i < file->n; i++)
        if (str_is(name, file->tensors[i].facts.name))
            return &file->tensors[i].facts;
    return NULL;
}

static void expect_number(const char *what, struct str field, double got)
{
    double want = strtod(field.p, NULL);

    if (isnan(want) != isnan(got) ||
        (!isnan(want) && fabs(want - got) > 1e-6 * (fabs(want) > 1 ? fabs(want) : 1)))
        fail_msg("%s: %.9g, expected %.9g", what, got, want);
}

/* A line of values.tsv against the tensor of that name. Shapes of pickles have round brackets. */
static void expect_row(struct fixture *f, struct str line)
{
    static const char *const COLUMNS[] = {"norm", "non-zero", "non-finite", "change"};
    struct str file, name, shape, field;
    int64_t want[8], got[8];
    char what[512];

    assert_true(str_split(&line, '\t', &file) && str_split(&line, '\t', &name) &&
                str_split(&line, '\t', &shape));
    const struct tensor *tensor = tensor_named(&f->file, name);
    snprintf(what, sizeof what, "%.*s %.*s", (int)file.n, file.p, (int)name.n, name.p);
    if (!tensor)
        fail_msg("%s: not read", what);
    int n = tensor_sides(shape.p, want);
    assert_int_equal(tensor_sides(tensor->shape, got), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(got[i], want[i]);
    const double values[] = {tensor->norm, (double)tensor->n_nonzero, (double)tensor->n_nonfinite,
                             tensor->delta_norm};
    for (int i = 0; i < 4; i++) {
        char place[600];

        assert_true(str_split(&line, '\t', &field));
        snprintf(place, sizeof place, "%s, %s", what, COLUMNS[i]);
        expect_number(place, field, values[i]);
    }
}

static void real_files_have_the_values_that_torch_computes(void **state)
{
    static const char FOLDER[] = "tests/engines/weights";
    const struct weight_options all = {.values_up_to = INT64_MAX, .products_up_to = INT64_MAX};
    struct fixture *f = *state;
    struct source_file *list;
    struct source_line line;
    char open[256] = "", path[512];
    size_t n = 0;

    snprintf(path, sizeof path, "%s/values.tsv", FOLDER);
    assert_int_equal(source_open(&list, path, &f->err), OK);
    while (source_next_line(list, 0, &line, &f->err) == 1) {
        struct str rest = line.text, file;

        assert_true(str_split(&rest, '\t', &file));
        if (!str_is(file, open)) {
            snprintf(open, sizeof open, "%.*s", (int)file.n, file.p);
            snprintf(path, sizeof path, "%s/%s", FOLDER, open);
            assert_int_equal(weights_read(path, &all, f->arena, &f->file, &f->err), OK);
        }
        expect_row(f, line.text);
        n++;
    }
    source_close(list);
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_eight_bit_floats_have_the_values_that_torch_gives),
        cmocka_unit_test(halves_are_exact_from_the_least_to_infinity),
        cmocka_unit_test(whole_numbers_are_measured_with_their_sign),
        cmocka_unit_test(sums_do_not_depend_on_where_a_block_ends),
        cmocka_unit_test(shapes_are_read_as_files_and_pickles_write_them),
        cmocka_unit_test_setup_teardown(the_norm_of_a_lora_product_is_that_of_the_product, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_zero_b_gives_a_product_of_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(products_that_cost_too_much_stay_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_tensors_of_two_files_have_equal_hashes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_reading_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(real_files_have_the_values_that_torch_computes, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
