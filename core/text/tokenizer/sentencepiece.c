/* tokenizer.model of sentencepiece: its pieces as BPE or Unigram, as the converters of transformers
 * make them (LlamaConverter, GemmaConverter, T5Converter, XLMRobertaConverter). */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/read/protobuf.h"
#include "core/text/tokenizer/legacy.h"
#include "core/text/tokenizer/raw_json.h"

#define MOST_PIECES   (1u << 22)
#define LONGEST_PIECE_BYTES 4096        /* of a BPE piece: all its splits are tried */
#define EXTRA_IDS     100

enum piece_type { PIECE_NORMAL = 1, PIECE_CONTROL = 3, PIECE_USER_DEFINED = 4 };
enum trainer_model { TRAINER_UNIGRAM = 1, TRAINER_BPE = 2 };

struct piece_row {
    struct str text;
    struct str named;           /* as the model has it; the class may give it another text */
    double score;
    int64_t type;
};

struct sentencepiece {
    struct piece_row *pieces;
    size_t n, capacity;
    int64_t model_type, unk_id;
    struct str unk_piece, charsmap;
    struct legacy *legacy;
};

/* ---- the message ---- */

typedef int take_field(struct sentencepiece *model, const struct protobuf_field *field);

static int walk(struct sentencepiece *model, struct str bytes, take_field *take)
{
    struct protobuf in = protobuf_of(bytes);
    struct protobuf_field field;
    int rc;

    while ((rc = protobuf_next(&in, &field, model->legacy->err)) == 1) {
        rc = take(model, &field);
        if (rc != OK)
            return rc;
    }
    return rc;
}

static int take_piece_field(struct sentencepiece *model, const struct protobuf_field *field)
{
    struct piece_row *piece = &model->pieces[model->n];

    if (field->number == 1 && field->wire == WIRE_BYTES)
        piece->text = piece->named = field->bytes;
    else if (field->number == 2 && field->wire == WIRE_32)
        piece->score = (double)protobuf_float(field);
    else if (field->number == 3 && field->wire == WIRE_VARINT)
        piece->type = protobuf_int(field);
    return OK;
}

static int take_piece(struct sentencepiece *model, struct str bytes)
{
    int rc = model->n < MOST_PIECES
                 ? scratch_room(&model->pieces, &model->capacity, model->n + 1,
                                sizeof *model->pieces, model->legacy->err)
                 : error_set(model->legacy->err, E_LIMIT, "more than %u pieces", MOST_PIECES);

    if (rc != OK)
        return rc;
    model->pieces[model->n] = (struct piece_row){str_of(""), str_of(""), 0, PIECE_NORMAL};
    rc = walk(model, bytes, take_piece_field);
    if (rc == OK && !unicode_is_valid(model->pieces[model->n].text))
        rc = error_set(model->legacy->err, E_PARSE, "piece %zu is not valid UTF-8", model->n);
    if (rc == OK && !(model->pieces[model->n].score >= -1e30 && model->pieces[model->n].score <= 1e30))
        rc = error_set(model->legacy->err, E_PARSE, "piece %zu has no finite score", model->n);
    model->n++;
    return rc;
}

static int take_trainer_field(struct sentencepiece *model, const struct protobuf_field *field)
{
    if (field->number == 3 && field->wire == WIRE_VARINT)
        model->model_type = protobuf_int(field);
    else if (field->number == 40 && field->wire == WIRE_VARINT)
        model->unk_id = protobuf_int(field);
    else if (field->number == 45 && field->wire == WIRE_BYTES)
        model->unk_piece = field->bytes;
    return OK;
}

static int take_normalizer_field(struct sentencepiece *model, const struct protobuf_field *field)
{
    if (field->number == 2 && field->wire == WIRE_BYTES)
        model->charsmap = field->bytes;
    return OK;
}

static int take_part(struct sentencepiece *model, const struct protobuf_field *field)
{
    if (field->wire != WIRE_BYTES)
        return OK;
    switch (field->number) {
    case 1:
        return take_piece(model, field->bytes);
    case 2:
        return walk(model, field->bytes, take_trainer_field);
    case 3:
        return walk(model, field->bytes, take_normalizer_field);
    default:
        return OK;
    }
}

/* ---- the class's vocabulary ---- */

static void rename_piece(struct sentencepiece *model, size_t i, struct str text)
{
    if (i < model->n && text.p)
        model->pieces[i].text = text;
    if (i < model->n)
        model->pieces[i].score = 0;
}

static bool has_piece(const struct sentencepiece *model, const char *text)
{
    for (size_t i = 0; i < model->n; i++)
        if (str_is(model->pieces[i].text, text))
            return true;
    return false;
}

