/* Key codes, their names, and bindings.
 *
 * A code is a Unicode code point for a character, 1 … 26 for Ctrl-A … Ctrl-Z, or one of enum
 * key_code. Names: "j", "Space", "Tab", "Enter", "Esc", "Up", "PgDn", "C-d", "C-Left", "F1". */
#ifndef TUI_KEYS_H
#define TUI_KEYS_H

#include <stddef.h>

#include "views/view.h"

enum key_code {
    KEYCODE_FIRST = 0x200000,
    KEYCODE_UP,
    KEYCODE_DOWN,
    KEYCODE_LEFT,
    KEYCODE_RIGHT,
    KEYCODE_HOME,
    KEYCODE_END,
    KEYCODE_PAGE_UP,
    KEYCODE_PAGE_DOWN,
    KEYCODE_ENTER,
    KEYCODE_TAB,
    KEYCODE_BACKTAB,
    KEYCODE_ESC,
    KEYCODE_BACKSPACE,
    KEYCODE_DELETE,
    KEYCODE_CTRL_LEFT,
    KEYCODE_CTRL_RIGHT,
    KEYCODE_F1,
    KEYCODE_F12 = KEYCODE_F1 + 11
};

/* -1: no such key. */
int key_parse(const char *name);
/* At most 16 bytes with the NUL. */
void key_to_name(int key, char out[16]);
/* The action of a table that a key is bound to, or NULL. The config file's `bind VIEW ACTION KEYS`
 * (keys_rebind) goes before the table's own keys. */
const struct action *keys_find(const struct action *actions, const char *view_id, int key);
/* The keys of an action as bound now: "j Down". */
const char *keys_of(const struct action *action, const char *view_id);
/* From the config file; texts are copied. False: an unknown key name. */
bool keys_rebind(const char *view_id, const char *action, const char *keys);

#endif
