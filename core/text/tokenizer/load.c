/* Reading a tokenizer.json: the two long members of its model stay raw text for the model, the rest
 * becomes a tree. See tokenizer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/number.h"
#include "core/read/source.h"
#include "core/text/tokenizer/pipeline.h"

#define SETTINGS_BYTES ((size_t)512 << 20)

/* ---- Finding the long members ---- */

struct scan {
    struct str text;
    size_t i;
    struct error *err;
};

static int breaks_off(const struct scan *scan)
{
    int rc = error_set(scan->err, E_PARSE, "the text breaks off, expected the rest of the JSON");

    if (scan->err)
        error_at(scan->err, NULL, NONE, (int64_t)scan->text.n);
    return rc;
}

static int unexpected(const struct scan *scan, const char *expected)
{
    if (scan->i >= scan->text.n)
        return breaks_off(scan);

    int rc = error_set(scan->err, E_PARSE, "expected %s", expected);

    if (scan->err)
        error_at(scan->err, NULL, NONE, (int64_t)scan->i);
    return rc;
}

static char peek(struct scan *scan)
{
    while (scan->i < scan->text.n &&
           (scan->text.p[scan->i] == ' ' || scan->text.p[scan->i] == '\n' ||
            scan->text.p[scan->i] == '\r' || scan->text.p[scan->i] == '\t'))
        scan->i++;
    return scan->i < scan->text.n ? scan->text.p[scan->i] : '\0';
}

/* At '"': the raw text between the quotes. */
static int skip_string(struct scan *scan, struct str *out)
{
    size_t from = ++scan->i;

    while (scan->i < scan->text.n && scan->text.p[scan->i] != '"')
        scan->i += scan->text.p[scan->i] == '\\' ? 2 : 1;
    if (scan->i >= scan->text.n)
        return breaks_off(scan);
    *out = str_from(scan->text.p + from, scan->i - from);
    scan->i++;
    return OK;
}

