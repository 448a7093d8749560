/* From the arrays of a GGUF file to a tokenizer.json: byte-level BPE whose pre-tokenizer is known by
 * name, and llama's sentencepiece. The file's own tokenizer.json is taken where it brings one. Any
 * other kind is refused by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/gguf.h"
#include "core/text/tokenizer/tokenizer_parts.h"

#define GGUF_ARENA_BYTES ((size_t)512 << 20)

enum token_type { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE };

struct arrays {
    const struct gguf_value *tokens, *scores, *types, *merges;
    int64_t bos, eos, unk;      /* NONE */
    int adds_bos;               /* 1, 0; -1: the file does not say */
    bool adds_space;
    const char *pre;
};

/* ---- Pre-tokenizers by name ---- */

#define LLAMA3 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define QWEN2 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| " \
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define TAIL " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define TEKKEN \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*|\\p{N}|" TAIL
#define ENDINGS "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define O200K \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER \
    "*" ENDINGS "|\\p{N}{1,3}|" TAIL

struct pre {
    const char *name;
    const char *pattern;        /* NULL: GPT-2's own */
    bool splits_digits;         /* each digit alone, before GPT-2's pattern */
    bool ignores_merges, adds_bos;
};

static const struct pre PRES[] = {
    {"llama-bpe", LLAMA3, false, true, true},    {"llama3", LLAMA3, false, true, true},
    {"llama-v3", LLAMA3, false, true, true},     {"falcon3", LLAMA3, false, true, true},
    {"smaug-bpe", LLAMA3, false, true, false},   {"dbrx", LLAMA3, false, false, false},
    {"qwen2", QWEN2, false, false, false},       {"deepseek-r1-qwen", QWEN2, false, false, false},
    {"tekken", TEKKEN, false, true, true},       {"gpt-4o", O200K, false, false, false},
    {"llama4", O200K, false, false, false},      {"gpt-2", NULL, false, false, false},
    {"phi-2", NULL, false, false, false},        {"smollm", NULL, true, false, false},
    {"starcoder", NULL, true, false, false},     {"refact", NULL, true, false, false},
};

static const struct pre *pre_of(const char *name)
{
    for (size_t i = 0; i < sizeof PRES / sizeof *PRES; i++)
        if (strcmp(PRES[i].name, name) == 0)
            return &PRES[i];
    return NULL;
}

/* ---- The arrays ---- */

static const struct gguf_value *texts_of(const struct gguf *gguf, const char *key)
{
    const struct gguf_value *value = gguf_get(gguf, key);

    return value && value->texts ? value : NULL;
}

static const struct gguf_value *numbers_of(const struct gguf *gguf, const char *key)
{
    const struct gguf_value *value = gguf_get(gguf, key);

    return value && value->numbers ? value : NULL;
}

static int64_t id_of(const struct gguf *gguf, const char *key)
{
    const struct gguf_value *value = gguf_get(gguf, key);

    return value && value->type != GGUF_STRING && value->type != GGUF_ARRAY ? value->integer : NONE;
}

static void find_arrays(const struct gguf *gguf, struct arrays *a)
{
    const struct gguf_value *pre = gguf_get(gguf, "tokenizer.ggml.pre");

    *a = (struct arrays){
        .tokens = texts_of(gguf, "tokenizer.ggml.tokens"),
        .scores = numbers_of(gguf, "tokenizer.ggml.scores"),
        .types = numbers_of(gguf, "tokenizer.ggml.token_type"),
        .merges = texts_of(gguf, "tokenizer.ggml.merges"),
        .bos = id_of(gguf, "tokenizer.ggml.bos_token_id"),
        .eos = id_of(gguf, "tokenizer.ggml.eos_token_id"),
        .unk = id_of(gguf, "tokenizer.ggml.unknown_token_id"),
        .adds_bos = (int)id_of(gguf, "tokenizer.ggml.add_bos_token"),
        .adds_space = id_of(gguf, "tokenizer.ggml.add_space_prefix") != 0,
        .pre = pre && pre->text.n ? pre->text.p : "",
    };
}

static enum token_type type_at(const struct arrays *a, size_t i)
{
    return a->types && i < a->types->n ? (enum token_type)a->types->numbers[i] : TOKEN_NORMAL;
}

static struct str token_at(const struct arrays *a, int64_t id)
{
    return id >= 0 && (size_t)id < a->tokens->n ? a->tokens->texts[id] : (struct str){NULL, 0};
}

