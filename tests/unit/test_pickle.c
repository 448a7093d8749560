/* The pickle machine: values of all kinds, calls that stay calls, limits, damage. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/read/pickle.h"

struct fixture {
    struct arena *arena;
    struct pickle pickle;
    struct error err;
    struct buf text;
};

static int setup(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    fixture.arena = arena_open(64u << 20);
    buf_init(&fixture.text, 1 << 20);
    *state = &fixture;
    return fixture.arena ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_close(f->arena);
    buf_free(&f->text);
    return 0;
}

static int parse(struct fixture *f, const void *bytes, size_t n)
{
    return pickle_parse(bytes, n, f->arena, &f->pickle, &f->err);
}

#define PARSE(f, literal) parse(f, literal, sizeof(literal) - 1)

static const char *shown(struct fixture *f, const struct pickle_value *value)
{
    buf_clear(&f->text);
    pickle_text(&f->text, value);
    return f->text.p;
}

static void scalars_are_read_exactly(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } cases[] = {
        {"\x80\x02N.", 4, "null"},
        {"\x80\x02\x88.", 4, "true"},
        {"\x80\x02K\xff.", 5, "255"},
        {"\x80\x02M\x34\x12.", 6, "4660"},
        {"\x80\x02J\xfe\xff\xff\xff.", 8, "-2"},
        {"\x80\x02\x8a\x01\xff.", 6, "-1"},
        {"\x80\x02\x8a\x05\x00\x00\x00\x00\x01.", 10, "4294967296"},
        {"\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\x40.", 14, "1180591620717411303424"},
        {"\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\xff.", 14, "-18446744073709551616"},
        {"\x80\x02\x8a\x09\x01\0\0\0\0\0\0\0\x80.", 14, "-2361183241434822606847"},
        {"\x80\x02G\x3f\xa4\x7a\xe1\x47\xae\x14\x7b.", 12, "0.04"},
        {"\x80\x02G\x7f\xf8\x00\x00\x00\x00\x00\x00.", 12, "nan"},
        {"\x80\x02X\x02\x00\x00\x00no.", 10, "no"},
        {"\x80\x04\x8c\x02no.", 7, "no"},
        {"\x80\x02]q\x00(K\x01K\x02X\x01\x00\x00\x00\"e.", 19, "[1,2,\"\\\"\"]"},
        {"\x80\x02}X\x01\x00\x00\x00kK\x07s.", 13, "{\"k\":7}"},
        {"\x80\x02K\x01\x85.", 6, "[1]"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(f, cases[i].bytes, cases[i].n), OK);
        assert_string_equal(shown(f, f->pickle.top), cases[i].text);
    }
}

static void enums_paths_devices_and_dtypes_are_shown_as_text(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f,
                           "\x80\x02"
                           "ctransformers.trainer_utils\nIntervalStrategy\nX\x05\0\0\0STEPS\x85R."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "steps");
    assert_int_equal(f->pickle.n_foreign, 0);
    assert_int_equal(PARSE(f, "\x80\x02"
                              "c__builtin__\ngetattr\nctransformers.trainer_utils\n"
                              "IntervalStrategy\nX\x05\0\0\0STEPS\x86R."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "steps");
    assert_int_equal(f->pickle.n_foreign, 0);
    assert_int_equal(PARSE(f, "\x80\x02"
                              "cpathlib\nPosixPath\nX\x01\0\0\0/X\x03\0\0\0RunX\x01\0\0\0a\x87R."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "/Run/a");
    assert_int_equal(PARSE(f, "\x80\x02"
                              "ctorch\ndevice\nX\x04\0\0\0cudaK\x00\x86R."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "cuda:0");
    assert_int_equal(PARSE(f, "\x80\x02"
                              "ctorch\nbfloat16\n."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "torch.bfloat16");
    assert_int_equal(PARSE(f, "\x80\x02"
                              "c__builtin__\nset\n]X\x01\0\0\0aa\x85R."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "[\"a\"]");
}

static void code_is_named_and_not_run(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "\x80\x02"
                              "cposix\nsystem\nX\x04\0\0\0true\x85R."),
                     OK);
    assert_int_equal(f->pickle.n_foreign, 1);
    assert_string_equal(f->pickle.foreign[0], "posix system");
    assert_int_equal(PARSE(f, "\x80\x02"
                              "c__builtin__\neval\nX\x01\0\0\0"
                              "1\x85R."),
                     OK);
    assert_string_equal(f->pickle.foreign[0], "__builtin__ eval");
}

static void state_of_an_object_is_its_attributes(void **state)
{
    struct fixture *f = *state;
    const struct pickle_value *attributes;

    assert_int_equal(PARSE(f, "\x80\x02"
                              "ctrl.trainer.sft_config\nSFTConfig\n)\x81}X\x02\0\0\0lrK\x03sb."),
                     OK);
    attributes = pickle_attributes(f->pickle.top);
    assert_non_null(attributes);
    assert_int_equal(attributes->n, 2);
    assert_string_equal(shown(f, attributes), "{\"lr\":3}");
    assert_string_equal(shown(f, f->pickle.top), "trl.trainer.sft_config.SFTConfig(…)");
}

static void a_list_that_holds_itself_is_cut(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "\x80\x02]q\x00h\x00"
                              "a."),
                     OK);
    assert_non_null(strstr(shown(f, f->pickle.top), "…"));
}

static void damage_and_bombs_are_refused(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *bytes;
        size_t n;
        int status;
    } cases[] = {
        {"", 0, E_PARSE},
        {"\x80\x02", 2, E_PARSE},
        {"\x80\x02.", 3, E_PARSE}, /* no value */
        {"\x80\x02X\xff\xff\xff\x7f"
         "a.",
         9, E_PARSE},                                /* longer than the file */
        {"\x80\x02Nr\xff\xff\xff\xff.", 9, E_LIMIT}, /* memo of 16 GiB */
        {"\x80\x02h\x05.", 5, E_PARSE},
        {"\x80\x02t.", 4, E_PARSE}, /* no mark */
        {"\x80\x02(0a.", 6, E_PARSE},
        {"\x80\x02NNs.", 6, E_PARSE},
        {"\x80\x02}(Nu.", 7, E_PARSE}, /* key without value */
        {"\x80\x02R.", 4, E_PARSE},
        {"\x80\x02\xfe.", 4, E_PARSE},
        {"I1\n.", 4, E_UNSUPPORTED},
        {"\x80\x02"
         "cposix",
         8, E_PARSE},
        {"\x80\x02\x8a\xff", 4, E_PARSE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(parse(f, cases[i].bytes, cases[i].n), cases[i].status);
    assert_true(f->err.byte > 0);
}

static void a_marked_stack_keeps_what_lies_below_the_mark(void **state)
{
    struct fixture *f = *state;

    /* a POP after a MARK takes the mark, not the 1 below it */
    assert_int_equal(PARSE(f, "\x80\x02K\x01(0."), OK);
    assert_string_equal(shown(f, f->pickle.top), "1");
}

static void old_torch_files_give_their_fourth_pickle(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(PARSE(f, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                              "\x80\x02M\xe9\x03."
                              "\x80\x02}q\x00."
                              "\x80\x02K\x2a."
                              "\x80\x02]."),
                     OK);
    assert_string_equal(shown(f, f->pickle.top), "42");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars_are_read_exactly, setup, teardown),
        cmocka_unit_test_setup_teardown(enums_paths_devices_and_dtypes_are_shown_as_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(code_is_named_and_not_run, setup, teardown),
        cmocka_unit_test_setup_teardown(state_of_an_object_is_its_attributes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_list_that_holds_itself_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_and_bombs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_marked_stack_keeps_what_lies_below_the_mark, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(old_torch_files_give_their_fourth_pickle, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
