/* The special ids of a run and their names, from the tokenizer where there is one, else from its
 * side files: tokenizer_config.json, added_tokens.json, config.json, generation_config.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"

/* ---- Names of the side files ---- */

/* What was served or merged later does not say what was trained with. */
static bool is_training_side(const struct run_facts *facts, const struct setting *setting)
{
    const struct source *source = facts_source(facts, setting->source_id);

    return !source || !source->role ||
           (strcmp(source->role, "served") != 0 && strcmp(source->role, "merged") != 0);
}

static bool is_of_base(const struct run_facts *facts, const struct setting *setting)
{
    const struct source *source = facts_source(facts, setting->source_id);

    return source && source->role && strcmp(source->role, "base") == 0;
}

/* N of "added_token.N", or NONE. */
static int64_t added_id(const struct setting *setting)
{
    static const char PREFIX[] = "added_token.";
    int64_t id;

    if (setting->side != SIDE_TOKENIZER ||
        strncmp(setting->raw_name, PREFIX, sizeof PREFIX - 1) != 0 ||
        !number_parse_int(str_of(setting->raw_name + sizeof PREFIX - 1), &id))
        return NONE;
    return id;
}

static int64_t id_of_added(const struct run_facts *facts, const char *text)
{
    int64_t of_base = NONE;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if (added_id(s) == NONE || !s->value || strcmp(s->value, text) != 0 ||
            !is_training_side(facts, s))
            continue;
        if (!is_of_base(facts, s))
            return added_id(s);
        of_base = added_id(s);
    }
    return of_base;
}

static const char *text_of_added(const struct run_facts *facts, int64_t id)
{
    const char *of_base = NULL;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if (added_id(s) != id || !s->value || !is_training_side(facts, s))
            continue;
        if (!is_of_base(facts, s))
            return s->value;
        of_base = s->value;
    }
    return of_base;
}

static int64_t id_of_text(const struct audit_ids *ids, const char *text)
{
    int64_t id = NONE;

    if (!text || !*text)
        return NONE;
    if (ids->vocabulary)
        id = ids->vocabulary->id(ids->vocabulary->of, text);
    return id != NONE ? id : id_of_added(ids->facts, text);
}

const char *audit_ids_text(const struct audit_ids *ids, int64_t id, struct arena *arena)
{
    if (id < 0)
        return NULL;
    if (ids->vocabulary) {
        struct str text = ids->vocabulary->text(ids->vocabulary->of, (uint32_t)id);

        if (text.p)
            return arena_strndup(arena, text.p, text.n);
    }
    const char *text = text_of_added(ids->facts, id);
    return text ? arena_strdup(arena, text) : NULL;
}

bool audit_ids_is_special(const struct audit_ids *ids, int64_t id)
{
    if (id < 0)
        return false;
    if (ids->vocabulary && ids->vocabulary->is_special(ids->vocabulary->of, (uint32_t)id))
        return true;
    return audit_ids_is_stop(ids, id) || text_of_added(ids->facts, id) != NULL;
}

bool audit_ids_is_newline(const struct audit_ids *ids, uint32_t id)
{
    return ids->vocabulary && ids->vocabulary->is_newline(ids->vocabulary->of, id);
}

/* ---- Special ids ---- */

static const char *stated(const struct setting *setting)
{
    return setting && setting->type != VALUE_NULL && setting->value && *setting->value
               ? setting->value
               : NULL;
}

/* The trainer may have been told other tokens than the tokenizer's; the saved tokenizer then has
 * them. */
static const char *token_named(const struct run_facts *facts, const char *name)
{
    const char *own = stated(facts_setting(facts, name));

    return own ? own : stated(facts_setting_on(facts, SIDE_TOKENIZER, name));
}

static int64_t stated_id(const struct run_facts *facts, enum side side, const char *name)
{
    const char *const *items;
    size_t n = setting_list(facts_setting_on(facts, side, name), facts, &items);
    int64_t id;

    return n && number_parse_int(str_of(items[0]), &id) && id >= 0 ? id : NONE;
}

