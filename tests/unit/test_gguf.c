/* core/read/gguf: what a file says, and what is said of a file that lies or breaks off. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/read/gguf.h"
#include "core/read/source.h"
#include "tests/harness/gguf_bytes.h"

struct fixture {
    struct gguf_bytes made;
    struct buf file;
    struct arena *arena;
    struct gguf read;
    struct error err;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.arena = arena_open((size_t)64 << 20)};
    gguf_bytes_init(&f.made);
    buf_init(&f.file, (size_t)32 << 20);
    *state = &f;
    return f.arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    gguf_bytes_free(&f->made);
    buf_free(&f->file);
    arena_close(f->arena);
    return 0;
}

static int read_bytes(struct fixture *f, const char *name, size_t n)
{
    struct source_file *file = NULL;

    assert_int_equal(source_open_bytes(&file, name, f->file.p, n, &f->err), OK);
    int rc = gguf_read_file(file, f->arena, &f->read, &f->err);
    source_close(file);
    return rc;
}

static int read_made(struct fixture *f)
{
    buf_clear(&f->file);
    gguf_bytes_write(&f->made, &f->file);
    return read_bytes(f, "model.gguf", f->file.n);
}

static void values_of_each_type_are_kept(void **state)
{
    struct fixture *f = *state;

    gguf_put_text(&f->made, "general.architecture", "llama");
    gguf_put_u32(&f->made, "llama.context_length", 8192);
    gguf_put_bool(&f->made, "tokenizer.ggml.add_bos_token", true);
    gguf_put_float(&f->made, "adapter.lora.alpha", 32.0F);
    assert_int_equal(read_made(f), OK);
    assert_int_equal(f->read.version, 3);
    assert_int_equal(f->read.n_values, 4);
    assert_true(str_is(gguf_get(&f->read, "general.architecture")->text, "llama"));
    assert_int_equal(gguf_get(&f->read, "llama.context_length")->integer, 8192);
    assert_int_equal(gguf_get(&f->read, "tokenizer.ggml.add_bos_token")->integer, 1);
    assert_true(gguf_get(&f->read, "adapter.lora.alpha")->number == 32.0);
    assert_int_equal(gguf_get(&f->read, "adapter.lora.alpha")->integer, 32);
    assert_null(gguf_get(&f->read, "llama.block_count"));
}

static void long_arrays_are_kept_only_when_wanted(void **state)
{
    struct fixture *f = *state;
    const char *texts[300];
    int32_t numbers[300];

    for (size_t i = 0; i < 300; i++) {
        texts[i] = i == 7 ? "<|im_end|>" : "x";
        numbers[i] = -(int32_t)i;
    }
    gguf_put_texts(&f->made, "tokenizer.ggml.tokens", texts, 300);
    gguf_put_texts(&f->made, "general.other", texts, 300);
    gguf_put_ints(&f->made, "general.counts", numbers, 300);
    gguf_put_ints(&f->made, "general.few", numbers, 3);
    assert_int_equal(read_made(f), OK);
    const struct gguf_value *tokens = gguf_get(&f->read, "tokenizer.ggml.tokens");
    assert_int_equal(tokens->n, 300);
    assert_true(str_is(tokens->texts[7], "<|im_end|>"));
    assert_int_equal(gguf_get(&f->read, "general.other")->n, 300);
    assert_null(gguf_get(&f->read, "general.other")->texts);
    assert_null(gguf_get(&f->read, "general.counts")->numbers);
    assert_true(gguf_get(&f->read, "general.few")->numbers[2] == -2.0);
}

static void nested_arrays_are_skipped_to_the_next_key(void **state)
{
    struct fixture *f = *state;
    struct buf *keys = &f->made.keys;

    gguf_put_raw(keys, 1, 8);
    buf_puts(keys, "n");
    gguf_put_raw(keys, GGUF_ARRAY, 4);
    gguf_put_raw(keys, GGUF_ARRAY, 4);
    gguf_put_raw(keys, 2, 8);
    for (int i = 0; i < 2; i++) {
        gguf_put_raw(keys, GGUF_U16, 4);
        gguf_put_raw(keys, 3, 8);
        gguf_put_raw(keys, 1, 6);
    }
    f->made.n_keys++;
    gguf_put_text(&f->made, "general.name", "behind");
    assert_int_equal(read_made(f), OK);
    assert_true(str_is(gguf_get(&f->read, "general.name")->text, "behind"));
}

static void tensors_have_shape_type_and_place(void **state)
{
    struct fixture *f = *state;

    gguf_put_tensor(&f->made, "token_embd.weight", 12, 256, 4, 576);
    gguf_put_tensor(&f->made, "output_norm.weight", 0, 10, 0, 40);
    assert_int_equal(read_made(f), OK);
    assert_int_equal(f->read.n_tensors, 2);
    const struct gguf_tensor *a = &f->read.tensors[0], *b = &f->read.tensors[1];
    assert_string_equal(a->name, "token_embd.weight");
    assert_string_equal(ggml_type_name(a->type), "Q4_K");
    assert_int_equal(a->n_dims, 2);
    assert_int_equal(a->dims[0], 256);
    assert_int_equal(a->n_values, 1024);
    assert_int_equal(a->n_bytes, 576);
    assert_int_equal(a->offset, f->read.data_at);
    assert_int_equal(b->offset, f->read.data_at + 576);
    assert_int_equal(b->n_bytes, 40);
    assert_false(f->read.is_cut);
    assert_int_equal(f->read.n_bad, 0);
}

static void a_cut_file_says_how_many_bytes_are_missing(void **state)
{
    struct fixture *f = *state;

    gguf_put_tensor(&f->made, "a", 0, 16, 16, 1024);
    assert_int_equal(read_made(f), OK);
    assert_int_equal(read_bytes(f, "model.gguf", f->file.n - 100), OK);
    assert_true(f->read.is_cut);
    assert_int_equal(f->read.missing_bytes, 100);
}

static void tensors_that_overlap_are_named(void **state)
{
    struct fixture *f = *state;

    gguf_put_tensor(&f->made, "first", 0, 16, 0, 64);
    gguf_put_tensor(&f->made, "second", 0, 1600, 0, 64);
    gguf_put_tensor(&f->made, "third", 0, 16, 0, 64);
    assert_int_equal(read_made(f), OK);
    assert_int_equal(f->read.n_bad, 1);
    assert_string_equal(f->read.first_bad, "third");
}

static void an_unknown_tensor_type_has_no_size(void **state)
{
    struct fixture *f = *state;

    gguf_put_tensor(&f->made, "new", 77, 16, 0, 64);
    assert_int_equal(read_made(f), OK);
    assert_int_equal(f->read.tensors[0].n_bytes, NONE);
    assert_null(ggml_type_name(77));
    assert_int_equal(f->read.n_bad, 0);
}

static void every_cut_inside_of_the_head_is_an_error_with_its_byte(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"a", "bc"};

    gguf_put_text(&f->made, "general.name", "x");
    gguf_put_texts(&f->made, "tokenizer.ggml.tokens", texts, 2);
    gguf_put_tensor(&f->made, "t", 0, 1, 1, 4);
    assert_int_equal(read_made(f), OK);
    size_t head = 24 + f->made.keys.n + f->made.tensors.n;
    for (size_t n = 0; n < head; n++) {
        int rc = read_bytes(f, "model.gguf", n);

        assert_true(rc == E_PARSE || rc == E_LIMIT);
        assert_true(f->err.byte >= 0 && f->err.byte <= (int64_t)n + 16);
        arena_reset(f->arena);
    }
}

static void other_versions_and_byte_orders_are_named(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_made(f), OK);
    f->file.p[4] = 1;
    assert_int_equal(read_bytes(f, "m.gguf", f->file.n), E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "version 1"));
    f->file.p[4] = 0;
    f->file.p[7] = 3;
    assert_int_equal(read_bytes(f, "m.gguf", f->file.n), E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "big-endian"));
    f->file.p[0] = 'g';
    assert_int_equal(read_bytes(f, "m.gguf", f->file.n), E_PARSE);
    assert_int_equal(f->err.byte, 0);
}

static void lying_lengths_are_refused_before_they_are_believed(void **state)
{
    struct fixture *f = *state;

    buf_puts(&f->file, "GGUF");
    gguf_put_raw(&f->file, 3, 4);
    gguf_put_raw(&f->file, UINT64_MAX, 8);
    gguf_put_raw(&f->file, 0, 8);
    assert_int_equal(read_bytes(f, "m.gguf", f->file.n), E_LIMIT);
    buf_clear(&f->file);
    buf_puts(&f->file, "GGUF");
    gguf_put_raw(&f->file, 3, 4);
    gguf_put_raw(&f->file, 0, 8);
    gguf_put_raw(&f->file, 1, 8);
    gguf_put_raw(&f->file, (uint64_t)1 << 60, 8); /* a key's length */
    buf_repeat(&f->file, 'k', 100);
    assert_int_equal(read_bytes(f, "m.gguf", f->file.n), E_PARSE);
    assert_int_equal(f->err.byte, 32);
}

