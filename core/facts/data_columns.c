/* See data_columns.h. A data set is matched to its entry by the name of its file; where the settings
 * describe one data set alone, it is that one. */
#include "core/facts/data_columns.h"

#include <string.h>

#include "core/base/hash.h"

/* One of a list: "the member of that name says how the column is called". */
struct said {
    const char *key;
    size_t at;
};
#define AT(member) offsetof(struct column_names, member)

static const char **name_at(struct column_names *names, size_t at)
{
    return (const char **)(void *)((char *)names + at);
}

static bool is_text(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

static void take(const struct json *object, const struct said *list, struct arena *arena,
                 struct column_names *out)
{
    for (; list->key; list++) {
        const struct json *value = json_get(object, list->key);

        if (json_is(value, JSON_STRING) && value->text.n > 0)
            *name_at(out, list->at) = arena_strndup(arena, value->text.p, value->text.n);
    }
}

static const struct json *parsed(const char *text, struct arena *arena)
{
    const struct json *tree;

    return text && json_parse(str_of(text), false, arena, &tree, NULL, NULL) == OK ? tree : NULL;
}

/* ---- Which entry ---- */

static struct str base_name(struct str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

    return slash ? str_skip(path, (size_t)(slash - path.p) + 1) : path;
}

/* The file itself, or one in the folder of that name. */
static bool names_file(struct str said, const char *path)
{
    struct str name = base_name(said), rest = str_of(path), part;

    while (name.n && str_split(&rest, '/', &part))
        if (str_eq(part, name))
            return true;
    return false;
}

static bool is_entry_of(const struct json *entry, const char *path)
{
    static const char *const KEYS[] = {"file_name", "path", "data_files", "data_path"};

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const struct json *value = json_get(entry, KEYS[i]);

        if (json_is(value, JSON_STRING) && names_file(value->text, path))
            return true;
        for (const struct json *item = json_is(value, JSON_ARRAY) ? value->child : NULL; item;
             item = item->next)
            if (json_is(item, JSON_STRING) && names_file(item->text, path))
                return true;
    }
    return false;
}

/* ---- LLaMA-Factory ---- */

static const char *or_usual(const char *said, const char *usual)
{
    return said ? said : usual;
}

static void take_llamafactory(const struct json *entry, struct arena *arena,
                              struct column_names *out)
{
    static const struct said COLUMNS[] = {
        {"prompt", AT(prompt)},     {"query", AT(input)},       {"response", AT(completion)},
        {"messages", AT(messages)}, {"system", AT(system)},     {"chosen", AT(chosen)},
        {"rejected", AT(rejected)}, {"kto_tag", AT(label)},     {NULL, 0}};
    static const struct said TAGS[] = {{"role_tag", AT(role)},
                                       {"content_tag", AT(content)},
                                       {"user_tag", AT(user)},
                                       {"assistant_tag", AT(assistant)},
                                       {NULL, 0}};
    const struct json *columns = json_get(entry, "columns");
    const struct json *formatting = json_get(entry, "formatting");

    take(columns, COLUMNS, arena, out);
    take(json_get(entry, "tags"), TAGS, arena, out);
    if (json_is(formatting, JSON_STRING) && str_is(formatting->text, "sharegpt"))
        return;
    out->prompt = or_usual(out->prompt, "instruction");
    out->input = or_usual(out->input, "input");
    out->completion = or_usual(out->completion, "output");
}

/* Is the entry one of those that the run trained on: `dataset: a,b`. */
static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list), item;

    while (list && str_split(&rest, ',', &item))
        if (str_eq(str_trim(item), name))
            return true;
    return false;
}

