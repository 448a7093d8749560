/* Lengths as bars. See length_bars.h. */
#include "views/length_bars.h"

enum { TEXT = 30, MAX_BAR = 40, MIN_BAR = 5 };

const char *length_bar(const struct length_bins *bins, int k, int columns, bool ascii, struct arena *arena)
{
    int width = columns - TEXT < MAX_BAR ? columns - TEXT : MAX_BAR;
    int64_t most = 1;
    struct buf out;

    if (width < MIN_BAR || k < 0 || k >= LENGTH_BINS)
        return NULL;
    int64_t n = bins->n[k];
    for (int i = 0; i < LENGTH_BINS; i++)
        most = bins->n[i] > most ? bins->n[i] : most;
    buf_init(&out, 4096);
    if (k + 1 < LENGTH_BINS)
        buf_printf(&out, "  %3.1f-%3.1fx ", bins->from[k], bins->from[k + 1]);
    else
        buf_printf(&out, "  >=%3.1fx   ", bins->from[k]);
    for (int64_t cell = 0; cell < (width * n + most - 1) / most; cell++)
        buf_puts(&out, ascii ? "#" : "\xe2\x96\x88");
    buf_printf(&out, " %lld", (long long)n);
    if (n > 0)
        buf_printf(&out, ", won %.0f %%", 100.0 * bins->wins[k] / (double)n);
    const char *text = out.failed ? NULL : arena_strndup(arena, out.p, out.n);
    buf_free(&out);
    return text;
}
