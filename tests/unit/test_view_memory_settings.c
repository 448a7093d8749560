/* The panes of memory and settings on runs built by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/fake_run.h"
#include "views/registry.h"

struct fixture {
    struct fake_run *run;
    struct desk desk;
    struct view view;
    struct buf text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->run = fake_run_new(KIND_SFT);
    f->desk = (struct desk){.check = -1, .step = NONE, .search = "", .run_id = 1};
    f->view = (struct view){.desk = &f->desk, .rows = 20, .columns = 78,
                            .arena = arena_open(ARENA_VIEW_BYTES)};
    buf_init(&f->text, 1u << 20);
    *state = f;
    return f->view.arena ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_close(f->view.arena);
    free(f->view.state);
    buf_free(&f->text);
    fake_run_free(f->run);
    free(f);
    return 0;
}

static void open_pane(struct fixture *f, const struct view_ops *ops, bool has_facts)
{
    struct error err;
    free(f->view.state);
    f->view.ops = ops;
    f->view.state = calloc(1, ops->state_size);
    assert_non_null(f->view.state);
    f->desk.facts = has_facts ? fake_facts(f->run) : NULL;
    assert_int_equal(ops->load(&f->view, &err), OK);
}

static const char *drawn(struct fixture *f, int rows, int columns)
{
    struct canvas *canvas;
    struct error err;
    assert_int_equal(canvas_open(&canvas, rows, columns, true, NULL), OK);
    f->view.rows = rows;
    f->view.columns = columns;
    f->view.canvas = canvas;
    assert_int_equal(f->view.ops->load(&f->view, &err), OK);
    f->view.ops->draw(&f->view, canvas);
    f->view.canvas = NULL;
    buf_clear(&f->text);
    canvas_dump(canvas, false, &f->text);
    canvas_close(canvas);
    return f->text.p ? f->text.p : "";
}

static void act(struct fixture *f, const char *name)
{
    for (const struct action *action = f->view.ops->actions; action->name; action++)
        if (strcmp(action->name, name) == 0) {
            assert_true(f->view.ops->act(&f->view, action->id));
            return;
        }
    fail_msg("no action %s", name);
}

static void settings_are_listed_with_side_and_source(void **state)
{
    struct fixture *f = *state;
    fake_setting(f->run, "warmup_ratio", "0.03");
    fake_setting(f->run, "learning_rate", "0.0002");
    fake_setting_on(f->run, SIDE_SERVE, "temperature", "0.7\x1b[2J");
    open_pane(f, &view_settings, true);
    const char *text = drawn(f, 8, 100);
    const char *lr = strstr(text, "learning_rate"), *warmup = strstr(text, "warmup_ratio");
    assert_true(lr && warmup && lr < warmup);           /* by name */
    assert_non_null(strstr(text, "0.0002"));
    assert_non_null(strstr(text, "serve"));
    assert_non_null(strstr(text, "0.7<0x1B>[2J"));
    assert_int_equal(view_settings.n_lines(&f->view), 3);
    assert_true(str_starts(view_settings.line(&f->view, 0), "learning_rate  0.0002  train"));
    act(f, "bottom");
    buf_clear(&f->text);
    view_settings.status(&f->view, &f->text);
    assert_non_null(strstr(f->text.p, "warmup_ratio = 0.03"));
    act(f, "sort");                                     /* by value */
    text = drawn(f, 8, 100);
    assert_true(strstr(text, "learning_rate") < strstr(text, "warmup_ratio"));
    assert_true(strstr(text, "warmup_ratio") < strstr(text, "temperature"));
}

static void empty_panes_say_what_to_do(void **state)
{
    struct fixture *f = *state;
    open_pane(f, &view_settings, true);
    assert_non_null(strstr(drawn(f, 6, 48), "no settings were found: the key a imports the"));
    assert_non_null(strstr(drawn(f, 6, 48), "configuration, training_args.bin or a log"));
    open_pane(f, &view_settings, false);
    assert_non_null(strstr(drawn(f, 6, 100), "no run chosen"));
    open_pane(f, &view_memory, false);
    assert_non_null(strstr(drawn(f, 6, 100), "no run chosen"));
}

static void memory_names_what_is_not_known(void **state)
{
    struct fixture *f = *state;
    open_pane(f, &view_memory, true);
    const char *text = drawn(f, 20, 100);
    assert_non_null(strstr(text, "peak not known"));
    assert_non_null(strstr(text, "capacity not known: say it with :set gpu=24G"));
    assert_non_null(strstr(text, "hidden size"));
}

/* LoRA on a 7B model, long rows, one GPU of 24 GiB: too much. */
static void add_model(struct fixture *f)
{
    static const char *const config[][2] = {
        {"hidden_size", "4096"},        {"num_hidden_layers", "32"},
        {"intermediate_size", "11008"}, {"vocab_size", "32000"},
        {"num_attention_heads", "32"},  {"num_key_value_heads", "32"},
        {"model_type", "llama"},
    };
    for (size_t i = 0; i < sizeof config / sizeof *config; i++)
        fake_setting_on(f->run, SIDE_MODEL, config[i][0], config[i][1]);
    fake_setting(f->run, "per_device_train_batch_size", "4");
    fake_setting(f->run, "gradient_accumulation_steps", "4");
    fake_setting(f->run, "max_length", "2048");
    fake_setting(f->run, "bf16", "true");
    fake_setting(f->run, "optim", "adamw_torch");
    fake_setting(f->run, "lora_r", "16");
    fake_answer(f->run, "gpu", "24G");
}

static void memory_draws_phases_against_the_capacity(void **state)
{
    struct fixture *f = *state;
    add_model(f);
    open_pane(f, &view_memory, true);
    const char *text = drawn(f, 40, 100);
    assert_non_null(strstr(text, "capacity 24"));
    assert_non_null(strstr(text, "WWW"));
    assert_non_null(strstr(text, "|=capacity"));
    assert_non_null(strstr(text, "what to change, cheapest first"));
    for (int rows = 0; rows < 10; rows++)
        for (int columns = 0; columns < 60; columns += 7)
            (void)drawn(f, rows, columns);
    for (int i = 0; i < 200; i++)
        act(f, "page-down");
    assert_true(strlen(drawn(f, 20, 78)) > 40);         /* never scrolled into nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings_are_listed_with_side_and_source, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_panes_say_what_to_do, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_names_what_is_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_draws_phases_against_the_capacity, setup, teardown),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
