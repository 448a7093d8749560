/* What a server is told, as settings. See server_command.h. Which options there are is server_options.c;
 * what the settings mean together is core/facts/serving.c. */
#include "importers/serving/server_command.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"

#define ADAPTERS_BYTES ((size_t)60 << 10)
#define NAME_BYTES     256

/* ---- Settings ---- */

struct server_settings {
    struct import *import;
    enum server server;
    struct buf adapters;        /* the inside of a JSON array */
    const char *adapters_name;  /* the option that stated them first */
    int64_t adapters_line;
    bool is_without_apply, has_system;
};

int server_settings_open(struct server_settings **out, struct import *import, enum server server,
                         struct error *err)
{
    struct server_settings *settings = calloc(1, sizeof *settings);

    if (!settings)
        return error_set(err, E_NOMEM, "no memory for a server's options");
    settings->import = import;
    settings->server = server;
    settings->adapters_line = NONE;
    buf_init(&settings->adapters, ADAPTERS_BYTES);
    *out = settings;
    return OK;
}

void server_settings_close(struct server_settings *settings)
{
    if (!settings)
        return;
    buf_free(&settings->adapters);
    free(settings);
}

static enum value_type type_of_text(const char *text)
{
    double number;
    int64_t integer;

    if (text[0] == '[')
        return VALUE_LIST;
    if (text[0] == '{' && text[1] != '%' && text[1] != '{')
        return VALUE_OBJECT;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return VALUE_BOOL;
    if (number_parse_int(str_of(text), &integer))
        return VALUE_INT;
    return number_parse_any(str_of(text), &number) ? VALUE_FLOAT : VALUE_TEXT;
}

static int put(struct server_settings *s, const char *name, const char *value, int64_t line,
               struct error *err)
{
    if (strcasecmp(value, "true") == 0)
        value = "true";
    else if (strcasecmp(value, "false") == 0)
        value = "false";
    s->import->n_rows++;
    return import_setting(s->import, SIDE_SERVE, name, value, type_of_text(value), line, err);
}

/* vLLM's lengths: 16k is 16000, 16K 16384. */
static const char *length_text(struct server_settings *s, const char *value)
{
    static const struct {
        char unit;
        double times;
    } UNITS[] = {{'k', 1e3}, {'K', 1024.0}, {'m', 1e6}, {'M', 1048576.0}};
    double number;
    size_t used = number_prefix(str_of(value), &number);

    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS && used; i++)
        if (value[used] == UNITS[i].unit && !value[used + 1] && fabs(number) < 1e9)
            return arena_printf(s->import->arena, "%.0f", number * UNITS[i].times);
    return value;
}

/* ---- Adapters ---- */

static void add_adapter(struct server_settings *s, struct str name, struct str path, double scale)
{
    struct buf *out = &s->adapters;

    if (path.n == 0)
        return;
    if (out->n)
        buf_putc(out, ',');
    buf_puts(out, "{\"name\":");
    json_write_string(out, name.n ? name : path);
    buf_puts(out, ",\"path\":");
    json_write_string(out, path);
    if (!isnan(scale))
        buf_printf(out, ",\"scale\":%g", scale);
    buf_putc(out, '}');
}

static struct str text_of(const struct json *value)
{
    return json_is(value, JSON_STRING) ? value->text : (struct str){NULL, 0};
}

static struct str first_text(const struct json *object, const char *const *keys)
{
    for (; *keys; keys++) {
        struct str text = text_of(json_get(object, *keys));

        if (text.n)
            return text;
    }
    return (struct str){NULL, 0};
}

static void add_adapter_object(struct server_settings *s, const struct json *object)
{
    static const char *const NAMES[] = {"name", "lora_name", "id", "adapter_id", NULL};
    static const char *const PATHS[] = {"path", "lora_path", "local_path", "lora_local_path", NULL};
    const struct json *scale = json_get(object, "scale");
    struct str name = first_text(object, NAMES), path = first_text(object, PATHS);

    add_adapter(s, name, path.n ? path : name,
                json_is(scale, JSON_NUMBER) ? scale->number : NAN);
}

