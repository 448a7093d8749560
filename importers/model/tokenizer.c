/* The tokenizer's side files as settings, and of tokenizer.json only sizes and added tokens. */
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/model/template_facts.h"
#include "importers/model/vocab_scan.h"
#include "importers/peek.h"

#define SCAN_ARENA_BYTES ((size_t)16 << 20)
#define ADDED_MAX        20000

enum part { PART_CONFIG, PART_SPECIAL, PART_ADDED, PART_TOKENIZER, PART_NONE };

static enum part part_of_name(const struct peek *peek)
{
    if (peek_name_is(peek, "tokenizer_config.json"))
        return PART_CONFIG;
    if (peek_name_is(peek, "special_tokens_map.json"))
        return PART_SPECIAL;
    if (peek_name_is(peek, "added_tokens.json"))
        return PART_ADDED;
    return peek_name_is(peek, "tokenizer.json") ? PART_TOKENIZER : PART_NONE;
}

static int probe(const struct peek *peek)
{
    return part_of_name(peek) != PART_NONE ? 95 : 0;
}

struct tokens {
    struct import *import;
    struct arena *arena;
    int64_t max_id, n;
};

static int put_int(struct import *import, const char *name, int64_t value, int64_t line,
                   struct error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return import_setting(import, SIDE_TOKENIZER, name, text, VALUE_INT, line, err);
}

static int put_added(struct tokens *tokens, int64_t id, struct str content, int64_t line,
                     struct error *err)
{
    char name[48];
    struct buf text;
    int rc;

    if (id < 0 || tokens->n++ >= ADDED_MAX)
        return OK;
    if (id > tokens->max_id)
        tokens->max_id = id;
    snprintf(name, sizeof name, "added_token.%lld", (long long)id);
    buf_init(&text, 65536);
    buf_str(&text, content);
    tokens->import->n_rows++;
    rc = text.failed ? OK
                     : import_setting(tokens->import, SIDE_TOKENIZER, name, text.p ? text.p : "",
                                      VALUE_TEXT, line, err);
    buf_free(&text);
    return rc;
}

/* A token is a text, an AddedToken object with `content`, or null. */
static const struct json *token_text(const struct json *value)
{
    return json_is(value, JSON_OBJECT) ? json_get(value, "content") : value;
}

/* ---- tokenizer_config.json, special_tokens_map.json ---- */

static const char *const SCALARS[] = {
    "tokenizer_class",
    "padding_side",
    "truncation_side",
    "model_max_length",
    "add_bos_token",
    "add_eos_token",
    "add_prefix_space",
    "clean_up_tokenization_spaces",
    "legacy",
    "use_fast",
    "split_special_tokens",
    "backend",
    "is_local",
    "use_default_system_prompt",
    "errors",
};
static const char *const TOKENS[] = {"bos_token", "eos_token", "pad_token", "unk_token",
                                     "sep_token", "cls_token", "mask_token"};

static int put_names(struct import *import, const struct json *tree, struct error *err)
{
    int rc = OK;

    for (size_t i = 0; i < sizeof TOKENS / sizeof *TOKENS && rc == OK; i++)
        rc = import_json_setting(import, SIDE_TOKENIZER, TOKENS[i],
                                 token_text(json_get(tree, TOKENS[i])), err);
    for (size_t i = 0; i < sizeof SCALARS / sizeof *SCALARS && rc == OK; i++)
        rc = import_json_setting(import, SIDE_TOKENIZER, SCALARS[i], json_get(tree, SCALARS[i]),
                                 err);
    return rc;
}

static int put_decoder(struct tokens *tokens, const struct json *decoder, struct error *err)
{
    int rc = OK;

    if (!json_is(decoder, JSON_OBJECT))
        return OK;
    for (const struct json *token = decoder->child; token && rc == OK; token = token->next) {
        const struct json *content = token_text(token);
        int64_t id = 0;

        for (size_t i = 0; i < token->key.n; i++)
            id = token->key.p[i] >= '0' && token->key.p[i] <= '9' && id >= 0 && id < 1000000000
                     ? id * 10 + (token->key.p[i] - '0')
                     : -1;
        if (json_is(content, JSON_STRING) && token->key.n)
            rc = put_added(tokens, id, content->text, token->line, err);
    }
    return rc;
}

/* Old lists and new objects of additional tokens, as a list of texts. */
static int put_additional(struct import *import, const struct json *list, struct error *err)
{
    struct buf text;
    int rc = OK;

    if (!list || (list->type != JSON_ARRAY && list->type != JSON_OBJECT))
        return OK;
    buf_init(&text, 60000);
    for (const struct json *token = list->child; token; token = token->next) {
        const struct json *content = token_text(token);

        if (!json_is(content, JSON_STRING))
            continue;
        buf_putc(&text, text.n ? ',' : '[');
        json_write_string(&text, content->text);
    }
    if (text.n && !text.failed) {
        buf_putc(&text, ']');
        rc = import_setting(import, SIDE_TOKENIZER, "additional_special_tokens", text.p, VALUE_LIST,
                            list->line, err);
    }
    buf_free(&text);
    return rc;
}

