/* Results of items. See item_results.h. */
#include "importers/outputs/item_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/number.h"

enum { NAME_BYTES = 320, FIRST_ROOM = 1024 };

/* ---- Values ---- */

static bool is_word(struct str text, const char *const *words)
{
    for (; *words; words++)
        if (str_is_ignoring_case(text, *words))
            return true;
    return false;
}

static double value_of_text(struct str text)
{
    static const char *const YES[] = {"true", "yes", "correct", NULL},
                      *const NO[] = {"false", "no", "incorrect", "wrong", NULL};
    double number;

    text = str_trim(text);
    if (str_is(text, "C") || is_word(text, YES))
        return 1.0;
    if (str_is(text, "P"))
        return 0.5;
    if (str_is(text, "I") || str_is(text, "N") || is_word(text, NO))
        return 0.0;
    return number_parse(text, &number) && isfinite(number) ? number : NAN;
}

double result_value(const struct json *value)
{
    if (json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
        return value->type == JSON_TRUE;
    if (json_is(value, JSON_NUMBER))
        return isfinite(value->number) ? value->number : NAN;
    return json_is(value, JSON_STRING) ? value_of_text(value->text) : NAN;
}

bool result_is_missing(const struct json *value)
{
    static const char *const NOTHING[] = {"", "nan", "none", "null", "n/a", "na", NULL};

    if (json_is(value, JSON_NULL))
        return true;
    if (json_is(value, JSON_NUMBER))
        return !isfinite(value->number);
    return json_is(value, JSON_STRING) && is_word(str_trim(value->text), NOTHING);
}

bool result_counts(const char *metric)
{
    return strncmp(metric, "acc", 3) == 0 || strncmp(metric, "exact_match", 11) == 0 ||
           strcmp(metric, "em") == 0 || strcmp(metric, "mc1") == 0 || strncmp(metric, "pass@1", 6) == 0 ||
           strcmp(metric, "pass_at_1") == 0 || str_ends(str_of(metric), "_acc");
}

bool result_less_is_better(const char *metric)
{
    static const char *const WORDS[] = {"perplexity", "bits_per_byte", "brier", "loss", "wer", "cer",
                                        "ter", "_diff", "error_rate"};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strlen(WORDS[i]) > 3 ? strstr(metric, WORDS[i]) != NULL : strcmp(metric, WORDS[i]) == 0)
            return true;
    return false;
}

/* Up to n bytes, no character cut in two. */
static size_t whole_characters(struct str text, size_t n)
{
    while (n > 0 && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return n;
}

bool result_text(const struct json *value, char *out, size_t size)
{
    enum { TAIL_BYTES = 18 };   /* "~", a hash, the end */

    out[0] = '\0';
    if ((!json_is(value, JSON_STRING) && !json_is(value, JSON_NUMBER)) || value->text.n == 0)
        return false;
    struct str text = value->text;
    size_t n = strnlen(text.p, text.n);
    if (n == text.n && n < size) {
        memcpy(out, text.p, n);
        out[n] = '\0';
        return true;
    }
    n = whole_characters(text, n < size - TAIL_BYTES ? n : size - TAIL_BYTES);
    memcpy(out, text.p, n);
    snprintf(out + n, size - n, "~%016llx", (unsigned long long)hash_bytes(text.p, text.n));
    return true;
}

/* ---- Names: a table of hashes, half of it free ---- */

struct slot {
    uint64_t key;               /* 0: free */
    uint32_t n;
};

struct item_names {
    struct slot *slots;
    size_t room, n;             /* room: a power of two */
    int64_t n_items, n_repeats, n_missing;
    char first[64];             /* the first name that was repeated */
};

struct item_names *item_names_open(void)
{
    struct item_names *names = calloc(1, sizeof *names);

    if (!names)
        return NULL;
    names->room = FIRST_ROOM;
    names->slots = calloc(names->room, sizeof *names->slots);
    if (names->slots)
        return names;
    free(names);
    return NULL;
}

void item_names_close(struct item_names *names)
{
    if (!names)
        return;
    free(names->slots);
    free(names);
}

static struct slot *slot_of(struct slot *slots, size_t room, uint64_t key)
{
    size_t at = (size_t)key & (room - 1);

    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static bool grow(struct item_names *names)
{
    size_t room = 2 * names->room;
    struct slot *slots = calloc(room, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->slots[i].key)
            *slot_of(slots, room, names->slots[i].key) = names->slots[i];
    free(names->slots);
    names->slots = slots;
    names->room = room;
    return true;
}

/* How often the name stands in that suite, this time counted; 0 without memory. */
static uint32_t count(struct item_names *names, int64_t suite, const char *item)
{
    uint64_t key = hash_more(hash_bytes(item, strlen(item)), &suite, sizeof suite);

    key = key ? key : 1;
    if (2 * (names->n + 1) > names->room && !grow(names))
        return 0;
    struct slot *slot = slot_of(names->slots, names->room, key);
    names->n += slot->key == 0;
    slot->key = key;
    return ++slot->n;
}

int item_names_put(struct item_names *names, struct sink *sink, int64_t suite,
                   const struct eval_item *item, struct error *err)
{
    struct eval_item own = *item;
    char name[NAME_BYTES];

    if (names->n_items >= MAX_RESULT_ITEMS)
        return error_set(err, E_LIMIT, "more than %d results of items in one file: the rest is not read",
                         MAX_RESULT_ITEMS);
    uint32_t n = count(names, suite, item->item);
    if (n == 0)
        return error_set(err, E_NOMEM, "no memory for the names of items");
    if (n > 1) {
        if (names->n_repeats++ == 0)
            snprintf(names->first, sizeof names->first, "%s", item->item);
        snprintf(name, sizeof name, "%.*s#%u", NAME_BYTES - 16, item->item, n);
        own.item = name;
        own.cluster = item->cluster ? item->cluster : item->item;
    }
    names->n_items++;
    names->n_missing += isnan(item->score);
    return sink_eval_item(sink, suite, &own, err);
}

int64_t item_names_repeats(const struct item_names *names)
{
    return names->n_repeats;
}

int64_t item_names_missing(const struct item_names *names)
{
    return names->n_missing;
}

int item_names_note(const struct item_names *names, struct sink *sink, struct error *err)
{
    int rc = OK;

    if (names->n_repeats > 0)
        rc = sink_note(sink, NOTE_INFO, NONE, NONE, err,
                       "repeats of an item, which count as one group with it: %lld (first of %s)",
                       (long long)names->n_repeats, names->first);
    if (rc == OK && names->n_missing > 0)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err,
                       "items without a result (NaN, null), left out of every comparison: %lld",
                       (long long)names->n_missing);
    return rc;
}
