/* The sides of the pair that no file has ready: a training row as its trainer renders it, and what the
 * served template makes of the request, or of the same messages. A template that fails leaves its side
 * absent, with its message. */
#include <string.h>

#include "core/facts/audit.h"
#include "core/facts/prompt_pair_parts.h"
#include "core/text/chat_template.h"

static const char HELLO[] = "[{\"role\":\"user\",\"content\":\"Hello\"}]";

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- A template ready to render ---- */

struct renderer {
    const struct template_place *place;
    struct chat_template *chat_template;
    const struct json *special_tokens;
    struct jinja_settings settings;
    struct arena *arena;            /* of one render and of what was loaded */
    const char *failure;
};

static void fail_with(struct renderer *r, struct arena *kept, const struct jinja_failure *failure,
                      const struct error *why)
{
    if (failure->message[0] && failure->line > 0)
        r->failure = arena_printf(kept, "%s, line %d: %s", r->place->about, failure->line,
                                  failure->message);
    else
        r->failure = arena_printf(kept, "%s: %s", r->place->about,
                                  failure->message[0] ? failure->message : why->message);
}

/* Both sides with the same clock, so that a date is no difference. */
static int64_t clock_of(const struct run_facts *facts)
{
    return facts->run.started_at > 0 ? facts->run.started_at : 0;
}

static bool choose(struct renderer *r, struct str *text, bool has_tools, struct arena *kept)
{
    struct chat_template_set set = {0};
    struct error why = {0};

    if (r->place->text.n) {
        *text = r->place->text;
        return true;
    }
    if (chat_template_find(r->place->path, r->arena, &set, &why) != OK) {
        r->failure = arena_printf(kept, "%s: %s", r->place->about, why.message);
        return false;
    }
    const struct named_template *chosen = chat_template_choose(&set, has_tools);
    if (!chosen) {
        r->failure = arena_printf(kept, "%s: several templates, none of them called default",
                                  r->place->about);
        return false;
    }
    *text = chosen->text;
    return true;
}

static bool open_renderer(struct renderer *r, const struct prompt_maker *maker,
                          const struct template_place *place, bool has_tools)
{
    struct jinja_failure failure = {0};
    struct error why = {0};
    struct str text;

    *r = (struct renderer){.place = place, .arena = arena_open(ARENA_RENDER_BYTES)};
    r->settings.now = clock_of(maker->facts);
    if (!r->arena || !choose(r, &text, has_tools, maker->arena))
        return false;
    if (chat_template_open(&r->chat_template, text, &failure, &why) != OK) {
        r->chat_template = NULL;
        fail_with(r, maker->arena, &failure, &why);
        return false;
    }
    if (place->folder &&
        chat_special_tokens(place->folder, r->arena, &r->special_tokens, &why) != OK)
        r->special_tokens = NULL;
    return true;
}

static void close_renderer(struct renderer *r)
{
    chat_template_close(r->chat_template);
    arena_close(r->arena);
}

static bool render(struct renderer *r, const struct prompt_maker *maker,
                   const struct chat_request *request, struct str *out)
{
    struct chat_request with = *request;
    struct jinja_output output = {0};
    struct jinja_failure failure = {0};
    struct error why = {0};

    with.special_tokens = r->special_tokens;
    int rc = chat_template_render(r->chat_template, &with, &r->settings, r->arena, &output, &failure,
                                  &why);
    if (rc == OK)
        *out = arena_str(maker->arena, buf_view(&output.text));
    else
        fail_with(r, maker->arena, &failure, &why);
    jinja_output_free(&output);
    return rc == OK;
}

/* ---- Messages ---- */

static bool is_system(const struct json *message)
{
    const struct json *role = json_get(message, "role");

    return json_is(role, JSON_STRING) &&
           (str_is(role->text, "system") || str_is(role->text, "developer"));
}

static bool has_system(const struct json *messages)
{
    for (const struct json *m = messages ? messages->child : NULL; m; m = m->next)
        if (is_system(m))
            return true;
    return false;
}

/* A list of the messages but for the last one, which is the answer. */
static const struct json *without_answer(const struct json *messages, struct arena *arena)
{
    struct json *list = arena_alloc(arena, sizeof *list);
    struct json **end = list ? &list->child : NULL;

    if (!list)
        return NULL;
    list->type = JSON_ARRAY;
    for (const struct json *m = messages->child; m && m->next; m = m->next) {
        struct json *copy = arena_alloc(arena, sizeof *copy);

        if (!copy)
            return NULL;
        *copy = *m;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
        list->n++;
    }
    return list->n ? list : NULL;
}

