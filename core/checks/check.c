/* How rules speak: statements are merged into one draft (worst verdict first), evidence and advice
 * add up, and at the end the draft becomes a check_result in the arena. */
#include "core/checks/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/draft.h"

#define EVIDENCE_TEXT_BYTES 400

static void list_add(struct check_ctx *ctx, struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], text) == 0)
            return;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        const char **items =
            arena_grow(ctx->arena, list->items, list->n * sizeof *items, capacity * sizeof *items);
        if (!items)
            return;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = text;
}

/* Formats into the arena; vsnprintf twice, since sentences have no bound worth naming. */
PRINTF_LIKE(2, 0)
static const char *format(struct check_ctx *ctx, const char *fmt, va_list args)
{
    va_list again;

    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = n < 0 ? NULL : arena_alloc(ctx->arena, (size_t)n + 1);
    if (!text)
        return "";
    vsnprintf(text, (size_t)n + 1, fmt, args);
    return text;
}

static void state(struct check_ctx *ctx, enum verdict verdict, enum confidence confidence,
                  const char *branch, const char *sentence)
{
    struct check_draft *draft = ctx->draft;

    if (draft->is_stated && verdict <= draft->verdict)
        return;
    draft->is_stated = true;
    draft->verdict = verdict;
    draft->confidence = confidence;
    draft->sentence = sentence;
    draft->branch = branch ? branch : "";
}

int check_fail(struct check_ctx *ctx, enum confidence confidence, const char *branch,
               const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    state(ctx, VERDICT_FAIL, confidence, branch, format(ctx, fmt, args));
    va_end(args);
    return OK;
}

int check_warn(struct check_ctx *ctx, enum confidence confidence, const char *branch,
               const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    state(ctx, VERDICT_WARN, confidence, branch, format(ctx, fmt, args));
    va_end(args);
    return OK;
}

int check_pass(struct check_ctx *ctx, enum confidence confidence, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    state(ctx, VERDICT_PASS, confidence, NULL, format(ctx, fmt, args));
    va_end(args);
    return OK;
}

int check_unknown(struct check_ctx *ctx, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *missing = format(ctx, fmt, args);
    va_end(args);
    list_add(ctx, &ctx->draft->missing, missing);
    state(ctx, VERDICT_UNKNOWN, CONFIDENCE_NONE, NULL,
          arena_printf(ctx->arena, "missing: %s", missing));
    return OK;
}

int check_skip(struct check_ctx *ctx, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    state(ctx, VERDICT_NOT_APPLICABLE, CONFIDENCE_NONE, NULL, format(ctx, fmt, args));
    va_end(args);
    return OK;
}

void check_info(struct check_ctx *ctx, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    list_add(ctx, &ctx->draft->information, format(ctx, fmt, args));
    va_end(args);
}

void check_fix(struct check_ctx *ctx, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    list_add(ctx, &ctx->draft->fixes, format(ctx, fmt, args));
    va_end(args);
}

enum verdict check_verdict(const struct check_ctx *ctx)
{
    return ctx->draft->is_stated ? ctx->draft->verdict : VERDICT_NOT_APPLICABLE;
}

void check_begins(struct check_ctx *ctx, int64_t step)
{
    struct check_draft *draft = ctx->draft;

    if (!draft->has_from_step || step < draft->from_step)
        draft->from_step = step;
    draft->has_from_step = true;
}

/* ---- Evidence ---- */

static struct evidence *add(struct check_ctx *ctx, const char *kind, const char *text)
{
    struct check_draft *draft = ctx->draft;
    struct evidence *evidence = arena_alloc(ctx->arena, sizeof *evidence);

    if (draft->n_evidence == draft->capacity && evidence) {
        size_t capacity = draft->capacity ? 2 * draft->capacity : 16;
        struct evidence **list = arena_grow(
            ctx->arena, draft->evidence, draft->n_evidence * sizeof *list, capacity * sizeof *list);
        if (list) {
            draft->evidence = list;
            draft->capacity = capacity;
        }
    }
    if (evidence && draft->n_evidence < draft->capacity)
        draft->evidence[draft->n_evidence++] = evidence;
    else
        evidence = &draft->spare;
    *evidence = (struct evidence){.kind = kind,
                                  .line = NONE,
                                  .step = NONE,
                                  .row = NONE,
                                  .token = NONE,
                                  .last_step = NONE,
                                  .value = NAN,
                                  .bound = NAN,
                                  .text = text};
    return evidence;
}

