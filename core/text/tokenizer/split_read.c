/* The settings of pre-tokenizers, as a flat list. See pipeline.h. */
#include "core/text/tokenizer/pipeline.h"

/* The pattern of GPT-2, which ByteLevel uses where it is not told otherwise. */
static const char GPT2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static int add(struct tokenizer *tokenizer, struct splitter splitter, struct error *err)
{
    if (tokenizer->n_splitters == PIPELINE_PARTS)
        return error_set(err, E_LIMIT, "more than %d pre-tokenizers", PIPELINE_PARTS);
    tokenizer->splitters[tokenizer->n_splitters++] = splitter;
    return OK;
}

static int add_byte_level(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "pre-tokenizer ByteLevel";
    struct splitter splitter = {.kind = SPLIT_BYTE_LEVEL};
    bool use_regex = false;
    int rc = part_flag(part, WHAT, "add_prefix_space", &splitter.add_prefix_space, err);

    if (rc == OK)
        rc = part_flag_or(part, WHAT, "use_regex", true, &use_regex, err);
    if (rc == OK && use_regex)
        rc = pattern_compile(&splitter.pattern, str_of(GPT2), false, err);
    if (rc == OK)
        rc = add(tokenizer, splitter, err);
    if (rc != OK)
        pattern_close(splitter.pattern);
    return rc;
}

static int add_split(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "pre-tokenizer Split";
    struct splitter splitter = {.kind = SPLIT_PATTERN};
    int rc = part_behaviour(part, WHAT, &splitter.behaviour, err);

    if (rc == OK)
        rc = part_flag(part, WHAT, "invert", &splitter.invert, err);
    if (rc == OK)
        rc = part_pattern(part, WHAT, &splitter.pattern, err);
    if (rc == OK)
        rc = add(tokenizer, splitter, err);
    if (rc != OK)
        pattern_close(splitter.pattern);
    return rc;
}

/* Before there were schemes, add_prefix_space said always or never. */
static int read_scheme(const struct json *part, const char *what, enum prepend_scheme *out,
                       struct error *err)
{
    static const char *const NAMES[] = {"always", "first", "never"};
    const struct json *scheme = json_get(part, "prepend_scheme");
    bool adds;
    int rc = part_flag_or(part, what, "add_prefix_space", true, &adds, err);

    *out = adds || scheme ? PREPEND_ALWAYS : PREPEND_NEVER;
    if (rc != OK || !scheme)
        return rc;
    for (size_t i = 0; i < 3; i++)
        if (json_is(scheme, JSON_STRING) && str_is(scheme->text, NAMES[i])) {
            *out = (enum prepend_scheme)i;
            if (!adds && *out != PREPEND_NEVER)
                return error_set(err, E_PARSE, "%s: add_prefix_space contradicts prepend_scheme",
                                 what);
            return OK;
        }
    return error_set(err, E_UNSUPPORTED, "%s: prepend_scheme is not always, first or never", what);
}

static int add_metaspace(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "pre-tokenizer Metaspace";
    struct splitter splitter = {.kind = SPLIT_METASPACE};
    int rc = part_char(part, WHAT, "replacement", &splitter.character, err);

    if (rc == OK)
        rc = read_scheme(part, WHAT, &splitter.scheme, err);
    if (rc == OK)
        rc = part_flag_or(part, WHAT, "split", true, &splitter.cuts, err);
    return rc == OK ? add(tokenizer, splitter, err) : rc;
}

static int add_delimiter(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct splitter splitter = {.kind = SPLIT_DELIMITER, .behaviour = SPLIT_REMOVED};
    int rc =
        part_char(part, "pre-tokenizer CharDelimiterSplit", "delimiter", &splitter.character, err);

    return rc == OK ? add(tokenizer, splitter, err) : rc;
}

static int add_digits(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    bool individual = false;
    int rc = part_flag(part, "pre-tokenizer Digits", "individual_digits", &individual, err);
    const struct splitter splitter = {.kind = SPLIT_DIGITS,
                                      .behaviour = individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS};

    return rc == OK ? add(tokenizer, splitter, err) : rc;
}

static int add_punctuation(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct splitter splitter = {.kind = SPLIT_PUNCTUATION, .behaviour = SPLIT_ISOLATED};
    int rc = json_get(part, "behavior")
                 ? part_behaviour(part, "pre-tokenizer Punctuation", &splitter.behaviour, err)
                 : OK;

    return rc == OK ? add(tokenizer, splitter, err) : rc;
}

static int add_length(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct splitter splitter = {.kind = SPLIT_LENGTH, .length = 5};
    int rc = json_get(part, "length")
                 ? part_count(part, "pre-tokenizer FixedLength", "length", &splitter.length, err)
                 : OK;

    if (rc == OK && splitter.length == 0)
        return error_set(err, E_PARSE, "pre-tokenizer FixedLength: length is 0");
    return rc == OK ? add(tokenizer, splitter, err) : rc;
}

static int add_bert(struct tokenizer *tokenizer, struct error *err)
{
    int rc =
        add(tokenizer, (struct splitter){.kind = SPLIT_SPACE, .behaviour = SPLIT_REMOVED}, err);

    if (rc == OK)
        rc = add(tokenizer,
                 (struct splitter){.kind = SPLIT_PUNCTUATION, .behaviour = SPLIT_ISOLATED}, err);
    return rc;
}

static int read_part(void *ctx, const struct json *part, struct error *err)
{
    static const struct {
        const char *name;
        int (*add)(struct tokenizer *tokenizer, const struct json *part, struct error *err);
    } WITH_SETTINGS[] = {
        {"ByteLevel", add_byte_level},    {"Split", add_split},
        {"Metaspace", add_metaspace},     {"CharDelimiterSplit", add_delimiter},
        {"Delimiter", add_delimiter},     {"Digits", add_digits},
        {"Punctuation", add_punctuation}, {"FixedLength", add_length},
    };
    struct str type;
    int rc = part_type(part, "pre-tokenizer", &type, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < sizeof WITH_SETTINGS / sizeof *WITH_SETTINGS; i++)
        if (str_is(type, WITH_SETTINGS[i].name))
            return WITH_SETTINGS[i].add(ctx, part, err);
    if (str_is(type, "BertPreTokenizer"))
        return add_bert(ctx, err);
    if (str_is(type, "WhitespaceSplit"))
        return add(ctx, (struct splitter){.kind = SPLIT_SPACE, .behaviour = SPLIT_REMOVED}, err);
    if (str_is(type, "Whitespace"))
        return add(ctx, (struct splitter){.kind = SPLIT_WORDS}, err);
    if (str_is(type, "UnicodeScripts"))
        return add(ctx, (struct splitter){.kind = SPLIT_SCRIPTS}, err);
    return part_unknown("pre-tokenizer", type, err);
}

int splitters_read(struct tokenizer *tokenizer, const struct json *settings, struct error *err)
{
    tokenizer->splitters =
        arena_array(tokenizer->arena, PIPELINE_PARTS, sizeof *tokenizer->splitters);
    if (!tokenizer->splitters)
        return error_set(err, E_NOMEM, "no memory for pre-tokenizers");
    return part_parts(settings, "pre-tokenizer", "pretokenizers", read_part, tokenizer, err);
}

void splitters_close(struct splitter *splitters, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pattern_close(splitters[i].pattern);
}
