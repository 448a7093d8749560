/* The prompts pane and `flatline prompts`: where two prompts part, side by side and one under the other,
 * by line, word and token; what is missing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/exports/prompts_report.h"
#include "tests/harness/byte_tokenizer.h"
#include "tests/harness/imported_run.h"
#include "tests/harness/pane.h"
#include "views/registry.h"

#define TURN(role, text) "<|im_start|>" role "\n" text "<|im_end|>\n"
#define HEADER           "<|im_start|>assistant\n"

struct fixture {
    struct imported_run *run;
    struct pane *pane;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.run = imported_run_new(), .pane = pane_new(&view_prompts)};
    tempdir_write_text(f.run->folder, "trainer_state.json", "{\"global_step\": 1, \"log_history\": []}");
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    pane_free(f->pane);
    imported_run_free(f->run);
    return 0;
}

static void open_pane(struct fixture *f, const char *train, const char *serve)
{
    if (train)
        tempdir_write_text(f->run->folder, "prompt_train.txt", train);
    if (serve)
        tempdir_write_text(f->run->folder, "prompt_infer.txt", serve);
    imported_run_read(f->run);
    f->pane->desk.facts = f->run->facts;
}

static const char *drawn(struct fixture *f, int rows, int columns)
{
    pane_load(f->pane, rows, columns);
    return pane_drawn(f->pane, false);
}

static void assert_shows(const char *drawn, const char *text)
{
    if (!strstr(drawn, text))
        fail_msg("\"%s\" is not in:\n%s", text, drawn);
}

static void assert_hides(const char *drawn, const char *text)
{
    if (strstr(drawn, text))
        fail_msg("\"%s\" is in:\n%s", text, drawn);
}

static void the_header_that_serving_lacks_is_the_first_difference(void **state)
{
    struct fixture *f = *state;

    open_pane(f, TURN("user", "Where?") HEADER "Here.<|im_end|>\n", TURN("user", "Where?"));
    const char *text = drawn(f, 20, 50);
    assert_shows(text, "serving stops before the assistant's header");
    assert_shows(text, "- training: recorded in prompt_train.txt");
    assert_shows(text, "  Where?<|im_end|>\\n\n- >><|im_start|>assistant\\n\n");
    assert_shows(text, "---- the assistant's turn: shown, not compared");
    assert_shows(text, "\nt Here.<|im_end|>\\n\n");
    assert_string_equal(f->pane->view.ops->heading(&f->pane->view), "training -+ serving  by line");
}

static void both_sides_stand_beside_each_other_where_there_is_room(void **state)
{
    struct fixture *f = *state;

    open_pane(f, TURN("user", "Where?") HEADER, TURN("user", "Where?") HEADER "\n");
    const char *text = drawn(f, 20, 100);
    assert_shows(text, " Where?<|im_end|>\\n                              | Where?<|im_end|>\\n\n");
    assert_shows(text, "|+>>\\n\n");   /* the line end too much is in what is compared */
    assert_hides(text, "not compared");
    pane_act(f->pane, "side-by-side");
    assert_shows(pane_drawn(f->pane, false), "\n  Where?<|im_end|>\\n\n");
    pane_act(f->pane, "side-by-side");
    assert_shows(pane_drawn(f->pane, false), "| Where?");
}

static void what_differs_inside_of_a_line_is_shown_by_word_and_token(void **state)
{
    struct fixture *f = *state;

    open_pane(f, TURN("system", "Be brief.") TURN("user", "Where?") HEADER,
              TURN("system", "Be very long.") TURN("user", "Where?") HEADER);
    (void)drawn(f, 20, 50);
    assert_shows(pane_drawn(f->pane, false), "\n- Be >>brief.<|im_end|>\\n\n"
                                              "+ Be >>very long.<|im_end|>\\n\n");
    pane_act(f->pane, "unit");
    assert_shows(pane_drawn(f->pane, false), "  Be [->>brief-]{+>>very long+}.<|im_end|>\\n\n");
    pane_act(f->pane, "unit");
    assert_string_equal(f->pane->view.ops->heading(&f->pane->view),
                        "training -+ serving  by word (no tokens)");
    pane_act(f->pane, "blanks");
    assert_shows(pane_drawn(f->pane, false), "Be_");
    pane_act(f->pane, "first-difference");
}

