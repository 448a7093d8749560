/* See rank_name.h. */
#include "core/facts/rank_name.h"

#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/base/str.h"

enum { MAX_DIGITS = 5 }; /* of ranks; more is something else */

static size_t digits_at(const char *text, size_t n)
{
    size_t digits = 0;

    while (digits < n && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return digits <= MAX_DIGITS ? digits : 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "rank" as a word of its own ("lora_rank" is none of a process), then a number. */
static bool find_word(const char *path, size_t from, size_t n, struct rank_name *out)
{
    static const char WORD[] = "rank";

    for (size_t i = n; i-- > 0;) {
        const char *text = path + from;

        if (i + 4 > n || strncasecmp(text + i, WORD, 4) != 0 || (i > 0 && is_letter(text[i - 1])) ||
            (i >= 5 && strncasecmp(text + i - 5, "lora", 4) == 0))
            continue;
        size_t at = i + 4;
        at += at < n && strchr("_-.=", text[at]) ? 1 : 0;
        size_t digits = digits_at(text + at, n - at);
        if (digits == 0 || !number_parse_int(str_from(text + at, digits), &out->rank))
            continue;
        out->at = from + at;
        out->n = digits;
        return true;
    }
    return false;
}

/* torchrun --log-dir: attempt_0/1/stdout.log. */
static bool is_elastic(const char *path, size_t before, size_t from, size_t n, struct rank_name *out)
{
    static const char ATTEMPT[] = "attempt_";

    if (digits_at(path + from, n) != n || strncmp(path + before, ATTEMPT, sizeof ATTEMPT - 1) != 0 ||
        !number_parse_int(str_from(path + from, n), &out->rank))
        return false;
    out->at = from;
    out->n = n;
    return true;
}

bool rank_name_find(const char *path, size_t below, struct rank_name *out)
{
    size_t before = below, at = below;
    bool found = false;

    while (path[at]) {
        at += strspn(path + at, "/");
        size_t n = strcspn(path + at, "/");
        struct rank_name now;

        if (n && (find_word(path, at, n, &now) || is_elastic(path, before, at, n, &now))) {
            *out = now;
            found = true;
        }
        before = at;
        at += n;
    }
    return found;
}

bool rank_names_are_beside(const char *a, const char *b)
{
    struct rank_name in_a, in_b;

    if (!rank_name_find(a, 0, &in_a) || !rank_name_find(b, 0, &in_b) || in_a.rank == in_b.rank ||
        in_a.at != in_b.at || strncmp(a, b, in_a.at) != 0)
        return false;
    const char *rest_a = a + in_a.at + in_a.n, *rest_b = b + in_b.at + in_b.n;
    return strchr(rest_a, '/') || strchr(rest_b, '/') || strcmp(rest_a, rest_b) == 0 ||
           strstr(a, "tfevents"); /* whose names hold a time and a process too */
}
