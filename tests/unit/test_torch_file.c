/* Files of torch.save whose tensors are no plain run of bytes, that hold something else, or that are
 * cut: what is not read stays unknown, and is never taken for zero. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/weights.h"

#define FOLDER "tests/unit/data/torch/"

static const struct weight_options ALL = {.values_up_to = INT64_MAX, .products_up_to = INT64_MAX};

static struct weights read_file(struct arena *arena, const char *path)
{
    struct weights found;
    struct error err = {0};

    if (weights_read(path, &ALL, arena, &found, &err) != OK)
        fail_msg("%s", err.message);
    return found;
}

static void views_have_no_values_and_are_not_zero(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights file = read_file(arena, FOLDER "views.bin");

    (void)state;
    assert_int_equal(file.n, 2);
    for (size_t i = 0; i < file.n; i++) {
        assert_int_equal(file.tensors[i].facts.n_values, 8);
        assert_true(isnan(file.tensors[i].facts.norm));
        assert_int_equal(file.tensors[i].facts.n_nonzero, NONE);
        assert_int_equal(file.tensors[i].facts.content_hash, 0);
    }
    arena_close(arena);
}

static void kinds_without_a_storage_class_are_named_by_their_dtype(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights file = read_file(arena, FOLDER "kinds.bin");

    (void)state;
    assert_int_equal(file.n, 2);
    assert_string_equal(file.tensors[0].facts.dtype, "F8_E4M3");
    assert_true(fabs(file.tensors[0].facts.norm - sqrt(8.0)) < 1e-9);
    assert_string_equal(file.tensors[1].facts.dtype, "U16");
    assert_true(fabs(file.tensors[1].facts.norm - sqrt(2.0)) < 1e-9);
    arena_close(arena);
}

static void complex_values_are_not_read_as_floats(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights file = read_file(arena, FOLDER "complex.bin");

    (void)state;
    assert_string_equal(file.tensors[0].facts.dtype, "C64");
    assert_true(isnan(file.tensors[0].facts.norm));
    arena_close(arena);
}

static void a_state_dict_inside_a_checkpoint_is_found(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights file = read_file(arena, FOLDER "nested.bin");

    (void)state;
    assert_int_equal(file.n, 1);
    assert_string_equal(file.tensors[0].facts.name, "m.0.q_proj.lora_A.weight");
    arena_close(arena);
}

static void what_is_no_tensor_is_counted(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights file = read_file(arena, FOLDER "sparse.bin");

    (void)state;
    assert_int_equal(file.n, 0);
    assert_int_equal(file.n_bad, 1);
    assert_string_equal(file.first_bad, "m.0.q_proj.lora_A.weight");
    assert_false(file.is_no_state_dict);
    arena_close(arena);
}

static void something_else_than_a_dict_is_told_from_an_empty_one(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);

    (void)state;
    assert_true(read_file(arena, FOLDER "list.bin").is_no_state_dict);
    assert_true(read_file(arena, FOLDER "parameter.bin").is_no_state_dict);
    assert_false(read_file(arena, FOLDER "empty.bin").is_no_state_dict);
    arena_close(arena);
}

static void a_cut_file_of_the_old_format_says_so(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);

    (void)state;
    assert_false(read_file(arena, FOLDER "legacy.bin").is_cut);
    assert_true(read_file(arena, FOLDER "legacy_cut.bin").is_cut);
    arena_close(arena);
}

static void a_cut_zip_is_told_as_cut(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights file;
    struct error err = {0};

    (void)state;
    assert_int_equal(weights_read(FOLDER "zip_cut.bin", &ALL, arena, &file, &err), E_PARSE);
    assert_non_null(strstr(err.message, "cut"));
    arena_close(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_have_no_values_and_are_not_zero),
        cmocka_unit_test(kinds_without_a_storage_class_are_named_by_their_dtype),
        cmocka_unit_test(complex_values_are_not_read_as_floats),
        cmocka_unit_test(a_state_dict_inside_a_checkpoint_is_found),
        cmocka_unit_test(what_is_no_tensor_is_counted),
        cmocka_unit_test(something_else_than_a_dict_is_told_from_an_empty_one),
        cmocka_unit_test(a_cut_file_of_the_old_format_says_so),
        cmocka_unit_test(a_cut_zip_is_told_as_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
