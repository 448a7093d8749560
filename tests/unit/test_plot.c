/* Curves on a canvas: nothing planted is lost, the same data give the same cells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <string.h>

#include "core/base/random.h"
#include "views/plot.h"
#include "views/plot_parts.h"

struct drawn {
    struct canvas *canvas;
    struct plot_said said;
    struct buf text;
};

static struct drawn draw(const struct plot *plot, int rows, int columns, bool ascii)
{
    struct drawn drawn;
    struct area area = {0, 0, rows, columns};

    assert_int_equal(canvas_open(&drawn.canvas, rows, columns, ascii, NULL), OK);
    plot_draw(plot, drawn.canvas, &area, &drawn.said);
    buf_init(&drawn.text, 1u << 20);
    canvas_dump(drawn.canvas, false, &drawn.text);
    return drawn;
}

static void release(struct drawn *drawn)
{
    canvas_close(drawn->canvas);
    buf_free(&drawn->text);
}

static struct plot plot_of(const struct plot_series *series, size_t n, double low, double high)
{
    return (struct plot){.series = series, .n_series = n, .x_low = low, .x_high = high,
                         .clip_spikes = true, .cursor_x = NAN, .has_rail = true, .has_axis = true,
                         .x_name = "step"};
}

/* The row under the axis. */
static const struct cell *rail_of(const struct drawn *drawn)
{
    return drawn->canvas->cells + (drawn->canvas->rows - 2) * drawn->canvas->columns;
}

static size_t count_in_rail(const struct drawn *drawn, char glyph)
{
    size_t n = 0;
    for (int i = 6; i < drawn->canvas->columns; i++)
        n += rail_of(drawn)[i].base == glyph;
    return n;
}

static void assert_draws(const struct plot *plot, int rows, int columns, const char *expected)
{
    struct drawn drawn = draw(plot, rows, columns, true);
    assert_string_equal(drawn.text.p, expected);
    release(&drawn);
}

static void a_falling_line_in_ascii(void **state)
{
    const double x[] = {0, 10, 20, 30, 40}, y[] = {4, 2, 1, 1, 1};
    const struct plot_series series = {.n = 5, .x = x, .y = y};
    const struct plot plot = plot_of(&series, 1, 0, 40);
    (void)state;
    assert_draws(&plot, 8, 28,
                 "   4 |'.\n"
                 "   3 |  '.\n"
                 "     |   '.\n"
                 "   2 |     '__\n"
                 "   1 |        --____________\n"
                 "     ++----+-----+----+----+\n"
                 " rail\n"
                 "      0   10    20   30   40\n");
}

static void the_onset_of_nan_is_on_the_rail_and_the_line_stops(void **state)
{
    double x[20], y[20];
    const struct plot_series series = {.n = 20, .x = x, .y = y};
    const struct plot_mark end = {PLOT_MARK_END, 19};
    struct plot plot = plot_of(&series, 1, 0, 30);
    (void)state;

    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = i < 12 ? 2 : NAN;
    }
    plot.marks = &end;
    plot.n_marks = 1;
    struct drawn drawn = draw(&plot, 8, 37, true);
    assert_int_equal(drawn.said.n_nan, 8);
    assert_int_equal(count_in_rail(&drawn, 'N'), 8);
    assert_int_equal(rail_of(&drawn)[6 + 31 * 19 / 30].base, 'N');      /* N goes before X */
    release(&drawn);
}

static void planted_points_show_at_every_width(void **state)
{
    enum { N = 5000 };
    static double x[N], y[N];
    const struct plot_series series = {.n = N, .x = x, .y = y};
    const struct plot plot = plot_of(&series, 1, 0, N - 1);
    struct random random;
    (void)state;

    random_seed(&random, 5);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)i;
        y[i] = 1 + 0.2 * random_unit(&random);
    }
    y[1000] = NAN;
    y[2000] = INFINITY;
    y[3000] = -INFINITY;
    y[4000] = 80;
    for (int width = 10; width <= 400; width++) {
        struct drawn drawn = draw(&plot, 10, width + 6, width % 2);
        bool is_wide = width >= 20;     /* below it two of them may share a cell */
        assert_int_equal(drawn.said.n_nan + drawn.said.n_pos_inf + drawn.said.n_neg_inf, 3);
        assert_int_equal(drawn.said.n_clipped, 1);
        assert_true(drawn.said.clipped_at == 80 && drawn.said.y_high < 2);
        assert_int_equal(count_in_rail(&drawn, 'N'), 1);
        if (is_wide) {
            assert_int_equal(count_in_rail(&drawn, '^'), 1);
            assert_int_equal(count_in_rail(&drawn, 'v'), 1);
            assert_int_equal(count_in_rail(&drawn, '!'), 1);
        }
        release(&drawn);
    }
}

