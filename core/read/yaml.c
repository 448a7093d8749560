/* YAML documents as trees of json.h, by libyaml's document interface.
 *
 * libyaml gives nodes in which aliases share (and may contain) each other, so every walk here is
 * counted and has a depth. Typing and merge keys are ours: libyaml knows neither. */
#include "core/read/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/number.h"
#include "core/read/source.h"

#define YAML_MAX_BYTES ((size_t)8 << 20)
#define YAML_MAX_NODES 100000
#define YAML_MAX_DEPTH 64
#define FEW_OPENERS    1000 /* that many deep libyaml is still fast */

struct build {
    yaml_document_t *document;
    struct arena *arena;
    int64_t first_line; /* of the text in its file */
    size_t n_nodes;
};

/* Members of one mapping while it is built: merged ones first, so that the last of a key wins. */
struct members {
    struct json **items;
    size_t n, capacity;
};

/* ---- Scalars ---- */

static bool is_any(struct str text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is_ignoring_case(text, words[i]))
            return true;
    return false;
}

static void set_number(struct json *out, double number, struct arena *arena)
{
    char text[32];

    out->type = JSON_NUMBER;
    out->number = number;
    number_repr(text, number);
    if (isnan(number))
        out->text = str_of("NaN");
    else if (isinf(number))
        out->text = str_of(number < 0 ? "-Infinity" : "Infinity");
    else
        out->text = arena_str(arena, str_of(text));
}

static bool has_only(struct str text, const char *characters)
{
    for (size_t i = 0; i < text.n; i++)
        if (!memchr(characters, text.p[i], strlen(characters)))
            return false;
    return text.n > 0;
}

/* 0x1f, 0o17 and YAML 1.1's 017. */
static bool parse_radix(struct str text, double *out)
{
    bool negative = text.n && text.p[0] == '-';
    struct str digits = str_skip(text, negative || (text.n && text.p[0] == '+') ? 1 : 0);
    int radix = 0;

    if (digits.n < 2 || digits.p[0] != '0')
        return false;
    if (digits.p[1] == 'x' || digits.p[1] == 'X')
        radix = 16;
    else if (digits.p[1] == 'o')
        radix = 8;
    digits = str_skip(digits, radix ? 2 : 1);
    if (!has_only(digits, radix == 16 ? "0123456789abcdefABCDEF" : "01234567"))
        return false;
    double value = 0;
    for (size_t i = 0; i < digits.n; i++) {
        int c = digits.p[i];
        int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;

        value = value * (radix ? radix : 8) + digit;
    }
    *out = negative ? -value : value;
    return true;
}

static bool parse_special_float(struct str text, double *out)
{
    bool negative = text.n && text.p[0] == '-';
    struct str rest = str_skip(text, negative || (text.n && text.p[0] == '+') ? 1 : 0);

    if (str_is_ignoring_case(rest, ".inf"))
        *out = negative ? -INFINITY : INFINITY;
    else if (str_is_ignoring_case(rest, ".nan"))
        *out = NAN;
    else
        return false;
    return true;
}

/* A decimal number, '_' between digits allowed; whole ones keep their digits however many. */
static bool parse_decimal(struct str text, struct arena *arena, struct json *out)
{
    char plain[128];
    size_t n = 0;
    double number;

    if (text.n >= sizeof plain || text.n == 0 || text.p[0] == '_')
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_')
            plain[n++] = text.p[i];
    struct str number_text = str_from(plain, n);
    if (!number_parse(number_text, &number))
        return false;
    struct str digits = str_skip(number_text, plain[0] == '-' || plain[0] == '+' ? 1 : 0);
    out->is_integer = has_only(digits, "0123456789");
    if (isfinite(number) && digits.p[0] != '.' && digits.p[digits.n - 1] != '.' &&
        !memchr(plain, '+', 1)) {
        out->type = JSON_NUMBER;
        out->number = number;
        out->text = arena_str(arena, number_text);
    } else {
        set_number(out, number, arena);
    }
    return true;
}

static void type_plain(struct str text, struct arena *arena, struct json *out)
{
    static const char *const nulls[] = {"~", "null", ""};
    static const char *const trues[] = {"true", "yes", "on"};
    static const char *const falses[] = {"false", "no", "off"};
    double number;

    if (is_any(text, nulls, 3)) {
        out->type = JSON_NULL;
    } else if (is_any(text, trues, 3)) {
        out->type = JSON_TRUE;
    } else if (is_any(text, falses, 3)) {
        out->type = JSON_FALSE;
    } else if (parse_special_float(text, &number)) {
        set_number(out, number, arena);
    } else if (parse_radix(text, &number)) {
        char digits[32];

        set_number(out, number, arena);
        out->is_integer = number < 9007199254740992.0 && number > -9007199254740992.0;
        if (out->is_integer) {
            number_short(digits, number, 17);
            out->text = arena_str(arena, str_of(digits));
        }
    } else if (!parse_decimal(text, arena, out)) {
        out->type = JSON_STRING;
        out->text = arena_str(arena, text);
    }
}

