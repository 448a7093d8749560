/* Two versions of a configuration, setting by setting. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/facts/config_diff.h"

static struct arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_open(64 << 20);
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(arena);
    return 0;
}

/* "name old>new; " a change, "-" for what is not there. */
static const char *diff_of(const char *path, const char *old, const char *new)
{
    struct config_diff diff;
    struct buf out;
    struct error err;
    struct str a = old ? str_of(old) : (struct str){NULL, 0}, b = new ? str_of(new) : (struct str){NULL, 0};

    if (config_diff_texts(path, a, b, arena, &diff, &err) != OK)
        return arena_strdup(arena, err.message);
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < diff.n; i++)
        buf_printf(&out, "%s %s>%s; ", diff.changes[i].name,
                   diff.changes[i].old_value ? diff.changes[i].old_value : "-",
                   diff.changes[i].new_value ? diff.changes[i].new_value : "-");
    if (diff.by_lines)
        buf_puts(&out, diff.by_lines);
    const char *text = arena_strdup(arena, out.p ? out.p : "");
    buf_free(&out);
    return text;
}

static void a_changed_value_is_named_with_both_values(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a.yaml", "learning_rate: 1e-5\nseed: 1\n", "learning_rate: 2e-4\nseed: 1\n"),
                        "learning_rate 1e-5>2e-4; ");
    assert_string_equal(diff_of("a.json", "{\"learning_rate\": 1e-5}", "{\"learning_rate\": 0.0002}"),
                        "learning_rate 1e-5>0.0002; ");
}

static void another_order_comment_or_spelling_is_no_change(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a.yaml", "# one\nlearning_rate: 1e-5\nseed: 1\nbf16: true\n",
                                "bf16: True\nseed:   1\n# two\nlr: 0.00001\n"), "");
    assert_string_equal(diff_of("a.json", "{\"a\": 1, \"b\": [1, 2]}", "{\"b\":[1,2],\n\"a\":1.0}"), "");
}

static void settings_that_come_and_go_are_told(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a.yml", "seed: 1\nmax_length: 4096\n", "packing: true\nseed: 1\n"),
                        "packing ->true; max_length 4096>-; ");
    assert_string_equal(diff_of("a.yml", NULL, "seed: 1\n"), "seed ->1; ");
    assert_string_equal(diff_of("a.yml", "seed: 1\n", NULL), "seed 1>-; ");
    assert_string_equal(diff_of("a.yml", "# nothing\n", "seed: 1\n"), "seed ->1; ");
}

static void frameworks_spellings_are_one_setting(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a.yaml", "cutoff_len: 1024\n", "max_seq_length: 2048\n"),
                        "max_length 1024>2048; ");
    assert_string_equal(diff_of("a.yaml", "disable_gradient_checkpointing: true\n",
                                "gradient_checkpointing: true\n"), "gradient_checkpointing false>true; ");
}

static void nested_settings_and_lists_are_compact(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a.yaml", "deep:\n  x: 1\n  y: [q, v]\n", "deep:\n  x: 2\n  y: [q, v, o]\n"),
                        "deep.x 1>2; deep.y [\"q\",\"v\"]>[\"q\",\"v\",\"o\"]; ");
}

static void toml_and_start_scripts_are_read(void **state)
{
    (void)state;
    assert_string_equal(diff_of("a.toml", "seed = 1 # one\n[train]\nlearning_rate = 1e-5\n",
                                "seed = 1\n[train]\nlearning_rate = 2e-4\n"), "learning_rate 1e-5>2e-4; ");
    assert_string_equal(diff_of("run.sh", "python train.py --learning_rate 1e-5 \\\n  --bf16 --seed=1\n",
                                "python train.py --seed 1 --learning-rate 2e-4\n"),
                        "learning_rate 1e-5>2e-4; bf16 true>-; ");
}

static void what_cannot_be_parsed_is_compared_by_lines(void **state)
{
    (void)state;
    const char *text = diff_of("a.yaml", "seed: 1\nlr: 2\n", "seed: 1\nlr: [2\n");
    assert_non_null(strstr(text, "line 2 lr: 2>lr: [2; compared by lines: "));
    assert_non_null(strstr(diff_of("train.py", "lr = 1\n", "lr = 2\n"), "line 1 lr = 1>lr = 2; "));
}

static void secrets_are_never_shown(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"a.yaml", "a.py", "a.sh", "a.toml"};
    static const char *const TEXTS[][2] = {
        {"hf_token: hf_abcdefghijklmnopqrstuvwx\nseed: 1\n",
                "hf_token: hf_ABCDEFGHIJKLMNOPQRSTUVWX\nseed: 2\n"},
        {"api_key = 'topsecret1'\n", "api_key = 'topsecret2'\n"},
        {"python t.py --hub_token hf_abcdefghijklmnopqrstuvwx --seed 1\n",
         "python t.py --hub_token hf_ABCDEFGHIJKLMNOPQRSTUVWX --seed 2\n"},
        {"password = \"topsecret1\"\nseed = 1\n", "password = \"topsecret2\"\nseed = 2\n"},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *text = diff_of(NAMES[i], TEXTS[i][0], TEXTS[i][1]);
        assert_null(strstr(text, "hf_a"));
        assert_null(strstr(text, "hf_A"));
        assert_null(strstr(text, "topsecret"));
    }
    /* `bos_token` is no secret */
    assert_string_equal(diff_of("a.yaml", "bos_token: <s>\n", "bos_token: <t>\n"), "bos_token <s>><t>; ");
}

static void odd_texts_do_no_harm(void **state)
{
    (void)state;
    static const char *const ODD[] = {"", "\n", "[1, 2]\n", "a: &x [*x]\n", "x\n", "{{{{", "a: b: c: d\n",
                                      "\xff\xfe\xfd: \x80\n", "? - a\n: b\n",
                                              "a: !!python/object:os.system x\n"};
    static const char *const NAMES[] = {"a.yaml", "a.json", "a.toml", "a.sh", "a"};
    for (size_t n = 0; n < 5; n++)
        for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++)
            for (size_t k = 0; k < sizeof ODD / sizeof *ODD; k++)
                assert_non_null(diff_of(NAMES[n], ODD[i], ODD[k]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_changed_value_is_named_with_both_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_order_comment_or_spelling_is_no_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(settings_that_come_and_go_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frameworks_spellings_are_one_setting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nested_settings_and_lists_are_compact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(toml_and_start_scripts_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_parsed_is_compared_by_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secrets_are_never_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_texts_do_no_harm, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
