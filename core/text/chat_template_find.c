/* Where chat templates and special tokens lie: files and tokenizer folders. See chat_template.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <dirent.h>

#include "core/read/gguf.h"
#include "core/read/source.h"
#include "core/text/chat_template.h"

#define MOST_TEMPLATES 64

struct finding {
    struct arena *arena;
    struct named_template *items;
    size_t n, capacity;
    struct error *err;
};

static int no_memory(struct finding *f)
{
    return error_set(f->err, E_NOMEM, "no memory for the templates of a tokenizer");
}

/* A later one of a name takes the place of the first. */
static int add(struct finding *f, const char *name, const char *path, int64_t line, struct str text)
{
    struct named_template *item = NULL;

    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->items[i].name, name) == 0)
            item = &f->items[i];
    if (!item) {
        f->items = arena_room(f->arena, f->items, f->n, &f->capacity, sizeof *f->items);
        if (!f->items)
            return no_memory(f);
        item = &f->items[f->n++];
    }
    *item = (struct named_template){arena_strdup(f->arena, name), arena_strdup(f->arena, path),
                                    line, text};
    return arena_failed(f->arena) ? no_memory(f) : OK;
}

static int read_text(struct finding *f, const char *path, struct str *out)
{
    char *text;
    size_t n;
    int rc = source_slurp(path, CHAT_TEMPLATE_BYTES, &text, &n, f->err);

    if (rc != OK)
        return rc;
    *out = arena_str(f->arena, str_from(text, n));
    free(text);
    if (out->n >= 3 && memcmp(out->p, "\xEF\xBB\xBF", 3) == 0)
        *out = str_skip(*out, 3);
    return arena_failed(f->arena) ? no_memory(f) : OK;
}

static int add_file(struct finding *f, const char *name, const char *path)
{
    struct str text;
    int rc = read_text(f, path, &text);

    return rc == OK ? add(f, name, path, 1, text) : rc;
}

/* A text, or a list of {name, template}, or an object of name and text. */
static int add_json(struct finding *f, const char *path, const struct json *value)
{
    int rc = OK;

    if (json_is(value, JSON_STRING))
        return add(f, "default", path, value->line, value->text);
    if (!json_is(value, JSON_ARRAY) && !json_is(value, JSON_OBJECT))
        return OK;
    for (const struct json *item = value->child; rc == OK && item; item = item->next) {
        const struct json *name = json_get(item, "name"), *text = json_get(item, "template");
        struct str called = item->key;

        if (value->type == JSON_ARRAY) {
            if (!json_is(name, JSON_STRING) || !json_is(text, JSON_STRING))
                continue;
            called = name->text;
        } else {
            text = item;
            if (!json_is(text, JSON_STRING))
                continue;
        }
        rc = add(f, arena_strndup(f->arena, called.p, called.n), path, text->line, text->text);
    }
    return rc;
}

static int parse_file(struct finding *f, const char *path, const struct json **out)
{
    char *text;
    size_t n;
    struct str kept;
    int rc = source_slurp(path, JSON_MAX_BYTES, &text, &n, f->err);

    if (rc != OK)
        return rc;
    kept = arena_str(f->arena, str_from(text, n));
    free(text);
    if (arena_failed(f->arena))
        return no_memory(f);
    rc = json_parse_exact(kept, f->arena, out, f->err);
    if (rc != OK && f->err)
        error_at(f->err, path, f->err->line, f->err->byte);
    return rc;
}

