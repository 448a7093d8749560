/* Finding the text that rows share. See shared_text.h. */
#include "core/similar/shared_text.h"

#include <stdlib.h>

#include "core/base/random.h"

enum { CANDIDATES = 3 }; /* of n words the one that n / 4 share is among them */

struct kept {
    char *text;
    size_t n;
    uint64_t draw;
    struct str left; /* of the text, while it is looked at */
    bool is_in;      /* begins (ends) with all that was found so far */
};

struct common {
    struct kept *rows;
    size_t n, capacity, n_bytes, max_bytes;
    uint64_t n_seen, below; /* rows with a draw above are not kept */
};

void common_text_free(struct common_text *common)
{
    free(common->prefix);
    free(common->suffix);
    *common = (struct common_text){0};
}

int common_open(struct common **out, size_t max_bytes, struct error *err)
{
    struct common *common = calloc(1, sizeof *common);

    if (!common)
        return error_set(err, E_NOMEM, "no memory for the rows' common text");
    common->max_bytes = max_bytes ? max_bytes : COMMON_BYTES;
    common->below = UINT64_MAX;
    *out = common;
    return OK;
}

static void drop_rows(struct common *common)
{
    for (size_t i = 0; i < common->n; i++)
        free(common->rows[i].text);
    free(common->rows);
    common->rows = NULL;
    common->n = common->capacity = common->n_bytes = 0;
}

void common_close(struct common *common)
{
    if (!common)
        return;
    drop_rows(common);
    free(common);
}

/* Keeps every other row, by their draws. */
static void thin(struct common *common)
{
    size_t n = 0;

    common->below /= 2;
    common->n_bytes = 0;
    for (size_t i = 0; i < common->n; i++) {
        struct kept *row = &common->rows[i];

        if (row->draw >= common->below) {
            free(row->text);
            continue;
        }
        common->n_bytes += row->n + sizeof *row;
        common->rows[n++] = *row;
    }
    common->n = n;
}

static int make_room(struct common *common, struct error *err)
{
    size_t capacity = common->capacity ? common->capacity * 2 : 64;
    struct kept *rows;

    if (common->n < common->capacity)
        return OK;
    rows = realloc(common->rows, capacity * sizeof *rows);
    if (!rows)
        return error_set(err, E_NOMEM, "no memory for the rows' common text");
    common->rows = rows;
    common->capacity = capacity;
    return OK;
}

int common_add(struct common *common, struct str normal, struct error *err)
{
    struct random random;

    random_seed(&random, common->n_seen++);
    const uint64_t draw = random_u64(&random);
    if (draw >= common->below)
        return OK;
    int rc = make_room(common, err);
    char *text = rc == OK ? malloc(normal.n + 1) : NULL;
    if (!text)
        return rc != OK ? rc : error_set(err, E_NOMEM, "no memory for the rows' common text");
    if (normal.n)
        memcpy(text, normal.p, normal.n);
    common->rows[common->n++] = (struct kept){.text = text, .n = normal.n, .draw = draw};
    common->n_bytes += normal.n + sizeof *common->rows;
    while (common->n_bytes > common->max_bytes && common->n > 1)
        thin(common);
    return OK;
}

/* ---- Finding ---- */

static struct str first_word(struct str text)
{
    const char *blank = text.n ? memchr(text.p, ' ', text.n) : NULL;

    return str_first(text, blank ? (size_t)(blank - text.p) : text.n);
}

static struct str last_word(struct str text)
{
    const char *blank = text.n ? memrchr(text.p, ' ', text.n) : NULL;

    return blank ? str_skip(text, (size_t)(blank - text.p) + 1) : text;
}

static struct str without_first(struct str text, size_t n)
{
    return str_skip(text, n < text.n ? n + 1 : n);
}

static struct str without_last(struct str text, size_t n)
{
    return str_first(text, n < text.n ? text.n - n - 1 : 0);
}

struct tally {
    struct str word;
    size_t n;
};

static void vote(struct tally *tallies, struct str word)
{
    struct tally *empty = NULL;

    for (int i = 0; i < CANDIDATES; i++) {
        if (tallies[i].n && str_eq(tallies[i].word, word)) {
            tallies[i].n++;
            return;
        }
        if (!tallies[i].n)
            empty = &tallies[i];
    }
    if (empty) {
        *empty = (struct tally){word, 1};
        return;
    }
    for (int i = 0; i < CANDIDATES; i++)
        tallies[i].n--;
}

