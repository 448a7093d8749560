/* Patterns of tokenizer files, compiled and matched. See pattern.h; what is rewritten before stands
 * in pattern_rewrite.c. */
#include "core/text/tokenizer/pattern.h"

#include <stdlib.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/unicode.h"

/* A match that needs more has run away. The library has a limit of the same kind. */
#define MATCH_LIMIT     10000000
#define HEAP_LIMIT_KIB  65536
#define JIT_STACK_BYTES ((size_t)1 << 20)
#define PATTERN_BYTES   ((size_t)1 << 16)
/* PCRE2's limit counts each beginning anew, so that a pattern may still take n² steps. How long it
 * is at it is looked at after so many beginnings without a match, and after so many matches. */
#define WINDOW      ((size_t)1024)
#define MATCHES     256u
#define CPU_SECONDS 20

struct pattern {
    pcre2_code *code; /* NULL: `text` is looked for as it stands */
    char *text;
    size_t n_text;
};

struct pattern_scratch {
    pcre2_match_data *data;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    unsigned n_matches;
    int64_t since; /* processor time at the beginning of the text; NONE: not looked at */
};

static int not_compiled(struct error *err, struct str source, int code, size_t offset)
{
    PCRE2_UCHAR message[160];

    if (code == PCRE2_ERROR_HEAP_FAILED || code == PCRE2_ERROR_NOMEMORY)
        return error_set(err, E_NOMEM, "no memory for a pattern");
    if (pcre2_get_error_message(code, message, sizeof message) < 0)
        message[0] = '\0';
    return error_set(err, E_PARSE, "pattern %.*s, at byte %zu: %s", (int)unicode_cut(source, 200).n,
                     source.p, offset, (const char *)message);
}

static int compile(struct pattern *pattern, struct str rewritten, struct str source,
                   struct error *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    int code;
    PCRE2_SIZE offset;

    if (!context)
        return error_set(err, E_NOMEM, "no memory for a pattern");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pattern->code = pcre2_compile((PCRE2_SPTR)(rewritten.n ? rewritten.p : ""), rewritten.n,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
                                      PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
                                  &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!pattern->code)
        return not_compiled(err, source, code, offset);
    /* Without it (no JIT on this machine, no executable memory) the interpreter does the same. */
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return OK;
}

int pattern_compile(struct pattern **out, struct str source, bool is_text, struct error *err)
{
    if (source.n > PATTERN_BYTES)
        return error_set(err, E_LIMIT, "pattern of %zu bytes, expected at most %zu", source.n,
                         PATTERN_BYTES);
    if (!unicode_is_valid(source))
        return error_set(err, E_PARSE, "pattern that is no valid UTF-8");

    struct pattern *pattern = calloc(1, sizeof *pattern);
    struct buf rewritten;
    int rc = OK;

    if (!pattern)
        return error_set(err, E_NOMEM, "no memory for a pattern");
    buf_init(&rewritten, PATTERN_BYTES * 256);
    if (is_text) {
        buf_str(&rewritten, source);
        pattern->n_text = source.n;
        pattern->text = buf_steal(&rewritten);
        if (!pattern->text)
            rc = error_set(err, E_NOMEM, "no memory for a pattern");
    } else {
        rc = pattern_rewrite(&rewritten, source, err);
        if (rc == OK)
            rc = compile(pattern, buf_view(&rewritten), source, err);
    }
    buf_free(&rewritten);
    if (rc == OK)
        *out = pattern;
    else
        pattern_close(pattern);
    return rc;
}

void pattern_close(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    free(pattern->text);
    free(pattern);
}