static void dimensions_that_overflow_are_refused(void **state)
{
    struct fixture *f = *state;

    gguf_put_tensor(&f->made, "big", 0, (uint64_t)1 << 40, (uint64_t)1 << 40, 4);
    assert_int_equal(read_made(f), E_PARSE);
    assert_non_null(strstr(f->err.message, "dimensions"));
}

static void the_alignment_of_the_file_counts(void **state)
{
    struct fixture *f = *state;

    gguf_put_u32(&f->made, "general.alignment", 64);
    gguf_put_tensor(&f->made, "a", 0, 8, 0, 32);
    assert_int_equal(read_made(f), OK);
    assert_int_equal(f->read.alignment, 64);
    assert_int_equal(f->read.data_at % 64, 0);
    gguf_put_u32(&f->made, "general.alignment", 0);
    f->made.keys.p[8 + 17 + 4] = 0;
    assert_int_equal(read_made(f), E_PARSE);
}

static void the_name_of_a_shard_tells_its_number(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(read_made(f), OK);
    assert_int_equal(f->read.n_shards, 0);
    assert_int_equal(read_bytes(f, "/m/big-00002-of-00009.gguf", f->file.n), OK);
    assert_int_equal(f->read.shard, 2);
    assert_int_equal(f->read.n_shards, 9);
    assert_int_equal(read_bytes(f, "/m/big-0002-of-00009.gguf", f->file.n), OK);
    assert_int_equal(f->read.n_shards, 0);
}

static void file_types_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(gguf_file_type_name(15), "Q4_K_M");
    assert_string_equal(gguf_file_type_name(0), "F32");
    assert_string_equal(gguf_file_type_name(7), "Q8_0");
    assert_null(gguf_file_type_name(1000));
    assert_null(gguf_file_type_name(-1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_of_each_type_are_kept),
        TEST(long_arrays_are_kept_only_when_wanted),
        TEST(nested_arrays_are_skipped_to_the_next_key),
        TEST(tensors_have_shape_type_and_place),
        TEST(a_cut_file_says_how_many_bytes_are_missing),
        TEST(tensors_that_overlap_are_named),
        TEST(an_unknown_tensor_type_has_no_size),
        TEST(every_cut_inside_of_the_head_is_an_error_with_its_byte),
        TEST(other_versions_and_byte_orders_are_named),
        TEST(lying_lengths_are_refused_before_they_are_believed),
        TEST(dimensions_that_overflow_are_refused),
        TEST(the_alignment_of_the_file_counts),
        TEST(the_name_of_a_shard_tells_its_number),
        TEST(file_types_have_their_names),
    };

    return cmocka_run_group_tests_name("gguf", tests, NULL, NULL);
}
