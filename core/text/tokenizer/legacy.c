/* From files of older layouts to a tokenizer.json: finds the file and the class, collects the added
 * tokens, and writes the whole. What a class makes of its files is in legacy_*.c. */
#include "core/text/tokenizer/legacy.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/read/source.h"

#define LEGACY_FILE_BYTES ((size_t)64 << 20)

/* The first of a shape is taken where no config names a class. */
static const struct legacy_class classes[] = {
    {"GPT2Tokenizer", SHAPE_GPT2, "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, NULL,
     NULL, NULL},
    {"CodeGenTokenizer", SHAPE_GPT2, "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, NULL,
     NULL, NULL},
    {"Qwen2Tokenizer", SHAPE_QWEN2, NULL, "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL,
     NULL, NULL},
    {"RobertaTokenizer", SHAPE_ROBERTA, "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>", "<mask>"},
    {"BartTokenizer", SHAPE_ROBERTA, "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>", "<mask>"},
    {"LongformerTokenizer", SHAPE_ROBERTA, "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>",
     "<mask>"},
    {"LEDTokenizer", SHAPE_ROBERTA, "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>", "<mask>"},
    {"MvpTokenizer", SHAPE_ROBERTA, "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>", "<mask>"},
    {"CLIPTokenizer", SHAPE_CLIP, "<|startoftext|>", "<|endoftext|>", "<|endoftext|>",
     "<|endoftext|>", NULL, NULL, NULL},
    {"BertTokenizer", SHAPE_BERT, NULL, NULL, "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"},
    {"DistilBertTokenizer", SHAPE_BERT, NULL, NULL, "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"},
    {"ElectraTokenizer", SHAPE_BERT, NULL, NULL, "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"},
    {"MobileBertTokenizer", SHAPE_BERT, NULL, NULL, "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"},
    {"ConvBertTokenizer", SHAPE_BERT, NULL, NULL, "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"},
    {"LlamaTokenizer", SHAPE_LLAMA, "<s>", "</s>", "<unk>", NULL, NULL, NULL, NULL},
    {"CodeLlamaTokenizer", SHAPE_LLAMA, "<s>", "</s>", "<unk>", NULL, NULL, NULL, NULL},
    {"Phi3Tokenizer", SHAPE_LLAMA, "<s>", "</s>", "<unk>", NULL, NULL, NULL, NULL},
    {"GemmaTokenizer", SHAPE_GEMMA, "<bos>", "<eos>", "<unk>", "<pad>", NULL, NULL, NULL},
    {"T5Tokenizer", SHAPE_T5, NULL, "</s>", "<unk>", "<pad>", NULL, NULL, NULL},
    {"XLMRobertaTokenizer", SHAPE_XLMR, "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>", "<mask>"},
    {"PreTrainedTokenizer", SHAPE_TIKTOKEN, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

/* ---- the config ---- */

static struct str content_of(const struct json *value)
{
    const struct json *content = json_is(value, JSON_OBJECT) ? json_get(value, "content") : value;

    return json_is(content, JSON_STRING) ? content->text : str_from(NULL, 0);
}

struct str legacy_special(const struct legacy *legacy, const char *role)
{
    const struct legacy_class *kind = legacy->kind;
    const struct {
        const char *role, *text;
    } own[] = {{"bos_token", kind->bos}, {"eos_token", kind->eos}, {"unk_token", kind->unk},
               {"pad_token", kind->pad}, {"cls_token", kind->cls}, {"sep_token", kind->sep},
               {"mask_token", kind->mask}};
    const struct json *stated = legacy->config ? json_get(legacy->config, role) : NULL;

    if (stated)
        return content_of(stated);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].role, role) == 0)
            return own[i].text ? str_of(own[i].text) : str_from(NULL, 0);
    return str_from(NULL, 0);
}

