/* A GGUF file: its tensors as an artefact, its metadata as settings of the serving side. Nothing is
 * said of how a server uses it: a file's context length is what the model was made for, no window. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/checks/check.h"
#include "core/read/gguf.h"
#include "core/read/source.h"
#include "importers/model/weight_file.h"
#include "importers/peek.h"

#define GGUF_ARENA_BYTES ((size_t)512 << 20)
#define TEXT_MAX_BYTES   8192   /* of a general.* text that is kept */
#define SHARDS_MAX       1000
#define STOPS_MAX        64

static int probe(const struct peek *peek)
{
    if (str_starts(peek->head, "GGUF"))
        return 97;
    return peek_name_ends(peek, ".gguf") ? 90 : 0;
}

struct reading {
    struct import *import;
    struct error *err;
    struct arena *arena;
    struct gguf gguf;
    const char *architecture;
    enum side side;
};

/* ---- Settings ---- */

static int put(struct reading *r, const char *name, const char *value, enum value_type type)
{
    return import_setting(r->import, r->side, name, value, type, NONE, r->err);
}

static int put_value(struct reading *r, const char *name, const struct gguf_value *value)
{
    char number[40];

    if (!value)
        return OK;
    switch (value->type) {
    case GGUF_STRING:
        return value->text.n <= TEXT_MAX_BYTES ? put(r, name, value->text.p, VALUE_TEXT) : OK;
    case GGUF_BOOL:
        return put(r, name, value->integer ? "true" : "false", VALUE_BOOL);
    case GGUF_F32:
    case GGUF_F64:
        snprintf(number, sizeof number, "%.9g", value->number);
        return put(r, name, number, VALUE_FLOAT);
    case GGUF_ARRAY:
        return OK;
    case GGUF_U8:
    case GGUF_I8:
    case GGUF_U16:
    case GGUF_I16:
    case GGUF_U32:
    case GGUF_I32:
    case GGUF_U64:
    case GGUF_I64:
        break;
    }
    snprintf(number, sizeof number, "%lld", (long long)value->integer);
    return put(r, name, number, VALUE_INT);
}

static bool is_kept(struct str key)
{
    static const char *const STARTS[] = {"general.", "adapter."};

    for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS; i++)
        if (str_starts(key, STARTS[i]))
            return key.n < 200;
    return false;
}

/* general.name, general.base_model.0.repo_url, adapter.lora.alpha … under their own names. */
static int put_general(struct reading *r)
{
    int rc = OK;

    for (size_t i = 0; i < r->gguf.n_values && rc == OK; i++)
        if (is_kept(r->gguf.values[i].key))
            rc = put_value(r, r->gguf.values[i].key.p, &r->gguf.values[i]);
    return rc;
}

static const struct gguf_value *of_architecture(struct reading *r, const char *key)
{
    return r->architecture ? gguf_get(&r->gguf,
                                      arena_printf(r->arena, "%s.%s", r->architecture, key))
                           : NULL;
}

static int put_model(struct reading *r)
{
    static const char *const KEYS[] = {"context_length", "embedding_length", "block_count",
                                       "attention.head_count", "attention.head_count_kv",
                                       "feed_forward_length", "vocab_size"};
    int rc = OK;

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && rc == OK; i++)
        rc = put_value(r, arena_printf(r->arena, "gguf.%s", KEYS[i]), of_architecture(r, KEYS[i]));
    return rc;
}

/* ---- Quantisation ---- */

/* The type that most values have. */
static const char *usual_type(const struct gguf *gguf)
{
    double n_of[64] = {0};
    int best = -1;

    for (size_t i = 0; i < gguf->n_tensors; i++) {
        int type = gguf->tensors[i].type;

        if (type < 0 || type >= 64 || gguf->tensors[i].n_dims < 2)
            continue;
        n_of[type] += (double)gguf->tensors[i].n_values;
        if (best < 0 || n_of[type] > n_of[best])
            best = type;
    }
    return best < 0 ? NULL : ggml_type_name(best);
}

static int put_quantization(struct reading *r)
{
    const struct gguf_value *stated = gguf_get(&r->gguf, "general.file_type");
    const char *name = stated ? gguf_file_type_name(stated->integer) : NULL;

    if (!name)
        name = usual_type(&r->gguf);
    return name ? put(r, "quantization", name, VALUE_TEXT) : OK;
}

/* ---- Tokens ---- */

static const struct gguf_value *token_list(const struct gguf *gguf)
{
    const struct gguf_value *tokens = gguf_get(gguf, "tokenizer.ggml.tokens");

    return tokens && tokens->texts ? tokens : NULL;
}

static struct str token_text(const struct gguf *gguf, int64_t id)
{
    const struct gguf_value *tokens = token_list(gguf);

    return tokens && id >= 0 && (size_t)id < tokens->n ? tokens->texts[id] : (struct str){NULL, 0};
}