/* Any value, without looking whether it is well formed: what reads it does. */
static int skip_value(struct scan *scan)
{
    const char *p = scan->text.p;
    size_t depth = 0;
    struct str string;

    (void)peek(scan);
    do {
        if (scan->i >= scan->text.n)
            return breaks_off(scan);

        char c = p[scan->i];

        if (c == '"') {
            int rc = skip_string(scan, &string);

            if (rc != OK)
                return rc;
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        else if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return unexpected(scan, "a value");
        scan->i++;
        if (depth == 0 && c != '}' && c != ']') /* a number or a word */
            while (scan->i < scan->text.n && !strchr(",]} \t\r\n", p[scan->i]))
                scan->i++;
    } while (depth > 0);
    return OK;
}

typedef int member_fn(struct scan *scan, struct str key, void *ctx);

/* At an object: calls for each member, with the scan before its value. */
static int each_member(struct scan *scan, member_fn *member, void *ctx)
{
    if (peek(scan) != '{')
        return unexpected(scan, "an object");
    scan->i++;
    if (peek(scan) == '}') {
        scan->i++;
        return OK;
    }
    for (;;) {
        struct str key;
        int rc;

        if (peek(scan) != '"')
            return unexpected(scan, "the name of a member");
        rc = skip_string(scan, &key);
        if (rc == OK && peek(scan) != ':')
            return unexpected(scan, "a colon");
        scan->i++;
        (void)peek(scan);
        if (rc == OK)
            rc = member(scan, key, ctx);
        if (rc != OK)
            return rc;

        char c = peek(scan);

        if (c != ',' && c != '}')
            return unexpected(scan, "a comma or the end of an object");
        scan->i++;
        if (c == '}')
            return OK;
    }
}

struct long_members {
    struct str vocab, merges;
    bool has_model;
};

static int model_member(struct scan *scan, struct str key, void *ctx)
{
    struct long_members *found = ctx;
    struct str *out = str_is(key, "vocab")    ? &found->vocab
                      : str_is(key, "merges") ? &found->merges
                                              : NULL;
    size_t from = scan->i;
    int rc;

    if (out && out->p)
        return unexpected(scan, "the vocabulary and the merges of the model once");
    rc = skip_value(scan);
    if (rc == OK && out)
        *out = str_from(scan->text.p + from, scan->i - from);
    return rc;
}

static int top_member(struct scan *scan, struct str key, void *ctx)
{
    struct long_members *found = ctx;

    if (!str_is(key, "model"))
        return skip_value(scan);
    if (found->has_model)
        return unexpected(scan, "one model");
    found->has_model = true;
    return peek(scan) == '{' ? each_member(scan, model_member, found) : skip_value(scan);
}

/* ---- The settings ---- */

/* The text without the long members, which become null. */
static int cut_long_members(struct str text, const struct long_members *found, struct buf *out,
                            struct error *err)
{
    struct str first = found->vocab, second = found->merges;

    if (second.p && (!first.p || second.p < first.p)) {
        first = found->merges;
        second = found->vocab;
    }

    const char *from = text.p;

    for (int i = 0; i < 2; i++) {
        struct str cut = i == 0 ? first : second;

        if (!cut.p)
            continue;
        buf_add(out, from, (size_t)(cut.p - from));
        buf_puts(out, "null");
        from = cut.p + cut.n;
    }
    buf_add(out, from, (size_t)(text.p + text.n - from));
    return out->failed ? error_set(err, E_NOMEM, "no memory for the settings") : OK;
}

/* A place in the cut text becomes one in the file. */
static void move_place(struct error *err, struct str text, const struct long_members *found)
{
    int64_t byte = err ? err->byte : NONE;
    bool vocab_first = !found->merges.p || (found->vocab.p && found->vocab.p < found->merges.p);

    for (int i = 0; byte >= 0 && i < 2; i++) {
        struct str cut = (i == 0) == vocab_first ? found->vocab : found->merges;

        if (cut.p && byte > cut.p - text.p)
            byte += (int64_t)cut.n - 4;
    }
    if (err && byte >= 0)
        err->byte = byte;
}

static int read_model(struct tokenizer *tokenizer, const struct json *root,
                      const struct long_members *found, struct compact *compact, struct error *err)
{
    const struct json *model = json_get(root, "model");
    const struct model_parts parts = {
        .settings = model, .vocab = found->vocab, .merges = found->merges};

    if (!json_is(model, JSON_OBJECT))
        return error_set(err, E_PARSE, "no model in the tokenizer");
    if (compact->data)
        return model_open_compact(&tokenizer->model, compact, err);
    return model_open(&tokenizer->model, &parts, err);
}

static int read_version(const struct json *root, struct error *err)
{
    const struct json *version = json_get(root, "version");

    if (version && !(json_is(version, JSON_STRING) && str_is(version->text, "1.0")))
        return error_set(err, E_UNSUPPORTED, "tokenizer of a version that is not 1.0");
    return OK;
}

static bool ends_in_bytes(const struct tokenizer *tokenizer)
{
    size_t n = tokenizer->n_splitters;

    return n > 0 && tokenizer->splitters[n - 1].kind == SPLIT_BYTE_LEVEL &&
           model_has_bytes(tokenizer->model);
}

/* What the post-processor puts around a text, seen on a token that no vocabulary has. */
static int look_around(struct tokenizer *tokenizer, struct error *err)
{
    struct tokenizer_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct encoding encoding = {.tokenizer = tokenizer, .out = &tokens, .err = err};
    int rc = tokenizer_scratch_open(&scratch, err);

    tokenizer->first_added = tokenizer->last_added = NONE;
    encoding.scratch = scratch;
    if (rc == OK)
        rc = tokens_push(&tokens, UINT32_MAX, 0, 0, err);
    if (rc == OK)
        rc = blank_list_add(&scratch->blanks, 1, err);
    if (rc == OK)
        rc = post_process(&encoding, true);
    if (rc == OK && tokens.n && tokens.ids[0] != UINT32_MAX)
        tokenizer->first_added = tokens.ids[0];
    if (rc == OK && tokens.n && tokens.ids[tokens.n - 1] != UINT32_MAX)
        tokenizer->last_added = tokens.ids[tokens.n - 1];
    tokens_free(&tokens);
    tokenizer_scratch_close(scratch);
    return rc;
}

static void describe(struct tokenizer *tokenizer, const char *file)
{
    static const char *const KINDS[] = {"BPE", "Unigram", "WordPiece", "WordLevel"};
    char digits[16], number[24];
    size_t n = 0, n_digits;
    bool is_bytes = false;

    for (size_t i = 0; i < tokenizer->n_splitters; i++)
        is_bytes |= tokenizer->splitters[i].kind == SPLIT_BYTE_LEVEL;
    for (size_t i = 0; i < tokenizer->n_normalizers; i++)
        is_bytes |= tokenizer->normalizers[i].kind == NORMALIZE_BYTE_LEVEL;
    n_digits = (size_t)snprintf(digits, sizeof digits, "%u", (unsigned)tokenizer_size(tokenizer));
    for (size_t i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0)
            number[n++] = ',';
        number[n++] = digits[i];
    }
    number[n] = '\0';
    snprintf(tokenizer->about, sizeof tokenizer->about, "%s%s, %s tokens, %s",
             KINDS[model_kind(tokenizer->model)], is_bytes ? " byte-level" : "", number, file);
}

