/* Names and values of secrets. See secrets.h. */
#include "core/facts/secrets.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Anywhere in the last part of a key. */
static const char *const SECRET_WORDS[] = {
    "api_key",    "apikey",        "authorization", "access_key", "private_key",
    "secret_key", "client_secret", "password",      "passwd",     "credential",
};
/* The whole last part. Plain `..._token` would catch bos_token. */
static const char *const SECRET_NAMES[] = {
    "token",
    "hf_token",
    "hub_token",
    "push_to_hub_token",
    "use_auth_token",
    "auth_token",
    "access_token",
    "api_token",
    "wandb_token",
    "github_token",
    "secret",
    "secret_token",
    "read_token",
    "write_token",
    "refresh_token",
    "bearer",
    "huggingface_token",
    "huggingface_hub_token",
    "bearer_token",
};
/* How the values of known services begin; a long run of letters and digits has to follow. */
static const char *const SECRET_VALUES[] = {"hf_", "sk-", "ghp_", "github_pat_", "Bearer ", "AKIA"};

static void last_part(const char *key, char *out, size_t n)
{
    const char *dot = strrchr(key, '.');
    const char *part = dot ? dot + 1 : key;
    size_t i = 0;

    while (*part == '-')
        part++;
    for (; part[i] && i + 1 < n; i++)
        out[i] = part[i] == '-' ? '_' : (char)tolower((unsigned char)part[i]);
    out[i] = '\0';
}

bool secret_name(const char *key)
{
    char part[128];

    last_part(key, part, sizeof part);
    for (size_t i = 0; i < sizeof SECRET_WORDS / sizeof *SECRET_WORDS; i++)
        if (strstr(part, SECRET_WORDS[i]))
            return true;
    for (size_t i = 0; i < sizeof SECRET_NAMES / sizeof *SECRET_NAMES; i++)
        if (strcmp(part, SECRET_NAMES[i]) == 0)
            return true;
    return false;
}

bool secret_value(const char *value)
{
    for (size_t i = 0; i < sizeof SECRET_VALUES / sizeof *SECRET_VALUES; i++) {
        size_t n = strlen(SECRET_VALUES[i]);

        if (strncmp(value, SECRET_VALUES[i], n) == 0) {
            size_t run = strspn(value + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789_-.");
            return run >= 16 && value[n + run] == '\0';
        }
    }
    return false;
}

/* A list of objects is stored whole, so what is in it is looked at too. */
bool secret_in_tree(const struct json *value)
{
    char key[128];

    for (const struct json *child = value->child; child; child = child->next) {
        size_t n = child->key.n < sizeof key - 1 ? child->key.n : sizeof key - 1;

        if (n)
            memcpy(key, child->key.p, n);
        key[n] = '\0';
        if ((n && child->type == JSON_STRING && secret_name(key)) || secret_in_tree(child))
            return true;
    }
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* "key: value", "key = value", "--key value": the name before the value. */
static bool is_assigned(struct str rest)
{
    while (rest.n && strchr(" \t\"'", rest.p[0]))
        rest = str_skip(rest, 1);
    return rest.n > 0 && (rest.p[0] == ':' || rest.p[0] == '=');
}

bool secret_in_text(struct str text)
{
    char word[256];

    for (size_t i = 0; i < text.n;) {
        size_t n = 0;

        while (i + n < text.n && is_word(text.p[i + n]))
            n++;
        if (n == 0) {
            i++;
            continue;
        }
        snprintf(word, sizeof word, "%.*s", (int)(n < 250 ? n : 250), text.p + i);
        if (secret_value(word) ||
            (secret_name(word) && (strncmp(word, "--", 2) == 0 || is_assigned(str_skip(text, i + n)))))
            return true;
        i += n;
    }
    return str_find(text, "Bearer ") >= 0;
}
