/* Runs of 13 words that a test row shares with training rows (CHECKS.md F12: counted to be shown, not
 * tested). Of stripped texts; texts of fewer words have none. See leaks_parts.h. */
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/facts/leaks_parts.h"

enum { MOST_GRAMS = 1 << 23 };

struct text_grams {
    size_t first;
    uint32_t n; /* UINT32_MAX: more than are kept */
};

struct leak_overlap {
    struct id_map grams;
    uint8_t *is_hit; /* by gram; made when the first row is looked at */
    uint32_t *of_texts;
    size_t n_of_texts, of_texts_capacity;
    struct text_grams *texts;
    size_t n_texts, texts_capacity;
};

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the words that rows share");
}

int leak_overlap_open(struct leak_overlap **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? OK : no_memory(err);
}

void leak_overlap_close(struct leak_overlap *overlap)
{
    if (!overlap)
        return;
    id_map_free(&overlap->grams);
    free(overlap->is_hit);
    free(overlap->of_texts);
    free(overlap->texts);
    free(overlap);
}

/* ---- Grams of a text ---- */

struct gram_walk {
    struct str text;
    size_t begins[LEAK_OVERLAP_WORDS], n, at;
};

static bool next_gram(struct gram_walk *walk, uint64_t *hash)
{
    while (walk->at < walk->text.n) {
        const char *p = walk->text.p;
        const char *blank = memchr(p + walk->at, ' ', walk->text.n - walk->at);
        const size_t end = blank ? (size_t)(blank - p) : walk->text.n;

        walk->begins[walk->n++ % LEAK_OVERLAP_WORDS] = walk->at;
        walk->at = end + 1;
        if (walk->n < LEAK_OVERLAP_WORDS)
            continue;
        const size_t from = walk->begins[walk->n % LEAK_OVERLAP_WORDS];
        *hash = hash_bytes(p + from, end - from);
        return true;
    }
    return false;
}

/* ---- Test rows ---- */

static bool has_room(struct leak_overlap *overlap)
{
    if (overlap->n_of_texts == overlap->of_texts_capacity) {
        size_t capacity = overlap->of_texts_capacity ? 2 * overlap->of_texts_capacity : 4096;
        uint32_t *list = realloc(overlap->of_texts, capacity * sizeof *list);

        if (!list)
            return false;
        overlap->of_texts = list;
        overlap->of_texts_capacity = capacity;
    }
    if (overlap->n_texts == overlap->texts_capacity) {
        size_t capacity = overlap->texts_capacity ? 2 * overlap->texts_capacity : 1024;
        struct text_grams *list = realloc(overlap->texts, capacity * sizeof *list);

        if (!list)
            return false;
        overlap->texts = list;
        overlap->texts_capacity = capacity;
    }
    return true;
}

int leak_overlap_add(struct leak_overlap *overlap, struct str stripped, struct error *err)
{
    struct gram_walk walk = {.text = stripped};
    struct text_grams of = {.first = overlap->n_of_texts};
    uint64_t hash;
    int rc = has_room(overlap) ? OK : no_memory(err);

    while (rc == OK && next_gram(&walk, &hash)) {
        uint32_t id;
        bool is_new;

        if (overlap->n_of_texts >= MOST_GRAMS) {
            of.n = UINT32_MAX;
            break;
        }
        rc = has_room(overlap) ? id_map_add(&overlap->grams, hash, &id, &is_new, err)
                               : no_memory(err);
        if (rc == OK) {
            overlap->of_texts[overlap->n_of_texts++] = id;
            of.n++;
        }
    }
    if (rc == OK)
        overlap->texts[overlap->n_texts++] = of;
    return rc;
}

/* ---- Training rows ---- */

int leak_overlap_look(const struct leak_overlap *overlap, struct leak_row *row)
{
    struct gram_walk walk = {.text = row->stripped};
    uint64_t hash;

    row->n_grams = 0;
    while (next_gram(&walk, &hash)) {
        uint32_t id;

        if (!id_map_find(&overlap->grams, hash, &id))
            continue;
        if (row->n_grams == row->grams_capacity) {
            size_t capacity = row->grams_capacity ? 2 * row->grams_capacity : 64;
            uint32_t *grams = realloc(row->grams, capacity * sizeof *grams);

            if (!grams)
                return E_NOMEM;
            row->grams = grams;
            row->grams_capacity = capacity;
        }
        row->grams[row->n_grams++] = id;
    }
    return OK;
}

int leak_overlap_mark(struct leak_overlap *overlap, const struct leak_row *row, struct error *err)
{
    if (row->n_grams && !overlap->is_hit)
        overlap->is_hit = calloc(overlap->grams.n + 1, 1);
    if (row->n_grams && !overlap->is_hit)
        return no_memory(err);
    for (size_t i = 0; i < row->n_grams; i++)
        overlap->is_hit[row->grams[i]] = 1;
    return OK;
}

bool leak_overlap_has(const struct leak_overlap *overlap, uint32_t text, bool *is_shared)
{
    static const struct text_grams NONE_KEPT = {0};
    const struct text_grams *of = text < overlap->n_texts ? &overlap->texts[text] : &NONE_KEPT;

    *is_shared = false;
    if (of->n == 0 || of->n == UINT32_MAX)
        return false;
    for (size_t i = 0; overlap->is_hit && i < of->n && !*is_shared; i++)
        *is_shared = overlap->is_hit[overlap->of_texts[of->first + i]];
    return true;
}