/* ---- Byte-level BPE ---- */

static void put_added(const struct arrays *a, struct buf *out)
{
    bool is_first = true;

    buf_puts(out, "\"added_tokens\":[");
    for (size_t i = 0; i < a->tokens->n; i++) {
        enum token_type type = type_at(a, i);

        if ((type != TOKEN_CONTROL && type != TOKEN_USER) || !a->tokens->texts[i].n)
            continue;
        buf_printf(out, "%s{\"id\":%zu,\"content\":", is_first ? "" : ",", i);
        json_write_string(out, a->tokens->texts[i]);
        buf_printf(out,
                   ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"
                   "\"special\":%s}",
                   type == TOKEN_CONTROL ? "true" : "false");
        is_first = false;
    }
    buf_puts(out, "],");
}

static void put_splits(const struct pre *pre, struct buf *out)
{
    buf_puts(out, "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[");
    if (pre->pattern) {
        buf_puts(out, "{\"type\":\"Split\",\"pattern\":{\"Regex\":");
        json_write_string(out, str_of(pre->pattern));
        buf_puts(out, "},\"behavior\":\"Isolated\",\"invert\":false},");
    } else if (pre->splits_digits) {
        buf_puts(out, "{\"type\":\"Digits\",\"individual_digits\":true},");
    }
    buf_printf(out,
               "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
               "\"use_regex\":%s}]},",
               pre->pattern ? "false" : "true");
}

static void put_post(const struct arrays *a, const struct pre *pre, struct buf *out)
{
    struct str bos = token_at(a, a->bos);
    bool adds = a->adds_bos >= 0 ? a->adds_bos == 1 : pre->adds_bos;

    if (!adds || !bos.n) {
        buf_puts(out, "\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                      "\"trim_offsets\":false,\"use_regex\":true},");
        return;
    }
    buf_puts(out, "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
                  "{\"id\":");
    json_write_string(out, bos);
    buf_puts(out, ",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":"
                  "{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],"
                  "\"special_tokens\":{");
    json_write_string(out, bos);
    buf_puts(out, ":{\"id\":");
    json_write_string(out, bos);
    buf_printf(out, ",\"ids\":[%lld],\"tokens\":[", (long long)a->bos);
    json_write_string(out, bos);
    buf_puts(out, "]}}},");
}

static void put_model(const struct arrays *a, const struct pre *pre, struct buf *out)
{
    buf_printf(out,
               "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
               "\"continuing_subword_prefix\":\"\",\"end_of_word_suffix\":\"\",\"fuse_unk\":false,"
               "\"byte_fallback\":false,\"ignore_merges\":%s,\"vocab\":{",
               pre->ignores_merges ? "true" : "false");
    for (size_t i = 0; i < a->tokens->n; i++) {
        if (i)
            buf_putc(out, ',');
        json_write_string(out, a->tokens->texts[i]);
        buf_printf(out, ":%zu", i);
    }
    buf_puts(out, "},\"merges\":[");
    for (size_t i = 0; i < a->merges->n; i++) {
        if (i)
            buf_putc(out, ',');
        json_write_string(out, a->merges->texts[i]);
    }
    buf_puts(out, "]}");
}

static int bpe_to_json(const struct arrays *a, struct buf *out, struct error *err)
{
    const struct pre *pre = pre_of(a->pre);

    if (!pre)
        return error_set(err, E_UNSUPPORTED, "the pre-tokenizer '%.60s' of a GGUF file", a->pre);
    if (!a->merges)
        return error_set(err, E_PARSE, "a byte-level BPE without merges");
    buf_puts(out, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,");
    put_added(a, out);
    buf_puts(out, "\"normalizer\":null,");
    put_splits(pre, out);
    put_post(a, pre, out);
    buf_puts(out, "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
                  "\"use_regex\":true},");
    put_model(a, pre, out);
    buf_putc(out, '}');
    return out->failed ? error_set(err, E_LIMIT, "a tokenizer larger than expected") : OK;
}

/* ---- Sentencepiece: the arrays are what its model file holds ---- */

static void put_varint(struct buf *out, uint64_t value)
{
    while (value >= 0x80) {
        buf_putc(out, (char)(value | 0x80));
        value >>= 7;
    }
    buf_putc(out, (char)value);
}

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;

    while (value >= 0x80) {
        value >>= 7;
        n++;
    }
    return n;
}

