/* Masks secrets and, when anonymous, folders, users and hosts. See redact.h. Works by shape: a
 * known prefix of a token, a key word with a value, a password in a URL. */
#include "core/exports/redact.h"

#include <ctype.h>
#include <string.h>

#define MASK "[masked]"

static bool is_token_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '+' ||
           c == '=';
}

/* Prefixes that only tokens have, with the least length of what follows. */
static const struct {
    const char *prefix;
    size_t least;
} TOKENS[] = {
    {"hf_", 16},      {"sk-", 16},     {"ghp_", 16},       {"gho_", 16},       {"ghs_", 16},
    {"github_pat_", 16}, {"glpat-", 12}, {"xoxb-", 12},    {"xoxp-", 12},      {"AKIA", 12},
    {"ASIA", 12},     {"AIza", 20},    {"api_org_", 12},   {"nvapi-", 16},     {"gsk_", 16},
    {"eyJhbGciOi", 16},
};

static size_t run_of_token(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_token_char(text.p[n]))
        n++;
    return n;
}

/* Bytes of a bare token at the start of the text, 0 when there is none. */
static size_t bare_token(struct str text)
{
    for (size_t i = 0; i < sizeof TOKENS / sizeof TOKENS[0]; i++) {
        size_t skip = strlen(TOKENS[i].prefix);

        if (!str_starts(text, TOKENS[i].prefix))
            continue;

        size_t n = run_of_token(str_skip(text, skip));

        if (n >= TOKENS[i].least)
            return skip + n;
    }
    return 0;
}

static bool ends_with_word(struct str before, const char *word)
{
    size_t n = strlen(word);

    return before.n >= n && str_is_ignoring_case(str_skip(before, before.n - n), word);
}

/* `key_end` is just before ':' '=' or a blank: is the word there one whose value is secret? */
static bool is_secret_key(struct str before)
{
    static const char *const words[] = {
        "api_key",  "api-key", "apikey",   "access_key", "secret_key", "secret",     "password",
        "passwd",   "token",   "authorization", "credential", "private_key", "access-token",
        "hub-token", "cookie",
    };

    while (before.n && (before.p[before.n - 1] == '"' || before.p[before.n - 1] == '\''))
        before.n--;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);

        if (!ends_with_word(before, words[i]))
            continue;
        /* pad_token, eos_token, max_token … are words of the field, not secrets */
        if (strcmp(words[i], "token") == 0) {
            struct str head = str_first(before, before.n - n);

            if (!(ends_with_word(head, "hf_") || ends_with_word(head, "hub_") ||
                  ends_with_word(head, "hub-") || ends_with_word(head, "auth_") ||
                  ends_with_word(head, "auth-") || ends_with_word(head, "access_") ||
                  ends_with_word(head, "api_") || ends_with_word(head, "bearer_") ||
                  ends_with_word(head, "secret_") || ends_with_word(head, "refresh_")))
                continue;
        }
        return true;
    }
    return false;
}

/* The value after a secret key: ["'] blanks [:=] or one blank, then the value. Returns the bytes
 * from the separator to the value's start, 0 when there is no value. */
static size_t value_start(struct str text)
{
    size_t i = 0;

    while (i < text.n && (text.p[i] == '"' || text.p[i] == '\''))
        i++;

    size_t at = i;

    while (i < text.n && text.p[i] == ' ')
        i++;
    if (i < text.n && (text.p[i] == ':' || text.p[i] == '='))
        i++;
    else if (i == at)
        return 0;
    while (i < text.n && (text.p[i] == ' ' || text.p[i] == '"' || text.p[i] == '\''))
        i++;
    return i;
}

static size_t secret_value(struct str text)
{
    size_t n = 0;

    if (str_starts(text, "Bearer ") || str_starts(text, "bearer ") || str_starts(text, "Basic "))
        n = (size_t)(strchr(text.p, ' ') - text.p) + 1;
    while (n < text.n && !strchr(" \t\n\r\"',;)}]&", text.p[n]))
        n++;
    return n;
}

static bool is_no_secret(struct str value)
{
    static const char *const plain[] = {"true", "false", "none", "null", "yes", "no", ""};

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (str_is_ignoring_case(value, plain[i]))
            return true;
    return false;
}

/* Bytes of "user:password@" after "://", 0 when there is none. */
static size_t url_password(struct str text)
{
    for (size_t i = 0; i < text.n && !strchr(" \t\n/\"'", text.p[i]); i++)
        if (text.p[i] == '@')
            return i + 1;
    return 0;
}

/* An absolute path keeps its last part; user@host goes whole: both tell who and where. */
static size_t anonymous_part(struct str text, const char **shown)
{
    size_t n = 0, last;

    while (n < text.n && !strchr(" \t\n\"',;:)]}|`", text.p[n]))
        n++;
    for (last = n; last > 0 && text.p[last - 1] != '/'; last--)
        ;
    if (text.p[0] == '/' && last > 1) {
        *shown = "…/";
        return last;
    }

    const char *at = n > 2 && isalnum((unsigned char)text.p[0]) ? memchr(text.p, '@', n) : NULL;

    if (at && at > text.p && isalnum((unsigned char)at[1])) {
        *shown = "[user@host]";
        return n;
    }
    return 0;
}

static bool starts_word(struct str text, size_t i)
{
    return i == 0 || !is_token_char(text.p[i - 1]) || strchr("=/", text.p[i - 1]);
}

/* Masks at position i; returns the bytes used up, 0: nothing there. */
static size_t mask_at(struct buf *out, struct str text, size_t i)
{
    struct str rest = str_skip(text, i);
    size_t n = starts_word(text, i) ? bare_token(rest) : 0;

    if (n) {
        buf_puts(out, MASK);
        return n;
    }
    if (str_starts(rest, "://") && (n = url_password(str_skip(rest, 3))) != 0) {
        buf_puts(out, "://" MASK "@");
        return n + 3;
    }
    if (!strchr(":= \"'", text.p[i]) || !is_secret_key(str_first(text, i)))
        return 0;

    size_t start = value_start(rest);
    size_t length = start ? secret_value(str_skip(rest, start)) : 0;

    if (length < 4 || is_no_secret(str_first(str_skip(rest, start), length)))
        return 0;
    buf_add(out, rest.p, start);
    buf_puts(out, MASK);
    return start + length;
}

void redact_text(struct buf *out, struct str text, const struct redact *redact)
{
    for (size_t i = 0; i < text.n;) {
        const char *shown = NULL;
        size_t n = redact->secrets ? mask_at(out, text, i) : 0;

        if (n == 0 && redact->anonymous && starts_word(text, i) &&
            (n = anonymous_part(str_skip(text, i), &shown)) != 0)
            buf_puts(out, shown);
        if (n == 0) {
            buf_putc(out, text.p[i]);
            n = 1;
        }
        i += n;
    }
}