static int add_config(struct finding *f, const char *path)
{
    const struct json *config;
    int rc = parse_file(f, path, &config);

    return rc == OK ? add_json(f, path, json_get(config, "chat_template")) : rc;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* additional_chat_templates/NAME.jinja */
static int add_additional(struct finding *f, const char *folder)
{
    const char *path = arena_printf(f->arena, "%s/additional_chat_templates", folder);
    const char *names[MOST_TEMPLATES];
    size_t n = 0;
    DIR *dir = opendir(path);
    int rc = OK;

    if (!dir)
        return OK;
    for (const struct dirent *entry; n < MOST_TEMPLATES && (entry = readdir(dir));)
        if (str_ends(str_of(entry->d_name), ".jinja") && entry->d_name[0] != '.')
            names[n++] = arena_strdup(f->arena, entry->d_name);
    closedir(dir);
    qsort(names, n, sizeof names[0], by_name);
    for (size_t i = 0; rc == OK && i < n; i++) {
        const char *file = arena_printf(f->arena, "%s/%s", path, names[i]);
        size_t length = strlen(names[i]) - strlen(".jinja");

        if (is_file(file))
            rc = add_file(f, arena_strndup(f->arena, names[i], length), file);
    }
    return rc;
}

/* The configuration first, then what wins over it. */
static int add_folder(struct finding *f, const char *folder)
{
    const char *config = arena_printf(f->arena, "%s/tokenizer_config.json", folder);
    const char *alone = arena_printf(f->arena, "%s/chat_template.json", folder);
    const char *jinja = arena_printf(f->arena, "%s/chat_template.jinja", folder);
    int rc = OK;

    if (is_file(config))
        rc = add_config(f, config);
    if (rc == OK && is_file(alone))
        rc = add_config(f, alone);
    if (rc == OK && is_file(jinja)) {
        f->n = 0; /* the configuration's are not looked at beside it */
        rc = add_file(f, "default", jinja);
    }
    if (rc == OK)
        rc = add_additional(f, folder);
    return rc;
}

/* ---- GGUF ---- */

#define GGUF_ARENA_BYTES ((size_t)512 << 20)

static bool is_gguf(const char *path)
{
    return str_ends(str_of(path), ".gguf");
}

/* tokenizer.chat_template, and tokenizer.chat_template.NAME of several. */
static int add_gguf_values(struct finding *f, const struct gguf *gguf, const char *path)
{
    static const char KEY[] = "tokenizer.chat_template";
    int rc = OK;

    for (size_t i = 0; rc == OK && i < gguf->n_values; i++) {
        const struct gguf_value *value = &gguf->values[i];
        struct str rest;

        if (value->type != GGUF_STRING || !value->text.n || !str_starts(value->key, KEY) ||
            value->text.n > CHAT_TEMPLATE_BYTES || f->n >= MOST_TEMPLATES)
            continue;
        rest = str_skip(value->key, sizeof KEY - 1);
        if (rest.n && rest.p[0] != '.')
            continue;
        rc = add(f, rest.n > 1 ? rest.p + 1 : "default", path, 1, arena_str(f->arena, value->text));
    }
    return rc;
}

static int add_gguf(struct finding *f, const char *path)
{
    struct arena *arena = arena_open(GGUF_ARENA_BYTES);
    struct gguf gguf;
    int rc = arena ? gguf_read(path, arena, &gguf, f->err) : no_memory(f);

    if (rc == OK)
        rc = add_gguf_values(f, &gguf, path);
    arena_close(arena);
    return rc;
}

int chat_template_find(const char *path, struct arena *arena, struct chat_template_set *out,
                       struct error *err)
{
    struct finding f = {.arena = arena, .err = err};
    struct stat st;
    int rc;

    if (stat(path, &st) != 0) {
        rc = error_set(err, E_IO, "cannot be read");
        error_at(err, path, NONE, NONE);
        return rc;
    }
    if (S_ISDIR(st.st_mode))
        rc = add_folder(&f, path);
    else
        rc = is_gguf(path)                        ? add_gguf(&f, path)
             : str_ends(str_of(path), ".json") ? add_config(&f, path)
                                               : add_file(&f, "default", path);
    if (rc != OK)
        return rc;
    if (f.n == 0) {
        rc = error_set(err, E_NOTFOUND, "no chat template, expected a text at chat_template");
        error_at(err, path, NONE, NONE);
        return rc;
    }
    *out = (struct chat_template_set){f.n, f.items};
    return OK;
}

/* ---- special tokens ---- */

static const char *const token_names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};