static int read_parts(struct tokenizer *tokenizer, const struct json *root,
                      const struct long_members *found, struct compact *compact, struct error *err)
{
    int rc = read_version(root, err);

    if (rc == OK)
        rc = normalizers_read(tokenizer, json_get(root, "normalizer"), err);
    if (rc == OK)
        rc = splitters_read(tokenizer, json_get(root, "pre_tokenizer"), err);
    if (rc == OK)
        rc = posts_read(tokenizer, json_get(root, "post_processor"), err);
    if (rc == OK)
        rc = decoders_read(tokenizer, json_get(root, "decoder"), err);
    if (rc == OK)
        rc = read_model(tokenizer, root, found, compact, err);
    if (rc == OK)
        rc = added_tokens_read(tokenizer, json_get(root, "added_tokens"), err);
    if (rc == OK)
        rc = look_around(tokenizer, err);
    tokenizer->raw_bytes = rc == OK && ends_in_bytes(tokenizer);
    return rc;
}

/* The settings of the text, from the compact form where there is one. */
static int find_settings(struct str text, struct long_members *found, const struct compact *compact,
                         struct buf *out, struct error *err)
{
    struct scan scan = {.text = text, .err = err};

    if (compact->data) {
        buf_str(out, compact->settings);
        return out->failed ? error_set(err, E_NOMEM, "no memory for the settings") : OK;
    }

    int rc = each_member(&scan, top_member, found);

    return rc == OK ? cut_long_members(text, found, out, err) : rc;
}

/* Fills a tokenizer; the compact form is taken from `cache_folder` and kept there (NULL: not). */
static int fill_tokenizer(struct tokenizer *tokenizer, struct str text, const char *cache_folder,
                          struct error *err)
{
    struct long_members found = {0};
    struct compact compact = {0};
    const struct json *root = NULL;
    struct buf settings;
    size_t n = 0;
    int rc = cache_folder ? compact_find(&compact, cache_folder, text, err) : 0;
    bool was_kept = rc == 1;

    buf_init(&settings, TOKENIZER_FILE_BYTES);
    if (rc >= 0)
        rc = find_settings(text, &found, &compact, &settings, err);
    if (rc == OK) {
        n = settings.n;
        tokenizer->text = buf_steal(&settings);
        rc = json_parse_exact(str_from(tokenizer->text, n), tokenizer->arena, &root, err);
        if (rc != OK)
            move_place(err, text, &found);
    }
    if (rc == OK)
        rc = read_parts(tokenizer, root, &found, &compact, err);
    if (rc == OK && cache_folder && !was_kept)
        compact_keep(cache_folder, text, str_from(tokenizer->text, n), tokenizer->model);
    free(compact.data);
    buf_free(&settings);
    return rc;
}

