/* The difference of two texts: applying it gives the other text, and it is the shortest one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/base/arena.h"
#include "core/base/random.h"
#include "core/text/diff.h"

static struct arena *arena;

static int open_arena(void **state)
{
    (void)state;
    arena = arena_open((size_t)256 << 20);
    return arena ? 0 : -1;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(arena);
    return 0;
}

static struct diff diff_of(const char *a, const char *b, enum diff_unit unit)
{
    struct diff diff;
    struct error err;

    assert_int_equal(
        diff_texts(str_of(a), str_of(b), unit, NULL, 0, NULL, 0, arena, &diff, &err), OK);
    return diff;
}

/* The parts cover both texts in order, equal ones are equal, and the changed A is B. */
static void expect_sound(struct str a, struct str b, const struct diff *diff)
{
    size_t at_a = 0, at_b = 0;

    for (size_t i = 0; i < diff->n; i++) {
        const struct diff_part *part = &diff->parts[i];

        assert_int_equal(part->a_begin, at_a);
        assert_int_equal(part->b_begin, at_b);
        size_t n = part->a_end - part->a_begin, m = part->b_end - part->b_begin;
        assert_true(n + m > 0);
        if (part->kind == DIFF_EQUAL) {
            assert_int_equal(n, m);
            assert_memory_equal(a.p + part->a_begin, b.p + part->b_begin, n);
        } else {
            assert_int_equal(part->kind == DIFF_REMOVED ? m : n, 0);
        }
        if (i > 0)
            assert_int_not_equal(part->kind, part[-1].kind);
        at_a = part->a_end;
        at_b = part->b_end;
    }
    assert_int_equal(at_a, a.n);
    assert_int_equal(at_b, b.n);
}

static void one_changed_word_is_one_removed_and_one_added(void **state)
{
    (void)state;
    struct diff diff = diff_of("the red car", "the blue car", DIFF_WORDS);

    assert_int_equal(diff.n, 4);
    assert_int_equal(diff.parts[1].kind, DIFF_REMOVED);
    assert_int_equal(diff.parts[1].a_begin, 4);
    assert_int_equal(diff.parts[1].a_end, 7);
    assert_int_equal(diff.parts[2].kind, DIFF_ADDED);
    assert_int_equal(diff.parts[2].b_end, 8);
}

static void equal_texts_are_one_part_and_empty_ones_none(void **state)
{
    (void)state;
    assert_int_equal(diff_of("a b", "a b", DIFF_WORDS).n, 1);
    assert_int_equal(diff_of("", "", DIFF_LINES).n, 0);
    assert_int_equal(diff_of("", "x", DIFF_LINES).parts[0].kind, DIFF_ADDED);
    assert_int_equal(diff_of("x", "", DIFF_WORDS).parts[0].kind, DIFF_REMOVED);
}

static void a_line_that_is_more_is_added_alone(void **state)
{
    (void)state;
    struct diff diff = diff_of("a\nb\n", "a\nx\nb\n", DIFF_LINES);

    assert_int_equal(diff.n, 3);
    assert_int_equal(diff.parts[1].kind, DIFF_ADDED);
    assert_int_equal(diff.parts[1].b_begin, 2);
    assert_int_equal(diff.parts[1].b_end, 4);
}

static void tokens_are_cut_at_their_ends_and_the_rest_is_one_more(void **state)
{
    static const uint32_t ends_a[] = {3, 3, 5}, ends_b[] = {3, 4};
    struct diff diff;
    struct error err;

    (void)state;
    assert_int_equal(diff_texts(str_of("abcde!"), str_of("abcd!"), DIFF_TOKENS, ends_a, 3, ends_b, 2,
                                arena, &diff, &err),
                     OK);
    expect_sound(str_of("abcde!"), str_of("abcd!"), &diff);
    assert_int_equal(diff.n, 4);
    assert_int_equal(diff.parts[1].a_begin, 3);
    assert_int_equal(diff.parts[1].a_end, 5);
    assert_int_equal(diff.parts[3].kind, DIFF_EQUAL);
}

static size_t edits_of(const struct diff *diff)
{
    size_t n = 0;

    for (size_t i = 0; i < diff->n; i++)
        if (diff->parts[i].kind != DIFF_EQUAL)
            n += diff->parts[i].a_end - diff->parts[i].a_begin + diff->parts[i].b_end -
                 diff->parts[i].b_begin;
    return n;
}

