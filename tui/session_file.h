/* Where the user was, per run: kept in $XDG_STATE_HOME/flatline/session, one line a run, newest
 * last, at most SESSION_RUNS. Written whole through a temporary file; never fatal. */
#ifndef TUI_SESSION_FILE_H
#define TUI_SESSION_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define SESSION_RUNS 200

struct session_place {
    char check_id[64];          /* "" none */
    int64_t step;               /* NONE */
    char view[32];              /* pane in the main place */
    char focus[32];
    int64_t saved_at;
};

/* False: nothing is kept for this run. */
bool session_file_load(const char *run_key, struct session_place *out);
/* NULL place forgets the run. */
void session_file_save(const char *run_key, const struct session_place *place);

#endif
