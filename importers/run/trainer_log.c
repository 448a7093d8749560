/* trainer_log.jsonl of LLaMA-Factory (FORMATS.md B9): a row per log, current_steps of total_steps.
 * A restart appends with smaller steps; a thread writes it, so the last line may be half. */

#include "core/checks/check.h"
#include "core/read/jsonl.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/run/metric_lines.h"

static int probe(const struct peek *peek)
{
    if (peek_name_is(peek, "trainer_log.jsonl")) {
        return 95;
    }
    bool is_lines = peek_first(peek) == '{' && peek_is_lines(peek);
    return is_lines && peek_has_key(peek, "current_steps") && peek_has_key(peek, "total_steps") ? 88
                                                                                                : 0;
}

static int run(struct import *import, struct error *err)
{
    struct metric_rows rows;
    int rc = metric_rows_begin(&rows, import, err);
    rc = rc == OK ? metric_lines_read(&rows, err) : rc;
    metric_rows_end(&rows);
    if (rc != OK || rows.last_total == NONE) {
        return rc;
    }
    char total[32];
    struct setting setting = {.side = SIDE_TRAIN,
                              .raw_name = "total_steps",
                              .name = "max_steps",
                              .value = metric_lines_number(total, rows.last_total),
                              .type = VALUE_INT,
                              .line = rows.last_line};
    return sink_setting(import->sink, &setting, err);
}

const struct importer importer_trainer_log = {
    .id = "trainer_log",
    .title = "trainer_log.jsonl of LLaMA-Factory",
    .hint = "trainer_log.jsonl in the output folder",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES,
    .version = 1,
    .role = "metrics",
    .probe = probe,
    .run = run,
};