/* name=path, path, or one JSON object or list. */
static void add_adapter_text(struct server_settings *s, struct str text)
{
    const struct json *json = NULL;
    struct error ignored = {0};
    struct str path = text, name;

    text = str_trim(text);
    if ((str_starts(text, "{") || str_starts(text, "[")) &&
        json_parse(text, false, s->import->arena, &json, NULL, &ignored) == OK) {
        if (json->type == JSON_OBJECT)
            add_adapter_object(s, json);
        for (const struct json *item = json->type == JSON_ARRAY ? json->child : NULL; item;
             item = item->next)
            if (item->type == JSON_OBJECT)
                add_adapter_object(s, item);
        return;
    }
    path = text;
    if (s->server != SERVER_LLAMA_CPP && str_find(text, "=") > 0 && str_split(&path, '=', &name)) {
        add_adapter(s, name, path, NAN);
        return;
    }
    add_adapter(s, (struct str){NULL, 0}, text, NAN);
}

static void add_adapters(struct server_settings *s, const struct server_option *option,
                         const char *value, int64_t line)
{
    struct str rest = str_of(value), part;
    bool has_commas = s->server == SERVER_TGI || s->server == SERVER_LLAMA_CPP;

    if (!s->adapters_name) {
        s->adapters_name = option->name;
        s->adapters_line = line;
    }
    if (!has_commas || value[0] == '{' || value[0] == '[') {
        add_adapter_text(s, rest);
        return;
    }
    while (str_split(&rest, ',', &part))
        add_adapter_text(s, part);
}

/* FILE:SCALE, several between commas; older builds: FILE SCALE. */
static void add_scaled(struct server_settings *s, const struct server_option *option,
                       const char *value, const char *next, int64_t line)
{
    struct str rest = str_of(value), part;

    if (!s->adapters_name) {
        s->adapters_name = option->name;
        s->adapters_line = line;
    }
    while (str_split(&rest, ',', &part)) {
        double scale = NAN;
        size_t colon = part.n;

        while (colon > 0 && part.p[colon - 1] != ':')
            colon--;
        bool has_scale = colon > 1 && number_parse(str_skip(part, colon), &scale);
        if (!has_scale && (!next || !number_parse(str_of(next), &scale)))
            scale = NAN;
        add_adapter(s, (struct str){NULL, 0}, has_scale ? str_first(part, colon - 1) : part, scale);
    }
}

/* ---- Options ---- */

/* KEY=TYPE:VALUE; of the tokenizer's keys the setting is the key's own. */
static int put_override(struct server_settings *s, const char *value, int64_t line,
                        struct error *err)
{
    static const struct {
        const char *key, *name;
    } KEYS[] = {
        {"tokenizer.ggml.add_bos_token", "add_bos_token"},
        {"tokenizer.ggml.add_eos_token", "add_eos_token"},
        {"tokenizer.ggml.eos_token_id", "eos_token_id"},
        {"tokenizer.ggml.bos_token_id", "bos_token_id"},
    };
    const char *equals = strchr(value, '=');
    const char *colon = equals ? strchr(equals, ':') : NULL;
    struct str key = str_from(value, equals ? (size_t)(equals - value) : 0);

    for (size_t i = 0; colon && i < sizeof KEYS / sizeof *KEYS; i++)
        if (str_is(key, KEYS[i].key))
            return put(s, KEYS[i].name, colon + 1, line, err);
    return put(s, "override_kv", value, line, err);
}

static int put_option(struct server_settings *s, const struct server_option *option,
                      const char *value, const char *next, int64_t line, struct error *err)
{
    switch (option->kind) {
    case OPTION_SWITCH:
    case OPTION_OFF:
        if (strcmp(option->name, "lora_init_without_apply") == 0)
            s->is_without_apply = true;
        return put(s, option->name, option->kind == OPTION_OFF ? "false" : "true", line, err);
    case OPTION_LENGTH:
        return put(s, option->name, length_text(s, value), line, err);
    case OPTION_ADAPTERS:
        add_adapters(s, option, value, line);
        return OK;
    case OPTION_SCALED:
        add_scaled(s, option, value, next, line);
        return OK;
    case OPTION_OVERRIDE:
        return put_override(s, value, line, err);
    case OPTION_VALUE:
    case OPTION_LIST:
        break;
    }
    return put(s, option->name, value, line, err);
}

static bool is_option(const struct shell_word *word)
{
    double number;

    return word->text[0] == '-' && word->text[1] && !number_parse(str_of(word->text), &number);
}

