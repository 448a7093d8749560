/* Wrapping of styled text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>

#include "views/textflow.h"

struct fixture {
    struct arena *arena;
    struct canvas *canvas;
    struct textflow flow;
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture.arena = arena_open(1u << 20);
    if (!fixture.arena || canvas_open(&fixture.canvas, 6, 12, false, NULL) != OK)
        return -1;
    flow_begin(&fixture.flow, fixture.arena, fixture.canvas, 12);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    canvas_close(f->canvas);
    arena_close(f->arena);
    return 0;
}

static void assert_drawn(struct fixture *f, size_t top, const char *expected)
{
    struct buf text;
    buf_init(&text, 4096);
    flow_draw(&f->flow, f->canvas, top, 0);
    canvas_dump(f->canvas, false, &text);
    assert_string_equal(text.p, expected);
    buf_free(&text);
}

static void words_wrap_at_blanks(void **state)
{
    struct fixture *f = *state;
    flow_puts(&f->flow, STYLE_TEXT, "the loss is flat from step 12");
    assert_drawn(f, 0, "the loss is\nflat from\nstep 12\n\n\n\n");
}

static void long_words_are_cut_and_nothing_is_lost(void **state)
{
    struct fixture *f = *state;
    flow_puts(&f->flow, STYLE_TEXT, "at /a/very/long/path/name.log:42");
    assert_drawn(f, 0, "at /a/very/l\nong/path/nam\ne.log:42\n\n\n\n");
}

static void wide_characters_are_not_split(void **state)
{
    struct fixture *f = *state;
    flow_puts(&f->flow, STYLE_TEXT,
              "x\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4");
    assert_drawn(f, 0,
                 "x\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4\xE6\xB0\xB4\n\xE6\xB0\xB4\n\n\n\n\n");
}

static void hanging_indent_holds_for_wrapped_lines(void **state)
{
    struct fixture *f = *state;
    flow_indent(&f->flow, 0, 5);
    flow_puts(&f->flow, STYLE_STRONG, "WHY  ");
    flow_puts(&f->flow, STYLE_TEXT, "lr too high");
    flow_break(&f->flow);
    flow_break(&f->flow);
    flow_puts(&f->flow, STYLE_TEXT, "end");
    assert_drawn(f, 0, "WHY  lr too\n     high\n\nend\n\n\n");
}

static void newlines_end_paragraphs_and_tags_are_found(void **state)
{
    struct fixture *f = *state;
    flow_puts(&f->flow, STYLE_TEXT, "a\nb");
    flow_break(&f->flow);
    flow_tag(&f->flow, 7);
    flow_puts(&f->flow, STYLE_TEXT, "c d");
    assert_int_equal(f->flow.n_lines, 3);
    assert_int_equal(flow_find_tag(&f->flow, 7), 2);
    assert_true(str_is(flow_line_text(&f->flow, 2, f->arena), "c d"));
    assert_drawn(f, 1, "b\nc d\n\n\n\n\n");
}

static void a_column_of_one_cell_ends(void **state)
{
    struct fixture *f = *state;
    flow_begin(&f->flow, f->arena, f->canvas, 0);
    flow_indent(&f->flow, 9, 9);
    flow_puts(&f->flow, STYLE_TEXT, "a \xE6\xB0\xB4 bc \x1b");
    assert_true(f->flow.n_lines >= 4);
}

static void no_wrap_keeps_a_line_whole(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    f->flow.no_wrap = true;
    flow_puts(&f->flow, STYLE_TEXT, "0123456789abcdef  gh\nnext");
    flow_draw(&f->flow, f->canvas, 0, 4);
    buf_init(&text, 4096);
    canvas_dump(f->canvas, false, &text);
    assert_string_equal(text.p, "456789abcdef\n\n\n\n\n\n");
    buf_free(&text);
    assert_int_equal(f->flow.n_lines, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_wrap_at_blanks, setup, teardown),
        cmocka_unit_test_setup_teardown(long_words_are_cut_and_nothing_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(wide_characters_are_not_split, setup, teardown),
        cmocka_unit_test_setup_teardown(hanging_indent_holds_for_wrapped_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(newlines_end_paragraphs_and_tags_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_column_of_one_cell_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(no_wrap_keeps_a_line_whole, setup, teardown),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