/* Old Gemma models have no tab: the byte's token becomes one. */
static void mend_tab(struct sentencepiece *model)
{
    if (has_piece(model, "\t"))
        return;
    for (size_t i = 0; i < model->n; i++) {
        if (str_is(model->pieces[i].text, "<0x09>")) {
            rename_piece(model, i, str_of("\t"));
            return;
        }
    }
}

static int add_piece(struct sentencepiece *model, struct str text)
{
    int rc = scratch_room(&model->pieces, &model->capacity, model->n + 1, sizeof *model->pieces,
                          model->legacy->err);

    if (rc == OK)
        model->pieces[model->n++] = (struct piece_row){text, text, 0, PIECE_NORMAL};
    return rc;
}

static int add_extra_ids(struct sentencepiece *model)
{
    const struct json *stated =
        model->legacy->config ? json_get(model->legacy->config, "extra_ids") : NULL;
    int n = json_is(stated, JSON_NUMBER) && stated->number >= 0 && stated->number <= 1000
                ? (int)stated->number
                : EXTRA_IDS;
    int rc = OK;

    for (int i = n - 1; rc == OK && i >= 0; i--)
        rc = add_piece(model, str_of(arena_printf(model->legacy->arena, "<extra_id_%d>", i)));
    return rc;
}

/* XLM-R numbers four special tokens first, then the pieces behind the model's own three. */
static int shift_pieces(struct sentencepiece *model)
{
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    int rc = add_piece(model, str_of("<mask>"));

    if (rc != OK)
        return rc;
    if (model->n < 4)
        return error_set(model->legacy->err, E_PARSE, "a model of %zu pieces", model->n - 1);
    rc = add_piece(model, str_of(""));
    if (rc != OK)
        return rc;
    memmove(&model->pieces[4], &model->pieces[3], (model->n - 4) * sizeof *model->pieces);
    for (int i = 0; i < 4; i++)
        model->pieces[i] = (struct piece_row){str_of(first[i]), str_of(first[i]), 0,
                                              PIECE_NORMAL};
    model->unk_id = 3;
    return OK;
}

static int shape_pieces(struct sentencepiece *model)
{
    struct legacy *legacy = model->legacy;

    switch (legacy->kind->shape) {
    case SHAPE_LLAMA:
        for (size_t i = 0; i < 3; i++)
            rename_piece(model, i, str_from(NULL, 0));
        model->unk_id = 0;
        return OK;
    case SHAPE_GEMMA:
        rename_piece(model, 0, legacy_special(legacy, "pad_token"));
        rename_piece(model, 1, legacy_special(legacy, "eos_token"));
        rename_piece(model, 2, legacy_special(legacy, "bos_token"));
        model->unk_id = 3;
        mend_tab(model);
        return OK;
    case SHAPE_T5:
        return add_extra_ids(model);
    case SHAPE_XLMR:
        return shift_pieces(model);
    case SHAPE_GPT2:
    case SHAPE_QWEN2:
    case SHAPE_ROBERTA:
    case SHAPE_CLIP:
    case SHAPE_BERT:
    case SHAPE_TIKTOKEN:
        break;
    }
    return error_set(legacy->err, E_UNSUPPORTED, "a sentencepiece model with the class %s",
                     legacy->kind->name);
}

/* ---- BPE ---- */

struct way {                    /* to make a piece of two */
    double score;
    uint32_t left_n, right_n;   /* characters */
    uint32_t piece, at;         /* bytes of the left part */
};

/* Python sorts by (score, left, right) backwards and keeps the order of equal ones. */
static int by_score(const void *a, const void *b)
{
    const struct way *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->left_n != y->left_n)
        return x->left_n > y->left_n ? -1 : 1;
    if (x->right_n != y->right_n)
        return x->right_n > y->right_n ? -1 : 1;
    return (x->piece > y->piece) - (x->piece < y->piece);
}

struct ways {
    struct way *items;
    size_t n, capacity;
};

static int find_ways(struct sentencepiece *model, struct ways *ways, uint32_t i)
{
    struct legacy *legacy = model->legacy;
    struct str text = model->pieces[i].text;
    uint32_t n = (uint32_t)unicode_count(text), left = 1;
    int rc = OK;

    if (text.n > LONGEST_PIECE_BYTES)
        return error_set(legacy->err, E_LIMIT, "a piece of %zu bytes", text.n);
    for (size_t at = 1; rc == OK && at < text.n; at++) {
        if (((unsigned char)text.p[at] & 0xC0) == 0x80)
            continue;
        if (vocab_id(&legacy->vocab, str_first(text, at)) != NONE &&
            vocab_id(&legacy->vocab, str_skip(text, at)) != NONE) {
            rc = scratch_room(&ways->items, &ways->capacity, ways->n + 1, sizeof *ways->items,
                              legacy->err);
            if (rc == OK)
                ways->items[ways->n++] =
                    (struct way){model->pieces[i].score, left, n - left, i, (uint32_t)at};
        }
        left++;
    }
    return rc;
}

