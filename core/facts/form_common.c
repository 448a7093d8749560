/* Candidates part by part, then counts over all rows. See form_common.h. */
#include "core/facts/form_common.h"

#include <stdlib.h>

enum { TALLIES = 3, FIRST_NODES = 256, MOST_NODES = 8000000 };

/* A beginning (end) of texts: the words from the root to here. */
struct node {
    size_t word, n_bytes;         /* in the trie's texts */
    uint32_t first_child, sibling; /* 0: none; the root is 0 */
    int64_t n_rows;
};

struct trie {
    struct node *nodes;
    size_t n, capacity;
    struct buf texts;
    bool is_suffix;
};

enum phase { GATHER, COUNT_PREFIX, COUNT_SUFFIX, FOUND };

struct form_common {
    enum phase phase;
    struct trie prefix, suffix;
    struct buf part;       /* texts of its rows, one after the other */
    size_t *ends;          /* of each */
    size_t n, capacity, part_bytes;
    struct str *left;      /* of the rows while words are taken off */
    size_t n_parts;
    int64_t n_rows;        /* of all parts */
    struct common_text front; /* from COUNT_SUFFIX on: its prefix */
};

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the rows' common text");
}

int form_common_open(struct form_common **out, size_t part_bytes, struct error *err)
{
    struct form_common *common = calloc(1, sizeof *common);

    if (!common)
        return no_memory(err);
    common->part_bytes = part_bytes ? part_bytes : FORM_PART_BYTES;
    buf_init(&common->part, SIZE_MAX / 2);
    buf_init(&common->prefix.texts, SIZE_MAX / 2);
    buf_init(&common->suffix.texts, SIZE_MAX / 2);
    common->suffix.is_suffix = true;
    *out = common;
    return OK;
}

void form_common_close(struct form_common *common)
{
    if (!common)
        return;
    buf_free(&common->part);
    buf_free(&common->prefix.texts);
    buf_free(&common->suffix.texts);
    free(common->prefix.nodes);
    free(common->suffix.nodes);
    free(common->ends);
    free(common->left);
    common_text_free(&common->front);
    free(common);
}

/* ---- Words ---- */

static struct str next_word(const struct trie *trie, struct str text)
{
    const char *blank;

    if (!text.n)
        return text;
    blank = trie->is_suffix ? memrchr(text.p, ' ', text.n) : memchr(text.p, ' ', text.n);
    if (trie->is_suffix)
        return blank ? str_skip(text, (size_t)(blank - text.p) + 1) : text;
    return str_first(text, blank ? (size_t)(blank - text.p) : text.n);
}

static struct str without(const struct trie *trie, struct str text, size_t n)
{
    size_t taken = n < text.n ? n + 1 : n;

    return trie->is_suffix ? str_first(text, text.n - taken) : str_skip(text, taken);
}

/* ---- Tries ---- */

static struct str word_of(const struct trie *trie, uint32_t node)
{
    return str_from(trie->texts.p + trie->nodes[node].word, trie->nodes[node].n_bytes);
}

static uint32_t child_of(const struct trie *trie, uint32_t node, struct str word)
{
    uint32_t child = trie->n ? trie->nodes[node].first_child : 0;

    while (child && !str_eq(word_of(trie, child), word))
        child = trie->nodes[child].sibling;
    return child;
}

static int add_node(struct trie *trie, struct node node, struct error *err)
{
    if (trie->n == trie->capacity) {
        size_t capacity = trie->capacity ? trie->capacity * 2 : FIRST_NODES;
        struct node *nodes = realloc(trie->nodes, capacity * sizeof *nodes);

        if (!nodes)
            return no_memory(err);
        trie->nodes = nodes;
        trie->capacity = capacity;
    }
    if (trie->n > MOST_NODES)
        return error_set(err, E_LIMIT, "parts of the training rows share more than %d words, so what "
                                       "all of them share cannot be counted", MOST_NODES);
    trie->nodes[trie->n++] = node;
    return OK;
}

/* The child for the word, made when it is not there. */
static int grow(struct trie *trie, uint32_t node, struct str word, uint32_t *out, struct error *err)
{
    int rc = trie->n ? OK : add_node(trie, (struct node){0}, err);
    uint32_t child = rc == OK ? child_of(trie, node, word) : 0;

    if (rc == OK && !child) {
        child = (uint32_t)trie->n;
        rc = add_node(trie, (struct node){.word = trie->texts.n, .n_bytes = word.n,
                                          .sibling = trie->nodes[node].first_child}, err);
        buf_str(&trie->texts, word);
        if (rc == OK && trie->texts.failed)
            rc = no_memory(err);
        if (rc == OK)
            trie->nodes[node].first_child = child;
    }
    *out = child;
    return rc;
}