/* One turn, behind the system text of a side where it has one. */
static const struct json *greeting(const struct prompt_maker *maker, struct str system)
{
    struct buf text;
    const struct json *messages = NULL;
    struct error ignored = {0};

    buf_init(&text, PROMPT_FILE_BYTES);
    if (system.p) {
        buf_puts(&text, "[{\"role\":\"system\",\"content\":");
        json_write_string(&text, system);
        buf_puts(&text, "},");
        buf_puts(&text, HELLO + 1);
    } else {
        buf_puts(&text, HELLO);
    }
    if (!text.failed) {
        struct str kept = arena_str(maker->arena, buf_view(&text));

        if (json_parse(kept, false, maker->arena, &messages, NULL, &ignored) != OK)
            messages = NULL;
    }
    buf_free(&text);
    return messages;
}

/* ---- Training ---- */

static void note_inserted(const struct prompt_maker *maker, const struct json *messages,
                          struct prompt_record *record)
{
    struct prompt_shape shape;

    prompt_shape_of(record->side.text, NULL, 0, maker->arena, &shape);
    record->inserts_system = shape.system < shape.n && !has_system(messages);
}

static void copy_ids(const struct prompt_maker *maker, const struct labelled_row *row,
                     struct prompt_side *side)
{
    uint32_t *ids = arena_array(maker->arena, row->n + 1, sizeof *ids);
    uint32_t *begin = arena_array(maker->arena, row->n + 1, sizeof *begin);
    uint32_t *end = arena_array(maker->arena, row->n + 1, sizeof *end);

    if (!ids || !begin || !end || row->n == 0)
        return;
    memcpy(ids, row->ids, row->n * sizeof *ids);
    memcpy(begin, row->begin, row->n * sizeof *begin);
    memcpy(end, row->end, row->n * sizeof *end);
    side->ids = ids;
    side->begin = begin;
    side->end = end;
    side->n_ids = row->n;
}

/* A row as the run's own trainer makes it, with its ids. */
static bool train_by_audit(struct prompt_maker *maker, struct prompt_record *record)
{
    const struct audit *audit = facts_audit(maker->facts, "train");
    struct audit_window *window = NULL;
    const struct labelled_row *row = NULL;
    struct error why = {0};
    bool is_made = false;

    if (!audit || audit->basis != AUDIT_SIMULATED || audit->dataset != maker->dataset ||
        maker->messages_row == NONE || maker->messages_row >= audit->n_rows ||
        audit_window_open(&window, maker->facts, audit, &why) != OK)
        return false;
    if (audit_window_row(window, maker->messages_row, &row, NULL, &why) == OK && !row->refused &&
        row->text.n) {
        record->origin = PROMPT_RENDERED;
        record->source = facts_source(maker->facts, maker->dataset->source_id);
        record->row = maker->messages_row;
        record->about = arena_printf(maker->arena, "row %lld of %s, as %s",
                                     (long long)maker->messages_row, maker->dataset->name,
                                     audit->policy ? audit->policy : "trained");
        record->side.text = arena_str(maker->arena, row->text);
        copy_ids(maker, row, &record->side);
        is_made = true;
    }
    audit_window_close(window);
    return is_made;
}

/* Without any rows a greeting stands for them: two templates can be compared too. */
static const char GREETED[] = "[{\"role\":\"user\",\"content\":\"Hello\"},"
                              "{\"role\":\"assistant\",\"content\":\"Hi.\"}]";

static void take_greeting(struct prompt_maker *maker)
{
    struct error ignored = {0};

    if (json_parse(str_of(GREETED), false, maker->arena, &maker->messages, NULL, &ignored) != OK)
        maker->messages = NULL;
}

/* Frameworks that render by the tokenizer's template. */
static bool renders_by_template(const struct prompt_maker *maker)
{
    struct mask_policy policy = {0};

    mask_policy_choose(maker->facts, maker->arena, &policy);
    if (!policy.is_known)
        return true;
    return policy.policy.rule == MASK_TRL || policy.policy.rule == MASK_TRL_OLD ||
           policy.policy.rule == MASK_RESPONSE_TEMPLATE || policy.policy.rule == MASK_UNSLOTH ||
           policy.policy.rule == MASK_AXOLOTL_CHAT;
}

static void train_by_template(struct prompt_maker *maker, const struct template_place *place,
                              struct prompt_record *record)
{
    struct renderer renderer;
    const struct chat_request request = {.messages = maker->messages, .tools = maker->tools};
    struct str text;

    if (!place->source || place->named != FAMILY_NONE || !renders_by_template(maker))
        return;
    if (open_renderer(&renderer, maker, place, maker->tools != NULL) &&
        render(&renderer, maker, &request, &text)) {
        record->origin = PROMPT_RENDERED;
        record->source = place->source;
        record->row = maker->messages_row;
        record->about = maker->messages_row == NONE
                            ? arena_printf(maker->arena, "a greeting rendered from %s", place->about)
                            : arena_printf(maker->arena, "rendered from %s, row %lld", place->about,
                                           (long long)maker->messages_row);
        record->side.text = text;
    }
    if (renderer.failure)
        record->failure = renderer.failure;
    close_renderer(&renderer);
}