static void the_same_data_and_size_give_the_same_cells(void **state)
{
    static double x[3000], y[3000];
    struct plot_series series = {.n = 3000, .x = x, .y = y, .smoothing = 0.9};
    const struct plot plot = plot_of(&series, 1, 0, 2999);
    struct plot_prepared prepared;
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    (void)state;

    for (size_t i = 0; i < 3000; i++) {
        x[i] = (double)i;
        y[i] = sin((double)i / 100) + (double)(i * 7919 % 101) / 300;
    }
    struct drawn once = draw(&plot, 14, 60, false), other = draw(&plot, 30, 110, false);
    assert_int_equal(plot_prepare(&prepared, &series, arena, NULL), OK);
    series.prepared = &prepared;
    struct drawn again = draw(&plot, 14, 60, false);
    assert_string_equal(once.text.p, again.text.p);
    assert_memory_equal(once.canvas->cells, again.canvas->cells,
                        14 * 60 * sizeof *once.canvas->cells);
    release(&once);
    release(&other);
    release(&again);
    arena_close(arena);
}

static void all_nan_is_one_sentence_and_a_full_rail(void **state)
{
    static double x[812], y[812];
    const struct plot_series series = {.n = 812, .x = x, .y = y};
    const struct plot plot = plot_of(&series, 1, 1, 812);
    (void)state;

    for (size_t i = 0; i < 812; i++) {
        x[i] = (double)(i + 1);
        y[i] = NAN;
    }
    struct drawn drawn = draw(&plot, 10, 60, false);
    assert_string_equal(drawn.said.sentence_text, "all 812 values are NaN, first at step 1");
    assert_non_null(strstr(drawn.text.p, drawn.said.sentence_text));
    assert_int_equal(count_in_rail(&drawn, 'N'), 54);
    release(&drawn);
}

static void log_y_marks_what_it_cannot_draw(void **state)
{
    const double x[] = {0, 1, 2, 3, 4}, y[] = {100, 0, 10, -5, 1};
    const struct plot_series series = {.n = 5, .x = x, .y = y};
    struct plot plot = plot_of(&series, 1, 0, 4);
    (void)state;

    plot.log_y = true;
    struct drawn drawn = draw(&plot, 10, 46, false);
    assert_int_equal(drawn.said.n_not_positive, 2);
    assert_int_equal(count_in_rail(&drawn, '0'), 1);
    assert_int_equal(count_in_rail(&drawn, '-'), 1);
    assert_true(drawn.said.y_low == 1 && drawn.said.y_high == 100);
    release(&drawn);
    plot.log_y = false;
    drawn = draw(&plot, 10, 46, false);
    assert_int_equal(count_in_rail(&drawn, '0'), 0);
    assert_true(drawn.said.y_low == -5);
    release(&drawn);
}

static void log_x_has_step_0_on_the_left_edge(void **state)
{
    const double x[] = {0, 1, 10, 100, 1000}, y[] = {NAN, 4, 3, 2, 1};
    const struct plot_series series = {.n = 5, .x = x, .y = y};
    struct plot plot = plot_of(&series, 1, 0, 1000);
    (void)state;

    plot.log_x = true;
    struct drawn drawn = draw(&plot, 10, 46, false);
    assert_int_equal(rail_of(&drawn)[6].base, 'N');
    assert_non_null(strstr(drawn.text.p, "1000"));
    release(&drawn);
}

static void equal_values_stand_in_the_middle(void **state)
{
    const double x[] = {0, 1, 2}, y[] = {5, 5, 5}, zero[] = {0, 0, 0};
    struct plot_series series = {.n = 3, .x = x, .y = y};
    const struct plot plot = plot_of(&series, 1, 0, 2);
    (void)state;

    struct drawn drawn = draw(&plot, 10, 30, false);
    assert_true(drawn.said.y_low < 5 && drawn.said.y_high > 5);
    release(&drawn);
    series.y = zero;
    drawn = draw(&plot, 10, 30, false);
    assert_true(drawn.said.y_low == 0 && drawn.said.y_high == 1);
    release(&drawn);
}

static void kinds_that_share_a_cell_show_plus_unless_one_is_not_finite(void **state)
{
    const double x[] = {0, 50, 100}, y[] = {1, 2, 3}, bad[] = {1, NAN, 3};
    struct plot_series series = {.n = 3, .x = x, .y = y};
    const struct plot_mark marks[] = {{PLOT_MARK_CHECKPOINT, 50}, {PLOT_MARK_RESUME, 50}};
    struct plot plot = plot_of(&series, 1, 0, 100);
    (void)state;

    plot.marks = marks;
    plot.n_marks = 2;
    struct drawn drawn = draw(&plot, 10, 46, false);
    assert_int_equal(count_in_rail(&drawn, '+'), 1);
    release(&drawn);
    series.y = bad;
    drawn = draw(&plot, 10, 46, false);
    assert_int_equal(count_in_rail(&drawn, 'N'), 1);
    assert_int_equal(count_in_rail(&drawn, '+'), 0);
    release(&drawn);
}