/* The row on its way through the trie. */
static void count(struct trie *trie, struct str text)
{
    for (uint32_t node = 0; text.n;) {
        struct str word = next_word(trie, text);

        node = child_of(trie, node, word);
        if (!node)
            return;
        trie->nodes[node].n_rows++;
        text = without(trie, text, word.n);
    }
}

/* The child that most rows went to, when they are half of all; 0: none. */
static uint32_t main_child(const struct trie *trie, uint32_t node, int64_t n_rows)
{
    uint32_t best = 0;

    for (uint32_t at = trie->n ? trie->nodes[node].first_child : 0; at; at = trie->nodes[at].sibling) {
        int64_t n = trie->nodes[at].n_rows;

        if (n < n_rows - n)
            continue;
        if (!best || n > trie->nodes[best].n_rows ||
            (n == trie->nodes[best].n_rows &&
             str_compare(word_of(trie, at), word_of(trie, best)) < 0))
            best = at;
    }
    return best;
}

/* ---- A part ---- */

struct tally {
    struct str word;
    size_t n;
};

/* Of what n / 4 share, nothing is missing among three tallies. */
static void vote(struct tally *tallies, struct str word)
{
    struct tally *empty = NULL;

    for (int i = 0; i < TALLIES; i++) {
        if (tallies[i].n && str_eq(tallies[i].word, word)) {
            tallies[i].n++;
            return;
        }
        if (!tallies[i].n)
            empty = &tallies[i];
    }
    if (empty)
        *empty = (struct tally){word, 1};
    for (int i = 0; !empty && i < TALLIES; i++)
        tallies[i].n--;
}

/* The words that half of the part's rows go on with: two at most. */
static size_t main_words(const struct trie *trie, const struct str *left, size_t n, size_t n_part,
                         struct str out[2])
{
    struct tally tallies[TALLIES] = {0};
    size_t n_out = 0;

    if (n < n_part - n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (left[i].n)
            vote(tallies, next_word(trie, left[i]));
    for (int k = 0; k < TALLIES && n_out < 2; k++) {
        struct str word = tallies[k].word;
        size_t n_rows = 0;

        if (!tallies[k].n || memchr(word.p, '\0', word.n))
            continue;
        for (size_t i = 0; i < n; i++)
            n_rows += left[i].n && str_eq(next_word(trie, left[i]), word);
        if (n_rows >= n_part - n_rows)
            out[n_out++] = word;
    }
    return n_out;
}

/* Those rows that go on with the word, without it. */
static size_t keep(const struct trie *trie, const struct str *from, size_t n, struct str word,
                   struct str *to)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++)
        if (from[i].n && str_eq(next_word(trie, from[i]), word))
            to[n_kept++] = without(trie, from[i], word.n);
    return n_kept;
}

/* Two words only when each has exactly half: below them there is one way each. */
static int gather(struct trie *trie, struct str *left, size_t n, size_t n_part, uint32_t node,
                  struct error *err)
{
    struct str words[2];
    size_t n_words;
    int rc = OK;

    while (rc == OK && (n_words = main_words(trie, left, n, n_part, words)) > 0) {
        uint32_t child;
        struct str *other = n_words > 1 ? calloc(n, sizeof *other) : NULL;

        if (n_words > 1 && !other)
            return no_memory(err);
        if (other)
            rc = grow(trie, node, words[1], &child, err);
        if (other && rc == OK)
            rc = gather(trie, other, keep(trie, left, n, words[1], other), n_part, child, err);
        free(other);
        if (rc == OK)
            rc = grow(trie, node, words[0], &node, err);
        n = keep(trie, left, n, words[0], left);
    }
    return rc;
}

static struct str text_of(const struct form_common *common, size_t i)
{
    size_t begin = i ? common->ends[i - 1] : 0;

    return str_from(common->part.p + begin, common->ends[i] - begin);
}

static void reset_left(struct form_common *common)
{
    for (size_t i = 0; i < common->n; i++)
        common->left[i] = text_of(common, i);
}

static int end_part(struct form_common *common, struct error *err)
{
    int rc = OK;

    if (!common->n)
        return OK;
    reset_left(common);
    rc = gather(&common->prefix, common->left, common->n, common->n, 0, err);
    reset_left(common);
    if (rc == OK) /* with the prefix still on: what is shared without it is shared with it, too */
        rc = gather(&common->suffix, common->left, common->n, common->n, 0, err);
    common->n_rows += (int64_t)common->n;
    common->n_parts++;
    return rc;
}

