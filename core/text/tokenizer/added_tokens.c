/* Added tokens: which there are, and where they stand in a text. See pipeline.h.
 *
 * They are found leftmost first and of those the longest, by narrowing a sorted list byte by byte:
 * no nodes to build, and a byte that begins none is passed over at once. */
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/base/unicode_class.h"
#include "core/text/tokenizer/pipeline.h"

/* Many long tokens that begin alike, in a text of such beginnings, would take for ever. */
#define STEPS_PER_BYTE 64
#define STEPS_FREE     ((uint64_t)1 << 26)

struct token_set {
    const struct added_token **items; /* by their patterns */
    size_t n;
    uint32_t first[257]; /* items that begin with a byte: first[b] … first[b + 1] */
};

struct added_tokens {
    struct added_token *items; /* in the order of the file; equal contents once */
    size_t n;
    const struct added_token **by_id;
    uint32_t *slots; /* by content: index + 1, 0 free */
    size_t n_slots;
    struct token_set sets[2]; /* as they stand, normalised */
    uint32_t size, lowest;
};

/* ---- Reading ---- */

static size_t slot_of(const struct added_tokens *added, struct str content)
{
    size_t slot = (size_t)hash_bytes(content.p, content.n) & (added->n_slots - 1);

    while (added->slots[slot] && !str_eq(added->items[added->slots[slot] - 1].content, content))
        slot = (slot + 1) & (added->n_slots - 1);
    return slot;
}

static int read_one(const struct json *value, struct added_token *out, struct error *err)
{
    static const char WHAT[] = "added token";
    uint64_t id;
    int rc;

    if (!json_is(value, JSON_OBJECT))
        return error_set(err, E_PARSE, "added token: expected an object");
    rc = part_count(value, WHAT, "id", &id, err);
    if (rc == OK)
        rc = part_text(value, WHAT, "content", &out->content, err);
    if (rc == OK)
        rc = part_flag(value, WHAT, "single_word", &out->single_word, err);
    if (rc == OK)
        rc = part_flag(value, WHAT, "lstrip", &out->lstrip, err);
    if (rc == OK)
        rc = part_flag(value, WHAT, "rstrip", &out->rstrip, err);
    if (rc == OK)
        rc = part_flag(value, WHAT, "normalized", &out->normalized, err);
    if (rc == OK)
        rc = part_flag(value, WHAT, "special", &out->special, err);
    if (rc != OK && err)
        error_at(err, NULL, value->line, NONE);
    return rc;
}

/* What is looked for. The model and the text see the normalised form, so does decoding. */
static int normalise_one(struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                         struct added_token *token, struct error *err)
{
    struct piece piece = {
        .p = token->content.p, .n = token->content.n, .origin_end = (uint32_t)token->content.n};
    int rc = OK;

    token->pattern = token->content;
    if (!token->normalized || tokenizer->n_normalizers == 0)
        return OK;
    rc = normalize_piece(tokenizer->normalizers, tokenizer->n_normalizers, scratch, &piece, err);
    if (rc != OK || str_eq(piece_text(&piece), token->content))
        return rc;
    token->pattern = arena_str(tokenizer->arena, piece_text(&piece));
    return arena_failed(tokenizer->arena) ? error_set(err, E_NOMEM, "no memory for added tokens")
                                          : OK;
}

/* Ids are the model's where it knows the token, else counted on from its vocabulary: what the file
 * says is not looked at, as in the library. */
static int take(struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                struct added_token token, uint32_t *next_id, struct error *err)
{
    struct added_tokens *added = tokenizer->added;
    size_t slot = slot_of(added, token.content);
    struct added_token *known = added->slots[slot] ? &added->items[added->slots[slot] - 1] : NULL;
    int64_t id = known ? known->id : model_id(tokenizer->model, token.content);

    if (id < 0 && *next_id == UINT32_MAX)
        return error_set(err, E_PARSE, "added tokens have no ids left");
    token.id = id >= 0 ? (uint32_t)id : (*next_id)++;
    token.special |= known && known->special;
    token.order = (uint32_t)(known ? known - added->items : (ptrdiff_t)added->n);

    int rc = normalise_one(tokenizer, scratch, &token, err);

    if (rc != OK)
        return rc;
    if (!known)
        added->slots[slot] = (uint32_t)++added->n;
    added->items[token.order] = token;
    return OK;
}

