/* From a row to its facts. See form_row.h; how they are written is form_lines.c. */
#include "core/facts/form_row.h"

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/facts/column_kinds.h"
#include "core/similar/normal.h"

#define PARTS_BYTES ((size_t)256 << 20)
#define TEXT_BYTES  ((size_t)64 << 20) /* of one normal text */
enum { MEMBER_BYTES = 128 };           /* "metadata.user" and its end */

int form_scratch_open(struct form_scratch *out, bool has_tokenizer, struct error *err)
{
    *out = (struct form_scratch){.arena = arena_open(PARTS_BYTES)};
    buf_init(&out->input, TEXT_BYTES);
    buf_init(&out->target, TEXT_BYTES);
    buf_init(&out->text, 2 * TEXT_BYTES + 1);
    if (!out->arena)
        return error_set(err, E_NOMEM, "no memory for the facts of rows");
    return has_tokenizer ? tokenizer_scratch_open(&out->tokens, err) : OK;
}

void form_scratch_close(struct form_scratch *scratch)
{
    arena_close(scratch->arena);
    buf_free(&scratch->input);
    buf_free(&scratch->target);
    buf_free(&scratch->text);
    shingles_free(&scratch->set);
    tokenizer_scratch_close(scratch->tokens);
    tokens_free(&scratch->encoded);
}

/* ---- Texts ---- */

int form_row_parts(const struct json *line, struct form_scratch *scratch, struct row_parts *out,
                   struct error *err)
{
    struct conversation conversation;
    int rc = OK;

    arena_reset(scratch->arena);
    *out = (struct row_parts){str_of(""), str_of(""), ROW_NOT_READABLE, false};
    if (!json_is(line, JSON_OBJECT))
        return OK;
    rc = conversation_of_row(line, NULL, scratch->arena, &conversation, err);
    return rc == OK ? row_parts_of(&conversation, scratch->arena, out, err) : rc;
}

static int normalise(const struct row_parts *parts, struct form_scratch *scratch, struct error *err)
{
    int rc = normal_text(parts->input, &scratch->input, err);

    return rc == OK ? normal_text(parts->target, &scratch->target, err) : rc;
}

static void join(struct form_scratch *scratch, char with)
{
    buf_clear(&scratch->text);
    buf_str(&scratch->text, buf_view(&scratch->input));
    if (with != ' ' || (scratch->input.n && scratch->target.n))
        buf_putc(&scratch->text, with);
    buf_str(&scratch->text, buf_view(&scratch->target));
}

int form_row_text(const struct json *line, struct form_scratch *scratch, struct str *text,
                  bool *is_readable, struct error *err)
{
    struct row_parts parts;
    int rc = form_row_parts(line, scratch, &parts, err);

    *text = str_of("");
    *is_readable = rc == OK && !(parts.flags & ROW_NOT_READABLE);
    if (!*is_readable)
        return rc;
    rc = normalise(&parts, scratch, err);
    if (rc == OK)
        join(scratch, ' ');
    if (rc == OK && scratch->text.failed)
        rc = error_set(err, E_NOMEM, "no memory for a row of %zu bytes", parts.input.n);
    *text = buf_view(&scratch->text);
    *is_readable = rc == OK;
    return rc == E_LIMIT ? OK : rc;
}

/* ---- Counts ---- */

static int64_t count_words(struct str normal)
{
    int64_t n = normal.n > 0;

    for (size_t i = 0; i < normal.n; i++)
        n += normal.p[i] == ' ';
    return n;
}

static void set_opening(struct str input, struct form_row *out)
{
    for (size_t at = 0; at < input.n && out->n_opening < FORM_OPENINGS; at++) {
        const char *blank = memchr(input.p + at, ' ', input.n - at);

        at = blank ? (size_t)(blank - input.p) : input.n;
        out->opening[out->n_opening++] = hash_bytes(input.p, at);
    }
}

static void set_class(struct str target, struct form_row *out)
{
    target = str_trim(target);
    if (target.n > 0 && target.n <= FORM_CLASS && unicode_is_valid(target))
        out->class_name = target;
}

static int count_tokens(const struct tokenizer *tokenizer, const struct row_parts *parts,
                        struct form_scratch *scratch, struct form_row *out, struct error *err)
{
    const struct str texts[] = {parts->input, parts->target};
    int64_t n = 0;

    for (size_t i = 0; i < 2; i++) {
        int rc = tokenizer_encode(tokenizer, scratch->tokens, texts[i], false, &scratch->encoded, err);

        if (rc == E_LIMIT) /* longer than a tokenizer takes: not counted */
            return OK;
        if (rc != OK)
            return rc;
        n += (int64_t)scratch->encoded.n;
    }
    out->n_tokens = n;
    return OK;
}

/* ---- Groups ---- */

static size_t skip_digits(struct str text, size_t at)
{
    while (at < text.n && text.p[at] >= '0' && text.p[at] <= '9')
        at++;
    return at;
}

