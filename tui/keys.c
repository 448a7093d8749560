/* Key codes, their names, and bindings. See keys.h. */
#include "tui/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"

static const struct {
    const char *name;
    int key;
} NAMES[] = {
    {"Space", ' '},
    {"Up", KEYCODE_UP},
    {"Down", KEYCODE_DOWN},
    {"Left", KEYCODE_LEFT},
    {"Right", KEYCODE_RIGHT},
    {"Home", KEYCODE_HOME},
    {"End", KEYCODE_END},
    {"PgUp", KEYCODE_PAGE_UP},
    {"PgDn", KEYCODE_PAGE_DOWN},
    {"Enter", KEYCODE_ENTER},
    {"Tab", KEYCODE_TAB},
    {"S-Tab", KEYCODE_BACKTAB},
    {"Esc", KEYCODE_ESC},
    {"BackSpace", KEYCODE_BACKSPACE},
    {"Delete", KEYCODE_DELETE},
    {"C-Left", KEYCODE_CTRL_LEFT},
    {"C-Right", KEYCODE_CTRL_RIGHT},
};

#define N_NAMES (sizeof NAMES / sizeof NAMES[0])

int key_parse(const char *name)
{
    int32_t codepoint;
    struct str text = str_of(name);

    for (size_t i = 0; i < N_NAMES; i++)
        if (strcmp(NAMES[i].name, name) == 0)
            return NAMES[i].key;
    if (name[0] == 'C' && name[1] == '-' && name[2] >= 'a' && name[2] <= 'z' && !name[3])
        return name[2] - 'a' + 1;
    if (name[0] == 'F' && name[1] >= '1' && name[1] <= '9') {
        int n = name[1] - '0';

        if (name[2] >= '0' && name[2] <= '9')
            n = n * 10 + name[2] - '0';
        if (n <= 12 && strlen(name) == (n > 9 ? 3u : 2u))
            return KEYCODE_F1 + n - 1;
    }
    if (text.n && unicode_next(text, &codepoint) == text.n && codepoint > ' ')
        return codepoint;
    return -1;
}

void key_to_name(int key, char out[16])
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (NAMES[i].key == key) {
            snprintf(out, 16, "%s", NAMES[i].name);
            return;
        }
    if (key >= KEYCODE_F1 && key <= KEYCODE_F12) {
        snprintf(out, 16, "F%d", key - KEYCODE_F1 + 1);
    } else if (key >= 1 && key <= 26) {
        snprintf(out, 16, "C-%c", 'a' + key - 1);
    } else {
        size_t n = unicode_put(out, key);

        out[n] = '\0';
    }
}

static bool list_has(const char *keys, int key)
{
    struct str rest = str_of(keys), word;
    char name[16];

    while (str_split(&rest, ' ', &word)) {
        snprintf(name, sizeof name, "%.*s", (int)(word.n < 15 ? word.n : 15), word.p);
        if (name[0] && key_parse(name) == key)
            return true;
    }
    return false;
}

/* Rebindings live as long as the program. */
struct rebinding {
    char *view, *action, *keys;
};
static struct rebinding *rebindings;
static size_t n_rebindings;

bool keys_rebind(const char *view_id, const char *action, const char *keys)
{
    struct rebinding made = {strdup(view_id), strdup(action), strdup(keys)};
    struct rebinding *grown = realloc(rebindings, (n_rebindings + 1) * sizeof *grown);
    struct str rest = str_of(keys), word;
    char name[16];

    if (grown)
        rebindings = grown;
    while (str_split(&rest, ' ', &word)) {
        snprintf(name, sizeof name, "%.*s", (int)(word.n < 15 ? word.n : 15), word.p);
        if (name[0] && key_parse(name) < 0)
            grown = NULL;
    }
    if (!grown || !made.view || !made.action || !made.keys) {
        free(made.view);
        free(made.action);
        free(made.keys);
        return false;
    }
    rebindings[n_rebindings++] = made;
    return true;
}

const char *keys_of(const struct action *action, const char *view_id)
{
    for (size_t i = n_rebindings; i-- > 0;)
        if (strcmp(rebindings[i].view, view_id) == 0 &&
            strcmp(rebindings[i].action, action->name) == 0)
            return rebindings[i].keys;
    return action->keys;
}

const struct action *keys_find(const struct action *actions, const char *view_id, int key)
{
    if (!actions)
        return NULL;
    for (const struct action *action = actions; action->name; action++)
        if (list_has(keys_of(action, view_id), key))
            return action;
    return NULL;
}