static struct str scalar_text(const yaml_node_t *node)
{
    const void *bytes = node->data.scalar.value;

    return str_from(bytes, node->data.scalar.length);
}

static void build_scalar(struct build *build, const yaml_node_t *node, struct json *out)
{
    struct str text = scalar_text(node);
    const void *tag = node->tag;
    bool is_own_tag = tag && strncmp(tag, "tag:yaml.org,2002:", 18) != 0;

    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !is_own_tag) {
        type_plain(text, build->arena, out);
        return;
    }
    out->type = JSON_STRING;
    out->text = arena_str(build->arena, text);
}

/* ---- Collections ---- */

MUST_CHECK static int build_node(struct build *build, int index, int depth, struct json **out,
                                 struct error *err);

static int build_sequence(struct build *build, const yaml_node_t *node, int depth, struct json *out,
                          struct error *err)
{
    struct json **tail = &out->child;

    out->type = JSON_ARRAY;
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        int rc = build_node(build, *item, depth + 1, tail, err);
        if (rc != OK)
            return rc;
        tail = &(*tail)->next;
        out->n++;
    }
    return OK;
}

static int members_add(struct members *members, struct json *member, struct error *err)
{
    if (members->n == members->capacity) {
        size_t capacity = members->capacity ? members->capacity * 2 : 16;
        struct json **items = realloc(members->items, capacity * sizeof(struct json *));

        if (!items)
            return error_set(err, E_NOMEM, "members of a mapping");
        members->items = items;
        members->capacity = capacity;
    }
    members->items[members->n++] = member;
    return OK;
}

static bool is_merge_key(const yaml_node_t *key)
{
    return key->type == YAML_SCALAR_NODE && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           str_is(scalar_text(key), "<<");
}

MUST_CHECK static int collect(struct build *build, const yaml_node_t *node, int depth,
                              struct members *members, struct error *err);

/* `<<: *a` and `<<: [*a, *b]`; of two sources the earlier one wins, so they are added backwards. */
static int collect_merged(struct build *build, int index, int depth, struct members *members,
                          struct error *err)
{
    const yaml_node_t *value = yaml_document_get_node(build->document, index);

    if (depth > YAML_MAX_DEPTH)
        return error_set(err, E_LIMIT, "merge keys more than %d deep", YAML_MAX_DEPTH);
    if (value->type == YAML_MAPPING_NODE)
        return collect(build, value, depth + 1, members, err);
    if (value->type != YAML_SEQUENCE_NODE)
        return OK;
    for (const yaml_node_item_t *item = value->data.sequence.items.top;
         item-- > value->data.sequence.items.start;) {
        int rc = collect_merged(build, *item, depth + 1, members, err);
        if (rc != OK)
            return rc;
    }
    return OK;
}

static int build_key(struct build *build, const yaml_node_t *key, struct json *member)
{
    if (key->type == YAML_SCALAR_NODE)
        member->key = arena_str(build->arena, scalar_text(key));
    else
        member->key = str_of("?"); /* a collection as a key: no settings file has it */
    return OK;
}

static int collect(struct build *build, const yaml_node_t *node, int depth, struct members *members,
                   struct error *err)
{
    const yaml_node_pair_t *start = node->data.mapping.pairs.start;
    const yaml_node_pair_t *top = node->data.mapping.pairs.top;
    int rc = OK;

    for (const yaml_node_pair_t *pair = start; pair < top && rc == OK; pair++) {
        const yaml_node_t *key = yaml_document_get_node(build->document, pair->key);

        if (is_merge_key(key))
            rc = collect_merged(build, pair->value, depth, members, err);
    }
    for (const yaml_node_pair_t *pair = start; pair < top && rc == OK; pair++) {
        const yaml_node_t *key = yaml_document_get_node(build->document, pair->key);
        struct json *member = NULL;

        if (is_merge_key(key))
            continue;
        rc = build_node(build, pair->value, depth + 1, &member, err);
        if (rc == OK)
            rc = build_key(build, key, member);
        if (rc == OK)
            rc = members_add(members, member, err);
    }
    return rc;
}

struct ranked {
    struct json *member;
    size_t rank;
};

static int by_key_then_rank(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    int order = str_compare(left->member->key, right->member->key);

    return order ? order : left->rank < right->rank ? -1 : 1;
}

/* Keeps the last of each key, in the order of the file. Sorted, since a hostile mapping may hold
 * 100,000 keys. */
