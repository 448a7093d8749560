/* The precompiled character map of sentencepiece, as the library reads it: a double array of
 * prefixes, and the texts they are replaced by. The first (shortest) entry that a chunk begins with
 * counts, where sentencepiece itself takes the longest. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/pipeline.h"

struct charsmap {
    uint32_t *units;
    size_t n_units;
    char *texts; /* each ends with a NUL */
    size_t n_texts;
    unsigned char *bytes; /* holds both */
};

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* -1: no base64. */
static ptrdiff_t decode(struct str text, unsigned char *out)
{
    size_t n = 0;
    uint32_t bits = 0;

    if (text.n % 4 != 0)
        return -1;
    while (text.n && text.p[text.n - 1] == '=' && text.n % 4 != 2)
        text.n--;
    for (size_t i = 0; i < text.n; i++) {
        int value = digit(text.p[i]);

        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 == 3)
            out[n++] = (unsigned char)(bits >> 16);
        if (i % 4 == 3)
            out[n++] = (unsigned char)(bits >> 8);
        if (i % 4 == 3)
            out[n++] = (unsigned char)bits;
    }
    if (text.n % 4 == 2) {
        out[n++] = (unsigned char)(bits >> 4);
    } else if (text.n % 4 == 3) {
        out[n++] = (unsigned char)(bits >> 10);
        out[n++] = (unsigned char)(bits >> 2);
    }
    return (ptrdiff_t)n;
}

static uint32_t unit(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int take(struct charsmap *map, size_t n, struct error *err)
{
    uint32_t n_bytes = n >= 4 ? unit(map->bytes) : 0;

    if (n < 4 || n_bytes / 4 > (n - 4) / 4 || n_bytes < 4)
        return error_set(err, E_PARSE, "Precompiled: the character map breaks off");
    map->n_units = n_bytes / 4;
    map->texts = (char *)map->bytes + 4 + map->n_units * 4;
    map->n_texts = n - 4 - map->n_units * 4;
    if (!unicode_is_valid(str_from(map->texts, map->n_texts)))
        return error_set(err, E_PARSE, "Precompiled: texts that are no valid UTF-8");
    map->units = malloc(map->n_units * sizeof *map->units);
    if (!map->units)
        return error_set(err, E_NOMEM, "no memory for a character map");
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = unit(map->bytes + 4 + i * 4);
    return OK;
}

int charsmap_open(struct charsmap **out, struct str base64, struct error *err)
{
    struct charsmap *map = calloc(1, sizeof *map);
    int rc;

    if (!map)
        return error_set(err, E_NOMEM, "no memory for a character map");
    map->bytes = malloc(base64.n / 4 * 3 + 4);
    if (!map->bytes) {
        rc = error_set(err, E_NOMEM, "no memory for a character map");
    } else {
        ptrdiff_t n = decode(base64, map->bytes);

        rc = n < 0 ? error_set(err, E_PARSE, "Precompiled: the character map is no base64")
                   : take(map, (size_t)n, err);
    }
    if (rc == OK)
        *out = map;
    else
        charsmap_close(map);
    return rc;
}

void charsmap_close(struct charsmap *map)
{
    if (!map)
        return;
    free(map->units);
    free(map->bytes);
    free(map);
}

static size_t offset(uint32_t bits)
{
    return (size_t)(bits >> 10) << ((bits & 0x200) >> 6);
}

struct str charsmap_find(const struct charsmap *map, struct str chunk)
{
    size_t node = offset(map->units[0]);

    for (size_t i = 0; i < chunk.n && chunk.p[i]; i++) {
        unsigned char c = (unsigned char)chunk.p[i];

        node ^= c;
        if (node >= map->n_units)
            break;

        uint32_t bits = map->units[node];

        if ((bits & 0x800000FF) != c)
            break;
        node ^= offset(bits);
        if (!(bits >> 8 & 1))
            continue;
        if (node >= map->n_units)
            break;

        size_t at = map->units[node] & 0x7FFFFFFF;

        if (at > map->n_texts ||
            (at < map->n_texts && ((unsigned char)map->texts[at] & 0xC0) == 0x80))
            break;
        return str_from(map->texts + at, strnlen(map->texts + at, map->n_texts - at));
    }
    return str_from(NULL, 0);
}
