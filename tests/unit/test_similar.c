/* Normal texts, shingles, bands, the common text and the index of near-duplicates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/random.h"
#include "core/similar/index_parts.h"
#include "core/similar/normal.h"
#include "core/similar/shared_text.h"

static void is_normal(const char *text, size_t n, const char *expected)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(normal_text(str_from(text, n), &out, NULL), OK);
    assert_string_equal(out.n ? out.p : "", expected);
    buf_free(&out);
}

static void normal_texts_are_those_of_python(void **state)
{
    (void)state;
    is_normal("", 0, "");
    is_normal("  A\tB\n\x1c C  ", 9, "a b c");
    is_normal("\xc4\xb0", 2, "i\xcc\x87"); /* two code points of one */
    is_normal("\xce\xa3\xce\x91\xce\xa3", 6, "\xcf\x83\xce\xb1\xcf\x83"); /* no final sigma */
    is_normal("\xef\xac\x81\xc2\xa0"
              "X",
              6, "fi x");                  /* ligature, no-break space */
    is_normal("\xef\xbc\xa1", 3, "a");     /* full width A */
    is_normal("e\xcc\x81", 3, "\xc3\xa9"); /* composes */
    is_normal("a\xff"
              "b",
              3,
              "a\xef\xbf\xbd"
              "b");                                           /* broken UTF-8 */
    is_normal("\xe3\x8b\xbf", 3, "\xe4\xbb\xa4\xe5\x92\x8c"); /* assigned in Unicode 12 */
    is_normal("\xf0\x9e\x80\xb0", 4, "\xf0\x9e\x80\xb0");     /* assigned after 14: as it is */
}

static void a_text_above_the_limit_is_refused(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4);
    assert_int_equal(normal_text(str_of("abcdefgh"), &out, NULL), E_LIMIT);
    buf_free(&out);
}

static size_t shingles_in(const char *text, struct shingles *set)
{
    assert_int_equal(shingles_of(str_of(text), set, NULL), OK);
    return set->n;
}

static void shingles_are_of_words_then_of_code_points(void **state)
{
    struct shingles a = {0}, b = {0};

    (void)state;
    assert_int_equal(shingles_in("the quick brown fox jumps over the lazy dog", &a), 5);
    assert_int_equal(shingles_in("the quick brown fox jumps over the lazy cat", &b), 5);
    assert_int_equal(shingles_shared(a.items, 5, b.items, 5, 0), 4);
    assert_float_equal(shingles_jaccard(5, 5, 4), 0.6667, 0.0001);
    assert_int_equal(shingles_in("", &a), 0);
    assert_int_equal(shingles_in("ab", &a), 1);
    assert_int_equal(shingles_in("a b c d", &a), 3);
    assert_int_equal(shingles_in("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa8", &a), 2);
    assert_int_equal(shingles_in("a a a a a a a a", &a), 1); /* a set */
    shingles_free(&a);
    shingles_free(&b);
}

static void comparing_stops_where_too_few_can_be_shared(void **state)
{
    const uint64_t a[] = {1, 2, 3, 4}, b[] = {3, 4, 5, 6};

    (void)state;
    assert_int_equal(shingles_shared(a, 4, b, 4, 2), 2);
    assert_true(shingles_shared(a, 4, b, 4, 3) == SIZE_MAX);
    assert_int_equal(shingles_shared(a, 0, b, 4, 0), 0);
}

static void large_sets_are_sorted_too(void **state)
{
    enum { N = 1000 };
    uint64_t items[N], scratch[N];
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int i = 0; i < N; i++)
        items[i] = random_u64(&random);
    shingles_sort(items, N, scratch);
    for (int i = 1; i < N; i++)
        assert_true(items[i - 1] <= items[i]);
}

static void bands_are_fixed_numbers(void **state)
{
    struct shingles set = {0};
    uint64_t bands[MINHASH_BANDS], again[MINHASH_BANDS];

    (void)state;
    shingles_in("one two three four five six seven", &set);
    minhash_bands(set.items, set.n, bands);
    assert_true(bands[0] == UINT64_C(6186109430267217570));
    assert_true(bands[41] == UINT64_C(4535437555417249311));
    minhash_bands(NULL, 0, again);
    assert_true(again[0] == UINT64_C(8574560781958071510));
    shingles_free(&set);
}