static int drop_duplicates(struct members *members, struct error *err)
{
    struct ranked *ranked = members->n ? calloc(members->n, sizeof *ranked) : NULL;
    size_t n = 0;

    if (members->n && !ranked)
        return error_set(err, E_NOMEM, "keys of a mapping");
    for (size_t i = 0; i < members->n; i++)
        ranked[i] = (struct ranked){members->items[i], i};
    if (ranked)
        qsort(ranked, members->n, sizeof *ranked, by_key_then_rank);
    for (size_t i = 0; i + 1 < members->n; i++)
        if (str_eq(ranked[i].member->key, ranked[i + 1].member->key))
            members->items[ranked[i].rank] = NULL;
    for (size_t i = 0; i < members->n; i++)
        if (members->items[i])
            members->items[n++] = members->items[i];
    members->n = n;
    free(ranked);
    return OK;
}

static int build_mapping(struct build *build, const yaml_node_t *node, int depth, struct json *out,
                         struct error *err)
{
    struct members members = {0};
    int rc = collect(build, node, depth, &members, err);

    if (rc == OK)
        rc = drop_duplicates(&members, err);
    if (rc == OK) {
        struct json **tail = &out->child;

        out->type = JSON_OBJECT;
        out->n = members.n;
        for (size_t i = 0; i < members.n; i++) {
            *tail = members.items[i];
            tail = &members.items[i]->next;
        }
    }
    free(members.items);
    return rc;
}

static int build_node(struct build *build, int index, int depth, struct json **out,
                      struct error *err)
{
    const yaml_node_t *node = yaml_document_get_node(build->document, index);
    struct json *value;
    int rc = OK;

    if (!node)
        return error_set(err, E_PARSE, "the document refers to a node that it does not have");
    if (depth > YAML_MAX_DEPTH || ++build->n_nodes > YAML_MAX_NODES) {
        rc = error_set(err, E_LIMIT,
                       depth > YAML_MAX_DEPTH ? "nested more than %d deep (or an alias to itself)"
                                              : "more than %d values with aliases followed",
                       depth > YAML_MAX_DEPTH ? YAML_MAX_DEPTH : YAML_MAX_NODES);
        error_at(err, NULL, build->first_line + (int64_t)node->start_mark.line, NONE);
        return rc;
    }
    value = arena_alloc(build->arena, sizeof *value);
    if (!value)
        return error_set(err, E_NOMEM, "a tree of %zu values", build->n_nodes);
    value->line = build->first_line + (int64_t)node->start_mark.line;
    if (node->type == YAML_SCALAR_NODE)
        build_scalar(build, node, value);
    else if (node->type == YAML_SEQUENCE_NODE)
        rc = build_sequence(build, node, depth, value, err);
    else if (node->type == YAML_MAPPING_NODE)
        rc = build_mapping(build, node, depth, value, err);
    if (rc == OK)
        *out = value;
    return rc;
}

/* ---- Documents ---- */

static int parser_error(const yaml_parser_t *parser, int64_t first_line, struct error *err)
{
    int rc;

    if (parser->error == YAML_MEMORY_ERROR)
        return error_set(err, E_NOMEM, "yaml parser");
    rc = error_set(err, E_PARSE, "not YAML: %s", parser->problem ? parser->problem : "unreadable");
    /* A reader error (bad UTF-8) has an offset and no mark. */
    if (parser->error == YAML_READER_ERROR)
        error_at(err, NULL, NONE, (int64_t)parser->problem_offset);
    else
        error_at(err, NULL, first_line + (int64_t)parser->problem_mark.line, NONE);
    return rc;
}

/* At least as many as the values that can stand inside each other, but for those that are indented,
 * which need many bytes. */
static size_t count_openers(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '[' || text.p[i] == '{' ||
             ((text.p[i] == '-' || text.p[i] == '?') && i + 1 < text.n && text.p[i + 1] <= ' ');
    return n;
}

/* libyaml's loader looks at every open bracket again for each token, so that 100,000 of them take
 * minutes: by events it stops at the limit. What is not YAML is the loader's to tell. */
