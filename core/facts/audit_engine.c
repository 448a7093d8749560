/* Loads the tokenizer and the template of a run, and what the audit reads off them. What is broken
 * is told in words: the audit then says what it could not do. */
#include <string.h>

#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"

#define ENGINE_ARENA ((size_t)64 << 20)

/* ---- The vocabulary ---- */

static int64_t id_of(const void *of, const char *text)
{
    return tokenizer_id(of, str_of(text));
}

static struct str text_of(const void *of, uint32_t id)
{
    return tokenizer_token(of, id);
}

static bool is_special(const void *of, uint32_t id)
{
    return tokenizer_is_special(of, id) || tokenizer_is_added(of, id);
}

static bool is_newline(const void *of, uint32_t id)
{
    struct buf text;
    bool is = false;

    if (tokenizer_is_added(of, id))
        return false;
    buf_init(&text, 256);
    if (tokenizer_decode(of, &id, 1, false, &text, NULL) == OK && text.n)
        is = strspn(text.p, "\r\n") == text.n;
    buf_free(&text);
    return is;
}

/* ---- Loading ---- */

/* Compact forms are kept beside the cache database; one in memory has none. */
static const char *compact_folder(const char *cache_path, struct arena *arena)
{
    const char *slash = cache_path ? strrchr(cache_path, '/') : NULL;

    return slash ? arena_strndup(arena, cache_path, (size_t)(slash - cache_path)) : NULL;
}

/* What is worth a sentence; memory is the caller's trouble. */
static int why_not(struct audit_engine *engine, const char *path, int rc, const struct error *why,
                   const char **told, struct error *err)
{
    const char *slash = strrchr(path, '/');

    if (rc == E_NOMEM) {
        *err = *why;
        return rc;
    }
    *told = arena_printf(engine->arena, "%s: %s", slash ? slash + 1 : path, why->message);
    return OK;
}

static int load_tokenizer(struct audit_engine *engine, const char *path, const char *cache_path,
                          struct error *err)
{
    struct error why = {0};
    const char *folder = compact_folder(cache_path, engine->arena);
    int rc = tokenizer_load(&engine->tokenizer, path, folder, &why);

    if (rc != OK) {
        engine->tokenizer = NULL;
        return why_not(engine, path, rc, &why, &engine->no_tokenizer, err);
    }
    engine->vocabulary = (struct audit_vocabulary){.of = engine->tokenizer,
                                                   .id = id_of,
                                                   .text = text_of,
                                                   .is_special = is_special,
                                                   .is_newline = is_newline};
    return OK;
}

static int load_template(struct audit_engine *engine, const char *path, struct error *err)
{
    struct chat_template_set set = {0};
    struct jinja_failure failure = {0};
    struct error why = {0};
    int rc = chat_template_find(path, engine->arena, &set, &why);

    if (rc != OK)
        return why_not(engine, path, rc, &why, &engine->no_template, err);
    const struct named_template *chosen = chat_template_choose(&set, false);
    if (!chosen) {
        engine->no_template = "several templates, none of them called default";
        return OK;
    }
    engine->template_text = chosen->text;
    rc = chat_template_open(&engine->chat_template, chosen->text, &failure, &why);
    if (rc == OK)
        return OK;
    engine->chat_template = NULL;
    if (rc == E_PARSE && failure.message[0]) {
        engine->no_template =
            arena_printf(engine->arena, "template line %d: %s", failure.line, failure.message);
        return OK;
    }
    return why_not(engine, path, rc, &why, &engine->no_template, err);
}

static const char *folder_of(const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');

    return slash ? arena_strndup(arena, path, (size_t)(slash - path)) : ".";
}

/* ---- The end of a turn ---- */

static const char PROBE[] = "[{\"role\":\"user\",\"content\":\"Vq\"},"
                            "{\"role\":\"assistant\",\"content\":\"Wz\"}]";

/* The first added token behind the answer. Without a vocabulary the added tokens of the side files
 * are looked for. */