static void find_common(const char *const *rows, size_t n, size_t max_bytes,
                        struct common_text *out)
{
    struct common *common;

    assert_int_equal(common_open(&common, max_bytes, NULL), OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(common_add(common, str_of(rows[i]), NULL), OK);
    assert_int_equal(common_find(common, out, NULL), OK);
    common_close(common);
}

static void what_half_of_the_rows_share_is_common(void **state)
{
    const char *const rows[] = {"sort this note a red end now", "sort this note b blue end now",
                                "sort this line c end", "other text"};
    struct common_text common;

    (void)state;
    find_common(rows, 4, 0, &common);
    assert_string_equal(common.prefix, "sort this note");
    assert_int_equal(common.n_prefix, 3);
    assert_string_equal(common.suffix, "end now");
    assert_true(str_is(common_strip(&common, str_of(rows[0])), "a red"));
    assert_true(
        str_is(common_strip(&common, str_of("sort this notebook end now")), "sort this notebook"));
    assert_true(str_is(common_strip(&common, str_of("sort this note")), ""));
    assert_true(str_is(common_strip(&common, str_of("the end now")), "the"));
    common_text_free(&common);
}

static void of_two_halves_the_smaller_bytes_win(void **state)
{
    const char *const rows[] = {"b x", "a y", "b z", "a w"};
    struct common_text common;

    (void)state;
    find_common(rows, 4, 0, &common);
    assert_string_equal(common.prefix, "a");
    assert_string_equal(common.suffix, "");
    common_text_free(&common);
    find_common(rows, 0, 0, &common);
    assert_string_equal(common.prefix, "");
    common_text_free(&common);
}

static void of_too_many_rows_a_fixed_part_is_looked_at(void **state)
{
    const char *rows[400];
    struct common_text a, b;

    (void)state;
    for (int i = 0; i < 400; i++)
        rows[i] = i % 4 ? "shared begin row" : "another row";
    find_common(rows, 400, 2000, &a);
    find_common(rows, 400, 2000, &b);
    assert_true(a.is_sample);
    assert_string_equal(a.prefix, "shared begin row");
    assert_string_equal(a.prefix, b.prefix);
    common_text_free(&a);
    common_text_free(&b);
}

/* ---- The index, against looking at each pair ---- */

enum { N_ROWS = 400, MAX_SET = 120 };

struct rows {
    uint64_t sets[N_ROWS][MAX_SET];
    size_t n[N_ROWS];
};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Rows of few different shingles, every third a changed copy of an earlier one. */
static void make_rows(struct rows *rows, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed);
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t n = random_below(&random, i % 10 ? 40 : MAX_SET),
               from = i ? random_below(&random, i) : 0;
        uint64_t *set = rows->sets[i];

        if (i % 3 == 2) {
            n = rows->n[from];
            memcpy(set, rows->sets[from], n * sizeof *set);
            for (size_t k = random_below(&random, 6); n && k > 0; k--)
                set[random_below(&random, n)] = random_u64(&random);
        } else {
            for (size_t k = 0; k < n; k++)
                set[k] = random_below(&random, 3) ? random_u64(&random)
                                                  : random_below(&random, 50) << 57;
        }
        qsort(set, n, sizeof *set, compare);
        rows->n[i] = 0;
        for (size_t k = 0; k < n; k++)
            if (!rows->n[i] || set[rows->n[i] - 1] != set[k])
                set[rows->n[i]++] = set[k];
    }
}

static bool is_match(const struct similar_options *options, size_t n_row, size_t n, size_t shared)
{
    return shared > 0 && (shingles_jaccard(n_row, n, shared) >= options->jaccard ||
                          (options->containment > 0 && n_row >= CONTAINED_SHINGLES &&
                           (double)shared / (double)n_row >= options->containment));
}

