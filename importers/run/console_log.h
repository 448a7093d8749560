/* The event kinds that console_log.c makes beside those of console_patterns.tsv.
 *
 * console_patterns.tsv has seven columns: name (ours, stable, what event.pattern holds and checks
 * refer to), then the six of CHECKS.md Appendix B. An event's kind is the id or the word of the
 * failure_id_or_event column without its condition: "flat-zero-trainable (when 1 = 0)" gives kind
 * "flat-zero-trainable" and the check looks at capture 1; "(start marker)" gives "start-marker";
 * "(info)" gives "info"; "(event)" gives "event"; an ambiguous "a|b" gives one event of each kind
 * with the same line. Not stored as events: (benign), (prefix), (progress), (metric …).
 *
 *   kind               captures
 *   exception          1 type ("ValueError"), 2 message, 3 rank ("" when none), 4 frames: function
 *                      names of the traceback joined by ' ', outermost first, 5 first line of the
 *                      traceback ("" when the exception stands alone), 6 the first exception of a
 *                      chain ("KeyError: 'x'"), "" when there is no chain. line = the exception
 *                      line itself. Type and message are "" when the log ends inside a traceback.
 *                      One that was caught is an event, too: the rows behind it tell
 *   root-cause         torch elastic's "Root Cause (first observed failure)": 1 exit code, 2 rank,
 *                      3 pid, 4 host, 5 what stands behind "traceback :" (a signal or an error)
 *   last-line          the last non-empty line of the log
 *   last-progress      the last state of the training bar: 1 done, 2 total
 *   training-restart   the training bar (or a second start marker) begins again: 1 step before, 2
 * total eval-row           a row with eval_* keys and no loss: 1 step, "" when it has none
 *   log-summary        1 lines, 2 metric rows, 3 "training" when a training marker, a count of
 *                      trainable parameters, a metric row or a traceback through a training loop
 *                      was seen, else "", 4 ranks seen
 *
 * Per kind and pattern at most CONSOLE_MAX_EVENTS are stored (the first ones and the last); the
 * number of all stands in the event "count": 1 kind, 2 pattern, 3 number, 4 first line, 5 last
 * line. Order them by seq: the last one of a kind comes when the log has been read. */
#ifndef IMPORTERS_RUN_CONSOLE_LOG_H
#define IMPORTERS_RUN_CONSOLE_LOG_H

#include <stddef.h>

#include "core/base/error.h"

#define CONSOLE_MAX_EVENTS 200
#define CONSOLE_LINE_BYTES ((size_t)1 << 20)

struct import;
struct source_file;

/* Reads what a process printed from any text, from its start. */
MUST_CHECK int console_log_read(struct import *import, struct source_file *file,
                                struct error *err);

#endif