static int make_room(struct form_common *common, struct error *err)
{
    size_t capacity = common->capacity ? common->capacity * 2 : 1024;

    if (common->n < common->capacity)
        return OK;
    size_t *ends = realloc(common->ends, capacity * sizeof *ends);
    if (ends)
        common->ends = ends;
    struct str *left = ends ? realloc(common->left, capacity * sizeof *left) : NULL;
    if (!left)
        return no_memory(err);
    common->left = left;
    common->capacity = capacity;
    return OK;
}

static int keep_text(struct form_common *common, struct str normal, struct error *err)
{
    int rc = OK;

    if (common->n && common->part.n + normal.n > common->part_bytes) {
        rc = end_part(common, err);
        common->n = 0;
        buf_clear(&common->part);
    }
    if (rc == OK)
        rc = make_room(common, err);
    if (rc != OK)
        return rc;
    buf_str(&common->part, normal);
    if (common->part.failed)
        return no_memory(err);
    common->ends[common->n++] = common->part.n;
    return OK;
}

int form_common_add(struct form_common *common, struct str normal, struct error *err)
{
    if (common->phase == GATHER)
        return keep_text(common, normal, err);
    if (common->phase == COUNT_PREFIX)
        count(&common->prefix, normal);
    else if (common->phase == COUNT_SUFFIX)
        count(&common->suffix, common_strip(&common->front, normal));
    return OK;
}

/* ---- Passes ---- */

/* Words from the root on, joined by blanks; of a suffix the root is behind them all. */
static int read_way(const struct trie *trie, int64_t n_rows, char **out, size_t *n_words,
                    struct error *err)
{
    struct buf text;
    uint32_t node = 0;

    *n_words = 0;
    buf_init(&text, SIZE_MAX / 2);
    while ((node = main_child(trie, node, n_rows))) {
        struct str word = word_of(trie, node);

        if ((*n_words)++)
            buf_putc(&text, ' ');
        for (size_t i = 0; i < word.n; i++) /* a suffix is turned around as a whole below */
            buf_putc(&text, trie->is_suffix ? word.p[word.n - 1 - i] : word.p[i]);
    }
    for (size_t i = 0; trie->is_suffix && i < text.n / 2; i++) {
        char c = text.p[i];

        text.p[i] = text.p[text.n - 1 - i];
        text.p[text.n - 1 - i] = c;
    }
    *out = text.n ? buf_steal(&text) : calloc(1, 1);
    buf_free(&text);
    return *out ? OK : no_memory(err);
}

static int find_front(struct form_common *common, struct error *err)
{
    common->phase = COUNT_SUFFIX;
    return read_way(&common->prefix, common->n_rows, &common->front.prefix, &common->front.n_prefix,
                    err);
}

static int count_one_part(struct form_common *common, struct error *err)
{
    for (size_t i = 0; i < common->n; i++)
        count(&common->prefix, text_of(common, i));
    int rc = find_front(common, err);
    for (size_t i = 0; rc == OK && i < common->n; i++)
        count(&common->suffix, common_strip(&common->front, text_of(common, i)));
    common->phase = FOUND;
    return rc;
}

static void drop_part(struct form_common *common)
{
    buf_free(&common->part);
    free(common->ends);
    free(common->left);
    common->ends = NULL;
    common->left = NULL;
    common->n = common->capacity = 0;
}

static int end_gathering(struct form_common *common, struct error *err)
{
    int rc = end_part(common, err);

    common->phase = COUNT_PREFIX;
    if (rc == OK && common->n_parts <= 1)
        rc = count_one_part(common, err);
    drop_part(common);
    return rc;
}

/* A count that has nothing to count needs no pass. */
int form_common_end_pass(struct form_common *common, bool *needs_more, struct error *err)
{
    int rc = OK;
    bool is_counted = common->phase != GATHER;

    if (common->phase == GATHER)
        rc = end_gathering(common, err);
    if (rc == OK && common->phase == COUNT_PREFIX && (is_counted || common->prefix.n == 0)) {
        rc = find_front(common, err);
        is_counted = false;
    }
    if (common->phase == COUNT_SUFFIX && (is_counted || common->suffix.n == 0))
        common->phase = FOUND;
    *needs_more = rc == OK && common->phase != FOUND;
    return rc;
}

int form_common_find(const struct form_common *common, struct common_text *out, struct error *err)
{
    *out = (struct common_text){0};
    int rc = read_way(&common->prefix, common->n_rows, &out->prefix, &out->n_prefix, err);
    if (rc == OK)
        rc = read_way(&common->suffix, common->n_rows, &out->suffix, &out->n_suffix, err);
    if (rc != OK)
        common_text_free(out);
    return rc;
}
