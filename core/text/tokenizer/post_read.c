/* The settings of post-processors, as a flat list. See pipeline.h. */
#include "core/base/unicode.h"
#include "core/text/tokenizer/pipeline.h"

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for post-processors");
}

static int add(struct tokenizer *tokenizer, const struct post *post, struct error *err)
{
    if (tokenizer->n_posts == PIPELINE_PARTS)
        return error_set(err, E_LIMIT, "more than %d post-processors", PIPELINE_PARTS);
    tokenizer->posts[tokenizer->n_posts++] = *post;
    tokenizer->trims_offsets |= post->trims;
    return OK;
}

static int read_id(const struct json *value, const char *what, uint32_t *out, struct error *err)
{
    if (!json_is(value, JSON_NUMBER) || !value->is_integer || !(value->number >= 0) ||
        value->number > 4294967295.0)
        return error_set(err, E_PARSE, "%s: expected the id of a token", what);
    *out = (uint32_t)value->number;
    return OK;
}

/* ["[CLS]", 101] */
static int read_pair(struct tokenizer *tokenizer, const struct json *part, const char *key,
                     struct post_piece *out, struct error *err)
{
    const struct json *pair = json_get(part, key);
    uint32_t *id = arena_alloc(tokenizer->arena, sizeof *id);

    if (!id)
        return no_memory(err);
    if (!json_is(pair, JSON_ARRAY) || pair->n != 2 || !json_is(pair->child, JSON_STRING))
        return error_set(err, E_PARSE, "post-processor: %s is no pair of a token and its id", key);
    *out = (struct post_piece){.ids = id, .n = 1};
    return read_id(pair->child->next, "post-processor", id, err);
}

static int add_pair(struct tokenizer *tokenizer, const struct json *part, bool is_roberta,
                    struct error *err)
{
    static const char WHAT[] = "post-processor RobertaProcessing";
    struct post post = {.kind = POST_PAIR, .doubles_last = is_roberta};
    int rc = read_pair(tokenizer, part, "cls", &post.first, err);

    if (rc == OK)
        rc = read_pair(tokenizer, part, "sep", &post.last, err);
    if (rc == OK && is_roberta)
        rc = part_flag(part, WHAT, "trim_offsets", &post.trims, err);
    if (rc == OK && is_roberta)
        rc = part_flag(part, WHAT, "add_prefix_space", &post.add_prefix_space, err);
    return rc == OK ? add(tokenizer, &post, err) : rc;
}

static int add_byte_level(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    static const char WHAT[] = "post-processor ByteLevel";
    struct post post = {.kind = POST_TRIM};
    int rc = part_flag(part, WHAT, "trim_offsets", &post.trims, err);

    if (rc == OK)
        rc = part_flag(part, WHAT, "add_prefix_space", &post.add_prefix_space, err);
    return rc == OK ? add(tokenizer, &post, err) : rc;
}

/* ---- TemplateProcessing ---- */

static int read_special(struct tokenizer *tokenizer, const struct json *part, struct str name,
                        struct post_piece *out, struct error *err)
{
    const struct json *tokens = json_get(part, "special_tokens"), *token = NULL;
    struct str shown = unicode_cut(name, 80);

    for (const struct json *t = json_is(tokens, JSON_OBJECT) ? tokens->child : NULL; t; t = t->next)
        if (str_eq(t->key, name))
            token = t;

    const struct json *ids = json_get(token, "ids");

    if (!json_is(ids, JSON_ARRAY))
        return error_set(err, E_PARSE, "TemplateProcessing: no ids for the special token %.*s",
                         (int)shown.n, shown.p);

    uint32_t *list = arena_array(tokenizer->arena, ids->n + 1, sizeof *list);
    size_t n = 0;

    if (!list)
        return no_memory(err);
    for (const struct json *id = ids->child; id; id = id->next) {
        int rc = read_id(id, "TemplateProcessing", &list[n++], err);

        if (rc != OK)
            return rc;
    }
    out->ids = list;
    out->n = n;
    return OK;
}

/* {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": "<s>", "type_id": 0}} */
static int read_piece(struct tokenizer *tokenizer, const struct json *part,
                      const struct json *value, struct post_piece *out, struct error *err)
{
    static const char WHAT[] = "TemplateProcessing";
    const struct json *sequence = json_get(value, "Sequence");
    const struct json *special = json_get(value, "SpecialToken");
    struct str id;
    int rc;

    if (!json_is(value, JSON_OBJECT) || (!sequence && !special))
        return error_set(err, E_PARSE, "%s: expected a Sequence or a SpecialToken", WHAT);
    rc = part_text(sequence ? sequence : special, WHAT, "id", &id, err);
    if (rc != OK)
        return rc;
    if (!sequence)
        return read_special(tokenizer, part, id, out, err);
    out->is_text = true;
    out->is_second = str_is(id, "B");
    if (!out->is_second && !str_is(id, "A"))
        return error_set(err, E_PARSE, "%s: a sequence that is neither A nor B", WHAT);
    return OK;
}

static int read_template(struct tokenizer *tokenizer, const struct json *part, const char *key,
                         struct post_template *out, struct error *err)
{
    const struct json *list = json_get(part, key);
    struct post_piece *pieces;
    int rc = OK;

    if (!json_is(list, JSON_ARRAY))
        return error_set(err, E_PARSE, "TemplateProcessing: %s is missing or no list", key);
    pieces = arena_array(tokenizer->arena, list->n + 1, sizeof *pieces);
    if (!pieces)
        return no_memory(err);
    for (const struct json *value = list->child; rc == OK && value; value = value->next)
        rc = read_piece(tokenizer, part, value, &pieces[out->n++], err);
    out->pieces = pieces;
    return rc;
}

static int add_template(struct tokenizer *tokenizer, const struct json *part, struct error *err)
{
    struct post post = {.kind = POST_TEMPLATE};
    int rc = read_template(tokenizer, part, "single", &post.single, err);

    if (rc == OK)
        rc = read_template(tokenizer, part, "pair", &post.pair, err);
    return rc == OK ? add(tokenizer, &post, err) : rc;
}

static int read_part(void *ctx, const struct json *part, struct error *err)
{
    struct str type;
    int rc = part_type(part, "post-processor", &type, err);

    if (rc != OK)
        return rc;
    if (str_is(type, "TemplateProcessing"))
        return add_template(ctx, part, err);
    if (str_is(type, "BertProcessing"))
        return add_pair(ctx, part, false, err);
    if (str_is(type, "RobertaProcessing"))
        return add_pair(ctx, part, true, err);
    if (str_is(type, "ByteLevel"))
        return add_byte_level(ctx, part, err);
    return part_unknown("post-processor", type, err);
}

int posts_read(struct tokenizer *tokenizer, const struct json *settings, struct error *err)
{
    tokenizer->posts = arena_array(tokenizer->arena, PIPELINE_PARTS, sizeof *tokenizer->posts);
    if (!tokenizer->posts)
        return no_memory(err);
    return part_parts(settings, "post-processor", "processors", read_part, tokenizer, err);
}
