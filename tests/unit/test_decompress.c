/* Unpacked text by offsets: several members, going back, what is cut or damaged, and bombs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/read/decompress.h"
#include "tests/harness/packing.h"

typedef void pack_function(struct buf *out, const void *bytes, size_t n);

static const struct {
    pack_function *pack;
    enum packing packing;
} PACKINGS[] = {{pack_gzip, PACKING_GZIP}, {pack_zstd, PACKING_ZSTD}};

/* Text that does not pack to nothing: words by a small generator. */
static char *make_text(size_t n)
{
    char *text = malloc(n);
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        text[i] = x >> 29 ? (char)('a' + (x >> 24) % 20) : '\n';
    }
    return text;
}

static struct source_file *open_packed(const struct buf *packed, enum packing packing)
{
    struct source_file *bytes, *out;
    struct error err;

    assert_int_equal(packing_of_bytes(buf_view(packed)), packing);
    assert_int_equal(source_open_bytes(&bytes, "packed", packed->p, packed->n, &err), OK);
    assert_int_equal(source_unpack(&out, bytes, packing, &err), OK);
    return out;
}

static void assert_at(struct source_file *file, const char *text, size_t n, size_t at, size_t want)
{
    char *out = malloc(want + 1);
    struct error err;
    size_t got, expected = at >= n ? 0 : at + want > n ? n - at : want;

    assert_int_equal(source_at(file, (int64_t)at, out, want, &got, &err), OK);
    assert_int_equal(got, expected);
    assert_memory_equal(out, text + (at < n ? at : 0), got);
    free(out);
}

static void members_one_behind_the_other_are_one_text(void **state)
{
    const size_t n = 300000;
    char *text = make_text(n);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf packed;

        buf_init(&packed, 1 << 24);
        PACKINGS[i].pack(&packed, text, 100000);
        PACKINGS[i].pack(&packed, "", 0);
        PACKINGS[i].pack(&packed, text + 100000, n - 100000);
        struct source_file *file = open_packed(&packed, PACKINGS[i].packing);
        assert_at(file, text, n, 0, n);
        assert_at(file, text, n, n - 10, 100);
        assert_at(file, text, n, n + 5, 100);
        assert_at(file, text, n, 99990, 50);
        assert_at(file, text, n, 5, 50);
        assert_at(file, text, n, 250000, 10);
        assert_true(source_packed_tell(file) > 0);
        source_close(file);
        buf_free(&packed);
    }
    free(text);
}

static void going_back_in_a_long_text_gives_the_same_bytes(void **state)
{
    const size_t n = (size_t)50 << 20;
    char *text = make_text(n);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf packed;
        uint32_t x = 7;

        buf_init(&packed, (size_t)100 << 20);
        PACKINGS[i].pack(&packed, text, n / 2);
        PACKINGS[i].pack(&packed, text + n / 2, n - n / 2);
        struct source_file *file = open_packed(&packed, PACKINGS[i].packing);
        assert_at(file, text, n, n - 1, 10);
        for (int k = 0; k < 12; k++) {
            x = x * 1664525u + 1013904223u;
            assert_at(file, text, n, x % n, 4096);
        }
        source_close(file);
        buf_free(&packed);
    }
    free(text);
}

static void a_cut_file_gives_what_is_whole_then_the_byte(void **state)
{
    const size_t n = 100000;
    char *text = make_text(n), *out = malloc(n);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf packed;

        buf_init(&packed, 1 << 24);
        PACKINGS[i].pack(&packed, text, n);
        PACKINGS[i].pack(&packed, text, n);
        for (size_t cut = 5; cut < packed.n; cut += 5003) {
            struct buf part = packed;
            struct error err = {0};
            size_t got, all = 0;
            int rc;

            part.n = cut;
            struct source_file *file = open_packed(&part, PACKINGS[i].packing);
            while ((rc = source_at(file, (int64_t)all, out, n, &got, &err)) == OK && got) {
                assert_memory_equal(out, text + all % n, got < n - all % n ? got : n - all % n);
                all += got;
            }
            assert_int_equal(rc, E_PARSE);
            assert_non_null(strstr(err.message, "is cut"));
            assert_int_equal(err.byte, (int64_t)cut);
            /* It stays so, and what is before it can be read again. */
            assert_int_equal(source_at(file, (int64_t)all, out, 1, &got, &err), E_PARSE);
            if (all > 10)
                assert_at(file, text, n, 3, 7);
            source_close(file);
        }
        buf_free(&packed);
    }
    free(out);
    free(text);
}

