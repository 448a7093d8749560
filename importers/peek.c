/* What probes ask of the first bytes of a file. */
#include "importers/peek.h"

#include <string.h>
#include <strings.h>

#include "core/facts/config_names.h"

#define KEY_MAX_BYTES 128

bool peek_name_is(const struct peek *peek, const char *name)
{
    return strcasecmp(peek->name, name) == 0;
}

bool peek_name_ends(const struct peek *peek, const char *suffix)
{
    size_t n = strlen(peek->name), m = strlen(suffix);

    return n >= m && strcasecmp(peek->name + n - m, suffix) == 0;
}

bool peek_name_starts(const struct peek *peek, const char *prefix)
{
    return strncasecmp(peek->name, prefix, strlen(prefix)) == 0;
}

static struct str head_text(const struct peek *peek)
{
    struct str head = peek->head;

    if (str_starts(head, "\xef\xbb\xbf"))
        head = str_skip(head, 3);
    while (head.n && strchr(" \t\r\n", head.p[0]) && head.p[0])
        head = str_skip(head, 1);
    return head;
}

char peek_first(const struct peek *peek)
{
    struct str head = head_text(peek);

    return head.n ? head.p[0] : 0;
}

static bool is_second_value(struct str line)
{
    line = str_trim(line);
    return line.n && line.p[0] == '{';
}

/* The first line is a value of its own when it ends with the bracket that closes it. */
static bool is_whole_object(struct str line)
{
    line = str_trim(line);
    return line.n >= 2 && line.p[0] == '{' && line.p[line.n - 1] == '}';
}

static bool is_lines_name(const struct peek *peek)
{
    return peek_name_ends(peek, ".jsonl") || peek_name_ends(peek, ".ndjson");
}

/* A file of lines by its name is one although a line of it is damaged: a later one is whole. */
static bool has_later_line(const struct peek *peek, struct str rest)
{
    struct str line;

    if (!is_lines_name(peek))
        return false;
    while (str_split(&rest, '\n', &line))
        if (line.n && line.p[0] == '{' && is_whole_object(line))
            return true;
    return false;
}

bool peek_is_lines(const struct peek *peek)
{
    struct str rest = head_text(peek), first, second = {0};
    bool head_is_all = (int64_t)peek->head.n >= peek->size;

    if (!str_split(&rest, '\n', &first) || first.n == 0)
        return false;
    if (first.p[0] == '{' && !rest.p && !head_is_all)
        return is_lines_name(peek); /* one line longer than the head */
    if (!is_whole_object(first)) /* "{" or "[" alone opens a document that is laid out over lines */
        return str_trim(first).n > 1 && first.p[0] != '[' && has_later_line(peek, rest);
    while (str_split(&rest, '\n', &second))
        if (str_trim(second).n)
            return is_second_value(second) || has_later_line(peek, rest);
    return true;
}

bool peek_is_object(const struct peek *peek)
{
    struct str rest = head_text(peek), first, second;

    if (peek_first(peek) != '{')
        return false;
    if (!str_split(&rest, '\n', &first) || !is_whole_object(first))
        return true;
    while (str_split(&rest, '\n', &second))
        if (str_trim(second).n)
            return false;
    return true;
}

bool peek_is_yaml_name(const struct peek *peek)
{
    return peek_name_ends(peek, ".yaml") || peek_name_ends(peek, ".yml");
}

/* ---- Keys ---- */

struct key_walk {
    bool (*key)(void *ctx, const char *name);
    void *ctx;
};

static bool give(const struct key_walk *walk, struct str name)
{
    char text[KEY_MAX_BYTES];

    if (name.n == 0 || name.n >= sizeof text)
        return true;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return walk->key(walk->ctx, text);
}

/* Strings that a colon follows. */
static void json_keys(struct str text, const struct key_walk *walk)
{
    size_t i = 0;

    while (i < text.n) {
        size_t begin, after;

        if (text.p[i++] != '"')
            continue;
        begin = i;
        while (i < text.n && text.p[i] != '"')
            i += text.p[i] == '\\' ? 2 : 1;
        if (i >= text.n)
            return;
        after = ++i;
        while (after < text.n && text.p[after] && strchr(" \t\r\n", text.p[after]))
            after++;
        if (after < text.n && text.p[after] == ':' &&
            !give(walk, str_from(text.p + begin, i - 1 - begin)))
            return;
    }
}

static bool is_key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./", c));
}

static void yaml_keys(struct str text, const struct key_walk *walk)
{
    struct str line;

    while (str_split(&text, '\n', &line)) {
        size_t n = 0;

        line = str_trim(line);
        if (line.n > 1 && line.p[0] == '-' && line.p[1] == ' ')
            line = str_trim(str_skip(line, 1));
        while (n < line.n && is_key_byte(line.p[n]))
            n++;
        if (n < line.n && line.p[n] == ':' &&
            (n + 1 == line.n || line.p[n + 1] == ' ' || line.p[n + 1] == '\t') &&
            !give(walk, str_first(line, n)))
            return;
    }
}

void peek_keys(const struct peek *peek, bool (*key)(void *ctx, const char *name), void *ctx)
{
    struct key_walk walk = {.key = key, .ctx = ctx};
    char first = peek_first(peek);

    if (first == '{' || first == '[')
        json_keys(peek->head, &walk);
    else
        yaml_keys(peek->head, &walk);
}

struct wanted {
    const char *key;
    bool is_found;
};

static bool is_wanted(void *ctx, const char *name)
{
    struct wanted *wanted = ctx;

    wanted->is_found = strcmp(name, wanted->key) == 0;
    return !wanted->is_found;
}

bool peek_has_key(const struct peek *peek, const char *key)
{
    struct wanted wanted = {.key = key};

    peek_keys(peek, is_wanted, &wanted);
    return wanted.is_found;
}

/* Different canonical names: a table whose rows all have learning_rate is no settings file. */
struct known {
    const char *names[8];
    size_t n, n_seen;
};

/* A settings file shows what it is early; a vocabulary has thousands of keys. */
#define KEYS_LOOKED_UP 400

static bool count_known(void *ctx, const char *name)
{
    struct known *known = ctx;
    bool inverts;

    if (known->n_seen++ == KEYS_LOOKED_UP)
        return false;
    if (!config_name_is_known(name))
        return true;
    const char *canonical = config_name(SIDE_TRAIN, name, &inverts);
    for (size_t i = 0; i < known->n; i++)
        if (strcmp(known->names[i], canonical) == 0)
            return true;
    known->names[known->n++] = canonical;
    return known->n < sizeof known->names / sizeof *known->names;
}

size_t peek_known_settings(const struct peek *peek)
{
    struct known known = {0};

    peek_keys(peek, count_known, &known);
    return known.n;
}