/* An option that is not listed: its own name, and the next word unless that is an option. */
static int put_unknown(struct server_settings *s, struct str name, const char *value, int64_t line,
                       struct error *err)
{
    char plain[NAME_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < name.n && n + 1 < sizeof plain; i++)
        plain[n++] = name.p[i] == '-' ? '_' : name.p[i];
    plain[n] = '\0';
    return n ? put(s, plain, value, line, err) : OK;
}

static int put_list(struct server_settings *s, const struct server_option *option,
                    const struct shell_word *words, size_t n, struct error *err)
{
    struct buf list;
    int rc = OK;

    if (option->kind == OPTION_ADAPTERS) {
        for (size_t i = 0; i < n; i++)
            add_adapters(s, option, words[i].text, words[i].line);
        return OK;
    }
    if (n == 1)
        return put(s, option->name, words[0].text, words[0].line, err);
    buf_init(&list, ADAPTERS_BYTES);
    for (size_t i = 0; i < n; i++) {
        buf_putc(&list, i ? ',' : '[');
        json_write_string(&list, str_of(words[i].text));
    }
    buf_putc(&list, ']');
    if (!list.failed)
        rc = put(s, option->name, list.p, words[0].line, err);
    buf_free(&list);
    return rc;
}

static int note_variable(struct server_settings *s, const struct shell_word *word, struct error *err)
{
    return word->has_variable
               ? sink_note(s->import->sink, NOTE_INFO, word->line, NONE, err,
                           "the shell's variable is not known, its text was kept: %.80s", word->text)
               : OK;
}

/* At an option; *i goes behind it and its values. */
static int take_option(struct server_settings *s, const struct server_command *command, size_t *i,
                       struct error *err)
{
    const struct shell_word *word = &command->words[(*i)++];
    struct str name = str_of(word->text + strspn(word->text, "-"));
    const char *equals = strchr(name.p, '=');
    struct str bare = str_first(name, equals ? (size_t)(equals - name.p) : name.n);
    const struct server_option *option = server_option_find(s->server, bare);
    bool takes_none = option && (option->kind == OPTION_SWITCH || option->kind == OPTION_OFF);
    size_t end = *i;

    if (equals && !takes_none)
        return option ? put_option(s, option, equals + 1, NULL, word->line, err)
                      : put_unknown(s, bare, equals + 1, word->line, err);
    if (takes_none)
        return put_option(s, option, "", NULL, word->line, err);
    bool is_many = option && (option->kind == OPTION_LIST ||
                              (option->kind == OPTION_ADAPTERS && s->server != SERVER_LLAMA_CPP));
    while (end < command->n && !is_option(&command->words[end]) && (is_many || end == *i))
        end++;
    size_t n = end - *i;
    const struct shell_word *values = &command->words[*i];
    *i = end;
    if (n == 0)
        return option ? OK : put_unknown(s, bare, "true", word->line, err);
    int rc = option ? note_variable(s, &values[0], err) : OK;
    if (rc != OK)
        return rc;
    if (is_many)
        return put_list(s, option, values, n, err);
    const char *next = end < command->n ? command->words[end].text : NULL;
    return option ? put_option(s, option, values[0].text, next, word->line, err)
                  : put_unknown(s, bare, values[0].text, word->line, err);
}

/* ollama run NAME, ollama create NAME -f FILE */
static int ollama_command(struct server_settings *s, const struct server_command *command,
                          struct error *err)
{
    const char *verb = command->n ? command->words[0].text : "";

    for (size_t i = 1; i < command->n; i++)
        if (!is_option(&command->words[i]))
            return put(s, strcmp(verb, "create") == 0 ? "served_model_name" : "model",
                       command->words[i].text, command->words[i].line, err);
    return OK;
}

int server_settings_command(struct server_settings *settings, const struct server_command *command,
                            struct error *err)
{
    bool has_model = false;
    int rc = OK;

    if (command->server == SERVER_OLLAMA)
        return ollama_command(settings, command, err);
    for (size_t i = 0; i < command->n && rc == OK;) {
        const struct shell_word *word = &command->words[i];

        if (is_option(word)) {
            rc = take_option(settings, command, &i, err);
            continue;
        }
        if (!has_model && settings->server == SERVER_VLLM) {
            has_model = true;   /* vllm serve MODEL: beats --model */
            rc = put(settings, "model_tag", word->text, word->line, err);
            if (rc == OK)
                rc = note_variable(settings, word, err);
        }
        i++;
    }
    return rc;
}