static void damage_is_an_error_with_its_place_and_never_more(void **state)
{
    const size_t n = 20000;
    char *text = make_text(n), *out = malloc(4 * n);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf packed;
        int n_errors = 0;

        buf_init(&packed, 1 << 24);
        PACKINGS[i].pack(&packed, text, n);
        for (size_t at = 4; at < packed.n; at += 13) {
            struct error err = {0};
            int64_t all = 0;
            size_t got;
            int rc;

            packed.p[at] ^= 0x55;
            struct source_file *file = open_packed(&packed, PACKINGS[i].packing);
            while ((rc = source_at(file, all, out, 4 * n, &got, &err)) == OK && got)
                all += (int64_t)got;
            if (rc != OK) {
                assert_true(rc == E_PARSE || rc == E_LIMIT);
                assert_true(err.byte >= 0 && err.byte <= (int64_t)packed.n);
                n_errors++;
            }
            source_close(file);
            packed.p[at] ^= 0x55;
        }
        assert_true(n_errors > 100 || i == 1); /* zstd's sum is optional */
        buf_free(&packed);
    }
    free(out);
    free(text);
}

static void what_follows_the_packed_data_is_not_passed_over(void **state)
{
    char out[64];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf packed;
        struct error err = {0};
        size_t got;

        buf_init(&packed, 1 << 20);
        PACKINGS[i].pack(&packed, "abc", 3);
        buf_puts(&packed, "more text here");
        struct source_file *file = open_packed(&packed, PACKINGS[i].packing);
        assert_int_equal(source_at(file, 0, out, sizeof out, &got, &err), OK);
        assert_int_equal(got, 3);
        assert_int_equal(source_at(file, 3, out, sizeof out, &got, &err), E_PARSE);
        source_close(file);
        buf_free(&packed);
    }
    struct buf padded;
    buf_init(&padded, 1 << 20);
    pack_gzip(&padded, "abc", 3);
    buf_repeat(&padded, '\0', 100);
    struct source_file *file = open_packed(&padded, PACKING_GZIP);
    assert_at(file, "abc", 3, 0, 10);
    source_close(file);
    buf_free(&padded);
}

static void a_bomb_is_stopped_at_the_limit(void **state)
{
    const size_t n = (size_t)300 << 20;
    char *zeros = calloc(1, n), *out = malloc(SOURCE_BUFFER_BYTES);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf packed;
        struct error err = {0};
        struct str chunk;
        int64_t all = 0;
        int rc;

        buf_init(&packed, (size_t)100 << 20);
        PACKINGS[i].pack(&packed, zeros, n);
        struct source_file *file = open_packed(&packed, PACKINGS[i].packing);
        while ((rc = source_chunk(file, &chunk, &err)) == OK && chunk.n)
            all += (int64_t)chunk.n;
        assert_int_equal(rc, E_LIMIT);
        assert_non_null(strstr(err.message, "400 to 1"));
        assert_true(all >= UNPACKED_FREE_BYTES && all < (int64_t)n);
        source_close(file);
        buf_free(&packed);
    }
    free(out);
    free(zeros);
}

static void names_tell_the_packing(void **state)
{
    (void)state;
    assert_int_equal(packing_of_name("train.jsonl.gz"), PACKING_GZIP);
    assert_int_equal(packing_of_name("train.JSONL.ZST"), PACKING_ZSTD);
    assert_int_equal(packing_of_name("train.jsonl"), PACKING_NONE);
    assert_int_equal(packing_of_name(".gz"), PACKING_NONE);
    assert_true(str_is(packing_inner_name("a.csv.zstd"), "a.csv"));
    assert_true(str_is(packing_inner_name("a.csv"), "a.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_one_behind_the_other_are_one_text),
        cmocka_unit_test(going_back_in_a_long_text_gives_the_same_bytes),
        cmocka_unit_test(a_cut_file_gives_what_is_whole_then_the_byte),
        cmocka_unit_test(damage_is_an_error_with_its_place_and_never_more),
        cmocka_unit_test(what_follows_the_packed_data_is_not_passed_over),
        cmocka_unit_test(a_bomb_is_stopped_at_the_limit),
        cmocka_unit_test(names_tell_the_packing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
