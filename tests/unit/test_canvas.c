/* The grid of cells: clipping, widths, hostile text, ASCII mode, frames, dumps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "views/canvas.h"

static struct canvas *open_canvas(int rows, int columns, bool ascii)
{
    struct canvas *canvas;
    assert_int_equal(canvas_open(&canvas, rows, columns, ascii, NULL), OK);
    return canvas;
}

/* Closes the canvas. */
static void assert_dump(struct canvas *canvas, bool with_styles, const char *expected)
{
    struct buf text;
    buf_init(&text, 1u << 16);
    canvas_dump(canvas, with_styles, &text);
    assert_string_equal(text.p, expected);
    buf_free(&text);
    canvas_close(canvas);
}

static void text_is_clipped_to_the_area(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(3, 8, false);
    struct area area = {1, 2, 1, 4};

    canvas_clip(canvas, &area);
    assert_int_equal(canvas_puts(canvas, 0, -1, STYLE_TEXT, "abcdefgh"), 4);
    canvas_puts(canvas, 1, 0, STYLE_TEXT, "below");
    canvas_puts(canvas, -1, 0, STYLE_TEXT, "above");
    assert_dump(canvas, false, "\n  bcde\n\n");
}

static void an_area_outside_the_canvas_draws_nothing(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(2, 4, false);
    struct area area = {-5, 3, 100, 100};

    canvas_clip(canvas, &area);
    canvas_puts(canvas, 1, 0, STYLE_TEXT, "xyz");
    area = (struct area){9, 9, 2, 2};
    canvas_clip(canvas, &area);
    canvas_puts(canvas, 0, 0, STYLE_TEXT, "no");
    canvas_frame(canvas, "no", true);
    assert_dump(canvas, false, "\n   x\n");
}

static void wide_characters_take_two_cells(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(2, 6, false);

    assert_int_equal(canvas_puts(canvas, 0, 0, STYLE_TEXT, "\xE6\xB0\xB4x"), 3);
    assert_int_equal(canvas_width(canvas, str_of("\xE6\xB0\xB4x")), 3);
    canvas_puts(canvas, 1, 0, STYLE_TEXT, "abcd\xE6\xB0\xB4");
    assert_dump(canvas, false, "\xE6\xB0\xB4x\nabcd\xE6\xB0\xB4\n");
}

static void a_wide_character_at_the_edge_becomes_a_blank(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(2, 5, false);

    canvas_puts(canvas, 0, 0, STYLE_TEXT, "abcd\xE6\xB0\xB4");
    canvas_puts(canvas, 1, -1, STYLE_TEXT, "\xE6\xB0\xB4z");
    assert_int_equal(canvas->cells[4].base, ' ');
    assert_dump(canvas, false, "abcd\n z\n");
}

static void writing_over_half_a_wide_character_blanks_the_other_half(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(2, 4, false);

    canvas_puts(canvas, 0, 0, STYLE_TEXT, "\xE6\xB0\xB4");
    canvas_put(canvas, 0, 1, STYLE_TEXT, 'x');
    canvas_puts(canvas, 1, 0, STYLE_TEXT, "\xE6\xB0\xB4");
    canvas_put(canvas, 1, 0, STYLE_TEXT, 'y');
    assert_dump(canvas, false, " x\ny\n");
}

static void two_combining_marks_stay_and_more_are_dropped(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(1, 4, false);

    canvas_puts(canvas, 0, 0, STYLE_TEXT, "e\xCC\x81\xCC\xA3\xCC\x84z");
    assert_int_equal(canvas->cells[0].marks[0], 0x301);
    assert_int_equal(canvas->cells[0].marks[1], 0x323);
    assert_dump(canvas, false, "e\xCC\x81\xCC\xA3z\n");
}

static void hostile_text_is_made_visible(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"a\x1b[31mb", "a<0x1B>[31mb\n"},
        {"a\xE2\x80\xAE" "b", "a<U+202E>b\n"},
        {"a\xFF" "b", "a<0xFF>b\n"},
        {"a\nb", "a\\nb\n"},
        {"a\tb", "a b\n"},
        {"a\xC2\x9B" "b", "a<U+009B>b\n"},
        {"a\x7F" "b", "a<0x7F>b\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct canvas *canvas = open_canvas(1, 20, false);
        int end = canvas_puts(canvas, 0, 0, STYLE_TEXT, cases[i].text);
        assert_int_equal(end, canvas_width(canvas, str_of(cases[i].text)));
        assert_int_equal(end, (int)strlen(cases[i].shown) - 1);
        assert_dump(canvas, false, cases[i].shown);
    }
}