int server_settings_variable(struct server_settings *settings, struct str name, const char *value,
                             int64_t line, struct error *err)
{
    const struct server_option *option = server_option_of_variable(settings->server, name);

    if (settings->server == SERVER_OLLAMA && str_is(name, "OLLAMA_CONTEXT_LENGTH"))
        return put(settings, "num_ctx", value, line, err);
    if (!option || import_is_secret(option->name))
        return OK;
    bool is_switch = option->kind == OPTION_SWITCH || option->kind == OPTION_OFF;
    if (is_switch && (strcmp(value, "0") == 0 || strcasecmp(value, "false") == 0))
        return OK;
    return put_option(settings, option, value, NULL, line, err);
}

/* ---- Members of a config or a log ---- */

static int member_adapters(struct server_settings *s, const struct server_option *option,
                           const struct json *value)
{
    if (value->type == JSON_STRING)
        add_adapters(s, option, arena_strndup(s->import->arena, value->text.p, value->text.n),
                     value->line);
    if (value->type != JSON_ARRAY && value->type != JSON_OBJECT)
        return OK;
    if (!s->adapters_name) {
        s->adapters_name = option->name;
        s->adapters_line = value->line;
    }
    for (const struct json *item = value->child; item; item = item->next) {
        if (value->type == JSON_OBJECT)
            add_adapter(s, item->key, text_of(item), NAN);      /* name: path */
        else if (item->type == JSON_STRING)
            add_adapter_text(s, item->text);
        else if (item->type == JSON_OBJECT)
            add_adapter_object(s, item);
    }
    return OK;
}

int server_settings_member(struct server_settings *settings, const char *name,
                           const struct json *value, struct error *err)
{
    const struct server_option *option = server_option_find(settings->server, str_of(name));
    char plain[NAME_BYTES];
    size_t n = 0;

    if (!value || value->type == JSON_NULL || import_is_secret(name))
        return OK;
    if (option && option->kind == OPTION_ADAPTERS)
        return member_adapters(settings, option, value);
    if (option && option->kind == OPTION_LENGTH && value->type == JSON_STRING)
        return put(settings, option->name,
                   length_text(settings, arena_strndup(settings->import->arena, value->text.p,
                                                       value->text.n)),
                   value->line, err);
    for (size_t i = 0; name[i] && n + 1 < sizeof plain; i++)
        plain[n++] = name[i] == '-' ? '_' : name[i];
    plain[n] = '\0';
    settings->import->n_rows++;
    return import_json_setting(settings->import, SIDE_SERVE, option ? option->name : plain, value,
                               err);
}

/* ---- The end ---- */

static int put_adapters(struct server_settings *s, struct error *err)
{
    struct buf list;
    int rc;

    if (s->adapters.n == 0)
        return OK;
    if (s->adapters.failed)
        return sink_note(s->import->sink, NOTE_WARN, s->adapters_line, NONE, err,
                         "more adapters than can be kept");
    buf_init(&list, 2 * ADAPTERS_BYTES);
    buf_putc(&list, '[');
    /* All of them, or none: llama.cpp loads, and waits to be told by a request. */
    for (size_t i = 0; i < s->adapters.n; i++) {
        bool is_end = s->adapters.p[i] == '}' &&
                      (i + 1 == s->adapters.n || strncmp(s->adapters.p + i + 1, ",{\"name\"", 8) == 0);

        if (is_end && s->is_without_apply)
            buf_puts(&list, ",\"applied\":false");
        buf_putc(&list, s->adapters.p[i]);
    }
    buf_putc(&list, ']');
    s->import->n_rows++;
    rc = list.failed ? error_set(err, E_NOMEM, "a list of adapters")
                     : import_setting(s->import, SIDE_SERVE, s->adapters_name, list.p, VALUE_LIST,
                                      s->adapters_line, err);
    buf_free(&list);
    return rc;
}

int server_settings_end(struct server_settings *settings, struct error *err)
{
    int rc = put_adapters(settings, err);
    const char *engine = server_engine(settings->server);

    return rc == OK && engine ? import_setting(settings->import, SIDE_SERVE, "engine", engine,
                                               VALUE_TEXT, NONE, err)
                              : rc;
}

int server_put_others(struct import *import, int64_t n, struct error *err)
{
    char text[24];

    if (n <= 0)
        return OK;
    (void)snprintf(text, sizeof text, "%lld", (long long)n);
    return import_setting(import, SIDE_SERVE, "other_servers", text, VALUE_INT, NONE, err);
}
