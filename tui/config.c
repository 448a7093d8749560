/* Reads the configuration file. See config.h. */
#include "tui/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/read/source.h"
#include "tui/keys.h"
#include "tui/theme.h"
#include "views/registry.h"

#define CONFIG_BYTES ((size_t)1 << 20)

struct reader {
    struct config *config;
    const struct action *frame;
    const char *path;
    int line;
};

static void complain(struct reader *reader, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void complain(struct reader *reader, const char *fmt, ...)
{
    const char *home = getenv("HOME"), *path = reader->path;
    size_t n = home ? strlen(home) : 0;
    bool is_home = n > 1 && strncmp(path, home, n) == 0 && path[n] == '/';
    char what[200], whole[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    snprintf(whole, sizeof whole, "%s%.180s:%d: %s", is_home ? "~" : "", is_home ? path + n : path,
             reader->line, what);
    log_line("config: %s", whole);
    if (reader->config->n_problems++ == 0)
        snprintf(reader->config->problem, sizeof reader->config->problem, "%s", whole);
}

bool config_parse_line_style(const char *word, enum line_style *out)
{
    static const char *const names[] = {
        [LINE_BRAILLE] = "braille", [LINE_BLOCK] = "block", [LINE_ASCII] = "ascii"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], word) == 0) {
            *out = (enum line_style)i;
            return true;
        }
    return false;
}

static void read_set(struct reader *reader, const char *name, const char *value)
{
    struct config *config = reader->config;

    if (strcmp(name, "theme") == 0) {
        struct theme theme;
        struct error err;

        if (theme_load(&theme, value, &err) == OK)
            snprintf(config->theme, sizeof config->theme, "%s", value);
        else
            complain(reader, "%.150s", err.message);
    } else if (strcmp(name, "line") == 0) {
        config->has_line = config_parse_line_style(value, &config->line);
        if (!config->has_line)
            complain(reader, "line %.40s, expected braille, block or ascii", value);
    } else if (strcmp(name, "ascii") == 0) {
        config->ascii = strcmp(value, "on") == 0;
        if (!config->ascii && strcmp(value, "off") != 0)
            complain(reader, "ascii %.40s, expected on or off", value);
    } else {
        complain(reader, "set %.40s, expected theme, line or ascii", name);
    }
}

static bool has_action(const struct action *actions, const char *name)
{
    for (const struct action *action = actions; action && action->name; action++)
        if (strcmp(action->name, name) == 0)
            return true;
    return false;
}

static void read_bind(struct reader *reader, const char *view, const char *action,
                      const char *keys)
{
    const struct view_ops *ops = view_by_id(view);
    bool is_frame = strcmp(view, "frame") == 0;

    if (!ops && !is_frame)
        complain(reader, "bind %.40s, expected frame or the name of a pane", view);
    else if (!has_action(is_frame ? reader->frame : ops->actions, action))
        complain(reader, "%.40s has no action %.40s; ? lists them", view, action);
    else if (!keys[0])
        complain(reader, "bind %.40s %.40s, expected keys behind it", view, action);
    else if (!keys_rebind(view, action, keys))
        complain(reader, "keys %.60s, expected names such as j, Space, C-d, F1", keys);
}

/* The next word of the line, copied; "" at its end. */
static void take_word(struct str *rest, char *out, size_t n)
{
    struct str word = {0};

    *rest = str_trim(*rest);
    if (rest->n)
        (void)str_split(rest, ' ', &word);
    if (!rest->p)
        *rest = str_of("");
    snprintf(out, n, "%.*s", (int)(word.n < n ? word.n : n - 1), word.n ? word.p : "");
}

static void read_line(struct reader *reader, struct str line)
{
    char verb[16], first[64], second[64], rest[256];

    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '#' && (i == 0 || line.p[i - 1] == ' ') && i + 1 < line.n &&
            (i == 0 || line.p[i + 1] == ' '))
            line.n = i;         /* a lone # among keys is a key */
    line = str_trim(line);
    if (line.n == 0 || line.p[0] == '#')
        return;
    take_word(&line, verb, sizeof verb);
    take_word(&line, first, sizeof first);
    take_word(&line, second, sizeof second);
    line = str_trim(line);
    snprintf(rest, sizeof rest, "%.*s", (int)(line.n < 255 ? line.n : 255), line.n ? line.p : "");
    if (strcmp(verb, "set") == 0 && second[0] && !rest[0])
        read_set(reader, first, second);
    else if (strcmp(verb, "bind") == 0 && second[0])
        read_bind(reader, first, second, rest);
    else
        complain(reader, "%.40s, expected: set NAME VALUE, or bind PANE ACTION KEYS", verb);
}

static bool config_path(char *out, size_t n)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int used = 0;

    if (config && config[0] == '/')
        used = snprintf(out, n, "%s/flatline/config", config);
    else if (home && home[0] == '/')
        used = snprintf(out, n, "%s/.config/flatline/config", home);
    return used > 0 && (size_t)used < n;
}

void config_load(struct config *config, const struct action *frame)
{
    struct reader reader = {.config = config, .frame = frame};
    char path[4096], *text = NULL;
    struct str rest, line;
    struct error err;
    size_t n = 0;

    *config = (struct config){0};
    if (!config_path(path, sizeof path) || access(path, F_OK) != 0)
        return;
    reader.path = path;
    if (source_slurp(path, CONFIG_BYTES, &text, &n, &err) != OK) {
        complain(&reader, "%.150s", err.message);
        return;
    }
    rest = str_from(text, n);
    while (str_split(&rest, '\n', &line)) {
        reader.line++;
        read_line(&reader, line);
    }
    free(text);
}