static void hostile_marks_have_their_own_style(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(1, 20, false);
    canvas_puts(canvas, 0, 0, STYLE_TEXT, "a\x01z");
    assert_dump(canvas, true, "a<0x01>z\n|1+6 hostile\n");
}

static void ascii_mode_has_no_character_above_127(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(3, 8, true);
    canvas_frame(canvas, "caf\xC3\xA9", false);
    canvas_put(canvas, 1, 1, STYLE_TEXT, 0x28FF);
    canvas_puts(canvas, 1, 2, STYLE_TEXT, "\xE6\xB0\xB4" "e\xCC\x81");
    assert_dump(canvas, false, "+- caf +\n|??e   |\n+------+\n");
}

static void a_frame_shows_focus_without_colour(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(2, 9, true);
    canvas_frame(canvas, "log", true);
    assert_dump(canvas, false, "+= log =+\n+=======+\n");
}

static void cut_never_splits_a_character(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(1, 1, false);
    struct str text = str_of("a\xE6\xB0\xB4\xCC\x81z");

    assert_int_equal(canvas_cut(canvas, text, 0).n, 0);
    assert_int_equal(canvas_cut(canvas, text, 2).n, 1);
    assert_int_equal(canvas_cut(canvas, text, 3).n, 6);     /* the mark goes with its character */
    assert_int_equal(canvas_cut(canvas, text, 9).n, text.n);
    canvas_close(canvas);
}

static void dump_names_styles_and_the_bar(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(2, 6, false);
    canvas_puts(canvas, 0, 0, STYLE_FAIL, "bad");
    canvas_reverse(canvas, 0, 4, 9);
    assert_dump(canvas, true, "bad\n|0+3 fail 4+2 text reverse\n\n|\n");
}

static void right_aligned_text_ends_before_its_column(void **state)
{
    (void)state;
    struct canvas *canvas = open_canvas(1, 8, false);
    canvas_right(canvas, 0, 6, STYLE_TEXT, "\xE6\xB0\xB4" "1");
    assert_dump(canvas, false, "   \xE6\xB0\xB4" "1\n");
}

static void sizes_without_cells_are_harmless(void **state)
{
    static const int sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct canvas *canvas = open_canvas(sizes[i][0], sizes[i][1], false);
        canvas_frame(canvas, "title", true);
        canvas_puts(canvas, 0, 0, STYLE_TEXT, "\xE6\xB0\xB4\xE6\xB0\xB4");
        canvas_fill(canvas, 0, -3, 10, STYLE_TEXT, 'x');
        canvas_style(canvas, 0, -3, 10, STYLE_FAIL);
        canvas_close(canvas);
    }
    struct canvas *canvas;
    struct error err;
    assert_int_equal(canvas_open(&canvas, 100000, 2, false, &err), E_LIMIT);
}

static void every_style_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < N_STYLES; i++)
        assert_int_equal(style_by_name(style_name((enum style_role)i)), i);
    assert_int_equal(style_by_name("no-such"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_clipped_to_the_area),
        cmocka_unit_test(an_area_outside_the_canvas_draws_nothing),
        cmocka_unit_test(wide_characters_take_two_cells),
        cmocka_unit_test(a_wide_character_at_the_edge_becomes_a_blank),
        cmocka_unit_test(writing_over_half_a_wide_character_blanks_the_other_half),
        cmocka_unit_test(two_combining_marks_stay_and_more_are_dropped),
        cmocka_unit_test(hostile_text_is_made_visible),
        cmocka_unit_test(hostile_marks_have_their_own_style),
        cmocka_unit_test(ascii_mode_has_no_character_above_127),
        cmocka_unit_test(a_frame_shows_focus_without_colour),
        cmocka_unit_test(cut_never_splits_a_character),
        cmocka_unit_test(dump_names_styles_and_the_bar),
        cmocka_unit_test(right_aligned_text_ends_before_its_column),
        cmocka_unit_test(sizes_without_cells_are_harmless),
        cmocka_unit_test(every_style_has_a_name_of_its_own),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