/* As tables write numbers: sign, digits, fraction, exponent. */
static bool is_number(struct str text)
{
    size_t at = text.n && (text.p[0] == '-' || text.p[0] == '+'), begin = at, digits;

    at = skip_digits(text, at);
    digits = at - begin;
    if (at < text.n && text.p[at] == '.') {
        begin = at + 1;
        at = skip_digits(text, begin);
        digits += at - begin;
    }
    if (digits && at < text.n && (text.p[at] == 'e' || text.p[at] == 'E')) {
        begin = at + 1;
        begin += begin < text.n && (text.p[begin] == '-' || text.p[begin] == '+');
        at = skip_digits(text, begin);
        digits = at - begin;
    }
    return digits && at == text.n;
}

static void add_group(struct str name, const struct json *value, struct form_row *out)
{
    struct str text = value->text;

    if ((value->type != JSON_STRING && value->type != JSON_NUMBER) || text.n == 0 ||
        text.n > FORM_GROUP_BYTES || out->n_groups == FORM_GROUPS)
        return;
    if (!column_is_key_name(name) &&
        (value->type == JSON_NUMBER || column_is_meant_to_recur(name) || is_number(text)))
        return;
    out->groups[out->n_groups++] = (struct form_group){name, hash_bytes(text.p, text.n)};
}

static void add_members(const struct json *object, struct arena *arena, struct form_row *out)
{
    for (const struct json *value = object->child; value; value = value->next) {
        size_t n = object->key.n + 1 + value->key.n;
        char *name = n < MEMBER_BYTES ? arena_alloc(arena, n + 1) : NULL;

        if (!name)
            continue;
        memcpy(name, object->key.p, object->key.n);
        name[object->key.n] = '.';
        memcpy(name + object->key.n + 1, value->key.p, value->key.n);
        add_group(str_from(name, n), value, out);
    }
}

static bool has_group(const struct form_row *row, struct str name)
{
    for (size_t i = 0; i < row->n_groups; i++)
        if (str_eq(row->groups[i].column, name))
            return true;
    return false;
}

static void set_groups(const struct json *line, struct arena *arena, struct form_row *out)
{
    for (const struct json *value = line->child; value; value = value->next) {
        if (column_is_content(value->key) || value->key.n > FORM_GROUP_BYTES)
            continue;
        if (value->type == JSON_OBJECT)
            add_members(value, arena, out);
        else
            add_group(value->key, value, out);
    }
    /* a column "a.b" beside a member b of "a": the first counts */
    for (size_t i = out->n_groups; i-- > 0;) {
        size_t n = out->n_groups;

        out->n_groups = i;
        bool is_second = has_group(out, out->groups[i].column);
        out->n_groups = n;
        if (is_second)
            memmove(&out->groups[i], &out->groups[i + 1], (--out->n_groups - i) * sizeof *out->groups);
    }
}

/* ---- All ---- */

static int measure(const struct row_parts *parts, const struct common_text *common,
                   struct form_scratch *scratch, struct form_row *out, struct error *err)
{
    const struct str input = buf_view(&scratch->input), target = buf_view(&scratch->target);

    join(scratch, '\n');
    out->exact = hash_bytes(scratch->text.p, scratch->text.n);
    out->input = hash_bytes(input.p, input.n);
    out->target = hash_bytes(target.p, target.n);
    out->n_words = count_words(input);
    out->n_target_words = count_words(target);
    out->n_bytes = (int64_t)(parts->input.n + parts->target.n);
    out->flags = parts->flags;
    set_class(parts->target, out);
    set_opening(input, out);
    join(scratch, ' ');
    if (scratch->text.failed)
        return error_set(err, E_NOMEM, "no memory for a row of %zu bytes", parts->input.n);
    struct str stripped = common_strip(common, buf_view(&scratch->text));
    int rc = shingles_of(stripped, &scratch->set, err);
    out->n_shingles = (int64_t)scratch->set.n;
    out->has_bands = scratch->set.n > 0;
    if (rc == OK && out->has_bands)
        minhash_bands(scratch->set.items, scratch->set.n, out->bands);
    return rc;
}

int form_row_of(const struct json *line, const struct common_text *common,
                const struct tokenizer *tokenizer, struct form_scratch *scratch,
                struct form_row *out, struct error *err)
{
    struct row_parts parts;
    int rc = form_row_parts(line, scratch, &parts, err);

    *out = (struct form_row){.n_tokens = NONE, .flags = ROW_NOT_READABLE};
    if (rc != OK || parts.flags & ROW_NOT_READABLE)
        return rc;
    rc = normalise(&parts, scratch, err);
    if (rc == OK)
        rc = measure(&parts, common, scratch, out, err);
    if (rc == E_LIMIT) {
        *out = (struct form_row){.n_tokens = NONE, .flags = ROW_NOT_READABLE};
        return OK;
    }
    if (rc == OK && tokenizer)
        rc = count_tokens(tokenizer, &parts, scratch, out, err);
    if (rc == OK)
        set_groups(line, scratch->arena, out);
    if (rc == OK && arena_failed(scratch->arena))
        rc = error_set(err, E_NOMEM, "no memory for the facts of a row");
    return rc;
}
