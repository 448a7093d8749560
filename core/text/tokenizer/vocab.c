/* Reading a vocabulary and looking tokens up. See vocab.h. */
#include "core/text/tokenizer/vocab.h"

#include <stdlib.h>

#include "core/text/tokenizer/raw_json.h"

#define MOST_TOKENS   (UINT32_C(1) << 26)
#define LONGEST_PROBE 4096      /* a natural vocabulary needs some tens */

struct reading {
    struct vocab vocab;
    struct raw_json raw;
    char *room;                 /* next free byte of vocab.bytes */
    size_t capacity;            /* of entries */
    bool sorted;
    double *scores;
};

static struct str bytes_of(const struct vocab *vocab, const struct vocab_entry *entry)
{
    return str_from(vocab->bytes + entry->at, entry->n);
}

/* The slot that holds the token, or the free one where it belongs; NULL when the probe is too long. */
static struct vocab_slot *slot_of(const struct vocab *vocab, struct str token, uint32_t *tag)
{
    uint64_t hash = piece_hash(token.p, token.n), mask = vocab->n_slots - 1, at = hash & mask;

    *tag = (uint32_t)(hash >> 32);
    for (unsigned i = 0; i < LONGEST_PROBE; i++, at = (at + 1) & mask) {
        struct vocab_slot *slot = &vocab->slots[at];

        if (!slot->entry)
            return slot;
        if (slot->tag == *tag &&
            str_eq(bytes_of(vocab, &vocab->entries[slot->entry - 1]), token))
            return slot;
    }
    return NULL;
}

int64_t vocab_id(const struct vocab *vocab, struct str token)
{
    uint32_t tag;
    const struct vocab_slot *slot = vocab->n_slots ? slot_of(vocab, token, &tag) : NULL;

    return slot && slot->entry ? (int64_t)vocab->entries[slot->entry - 1].id : NONE;
}

struct str vocab_token(const struct vocab *vocab, uint32_t id)
{
    uint64_t low = 0, high = vocab->n_entries;