static int put_token(struct reading *r, const char *key, const char *name, const char *text_name)
{
    const struct gguf_value *value =
        gguf_get(&r->gguf, arena_printf(r->arena, "tokenizer.ggml.%s", key));
    struct str text = value ? token_text(&r->gguf, value->integer) : (struct str){NULL, 0};
    int rc = put_value(r, name, value);

    return rc == OK && text.n && text.n < 200 ? put(r, text_name, text.p, VALUE_TEXT) : rc;
}

/* llama.cpp ends a generation at these as well, whatever the file calls its EOS. */
static bool ends_generation(struct str token)
{
    static const char *const ENDS[] = {
        "<|eot_id|>", "<|im_end|>", "<|end|>",          "<end_of_turn>", "<|endoftext|>",
        "<|eom_id|>", "<EOT>",      "_<EOT>",           "<|end_of_text|>",
        "</s>",       "<｜end▁of▁sentence｜>",           "<|return|>",    "<|call|>",
        "<end_of_utterance>", "<|end_of_turn|>"};

    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
        if (str_is(token, ENDS[i]))
            return true;
    return false;
}

static size_t stop_ids(const struct reading *r, int64_t *ids)
{
    static const char *const KEYS[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    const struct gguf_value *tokens = token_list(&r->gguf);
    const struct gguf_value *types = gguf_get(&r->gguf, "tokenizer.ggml.token_type");
    size_t n = 0;

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const struct gguf_value *value = gguf_get(&r->gguf, KEYS[i]);

        if (value)
            ids[n++] = value->integer;
    }
    for (size_t i = 0; tokens && i < tokens->n && n < STOPS_MAX; i++) {
        bool is_plain = types && types->numbers && i < types->n && types->numbers[i] == 1.0;
        bool is_known = false;

        if (is_plain || !ends_generation(tokens->texts[i]))
            continue;
        for (size_t k = 0; k < n; k++)
            is_known |= ids[k] == (int64_t)i;
        if (!is_known)
            ids[n++] = (int64_t)i;
    }
    return n;
}

static int put_stops(struct reading *r)
{
    int64_t ids[STOPS_MAX + 3];
    size_t n = stop_ids(r, ids);
    struct buf numbers, texts;
    int rc = OK;

    buf_init(&numbers, TEXT_MAX_BYTES);
    buf_init(&texts, TEXT_MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        struct str text = token_text(&r->gguf, ids[i]);

        buf_printf(&numbers, "%s%lld", i ? "," : "[", (long long)ids[i]);
        if (!text.n)
            continue;
        buf_putc(&texts, texts.n ? ',' : '[');
        json_write_string(&texts, text);
    }
    buf_putc(&numbers, ']');
    buf_putc(&texts, ']');
    if (n && !numbers.failed)
        rc = put(r, "gguf.stop_ids", numbers.p, VALUE_LIST);
    if (rc == OK && texts.n > 1 && !texts.failed)
        rc = put(r, "gguf.stop_tokens", texts.p, VALUE_LIST);
    buf_free(&numbers);
    buf_free(&texts);
    return rc;
}

static int put_tokenizer(struct reading *r)
{
    const struct gguf_value *tokens = gguf_get(&r->gguf, "tokenizer.ggml.tokens");
    char n[24];
    int rc = put_value(r, "gguf.tokenizer", gguf_get(&r->gguf, "tokenizer.ggml.model"));

    if (rc == OK)
        rc = put_value(r, "gguf.tokenizer_pre", gguf_get(&r->gguf, "tokenizer.ggml.pre"));
    if (rc == OK && tokens) {
        snprintf(n, sizeof n, "%zu", tokens->n);
        rc = put(r, "gguf.n_tokens", n, VALUE_INT);
    }
    if (rc == OK)
        rc = put_token(r, "bos_token_id", "bos_token_id", "gguf.bos_token");
    if (rc == OK)
        rc = put_token(r, "eos_token_id", "eos_token_id", "gguf.eos_token");
    if (rc == OK)
        rc = put_token(r, "eot_token_id", "eot_token_id", "gguf.eot_token");
    if (rc == OK)
        rc = put_value(r, "add_bos_token", gguf_get(&r->gguf, "tokenizer.ggml.add_bos_token"));
    if (rc == OK)
        rc = put_value(r, "add_eos_token", gguf_get(&r->gguf, "tokenizer.ggml.add_eos_token"));
    return rc == OK ? put_stops(r) : rc;
}

static int put_template(struct reading *r)
{
    const struct gguf_value *text = gguf_get(&r->gguf, "tokenizer.chat_template");

    return put(r, "has_chat_template", text && text->text.n ? "true" : "false", VALUE_BOOL);
}

/* ---- Tensors ---- */

/* The slowest dimension first, as safetensors and PyTorch have it. */
static const char *shape_text(struct reading *r, const struct gguf_tensor *tensor)
{
    struct buf text;

    buf_init(&text, 512);
    for (int i = tensor->n_dims; i-- > 0;)
        buf_printf(&text, "%s%lld", text.n ? "," : "[", (long long)tensor->dims[i]);
    buf_puts(&text, text.n ? "]" : "[]");
    const char *copy = arena_strndup(r->arena, text.p, text.n);
    buf_free(&text);
    return copy;
}