static void tokens_of_bytes_part_at_the_byte(void **state)
{
    struct fixture *f = *state;

    byte_tokenizer_write(f->run->folder);
    open_pane(f, TURN("user", "Whare?") HEADER, TURN("user", "Where?") HEADER);
    (void)drawn(f, 20, 50);
    pane_act(f->pane, "unit");
    pane_act(f->pane, "unit");
    assert_string_equal(f->pane->view.ops->heading(&f->pane->view), "training -+ serving  by token");
    assert_shows(pane_drawn(f->pane, false), "Wh[->>a-]{+>>e+}re?<|im_end|>\\n\n");
}

static void blanks_at_a_line_end_are_always_seen_and_hostile_text_is_not_obeyed(void **state)
{
    struct fixture *f = *state;

    open_pane(f, TURN("user", "Where?  \n\x1b[31m") HEADER, TURN("user", "Where?\n\xe2\x80\xae\xff") HEADER);
    const char *text = drawn(f, 24, 50);
    assert_shows(text, "Where?>>__\\n");
    assert_shows(text, "<0x1B>[31m");
    assert_shows(text, "<U+202E><0xFF>");
    assert_hides(text, "\x1b");
    (void)drawn(f, 24, 120);
    pane_act(f->pane, "wrap");
    pane_act(f->pane, "scroll-right");
    assert_hides(pane_drawn(f->pane, false), "Where?");
    pane_small_sizes(f->pane);
}

static void one_side_alone_is_shown_with_what_is_missing(void **state)
{
    struct fixture *f = *state;

    open_pane(f, TURN("user", "Where?") HEADER, NULL);
    const char *text = drawn(f, 20, 60);
    assert_shows(text, "cannot be compared: the serving prompt is not known");
    assert_shows(text, "+ serving: not known, missing: ");
    assert_shows(text, "\n  Where?<|im_end|>\\n\n");
    f->pane->desk.facts = NULL;
    assert_shows(drawn(f, 20, 60), "no run is open");
}

static void the_report_shows_the_answer_apart(void **state)
{
    struct fixture *f = *state;
    struct error err;
    struct buf out;

    open_pane(f, TURN("user", "Where?") HEADER "Here.<|im_end|>\n", TURN("user", "Where?") HEADER "\n");
    buf_init(&out, 1 << 20);
    assert_int_equal(prompts_report(&out, f->run->facts, &err), OK);
    assert_shows(out.p, "training  recorded in prompt_train.txt, ");
    assert_shows(out.p, "\n  Where?<|im_end|>\\n\n  <|im_start|>assistant\\n\n+ \\n\n");
    assert_shows(out.p, "\nthe assistant's turn in training, not compared\n  Here.<|im_end|>\\n\n");
    buf_free(&out);
}

static void the_report_says_what_to_import_when_nothing_is_known(void **state)
{
    struct fixture *f = *state;
    struct error err;
    struct buf out;

    open_pane(f, NULL, NULL);
    buf_init(&out, 1 << 20);
    assert_int_equal(prompts_report(&out, f->run->facts, &err), E_NOTFOUND);
    assert_shows(err.message, "no prompt to show, missing: ");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_header_that_serving_lacks_is_the_first_difference, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(both_sides_stand_beside_each_other_where_there_is_room, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_differs_inside_of_a_line_is_shown_by_word_and_token, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(tokens_of_bytes_part_at_the_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blanks_at_a_line_end_are_always_seen_and_hostile_text_is_not_obeyed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_side_alone_is_shown_with_what_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_report_shows_the_answer_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_report_says_what_to_import_when_nothing_is_known, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