static void agrees_with_pairs(const struct rows *rows, const struct similar_options *options)
{
    struct similar_index *index;
    struct similar_asker asker = {0};

    assert_int_equal(similar_open(&index, options, NULL), OK);
    for (size_t i = 0; i < N_ROWS; i++)
        assert_int_equal(similar_add(index, rows->sets[i], rows->n[i], NULL), OK);
    assert_int_equal(similar_build(index, NULL), OK);
    assert_int_equal(similar_n_crowded(index), 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t at = 0;

        assert_int_equal(similar_ask(index, &asker, rows->sets[i], rows->n[i], i, NULL), OK);
        for (size_t j = 0; j < i; j++) {
            size_t shared =
                shingles_shared(rows->sets[j], rows->n[j], rows->sets[i], rows->n[i], 0);

            if (!is_match(options, rows->n[j], rows->n[i], shared))
                continue;
            assert_true(at < asker.n_matches);
            assert_int_equal(asker.matches[at].row, j);
            assert_int_equal(asker.matches[at++].n_shared, shared);
        }
        assert_int_equal(at, asker.n_matches);
        assert_int_equal(similar_ask_own(index, &asker, i, NULL), OK);
        assert_int_equal(at, asker.n_matches);
    }
    similar_asker_free(&asker);
    similar_close(index);
}

static void the_index_finds_what_each_pair_tells(void **state)
{
    static struct rows rows;

    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        make_rows(&rows, seed);
        agrees_with_pairs(&rows, &(struct similar_options){.jaccard = 0.8});
        agrees_with_pairs(&rows, &(struct similar_options){.jaccard = 0.5, .containment = 0.8});
        agrees_with_pairs(&rows, &(struct similar_options){.jaccard = 1.0});
    }
}

/* Rows of three templates: most of a row is what all of its template have. */
static void make_templates(struct rows *rows, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed);
    for (size_t i = 0; i < N_ROWS; i++) {
        const size_t template = random_below(&random, 3), n_own = 4 + random_below(&random, 25);
        uint64_t *set = rows->sets[i];
        size_t n = 0;

        for (uint64_t k = 0; k < 20 + 10 * template; k++)
            set[n++] = (template + 1) * 0x9e3779b97f4a7c15 * (k + 1);
        for (size_t k = 0; k < n_own; k++)
            set[n++] = (random_below(&random, 12) + 12 * k + 1) * 0xbf58476d1ce4e5b9;
        qsort(set, n, sizeof *set, compare);
        rows->n[i] = n;
    }
}

static bool is_nearer(size_t n_row, size_t shared, size_t n, const struct similar_match *than,
                      size_t n_other)
{
    return shared * (n_row + n_other) > than->n_shared * (n_row + n);
}

struct nearest {
    struct similar_match match;
    size_t n_other, by;
};

/* The first half of the rows is asked for by the second one. */
static void find_nearest(const struct rows *rows, const struct similar_options *options,
                         struct nearest found[N_ROWS / 2])
{
    struct similar_index *index;
    struct similar_asker asker = {0};

    assert_int_equal(similar_open(&index, options, NULL), OK);
    for (size_t i = 0; i < N_ROWS / 2; i++)
        assert_int_equal(similar_add(index, rows->sets[i], rows->n[i], NULL), OK);
    assert_int_equal(similar_build(index, NULL), OK);
    for (size_t i = N_ROWS / 2; i < N_ROWS; i++) {
        assert_int_equal(similar_ask(index, &asker, rows->sets[i], rows->n[i], SIZE_MAX, NULL), OK);
        for (size_t k = 0; k < asker.n_matches; k++) {
            const struct similar_match *match = &asker.matches[k];
            struct nearest *of = &found[match->row];

            if (of->n_other &&
                !is_nearer(match->n_row, match->n_shared, rows->n[i], &of->match, of->n_other))
                continue;
            *of = (struct nearest){*match, rows->n[i], i};
            similar_tell(index, match, (uint32_t)rows->n[i], UINT32_MAX);
        }
        if (i % 7 == 0)
            assert_int_equal(order_buckets(index, 0, NULL), OK);
        assert_int_equal(similar_settle(index, &asker, 1, NULL), OK);
    }
    similar_asker_free(&asker);
    similar_close(index);
}

