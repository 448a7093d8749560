/* Words of the answers that nearly all rows have (CHECKS.md F19): a JSON frame, a fixed opening, a
 * signature. They are learned at once and pull the mean loss down. Three words in a row that stand in
 * 80 % of the rows are constant, and so is each word in such three.
 *
 * SPAN_ROWS rows are looked at, evenly over all: it is a note, and says of how many. Three words that
 * so many rows have stand in one of SPAN_SEEDS rows among them, or the chance is 1 in 10^22. */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/data_parts.h"
#include "core/facts/data_words.h"
#include "core/similar/normal.h"

enum {
    SPAN_ROWS = 2000,
    SPAN_SEEDS = 32,
    SPAN_WORDS = 512,   /* of a row */
    SPAN_GRAM = 3,
    FEWEST_ROWS = 20,
    SLOTS = 1 << 15,    /* twice what the seeds can hold */
    ROW_BYTES = 64 << 10,
    SHOWN_BYTES = 80
};

struct gram {
    uint64_t hash;      /* 0: free */
    uint32_t n_rows, last; /* last: the row that counted it, + 1 */
};

struct span_row {
    size_t row;         /* of the pass */
    uint32_t first, n;  /* among the words */
};

struct spans {
    struct data_pass *pass;
    struct data_reader reader;
    struct arena *arena;        /* of one row's text */
    struct span_row *rows;
    uint64_t *words;            /* hashes, row after row */
    size_t n_rows, n_words;
    struct gram *grams;
};

static bool is_looked_at(const struct data_pass *pass, size_t i)
{
    const struct data_row *row = &pass->rows[i];

    return (row->flags & DATA_ROW_TARGET) && row->n_target >= SPAN_GRAM &&
           !(row->flags & (DATA_ROW_UNREADABLE | DATA_ROW_DEGENERATE)) &&
           !pass->files[row->file].split; /* of facts the text is not here */
}

/* The normal text of a row's answer; valid until the next call. */
static struct str normal_target(struct spans *s, size_t row)
{
    struct error ignored;

    arena_reset(s->arena);
    struct str text = data_read_text(s->pass, &s->reader, row, 1, ROW_BYTES, s->arena);
    s->pass->clean.n = 0;
    data_without_special(text, &s->pass->clean);
    if (normal_text(buf_view(&s->pass->clean), &s->pass->normal, &ignored) != OK)
        return str_of("");
    return buf_view(&s->pass->normal);
}

static void take_row(struct spans *s, size_t row)
{
    struct str rest = normal_target(s, row), word;
    struct span_row *of = &s->rows[s->n_rows++];

    *of = (struct span_row){.row = row, .first = (uint32_t)s->n_words};
    while (of->n < SPAN_WORDS && data_next_word(&rest, &word)) {
        s->words[s->n_words++] = hash_bytes(word.p, word.n);
        of->n++;
    }
}

static void take_rows(struct spans *s)
{
    size_t n = 0, seen = 0;

    for (size_t i = 0; i < s->pass->n; i++)
        n += is_looked_at(s->pass, i);
    size_t most = n < SPAN_ROWS ? n : SPAN_ROWS;
    for (size_t i = 0; i < s->pass->n && s->n_rows < most; i++)
        if (is_looked_at(s->pass, i) && seen++ * most >= s->n_rows * n)
            take_row(s, i);
}

static uint64_t gram_hash(const uint64_t *words)
{
    uint64_t hash = hash_bytes(words, SPAN_GRAM * sizeof *words);

    return hash ? hash : 1;
}

static struct gram *find_gram(const struct spans *s, uint64_t hash, bool adds)
{
    size_t at = hash % SLOTS;

    while (s->grams[at].hash && s->grams[at].hash != hash)
        at = (at + 1) % SLOTS;
    if (!s->grams[at].hash && !adds)
        return NULL;
    s->grams[at].hash = hash;
    return &s->grams[at];
}

