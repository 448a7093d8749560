/* `flatline memory` as text: what is known is estimated, what is missing is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/exports/memory_report.h"
#include "tests/harness/fake_run.h"

struct fixture {
    struct fake_run *run;
    struct buf out;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    f->run = fake_run_new(KIND_SFT);
    buf_init(&f->out, 1u << 18);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    fake_run_free(f->run);
    buf_free(&f->out);
    free(f);
    return 0;
}

static const char *report(struct fixture *f)
{
    buf_clear(&f->out);
    assert_int_equal(memory_report(&f->out, fake_facts(f->run), NULL), OK);
    assert_false(f->out.failed);
    return f->out.p;
}

/* A small model, LoRA, batch 4, 2,048 tokens. */
static void put_model(struct fixture *f)
{
    static const char *const config[][2] = {
        {"num_hidden_layers", "28"},      {"hidden_size", "3072"},
        {"intermediate_size", "8192"},    {"vocab_size", "128256"},
        {"num_attention_heads", "24"},    {"num_key_value_heads", "8"},
        {"model_type", "llama"},
    };

    for (size_t i = 0; i < sizeof config / sizeof config[0]; i++)
        fake_setting_on(f->run, SIDE_MODEL, config[i][0], config[i][1]);
    fake_setting(f->run, "per_device_train_batch_size", "4");
    fake_setting(f->run, "max_length", "2048");
    fake_setting(f->run, "bf16", "true");
    fake_setting(f->run, "optim", "adamw_torch");
    fake_setting(f->run, "lora_r", "16");
}

static void what_is_missing_is_named(void **state)
{
    struct fixture *f = *state;
    const char *text = report(f);

    assert_non_null(strstr(text, "GPU memory: not known"));
    assert_non_null(strstr(text, "not estimated, missing:"));
    assert_non_null(strstr(text, "config.json"));
    assert_non_null(strstr(text, "per_device_train_batch_size"));
    assert_non_null(strstr(text, "max_length"));
    assert_non_null(strstr(text, "--gpu 24G"));
    assert_null(strstr(text, "phase "));
}

static void a_known_run_has_its_phases_with_one_peak(void **state)
{
    struct fixture *f = *state;
    const char *text, *peak;

    put_model(f);
    fake_answer(f->run, "gpu", "24G");
    text = report(f);
    assert_non_null(strstr(text, "phase "));
    assert_null(strstr(text, "missing"));
    peak = strstr(text, "<- peak");
    assert_non_null(peak);
    assert_null(strstr(peak + 1, "<- peak"));
    assert_null(strstr(text, "not known"));
    assert_non_null(strstr(text, "what to change, cheapest first"));
}

static void rungs_that_are_on_are_marked_and_priced_ones_have_an_estimate(void **state)
{
    struct fixture *f = *state;
    const char *text;

    put_model(f);
    fake_setting(f->run, "gradient_checkpointing", "true");
    fake_answer(f->run, "gpu", "24G");
    text = report(f);
    assert_non_null(strstr(text, "2   (gradient checkpointing is on)\n"));
    assert_non_null(strstr(text, "5   (an adapter is trained)\n"));
    assert_non_null(strstr(text, "price: "));
    assert_non_null(strstr(text, " with the rungs above it, "));
}

static void a_gpu_that_is_large_enough_has_a_rung_that_fits(void **state)
{
    struct fixture *f = *state;
    const char *text;

    put_model(f);
    fake_answer(f->run, "gpu", "80G");
    text = report(f);
    assert_non_null(strstr(text, "; fits"));
    assert_non_null(strstr(text, "\n> "));
}

static void the_columns_of_the_phases_line_up(void **state)
{
    struct fixture *f = *state;
    struct str rest, line;
    size_t width = 0;

    put_model(f);
    report(f);
    rest = str_of(strstr(f->out.p, "phase "));
    while (str_split(&rest, '\n', &line) && line.n) {
        ptrdiff_t mark = str_find(line, "  <- peak");
        size_t n = mark >= 0 ? (size_t)mark : line.n;

        if (width == 0)
            width = n;
        assert_int_equal(n, width);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_missing_is_named),
        TEST(a_known_run_has_its_phases_with_one_peak),
        TEST(rungs_that_are_on_are_marked_and_priced_ones_have_an_estimate),
        TEST(a_gpu_that_is_large_enough_has_a_rung_that_fits),
        TEST(the_columns_of_the_phases_line_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
