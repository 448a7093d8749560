/* vocab.json + merges.txt, vocab.txt, and ranks of tiktoken, as the converters of transformers make
 * a tokenizer of them. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/read/source.h"
#include "core/text/tokenizer/byte_letters.h"
#include "core/text/tokenizer/legacy.h"

#define LEGACY_FILE_BYTES ((size_t)64 << 20)
#define LONGEST_RANKED    1024          /* bytes of a token: all its splits are tried */
#define BYTE_DECODER \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}"
#define CL100K \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define QWEN2 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CLIP "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"

static int slurp_beside(const struct legacy *legacy, const char *name, char **out, size_t *n)
{
    char path[4096];
    int written = snprintf(path, sizeof path, "%.*s/%s", (int)legacy->folder.n, legacy->folder.p,
                           name);

    if (written <= 0 || (size_t)written >= sizeof path)
        return error_set(legacy->err, E_LIMIT, "a path of more than 4,095 bytes");
    return source_slurp(path, LEGACY_FILE_BYTES, out, n, legacy->err);
}

/* Lines as merges; the version line and empty ones are none. */
static void put_merges(struct buf *out, struct str text)
{
    struct str line;
    bool first = true;

    buf_putc(out, '[');
    while (str_split(&text, '\n', &line)) {
        if (str_ends(line, "\r"))
            line.n--;
        if (line.n == 0 || str_starts(line, "#version"))
            continue;
        if (!first)
            buf_putc(out, ',');
        put_json_text(out, line);
        first = false;
    }
    buf_putc(out, ']');
}

static void put_split(struct buf *out, const char *pattern, const char *behaviour, bool invert)
{
    buf_puts(out, "{\"type\":\"Split\",\"pattern\":{\"Regex\":");
    put_json_text(out, str_of(pattern));
    buf_printf(out, "},\"behavior\":\"%s\",\"invert\":%s}", behaviour, invert ? "true" : "false");
}

static void put_byte_level(struct buf *out, bool prefix_space, bool regex)
{
    buf_printf(out,
               "{\"type\":\"ByteLevel\",\"add_prefix_space\":%s,\"trim_offsets\":true,"
               "\"use_regex\":%s}",
               prefix_space ? "true" : "false", regex ? "true" : "false");
}

static void put_splits(struct legacy *legacy)
{
    struct buf *out = &legacy->pre_tokenizer;
    enum legacy_shape shape = legacy->kind->shape;
    bool prefix_space =
        shape != SHAPE_CLIP && legacy_flag(legacy, "add_prefix_space", false);

    if (shape == SHAPE_GPT2 || shape == SHAPE_ROBERTA) {
        put_byte_level(out, prefix_space, true);
        return;
    }
    buf_puts(out, "{\"type\":\"Sequence\",\"pretokenizers\":[");
    if (shape == SHAPE_CLIP)
        put_split(out, CLIP, "Removed", true);
    else
        put_split(out, shape == SHAPE_QWEN2 ? QWEN2 : CL100K, "Isolated", false);
    buf_putc(out, ',');
    put_byte_level(out, prefix_space, shape == SHAPE_CLIP);
    buf_puts(out, "]}");
}

static void put_bpe(struct legacy *legacy)
{
    struct buf *out = &legacy->model;
    struct str unk = legacy_special(legacy, "unk_token");

    buf_puts(out, "\"type\":\"BPE\",\"dropout\":null,\"continuing_subword_prefix\":\"\","
                  "\"fuse_unk\":false,\"byte_fallback\":false,\"unk_token\":");
    if (legacy->kind->shape == SHAPE_CLIP && unk.p)
        put_json_text(out, unk);
    else
        buf_puts(out, "null");
    buf_printf(out, ",\"end_of_word_suffix\":\"%s\",\"ignore_merges\":%s",
               legacy->kind->shape == SHAPE_CLIP ? "</w>" : "",
               legacy->kind->shape == SHAPE_TIKTOKEN ? "true" : "false");
}