/* Field 1 of ModelProto: piece, score, type. */
static void put_piece(const struct arrays *a, size_t i, struct buf *out)
{
    struct str piece = a->tokens->texts[i];
    float score = a->scores && i < a->scores->n ? (float)a->scores->numbers[i] : 0.0F;
    uint32_t bits;

    memcpy(&bits, &score, sizeof bits);
    put_varint(out, 1 << 3 | 2);
    put_varint(out, 1 + varint_bytes(piece.n) + piece.n + 5 + 2);
    put_varint(out, 1 << 3 | 2);
    put_varint(out, piece.n);
    buf_str(out, piece);
    put_varint(out, 2 << 3 | 5);
    for (int k = 0; k < 4; k++)
        buf_putc(out, (char)(bits >> (8 * k)));
    put_varint(out, 3 << 3);
    put_varint(out, (uint64_t)type_at(a, i) & 0x7F);
}

static void put_special(struct buf *out, const char *role, struct str token)
{
    buf_printf(out, ",\"%s\":", role);
    if (token.n)
        json_write_string(out, token);
    else
        buf_puts(out, "null");
}

static int pieces_to_json(const struct arrays *a, struct arena *arena, struct buf *out,
                          struct error *err)
{
    const struct json *settings = NULL;
    struct buf model, config;
    int rc = OK;

    if (!a->scores)
        return error_set(err, E_PARSE, "a sentencepiece vocabulary without scores");
    buf_init(&model, TOKENIZER_FILE_BYTES);
    buf_init(&config, 65536);
    for (size_t i = 0; i < a->tokens->n; i++)
        put_piece(a, i, &model);
    buf_add(&model, "\x12\x02\x18\x02", 4);     /* trainer_spec: model_type BPE */
    buf_printf(&config,
               "{\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":true,\"add_prefix_space\":%s,"
               "\"add_bos_token\":%s,\"add_eos_token\":false",
               a->adds_space ? "true" : "false", a->adds_bos == 0 ? "false" : "true");
    put_special(&config, "bos_token", token_at(a, a->bos));
    put_special(&config, "eos_token", token_at(a, a->eos));
    put_special(&config, "unk_token", token_at(a, a->unk == NONE ? 0 : a->unk));
    buf_putc(&config, '}');
    if (model.failed || config.failed)
        rc = error_set(err, E_LIMIT, "a tokenizer larger than expected");
    if (rc == OK)
        rc = json_parse(arena_str(arena, buf_view(&config)), false, arena, &settings, NULL, err);
    if (rc == OK)
        rc = legacy_pieces_to_json(buf_view(&model), settings, out, err);
    buf_free(&model);
    buf_free(&config);
    return rc;
}

/* ---- The file ---- */

static int arrays_to_json(const struct gguf *gguf, struct arena *arena, struct buf *out,
                          struct error *err)
{
    const struct gguf_value *whole = gguf_get(gguf, "tokenizer.huggingface.json");
    const struct gguf_value *model = gguf_get(gguf, "tokenizer.ggml.model");
    struct arrays arrays;

    if (whole && whole->text.n) {
        buf_str(out, whole->text);
        return out->failed ? error_set(err, E_LIMIT, "a tokenizer larger than expected") : OK;
    }
    if (!model || model->type != GGUF_STRING)
        return error_set(err, E_NOTFOUND, "no tokenizer in the GGUF file (tokenizer.ggml.model)");
    find_arrays(gguf, &arrays);
    if (!arrays.tokens || arrays.tokens->n == 0)
        return error_set(err, E_PARSE, "a tokenizer without tokens (tokenizer.ggml.tokens)");
    if (str_is(model->text, "gpt2"))
        return bpe_to_json(&arrays, out, err);
    if (str_is(model->text, "llama"))
        return pieces_to_json(&arrays, arena, out, err);
    return error_set(err, E_UNSUPPORTED, "the tokenizer model '%.60s' of a GGUF file", model->text.p);
}

int gguf_tokenizer_json(const char *path, struct buf *out, struct error *err)
{
    struct arena *arena = arena_open(GGUF_ARENA_BYTES);
    struct gguf gguf;
    int rc = arena ? gguf_read(path, arena, &gguf, err)
                   : error_set(err, E_NOMEM, "no memory for a GGUF file");

    if (rc == OK)
        rc = arrays_to_json(&gguf, arena, out, err);
    arena_close(arena);
    return rc;
}