/* By the token's text, else what the model's configuration says. */
static int64_t special_id(const struct audit_ids *ids, const char *text, const char *setting)
{
    int64_t id = id_of_text(ids, text);

    if (id == NONE && !text)
        id = stated_id(ids->facts, SIDE_MODEL, setting);
    return id;
}

static void add_stop(struct audit_ids *ids, int64_t id)
{
    if (id < 0 || audit_ids_is_stop(ids, id) ||
        ids->n_stops == sizeof ids->stops / sizeof *ids->stops)
        return;
    ids->stops[ids->n_stops++] = id;
}

bool audit_ids_is_stop(const struct audit_ids *ids, int64_t id)
{
    for (size_t i = 0; i < ids->n_stops; i++)
        if (ids->stops[i] == id)
            return true;
    return false;
}

static void find_stops(struct audit_ids *ids)
{
    const char *const *items;
    size_t n = setting_list(facts_setting_on(ids->facts, SIDE_GENERATION, "eos_token_id"),
                            ids->facts, &items);
    int64_t id;

    add_stop(ids, ids->eos);
    add_stop(ids, ids->turn_end);
    for (size_t i = 0; i < n; i++)
        if (number_parse_int(str_of(items[i]), &id))
            add_stop(ids, id);
}

/* ---- Vocabulary ---- */

static int64_t largest(const struct run_facts *facts, enum side side, const char *name,
                       bool of_base)
{
    int64_t best = NONE;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        int64_t value;

        if (s->side != side || !s->name || strcmp(s->name, name) != 0 || !s->value ||
            !is_training_side(facts, s) || (of_base && !is_of_base(facts, s)) ||
            !number_parse_int(str_of(s->value), &value))
            continue;
        best = value > best ? value : best;
    }
    return best;
}

/* "Resized token embeddings from A to B": A was the base's, B the model's. */
static void read_resizing(struct audit_ids *ids)
{
    for (const struct event *e = facts_event(ids->facts, NULL, NULL); e;
         e = facts_event(ids->facts, NULL, e)) {
        int64_t before, after;

        if (!e->pattern || !strstr(e->pattern, "resized-embeddings") ||
            !number_parse_int(str_of(event_capture(e, 1)), &before) ||
            !number_parse_int(str_of(event_capture(e, 2)), &after))
            continue;
        if (ids->first_new == NONE)
            ids->first_new = before;
        ids->n_vocab = after > ids->n_vocab ? after : ids->n_vocab;
    }
}

static void find_vocabulary(struct audit_ids *ids)
{
    int64_t base_max = largest(ids->facts, SIDE_TOKENIZER, "max_token_id", true);

    ids->n_vocab = largest(ids->facts, SIDE_MODEL, "vocab_size", false);
    ids->first_new = base_max != NONE
                         ? base_max + 1
                         : largest(ids->facts, SIDE_MODEL, "vocab_size", true);
    read_resizing(ids);
}

void audit_ids_find(const struct run_facts *facts, const struct audit_vocabulary *vocabulary,
                    const char *turn_end_text, struct arena *arena, struct audit_ids *out)
{
    double limit;

    *out = (struct audit_ids){.facts = facts, .vocabulary = vocabulary, .max_length = NONE};
    out->eos_text = token_named(facts, "eos_token");
    out->bos_text = stated(facts_setting_on(facts, SIDE_TOKENIZER, "bos_token"));
    out->pad_text = token_named(facts, "pad_token");
    out->turn_end_text = turn_end_text;
    out->eos = special_id(out, out->eos_text, "eos_token_id");
    out->bos = special_id(out, out->bos_text, "bos_token_id");
    out->pad = special_id(out, out->pad_text, "pad_token_id");
    out->turn_end = id_of_text(out, turn_end_text);
    if (!out->eos_text)
        out->eos_text = audit_ids_text(out, out->eos, arena);
    if (facts_number(facts, "max_length", &limit) && limit >= 1 && limit < 1e9)
        out->max_length = (int64_t)limit;
    const char *mode = facts_text(facts, "truncation_mode");
    out->cut_keeps_end = mode && (strstr(mode, "end") || strcmp(mode, "left") == 0);
    find_stops(out);
    find_vocabulary(out);
}
