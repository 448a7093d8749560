/* The user's configuration: $XDG_CONFIG_HOME/flatline/config.
 *
 *     # a comment
 *     set theme mono
 *     set line ascii           (braille, block, ascii)
 *     set ascii on
 *     bind triage open Enter o
 *     bind frame quit q C-q
 *
 * Read once before the screen opens. What is wrong is told with file and line and left out; the rest
 * counts. No file is no mistake. Options of the command line go before it. */
#ifndef TUI_CONFIG_H
#define TUI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "views/view.h"

struct config {
    char theme[64];             /* "" none */
    bool has_line;
    enum line_style line;
    bool ascii;
    char problem[400];          /* the first mistake: "FILE:LINE: what, what was expected" */
    size_t n_problems;
};

/* `frame`: the frame's table of actions, for `bind frame …`. */
void config_load(struct config *config, const struct action *frame);
bool config_parse_line_style(const char *word, enum line_style *out);

#endif