static bool is_known(struct str key)
{
    for (size_t i = 0; i < sizeof token_names / sizeof token_names[0]; i++)
        if (str_is(key, token_names[i]))
            return true;
    return false;
}

/* A text, or an added token as an object with its content. */
static const struct json *token_text(const struct json *value)
{
    if (json_is(value, JSON_OBJECT))
        value = json_get(value, "content");
    return json_is(value, JSON_STRING) ? value : NULL;
}

static bool put_token(struct arena *arena, struct json *object, struct str key,
                      const struct json *value)
{
    struct json **at = &object->child;
    struct json *next;

    while (*at && !str_eq((*at)->key, key))
        at = &(*at)->next;
    if (!*at) {
        *at = arena_alloc(arena, sizeof **at);
        if (!*at)
            return false;
        object->n++;
    }
    next = (*at)->next;
    **at = *value;
    (*at)->key = key;
    (*at)->next = next;
    return true;
}

static bool put_tokens(struct arena *arena, struct json *object, const struct json *from)
{
    const struct json *extra = json_get(from, "extra_special_tokens");

    for (const struct json *member = json_is(from, JSON_OBJECT) ? from->child : NULL; member;
         member = member->next) {
        const struct json *text = is_known(member->key) ? token_text(member) : NULL;

        if (text && !put_token(arena, object, member->key, text))
            return false;
    }
    for (const struct json *member = json_is(extra, JSON_OBJECT) ? extra->child : NULL; member;
         member = member->next) {
        const struct json *text = token_text(member);

        if (text && !put_token(arena, object, member->key, text))
            return false;
    }
    return true;
}

/* The tokens of a GGUF file that have a role. */
static int put_gguf_tokens(struct finding *f, const char *path, struct json *object)
{
    static const struct {
        const char *key, *name;
    } ROLES[] = {{"tokenizer.ggml.bos_token_id", "bos_token"},
                 {"tokenizer.ggml.eos_token_id", "eos_token"},
                 {"tokenizer.ggml.unknown_token_id", "unk_token"},
                 {"tokenizer.ggml.seperator_token_id", "sep_token"},
                 {"tokenizer.ggml.separator_token_id", "sep_token"},
                 {"tokenizer.ggml.padding_token_id", "pad_token"}};
    struct arena *arena = arena_open(GGUF_ARENA_BYTES);
    struct gguf gguf;
    int rc = arena ? gguf_read(path, arena, &gguf, f->err) : no_memory(f);
    const struct gguf_value *tokens = rc == OK ? gguf_get(&gguf, "tokenizer.ggml.tokens") : NULL;

    for (size_t i = 0; tokens && tokens->texts && i < sizeof ROLES / sizeof *ROLES; i++) {
        const struct gguf_value *id = gguf_get(&gguf, ROLES[i].key);
        struct json text = {.type = JSON_STRING};

        if (!id || id->integer < 0 || (size_t)id->integer >= tokens->n || id->type == GGUF_STRING)
            continue;
        text.text = arena_str(f->arena, tokens->texts[id->integer]);
        if (!put_token(f->arena, object, str_of(ROLES[i].name), &text))
            rc = no_memory(f);
    }
    arena_close(arena);
    return rc;
}

int chat_special_tokens(const char *folder, struct arena *arena, const struct json **out,
                        struct error *err)
{
    static const char *const files[] = {"special_tokens_map.json", "tokenizer_config.json"};
    struct finding f = {.arena = arena, .err = err};
    struct json *object = arena_alloc(arena, sizeof *object);

    if (!object)
        return no_memory(&f);
    object->type = JSON_OBJECT;
    if (is_gguf(folder)) {
        int rc = put_gguf_tokens(&f, folder, object);

        if (rc == OK)
            *out = object;
        return rc;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = arena_printf(arena, "%s/%s", folder, files[i]);
        const struct json *config;
        int rc;

        if (!is_file(path))
            continue;
        rc = parse_file(&f, path, &config);
        if (rc != OK)
            return rc;
        if (!put_tokens(arena, object, config))
            return no_memory(&f);
    }
    *out = object;
    return OK;
}