static void the_nearest_of_each_row_is_found_among_templates(void **state)
{
    static struct rows rows;
    struct similar_options options = {.jaccard = 0.5, .containment = 0.8};

    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        static struct nearest all[N_ROWS / 2], some[N_ROWS / 2];

        if (seed % 3)
            make_templates(&rows, seed);
        else
            make_rows(&rows, seed);
        memset(all, 0, sizeof all);
        memset(some, 0, sizeof some);
        options.nearest = false;
        find_nearest(&rows, &options, all);
        options.nearest = true;
        find_nearest(&rows, &options, some);
        for (size_t i = 0; i < N_ROWS / 2; i++) {
            assert_int_equal(all[i].by, some[i].by);
            assert_int_equal(all[i].match.n_shared, some[i].match.n_shared);
        }
    }
}

static void templates_are_found_each_with_each(void **state)
{
    static struct rows rows;

    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        make_templates(&rows, seed);
        agrees_with_pairs(&rows, &(struct similar_options){.jaccard = 0.7, .containment = 0.8});
        agrees_with_pairs(&rows, &(struct similar_options){.jaccard = 0.9});
    }
}

static void bands_find_no_other_pairs(void **state)
{
    static struct rows rows;

    (void)state;
    make_rows(&rows, 9);
    agrees_with_pairs(&rows, &(struct similar_options){.jaccard = 0.9, .banded = true});
}

/* ---- Memory ---- */

struct heap {
    void *blocks[64];
    size_t n_put, n_got;
};

static int put(void *ctx, uint32_t block, const void *bytes, size_t n, struct error *err)
{
    struct heap *heap = ctx;

    (void)err;
    assert_true(block < 64 && !heap->blocks[block]);
    heap->blocks[block] = malloc(n);
    assert_non_null(heap->blocks[block]);
    memcpy(heap->blocks[block], bytes, n);
    heap->n_put++;
    return OK;
}

static int get(void *ctx, uint32_t block, void *bytes, size_t n, struct error *err)
{
    struct heap *heap = ctx;

    (void)err;
    memcpy(bytes, heap->blocks[block], n);
    heap->n_got++;
    return OK;
}

static void sets_beyond_the_memory_are_given_away(void **state)
{
    static struct rows rows;
    struct heap heap = {0};
    const struct similar_spill spill = {put, get, &heap};

    (void)state;
    make_rows(&rows, 4);
    agrees_with_pairs(
        &rows, &(struct similar_options){.jaccard = 0.8, .memory = 64 << 10, .spill = &spill});
    assert_int_equal(heap.n_put, 0); /* one block is always held */
    struct similar_index *index;
    struct similar_asker asker = {0};
    uint64_t set[100];
    assert_int_equal(
        similar_open(&index,
                     &(struct similar_options){.jaccard = 0.8, .memory = 1 << 20, .spill = &spill},
                     NULL),
        OK);
    for (uint64_t i = 0; i < 2000; i++) {
        for (uint64_t k = 0; k < 100; k++)
            set[k] = (i * 1000 + k) * 0x9e3779b97f4a7c15;
        qsort(set, 100, sizeof *set, compare);
        assert_int_equal(similar_add(index, set, 100, NULL), OK);
    }
    assert_int_equal(similar_build(index, NULL), OK);
    assert_true(similar_is_spilled(index) && heap.n_put > 3);
    assert_int_equal(similar_ask(index, &asker, set, 100, SIZE_MAX, NULL), OK);
    assert_int_equal(asker.n_matches, 1);
    assert_int_equal(asker.matches[0].row, 1999);
    assert_int_equal(similar_ask_own(index, &asker, 1999, NULL), OK);
    assert_int_equal(asker.n_matches, 0); /* none before it */
    similar_asker_free(&asker);
    similar_close(index);
    for (int i = 0; i < 64; i++)
        free(heap.blocks[i]);
}

