/* The settings of normalizers, as a flat list. See pipeline.h. */
#include "core/text/tokenizer/pipeline.h"

static int add(struct tokenizer *tokenizer, struct normalizer normalizer, struct error *err)
{
    if (tokenizer->n_normalizers == PIPELINE_PARTS)
        return error_set(err, E_LIMIT, "more than %d normalizers", PIPELINE_PARTS);
    tokenizer->normalizers[tokenizer->n_normalizers++] = normalizer;
    return OK;
}

static int add_bert(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "normalizer BertNormalizer";
    bool clean = false, chinese = false, accents = false, lower = false;
    int rc = part_flag(part, WHAT, "clean_text", &clean, err);

    if (rc == OK)
        rc = part_flag(part, WHAT, "handle_chinese_chars", &chinese, err);
    if (rc == OK)
        rc = part_flag(part, WHAT, "lowercase", &lower, err);
    if (rc == OK)
        rc = part_flag_or(part, WHAT, "strip_accents", lower, &accents, err);
    if (rc == OK && clean)
        rc = add(tokenizer, (struct normalizer){.kind = NORMALIZE_CLEAN_TEXT}, err);
    if (rc == OK && chinese)
        rc = add(tokenizer, (struct normalizer){.kind = NORMALIZE_CHINESE}, err);
    if (rc == OK && accents)
        rc = add(tokenizer, (struct normalizer){.kind = NORMALIZE_BERT_ACCENTS}, err);
    if (rc == OK && lower)
        rc = add(tokenizer, (struct normalizer){.kind = NORMALIZE_LOWERCASE}, err);
    return rc;
}

static int add_strip(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct normalizer normalizer = {.kind = NORMALIZE_STRIP};
    int rc = part_flag(part, "normalizer Strip", "strip_left", &normalizer.left, err);

    if (rc == OK)
        rc = part_flag(part, "normalizer Strip", "strip_right", &normalizer.right, err);
    return rc == OK ? add(tokenizer, normalizer, err) : rc;
}

static int add_replace(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct normalizer normalizer = {.kind = NORMALIZE_REPLACE};
    int rc = part_text(part, "normalizer Replace", "content", &normalizer.content, err);

    if (rc == OK)
        rc = part_pattern(part, "normalizer Replace", &normalizer.pattern, err);
    if (rc == OK)
        rc = add(tokenizer, normalizer, err);
    if (rc != OK)
        pattern_close(normalizer.pattern);
    return rc;
}

static int add_prepend(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct normalizer normalizer = {.kind = NORMALIZE_PREPEND};
    int rc = part_text(part, "normalizer Prepend", "prepend", &normalizer.content, err);

    return rc == OK ? add(tokenizer, normalizer, err) : rc;
}

static int add_precompiled(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct normalizer normalizer = {.kind = NORMALIZE_PRECOMPILED};
    struct str text;
    int rc = part_text(part, "normalizer Precompiled", "precompiled_charsmap", &text, err);

    if (rc == OK)
        rc = charsmap_open(&normalizer.charsmap, text, err);
    if (rc == OK)
        rc = add(tokenizer, normalizer, err);
    if (rc != OK)
        charsmap_close(normalizer.charsmap);
    return rc;
}

static int read_part(void *ctx, const struct json *part, struct error *err)
{
    static const struct {
        const char *name;
        enum normalizer_kind kind;
        enum unicode_form form;
    } PLAIN[] = {
        {"NFC", NORMALIZE_FORM, UNICODE_NFC},
        {"NFD", NORMALIZE_FORM, UNICODE_NFD},
        {"NFKC", NORMALIZE_FORM, UNICODE_NFKC},
        {"NFKD", NORMALIZE_FORM, UNICODE_NFKD},
        {"StripAccents", NORMALIZE_STRIP_ACCENTS, UNICODE_NFC},
        {"Lowercase", NORMALIZE_LOWERCASE, UNICODE_NFC},
        {"Nmt", NORMALIZE_NMT, UNICODE_NFC},
        {"ByteLevel", NORMALIZE_BYTE_LEVEL, UNICODE_NFC},
    };
    static const struct {
        const char *name;
        int (*add)(struct tokenizer *tokenizer, const struct json *part, struct error *err);
    } WITH_SETTINGS[] = {
        {"BertNormalizer", add_bert}, {"Bert", add_bert},       {"Strip", add_strip},
        {"Replace", add_replace},     {"Prepend", add_prepend}, {"Precompiled", add_precompiled},
    };
    struct str type;
    int rc = part_type(part, "normalizer", &type, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (str_is(type, PLAIN[i].name))
            return add(ctx, (struct normalizer){.kind = PLAIN[i].kind, .form = PLAIN[i].form}, err);
    for (size_t i = 0; i < sizeof WITH_SETTINGS / sizeof *WITH_SETTINGS; i++)
        if (str_is(type, WITH_SETTINGS[i].name))
            return WITH_SETTINGS[i].add(ctx, part, err);
    return part_unknown("normalizer", type, err);
}

int normalizers_read(struct tokenizer *tokenizer, const struct json *settings, struct error *err)
{
    tokenizer->normalizers =
        arena_array(tokenizer->arena, PIPELINE_PARTS, sizeof *tokenizer->normalizers);
    if (!tokenizer->normalizers)
        return error_set(err, E_NOMEM, "no memory for normalizers");
    return part_parts(settings, "normalizer", "normalizers", read_part, tokenizer, err);
}

void normalizers_close(struct normalizer *normalizers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pattern_close(normalizers[i].pattern);
        charsmap_close(normalizers[i].charsmap);
    }
}
