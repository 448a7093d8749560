/* How style roles look. See theme.h. */
#include "tui/theme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/number.h"
#include "core/read/source.h"

#define THEME_BYTES ((size_t)1 << 16)

#define THEMES(X) X(default) X(light) X(mono) X(colourblind)

#define THEME_EXTERN(name)                                                                       \
    extern const unsigned char embedded_theme_##name[];                                          \
    extern const size_t embedded_theme_##name##_bytes;
THEMES(THEME_EXTERN)
#undef THEME_EXTERN

#define THEME_NAME(name) #name,
static const char *const NAMES[] = {THEMES(THEME_NAME) NULL};
#undef THEME_NAME

static bool embedded(const char *name, struct str *text)
{
#define THEME_TEXT(id)                                                                           \
    if (strcmp(name, #id) == 0) {                                                                \
        *text = str_from((const char *)embedded_theme_##id, embedded_theme_##id##_bytes);        \
        return true;                                                                             \
    }
    THEMES(THEME_TEXT)
#undef THEME_TEXT
    return false;
}

const char *const *theme_names(void)
{
    return NAMES;
}

static int colour_number(struct str word)
{
    static const char *const names[] = {"black", "red",     "green", "yellow",
                                        "blue",  "magenta", "cyan",  "white"};
    int bright = str_starts(word, "bright-") ? 8 : 0;
    int64_t number;

    if (bright)
        word = str_skip(word, 7);
    for (int i = 0; i < 8; i++)
        if (str_is(word, names[i]))
            return i + bright;
    if (!bright && number_parse_int(word, &number) && number >= 0 && number <= 255)
        return (int)number;
    return -1;
}

static bool apply_word(struct look *look, struct str word, bool *is_background)
{
    int colour;

    if (str_is(word, "on")) {
        *is_background = true;
        return true;
    }
    if (str_is(word, "bold"))
        return look->bold = true;
    if (str_is(word, "dim"))
        return look->dim = true;
    if (str_is(word, "underline"))
        return look->underline = true;
    if (str_is(word, "reverse"))
        return look->reverse = true;
    if (str_is(word, "plain"))
        return true;
    colour = colour_number(word);
    if (colour < 0)
        return false;
    if (*is_background)
        look->background = colour;
    else if (look->foreground < 0)
        look->foreground = colour;
    else                                /* a second colour: the one for 8-colour terminals */
        look->fallback = colour;
    *is_background = false;
    return true;
}

/* Takes the word before the next blanks off *rest; false at the end. */
static bool next_word(struct str *rest, struct str *word)
{
    size_t n = 0;

    *rest = str_trim(*rest);
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
        n++;
    *word = str_first(*rest, n);
    *rest = str_skip(*rest, n);
    return n > 0;
}

static int parse_line(struct theme *theme, struct str line, struct error *err)
{
    struct str rest, role, word;
    char name[32];
    bool is_background = false;
    ptrdiff_t comment = str_find(line, "#");
    int style;

    if (comment >= 0)
        line = str_first(line, (size_t)comment);
    line = str_trim(line);
    if (line.n == 0)
        return OK;
    rest = line;
    if (!str_split(&rest, '=', &role) || !rest.p)
        return error_set(err, E_PARSE, "expected role = words");
    role = str_trim(role);
    snprintf(name, sizeof name, "%.*s", (int)(role.n < 31 ? role.n : 31), role.p);
    style = style_by_name(name);
    if (style < 0)
        return error_set(err, E_PARSE, "unknown role %s", name);

    struct look *look = &theme->looks[style];

    *look = (struct look){.foreground = -1, .background = -1, .fallback = -1};
    while (next_word(&rest, &word)) {
        if (is_background && colour_number(word) < 0)
            break;
        if (!apply_word(look, word, &is_background))
            return error_set(err, E_PARSE, "unknown word %.*s", (int)word.n, word.p);
    }
    if (is_background)
        return error_set(err, E_PARSE, "expected a colour behind on");
    if (look->fallback < 0 && look->foreground >= 0)
        look->fallback = look->foreground < 8 ? look->foreground
                         : look->foreground < 16 ? look->foreground - 8 : -1;
    return OK;
}

int theme_parse(struct theme *out, struct str text, const char *path, struct error *err)
{
    struct theme theme;
    struct str line;
    int64_t number = 0;

    for (int i = 0; i < N_STYLES; i++)
        theme.looks[i] = (struct look){.foreground = -1, .background = -1, .fallback = -1};
    while (str_split(&text, '\n', &line)) {
        int rc = parse_line(&theme, line, err);

        number++;
        if (rc != OK) {
            error_at(err, path, number, NONE);
            return rc;
        }
    }
    *out = theme;
    return OK;
}

/* The user's own file of that name: true when there is one. */
static bool own_file(const char *name, char *path, size_t n)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (strchr(name, '/'))
        return snprintf(path, n, "%s", name) < (int)n && access(path, R_OK) == 0;
    if (config && config[0])
        snprintf(path, n, "%s/flatline/themes/%s.theme", config, name);
    else
        snprintf(path, n, "%s/.config/flatline/themes/%s.theme", home ? home : "", name);
    return access(path, R_OK) == 0;
}

int theme_load(struct theme *out, const char *name, struct error *err)
{
    char path[4096];
    struct str text;
    char *bytes;
    size_t n;
    int rc;

    if (own_file(name, path, sizeof path)) {
        rc = source_slurp(path, THEME_BYTES, &bytes, &n, err);
        if (rc != OK)
            return rc;
        rc = theme_parse(out, str_from(bytes, n), path, err);
        free(bytes);
        return rc;
    }
    if (!embedded(name, &text))
        return error_set(err, E_NOTFOUND,
                         "no theme %s, expected default, light, mono or colourblind", name);
    return theme_parse(out, text, name, err);
}