bool legacy_flag(const struct legacy *legacy, const char *name, bool otherwise)
{
    const struct json *value = legacy->config ? json_get(legacy->config, name) : NULL;

    if (json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
        return json_is(value, JSON_TRUE);
    return otherwise;
}

/* The class by its name without "Fast"; the default of a shape where the config names none. */
static int find_class(struct legacy *legacy, enum legacy_shape otherwise)
{
    const struct json *named =
        legacy->config ? json_get(legacy->config, "tokenizer_class") : NULL;
    struct str name = json_is(named, JSON_STRING) ? named->text : str_from(NULL, 0);
    bool is_general = str_starts(name, "PreTrainedTokenizer") || str_starts(name, "TokenizersBackend");

    if (str_ends(name, "Fast"))
        name.n -= 4;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (name.p && !is_general ? str_is(name, classes[i].name)
                                  : classes[i].shape == otherwise) {
            legacy->kind = &classes[i];
            return OK;
        }
    }
    return error_set(legacy->err, E_UNSUPPORTED, "tokenizer class %.*s without a tokenizer.json",
                     (int)str_first(name, 60).n, name.p);
}

/* The class must be one that reads this kind of file. */
static int expect_shape(const struct legacy *legacy, enum legacy_shape first,
                        enum legacy_shape last, const char *file)
{
    if (legacy->kind->shape >= first && legacy->kind->shape <= last)
        return OK;
    return error_set(legacy->err, E_UNSUPPORTED, "%s with the tokenizer class %s", file,
                     legacy->kind->name);
}

/* ---- added tokens ---- */

static int64_t legacy_id(const struct legacy *legacy, struct str token)
{
    for (size_t i = 0; i < legacy->n_added; i++)
        if (str_eq(legacy->added[i].content, token))
            return legacy->added[i].id;
    return vocab_id(&legacy->vocab, token);
}

int legacy_add(struct legacy *legacy, struct legacy_added token, int64_t id)
{
    if (token.content.n == 0)
        return OK;
    for (size_t i = 0; i < legacy->n_added; i++) {
        if (str_eq(legacy->added[i].content, token.content)) {
            token.id = id == NONE ? legacy->added[i].id : (uint32_t)id;
            if (id != NONE)             /* stated by the config: its flags count */
                legacy->added[i] = token;
            legacy->added[i].special = legacy->added[i].special || token.special;
            return OK;
        }
    }
    if (legacy->n_added == LEGACY_ADDED)
        return error_set(legacy->err, E_LIMIT, "more than %d added tokens", LEGACY_ADDED);
    if (id == NONE)
        id = vocab_id(&legacy->vocab, token.content);
    token.id = id == NONE ? legacy->next_id : (uint32_t)id;
    if (token.id >= legacy->next_id)
        legacy->next_id = token.id + 1;
    legacy->added[legacy->n_added++] = token;
    return OK;
}

static int add_stated(struct legacy *legacy)
{
    const struct json *stated =
        legacy->config ? json_get(legacy->config, "added_tokens_decoder") : NULL;
    int rc = OK;

    if (!json_is(stated, JSON_OBJECT))
        return OK;
    for (const struct json *token = stated->child; rc == OK && token; token = token->next) {
        char *end = NULL;
        char number[16] = "";
        unsigned long id;

        if (token->key.n && token->key.n < sizeof number)
            memcpy(number, token->key.p, token->key.n);
        id = strtoul(number, &end, 10);
        if (!number[0] || *end || id >= UINT32_MAX)
            return error_set(legacy->err, E_PARSE, "added_tokens_decoder: expected an id as a name");
        rc = legacy_add(legacy,
                        (struct legacy_added){
                            .content = content_of(token),
                            .lstrip = json_is(json_get(token, "lstrip"), JSON_TRUE),
                            .rstrip = json_is(json_get(token, "rstrip"), JSON_TRUE),
                            .single_word = json_is(json_get(token, "single_word"), JSON_TRUE),
                            .normalized = json_is(json_get(token, "normalized"), JSON_TRUE),
                            .special = json_is(json_get(token, "special"), JSON_TRUE)},
                        (int64_t)id);
    }
    return rc;
}