static int put_tensor(struct reading *r, int64_t artefact, const struct gguf_tensor *from)
{
    const char *type = ggml_type_name(from->type);
    struct buf name;
    struct tensor tensor = {.dtype = type ? type : arena_printf(r->arena, "ggml %d", from->type),
                            .shape = shape_text(r, from),
                            .n_values = from->n_values,
                            .norm = NAN,
                            .n_nonzero = NONE,
                            .n_nonfinite = NONE,
                            .delta_norm = NAN};

    buf_init(&name, 65536);
    unicode_valid(&name, str_of(from->name));
    tensor.name = name.p ? name.p : "";
    int rc = sink_tensor(r->import->sink, artefact, &tensor, r->err);
    buf_free(&name);
    r->import->n_rows++;
    return rc;
}

static int put_tensors(struct reading *r)
{
    int64_t artefact;
    int rc = weight_artefact(r->import, "gguf", true, &artefact, r->err);

    for (size_t i = 0; i < r->gguf.n_tensors && rc == OK; i++) {
        if (i % 256 == 0 && import_is_cancelled(r->import))
            return error_set(r->err, E_CANCELLED, "cancelled");
        rc = put_tensor(r, artefact, &r->gguf.tensors[i]);
    }
    return rc;
}

/* ---- Notes ---- */

/* The other shards lie beside this one under the same name with their numbers. */
static int note_shards(struct reading *r)
{
    const struct gguf *gguf = &r->gguf;
    size_t n = strlen(r->import->path), tail = strlen("-00000-of-00000.gguf");
    int n_missing = 0, first = 0;

    if (gguf->n_shards <= 1 || gguf->shard != 1 || gguf->n_shards > SHARDS_MAX || n < tail)
        return OK;
    for (int i = 2; i <= gguf->n_shards; i++) {
        struct source_stat stat;
        struct error ignored = {0};
        const char *path = arena_printf(r->arena, "%.*s-%05d-of-%05d.gguf", (int)(n - tail),
                                        r->import->path, i, gguf->n_shards);

        if (source_stat_path(path, &stat, &ignored) != OK && n_missing++ == 0)
            first = i;
    }
    return n_missing ? sink_note(r->import->sink, NOTE_WARN, NONE, NONE, r->err,
                                 "%d of %d shards are missing, first number %d", n_missing,
                                 gguf->n_shards, first)
                     : OK;
}

static int put_notes(struct reading *r)
{
    const struct gguf *gguf = &r->gguf;
    int rc = note_shards(r);

    if (rc == OK && gguf->is_cut) {
        r->import->state = SOURCE_DAMAGED;
        rc = sink_note(r->import->sink, NOTE_ERROR, NONE, NONE, r->err,
                       "cut: %lld bytes are missing at the end", (long long)gguf->missing_bytes);
    }
    if (rc == OK && gguf->n_bad)
        rc = sink_note(r->import->sink, NOTE_WARN, NONE, NONE, r->err,
                       "%zu tensors overlap, leave a hole or are not aligned, first %s",
                       gguf->n_bad, gguf->first_bad);
    return rc;
}

/* ---- The importer ---- */

static int put_all(struct reading *r)
{
    const struct gguf_value *architecture = gguf_get(&r->gguf, "general.architecture");
    const struct gguf_value *type = gguf_get(&r->gguf, "general.type");
    bool is_adapter = type && str_is(type->text, "adapter");
    bool is_base = r->import->role && strcmp(r->import->role, "base") == 0;
    int rc = put_notes(r);

    r->side = is_base ? SIDE_MODEL : SIDE_SERVE;
    if (architecture && architecture->text.n && architecture->text.n < 64)
        r->architecture = architecture->text.p;
    if (rc == OK)
        rc = put_general(r);
    if (rc == OK)
        rc = put_model(r);
    /* A LoRA beside the model brings neither its tokenizer nor its own window. */
    if (rc == OK && !is_base && !is_adapter && r->gguf.shard <= 1) {
        rc = put_quantization(r);
        if (rc == OK)
            rc = put_tokenizer(r);
        if (rc == OK)
            rc = put_template(r);
    }
    return rc == OK ? put_tensors(r) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading r = {.import = import, .err = err};
    struct error why = {0};
    int64_t id;
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "tensors";
    if (rc != OK)
        return rc;
    if (is_odd)
        return weight_artefact(import, "gguf", false, &id, err);
    r.arena = arena_open(GGUF_ARENA_BYTES);
    if (!r.arena)
        return error_set(err, E_NOMEM, "reading a GGUF file");
    if (gguf_read(import->path, r.arena, &r.gguf, &why) != OK) {
        rc = import_note_error(import, &why, err);
        if (rc == OK)
            rc = weight_artefact(import, "gguf", true, &id, err);
    } else {
        rc = put_all(&r);
    }
    arena_close(r.arena);
    return rc;
}

const struct importer importer_gguf = {
    .id = "gguf",
    .title = "a GGUF file",
    .hint = "the .gguf file that is served",
    .supplies = NEEDS_SERVING,
    .version = 1,
    .role = "served",
    .probe = probe,
    .run = run,
};