    if (id < high && vocab->entries[id].id == id && (id + 1 == high || vocab->entries[id + 1].id > id))
        return bytes_of(vocab, &vocab->entries[id]);
    while (low < high) {                /* the last one whose id is not above */
        uint64_t middle = low + (high - low) / 2;

        if (vocab->entries[middle].id <= id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || vocab->entries[low - 1].id != id)
        return str_from(NULL, 0);
    return bytes_of(vocab, &vocab->entries[low - 1]);
}

uint32_t vocab_size(const struct vocab *vocab)
{
    return vocab->n_entries ? vocab->entries[vocab->n_entries - 1].id + 1 : 0;
}

void vocab_free(struct vocab *vocab)
{
    free(vocab->bytes);
    free(vocab->entries);
    free(vocab->slots);
    *vocab = (struct vocab){0};
}

/* ---- building ---- */

static int add_entry(struct reading *reading, struct str token, uint32_t id)
{
    struct vocab *vocab = &reading->vocab;

    if (vocab->n_entries == reading->capacity) {
        if (vocab->n_entries >= MOST_TOKENS)
            return error_set(reading->raw.err, E_LIMIT, "vocabulary of more than %u tokens", MOST_TOKENS);

        size_t capacity = reading->capacity ? reading->capacity * 2 : 1024;
        struct vocab_entry *entries = realloc(vocab->entries, capacity * sizeof *entries);

        if (!entries)
            return error_set(reading->raw.err, E_NOMEM, "a vocabulary of %zu tokens", capacity);
        vocab->entries = entries;
        if (reading->scores) {
            double *scores = realloc(reading->scores, capacity * sizeof *scores);

            if (!scores)
                return error_set(reading->raw.err, E_NOMEM, "a vocabulary of %zu tokens", capacity);
            reading->scores = scores;
        }
        reading->capacity = capacity;
    }
    if (vocab->n_entries && vocab->entries[vocab->n_entries - 1].id >= id)
        reading->sorted = false;
    vocab->entries[vocab->n_entries++] =
        (struct vocab_entry){id, (uint32_t)(token.p - vocab->bytes), (uint32_t)token.n};
    return OK;
}

/* The string, with its bytes in the vocabulary's. */
static int read_token(struct reading *reading, struct str *out)
{
    char *first = reading->room;
    int rc = raw_string(&reading->raw, &reading->room, out);

    if (rc != OK || out->p == first)
        return rc;
    memcpy(first, out->p, out->n);
    reading->room = first + out->n;
    out->p = first;
    return OK;
}

static int read_pairs(struct reading *reading)
{
    int rc = raw_take(&reading->raw, '{');
    bool more = rc == OK && raw_peek(&reading->raw) != '}';

    if (rc == OK && !more)
        return raw_take(&reading->raw, '}');
    while (rc == OK && more) {
        struct str token;
        uint32_t id = 0;

        rc = read_token(reading, &token);
        if (rc == OK)
            rc = raw_take(&reading->raw, ':');
        if (rc == OK)
            rc = raw_id(&reading->raw, &id);
        if (rc == OK && id == UINT32_MAX)
            rc = error_set(reading->raw.err, E_LIMIT, "token id %u in the vocabulary", id);
        if (rc == OK)
            rc = add_entry(reading, token, id);
        if (rc == OK)
            rc = raw_next(&reading->raw, '}', &more);
    }
    return rc;
}

static int read_scored(struct reading *reading)
{
    int rc = raw_take(&reading->raw, '[');
    bool more = rc == OK && raw_peek(&reading->raw) != ']';

    if (rc == OK && !more)
        return raw_take(&reading->raw, ']');
    while (rc == OK && more) {
        struct str token;
        double score = 0;

        rc = raw_take(&reading->raw, '[');
        if (rc == OK)
            rc = read_token(reading, &token);
        if (rc == OK)
            rc = raw_take(&reading->raw, ',');
        if (rc == OK)
            rc = raw_number(&reading->raw, &score);
        if (rc == OK)
            rc = raw_take(&reading->raw, ']');
        if (rc == OK)
            rc = add_entry(reading, token, (uint32_t)reading->vocab.n_entries);
        if (rc != OK)
            break;
        reading->scores[reading->vocab.n_entries - 1] = score;
        rc = raw_next(&reading->raw, ']', &more);
    }
    return rc;
}

static int by_id_and_place(const void *a, const void *b)
{
    const struct vocab_entry *left = a, *right = b;

    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

static int make_slots(struct vocab *vocab, struct error *err)
{
    vocab->n_slots = 16;
    while (vocab->n_slots < vocab->n_entries * 2)
        vocab->n_slots *= 2;
    vocab->slots = calloc(vocab->n_slots, sizeof *vocab->slots);
    return vocab->slots ? OK
                        : error_set(err, E_NOMEM, "the table of %llu tokens",
                                    (unsigned long long)vocab->n_entries);
}

/* Enters all entries. Of equal tokens, where `merge`, the first entry gets the last id and the
 * others go; else the last one is found. *n_gone counts. */
static int fill_slots(struct vocab *vocab, bool merge, uint64_t *n_gone, struct error *err)
{
    uint64_t n = 0;

    *n_gone = 0;
    for (uint64_t i = 0; i < vocab->n_entries; i++) {
        struct vocab_entry entry = vocab->entries[i];
        uint32_t tag;
        struct vocab_slot *slot = slot_of(vocab, bytes_of(vocab, &entry), &tag);

        if (!slot)
            return error_set(err, E_LIMIT, "vocabulary whose tokens collide in the hash table");
        if (slot->entry && merge) {
            vocab->entries[slot->entry - 1].id = entry.id;
            vocab->entries[slot->entry - 1].at = entry.at;
            (*n_gone)++;
            continue;
        }
        vocab->entries[n++] = entry;
        *slot = (struct vocab_slot){tag, (uint32_t)n};
    }
    vocab->n_entries = n;
    return OK;
}

static int finish(struct reading *reading, bool merge)
{
    struct vocab *vocab = &reading->vocab;
    uint64_t n_gone;
    int rc = make_slots(vocab, reading->raw.err);

    vocab->n_bytes = (uint64_t)(reading->room - vocab->bytes);
    if (rc == OK)
        rc = fill_slots(vocab, merge, &n_gone, reading->raw.err);
    if (rc != OK || (reading->sorted && n_gone == 0))
        return rc;
    qsort(vocab->entries, vocab->n_entries, sizeof *vocab->entries, by_id_and_place);
    memset(vocab->slots, 0, vocab->n_slots * sizeof *vocab->slots);
    return fill_slots(vocab, false, &n_gone, reading->raw.err);
}

static int start(struct reading *reading, struct str json, struct error *err)
{
    *reading = (struct reading){
        .raw = {json.p, json.p, json.p + json.n, "model.vocab", err}, .sorted = true};
    if (json.n > UINT32_MAX)
        return error_set(err, E_LIMIT, "vocabulary of %zu bytes", json.n);
    reading->vocab.bytes = malloc(json.n + 1);
    reading->room = reading->vocab.bytes;
    return reading->room ? OK : error_set(err, E_NOMEM, "a vocabulary of %zu bytes", json.n);
}

int vocab_read(struct vocab *out, struct str json, struct error *err)
{
    struct reading reading;
    int rc = start(&reading, json, err);

    if (rc == OK)
        rc = read_pairs(&reading);
    if (rc == OK)
        rc = raw_end(&reading.raw);
    if (rc == OK)
        rc = finish(&reading, true);
    if (rc == OK)
        *out = reading.vocab;
    else
        vocab_free(&reading.vocab);
    return rc;
}

int vocab_read_scored(struct vocab *out, double **scores, struct str json, struct error *err)
{
    struct reading reading;
    int rc = start(&reading, json, err);

    if (rc == OK) {
        reading.scores = malloc(sizeof *reading.scores);
        rc = reading.scores ? OK : error_set(err, E_NOMEM, "the scores of a vocabulary");
    }
    if (rc == OK)
        rc = read_scored(&reading);
    if (rc == OK)
        rc = raw_end(&reading.raw);
    if (rc == OK)
        rc = finish(&reading, false);
    if (rc == OK) {
        *out = reading.vocab;
        *scores = reading.scores;
    } else {
        free(reading.scores);
        vocab_free(&reading.vocab);
    }
    return rc;
}