static void put_pipeline(struct legacy *legacy)
{
    if (legacy->kind->shape == SHAPE_QWEN2)
        buf_puts(&legacy->normalizer, "{\"type\":\"NFC\"}");
    if (legacy->kind->shape == SHAPE_CLIP)
        buf_puts(&legacy->normalizer,
                 "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Replace\","
                 "\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"},{\"type\":\"Lowercase\"}]}");
    put_splits(legacy);
    buf_puts(&legacy->decoder, BYTE_DECODER);
    put_bpe(legacy);
}

static int finish_vocab(struct legacy *legacy)
{
    int rc;

    if (legacy->vocab_json.failed)
        return error_set(legacy->err, E_NOMEM, "a vocabulary");
    rc = vocab_read(&legacy->vocab, buf_view(&legacy->vocab_json), legacy->err);
    if (rc == OK)
        legacy->next_id = vocab_size(&legacy->vocab);
    return rc;
}

int legacy_read_bpe(struct legacy *legacy)
{
    char *vocab = NULL, *merges = NULL;
    size_t n_vocab = 0, n_merges = 0;
    int rc = slurp_beside(legacy, "vocab.json", &vocab, &n_vocab);

    if (rc == OK)
        rc = slurp_beside(legacy, "merges.txt", &merges, &n_merges);
    if (rc == OK) {
        buf_str(&legacy->vocab_json, str_trim(str_from(vocab, n_vocab)));
        put_merges(&legacy->merges_json, str_from(merges, n_merges));
        put_pipeline(legacy);
        rc = finish_vocab(legacy);
    }
    free(vocab);
    free(merges);
    return rc;
}

/* ---- vocab.txt ---- */

static int put_lines(struct legacy *legacy, struct str text)
{
    struct buf *out = &legacy->vocab_json;
    struct str line;
    uint32_t n = 0;

    buf_putc(out, '{');
    if (str_ends(text, "\n"))
        text.n--;
    while (str_split(&text, '\n', &line)) {
        if (str_ends(line, "\r"))
            line.n--;
        if (!unicode_is_valid(line)) {
            error_set(legacy->err, E_PARSE, "expected valid UTF-8");
            error_at(legacy->err, NULL, (int64_t)n + 1, NONE);
            return E_PARSE;
        }
        if (n)
            buf_putc(out, ',');
        put_json_text(out, line);
        buf_printf(out, ":%u", n++);
    }
    buf_putc(out, '}');
    return finish_vocab(legacy);
}

static void put_bert(struct legacy *legacy)
{
    const struct json *strip =
        legacy->config ? json_get(legacy->config, "strip_accents") : NULL;
    bool lowers = legacy_flag(legacy, "do_lower_case", true);

    buf_printf(&legacy->normalizer,
               "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":%s,"
               "\"strip_accents\":%s,\"lowercase\":%s}",
               legacy_flag(legacy, "tokenize_chinese_chars", true) ? "true" : "false",
               json_is(strip, JSON_TRUE)    ? "true"
               : json_is(strip, JSON_FALSE) ? "false"
                                            : "null",
               lowers ? "true" : "false");
    buf_puts(&legacy->pre_tokenizer, "{\"type\":\"BertPreTokenizer\"}");
    buf_puts(&legacy->decoder, "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}");
    buf_puts(&legacy->model, "\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
                             "\"max_input_chars_per_word\":100,\"unk_token\":");
    put_json_text(&legacy->model, legacy_special(legacy, "unk_token"));
}

int legacy_read_bert(struct legacy *legacy, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    int rc = source_slurp(path, LEGACY_FILE_BYTES, &text, &n, legacy->err);

    if (rc == OK)
        rc = put_lines(legacy, str_from(text, n));
    put_bert(legacy);
    free(text);
    return rc;
}

/* ---- ranks of tiktoken: "base64 rank" a line ---- */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;

    return p ? (int)(p - digits) : -1;
}

