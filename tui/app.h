/* The frame of the UI: layout, panes, keys, commands, worker messages, session. */
#ifndef TUI_APP_H
#define TUI_APP_H

#include "core/base/error.h"
#include "tui/options.h"

/* Runs the UI on the paths; the process's exit status. */
int app_run(const struct options *options);

#endif