static int put_merges(struct sentencepiece *model)
{
    struct legacy *legacy = model->legacy;
    struct buf *out = &legacy->merges_json;
    struct ways ways = {0};
    int rc = OK;

    /* Of equal pieces the last one counts, as in Python's dict. */
    for (uint32_t i = 0; rc == OK && i < model->n; i++)
        if (vocab_id(&legacy->vocab, model->pieces[i].text) == i)
            rc = find_ways(model, &ways, i);
    if (rc == OK && ways.n)
        qsort(ways.items, ways.n, sizeof *ways.items, by_score);
    buf_putc(out, '[');
    for (size_t i = 0; rc == OK && i < ways.n; i++) {
        struct str text = model->pieces[ways.items[i].piece].text;

        buf_puts(out, i ? ",[" : "[");
        put_json_text(out, str_first(text, ways.items[i].at));
        buf_putc(out, ',');
        put_json_text(out, str_skip(text, ways.items[i].at));
        buf_putc(out, ']');
    }
    buf_putc(out, ']');
    free(ways.items);
    return rc;
}

static int put_bpe(struct sentencepiece *model)
{
    struct legacy *legacy = model->legacy;
    struct buf *out = &legacy->vocab_json;
    bool falls_back = legacy->kind->shape == SHAPE_LLAMA || legacy->kind->shape == SHAPE_GEMMA;
    int rc;

    buf_printf(&legacy->model, "\"type\":\"BPE\",\"dropout\":null,\"fuse_unk\":true,"
                               "\"byte_fallback\":%s,\"unk_token\":", falls_back ? "true" : "false");
    put_json_text(&legacy->model, model->unk_piece);
    buf_putc(out, '{');
    for (size_t i = 0; i < model->n; i++) {
        if (i)
            buf_putc(out, ',');
        put_json_text(out, model->pieces[i].text);
        buf_printf(out, ":%zu", i);
    }
    buf_putc(out, '}');
    rc = out->failed ? error_set(legacy->err, E_NOMEM, "a vocabulary")
                     : vocab_read(&legacy->vocab, buf_view(out), legacy->err);
    return rc == OK ? put_merges(model) : rc;
}

/* ---- Unigram ---- */

/* A text that serde_json's arithmetic reads as this very double. */
static void put_score(struct buf *out, double score)
{
    char text[48];

    for (int digits = 9; digits <= 20; digits++) {
        double back = 0;
        int n = snprintf(text, sizeof text, "%.*e", digits, score);
        struct raw_json raw = {text, text, text + n, "score", NULL};

        if (raw_number(&raw, &back) == OK && back == score)
            break;
    }
    buf_puts(out, text);
}

static int put_unigram(struct sentencepiece *model)
{
    struct legacy *legacy = model->legacy;
    struct buf *out = &legacy->vocab_json;
    double *scores = NULL;
    int rc;

    buf_printf(&legacy->model, "\"type\":\"Unigram\",\"unk_id\":%lld,\"byte_fallback\":%s",
               (long long)model->unk_id,
               legacy->kind->shape == SHAPE_LLAMA || legacy->kind->shape == SHAPE_GEMMA ? "true"
                                                                                        : "false");
    buf_putc(out, '[');
    for (size_t i = 0; i < model->n; i++) {
        buf_puts(out, i ? ",[" : "[");
        put_json_text(out, model->pieces[i].text);
        buf_putc(out, ',');
        put_score(out, model->pieces[i].score);
        buf_putc(out, ']');
    }
    buf_putc(out, ']');
    rc = out->failed ? error_set(legacy->err, E_NOMEM, "a vocabulary")
                     : vocab_read_scored(&legacy->vocab, &scores, buf_view(out), legacy->err);
    free(scores);
    return rc;
}

/* ---- the pipeline ---- */

static void put_charsmap(struct buf *out, struct str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    buf_puts(out, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
    for (size_t i = 0; i < bytes.n; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)bytes.p[i] << 16;

        if (i + 1 < bytes.n)
            bits |= (uint32_t)(unsigned char)bytes.p[i + 1] << 8;
        if (i + 2 < bytes.n)
            bits |= (unsigned char)bytes.p[i + 2];
        buf_putc(out, digits[bits >> 18]);
        buf_putc(out, digits[bits >> 12 & 63]);
        buf_putc(out, i + 1 < bytes.n ? digits[bits >> 6 & 63] : '=');
        buf_putc(out, i + 2 < bytes.n ? digits[bits & 63] : '=');
    }
    buf_puts(out, "\"}");
}

#define MARK_JSON "\"\xE2\x96\x81\""
#define MARKS_JSON \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":" MARK_JSON "}"
#define BLANKS_JSON \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":" MARK_JSON "},\"content\":\" \"}"