/* Prompt and answer as texts: TRL renders turns alone, such rows it takes as they are. */
static void train_as_plain(struct prompt_maker *maker, struct prompt_record *record)
{
    struct mask_policy policy = {0};

    if (maker->plain_row == NONE)
        return;
    mask_policy_choose(maker->facts, maker->arena, &policy);
    if (!policy.is_known || (policy.policy.rule != MASK_TRL && policy.policy.rule != MASK_TRL_OLD))
        return;
    record->origin = PROMPT_ROWS;
    record->source = facts_source(maker->facts, maker->dataset->source_id);
    record->row = maker->plain_row;
    record->about = arena_printf(maker->arena, "row %lld of %s, prompt and answer as plain text",
                                 (long long)maker->plain_row, maker->dataset->name);
    record->side.text = maker->plain_text;
}

/* LLaMA-Factory renders rows of any form by the template that is named. */
static bool renders_by_name(const struct prompt_maker *maker, const struct template_place *train)
{
    struct mask_policy policy = {0};

    if (train->named == FAMILY_NONE || !maker->dataset || maker->pair->rows_family != FAMILY_NONE)
        return false;
    mask_policy_choose(maker->facts, maker->arena, &policy);
    return policy.policy.rule == MASK_LLAMAFACTORY;
}

/* ---- Serving ---- */

static bool flag_of(const struct json *body, const char *key, bool usual)
{
    const struct json *value = json_get(body, key);

    if (json_is(value, JSON_TRUE))
        return true;
    return json_is(value, JSON_FALSE) ? false : usual;
}

static const struct json *array_of(const struct json *body, const char *key)
{
    const struct json *value = json_get(body, key);

    return json_is(value, JSON_ARRAY) ? value : NULL;
}

/* The conversation that the training side has, as far as it is known. */
static const struct json *same_messages(const struct prompt_maker *maker, bool *is_same)
{
    const struct prompt_record *train = &maker->pair->train;
    struct prompt_side side = train->side;

    *is_same = train->origin == PROMPT_RENDERED && maker->messages;
    if (*is_same)
        return without_answer(maker->messages, maker->arena);
    if (train->origin == PROMPT_ABSENT)
        return greeting(maker, (struct str){NULL, 0});
    prompt_shape_of(side.text, NULL, 0, maker->arena, &side.shape);
    return greeting(maker, prompt_system_text(&side));
}

static const char *about_serving(const struct prompt_maker *maker,
                                 const struct template_place *place, bool is_request,
                                 bool is_assumed)
{
    const char *what = is_request ? name_of(maker->request_source->path) : "the same messages";

    return arena_printf(maker->arena, "%s rendered from %s%s", what, place->about,
                        is_assumed ? ", taken for the template that is served" : "");
}

/* What the server passes to every template by default (--chat-template-kwargs). */
static const struct json *served_kwargs(const struct prompt_maker *maker)
{
    const struct setting *stated =
        facts_setting_on(maker->facts, SIDE_SERVE, "chat_template_kwargs");
    const struct json *kwargs = NULL;
    struct error ignored = {0};

    if (!stated || !stated->value ||
        json_parse(str_of(stated->value), false, maker->arena, &kwargs, NULL, &ignored) != OK)
        return NULL;
    return json_is(kwargs, JSON_OBJECT) ? kwargs : NULL;
}

static void note_served(struct prompt_maker *maker, const struct template_place *place,
                        const struct json *messages, bool is_same, struct prompt_record *record)
{
    bool is_request = array_of(maker->request, "messages") != NULL;

    record->origin = is_request ? PROMPT_REQUEST : PROMPT_RENDERED;
    record->source = is_request ? maker->request_source : place->source;
    record->row = is_same ? maker->messages_row : NONE;
    record->about = about_serving(maker, place, is_request, record->is_assumed);
    maker->pair->is_same_conversation = is_same;
    note_inserted(maker, messages, record);
}

/* Ollama's SYSTEM is used where the messages bring none, which is what a plain client sends. */
static const struct json *without_system(const struct json *messages, struct arena *arena)
{
    struct json *list = arena_alloc(arena, sizeof *list);
    struct json **end = list ? &list->child : NULL;

    if (!list)
        return NULL;
    list->type = JSON_ARRAY;
    for (const struct json *m = messages->child; m; m = m->next) {
        struct json *copy = is_system(m) ? NULL : arena_alloc(arena, sizeof *copy);

        if (!copy)
            continue;
        *copy = *m;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
        list->n++;
    }
    return list->n ? list : messages;
}