static int by_pattern(const void *a, const void *b)
{
    const struct added_token *x = *(const struct added_token *const *)a;
    const struct added_token *y = *(const struct added_token *const *)b;
    int order = str_compare(x->pattern, y->pattern);

    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static int by_id(const void *a, const void *b)
{
    const struct added_token *x = *(const struct added_token *const *)a;
    const struct added_token *y = *(const struct added_token *const *)b;

    return x->id < y->id ? -1 : x->id > y->id ? 1 : x->order < y->order ? -1 : x->order > y->order;
}

static int make_set(const struct added_tokens *added, bool normalized, struct token_set *set,
                    struct error *err)
{
    set->items = malloc((added->n + 1) * sizeof *set->items);
    if (!set->items)
        return error_set(err, E_NOMEM, "no memory for %zu added tokens", added->n);
    for (size_t i = 0; i < added->n; i++)
        if (added->items[i].normalized == normalized && added->items[i].pattern.n)
            set->items[set->n++] = &added->items[i];
    qsort(set->items, set->n, sizeof *set->items, by_pattern);
    for (size_t i = 0, byte = 0; byte <= 256; byte++) {
        while (i < set->n && (unsigned char)set->items[i]->pattern.p[0] < byte)
            i++;
        set->first[byte] = (uint32_t)i;
    }
    return OK;
}

static int make_lists(struct added_tokens *added, struct error *err)
{
    added->by_id = malloc((added->n + 1) * sizeof *added->by_id);
    if (!added->by_id)
        return error_set(err, E_NOMEM, "no memory for %zu added tokens", added->n);
    for (size_t i = 0; i < added->n; i++) {
        struct added_token *token = &added->items[i];
        const struct added_token *same = added_by_content(added, token->pattern);

        token->is_skipped = same && same->special;
        added->by_id[i] = token;
        if (token->id >= added->size)
            added->size = token->id + 1;
        if (i == 0 || token->id < added->lowest)
            added->lowest = token->id;
    }
    qsort(added->by_id, added->n, sizeof *added->by_id, by_id);

    int rc = make_set(added, false, &added->sets[0], err);

    return rc == OK ? make_set(added, true, &added->sets[1], err) : rc;
}

int added_tokens_read(struct tokenizer *tokenizer, const struct json *list, struct error *err)
{
    struct added_tokens *added = calloc(1, sizeof *added);
    struct tokenizer_scratch *scratch = NULL;
    uint32_t next_id = model_count(tokenizer->model);
    size_t n = list && list->type == JSON_ARRAY ? list->n : 0;
    int rc = OK;

    tokenizer->added = added;
    if (!added)
        return error_set(err, E_NOMEM, "no memory for added tokens");
    if (list && list->type != JSON_ARRAY)
        return error_set(err, E_PARSE, "added_tokens: expected a list");
    for (added->n_slots = 16; added->n_slots < 2 * n;)
        added->n_slots *= 2;
    added->slots = calloc(added->n_slots, sizeof *added->slots);
    added->items = malloc((n + 1) * sizeof *added->items);
    if (!added->slots || !added->items)
        return error_set(err, E_NOMEM, "no memory for %zu added tokens", n);
    rc = tokenizer_scratch_open(&scratch, err);
    for (const struct json *value = list ? list->child : NULL; rc == OK && value;
         value = value->next) {
        struct added_token token = {0};

        rc = read_one(value, &token, err);
        if (rc == OK && token.content.n)
            rc = take(tokenizer, scratch, token, &next_id, err);
    }
    tokenizer_scratch_close(scratch);
    return rc == OK ? make_lists(added, err) : rc;
}

void added_tokens_close(struct added_tokens *added)
{
    if (!added)
        return;
    free(added->items);
    free(added->slots);
    free(added->by_id);
    free(added->sets[0].items);
    free(added->sets[1].items);
    free(added);
}

/* ---- Looking up ---- */

const struct added_token *added_by_id(const struct added_tokens *added, uint32_t id)
{
    size_t low = 0, high = added->n;

    if (id < added->lowest || id >= added->size)
        return NULL;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (added->by_id[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < added->n && added->by_id[low]->id == id ? added->by_id[low] : NULL;
}

const struct added_token *added_by_content(const struct added_tokens *added, struct str content)
{
    size_t slot = slot_of(added, content);

    return added->slots[slot] ? &added->items[added->slots[slot] - 1] : NULL;
}

uint32_t added_size(const struct added_tokens *added)
{
    return added->size;
}

bool added_has(const struct added_tokens *added, bool normalized)
{
    return added->sets[normalized].n > 0;
}

/* ---- Finding ---- */

/* The first item in low … high whose byte `depth` is at least `byte`; shorter ones come first. */
static size_t narrow(const struct token_set *set, size_t low, size_t high, size_t depth, int byte)
{
    while (low < high) {
        size_t middle = (low + high) / 2;
        struct str pattern = set->items[middle]->pattern;

        if (pattern.n <= depth || (unsigned char)pattern.p[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest token that stands at the beginning of the text. */
static const struct added_token *longest(const struct token_set *set, struct str text,
                                         uint64_t *steps)
{
    unsigned char first = (unsigned char)text.p[0];
    size_t low = set->first[first], high = set->first[first + 1];
    const struct added_token *found = NULL;

    for (size_t depth = 1; low < high; depth++) {
        ++*steps;
        if (set->items[low]->pattern.n == depth)
            found = set->items[low];
        if (depth == text.n)
            break;

        int byte = (unsigned char)text.p[depth];

        low = narrow(set, low, high, depth, byte);
        high = narrow(set, low, high, depth, byte + 1);
    }
    return found;
}

static bool word_before(struct str text, size_t at)
{
    size_t i = at;
    int32_t c;

    if (i == 0)
        return false;
    do
        i--;
    while (i > 0 && ((unsigned char)text.p[i] & 0xC0) == 0x80);
    (void)unicode_next(str_skip(text, i), &c);
    return char_is_word(c);
}

static bool word_after(struct str text, size_t at)
{
    int32_t c;

    if (at >= text.n)
        return false;
    (void)unicode_next(str_skip(text, at), &c);
    return char_is_word(c);
}

static size_t skip_blanks_left(struct str text, size_t at, size_t floor)
{
    while (at > floor) {
        size_t i = at;
        int32_t c;

        do
            i--;
        while (i > 0 && ((unsigned char)text.p[i] & 0xC0) == 0x80);
        (void)unicode_next(str_skip(text, i), &c);
        if (!char_is_space(c))
            break;
        at = i;
    }
    return at;
}

static size_t skip_blanks_right(struct str text, size_t at)
{
    while (at < text.n) {
        int32_t c;
        size_t n = unicode_next(str_skip(text, at), &c);

        if (!char_is_space(c))
            break;
        at += n;
    }
    return at;
}

static int too_many_steps(struct error *err)
{
    return error_set(err, E_LIMIT, "added tokens that begin alike, in a text of such beginnings");
}

/* The next place where one stands; the search goes on after it, whatever becomes of it. */
static int next_place(struct added_search *search, struct added_match *match, struct error *err)
{
    const struct token_set *set = &search->added->sets[search->normalized];
    struct str text = search->text;

    for (size_t i = search->from; i < text.n; i++) {
        unsigned char first = (unsigned char)text.p[i];

        if (set->first[first] == set->first[first + 1])
            continue;
        match->token = longest(set, str_skip(text, i), &search->steps);
        if (search->steps > STEPS_FREE + STEPS_PER_BYTE * (uint64_t)text.n)
            return too_many_steps(err);
        if (!match->token)
            continue;
        match->begin = i;
        match->end = i + match->token->pattern.n;
        search->from = match->end;
        return 1;
    }
    search->from = text.n;
    return 0;
}

int added_next(struct added_search *search, struct added_match *match, struct error *err)
{
    struct str text = search->text;
    int rc;

    while ((rc = next_place(search, match, err)) == 1) {
        const struct added_token *token = match->token;

        if (token->single_word && (word_before(text, match->begin) || word_after(text, match->end)))
            continue;
        if (token->lstrip) {
            match->begin = skip_blanks_left(text, match->begin, search->taken);
            if (match->begin < search->taken)
                match->begin = search->taken;
        }
        if (token->rstrip) {
            size_t end = skip_blanks_right(text, match->end);

            search->steps += end - match->end;
            match->end = end;
        }
        if (match->begin > match->end)
            return error_set(err, E_UNSUPPORTED, "added tokens whose blanks overlap");
        search->taken = match->end;
        return 1;
    }
    return rc;
}
