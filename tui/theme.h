/* How style roles look. A theme is a text file: one `role = words` a line, `#` comments; words are
 * bold, dim, underline, reverse, a colour name (black red green yellow blue magenta cyan white,
 * bright-…), a number 0-255, `on` before a background colour. A role that is not named is plain.
 * The themes of themes/ are compiled in; a file of the same name under
 * $XDG_CONFIG_HOME/flatline/themes goes first. */
#ifndef TUI_THEME_H
#define TUI_THEME_H

#include "core/base/error.h"
#include "core/base/str.h"
#include "views/style.h"

struct look {
    int foreground, background;     /* 0-255, -1 the terminal's own */
    int fallback;                   /* foreground with 8 colours, -1 the terminal's own */
    bool bold, dim, underline, reverse;
};

struct theme {
    struct look looks[N_STYLES];
};

/* E_NOTFOUND with the names there are; E_PARSE with file and line. */
MUST_CHECK int theme_load(struct theme *out, const char *name, struct error *err);
MUST_CHECK int theme_parse(struct theme *out, struct str text, const char *path,
                           struct error *err);
/* The names of the compiled-in themes, NULL-terminated. */
const char *const *theme_names(void);

#endif
