/* From a text to settings. See config_text.h. */
#include "core/facts/config_text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/facts/config_names.h"
#include "core/facts/config_values.h"
#include "core/facts/secrets.h"
#include "core/read/shell_words.h"
#include "core/read/yaml.h"

#define MAX_SETTINGS    5000
#define MAX_VALUE_BYTES 4096
#define MAX_NAME_BYTES  512
#define MAX_DEPTH       32

struct list {
    struct arena *arena;
    struct setting *settings;
    size_t n, capacity;
};

/* ---- One setting ---- */

static bool is_true(const char *value)
{
    return strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0;
}

static bool is_false(const char *value)
{
    return strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0;
}

/* Valid UTF-8, cut. */
static const char *clean(struct arena *arena, struct str text, size_t limit)
{
    struct buf out;

    if (text.n <= limit && unicode_is_valid(text))
        return arena_strndup(arena, text.p, text.n);
    buf_init(&out, limit * 4 + 64);
    unicode_valid(&out, str_first(text, limit));
    if (text.n > limit)
        buf_printf(&out, "… (%zu bytes)", text.n);
    const char *copy = arena_strdup(arena, out.p ? out.p : "");
    buf_free(&out);
    return copy;
}

static void put(struct list *list, const char *raw_name, struct str value, enum value_type type,
                int64_t line)
{
    struct setting *room;
    struct setting s = {.side = SIDE_TRAIN, .type = type, .line = line};
    bool inverts = false;

    if (list->n >= MAX_SETTINGS || secret_name(raw_name))
        return;
    s.raw_name = clean(list->arena, str_of(raw_name), MAX_NAME_BYTES);
    s.value = clean(list->arena, value, MAX_VALUE_BYTES);
    if (secret_value(s.value))
        return;
    s.name = config_name(SIDE_TRAIN, s.raw_name, &inverts);
    if (s.name)
        s.value = config_value(s.name, s.value, &s.type);
    if (inverts && (is_true(s.value) || is_false(s.value)))
        s.value = is_true(s.value) ? "false" : "true";
    else if (inverts)
        s.name = NULL;
    room = arena_room(list->arena, list->settings, list->n, &list->capacity, sizeof s);
    if (!room)
        return;
    list->settings = room;
    list->settings[list->n++] = s;
}

/* ---- Trees ---- */

static enum value_type type_of(const struct json *value)
{
    switch (value->type) {
    case JSON_FALSE:
    case JSON_TRUE:
        return VALUE_BOOL;
    case JSON_NUMBER:
        return value->is_integer ? VALUE_INT : VALUE_FLOAT;
    case JSON_STRING:
        return VALUE_TEXT;
    case JSON_ARRAY:
        return VALUE_LIST;
    case JSON_OBJECT:
        return VALUE_OBJECT;
    case JSON_NULL:
        break;
    }
    return VALUE_NULL;
}

static void put_value(struct list *list, const char *name, const struct json *value)
{
    struct buf text;

    if (value->type == JSON_NUMBER || value->type == JSON_STRING) {
        put(list, name, value->text, type_of(value), value->line);
        return;
    }
    if (secret_in_tree(value))
        return;
    buf_init(&text, (size_t)1 << 20);
    json_write(&text, value);
    put(list, name, buf_view(&text), type_of(value), value->line);
    buf_free(&text);
}

static void put_object(struct list *list, const char *prefix, const struct json *object, int depth)
{
    char name[MAX_NAME_BYTES];

    for (const struct json *child = object->child; child; child = child->next) {
        int n = snprintf(name, sizeof name, "%s%s%.*s", prefix, *prefix ? "." : "",
                         (int)(child->key.n < sizeof name ? child->key.n : sizeof name),
                         child->key.p ? child->key.p : "");

        if (n <= 0 || (size_t)n >= sizeof name)
            continue;
        if (child->type == JSON_OBJECT && child->child && depth < MAX_DEPTH) {
            if (!secret_name(name))
                put_object(list, name, child, depth + 1);
        } else {
            put_value(list, name, child);
        }
    }
}

static int read_tree(enum config_form form, struct str text, struct list *list, struct error *err)
{
    const struct json *tree = NULL;
    int rc = form == CONFIG_YAML ? yaml_parse(text, list->arena, &tree, err)
                                 : json_parse(text, true, list->arena, &tree, NULL, err);

    if (rc != OK)
        return rc;
    if (tree && tree->type == JSON_NULL)
        return OK;                      /* only comments */
    if (!json_is(tree, JSON_OBJECT))
        return error_set(err, E_PARSE, "not a mapping of settings");
    put_object(list, "", tree, 0);
    return OK;
}

/* ---- TOML: tables and one-line values; what is more is no form that we know ---- */

static int odd_line(int64_t line, struct error *err)
{
    int rc = error_set(err, E_PARSE, "a line that is no key = value");

    error_at(err, NULL, line, NONE);
    return rc;
}

/* Without a comment at its end; quotes keep theirs. */
static struct str without_comment(struct str text)
{
    char quote = '\0';

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (quote) {
            if (c == quote && (i == 0 || text.p[i - 1] != '\\'))
                quote = '\0';
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '#') {
            return str_trim(str_first(text, i));
        }
    }
    return str_trim(text);
}

static struct str unquoted(struct str text)
{
    if (text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0])
        return str_from(text.p + 1, text.n - 2);
    return text;
}

static enum value_type type_of_text(struct str value)
{
    int64_t integer;
    double number;

    if (str_is_ignoring_case(value, "true") || str_is_ignoring_case(value, "false"))
        return VALUE_BOOL;
    if (number_parse_int(value, &integer))
        return VALUE_INT;
    if (value.n && value.p[0] == '[')
        return VALUE_LIST;
    return number_parse_any(value, &number) ? VALUE_FLOAT : VALUE_TEXT;
}