static const char *prepend_scheme(const struct legacy *legacy)
{
    if (!legacy_flag(legacy, "add_prefix_space", true))
        return "never";
    return legacy_flag(legacy, "legacy", true) ? "always" : "first";
}

static void put_llama(struct legacy *legacy)
{
    bool prefix = legacy_flag(legacy, "add_prefix_space", true);

    if (legacy_flag(legacy, "legacy", true))
        buf_printf(&legacy->normalizer, "{\"type\":\"Sequence\",\"normalizers\":[%s%s]}",
                   prefix ? "{\"type\":\"Prepend\",\"prepend\":" MARK_JSON "}," : "", MARKS_JSON);
    else
        buf_printf(&legacy->pre_tokenizer,
                   "{\"type\":\"Metaspace\",\"replacement\":" MARK_JSON
                   ",\"prepend_scheme\":\"%s\",\"split\":false}",
                   prepend_scheme(legacy));
    buf_printf(&legacy->decoder,
               "{\"type\":\"Sequence\",\"decoders\":[" BLANKS_JSON
               ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}%s]}",
               prefix ? ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}" : "");
}

static void put_gemma(struct legacy *legacy)
{
    buf_puts(&legacy->normalizer, MARKS_JSON);
    buf_puts(&legacy->pre_tokenizer, "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},"
                                     "\"behavior\":\"MergedWithPrevious\",\"invert\":false}");
    buf_puts(&legacy->decoder, "{\"type\":\"Sequence\",\"decoders\":[" BLANKS_JSON
                               ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}");
}

static void put_plain(const struct sentencepiece *model)
{
    struct legacy *legacy = model->legacy;
    const char *scheme = prepend_scheme(legacy);

    buf_puts(&legacy->normalizer, "{\"type\":\"Sequence\",\"normalizers\":[");
    if (model->charsmap.n) {
        put_charsmap(&legacy->normalizer, model->charsmap);
        buf_putc(&legacy->normalizer, ',');
    }
    buf_puts(&legacy->normalizer,
             "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true},{\"type\":\"Replace\","
             "\"pattern\":{\"Regex\":\" {2,}\"},\"content\":" MARK_JSON "}]}");
    buf_printf(&legacy->pre_tokenizer,
               "{\"type\":\"Metaspace\",\"replacement\":" MARK_JSON
               ",\"prepend_scheme\":\"%s\",\"split\":true}",
               scheme);
    buf_printf(&legacy->decoder,
               "{\"type\":\"Metaspace\",\"replacement\":" MARK_JSON
               ",\"prepend_scheme\":\"%s\",\"split\":true}",
               scheme);
}

/* Control pieces are special tokens, those of the user are plain added ones. */
static int add_marked(struct sentencepiece *model)
{
    bool is_gemma = model->legacy->kind->shape == SHAPE_GEMMA;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < model->n; i++) {
        const struct piece_row *piece = &model->pieces[i];
        bool is_turn = is_gemma && (str_is(piece->named, "<start_of_turn>") ||
                                    str_is(piece->named, "<end_of_turn>"));

        if (piece->type == PIECE_CONTROL || piece->type == PIECE_USER_DEFINED)
            rc = legacy_add(model->legacy,
                            (struct legacy_added){
                                .content = arena_str(model->legacy->arena, piece->named),
                                .special = piece->type == PIECE_CONTROL || is_turn},
                            NONE);
    }
    return rc;
}

static int convert(struct sentencepiece *model)
{
    struct legacy *legacy = model->legacy;
    int rc;

    if (model->n == 0)
        return error_set(legacy->err, E_PARSE, "a sentencepiece model without pieces");
    if (model->model_type != TRAINER_UNIGRAM && model->model_type != TRAINER_BPE)
        return error_set(legacy->err, E_UNSUPPORTED, "a sentencepiece model of type %lld",
                         (long long)model->model_type);
    rc = shape_pieces(model);
    if (rc == OK)
        rc = model->model_type == TRAINER_BPE ? put_bpe(model) : put_unigram(model);
    if (rc != OK)
        return rc;
    legacy->next_id = vocab_size(&legacy->vocab);
    if (legacy->kind->shape == SHAPE_LLAMA)
        put_llama(legacy);
    else if (legacy->kind->shape == SHAPE_GEMMA)
        put_gemma(legacy);
    else
        put_plain(model);
    return add_marked(model);
}

int legacy_read_sentencepiece(struct legacy *legacy, struct str bytes)
{
    struct sentencepiece model = {.legacy = legacy, .model_type = TRAINER_UNIGRAM,
                                  .unk_piece = str_of("<unk>")};
    int rc = walk(&model, bytes, take_part);

    if (rc == OK)
        rc = convert(&model);
    free(model.pieces);
    return rc;
}