static int check_depth(struct str text, int64_t first_line, bool is_first_only, struct error *err)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool is_end = false;
    int depth = 0, rc = OK;

    if (count_openers(text) <= FEW_OPENERS)
        return OK;
    if (!yaml_parser_initialize(&parser))
        return error_set(err, E_NOMEM, "yaml parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    while (rc == OK && !is_end && yaml_parser_parse(&parser, &event)) {
        depth += event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
        depth -= event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        is_end = event.type == YAML_STREAM_END_EVENT ||
                 (is_first_only && event.type == YAML_DOCUMENT_END_EVENT);
        if (depth > YAML_MAX_DEPTH) {
            rc = error_set(err, E_LIMIT, "nested more than %d deep", YAML_MAX_DEPTH);
            error_at(err, NULL, first_line + (int64_t)event.start_mark.line, NONE);
        }
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

/* *out NULL: no document is left. */
static int load_document(yaml_parser_t *parser, struct build *build, struct json **out,
                         struct error *err)
{
    yaml_document_t document;
    int rc = OK;

    *out = NULL;
    if (!yaml_parser_load(parser, &document))
        return parser_error(parser, build->first_line, err);
    struct build of = *build;
    of.document = &document;
    if (yaml_document_get_root_node(&document))
        rc = build_node(&of, 1, 0, out, err);
    build->n_nodes = of.n_nodes;
    yaml_document_delete(&document);
    return rc;
}

static struct json *new_value(struct arena *arena, enum json_type type, int64_t line)
{
    struct json *value = arena_alloc(arena, sizeof *value);

    if (value) {
        value->type = type;
        value->line = line;
    }
    return value;
}

/* The first document; all of them as a list where there are several. An empty file: null. */
static int load_documents(yaml_parser_t *parser, struct build *build, bool is_first_only,
                          struct json **out, struct error *err)
{
    struct json *more = NULL, *list = NULL, **tail = NULL;
    int rc = load_document(parser, build, out, err);

    if (rc == OK && !*out)
        *out = new_value(build->arena, JSON_NULL, build->first_line);
    if (!*out || is_first_only)
        return rc;
    tail = &(*out)->next;
    while (rc == OK && (rc = load_document(parser, build, &more, err)) == OK && more) {
        if (more->type == JSON_NULL)
            continue; /* a line of dashes at the end */
        if (!list && (list = new_value(build->arena, JSON_ARRAY, (*out)->line))) {
            list->child = *out;
            list->n = 1;
            *out = list;
        }
        if (!list)
            return error_set(err, E_NOMEM, "a list of documents");
        list->n++;
        *tail = more;
        tail = &more->next;
    }
    return rc;
}

static int parse_from(struct str text, int64_t first_line, bool is_first_only, struct arena *arena,
                      const struct json **out, struct error *err)
{
    yaml_parser_t parser;
    struct build build = {.arena = arena, .first_line = first_line};
    struct json *top = NULL;

    if (text.n > YAML_MAX_BYTES)
        return error_set(err, E_LIMIT, "%zu bytes of YAML, at most %zu are read", text.n,
                         YAML_MAX_BYTES);
    int rc = check_depth(text, first_line, is_first_only, err);
    if (rc != OK)
        return rc;
    if (!yaml_parser_initialize(&parser))
        return error_set(err, E_NOMEM, "yaml parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    rc = load_documents(&parser, &build, is_first_only, &top, err);
    yaml_parser_delete(&parser);
    if (rc == OK && (arena_failed(arena) || !top))
        rc = error_set(err, E_NOMEM, "a tree of %zu values", build.n_nodes);
    if (rc == OK)
        *out = top;
    return rc;
}

int yaml_parse(struct str text, struct arena *arena, const struct json **out, struct error *err)
{
    return parse_from(text, 1, true, arena, out, err);
}

static int read_file(const char *path, bool is_first_only, struct arena *arena,
                     const struct json **out, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = source_slurp(path, YAML_MAX_BYTES, &text, &n, err);

    if (rc == OK)
        rc = parse_from(str_from(text, n), 1, is_first_only, arena, out, err);
    if (rc != OK)
        error_at(err, path, err ? err->line : NONE, err ? err->byte : NONE);
    free(text);
    return rc;
}

int yaml_read_file(const char *path, struct arena *arena, const struct json **out,
                   struct error *err)
{
    return read_file(path, true, arena, out, err);
}

int yaml_read_documents(const char *path, struct arena *arena, const struct json **out,
                        struct error *err)
{
    return read_file(path, false, arena, out, err);
}

int yaml_front_matter(struct str text, struct arena *arena, const struct json **out,
                      struct error *err)
{
    struct str rest = str_starts(text, "\xef\xbb\xbf") ? str_skip(text, 3) : text;
    struct str line, body;
    int64_t first_line = 1;

    do {
        if (!str_split(&rest, '\n', &line))
            return error_set(err, E_NOTFOUND, "no front matter");
        first_line++;
    } while (str_trim(line).n == 0);
    if (!str_is(str_trim(line), "---"))
        return error_set(err, E_NOTFOUND, "no front matter: the first line is not '---'");
    body = rest;
    while (str_split(&rest, '\n', &line)) {
        if (str_is(str_trim(line), "---")) {
            body.n = (size_t)(line.p - body.p);
            return parse_from(body, first_line, true, arena, out, err);
        }
    }
    return error_set(err, E_NOTFOUND, "no front matter: no second line '---'");
}
