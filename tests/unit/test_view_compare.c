/* The compare pane: two imported runs, what differs stands in one table, and Enter goes to it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/harness/imported_run.h"
#include "views/registry.h"

enum { OPEN, SORT, ALL };

struct fixture {
    struct imported_run *run;
    struct desk desk;
    struct view view;
    struct canvas *canvas;
    struct buf text;
};

/* The second run is the same to step 200, and from there on 0.4 above. */
static void write_run(struct fixture *f, const char *name, const char *rate, const char *more, bool is_worse)
{
    struct buf text;
    char path[100];

    buf_init(&text, 1 << 20);
    buf_puts(&text, "{\"global_step\": 400, \"max_steps\": 400, \"log_history\": [");
    for (int i = 1; i <= 40; i++)
        buf_printf(&text, "%s{\"step\": %d, \"loss\": %.4f}", i > 1 ? "," : "", i * 10,
                   2.0 - 0.02 * i + (i % 3) * 0.01 + (is_worse && i > 20 ? 0.4 : 0.0));
    buf_puts(&text, "]}");
    snprintf(path, sizeof path, "%s/trainer_state.json", name);
    tempdir_write_text(f->run->folder, path, text.p);
    buf_clear(&text);
    buf_printf(&text,
               "{\"learning_rate\": %s, \"num_train_epochs\": 3, \"seed\": 1, \"output_dir\": \"%s\"%s}",
               rate, name, more);
    snprintf(path, sizeof path, "%s/training_args.json", name);
    tempdir_write_text(f->run->folder, path, text.p);
    buf_free(&text);
}

static int set_up(void **state)
{
    static struct fixture f;
    const struct run *runs;
    size_t n;

    memset(&f, 0, sizeof f);
    f.run = imported_run_new();
    write_run(&f, "sft-01", "2e-3", "", true);
    write_run(&f, "sft-02", "1e-4", ", \"lora_dropout\": 0.1", false);
    imported_run_read(f.run);
    if (store_runs(f.run->store, f.run->arena, &runs, &n, &f.run->err) != OK || n != 2)
        return -1;
    f.desk = (struct desk){.store = f.run->store, .facts = f.run->facts, .run_id = f.run->facts->run.id,
                           .check = -1, .step = NONE, .search = "", .runs = runs, .n_runs = n};
    f.desk.baseline_id = runs[0].id == f.desk.run_id ? runs[1].id : runs[0].id;
    f.view = (struct view){.ops = &view_compare, .desk = &f.desk, .rows = 12, .columns = 60,
                           .arena = arena_open(ARENA_VIEW_BYTES)};
    f.view.state = arena_alloc(f.run->arena, view_compare.state_size);
    buf_init(&f.text, 1 << 16);
    *state = &f;
    return f.view.arena && f.view.state ? canvas_open(&f.canvas, 12, 60, false, &f.run->err) : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    view_compare.close(&f->view);
    arena_close(f->view.arena);
    canvas_close(f->canvas);
    buf_free(&f->text);
    imported_run_free(f->run);
    return 0;
}

static const char *drawn(struct fixture *f)
{
    arena_reset(f->view.arena);
    assert_int_equal(view_compare.load(&f->view, &f->run->err), OK);
    canvas_clear(f->canvas);
    view_compare.draw(&f->view, f->canvas);
    buf_clear(&f->text);
    canvas_dump(f->canvas, false, &f->text);
    return f->text.p;
}

static size_t row_of(struct fixture *f, const char *text)
{
    for (size_t i = 0; i < view_compare.n_lines(&f->view); i++)
        if (strstr(view_compare.line(&f->view, i).p, text))
            return i;
    fail_msg("no row says %s", text);
    return 0;
}

static void settings_and_the_step_where_curves_part_stand_in_one_table(void **state)
{
    struct fixture *f = *state;
    const char *text = drawn(f);

    assert_non_null(strstr(text, "learning_rate"));
    assert_non_null(strstr(text, "2e-3"));
    assert_non_null(strstr(text, "1e-4"));
    assert_non_null(strstr(text, "step 210"));
    assert_null(strstr(text, "output_dir"));
    assert_non_null(strstr(view_compare.heading(&f->view), "loss parts at step 210"));
    assert_true(row_of(f, "learning_rate") < row_of(f, "step 210"));
}

static void what_has_no_effect_is_shown_when_asked_for(void **state)
{
    struct fixture *f = *state;

    (void)drawn(f);
    size_t n = view_compare.n_lines(&f->view);
    assert_true(view_compare.act(&f->view, ALL));
    assert_true(view_compare.n_lines(&f->view) > n);
    (void)row_of(f, "output_dir");
}

static void enter_on_a_setting_goes_to_its_row_in_the_settings(void **state)
{
    struct fixture *f = *state;
    struct view settings = {.ops = &view_settings, .desk = &f->desk, .rows = 5, .columns = 60,
                            .arena = f->run->arena};
    struct buf said;

    (void)drawn(f);
    view_compare.go(&f->view, row_of(f, "learning_rate"));
    assert_true(view_compare.act(&f->view, OPEN));
    assert_string_equal(f->desk.open_view, "settings");
    assert_string_equal(f->desk.open_setting, "learning_rate");
    assert_true(f->desk.changed & DESK_SETTING);
    settings.state = arena_alloc(f->run->arena, view_settings.state_size);
    assert_int_equal(view_settings.load(&settings, &f->run->err), OK);
    buf_init(&said, 1000);
    view_settings.status(&settings, &said);
    assert_non_null(strstr(said.p, "learning_rate = 2e-3"));
    buf_free(&said);
    assert_null(f->desk.open_setting);      /* followed once: the next load leaves the place alone */
}

static void a_setting_of_the_baseline_alone_is_said_with_its_file(void **state)
{
    struct fixture *f = *state;

    (void)drawn(f);
    view_compare.go(&f->view, row_of(f, "lora_dropout"));
    assert_true(view_compare.act(&f->view, OPEN));
    assert_null(f->desk.open_view);
    buf_clear(&f->text);
    view_compare.status(&f->view, &f->text);
    assert_non_null(strstr(f->text.p, "not stated by this run; sft-02 has it in"));
    assert_non_null(strstr(f->text.p, "training_args.json"));
}

static void enter_on_a_curve_goes_to_the_step(void **state)
{
    struct fixture *f = *state;

    (void)drawn(f);
    view_compare.go(&f->view, row_of(f, "step 210"));
    assert_true(view_compare.act(&f->view, OPEN));
    assert_string_equal(f->desk.open_view, "curves");
    assert_int_equal(f->desk.step, 210);
}

static void without_a_baseline_enter_opens_the_runs(void **state)
{
    struct fixture *f = *state;

    f->desk.baseline_id = 0;
    assert_non_null(strstr(drawn(f), "no baseline"));
    assert_true(view_compare.act(&f->view, OPEN));
    assert_string_equal(f->desk.open_view, "runs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings_and_the_step_where_curves_part_stand_in_one_table, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_has_no_effect_is_shown_when_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(enter_on_a_setting_goes_to_its_row_in_the_settings, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_setting_of_the_baseline_alone_is_said_with_its_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(enter_on_a_curve_goes_to_the_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_baseline_enter_opens_the_runs, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