static int add_special(struct legacy *legacy, struct str content, bool lstrip)
{
    return legacy_add(legacy,
                      (struct legacy_added){.content = content, .special = true, .lstrip = lstrip},
                      NONE);
}

static int add_named(struct legacy *legacy)
{
    static const char *const roles[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
    int rc = OK;

    for (size_t i = 0; rc == OK && i < sizeof roles / sizeof *roles; i++) {
        const struct json *stated = legacy->config ? json_get(legacy->config, roles[i]) : NULL;
        bool is_own_mask = !stated && strcmp(roles[i], "mask_token") == 0 &&
                           legacy->kind->shape != SHAPE_BERT;

        rc = add_special(legacy, legacy_special(legacy, roles[i]),
                         is_own_mask || json_is(json_get(stated, "lstrip"), JSON_TRUE));
    }
    for (size_t i = 0; rc == OK && i < sizeof lists / sizeof *lists; i++) {
        const struct json *list = legacy->config ? json_get(legacy->config, lists[i]) : NULL;

        for (const struct json *token = json_is(list, JSON_ARRAY) ? list->child : NULL;
             rc == OK && token; token = token->next)
            rc = add_special(legacy, content_of(token), false);
    }
    return rc;
}

/* added_tokens.json beside it: {content: id}, for configs without added_tokens_decoder. */
static int add_listed(struct legacy *legacy)
{
    char path[4096];
    struct stat st;
    const struct json *list = NULL;
    int n = snprintf(path, sizeof path, "%.*s/added_tokens.json", (int)legacy->folder.n,
                     legacy->folder.p);
    int rc = OK;

    if (n <= 0 || (size_t)n >= sizeof path || stat(path, &st) != 0 ||
        (legacy->config && json_get(legacy->config, "added_tokens_decoder")))
        return OK;
    rc = json_read_file(path, false, legacy->arena, &list, NULL, legacy->err);
    if (rc != OK || !json_is(list, JSON_OBJECT))
        return rc;
    for (const struct json *token = list->child; rc == OK && token; token = token->next) {
        if (!json_is(token, JSON_NUMBER) || !token->is_integer || token->number < 0 ||
            token->number >= UINT32_MAX)
            return error_set(legacy->err, E_PARSE, "added_tokens.json: expected ids");
        rc = legacy_add(legacy, (struct legacy_added){.content = token->key, .normalized = true},
                        (int64_t)token->number);
    }
    return rc;
}

/* ---- output ---- */

void put_json_text(struct buf *out, struct str text)
{
    json_write_string(out, text);
}

static void put_token(struct buf *out, struct str token, uint32_t type)
{
    buf_puts(out, "{\"SpecialToken\":{\"id\":");
    put_json_text(out, token);
    buf_printf(out, ",\"type_id\":%u}}", type);
}

static void put_sequence(struct buf *out, const char *name, struct str before, struct str after,
                         uint32_t type)
{
    if (before.p) {
        put_token(out, before, type);
        buf_putc(out, ',');
    }
    buf_printf(out, "{\"Sequence\":{\"id\":\"%s\",\"type_id\":%u}}", name, type);
    if (after.p) {
        buf_putc(out, ',');
        put_token(out, after, type);
    }
}

static int put_ids(struct legacy *legacy, struct str token)
{
    struct buf *out = &legacy->post_processor;
    int64_t id = legacy_id(legacy, token);

    if (id == NONE)
        return error_set(legacy->err, E_PARSE, "special token '%.*s' has no id",
                         (int)str_first(token, 60).n, token.p);
    put_json_text(out, token);
    buf_puts(out, ":{\"id\":");
    put_json_text(out, token);
    buf_printf(out, ",\"ids\":[%u],\"tokens\":[", (unsigned)id);
    put_json_text(out, token);
    buf_puts(out, "]}");
    return OK;
}

/* TemplateProcessing with these tokens around a text (p NULL: none). */
MUST_CHECK static int put_template(struct legacy *legacy, struct str before, struct str after,
                                   uint32_t second_type)
{
    struct buf *out = &legacy->post_processor;
    int rc = OK;

    buf_puts(out, "{\"type\":\"TemplateProcessing\",\"single\":[");
    put_sequence(out, "A", before, after, 0);
    buf_puts(out, "],\"pair\":[");
    put_sequence(out, "A", before, after, 0);
    buf_putc(out, ',');
    put_sequence(out, "B", legacy->kind->shape == SHAPE_BERT ? str_from(NULL, 0) : before, after,
                 second_type);
    buf_puts(out, "],\"special_tokens\":{");
    if (before.p)
        rc = put_ids(legacy, before);
    if (rc == OK && after.p && !(before.p && str_eq(before, after))) {
        if (before.p)
            buf_putc(out, ',');
        rc = put_ids(legacy, after);
    }
    buf_puts(out, "}}");
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct legacy_added *left = a, *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

static void put_added(const struct legacy *legacy, struct buf *out)
{
    for (size_t i = 0; i < legacy->n_added; i++) {
        const struct legacy_added *token = &legacy->added[i];

        buf_printf(out, "%s{\"id\":%u,\"content\":", i ? "," : "", token->id);
        put_json_text(out, token->content);
        buf_printf(out,
                   ",\"single_word\":%s,\"lstrip\":%s,\"rstrip\":%s,\"normalized\":%s,"
                   "\"special\":%s}",
                   word(token->single_word), word(token->lstrip), word(token->rstrip),
                   word(token->normalized), word(token->special));
    }
}

static void put_part(struct buf *out, const char *name, const struct buf *part)
{
    buf_printf(out, ",\"%s\":", name);
    if (part->n)
        buf_str(out, buf_view(part));
    else
        buf_puts(out, "null");
}

static int write_out(struct legacy *legacy, struct buf *out)
{
    qsort(legacy->added, legacy->n_added, sizeof *legacy->added, by_id);
    buf_puts(out, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    put_added(legacy, out);
    buf_putc(out, ']');
    put_part(out, "normalizer", &legacy->normalizer);
    put_part(out, "pre_tokenizer", &legacy->pre_tokenizer);
    put_part(out, "post_processor", &legacy->post_processor);
    put_part(out, "decoder", &legacy->decoder);
    buf_puts(out, ",\"model\":{");
    buf_str(out, buf_view(&legacy->model));
    put_part(out, "vocab", &legacy->vocab_json);
    if (legacy->merges_json.n)
        put_part(out, "merges", &legacy->merges_json);
    buf_puts(out, "}}");

    const struct buf *parts[] = {&legacy->model,          &legacy->normalizer,
                                 &legacy->pre_tokenizer,  &legacy->post_processor,
                                 &legacy->decoder,        &legacy->vocab_json,
                                 &legacy->merges_json,    out};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i]->failed)
            return error_set(legacy->err, E_NOMEM, "the tokenizer.json of older files");
    return OK;
}

/* ---- post-processors: they need the ids of the added tokens ---- */

static int put_pair(struct legacy *legacy, const char *sep_role, const char *cls_role, bool trims)
{
    struct buf *out = &legacy->post_processor;
    struct str sep = legacy_special(legacy, sep_role), cls = legacy_special(legacy, cls_role);
    int64_t sep_id = sep.p ? legacy_id(legacy, sep) : NONE;
    int64_t cls_id = cls.p ? legacy_id(legacy, cls) : NONE;

    if (sep_id == NONE || cls_id == NONE)
        return error_set(legacy->err, E_PARSE, "%s without its first or last special token",
                         legacy->kind->name);
    buf_puts(out, "{\"type\":\"RobertaProcessing\",\"sep\":[");
    put_json_text(out, sep);
    buf_printf(out, ",%u],\"cls\":[", (unsigned)sep_id);
    put_json_text(out, cls);
    buf_printf(out, ",%u],\"trim_offsets\":%s,\"add_prefix_space\":%s}", (unsigned)cls_id,
               word(trims), word(trims && legacy_flag(legacy, "add_prefix_space", false)));
    return OK;
}

static int put_post(struct legacy *legacy)
{
    struct str none = str_from(NULL, 0);
    struct str bos = legacy_special(legacy, "bos_token"), eos = legacy_special(legacy, "eos_token");

    switch (legacy->kind->shape) {
    case SHAPE_GPT2:
        if (legacy_flag(legacy, "add_bos_token", false) && bos.p)
            return put_template(legacy, bos, none, 1);
        buf_puts(&legacy->post_processor, "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                                          "\"trim_offsets\":false,\"use_regex\":true}");
        return OK;
    case SHAPE_QWEN2:
    case SHAPE_TIKTOKEN:
        buf_puts(&legacy->post_processor, "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                                          "\"trim_offsets\":false,\"use_regex\":true}");
        return OK;
    case SHAPE_ROBERTA:
        return put_pair(legacy, "sep_token", "cls_token", true);
    case SHAPE_CLIP:
        return put_pair(legacy, "eos_token", "bos_token", false);
    case SHAPE_BERT:
        return put_template(legacy, legacy_special(legacy, "cls_token"),
                            legacy_special(legacy, "sep_token"), 1);
    case SHAPE_LLAMA:
    case SHAPE_GEMMA:
        bos = legacy_flag(legacy, "add_bos_token", true) ? bos : none;
        eos = legacy_flag(legacy, "add_eos_token", false) ? eos : none;
        return bos.p || eos.p ? put_template(legacy, bos, eos, 1) : OK;
    case SHAPE_T5:
        return put_template(legacy, none, str_of("</s>"), 0);
    case SHAPE_XLMR:
        return put_template(legacy, str_of("<s>"), str_of("</s>"), 0);
    }
    return OK;
}

/* ---- files ---- */

static bool is_there(const struct legacy *legacy, const char *name, char path[4096])
{
    struct stat st;
    int n = snprintf(path, 4096, "%.*s/%s", (int)legacy->folder.n, legacy->folder.p, name);

    return n > 0 && n < 4096 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int read_pieces(struct legacy *legacy, struct str model)
{
    int rc = find_class(legacy, SHAPE_LLAMA);

    if (rc == OK)
        rc = expect_shape(legacy, SHAPE_LLAMA, SHAPE_XLMR, "a sentencepiece model");
    return rc == OK ? legacy_read_sentencepiece(legacy, model) : rc;
}

static int read_bytes(struct legacy *legacy, const char *path)
{
    char *bytes = NULL;
    size_t n = 0;
    int rc = source_slurp(path, LEGACY_FILE_BYTES, &bytes, &n, legacy->err);

    if (rc != OK)
        return rc;

    struct str text = str_from(bytes, n);
    const char *blank = n ? memchr(bytes, ' ', n < 400 ? n : 400) : NULL;
    bool is_ranks = blank && blank > bytes && bytes[0] != '\n' &&
                    !memchr(bytes, '\0', (size_t)(blank - bytes)) &&
                    blank[1] >= '0' && blank[1] <= '9';

    if (is_ranks) {
        rc = find_class(legacy, SHAPE_TIKTOKEN);
        if (rc == OK)
            rc = expect_shape(legacy, SHAPE_TIKTOKEN, SHAPE_TIKTOKEN, "a file of ranks");
        if (rc == OK)
            rc = legacy_read_ranks(legacy, text);
    } else {
        rc = read_pieces(legacy, text);
    }
    free(bytes);
    return rc;
}

static int read_pair_of_files(struct legacy *legacy)
{
    int rc = find_class(legacy, SHAPE_GPT2);

    if (rc == OK)
        rc = expect_shape(legacy, SHAPE_GPT2, SHAPE_CLIP, "vocab.json and merges.txt");
    return rc == OK ? legacy_read_bpe(legacy) : rc;
}

static int read_words(struct legacy *legacy, const char *path)
{
    int rc = find_class(legacy, SHAPE_BERT);

    if (rc == OK)
        rc = expect_shape(legacy, SHAPE_BERT, SHAPE_BERT, "vocab.txt");
    return rc == OK ? legacy_read_bert(legacy, path) : rc;
}

/* In a folder: what is there, in this order. */
static int read_folder(struct legacy *legacy)
{
    static const char *const models[] = {"tokenizer.model", "spiece.model",
                                         "sentencepiece.bpe.model", "qwen.tiktoken"};
    char path[4096], other[4096];

    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (is_there(legacy, models[i], path))
            return read_bytes(legacy, path);
    if (is_there(legacy, "vocab.json", path) && is_there(legacy, "merges.txt", other))
        return read_pair_of_files(legacy);
    if (is_there(legacy, "vocab.txt", path))
        return read_words(legacy, path);
    if (is_there(legacy, "tekken.json", path))
        return error_set(legacy->err, E_UNSUPPORTED, "tekken.json without a tokenizer.json");
    return error_set(legacy->err, E_NOTFOUND,
                     "no tokenizer.json, tokenizer.model, vocab.json with merges.txt or vocab.txt");
}

static int read_path(struct legacy *legacy, const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash ? slash + 1 : path);

    if (stat(path, &st) != 0)
        return error_set(legacy->err, E_NOTFOUND, "no such file or folder");
    legacy->folder = str_of(path);
    if (S_ISDIR(st.st_mode))
        return read_folder(legacy);
    legacy->folder = slash ? str_from(path, (size_t)(slash - path)) : str_of(".");
    if (str_is(name, "vocab.json") || str_is(name, "merges.txt"))
        return read_pair_of_files(legacy);
    if (str_is(name, "vocab.txt"))
        return read_words(legacy, path);
    if (str_ends(name, ".model") || str_ends(name, ".tiktoken"))
        return read_bytes(legacy, path);
    return error_set(legacy->err, E_UNSUPPORTED, "%.*s is no tokenizer that is known",
                     (int)str_first(name, 100).n, name.p);
}

static struct buf *part_of(struct legacy *legacy, int i)
{
    struct buf *parts[] = {&legacy->vocab_json, &legacy->merges_json,   &legacy->model,
                           &legacy->normalizer, &legacy->pre_tokenizer, &legacy->post_processor,
                           &legacy->decoder};

    return i < (int)(sizeof parts / sizeof *parts) ? parts[i] : NULL;
}

/* The file at `path`, or the model in memory where that is NULL. */
static int to_json(struct legacy *legacy, const char *path, struct str model, struct buf *out)
{
    int rc = OK;

    for (int i = 0; part_of(legacy, i); i++)
        buf_init(part_of(legacy, i), TOKENIZER_FILE_BYTES);
    legacy->arena = arena_open(LEGACY_FILE_BYTES);
    legacy->added = malloc(LEGACY_ADDED * sizeof *legacy->added);
    if (!legacy->arena || !legacy->added)
        rc = error_set(legacy->err, E_NOMEM, "the tokenizer.json of older files");
    if (rc == OK)
        rc = path ? read_path(legacy, path) : read_pieces(legacy, model);
    if (rc == OK)
        rc = add_stated(legacy);
    if (rc == OK && path)
        rc = add_listed(legacy);
    if (rc == OK)
        rc = add_named(legacy);
    if (rc == OK)
        rc = put_post(legacy);
    if (rc == OK)
        rc = write_out(legacy, out);
    for (int i = 0; part_of(legacy, i); i++)
        buf_free(part_of(legacy, i));
    vocab_free(&legacy->vocab);
    arena_close(legacy->arena);
    free(legacy->added);
    return rc;
}

int legacy_to_json(const char *path, const struct json *config, struct buf *out,
                   struct error *err)
{
    struct legacy legacy = {.config = json_is(config, JSON_OBJECT) ? config : NULL, .err = err};

    return to_json(&legacy, path, (struct str){NULL, 0}, out);
}

int legacy_pieces_to_json(struct str model, const struct json *config, struct buf *out,
                          struct error *err)
{
    struct legacy legacy = {.config = json_is(config, JSON_OBJECT) ? config : NULL, .err = err};

    return to_json(&legacy, NULL, model, out);
}