/* The word that most rows go on with; n 0: they are at their ends. */
static struct tally commonest(const struct common *common, struct str (*word_of)(struct str))
{
    struct tally tallies[CANDIDATES] = {0}, best = {{"", 0}, 0};

    for (size_t i = 0; i < common->n; i++)
        if (common->rows[i].is_in && common->rows[i].left.n)
            vote(tallies, word_of(common->rows[i].left));
    for (int k = 0; k < CANDIDATES; k++) {
        size_t n = 0;

        if (!tallies[k].n)
            continue;
        for (size_t i = 0; i < common->n; i++)
            n += common->rows[i].is_in && common->rows[i].left.n &&
                 str_eq(word_of(common->rows[i].left), tallies[k].word);
        if (n > best.n || (n == best.n && str_compare(tallies[k].word, best.word) < 0))
            best = (struct tally){tallies[k].word, n};
    }
    return best;
}

struct side {
    struct str (*word_of)(struct str text);
    struct str (*without)(struct str text, size_t n);
};

/* Takes the words off that half of the rows share; what was found is `n_bytes` at that side of the
 * rows that are still in. */
static size_t take(struct common *common, const struct side *side, size_t *n_bytes)
{
    size_t n_words = 0;

    *n_bytes = 0;
    for (size_t i = 0; i < common->n; i++)
        common->rows[i].is_in = true;
    for (;;) {
        struct tally best = commonest(common, side->word_of);

        if (best.n == 0 || best.n < common->n - best.n)
            return n_words;
        for (size_t i = 0; i < common->n; i++) {
            struct kept *row = &common->rows[i];

            row->is_in = row->is_in && row->left.n && str_eq(side->word_of(row->left), best.word);
            if (row->is_in)
                row->left = side->without(row->left, best.word.n);
        }
        *n_bytes += best.word.n + (n_words++ > 0);
    }
}

static char *copy(const char *p, size_t n)
{
    char *text = malloc(n + 1);

    if (text && n)
        memcpy(text, p, n);
    if (text)
        text[n] = '\0';
    return text;
}

static const struct kept *first_in(const struct common *common)
{
    for (size_t i = 0; i < common->n; i++)
        if (common->rows[i].is_in)
            return &common->rows[i];
    return NULL;
}

static void find_prefix(struct common *common, struct common_text *out)
{
    static const struct side FRONT = {first_word, without_first};
    size_t n_bytes;

    for (size_t i = 0; i < common->n; i++)
        common->rows[i].left = str_from(common->rows[i].text, common->rows[i].n);
    out->n_prefix = take(common, &FRONT, &n_bytes);
    const struct kept *row = out->n_prefix ? first_in(common) : NULL;
    out->prefix = copy(row ? row->text : "", row ? n_bytes : 0);
}

static void find_suffix(struct common *common, struct common_text *out)
{
    static const struct side BACK = {last_word, without_last};
    size_t n_bytes;

    for (size_t i = 0; i < common->n; i++)
        if (!common->rows[i].is_in) /* does not begin with the prefix: it stays as it is */
            common->rows[i].left = str_from(common->rows[i].text, common->rows[i].n);
    out->n_suffix = take(common, &BACK, &n_bytes);
    const struct kept *row = out->n_suffix ? first_in(common) : NULL;
    out->suffix = copy(row ? row->text + row->n - n_bytes : "", row ? n_bytes : 0);
}

int common_find(struct common *common, struct common_text *out, struct error *err)
{
    *out = (struct common_text){.is_sample = common->n < common->n_seen};
    find_prefix(common, out);
    find_suffix(common, out);
    drop_rows(common);
    if (out->prefix && out->suffix)
        return OK;
    common_text_free(out);
    return error_set(err, E_NOMEM, "no memory for the rows' common text");
}

struct str common_strip(const struct common_text *common, struct str normal)
{
    const size_t n_prefix = common->prefix ? strlen(common->prefix) : 0;
    const size_t n_suffix = common->suffix ? strlen(common->suffix) : 0;

    if (n_prefix && str_starts(normal, common->prefix) &&
        (normal.n == n_prefix || normal.p[n_prefix] == ' '))
        normal = without_first(normal, n_prefix);
    if (n_suffix && str_ends(normal, common->suffix) &&
        (normal.n == n_suffix || normal.p[normal.n - n_suffix - 1] == ' '))
        normal = without_last(normal, n_suffix);
    return normal;
}
