/* The settings of decoders, as a flat list. See pipeline.h. */
#include "core/text/tokenizer/pipeline.h"

static int add(struct tokenizer *tokenizer, struct decoder decoder, struct error *err)
{
    if (tokenizer->n_decoders == PIPELINE_PARTS)
        return error_set(err, E_LIMIT, "more than %d decoders", PIPELINE_PARTS);
    tokenizer->decoders[tokenizer->n_decoders++] = decoder;
    return OK;
}

static int add_bpe(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct decoder decoder = {.kind = DECODE_BPE};
    int rc = part_text(part, "decoder BPEDecoder", "suffix", &decoder.content, err);

    return rc == OK ? add(tokenizer, decoder, err) : rc;
}

static int add_wordpiece(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct decoder decoder = {.kind = DECODE_WORDPIECE};
    int rc = part_text(part, "decoder WordPiece", "prefix", &decoder.content, err);

    if (rc == OK)
        rc = part_flag(part, "decoder WordPiece", "cleanup", &decoder.cleanup, err);
    return rc == OK ? add(tokenizer, decoder, err) : rc;
}

static int add_metaspace(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "decoder Metaspace";
    struct decoder decoder = {.kind = DECODE_METASPACE};
    const struct json *scheme = json_get(part, "prepend_scheme");
    bool adds;
    int rc = part_char(part, WHAT, "replacement", &decoder.character, err);

    if (rc == OK)
        rc = part_flag_or(part, WHAT, "add_prefix_space", true, &adds, err);
    if (rc != OK)
        return rc;
    decoder.keeps_first =
        scheme ? json_is(scheme, JSON_STRING) && str_is(scheme->text, "never") : !adds;
    if (scheme && !adds && !decoder.keeps_first)
        return error_set(err, E_PARSE, "%s: add_prefix_space contradicts prepend_scheme", WHAT);
    if (scheme && !decoder.keeps_first &&
        !(json_is(scheme, JSON_STRING) &&
          (str_is(scheme->text, "always") || str_is(scheme->text, "first"))))
        return error_set(err, E_UNSUPPORTED, "%s: prepend_scheme is not always, first or never",
                         WHAT);
    return add(tokenizer, decoder, err);
}

static int add_ctc(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "decoder CTC";
    struct decoder decoder = {.kind = DECODE_CTC};
    int rc = part_text(part, WHAT, "pad_token", &decoder.content, err);

    if (rc == OK)
        rc = part_text(part, WHAT, "word_delimiter_token", &decoder.delimiter, err);
    if (rc == OK)
        rc = part_flag(part, WHAT, "cleanup", &decoder.cleanup, err);
    return rc == OK ? add(tokenizer, decoder, err) : rc;
}

static int add_replace(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct decoder decoder = {.kind = DECODE_REPLACE};
    int rc = part_text(part, "decoder Replace", "content", &decoder.content, err);

    if (rc == OK)
        rc = part_pattern(part, "decoder Replace", &decoder.pattern, err);
    if (rc == OK)
        rc = add(tokenizer, decoder, err);
    if (rc != OK)
        pattern_close(decoder.pattern);
    return rc;
}

static int add_strip(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "decoder Strip";
    struct decoder decoder = {.kind = DECODE_STRIP};
    int rc = part_char(part, WHAT, "content", &decoder.character, err);

    if (rc == OK)
        rc = part_count(part, WHAT, "start", &decoder.start, err);
    if (rc == OK)
        rc = part_count(part, WHAT, "stop", &decoder.stop, err);
    return rc == OK ? add(tokenizer, decoder, err) : rc;
}

static int read_part(void *ctx, const struct json *part, struct error *err)
{
    static const struct {
        const char *name;
        int (*add)(struct tokenizer *tokenizer, const struct json *part, struct error *err);
    } WITH_SETTINGS[] = {
        {"BPEDecoder", add_bpe}, {"WordPiece", add_wordpiece}, {"Metaspace", add_metaspace},
        {"CTC", add_ctc},        {"Replace", add_replace},     {"Strip", add_strip},
    };
    struct str type;
    int rc = part_type(part, "decoder", &type, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < sizeof WITH_SETTINGS / sizeof *WITH_SETTINGS; i++)
        if (str_is(type, WITH_SETTINGS[i].name))
            return WITH_SETTINGS[i].add(ctx, part, err);
    if (str_is(type, "ByteLevel"))
        return add(ctx, (struct decoder){.kind = DECODE_BYTE_LEVEL}, err);
    if (str_is(type, "Fuse"))
        return add(ctx, (struct decoder){.kind = DECODE_FUSE}, err);
    if (str_is(type, "ByteFallback"))
        return add(ctx, (struct decoder){.kind = DECODE_BYTE_FALLBACK}, err);
    return part_unknown("decoder", type, err);
}

int decoders_read(struct tokenizer *tokenizer, const struct json *settings, struct error *err)
{
    tokenizer->has_decoder = settings && settings->type != JSON_NULL;
    tokenizer->decoders =
        arena_array(tokenizer->arena, PIPELINE_PARTS, sizeof *tokenizer->decoders);
    if (!tokenizer->decoders)
        return error_set(err, E_NOMEM, "no memory for decoders");
    return part_parts(settings, "decoder", "decoders", read_part, tokenizer, err);
}

void decoders_close(struct decoder *decoders, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pattern_close(decoders[i].pattern);
}