/* By dynamic programming: units of one byte each. */
static size_t shortest(struct str a, struct str b)
{
    static size_t row[64][64];

    for (size_t i = 0; i <= a.n; i++)
        for (size_t k = 0; k <= b.n; k++) {
            if (i == 0 || k == 0) {
                row[i][k] = i + k;
                continue;
            }
            size_t best = row[i - 1][k] < row[i][k - 1] ? row[i - 1][k] : row[i][k - 1];

            row[i][k] = best + 1;
            if (a.p[i - 1] == b.p[k - 1] && row[i - 1][k - 1] < row[i][k])
                row[i][k] = row[i - 1][k - 1];
        }
    return row[a.n][b.n];
}

static void random_texts_are_turned_into_each_other_with_the_fewest_edits(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 7);
    for (int round = 0; round < 3000; round++) {
        char a[64], b[64];
        size_t n = random_below(&random, 50), m = random_below(&random, 50);
        const char *letters = round % 3 == 0 ? "!?.-" : "!?";

        for (size_t i = 0; i < n; i++)
            a[i] = letters[random_below(&random, round % 3 == 0 ? 4 : 2)];
        for (size_t i = 0; i < m; i++)
            b[i] = letters[random_below(&random, round % 3 == 0 ? 4 : 2)];
        struct str x = str_from(a, n), y = str_from(b, m);
        struct diff diff;
        struct error err;
        assert_int_equal(
            diff_texts(x, y, DIFF_WORDS, NULL, 0, NULL, 0, arena, &diff, &err), OK);
        expect_sound(x, y, &diff);
        assert_false(diff.is_bounded);
        assert_int_equal(edits_of(&diff), shortest(x, y));
        arena_reset(arena);
    }
}

static void random_words_and_lines_stay_sound(void **state)
{
    static const char *const pieces[] = {"a", "bb", " ", "\n", "é", "\xff", "<|x|>", "  ", "c\n"};
    struct random random;

    (void)state;
    random_seed(&random, 11);
    for (int round = 0; round < 500; round++) {
        struct buf text[2];

        for (int side = 0; side < 2; side++) {
            buf_init(&text[side], 4096);
            for (uint64_t n = random_below(&random, 60); n > 0; n--)
                buf_puts(&text[side], pieces[random_below(&random, 9)]);
        }
        struct str a = buf_view(&text[0]), b = buf_view(&text[1]);
        for (int unit = DIFF_WORDS; unit <= DIFF_LINES; unit++) {
            struct diff diff;
            struct error err;

            assert_int_equal(diff_texts(a, b, (enum diff_unit)unit, NULL, 0, NULL, 0, arena, &diff,
                                        &err),
                             OK);
            expect_sound(a, b, &diff);
        }
        buf_free(&text[0]);
        buf_free(&text[1]);
        arena_reset(arena);
    }
}

static void beyond_the_bound_the_middle_is_one_change(void **state)
{
    struct buf a, b;
    struct diff diff;
    struct error err;

    (void)state;
    buf_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    buf_puts(&a, "same\n");
    buf_puts(&b, "same\n");
    for (int i = 0; i < 3000; i++) {
        buf_printf(&a, "left %d\n", i);
        buf_printf(&b, "right %d\n", i);
    }
    buf_puts(&a, "end\n");
    buf_puts(&b, "end\n");
    assert_int_equal(diff_texts(buf_view(&a), buf_view(&b), DIFF_LINES, NULL, 0, NULL, 0, arena,
                                &diff, &err),
                     OK);
    assert_true(diff.is_bounded);
    assert_int_equal(diff.n, 4);
    expect_sound(buf_view(&a), buf_view(&b), &diff);
    buf_free(&a);
    buf_free(&b);
}

static void an_arena_that_is_full_is_told(void **state)
{
    struct arena *small = arena_open(64);
    struct diff diff;
    struct error err;

    (void)state;
    assert_non_null(small);
    assert_int_equal(diff_texts(str_of("a b c d e f g"), str_of("h i j k"), DIFF_WORDS, NULL, 0, NULL,
                                0, small, &diff, &err),
                     E_NOMEM);
    arena_close(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_changed_word_is_one_removed_and_one_added),
        cmocka_unit_test(equal_texts_are_one_part_and_empty_ones_none),
        cmocka_unit_test(a_line_that_is_more_is_added_alone),
        cmocka_unit_test(tokens_are_cut_at_their_ends_and_the_rest_is_one_more),
        cmocka_unit_test(random_texts_are_turned_into_each_other_with_the_fewest_edits),
        cmocka_unit_test(random_words_and_lines_stay_sound),
        cmocka_unit_test(beyond_the_bound_the_middle_is_one_change),
        cmocka_unit_test(an_arena_that_is_full_is_told),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