struct evidence *evidence_add(struct check_ctx *ctx, const char *kind, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = format(ctx, fmt, args);
    va_end(args);
    return add(ctx, kind, text);
}

/* At most `limit` bytes, never inside a UTF-8 sequence. */
static const char *cut(struct check_ctx *ctx, const char *text, size_t limit)
{
    size_t n = strlen(text);

    if (n <= limit)
        return arena_strdup(ctx->arena, text);
    n = limit;
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    return arena_printf(ctx->arena, "%.*s…", (int)n, text);
}

struct evidence *evidence_event(struct check_ctx *ctx, const struct event *event)
{
    struct evidence *evidence =
        add(ctx, "log", cut(ctx, event->text ? event->text : "", EVIDENCE_TEXT_BYTES));

    evidence->source_id = event->source_id;
    evidence->line = event->line;
    evidence->step = event->step;
    return evidence;
}

void evidence_setting(struct check_ctx *ctx, const struct setting *setting)
{
    if (!setting)
        return;
    const char *name = setting->raw_name ? setting->raw_name : setting->name;
    const char *value = setting->value ? cut(ctx, setting->value, 200) : "null";
    struct evidence *evidence =
        add(ctx, "setting", arena_printf(ctx->arena, "%s = %s", name ? name : "", value));

    evidence->source_id = setting->source_id;
    evidence->line = setting->line > 0 ? setting->line : NONE;
}

static struct evidence *add_rows(struct check_ctx *ctx, const struct curve *curve, size_t i,
                                 const char *text)
{
    struct evidence *evidence = add(ctx, "rows", text);

    evidence->series = arena_strdup(ctx->arena, curve->name);
    evidence->source_id = curve->source_id;
    if (i >= curve->n)
        return evidence;
    evidence->source_id = curve_source(curve, i);
    evidence->line = curve->line ? curve->line[i] : NONE;
    evidence->step = curve->step ? curve->step[i] : NONE;
    evidence->value = curve->value[i];
    evidence->has_value = true;
    return evidence;
}

struct evidence *evidence_point(struct check_ctx *ctx, const struct curve *curve, size_t i,
                                const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = format(ctx, fmt, args);
    va_end(args);
    return add_rows(ctx, curve, i, text);
}

struct evidence *evidence_range(struct check_ctx *ctx, const struct curve *curve, size_t i,
                                size_t j, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = format(ctx, fmt, args);
    va_end(args);
    struct evidence *evidence = add_rows(ctx, curve, i, text);
    if (j < curve->n && curve->step)
        evidence->last_step = curve->step[j];
    return evidence;
}

struct evidence *evidence_number(struct check_ctx *ctx, double value, double bound, const char *fmt,
                                 ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = format(ctx, fmt, args);
    va_end(args);
    struct evidence *evidence = add(ctx, "number", text);
    evidence->value = value;
    evidence->has_value = true;
    evidence->bound = bound;
    evidence->has_bound = !isnan(bound);
    return evidence;
}

/* ---- The result ---- */

/* Evidence without a position counts as "before the run" (CHECKS.md 1.5). */
static int64_t begins_by_evidence(const struct check_draft *draft)
{
    int64_t step = NONE;

    for (size_t i = 0; i < draft->n_evidence; i++) {
        int64_t at = draft->evidence[i]->step;
        if (at == NONE)
            return NONE;
        if (step == NONE || at < step)
            step = at;
    }
    return step;
}

void draft_finish(const struct check_ctx *ctx, const struct check *check, struct check_result *out)
{
    const struct check_draft *draft = ctx->draft;
    struct evidence *list = arena_array(ctx->arena, draft->n_evidence, sizeof *list);

    for (size_t i = 0; list && i < draft->n_evidence; i++)
        list[i] = *draft->evidence[i];
    *out = (struct check_result){
        .check_id = check->id,
        .check_version = check->version,
        .verdict = draft->verdict,
        .confidence = draft->confidence,
        .finding = draft->sentence,
        .branch = draft->branch ? draft->branch : "",
        .from_step = draft->has_from_step ? draft->from_step : begins_by_evidence(draft),
        .evidence = list,
        .n_evidence = list ? draft->n_evidence : 0,
        .fixes = draft->fixes.items,
        .n_fixes = draft->fixes.n,
        .missing = draft->missing.items,
        .n_missing = draft->missing.n,
        .information = draft->information.items,
        .n_information = draft->information.n,
    };
    /* Advice is for findings only. */
    if (out->verdict < VERDICT_WARN)
        out->n_fixes = 0;
}
