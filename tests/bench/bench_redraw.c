/* How long a redraw of a long curve takes: bench_redraw [N_POINTS]. The curve is prepared once, as
 * a pane does at load; then all of it and a zoomed part are drawn. Prints milliseconds a redraw. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "views/plot.h"

#define ROUNDS 50

static double redraw_ms(const struct plot *plot, struct canvas *canvas)
{
    const struct area area = {.rows = 40, .columns = 160};
    double best = INFINITY;

    for (int i = 0; i < ROUNDS; i++) {
        struct plot_said said;
        int64_t start = clock_ticks_ns();

        canvas_clear(canvas);
        plot_draw(plot, canvas, &area, &said);
        best = fmin(best, (double)(clock_ticks_ns() - start) / 1e6);
    }
    return best;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    struct arena *arena = arena_open((size_t)1 << 30);
    double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
    struct plot_prepared prepared;
    struct canvas *canvas;
    struct error err;

    if (!arena || !x || !y || n < 100 || canvas_open(&canvas, 40, 160, false, &err) != OK)
        return 1;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i;
        y[i] = i % 50021 == 50020 ? NAN : 1.0 + exp(-(double)i / 2e5) + 0.1 * sin((double)i * 12.9898);
    }
    struct plot_series series = {.n = n, .x = x, .y = y, .smoothing = 0.6};
    int64_t start = clock_ticks_ns();
    if (plot_prepare(&prepared, &series, arena, &err) != OK)
        return 1;
    double prepare_ms = (double)(clock_ticks_ns() - start) / 1e6;
    series.prepared = &prepared;
    struct plot plot = {.series = &series, .n_series = 1, .x_high = (double)(n - 1),
                        .clip_spikes = true, .cursor_x = NAN, .has_rail = true, .has_axis = true,
                        .x_name = "step"};
    double whole = redraw_ms(&plot, canvas);
    plot.x_low = 0.3 * (double)n;
    plot.x_high = 0.5 * (double)n;
    printf("%.3f %.3f %.1f\n", whole, redraw_ms(&plot, canvas), prepare_ms);
    canvas_close(canvas);
    arena_close(arena);
    free(x);
    free(y);
    return 0;
}