static void without_a_place_for_them_no_more_rows_are_taken(void **state)
{
    struct similar_index *index;
    uint64_t set[1000];
    int rc = OK;

    (void)state;
    for (uint64_t k = 0; k < 1000; k++)
        set[k] = k * 0x3779b97f4a7c15;
    assert_int_equal(
        similar_open(&index, &(struct similar_options){.jaccard = 0.8, .memory = 2 << 20}, NULL),
        OK);
    for (int i = 0; i < 1000 && rc == OK; i++)
        rc = similar_add(index, set, 1000, NULL);
    assert_int_equal(rc, E_LIMIT);
    assert_true(similar_n_rows(index) > 50);
    assert_int_equal(similar_build(index, NULL), OK);
    similar_close(index);
}

static void an_index_stays_in_its_memory_whatever_is_given_away(void **state)
{
    struct similar_index *index;
    struct heap heap = {0};
    const struct similar_spill spill = {put, get, &heap};
    uint64_t set[40];
    int rc = OK;

    (void)state;
    for (uint64_t k = 0; k < 40; k++)
        set[k] = k * 0x3779b97f4a7c15;
    assert_int_equal(
        similar_open(
            &index, &(struct similar_options){.jaccard = 0.8, .memory = 256 << 10, .spill = &spill},
            NULL),
        OK);
    for (int i = 0; i < 5000 && rc == OK; i++)
        rc = similar_add(index, set, 40, NULL);
    assert_int_equal(rc, E_LIMIT);
    assert_int_equal(similar_n_rows(index), (256 << 10) / 4 * 3 / 18 / 9);
    assert_int_equal(similar_build(index, NULL), OK);
    similar_close(index);
    for (int i = 0; i < 64; i++)
        free(heap.blocks[i]);
}

static void a_crowd_is_counted_and_not_followed(void **state)
{
    struct similar_index *index;
    struct similar_asker asker = {0};
    const uint64_t common[] = {1, 2, 3, 4}, rare[] = {UINT64_C(1) << 60, UINT64_C(3) << 60};

    (void)state;
    assert_int_equal(
        similar_open(&index, &(struct similar_options){.jaccard = 0.8, .crowd = 10}, NULL), OK);
    for (int i = 0; i < 11; i++)
        assert_int_equal(similar_add(index, common, 4, NULL), OK);
    assert_int_equal(similar_add(index, rare, 2, NULL), OK);
    assert_int_equal(similar_build(index, NULL), OK);
    assert_int_equal(similar_n_crowded(index), 11);
    assert_int_equal(similar_ask(index, &asker, common, 4, SIZE_MAX, NULL), OK);
    assert_int_equal(asker.n_matches, 0);
    assert_int_equal(similar_ask(index, &asker, rare, 2, SIZE_MAX, NULL), OK);
    assert_int_equal(asker.n_matches, 1);
    similar_asker_free(&asker);
    similar_close(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_texts_are_those_of_python),
        cmocka_unit_test(a_text_above_the_limit_is_refused),
        cmocka_unit_test(shingles_are_of_words_then_of_code_points),
        cmocka_unit_test(comparing_stops_where_too_few_can_be_shared),
        cmocka_unit_test(large_sets_are_sorted_too),
        cmocka_unit_test(bands_are_fixed_numbers),
        cmocka_unit_test(what_half_of_the_rows_share_is_common),
        cmocka_unit_test(of_two_halves_the_smaller_bytes_win),
        cmocka_unit_test(of_too_many_rows_a_fixed_part_is_looked_at),
        cmocka_unit_test(the_index_finds_what_each_pair_tells),
        cmocka_unit_test(the_nearest_of_each_row_is_found_among_templates),
        cmocka_unit_test(templates_are_found_each_with_each),
        cmocka_unit_test(bands_find_no_other_pairs),
        cmocka_unit_test(sets_beyond_the_memory_are_given_away),
        cmocka_unit_test(without_a_place_for_them_no_more_rows_are_taken),
        cmocka_unit_test(an_index_stays_in_its_memory_whatever_is_given_away),
        cmocka_unit_test(a_crowd_is_counted_and_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