static bool by_info(const struct run_facts *facts, const struct dataset *dataset, const char *path,
                    struct arena *arena, struct column_names *out)
{
    static const char PREFIX[] = "dataset_info.";
    const bool is_train = is_text(dataset->split, "train");
    const char *list = facts_text(facts, is_train ? "dataset" : "eval_dataset");
    const struct json *found = NULL;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if (strncmp(s->raw_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        const struct json *entry = parsed(s->value, arena);
        const bool names_it = entry && is_entry_of(entry, path);
        if (!names_it && (!list || strcmp(list, s->raw_name + strlen(PREFIX)) != 0))
            continue;
        if (!found || (names_it && (!list || is_listed(list, str_of(s->raw_name + strlen(PREFIX))))))
            found = entry;
    }
    if (found)
        take_llamafactory(found, arena, out);
    return found != NULL;
}

/* ---- axolotl ---- */

static void take_axolotl(const struct json *entry, struct arena *arena, struct column_names *out)
{
    static const struct said FIELDS[] = {
        {"field_messages", AT(messages)},      {"message_field_role", AT(role)},
        {"message_field_content", AT(content)}, {"field_system", AT(system)},
        {"field_instruction", AT(prompt)},     {"field_input", AT(input)},
        {"field_output", AT(completion)},      {"field_prompt", AT(prompt)},
        {"field_chosen", AT(chosen)},          {"field_rejected", AT(rejected)},
        {"field_completion", AT(completion)},  {"field_label", AT(label)},
        {NULL, 0}};
    static const struct said MAPPINGS[] = {{"role", AT(role)}, {"content", AT(content)}, {NULL, 0}};
    static const struct said OLD[] = {
        {"field_human", AT(user)}, {"field_model", AT(assistant)}, {NULL, 0}};
    const struct json *type = json_get(entry, "type"), *field = json_get(entry, "field");

    take(entry, FIELDS, arena, out);
    take(entry, OLD, arena, out);
    take(json_get(entry, "message_property_mappings"), MAPPINGS, arena, out);
    take(type, FIELDS, arena, out);
    if (json_is(type, JSON_OBJECT) && !json_get(type, "field_messages") && !out->chosen) {
        out->prompt = or_usual(out->prompt, "instruction");
        out->input = or_usual(out->input, "input");
        out->completion = or_usual(out->completion, "output");
    }
    if (json_is(field, JSON_STRING) && json_is(type, JSON_STRING))
        *(str_starts(type->text, "completion") ? &out->text : &out->messages) =
            arena_strndup(arena, field->text.p, field->text.n);
}

static bool by_datasets(const struct run_facts *facts, const struct dataset *dataset,
                        const char *path, struct arena *arena, struct column_names *out)
{
    const char *name = is_text(dataset->split, "train") || !dataset->split ? "datasets"
                                                                          : "test_datasets";
    const struct json *found = NULL;

    for (int pass = 0; !found && pass < 2; pass++) /* a test file may be cut off the training data */
        for (size_t i = 0; !found && i < facts->n_settings; i++) {
            const struct setting *s = &facts->settings[i];

            if (strcmp(s->raw_name, pass == 0 ? name : "datasets") != 0)
                continue;
            const struct json *list = parsed(s->value, arena);
            for (const struct json *e = json_is(list, JSON_ARRAY) ? list->child : NULL; e && !found;
                 e = e->next)
                found = is_entry_of(e, path) ? e : NULL;
            if (!found && json_is(list, JSON_ARRAY) && list->n == 1)
                found = list->child;
        }
    if (json_is(found, JSON_OBJECT))
        take_axolotl(found, arena, out);
    return json_is(found, JSON_OBJECT);
}

/* ---- Settings of the run as a whole ---- */

static const char *raw_text(const struct run_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const char *dot = strrchr(s->raw_name, '.');

        if (s->side == SIDE_TRAIN && s->type == VALUE_TEXT && s->value && *s->value &&
            strcmp(dot ? dot + 1 : s->raw_name, name) == 0)
            return s->value;
    }
    return NULL;
}

static void by_keys(const struct run_facts *facts, struct column_names *out)
{
    static const struct {
        const char *question, *answer;
    } PAIRS[] = {{"input_key", "output_key"},        {"prompt_key", "response_key"},
                 {"prompt_column", "response_column"}, {"prompt_column", "completion_column"},
                 {"text_column", "summary_column"},  {"question_column", "answer_column"}};

    for (size_t i = 0; !out->prompt && i < sizeof PAIRS / sizeof *PAIRS; i++) {
        const char *question = raw_text(facts, PAIRS[i].question);
        const char *answer = raw_text(facts, PAIRS[i].answer);

        if (!question || !answer)
            continue;
        out->prompt = question;
        out->completion = answer;
    }
    out->chosen = out->chosen ? out->chosen : raw_text(facts, "chosen_key");
    out->rejected = out->rejected ? out->rejected : raw_text(facts, "rejected_key");
}

/* ---- What is left of it ---- */

static bool has_column(const char *columns, const char *name)
{
    struct str rest = str_of(columns), item;

    while (str_split(&rest, ',', &item))
        if (str_is(item, name))
            return true;
    return false;
}

/* What is said of another file, and a usual name that the rows have not. */
static void leave_absent(const char *columns, struct column_names *out)
{
    const char **const names[] = {&out->messages,   &out->text,   &out->prompt,
                                  &out->completion, &out->system, &out->input,
                                  &out->chosen,     &out->rejected, &out->label};

    for (size_t i = 0; columns && *columns && i < sizeof names / sizeof *names; i++)
        if (*names[i] && !has_column(columns, *names[i]))
            *names[i] = NULL;
}

/* Alpaca's usual names are those of its form, which knows more of them. */
static void leave_usual(struct column_names *out)
{
    if (is_text(out->prompt, "instruction") && (!out->input || is_text(out->input, "input")) &&
        (!out->completion || is_text(out->completion, "output")))
        out->prompt = out->input = out->completion = NULL;
    if (!out->prompt)
        out->input = NULL;
}

struct column_names data_columns_of(const struct run_facts *facts, const struct dataset *dataset,
                                    struct arena *arena)
{
    const struct source *source = facts_source(facts, dataset->source_id);
    struct column_names out = {.text = facts_text(facts, "dataset_text_field")};

    if (source && !by_info(facts, dataset, source->path, arena, &out) &&
        !by_datasets(facts, dataset, source->path, arena, &out))
        by_keys(facts, &out);
    leave_absent(dataset->columns, &out);
    leave_usual(&out);
    if (facts->run.kind == KIND_PRETRAINING && out.prompt && !out.completion) {
        out.text = out.prompt;
        out.prompt = NULL;
    }
    return out;
}

uint64_t data_columns_hash(uint64_t hash, const struct column_names *names)
{
    const char *const all[] = {names->messages, names->text,     names->prompt, names->completion,
                               names->system,   names->role,     names->content, names->input,
                               names->chosen,   names->rejected, names->label,  names->user,
                               names->assistant};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hash = hash_more(hash, all[i] ? all[i] : "\1", all[i] ? strlen(all[i]) + 1 : 1);
    return hash;
}
