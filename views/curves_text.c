/* A curve on a canvas of its own, dumped as text. */
#include "views/curves_text.h"

#include "core/base/unicode.h"
#include "views/curves_data.h"

#define TEXT_SMOOTHING 0.6              /* as the pane starts */

static int within(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

static int draw(struct buf *out, const struct run_facts *facts, const char *metric,
                struct canvas *canvas, struct arena *arena, struct error *err)
{
    struct picture picture;
    struct plot_said said;
    struct buf title;

    int rc = picture_make(&picture, facts, metric, PICTURE_STEP, TEXT_SMOOTHING, arena, err);
    if (rc != OK)
        return rc;
    struct plot plot = picture_plot(&picture);
    struct area area = {.rows = canvas->rows, .columns = canvas->columns};
    plot_draw(&plot, canvas, &area, &said);
    buf_init(&title, 1024);
    picture_title(&picture, &plot, &said, canvas->columns - (int)str_of(metric).n, &title);
    unicode_visible(out, str_of(metric), false);
    buf_printf(out, "%s\n", title.p);
    buf_free(&title);
    canvas_dump(canvas, false, out);
    return OK;
}

void curves_as_text(struct buf *out, const struct run_facts *facts, const char *metric, int rows,
                    int columns, bool unicode)
{
    struct error err = {0};
    struct canvas *canvas = NULL;
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    int rc = arena ? canvas_open(&canvas, within(rows, 8, 200), within(columns, 30, 400), !unicode,
                                 &err)
                   : error_set(&err, E_NOMEM, "not enough memory for a curve");
    if (rc == OK)
        rc = draw(out, facts, metric, canvas, arena, &err);
    if (rc != OK) {
        unicode_visible(out, str_of(err.message), false);
        buf_putc(out, '\n');
    }
    canvas_close(canvas);
    arena_close(arena);
}