static void two_runs_in_a_cell_are_united_in_the_neutral_style(void **state)
{
    const double x[] = {0, 10}, up[] = {0, 1}, down[] = {1, 0};
    const struct plot_series series[] = {{.n = 2, .x = x, .y = up, .style = STYLE_CURVE_A},
                                         {.n = 2, .x = x, .y = down, .style = STYLE_CURVE_B}};
    const struct plot plot = plot_of(series, 2, 0, 10);
    size_t n[N_STYLES] = {0};
    (void)state;

    struct drawn drawn = draw(&plot, 9, 27, false);
    for (int i = 0; i < 6 * 27; i++)
        if (drawn.canvas->cells[i].base >= 0x2800)
            n[drawn.canvas->cells[i].style]++;
    assert_true(n[STYLE_CURVE_A] > 5 && n[STYLE_CURVE_B] > 5);
    assert_true(n[STYLE_TEXT] >= 1 && n[STYLE_TEXT] <= 6);
    release(&drawn);
}

static void eval_points_are_letters_and_never_joined(void **state)
{
    const double x[] = {0, 50, 100}, y[] = {1, 2, 3};
    const struct plot_series series = {.n = 3, .x = x, .y = y, .is_points = true,
                                       .style = STYLE_EVAL_POINT};
    const struct plot plot = plot_of(&series, 1, 0, 100);
    size_t n_letters = 0, n_dots = 0;
    (void)state;

    struct drawn drawn = draw(&plot, 10, 46, false);
    for (int i = 0; i < 7 * 46; i++) {
        n_letters += drawn.canvas->cells[i].base == 'e';
        n_dots += drawn.canvas->cells[i].base >= 0x2800;
    }
    assert_int_equal(n_letters, 3);
    assert_int_equal(n_dots, 0);
    release(&drawn);
}

static void zooming_between_two_points_still_shows_the_line(void **state)
{
    const double x[] = {0, 100}, y[] = {0, 10};
    const struct plot_series series = {.n = 2, .x = x, .y = y};
    const struct plot plot = plot_of(&series, 1, 50, 100);
    size_t n_dots = 0;
    (void)state;

    struct drawn drawn = draw(&plot, 10, 46, false);
    for (int i = 0; i < 7 * 46; i++)
        n_dots += drawn.canvas->cells[i].base >= 0x2800;
    assert_true(n_dots >= 30);
    release(&drawn);
}

static void extreme_values_and_tiny_areas_are_drawn_without_harm(void **state)
{
    const double x[] = {-1e308, -1, 0, 1, 1e308};
    const double y[] = {1.7e308, -1.7e308, 5e-324, INFINITY, 0};
    const int32_t segment[] = {0, 0, 1, 1, 2};
    const struct plot_series series = {.n = 5, .x = x, .y = y, .segment = segment, .smoothing = 0.9};
    struct plot plot = plot_of(&series, 1, -1e308, 1e308);
    (void)state;

    plot.cursor_x = 0;
    for (int rows = 0; rows < 12; rows++)
        for (int columns = 0; columns < 24; columns++) {
            plot.log_y = (rows + columns) % 2;
            plot.log_x = columns % 3 == 0;
            plot.has_axis = columns % 5;
            struct drawn drawn = draw(&plot, rows, columns, rows % 2);
            release(&drawn);
        }
}

static void no_points_is_said(void **state)
{
    const struct plot_series series = {.n = 0};
    const struct plot plot = plot_of(&series, 1, 0, 0);
    (void)state;

    struct drawn drawn = draw(&plot, 10, 46, false);
    assert_string_equal(drawn.said.sentence_text, "no values here");
    release(&drawn);
}

static void neighbouring_labels_differ(void **state)
{
    static const double RANGES[][2] = {{6e-5, 2e-4}, {0.00015, 0.00016}, {1.234e7, 1.2345e7}, {2e-9, 2.1e-9}};

    (void)state;
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        const struct scale scale = {.low = RANGES[i][0], .high = RANGES[i][1]};
        struct ticks ticks;

        ticks_make(&ticks, &scale, 8);
        assert_true(ticks.n > 2);
        for (size_t k = 1; k < ticks.n; k++)
            assert_string_not_equal(ticks.label[k - 1], ticks.label[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbouring_labels_differ),
        cmocka_unit_test(a_falling_line_in_ascii),
        cmocka_unit_test(the_onset_of_nan_is_on_the_rail_and_the_line_stops),
        cmocka_unit_test(planted_points_show_at_every_width),
        cmocka_unit_test(the_same_data_and_size_give_the_same_cells),
        cmocka_unit_test(all_nan_is_one_sentence_and_a_full_rail),
        cmocka_unit_test(log_y_marks_what_it_cannot_draw),
        cmocka_unit_test(log_x_has_step_0_on_the_left_edge),
        cmocka_unit_test(equal_values_stand_in_the_middle),
        cmocka_unit_test(kinds_that_share_a_cell_show_plus_unless_one_is_not_finite),
        cmocka_unit_test(two_runs_in_a_cell_are_united_in_the_neutral_style),
        cmocka_unit_test(eval_points_are_letters_and_never_joined),
        cmocka_unit_test(zooming_between_two_points_still_shows_the_line),
        cmocka_unit_test(extreme_values_and_tiny_areas_are_drawn_without_harm),
        cmocka_unit_test(no_points_is_said),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
