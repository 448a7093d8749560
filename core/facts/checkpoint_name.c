/* Names of checkpoints. See checkpoint_name.h. */
#include "core/facts/checkpoint_name.h"

#include <string.h>

#include "core/base/number.h"
#include "core/model.h"

enum { MAX_DIGITS = 15 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number that `text` begins with; *n its digits, 0: none. */
static int64_t number_at(struct str text, size_t *n)
{
    int64_t value = NONE;

    *n = 0;
    while (*n < text.n && is_digit(text.p[*n]))
        ++*n;
    if (*n == 0 || *n > MAX_DIGITS || !number_parse_int(str_from(text.p, *n), &value))
        *n = 0;
    return *n ? value : NONE;
}

static struct str without_suffix(struct str name)
{
    static const char *const SUFFIXES[] = {".ckpt", ".pth", ".pt", ".nemo", "-ckpt"};

    for (size_t k = 0; k < 2; k++) /* iter-000200-ckpt.pth */
        for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++)
            if (str_ends(name, SUFFIXES[i]))
                name.n -= strlen(SUFFIXES[i]);
    return name;
}

/* "step=" and the number behind it, anywhere between other words. */
static int64_t keyed(struct str name, const char *key)
{
    ptrdiff_t at = str_find(name, key);
    size_t n;

    if (at < 0 || (at > 0 && name.p[at - 1] != '-' && name.p[at - 1] != '_'))
        return NONE;
    struct str rest = str_skip(name, (size_t)at + strlen(key));
    int64_t value = number_at(rest, &n);
    return n == rest.n || strchr("-_.", rest.p[n]) ? value : NONE;
}

static int64_t prefixed(struct str name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (!str_starts(name, *prefixes))
            continue;
        struct str rest = str_skip(name, strlen(*prefixes));
        size_t n;
        int64_t value = number_at(rest, &n);
        if (n && n == rest.n)
            return value;
    }
    return NONE;
}

bool checkpoint_name_read(struct str component, struct checkpoint_name *out)
{
    static const char *const CERTAIN[] = {"checkpoint-", NULL};
    static const char *const STEPS[] = {"checkpoint_",  "ckpt-",       "ckpt_", "step-", "step_",
                                        "global_step_", "global_step", "iter-", "iter_", NULL};
    static const char *const EPOCHS[] = {"epoch_", "epoch-", NULL};
    struct str name = without_suffix(component);

    *out = (struct checkpoint_name){.step = prefixed(component, CERTAIN), .epoch = NONE};
    if (out->step != NONE) {
        out->is_certain = true;
        return true;
    }
    out->step = keyed(name, "step=");
    out->epoch = keyed(name, "epoch=");
    if (out->step == NONE && out->epoch == NONE)
        out->step = prefixed(name, STEPS);
    if (out->step == NONE && out->epoch == NONE)
        out->epoch = prefixed(name, EPOCHS);
    return out->step != NONE || out->epoch != NONE;
}

bool checkpoint_name_find(const char *path, size_t below, size_t *end, struct checkpoint_name *out)
{
    const char *at = path + below;

    while (*at) {
        at += strspn(at, "/");
        size_t n = strcspn(at, "/");

        if (n && checkpoint_name_read(str_from(at, n), out)) {
            *end = (size_t)(at - path) + n;
            return true;
        }
        at += n;
    }
    return false;
}

bool checkpoint_name_is_weights(const char *name)
{
    static const char *const ENDS[] = {".safetensors", ".bin", ".pt",   ".pth",
                                       ".ckpt",        ".distcp", ".nemo", ".index.json"};

    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
        if (str_ends(str_of(name), ENDS[i]))
            return true;
    return false;
}
