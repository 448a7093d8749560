/* What the files of the mask policy share; for core/facts/mask_policy*.c only. */
#ifndef CORE_FACTS_MASK_POLICY_PARTS_H
#define CORE_FACTS_MASK_POLICY_PARTS_H

#include "core/facts/audit_parts.h"
#include "core/facts/mask_policy.h"

struct policy_maker {
    const struct run_facts *facts;
    struct arena *arena;
    struct mask_policy *out;
    struct audit_ids ids;
};

/* ---- Evidence (mask_policy.c) ---- */

/* The first event of which the pattern's name begins so, or NULL. */
const struct event *policy_event(const struct policy_maker *maker, const char *prefix);
/* The first setting of training with one of these raw names (last part of nested ones), or NULL. */
const struct setting *policy_raw(const struct policy_maker *maker, const char *const *names);
/* The class of the training arguments contains the word. */
const struct setting *policy_class(const struct policy_maker *maker, const char *word);
enum tri policy_tri(const struct policy_maker *maker, const char *name);
/* max_length as stated; null (and only null) is never; else `standard`. *is_stated may be NULL. */
int64_t policy_max_length(const struct policy_maker *maker, int64_t standard, bool *is_stated);
/* What all rules have in common: limit, special ids, columns. */
struct label_policy policy_of(const struct policy_maker *maker, enum mask_rule rule,
                              int64_t max_length);
/* Adds a clause to what is assumed: "a; b". */
void policy_assume(const struct policy_maker *maker, const char **assumption, const char *clause);

/* ---- One a framework; they fill maker->out, whose `because` is set ---- */

void policy_trl(struct policy_maker *maker);
void policy_response_template(struct policy_maker *maker, const struct setting *marker);
void policy_unsloth(struct policy_maker *maker);
void policy_llamafactory(struct policy_maker *maker);
void policy_axolotl(struct policy_maker *maker);

/* ---- Files (mask_policy_files.c) ---- */

void policy_find_files(struct policy_maker *maker);
/* The template that was found has {% generation %}: TRL takes it as it is. */
bool policy_template_has_markers(const struct policy_maker *maker);

#endif
