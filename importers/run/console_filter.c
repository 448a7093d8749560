/* Which of many texts occur in a line, at a fraction of a look per byte.
 *
 * If every text is at least L bytes long, a line that holds one holds four bytes of it at an
 * offset that is a multiple of L - 3, so only there is looked: four bytes are hashed into a small
 * bitmap, and a hit is compared in full. No vector instructions, so the same everywhere. */
#include <stdlib.h>
#include <string.h>

#include "importers/run/console_patterns.h"

#define GRAM_BYTES  4
#define MIN_LITERAL 7 /* shorter texts would mean a look at every second byte */
#define MAX_STRIDE  6
#define HASH_BITS   15
#define HASH_SIZE   (1u << HASH_BITS)

struct gram {
    uint32_t value;
    uint16_t pattern;
    uint16_t offset; /* of the four bytes in the text */
    struct str literal;
};

struct console_filter {
    uint64_t bitmap[HASH_SIZE / 64];
    uint16_t first[HASH_SIZE]; /* index + 1 into grams, sorted by hash; 0: none */
    struct gram *grams;
    size_t n_grams;
    size_t stride;
    struct console_set by_first_byte[256];
};

static uint32_t load_gram(const char *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint32_t hash_gram(uint32_t value)
{
    return (value * 0x9E3779B1u) >> (32 - HASH_BITS);
}

static void set_add(struct console_set *set, size_t i)
{
    set->bits[i / 64] |= UINT64_C(1) << (i % 64);
    set->any = true;
}

bool console_set_has(const struct console_set *set, size_t i)
{
    return (set->bits[i / 64] >> (i % 64) & 1) != 0;
}

/* How often such a byte stands in logs, roughly: letters and blanks are everywhere. */
static int commonness(unsigned char c)
{
    if (strchr(" etaoinsr", c) != NULL && c != '\0') {
        return 4;
    }
    if (c >= 'a' && c <= 'z') {
        return 2;
    }
    return c >= '0' && c <= '9' ? 3 : 1;
}

/* Where in the text the rarest `n` bytes begin. */
static size_t rarest_window(struct str literal, size_t n)
{
    size_t best = 0;
    int best_cost = 1 << 30;
    for (size_t at = 0; at + n <= literal.n; at++) {
        int cost = 0;
        for (size_t i = 0; i < n; i++) {
            cost += commonness((unsigned char)literal.p[at + i]);
        }
        if (cost < best_cost) {
            best_cost = cost;
            best = at;
        }
    }
    return best;
}

/* '^' and a first character that is fixed or one of a plain class; all bytes otherwise. */
static void add_start(struct console_filter *filter, struct str regex, size_t pattern)
{
    static const char special[] = "\\(.^$|*+?";
    bool wanted[256];
    memset(wanted, 1, sizeof wanted);
    if (regex.n > 1 && regex.p[0] == '^' && regex.p[1] == '[' && regex.n > 2 && regex.p[2] != '^') {
        memset(wanted, 0, sizeof wanted);
        for (size_t i = 2; i < regex.n && regex.p[i] != ']'; i++) {
            wanted[(unsigned char)regex.p[i]] = true;
        }
    } else if (regex.n > 1 && regex.p[0] == '^' && strchr(special, regex.p[1]) == NULL) {
        memset(wanted, 0, sizeof wanted);
        wanted[(unsigned char)regex.p[1]] = true;
    }
    for (size_t c = 0; c < 256; c++) {
        if (wanted[c]) {
            set_add(&filter->by_first_byte[c], pattern);
        }
    }
}

static int compare_grams(const void *a, const void *b)
{
    uint32_t x = hash_gram(((const struct gram *)a)->value);
    uint32_t y = hash_gram(((const struct gram *)b)->value);
    return x < y ? -1 : x > y;
}

static void add_grams(struct console_filter *filter, const struct console_pattern *pattern,
                      size_t index)
{
    for (size_t k = 0; k < pattern->n_literals; k++) {
        struct str literal = pattern->literals[k];
        size_t window = rarest_window(literal, filter->stride + GRAM_BYTES - 1);
        for (size_t i = 0; i < filter->stride; i++) {
            filter->grams[filter->n_grams++] =
                (struct gram){.value = load_gram(literal.p + window + i),
                              .pattern = (uint16_t)index,
                              .offset = (uint16_t)(window + i),
                              .literal = literal};
        }
    }
}

static void index_grams(struct console_filter *filter)
{
    qsort(filter->grams, filter->n_grams, sizeof filter->grams[0], compare_grams);
    for (size_t i = filter->n_grams; i-- > 0;) {
        uint32_t hash = hash_gram(filter->grams[i].value);
        filter->bitmap[hash / 64] |= UINT64_C(1) << (hash % 64);
        filter->first[hash] = (uint16_t)(i + 1);
    }
}

/* Patterns without a text of MIN_LITERAL bytes are tried at line starts. */
static size_t choose_stride(struct console_pattern *patterns, size_t n, size_t *n_literals)
{
    size_t stride = MAX_STRIDE;
    for (size_t i = 0; i < n; i++) {
        struct console_pattern *pattern = &patterns[i];
        pattern->at_start = pattern->n_literals == 0;
        for (size_t k = 0; k < pattern->n_literals; k++) {
            pattern->at_start |= pattern->literals[k].n < MIN_LITERAL;
        }
        if (pattern->at_start || pattern->use == CONSOLE_SKIP) {
            continue;
        }
        for (size_t k = 0; k < pattern->n_literals; k++) {
            size_t most = pattern->literals[k].n - GRAM_BYTES + 1;
            stride = most < stride ? most : stride;
        }
        *n_literals += pattern->n_literals;
    }
    return stride;
}

int console_filter_open(struct console_filter **out, struct console_pattern *patterns, size_t n,
                        struct error *err)
{
    struct console_filter *filter = calloc(1, sizeof *filter);
    if (filter == NULL) {
        return error_set(err, E_NOMEM, "no memory for the filter of console patterns");
    }
    size_t n_literals = 0;
    filter->stride = choose_stride(patterns, n, &n_literals);
    filter->grams = calloc(n_literals * filter->stride + 1, sizeof filter->grams[0]);
    if (filter->grams == NULL) {
        free(filter);
        return error_set(err, E_NOMEM, "no memory for the filter of console patterns");
    }
    for (size_t i = 0; i < n; i++) {
        if (patterns[i].use == CONSOLE_SKIP) {
            continue;
        }
        if (patterns[i].at_start) {
            add_start(filter, patterns[i].regex_text, i);
        } else {
            add_grams(filter, &patterns[i], i);
        }
    }
    index_grams(filter);
    *out = filter;
    return OK;
}

void console_filter_close(struct console_filter *filter)
{
    if (filter != NULL) {
        free(filter->grams);
        free(filter);
    }
}

static void compare_at(const struct console_filter *filter, struct str line, size_t at,
                       uint32_t value, struct console_set *set)
{
    uint32_t hash = hash_gram(value);
    for (size_t i = filter->first[hash] - 1u; i < filter->n_grams; i++) {
        const struct gram *gram = &filter->grams[i];
        if (hash_gram(gram->value) != hash) {
            return;
        }
        if (gram->value != value || at < gram->offset) {
            continue;
        }
        size_t begin = at - gram->offset;
        if (line.n - begin >= gram->literal.n &&
            memcmp(line.p + begin, gram->literal.p, gram->literal.n) == 0) {
            set_add(set, gram->pattern);
        }
    }
}

void console_filter_line(const struct console_filter *filter, struct str line,
                         struct console_set *set)
{
    if (line.n < GRAM_BYTES) {
        return;
    }
    size_t last = line.n - GRAM_BYTES;
    for (size_t at = 0; at <= last; at += filter->stride) {
        uint32_t value = load_gram(line.p + at);
        uint32_t hash = hash_gram(value);
        if ((filter->bitmap[hash / 64] >> (hash % 64) & 1) != 0) {
            compare_at(filter, line, at, value, set);
        }
    }
}

void console_filter_start(const struct console_filter *filter, struct str line,
                          struct console_set *set)
{
    if (line.n == 0) {
        return;
    }
    const struct console_set *more = &filter->by_first_byte[(unsigned char)line.p[0]];
    if (!more->any) {
        return;
    }
    for (size_t i = 0; i < CONSOLE_MAX_PATTERNS / 64; i++) {
        set->bits[i] |= more->bits[i];
    }
    set->any = true;
}