/* The bytes of a token as letters of the byte alphabet. */
static bool decode_token(struct str base64, struct buf *out)
{
    uint32_t bits = 0;
    int n_bits = 0;

    while (str_ends(base64, "="))
        base64.n--;
    for (size_t i = 0; i < base64.n; i++) {
        int digit = base64_digit(base64.p[i]);
        char letter[4];

        if (digit < 0)
            return false;
        bits = (bits << 6 | (uint32_t)digit) & 0xFFFFFF;
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        buf_add(out, letter, unicode_put(letter, byte_letter((unsigned char)(bits >> n_bits))));
    }
    return base64.n > 0;
}

static int put_ranks(struct legacy *legacy, struct str text)
{
    struct buf *out = &legacy->vocab_json, token;
    struct str line;
    int64_t number = 0;
    int rc = OK;

    buf_init(&token, LEGACY_FILE_BYTES);
    buf_putc(out, '{');
    while (rc == OK && str_split(&text, '\n', &line)) {
        struct str base64;
        int64_t rank = NONE;

        number++;
        line = str_trim(line);
        if (line.n == 0)
            continue;
        buf_clear(&token);
        if (!str_split(&line, ' ', &base64) || !decode_token(base64, &token) ||
            !number_parse_int(line, &rank) || rank < 0 || rank >= UINT32_MAX) {
            rc = error_set(legacy->err, E_PARSE, "expected a token in base64, a blank and its rank");
            error_at(legacy->err, NULL, number, NONE);
        }
        if (out->n > 1)
            buf_putc(out, ',');
        put_json_text(out, buf_view(&token));
        buf_printf(out, ":%lld", (long long)rank);
    }
    buf_putc(out, '}');
    buf_free(&token);
    return rc;
}

struct way {                    /* to make a token of two */
    uint32_t left, right, at;
};

static int by_parts(const void *a, const void *b)
{
    const struct way *x = a, *y = b;

    if (x->left != y->left)
        return x->left < y->left ? -1 : 1;
    return (x->right > y->right) - (x->right < y->right);
}

static int put_ways(struct legacy *legacy, struct str token)
{
    struct way ways[LONGEST_RANKED];
    size_t n = 0;

    if (token.n > LONGEST_RANKED)
        return error_set(legacy->err, E_LIMIT, "a ranked token of %zu bytes", token.n);
    for (size_t at = 1; at < token.n; at++) {
        if (((unsigned char)token.p[at] & 0xC0) == 0x80)
            continue;

        int64_t left = vocab_id(&legacy->vocab, str_first(token, at));
        int64_t right = left == NONE ? NONE : vocab_id(&legacy->vocab, str_skip(token, at));

        if (right != NONE)
            ways[n++] = (struct way){(uint32_t)left, (uint32_t)right, (uint32_t)at};
    }
    if (n > 1)
        qsort(ways, n, sizeof *ways, by_parts);
    for (size_t i = 0; i < n; i++) {
        buf_puts(&legacy->merges_json, legacy->merges_json.n > 1 ? ",[" : "[");
        put_json_text(&legacy->merges_json, str_first(token, ways[i].at));
        buf_putc(&legacy->merges_json, ',');
        put_json_text(&legacy->merges_json, str_skip(token, ways[i].at));
        buf_putc(&legacy->merges_json, ']');
    }
    return OK;
}

int legacy_read_ranks(struct legacy *legacy, struct str text)
{
    int rc = put_ranks(legacy, text);

    if (rc == OK)
        rc = finish_vocab(legacy);
    buf_putc(&legacy->merges_json, '[');
    for (uint64_t i = 0; rc == OK && i < legacy->vocab.n_entries; i++) {
        const struct vocab_entry *entry = &legacy->vocab.entries[i];

        rc = put_ways(legacy, str_from(legacy->vocab.bytes + entry->at, entry->n));
    }
    buf_putc(&legacy->merges_json, ']');
    if (rc == OK)
        put_pipeline(legacy);
    return rc;
}