/* A text, or a list of {name, template}: then the one named default, or the first. */
static const struct json *template_of(const struct json *value)
{
    const struct json *chosen = NULL;

    if (!json_is(value, JSON_ARRAY))
        return value;
    for (const struct json *entry = value->child; entry; entry = entry->next) {
        const struct json *name = json_get(entry, "name");

        if (!chosen || (json_is(name, JSON_STRING) && str_is(name->text, "default")))
            chosen = json_get(entry, "template");
    }
    return chosen;
}

/* chat_template.jinja in the same folder wins over the key here, so the key is not told then. */
static bool has_template_beside(const struct import *import)
{
    char path[4096];
    struct source_stat stat;
    struct error ignored;
    const char *slash = strrchr(import->path, '/');
    int n = snprintf(path, sizeof path, "%.*schat_template.jinja",
                     (int)(slash ? slash + 1 - import->path : 0), import->path);

    return n > 0 && (size_t)n < sizeof path && source_stat_path(path, &stat, &ignored) == OK;
}

static int run_config(struct import *import, bool is_config, struct error *err)
{
    const struct json *tree, *template;
    struct tokens tokens = {.import = import, .max_id = NONE};
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    if (!json_is(tree, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err, "not a JSON object");
    import->n_rows = (int64_t)tree->n;
    rc = put_names(import, tree, err);
    const struct json *more = json_get(tree, "additional_special_tokens");
    if (rc == OK)
        rc = put_additional(import, more ? more : json_get(tree, "extra_special_tokens"), err);
    if (rc == OK)
        rc = put_decoder(&tokens, json_get(tree, "added_tokens_decoder"), err);
    if (rc == OK && tokens.max_id != NONE)
        rc = put_int(import, "max_token_id", tokens.max_id, NONE, err);
    if (rc != OK || !is_config || has_template_beside(import))
        return rc;
    template = template_of(json_get(tree, "chat_template"));
    return json_is(template, JSON_STRING)
               ? template_import(import, template->text, template->line, err)
               : template_import(import, str_of(""), NONE, err);
}

/* ---- added_tokens.json: {content: id} ---- */

static int run_added(struct import *import, struct error *err)
{
    const struct json *tree;
    struct tokens tokens = {.import = import, .max_id = NONE};
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "added tokens";
    if (rc != OK || !tree)
        return rc;
    if (!json_is(tree, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err, "not a JSON object");
    for (const struct json *token = tree->child; token && rc == OK; token = token->next)
        if (json_is(token, JSON_NUMBER) && token->is_integer && token->number < 1e12)
            rc = put_added(&tokens, (int64_t)token->number, token->key, token->line, err);
    if (rc == OK && tokens.max_id != NONE)
        rc = put_int(import, "max_token_id", tokens.max_id, NONE, err);
    return rc;
}

/* ---- tokenizer.json ---- */

static int on_added(void *ctx, struct str object, struct error *err)
{
    struct tokens *tokens = ctx;
    const struct json *tree = NULL;
    struct error why = {0};

    arena_reset(tokens->arena);
    if (json_parse(object, false, tokens->arena, &tree, NULL, &why) != OK)
        return OK;
    const struct json *id = json_get(tree, "id"), *content = json_get(tree, "content");
    if (!json_is(id, JSON_NUMBER) || !json_is(content, JSON_STRING) || !(id->number < 1e12) ||
        !(id->number >= 0))
        return OK;
    return put_added(tokens, (int64_t)id->number, content->text, NONE, err);
}

static int run_tokenizer(struct import *import, struct error *err)
{
    struct tokens tokens = {.import = import, .max_id = NONE};
    struct vocab_facts facts;
    struct source_file *file = NULL;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "added tokens";
    if (rc != OK || is_odd)
        return rc;
    tokens.arena = arena_open(SCAN_ARENA_BYTES);
    if (!tokens.arena)
        return error_set(err, E_NOMEM, "reading a tokenizer");
    rc = source_open(&file, import->path, &why);
    if (rc == OK)
        rc = vocab_scan(file, &facts, on_added, &tokens, &why);
    source_close(file);
    arena_close(tokens.arena);
    if (rc != OK)
        return import_note_error(import, &why, err);
    if (facts.is_cut) {
        import->state = SOURCE_DAMAGED;
        rc = sink_note(import->sink, NOTE_ERROR, NONE, NONE, err, "the document breaks off");
    }
    if (rc == OK && facts.n_entries != NONE)
        rc = put_int(import, "vocab_size", facts.n_entries, NONE, err);
    int64_t max_id = facts.max_id > tokens.max_id ? facts.max_id : tokens.max_id;
    return rc == OK && max_id != NONE ? put_int(import, "max_token_id", max_id, NONE, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    struct peek peek = {.name = slash ? slash + 1 : import->path};
    enum part part = part_of_name(&peek);

    if (part == PART_ADDED)
        return run_added(import, err);
    if (part == PART_TOKENIZER)
        return run_tokenizer(import, err);
    return run_config(import, part == PART_CONFIG, err);
}

const struct importer importer_tokenizer = {
    .id = "tokenizer",
    .title = "a tokenizer",
    .hint = "the folder with tokenizer.json and tokenizer_config.json",
    .supplies = NEEDS_TOKENIZER | NEEDS_TEMPLATE,
    .version = 1,
    .role = "tokenizer",
    .probe = probe,
    .run = run,
};
