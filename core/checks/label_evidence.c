/* See label_evidence.h. No verdict is made here but UNKNOWN. */
#include "core/checks/label_evidence.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/registry.h"

bool labels_apply(const struct run_facts *facts, const char **reason)
{
    switch (facts->run.kind) {
    case KIND_GRPO:
    case KIND_PPO:
        *reason = "reinforcement learning: no label mask";
        return false;
    case KIND_DPO:
    case KIND_REWARD_MODEL:
        *reason = "preference pairs: the trainer makes its own labels from prompt and answers";
        return false;
    case KIND_CLASSIFICATION:
        *reason = "classification: one label a row, no text is generated";
        return false;
    case KIND_UNKNOWN:
    case KIND_SEQ2SEQ:
    case KIND_PRETRAINING:
    case KIND_SFT:
        break;
    }
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

/* ---- Audits ---- */

static bool has_labels(const struct audit *audit)
{
    for (int64_t i = 0; i < audit->n_rows; i++)
        if (audit->rows[i].n_trained >= 0 &&
            !(audit->rows[i].flags & (AUDIT_REFUSED | AUDIT_UNREADABLE)))
            return true;
    return false;
}

/* Of that basis, the one with most rows. */
static const struct audit *best_of(const struct run_facts *facts, const char *split,
                                   enum audit_basis basis, bool with_labels)
{
    const struct audit *best = NULL;
    size_t n;
    const struct audit *const *audits = facts_audits(facts, &n);

    for (size_t i = 0; i < n; i++) {
        const struct audit *audit = audits[i];

        if (audit->basis == basis && audit->rows && audit->dataset && audit->dataset->split &&
            strcmp(audit->dataset->split, split) == 0 && labels_seen(audit) > 0 &&
            (!with_labels || has_labels(audit)) && (!best || audit->n_rows > best->n_rows))
            best = audit;
    }
    return best;
}

const struct audit *labels_of(const struct run_facts *facts, const char *split)
{
    const struct audit *recorded = best_of(facts, split, AUDIT_RECORDED, true);

    return recorded ? recorded : best_of(facts, split, AUDIT_SIMULATED, true);
}

const struct audit *ids_of(const struct run_facts *facts, const char *split)
{
    const struct audit *recorded = best_of(facts, split, AUDIT_RECORDED, false);

    return recorded ? recorded : best_of(facts, split, AUDIT_SIMULATED, false);
}

const struct audit *labels_beside(const struct run_facts *facts, const struct audit *recorded,
                                  unsigned flag)
{
    if (!recorded || recorded->basis != AUDIT_RECORDED || labels_are_all(recorded))
        return NULL;
    const struct audit *other = best_of(facts, recorded->dataset->split, AUDIT_SIMULATED, true);
    if (!other)
        return NULL;
    double n = (double)labels_seen(recorded), share = labels_share(other, flag);
    double off = fabs((double)labels_count(recorded, flag) - n * share);
    return off <= 2.0 * sqrt(n * share * (1.0 - share)) + 1.0 ? other : NULL;
}

int64_t labels_count(const struct audit *audit, unsigned flag)
{
    for (int i = 0; i < (int)(sizeof audit->n_flagged / sizeof audit->n_flagged[0]); i++)
        if (flag == 1u << i)
            return audit->n_flagged[i];
    return 0;
}

int64_t labels_seen(const struct audit *audit)
{
    return audit->n_rows - labels_count(audit, AUDIT_REFUSED) -
           labels_count(audit, AUDIT_UNREADABLE);
}

double labels_share(const struct audit *audit, unsigned flag)
{
    int64_t n = labels_seen(audit);

    return n > 0 ? (double)labels_count(audit, flag) / (double)n : 0.0;
}

bool labels_are_all(const struct audit *audit)
{
    return !audit->is_partial && !audit->is_sampled &&
           (audit->n_file_rows == NONE || audit->n_rows >= audit->n_file_rows);
}

bool labels_rule_out(const struct audit *audit, double bound)
{
    double n = (double)labels_seen(audit);

    return labels_are_all(audit) || (n > 0.0 && 1.0 - pow(0.05, 1.0 / n) < bound);
}

enum confidence labels_confidence(const struct audit *audit)
{
    if (audit->assumption)
        return CONFIDENCE_LIKELY;
    return labels_are_all(audit) ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG;
}

const char *labels_words(struct check_ctx *ctx, const struct audit *audit, int64_t n)
{
    const char *kind = audit->basis == AUDIT_RECORDED ? "recorded label rows" : "rows";
    const char *how =
        audit->basis == AUDIT_RECORDED
            ? ""
            : (audit->assumption ? " (simulated, with an assumption)" : " (simulated)");

    return arena_printf(ctx->arena, "%lld of %lld %s%s", (long long)n,
                        (long long)labels_seen(audit), kind, how);
}

int labels_unknown(struct check_ctx *ctx, const char *split)
{
    const struct audit *audit = facts_audit(ctx->facts, split);

    if (audit && audit->missing && (audit->basis == AUDIT_NONE || labels_seen(audit) == 0))
        return check_unknown(ctx, "%s", audit->missing);
    if (audit && audit->basis != AUDIT_NONE && audit->first_refusal)
        return check_unknown(ctx,
                             "rows that the template renders, or labels_sample.jsonl: row %lld "
                             "was refused (%s)",
                             (long long)audit->first_refused_row, audit->first_refusal);
    return check_unknown(ctx, "%s", need_hint(NEEDS_LABELS));
}

void labels_tell(struct check_ctx *ctx, const struct audit *audit)
{
    if (!audit)
        return;
    if (audit->basis == AUDIT_SIMULATED) {
        check_info(ctx, "labels simulated: %s%s%s", audit->policy ? audit->policy : "",
                   audit->because ? "; " : "", audit->because ? audit->because : "");
        if (audit->assumption)
            check_info(ctx, "assumed: %s", audit->assumption);
    }
    if (audit->is_partial)
        check_info(ctx, "the count was stopped after %lld rows", (long long)audit->n_rows);
    else if (!labels_are_all(audit) && audit->n_file_rows != NONE)
        check_info(ctx, "%lld of %lld rows were looked at", (long long)audit->n_rows,
                   (long long)audit->n_file_rows);
}

struct evidence *labels_row(struct check_ctx *ctx, const struct audit *audit, int64_t row,
                            int64_t token, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct evidence *e = evidence_add(ctx, "dataset", "%s", text);
    e->source_id = audit->dataset ? audit->dataset->source_id : 0;
    e->row = row;
    e->token = token;
    return e;
}

bool labels_row_has(const struct audit_row *row, unsigned with, unsigned without)
{
    return !(row->flags & (AUDIT_REFUSED | AUDIT_UNREADABLE)) && (row->flags & with) == with &&
           !(row->flags & without);
}

/* The numbers of a row that help to see why. */
static const char *row_numbers(struct check_ctx *ctx, const struct audit *audit,
                               const struct audit_row *row)
{
    const char *prompt =
        row->n_prompt >= 0
            ? arena_printf(ctx->arena, ", %d of them before the answer", row->n_prompt)
            : "";
    const char *limit = audit->max_length != NONE
                            ? arena_printf(ctx->arena, ", limit %lld", (long long)audit->max_length)
                            : "";

    return arena_printf(ctx->arena, "%d tokens%s%s, %d supervised", row->n_tokens, prompt, limit,
                        row->n_trained);
}

int64_t labels_show_rows(struct check_ctx *ctx, const struct audit *audit, unsigned with,
                         unsigned without, const char *what)
{
    int64_t n = 0;

    for (int64_t i = 0; i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (!labels_row_has(row, with, without))
            continue;
        if (n++ < LABEL_ROWS_SHOWN)
            labels_row(ctx, audit, i, row->n_prompt >= 0 ? row->n_prompt : NONE, "%s: %s", what,
                       row_numbers(ctx, audit, row));
    }
    return n;
}

/* ---- Tokens ---- */

const char *labels_token(struct check_ctx *ctx, int64_t id, const char *text)
{
    if (!text)
        text = added_token_text(ctx->facts, id);
    return text ? arena_printf(ctx->arena, "%s (%lld)", text, (long long)id)
                : arena_printf(ctx->arena, "%lld", (long long)id);
}

const char *added_token_text(const struct run_facts *facts, int64_t id)
{
    char name[48];

    snprintf(name, sizeof name, "added_token.%lld", (long long)id);
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if (s->side == SIDE_TOKENIZER && s->raw_name && strcmp(s->raw_name, name) == 0)
            return s->value;
    }
    return NULL;
}

