/* PCRE2 with limits. See regex.h. */
#include "core/base/regex.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* A pattern that needs more than this on one line is no pattern of ours. */
#define MATCH_LIMIT    1000000
#define DEPTH_LIMIT    250000
#define HEAP_LIMIT_KIB 20000

struct regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

static int not_compiled(struct error *err, int code, size_t offset)
{
    PCRE2_UCHAR message[160];

    if (code == PCRE2_ERROR_HEAP_FAILED || code == PCRE2_ERROR_NOMEMORY)
        return error_set(err, E_NOMEM, "no memory for a pattern");
    if (pcre2_get_error_message(code, message, sizeof message) < 0)
        message[0] = '\0';
    return error_set(err, E_PARSE, "pattern, at byte %zu: %s", offset, (const char *)message);
}

int regex_compile(struct regex **out, struct str pattern, struct error *err)
{
    struct regex *regex = calloc(1, sizeof *regex);
    int code;
    PCRE2_SIZE offset;

    if (!regex)
        return error_set(err, E_NOMEM, "no memory for a pattern");
    regex->code = pcre2_compile((PCRE2_SPTR)(pattern.n ? pattern.p : ""), pattern.n,
                                PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                &code, &offset, NULL);
    if (!regex->code) {
        regex_close(regex);
        return not_compiled(err, code, offset);
    }
    regex->limits = pcre2_match_context_create(NULL);
    if (!regex->limits) {
        regex_close(regex);
        return error_set(err, E_NOMEM, "no memory for a pattern");
    }
    pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(regex->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(regex->limits, HEAP_LIMIT_KIB);
    /* Without it (no JIT on this machine, no executable memory) the interpreter does the same. */
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    *out = regex;
    return OK;
}

void regex_close(struct regex *regex)
{
    if (!regex)
        return;
    pcre2_match_context_free(regex->limits);
    pcre2_code_free(regex->code);
    free(regex);
}

static void take_groups(pcre2_match_data *data, int n_groups, struct str text,
                        struct regex_match *match)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);

    *match =
        (struct regex_match){.n_groups = n_groups < REGEX_MAX_GROUPS ? n_groups : REGEX_MAX_GROUPS};
    for (int i = 0; i < match->n_groups; i++) {
        PCRE2_SIZE from = ends[2 * i], to = ends[2 * i + 1];

        if (from != PCRE2_UNSET && from <= to && to <= text.n)
            match->group[i] = str_from(text.p + from, to - from);
    }
}

int regex_search(const struct regex *regex, struct str text, struct regex_match *match)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    const char *p = text.n ? text.p : "";
    int rc;

    if (!data)
        return E_NOMEM;
    rc = pcre2_match(regex->code, (PCRE2_SPTR)p, text.n, 0, 0, data, regex->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter keeps its stack in the heap */
        rc = pcre2_match(regex->code, (PCRE2_SPTR)p, text.n, 0, PCRE2_NO_JIT, data, regex->limits);
    if (rc > 0) {
        take_groups(data, rc, str_from(p, text.n), match);
        rc = 1;
    } else if (rc == PCRE2_ERROR_NOMATCH) {
        rc = 0;
    } else {
        rc = rc == PCRE2_ERROR_NOMEMORY ? E_NOMEM : E_LIMIT;
    }
    pcre2_match_data_free(data);
    return rc;
}
