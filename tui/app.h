/* The frame of the UI: layout, panes, keys, commands, worker messages, session. */
#ifndef TUI_APP_H
#define TUI_APP_H

#include "core/base/error.h"
#include "tui/options.h"

struct screen;

/* Runs the UI on the paths; the process's exit status. */
int app_run(const struct options *options);
/* The same on a screen that is open already, and closed at the end: tests bring their own. */
int app_run_on(const struct options *options, struct screen *screen);

#endif
