/* What was counted over all rows, with histograms of length and of supervised tokens. See labels_parts.h. */
#include <inttypes.h>

#include "core/exports/labels_report.h"
#include "views/labels_parts.h"

#define N_BUCKETS 12

static int32_t number_of(const struct audit_row *row, bool of_trained)
{
    return of_trained ? row->n_trained : row->n_tokens;
}

static void say_histogram(struct textflow *flow, const struct audit *audit, bool of_trained)
{
    int64_t counts[N_BUCKETS] = {0}, most = 1, high = 1, low = 0;
    int room = flow->columns - 30;

    for (int64_t i = 0; i < audit->n_rows; i++)
        if (number_of(&audit->rows[i], of_trained) > high)
            high = number_of(&audit->rows[i], of_trained);
    if (!of_trained && audit->max_length > high)
        high = audit->max_length;
    int64_t width = high / N_BUCKETS + 1;

    for (int64_t i = 0; i < audit->n_rows; i++) {
        int32_t number = number_of(&audit->rows[i], of_trained);

        if (number >= 0 && ++counts[number / width] > most)
            most = counts[number / width];
    }
    flow_puts(flow, STYLE_STRONG, of_trained ? "supervised tokens a row" : "tokens a row, before the cut");
    flow_break(flow);
    for (int i = 0; i < N_BUCKETS; i++, low += width) {
        bool has_limit = !of_trained && audit->max_length >= low && audit->max_length < low + width;
        int bar = room > 0 ? (int)(counts[i] * room / most) : 0;

        flow_printf(flow, STYLE_TEXT, "%7" PRId64 "-%-7" PRId64 "%8" PRId64 " ", low, low + width - 1,
                    counts[i]);
        for (int k = 0; k < bar || (k == 0 && counts[i]); k++)
            flow_puts(flow, STYLE_CURVE_A, "#");
        if (has_limit)
            flow_printf(flow, STYLE_FAIL, " <- limit %" PRId64, audit->max_length);
        flow_break(flow);
    }
    flow_break(flow);
}

static void say_summary(struct textflow *flow, const struct audit *audit)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    labels_summary(&text, audit);
    flow_text(flow, STYLE_TEXT, arena_str(flow->arena, buf_view(&text)));
    buf_free(&text);
    flow_break(flow);
}

void labels_write_histograms(struct textflow *flow, const struct audit *audit)
{
    say_summary(flow, audit);
    say_histogram(flow, audit, false);
    say_histogram(flow, audit, true);
}