int pattern_scratch_open(struct pattern_scratch **out, struct error *err)
{
    struct pattern_scratch *scratch = calloc(1, sizeof *scratch);

    if (!scratch)
        return error_set(err, E_NOMEM, "no memory for matching patterns");
    scratch->data = pcre2_match_data_create(1, NULL);
    scratch->limits = pcre2_match_context_create(NULL);
    scratch->stack = pcre2_jit_stack_create(1 << 15, JIT_STACK_BYTES, NULL);
    if (!scratch->data || !scratch->limits) {
        pattern_scratch_close(scratch);
        return error_set(err, E_NOMEM, "no memory for matching patterns");
    }
    scratch->since = NONE;
    pcre2_set_match_limit(scratch->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(scratch->limits, HEAP_LIMIT_KIB);
    if (scratch->stack)
        pcre2_jit_stack_assign(scratch->limits, NULL, scratch->stack);
    *out = scratch;
    return OK;
}

void pattern_scratch_close(struct pattern_scratch *scratch)
{
    if (!scratch)
        return;
    pcre2_match_data_free(scratch->data);
    pcre2_match_context_free(scratch->limits);
    pcre2_jit_stack_free(scratch->stack);
    free(scratch);
}

struct pattern_search pattern_begin(const struct pattern *pattern, struct pattern_scratch *scratch,
                                    struct str text, struct buf *room)
{
    return (struct pattern_search){.pattern = pattern,
                                   .scratch = scratch,
                                   .text = pattern->code ? pattern_subject(text, room) : text,
                                   .last = SIZE_MAX};
}

static int find_text(const struct pattern_search *search, size_t *begin, size_t *end)
{
    const struct pattern *pattern = search->pattern;
    size_t n = search->text.n - search->from;
    const char *p = search->text.p + search->from;
    const char *found = pattern->n_text == 0   ? p
                        : pattern->n_text == 1 ? memchr(p, pattern->text[0], n)
                                               : memmem(p, n, pattern->text, pattern->n_text);

    if (!found)
        return 0;
    *begin = (size_t)(found - search->text.p);
    *end = *begin + pattern->n_text;
    return 1;
}

static int gave_up(int rc, struct error *err)
{
    if (rc == PCRE2_ERROR_NOMEMORY)
        return error_set(err, E_NOMEM, "no memory for matching a pattern");
    return error_set(err, E_LIMIT,
                     "a pattern of the tokenizer does not come to an end on this text");
}

static int64_t processor_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec;
}

void pattern_scratch_begin(struct pattern_scratch *scratch)
{
    scratch->since = NONE;
}

static bool takes_too_long(struct pattern_scratch *scratch)
{
    int64_t now = processor_time();

    scratch->n_matches = 0;
    if (scratch->since == NONE)
        scratch->since = now;
    return now - scratch->since > CPU_SECONDS;
}

/* A match that begins in `from` … `limit`. */
static int match_within(const struct pattern_search *search, size_t from, size_t limit)
{
    const struct pattern_scratch *scratch = search->scratch;
    const pcre2_code *code = search->pattern->code;
    PCRE2_SPTR text = (PCRE2_SPTR)(search->text.n ? search->text.p : "");

    pcre2_set_offset_limit(scratch->limits, limit);

    int rc = pcre2_match(code, text, search->text.n, from, PCRE2_NO_UTF_CHECK, scratch->data,
                         scratch->limits);

    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter keeps its stack in the heap */
        rc = pcre2_match(code, text, search->text.n, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         scratch->data, scratch->limits);
    return rc;
}

/* The next place after a window, where a character begins. */
static size_t after_window(struct str text, size_t from)
{
    size_t at = from + WINDOW;

    while (at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80)
        at++;
    return at;
}

static int find(const struct pattern_search *search, size_t *begin, size_t *end, struct error *err)
{
    struct pattern_scratch *scratch = search->scratch;
    int rc = PCRE2_ERROR_NOMATCH;

    if (!search->pattern->code)
        return find_text(search, begin, end);
    if (++scratch->n_matches >= MATCHES && takes_too_long(scratch))
        return gave_up(PCRE2_ERROR_MATCHLIMIT, err);
    for (size_t from = search->from; from <= search->text.n && rc == PCRE2_ERROR_NOMATCH;) {
        size_t next = after_window(search->text, from);

        rc = match_within(search, from, next - 1);
        if (rc == PCRE2_ERROR_NOMATCH && next <= search->text.n && takes_too_long(scratch))
            rc = PCRE2_ERROR_MATCHLIMIT;
        from = next;
    }
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return gave_up(rc, err);

    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scratch->data);

    *begin = ends[0];
    *end = ends[1];
    if (*begin < search->from || *end < *begin || *end > search->text.n) /* \K in a lookahead */
        return error_set(err, E_UNSUPPORTED, "a pattern that matches backwards");
    return 1;
}

int pattern_next(struct pattern_search *search, size_t *begin, size_t *end, struct error *err)
{
    if (!search->text.p)
        return error_set(err, E_NOMEM, "no memory for matching a pattern");
    while (search->from <= search->text.n) {
        int rc = find(search, begin, end, err);
        int32_t c;

        if (rc != 1)
            return rc;
        if (*begin != *end || *end != search->last) {
            search->from = search->last = *end;
            return 1;
        }
        if (search->from == search->text.n)
            return 0;
        search->from += unicode_next(str_skip(search->text, search->from), &c);
    }
    return 0;
}