static const char *token_in(const struct audit_engine *engine, const struct run_facts *facts,
                            struct str tail)
{
    const char *best = NULL;
    ptrdiff_t best_at = 0;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        bool is_token = s->side == SIDE_TOKENIZER && s->value && *s->value &&
                        (strncmp(s->raw_name, "added_token.", 12) == 0 ||
                         strcmp(s->raw_name, "eos_token") == 0);
        ptrdiff_t at = is_token ? str_find(tail, s->value) : -1;

        if (at < 0 ||
            (best && (at > best_at || (at == best_at && strlen(s->value) <= strlen(best)))))
            continue;
        best = s->value;
        best_at = at;
    }
    return best ? arena_strdup(engine->arena, best) : NULL;
}

static void find_turn_end(struct audit_engine *engine, const struct run_facts *facts)
{
    struct chat_request request = {.special_tokens = engine->special_tokens};
    struct jinja_output output = {0};
    struct jinja_failure failure;
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);

    if (arena &&
        json_parse(str_of(PROBE), false, engine->arena, &request.messages, NULL, NULL) == OK &&
        chat_template_render(engine->chat_template, &request, &engine->jinja, arena, &output,
                             &failure, NULL) == OK) {
        struct str text = buf_view(&output.text);
        ptrdiff_t at = str_find(text, "Wz");

        if (at >= 0)
            engine->turn_end_text = token_in(engine, facts, str_skip(text, (size_t)at + 2));
    }
    jinja_output_free(&output);
    arena_close(arena);
}

/* ---- Opening ---- */

/* A date that a template prints: the run's own, so that the same files give the same text. */
static int64_t time_of(const struct run_facts *facts, const struct mask_policy *policy)
{
    if (facts->run.started_at > 0)
        return facts->run.started_at;
    return policy->template_source && policy->template_source->mtime_ns > 0
               ? policy->template_source->mtime_ns / 1000000000
               : 0;
}

int audit_engine_open(struct audit_engine *engine, const struct run_facts *facts,
                      const struct mask_policy *policy, const char *cache_path, struct error *err)
{
    int rc = OK;

    *engine = (struct audit_engine){.arena = arena_open(ENGINE_ARENA),
                                    .jinja = {.now = time_of(facts, policy)}};
    if (!engine->arena)
        return error_set(err, E_NOMEM, "no memory for a tokenizer");
    if (policy->tokenizer_path)
        rc = load_tokenizer(engine, policy->tokenizer_path, cache_path, err);
    const char *near = policy->tokenizer_path  ? policy->tokenizer_path
                       : policy->template_path ? folder_of(policy->template_path, engine->arena)
                                               : NULL;
    if (rc == OK && near &&
        chat_special_tokens(near, engine->arena, &engine->special_tokens, NULL) != OK)
        engine->special_tokens = NULL;
    if (rc == OK && policy->template_path)
        rc = load_template(engine, policy->template_path, err);
    if (rc == OK && engine->chat_template)
        find_turn_end(engine, facts);
    if (rc != OK)
        audit_engine_close(engine);
    return rc;
}

void audit_engine_close(struct audit_engine *engine)
{
    chat_template_close(engine->chat_template);
    tokenizer_close(engine->tokenizer);
    arena_close(engine->arena);
    *engine = (struct audit_engine){0};
}

int audit_engine_labeller(const struct audit_engine *engine, const struct label_policy *policy,
                          struct labeller **out, struct error *err)
{
    const struct labeller_parts parts = {.policy = policy,
                                         .tokenizer = engine->tokenizer,
                                         .chat_template = engine->chat_template,
                                         .special_tokens = engine->special_tokens,
                                         .jinja = engine->jinja,
                                         .template_text = engine->template_text};

    if (!engine->tokenizer)
        return error_set(err, E_UNSUPPORTED, "%s",
                         engine->no_tokenizer
                             ? engine->no_tokenizer
                             : "the tokenizer folder of the run or its base model");
    return labeller_open(out, &parts, err);
}
