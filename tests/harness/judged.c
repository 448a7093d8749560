/* What tests of checks ask of a run and its result. */
#include "tests/harness/judged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

void judged_expect(struct fake_run *run, const struct check *check, enum verdict verdict,
                   struct check_result *out)
{
    fake_check(run, check, out);
    if (out->verdict != verdict)
        fail_msg("%s: %s (%s), expected %s", check->id, verdict_name(out->verdict),
                 out->finding ? out->finding : "", verdict_name(verdict));
}

const struct evidence *judged_at_step(const struct check_result *result, int64_t step)
{
    for (size_t i = 0; i < result->n_evidence; i++)
        if (result->evidence[i].step == step)
            return &result->evidence[i];
    return NULL;
}

const struct evidence *judged_at_line(const struct check_result *result, int64_t line)
{
    for (size_t i = 0; i < result->n_evidence; i++)
        if (result->evidence[i].line == line)
            return &result->evidence[i];
    return NULL;
}

const struct evidence *judged_with_text(const struct check_result *result, const char *text)
{
    for (size_t i = 0; i < result->n_evidence; i++)
        if (result->evidence[i].text && strstr(result->evidence[i].text, text))
            return &result->evidence[i];
    return NULL;
}

static bool mentions(const char *const *texts, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(texts[i], text))
            return true;
    return false;
}

bool judged_informs(const struct check_result *result, const char *text)
{
    return mentions(result->information, result->n_information, text);
}

bool judged_offers(const struct check_result *result, const char *text)
{
    return mentions(result->fixes, result->n_fixes, text);
}