static bool is_open_value(struct str value)
{
    return str_starts(value, "\"\"\"") || str_starts(value, "'''") ||
           (value.n && value.p[0] == '[' && value.p[value.n - 1] != ']') ||
           (value.n && value.p[0] == '{' && value.p[value.n - 1] != '}');
}

static int read_toml(struct str text, struct list *list, struct error *err)
{
    char table[MAX_NAME_BYTES] = "", name[MAX_NAME_BYTES * 2];
    struct str rest = text, line, key;

    for (int64_t i = 1; str_split(&rest, '\n', &line); i++) {
        line = without_comment(str_trim(line));
        if (line.n == 0)
            continue;
        if (line.p[0] == '[') {
            if (line.n < 3 || line.p[1] == '[' || line.p[line.n - 1] != ']' || line.n > MAX_NAME_BYTES)
                return odd_line(i, err);
            snprintf(table, sizeof table, "%.*s.", (int)line.n - 2, line.p + 1);
            continue;
        }
        struct str value = line;
        if (!str_split(&value, '=', &key) || !value.p)
            return odd_line(i, err);
        value = str_trim(value);
        key = unquoted(str_trim(key));
        if (key.n == 0 || key.n >= MAX_NAME_BYTES || is_open_value(value))
            return odd_line(i, err);
        snprintf(name, sizeof name, "%s%.*s", table, (int)key.n, key.p);
        enum value_type type = type_of_text(value);
        put(list, name, unquoted(value), type, i);
    }
    return OK;
}

/* ---- Start scripts: --name value, --name=value, --switch ---- */

static bool is_option(const struct shell_word *word)
{
    return word->text[0] == '-' && word->text[1] == '-' && word->text[2];
}

static void put_option(struct list *list, struct str name, struct str value, int64_t line)
{
    char plain[MAX_NAME_BYTES];
    size_t n = name.n < sizeof plain - 1 ? name.n : sizeof plain - 1;

    for (size_t i = 0; i < n; i++)
        plain[i] = name.p[i] == '-' ? '_' : name.p[i];
    plain[n] = '\0';
    put(list, plain, value, type_of_text(value), line);
}

static size_t put_words(struct list *list, const struct shell_command *command, size_t i)
{
    const struct shell_word *word = &command->words[i];
    const char *name = word->text + 2, *equals = strchr(name, '=');
    size_t end = i + 1;
    struct buf value;

    if (equals) {
        put_option(list, str_from(name, (size_t)(equals - name)), str_of(equals + 1), word->line);
        return end;
    }
    while (end < command->n && !is_option(&command->words[end]) &&
           (end == i + 1 || !str_ends(str_of(command->words[end].text), ".py")))
        end++;
    buf_init(&value, MAX_VALUE_BYTES * 4);
    for (size_t k = i + 1; k < end; k++) {
        if (k > i + 1)
            buf_putc(&value, ' ');
        buf_puts(&value, command->words[k].text);
    }
    put_option(list, str_of(name), end == i + 1 ? str_of("true") : buf_view(&value), word->line);
    buf_free(&value);
    return end;
}

static int read_script(struct str text, struct list *list, struct error *err)
{
    struct shell_reader reader = {text, 1};
    struct shell_command command;

    while (shell_next(&reader, list->arena, &command))
        for (size_t i = 0; i < command.n;)
            i = is_option(&command.words[i]) ? put_words(list, &command, i) : i + 1;
    return list->n ? OK : error_set(err, E_PARSE, "no command with --name value");
}

/* ---- All forms ---- */

struct form_name {
    const char *end;
    enum config_form form;
};

static const struct form_name FORMS[] = {
    {".yaml", CONFIG_YAML},   {".yml", CONFIG_YAML},   {".json", CONFIG_JSON},
    {".jsonc", CONFIG_JSON},  {".toml", CONFIG_TOML},  {".sh", CONFIG_SCRIPT},
    {".bash", CONFIG_SCRIPT}, {".slurm", CONFIG_SCRIPT}, {".sbatch", CONFIG_SCRIPT},
};

enum config_form config_form_of(const char *path)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        size_t n = strlen(FORMS[i].end), length = strlen(path);

        if (length > n && strcasecmp(path + length - n, FORMS[i].end) == 0)
            return FORMS[i].form;
    }
    return CONFIG_OTHER;
}

const char *config_form_name(enum config_form form)
{
    static const char *const NAMES[] = {"text", "YAML", "JSON", "TOML", "a start script"};

    return NAMES[form];
}

int config_text_read(enum config_form form, struct str text, struct arena *arena,
                     struct config_text *out, struct error *err)
{
    struct list list = {.arena = arena};
    int rc = E_PARSE;

    if (text.n > CONFIG_TEXT_BYTES)
        return error_set(err, E_LIMIT, "%zu bytes, at most %zu are read as settings", text.n,
                         CONFIG_TEXT_BYTES);
    if (text.n && memchr(text.p, '\0', text.n))
        return error_set(err, E_PARSE, "binary, expected a text");
    switch (form) {
    case CONFIG_YAML:
    case CONFIG_JSON:
        rc = read_tree(form, text, &list, err);
        break;
    case CONFIG_TOML:
        rc = read_toml(text, &list, err);
        break;
    case CONFIG_SCRIPT:
        rc = read_script(text, &list, err);
        break;
    case CONFIG_OTHER:
        rc = error_set(err, E_PARSE, "of no form that is parsed");
        break;
    }
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "the settings of a text");
    if (rc == OK)
        *out = (struct config_text){form, list.settings, list.n};
    return rc;
}

size_t config_text_n_known(const struct config_text *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->n; i++)
        n += config_name_is_known(text->settings[i].raw_name);
    return n;
}