static void count_grams(struct spans *s)
{
    size_t stride = s->n_rows > SPAN_SEEDS ? s->n_rows / SPAN_SEEDS : 1;

    for (size_t i = 0, n = 0; i < s->n_rows && n < SPAN_SEEDS; i += stride, n++)
        for (uint32_t k = 0; k + SPAN_GRAM <= s->rows[i].n; k++)
            (void)find_gram(s, gram_hash(&s->words[s->rows[i].first + k]), true);
    for (size_t i = 0; i < s->n_rows; i++)
        for (uint32_t k = 0; k + SPAN_GRAM <= s->rows[i].n; k++) {
            struct gram *gram = find_gram(s, gram_hash(&s->words[s->rows[i].first + k]), false);

            if (!gram || gram->last == i + 1)
                continue;
            gram->last = (uint32_t)i + 1;
            gram->n_rows++;
        }
}

static bool is_constant(const struct spans *s, const uint64_t *words)
{
    const struct gram *gram = find_gram(s, gram_hash(words), false);

    return gram && 5 * (size_t)gram->n_rows >= 4 * s->n_rows;
}

/* The first row's longest span, as words `from` to `to` of it. */
struct longest {
    size_t row;
    uint32_t from, to;
};

static uint32_t cover_row(const struct spans *s, size_t i, struct longest *longest)
{
    const struct span_row *row = &s->rows[i];
    uint32_t n = 0, end = 0, from = 0;

    for (uint32_t k = 0; k + SPAN_GRAM <= row->n; k++) {
        if (!is_constant(s, &s->words[row->first + k]))
            continue;
        from = k > end || end == 0 ? k : from;
        n += k + SPAN_GRAM - (k > end ? k : end);
        end = k + SPAN_GRAM;
        if (longest && end - from > longest->to - longest->from)
            *longest = (struct longest){row->row, from, end};
    }
    return n;
}

static const char *shown(struct spans *s, const struct longest *longest)
{
    struct str rest = normal_target(s, longest->row), word;
    struct buf text;

    buf_init(&text, ROW_BYTES);
    for (uint32_t k = 0; k < longest->to && data_next_word(&rest, &word); k++) {
        if (k < longest->from)
            continue;
        if (text.n + word.n > SHOWN_BYTES) {
            buf_puts(&text, " ..");
            break;
        }
        buf_puts(&text, text.n ? " " : "");
        buf_str(&text, word);
    }
    const char *kept = arena_strndup(s->pass->arena, text.p ? text.p : "", text.n);
    buf_free(&text);
    return kept;
}

static void find_spans(struct spans *s)
{
    struct data_spans *out = &s->pass->out->spans;
    struct longest longest = {0};

    take_rows(s);
    if (s->n_rows < FEWEST_ROWS)
        return;
    count_grams(s);
    out->n_rows = (int64_t)s->n_rows;
    out->n_words = (int64_t)s->n_words;
    for (size_t i = 0; i < s->n_rows; i++)
        out->n_constant += cover_row(s, i, longest.to ? NULL : &longest);
    if (longest.to)
        out->longest = shown(s, &longest);
}

int data_find_spans(struct data_pass *pass, struct error *err)
{
    struct spans s = {.pass = pass, .arena = arena_open((size_t)16 << 20)};

    s.rows = malloc(SPAN_ROWS * sizeof *s.rows);
    s.words = malloc((size_t)SPAN_ROWS * SPAN_WORDS * sizeof *s.words);
    s.grams = calloc(SLOTS, sizeof *s.grams);
    bool has_memory = s.arena && s.rows && s.words && s.grams;
    if (has_memory)
        find_spans(&s);
    data_reader_close(&s.reader);
    arena_close(s.arena);
    free(s.rows);
    free(s.words);
    free(s.grams);
    return has_memory ? OK : error_set(err, E_NOMEM, "no memory for the words of the answers");
}