static int load_named(struct tokenizer **out, struct str text, const char *name,
                      const char *cache_folder, struct error *err)
{
    struct tokenizer *tokenizer = calloc(1, sizeof *tokenizer);

    if (tokenizer)
        tokenizer->arena = arena_open(SETTINGS_BYTES);

    int rc = tokenizer && tokenizer->arena ? fill_tokenizer(tokenizer, text, cache_folder, err)
                                           : error_set(err, E_NOMEM, "no memory for a tokenizer");

    if (rc != OK) {
        tokenizer_close(tokenizer);
        return rc;
    }
    describe(tokenizer, name);
    *out = tokenizer;
    return OK;
}

int tokenizer_load_text(struct tokenizer **out, struct str text, struct error *err)
{
    if (text.n > TOKENIZER_FILE_BYTES)
        return error_set(err, E_LIMIT, "tokenizer of %zu bytes, expected at most %zu", text.n,
                         TOKENIZER_FILE_BYTES);
    return load_named(out, text, "tokenizer.json", NULL, err);
}

/* ---- Files ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_legacy(const char *path)
{
    static const char *const NAMES[] = {"vocab.json", "merges.txt", "vocab.txt"};
    struct str name = str_of(base_name(path));

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i]))
            return true;
    return !str_ends(name, ".json");
}

static int load_json(struct tokenizer **out, const char *path, const char *cache_folder,
                     struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = source_slurp(path, TOKENIZER_FILE_BYTES, &text, &n, err);

    if (rc == OK)
        rc = load_named(out, str_from(text, n), base_name(path), cache_folder, err);
    if (rc != OK && err && !err->path[0])
        error_at(err, path, err->line, err->byte);
    free(text);
    return rc;
}

/* tokenizer_config.json beside the file or inside the folder; absent: NULL. */
static int read_config(const char *path, struct arena *arena, const struct json **out,
                       struct error *err)
{
    char beside[4096];
    const char *slash = is_folder(path) ? path + strlen(path) : strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 1;
    int written = snprintf(beside, sizeof beside, "%.*s/tokenizer_config.json",
                           (int)(n < sizeof beside ? n : 0), slash ? path : ".");

    *out = NULL;
    if (written <= 0 || (size_t)written >= sizeof beside || !is_there(beside))
        return OK;
    return json_read_file(beside, false, arena, out, NULL, err);
}

static int load_legacy(struct tokenizer **out, const char *path, const char *cache_folder,
                       struct error *err)
{
    struct arena *arena = arena_open(SETTINGS_BYTES);
    const struct json *config = NULL;
    struct buf text;
    int rc = arena ? read_config(path, arena, &config, err)
                   : error_set(err, E_NOMEM, "no memory for a tokenizer's config");

    buf_init(&text, 2 * TOKENIZER_FILE_BYTES);
    if (rc == OK)
        rc = legacy_to_json(path, config, &text, err);
    if (rc == OK)
        rc = load_named(out, buf_view(&text), base_name(path), cache_folder, err);
    if (rc != OK && err && !err->path[0])
        error_at(err, path, err->line, err->byte);
    buf_free(&text);
    arena_close(arena);
    return rc;
}

static int load_gguf(struct tokenizer **out, const char *path, const char *cache_folder,
                     struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, TOKENIZER_FILE_BYTES);
    rc = gguf_tokenizer_json(path, &text, err);
    if (rc == OK)
        rc = load_named(out, buf_view(&text), base_name(path), cache_folder, err);
    if (rc != OK && err && !err->path[0])
        error_at(err, path, err->line, err->byte);
    buf_free(&text);
    return rc;
}

int tokenizer_load(struct tokenizer **out, const char *path, const char *cache_folder,
                   struct error *err)
{
    char inside[4096];
    int n;

    if (str_ends(str_of(path), ".gguf"))
        return load_gguf(out, path, cache_folder, err);
    if (!is_folder(path))
        return is_legacy(path) ? load_legacy(out, path, cache_folder, err)
                               : load_json(out, path, cache_folder, err);
    n = snprintf(inside, sizeof inside, "%s/tokenizer.json", path);
    if (n > 0 && (size_t)n < sizeof inside && is_there(inside))
        return load_json(out, inside, cache_folder, err);
    return load_legacy(out, path, cache_folder, err);
}