static void serve_by_ollama(struct prompt_maker *maker, const struct template_place *place,
                            struct prompt_record *record)
{
    const struct json *messages = array_of(maker->request, "messages");
    const struct json *tools = array_of(maker->request, "tools");
    const struct setting *system = facts_setting_on(maker->facts, SIDE_SERVE, "system");
    bool is_same = false;

    if (!messages) {
        messages = same_messages(maker, &is_same);
        tools = is_same ? maker->tools : NULL;
        if (messages && system && system->value && system->value[0])
            messages = without_system(messages, maker->arena);
    }
    if (messages && prompt_by_ollama(maker, place, messages, tools, record))
        note_served(maker, place, messages, is_same, record);
}

static void serve_by_template(struct prompt_maker *maker, const struct template_place *place,
                              bool is_assumed, struct prompt_record *record)
{
    const struct json *messages = array_of(maker->request, "messages");
    bool is_request = messages != NULL, is_same = false;
    struct renderer renderer;
    struct str text;

    if (!messages)
        messages = same_messages(maker, &is_same);
    if (!messages)
        return;
    struct chat_request request = {
        .messages = messages,
        .tools = is_request ? array_of(maker->request, "tools") : is_same ? maker->tools : NULL,
        .documents = array_of(maker->request, "documents"),
        .kwargs = json_get(maker->request, "chat_template_kwargs"),
        .continue_final_message = flag_of(maker->request, "continue_final_message", false),
    };
    request.add_generation_prompt =
        flag_of(maker->request, "add_generation_prompt", !request.continue_final_message);
    if (!json_is(request.kwargs, JSON_OBJECT))
        request.kwargs = served_kwargs(maker);
    if (open_renderer(&renderer, maker, place, request.tools != NULL) &&
        render(&renderer, maker, &request, &text)) {
        record->side.text = text;
        record->is_assumed = is_assumed;
        note_served(maker, place, messages, is_same, record);
    }
    if (renderer.failure)
        record->failure = renderer.failure;
    close_renderer(&renderer);
}

/* ---- Both ---- */

/* The format of a template, by what it makes of a greeting. */
static enum marker_family family_of(const struct prompt_maker *maker,
                                    const struct template_place *place)
{
    const struct chat_request request = {.messages = greeting(maker, (struct str){NULL, 0}),
                                         .add_generation_prompt = true};
    struct renderer renderer;
    struct prompt_shape shape = {.family = FAMILY_NONE};
    struct str text;

    if (place->named != FAMILY_NONE)
        return place->named;
    if ((!place->path && !place->text.n) || !request.messages)
        return FAMILY_NONE;
    if (place->is_go) {
        struct prompt_record record = {0};

        if (prompt_by_ollama(maker, place, request.messages, NULL, &record))
            prompt_shape_of(record.side.text, NULL, 0, maker->arena, &shape);
        return shape.family;
    }
    if (open_renderer(&renderer, maker, place, false) && render(&renderer, maker, &request, &text))
        prompt_shape_of(text, NULL, 0, maker->arena, &shape);
    close_renderer(&renderer);
    return shape.family;
}

void prompt_render_sides(struct prompt_maker *maker)
{
    struct prompt_pair *pair = maker->pair;
    struct template_place train, serve;

    prompt_template_of(maker, SIDE_TRAIN, &train);
    prompt_template_of(maker, SIDE_SERVE, &serve);
    pair->bare_serve = serve.bare;
    pair->train_template = family_of(maker, &train);
    pair->serve_template = family_of(maker, &serve);
    bool has_serve = pair->serve.origin != PROMPT_ABSENT || serve.path || serve.text.n;
    if (pair->train.origin == PROMPT_ABSENT && !maker->dataset && train.path && has_serve)
        take_greeting(maker);
    if (pair->train.origin == PROMPT_ABSENT && maker->messages) {
        if (!train_by_audit(maker, &pair->train))
            train_by_template(maker, &train, &pair->train);
        if (pair->train.origin != PROMPT_ABSENT)
            note_inserted(maker, maker->messages, &pair->train);
    }
    if (pair->train.origin == PROMPT_ABSENT)
        train_as_plain(maker, &pair->train);
    pair->rows_are_templated = pair->rows_are_templated || renders_by_name(maker, &train);
    bool is_wanted = pair->serve.origin == PROMPT_ABSENT && !serve.bare;
    if (is_wanted && serve.unknown)
        pair->serve.missing = serve.unknown;
    else if (is_wanted && serve.is_go)
        serve_by_ollama(maker, &serve, &pair->serve);
    else if (is_wanted && (serve.path || serve.text.n))
        serve_by_template(maker, &serve, false, &pair->serve);
    else if (is_wanted && array_of(maker->request, "messages") && train.path)
        serve_by_template(maker, &train, true, &pair->serve);
    prompt_tokenise(maker, &serve);
}