int64_t added_token_id(const struct run_facts *facts, const char *text)
{
    static const char ADDED[] = "added_token.";

    for (size_t i = 0; text && i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        int64_t id;

        if (s->side == SIDE_TOKENIZER && s->raw_name && s->value && strcmp(s->value, text) == 0 &&
            strncmp(s->raw_name, ADDED, sizeof ADDED - 1) == 0 &&
            number_parse_int(str_of(s->raw_name + sizeof ADDED - 1), &id))
            return id;
    }
    return NONE;
}

static bool has_role(const struct run_facts *facts, const struct setting *setting, const char *role)
{
    const struct source *source = facts_source(facts, setting->source_id);

    return source && source->role && strcmp(source->role, role) == 0;
}

/* What is served counts before what the run saved; facts_setting_on has its own order. */
static const struct setting *served_eos(const struct run_facts *facts)
{
    static const char *const ROLES[] = {"served", "merged"};

    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < facts->n_settings; i++) {
            const struct setting *s = &facts->settings[i];

            if (s->side == SIDE_GENERATION && s->raw_name && s->type != VALUE_NULL &&
                strcmp(s->raw_name, "eos_token_id") == 0 && has_role(facts, s, ROLES[r]))
                return s;
        }
    return facts_setting_on(facts, SIDE_GENERATION, "eos_token_id");
}

