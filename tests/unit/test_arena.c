/* Allocation by lifetime. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/arena.h"

static void memory_is_zeroed_and_aligned_also_after_a_reset(void **state)
{
    struct arena *arena = arena_open(1 << 20);

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size < 300; size += 7) {
            unsigned char *p = arena_alloc(arena, size);

            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xAB, size);
        }
        arena_reset(arena);
        assert_int_equal(arena_used(arena), 0);
    }
    arena_close(arena);
    arena_close(NULL);
}

static void allocations_do_not_overlap(void **state)
{
    struct arena *arena = arena_open(8 << 20);
    unsigned char *parts[400];

    (void)state;
    for (size_t i = 0; i < 400; i++) {
        parts[i] = arena_alloc(arena, 10000);
        assert_non_null(parts[i]);
        memset(parts[i], (int)(i & 0xFF), 10000);
    }
    for (size_t i = 0; i < 400; i++)
        assert_true(parts[i][0] == (i & 0xFF) && parts[i][9999] == (i & 0xFF));
    arena_close(arena);
}

static void the_limit_fails_once_for_all_until_reset(void **state)
{
    struct arena *arena = arena_open(1000);

    (void)state;
    assert_non_null(arena_alloc(arena, 900));
    assert_null(arena_alloc(arena, 200));
    assert_true(arena_failed(arena));
    assert_string_equal(arena_strdup(arena, "a text that is longer than what is left, which "
                                            "is less than a hundred bytes by now"),
                        "");
    assert_string_equal(arena_printf(arena, "%0200d", 1), "");
    arena_reset(arena);
    assert_false(arena_failed(arena));
    assert_non_null(arena_alloc(arena, 900));
    arena_close(arena);
}

static void sizes_that_overflow_fail(void **state)
{
    struct arena *arena = arena_open(SIZE_MAX);

    (void)state;
    assert_null(arena_array(arena, SIZE_MAX / 4, 8));
    arena_reset(arena);
    assert_null(arena_alloc(arena, SIZE_MAX - 3));
    arena_reset(arena);
    assert_string_equal(arena_strndup(arena, "x", SIZE_MAX), "");
    arena_close(arena);
}

static void texts_are_copied_with_their_end(void **state)
{
    struct arena *arena = arena_open(1 << 16);
    char source[] = "abcdef";

    (void)state;
    const char *three = arena_strndup(arena, source, 3);
    struct str all = arena_str(arena, str_of(source));

    memset(source, 'x', sizeof source - 1);
    assert_string_equal(three, "abc");
    assert_true(str_is(all, "abcdef"));
    assert_int_equal(all.p[all.n], '\0');
    assert_null(arena_strdup(arena, NULL));
    assert_int_equal(arena_str(arena, str_from(NULL, 0)).n, 0);
    assert_non_null(arena_str(arena, str_from(NULL, 0)).p);
    assert_string_equal(arena_printf(arena, "%s-%d", "n", 5), "n-5");
    arena_close(arena);
}

static void growing_copies(void **state)
{
    struct arena *arena = arena_open(1 << 16);
    int *few = arena_grow(arena, NULL, 0, 4 * sizeof *few);

    (void)state;
    assert_non_null(few);
    for (int i = 0; i < 4; i++)
        few[i] = i + 1;

    int *more = arena_grow(arena, few, 4 * sizeof *few, 8 * sizeof *few);

    assert_non_null(more);
    for (int i = 0; i < 8; i++)
        assert_int_equal(more[i], i < 4 ? i + 1 : 0);
    arena_close(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned_also_after_a_reset),
        cmocka_unit_test(allocations_do_not_overlap),
        cmocka_unit_test(the_limit_fails_once_for_all_until_reset),
        cmocka_unit_test(sizes_that_overflow_fail),
        cmocka_unit_test(texts_are_copied_with_their_end),
        cmocka_unit_test(growing_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