size_t stop_ids_read(const struct run_facts *facts, int64_t *ids, const struct setting **setting)
{
    const char *const *items;
    size_t n = 0, n_items;
    double value;

    *setting = served_eos(facts);
    if (!*setting || (*setting)->type == VALUE_NULL)
        return 0;
    if (setting_number(*setting, &value)) {
        ids[0] = (int64_t)value;
        return 1;
    }
    n_items = setting_list(*setting, facts, &items);
    for (size_t i = 0; i < n_items && n < MAX_STOP_IDS; i++)
        n += number_parse_int(str_of(items[i]), &ids[n]) ? 1 : 0;
    return n;
}

/* ---- Outputs ---- */

static bool is_tuned(const struct generation *made)
{
    return !made->model || strcmp(made->model, "base") != 0;
}

size_t outputs_count(const struct run_facts *facts, unsigned known, unsigned with, size_t *n_known,
                     const struct generation **first)
{
    size_t n = 0;

    *n_known = 0;
    *first = NULL;
    for (size_t i = 0; i < facts->n_generations; i++) {
        const struct generation *made = &facts->generations[i];

        if (!is_tuned(made) || (made->flags & known) != known)
            continue;
        ++*n_known;
        if ((made->flags & with) != with)
            continue;
        if (n++ == 0)
            *first = made;
    }
    return n;
}

size_t outputs_at_limit(const struct run_facts *facts, size_t *n_known,
                        const struct generation **first)
{
    size_t n = 0;

    *n_known = 0;
    *first = NULL;
    for (size_t i = 0; i < facts->n_generations; i++) {
        const struct generation *made = &facts->generations[i];
        bool has_reason = made->finish_reason && made->finish_reason[0];
        bool has_count = made->n_tokens >= 0 && made->max_new_tokens > 0;

        if (!is_tuned(made) || (!has_reason && !has_count))
            continue;
        ++*n_known;
        if (has_reason ? strcmp(made->finish_reason, "length") != 0
                       : made->n_tokens < made->max_new_tokens)
            continue;
        if (n++ == 0)
            *first = made;
    }
    return n;
}
