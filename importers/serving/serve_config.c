/* A YAML or JSON file that says how a server runs: vLLM's and SGLang's own --config, docker compose,
 * Kubernetes. Containers are found wherever they stand in the tree. */
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "importers/peek.h"
#include "importers/serving/server_command.h"

#define DEPTH_MAX 24

/* Keys of vLLM's and SGLang's configs that no training file has. */
static const char *const VLLM_KEYS[] = {"max-model-len", "lora-modules", "enable-lora",
                                        "served-model-name", "gpu-memory-utilization",
                                        "tensor-parallel-size", "max-lora-rank", "max-num-seqs",
                                        "chat-template", "max_model_len", "served_model_name",
                                        "gpu_memory_utilization", "lora_modules", "enable_lora"};
static const char *const SGLANG_KEYS[] = {"model-path", "context-length", "lora-paths",
                                          "mem-fraction-static", "tokenizer-path", "lora_paths",
                                          "mem_fraction_static", "max-loras-per-batch"};

static size_t count_keys(const struct peek *peek, const char *const *keys, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += peek_has_key(peek, keys[i]);
    return found;
}

static enum server server_of_keys(const struct peek *peek)
{
    size_t vllm = count_keys(peek, VLLM_KEYS, sizeof VLLM_KEYS / sizeof *VLLM_KEYS);
    size_t sglang = count_keys(peek, SGLANG_KEYS, sizeof SGLANG_KEYS / sizeof *SGLANG_KEYS);

    if (vllm < 2 && sglang < 2)
        return SERVER_NONE;
    return sglang > vllm ? SERVER_SGLANG : SERVER_VLLM;
}

static bool has_containers(const struct peek *peek)
{
    return str_find(peek->head, "image:") >= 0 || str_find(peek->head, "containers:") >= 0 ||
           str_find(peek->head, "services:") >= 0;
}

static int probe(const struct peek *peek)
{
    if (!peek_is_yaml_name(peek) || peek_first(peek) == '[')
        return 0;
    if (has_containers(peek) && server_is_named(peek->head))
        return 88;
    /* A trainer that runs vLLM itself has the same keys beside its own. */
    if (peek_known_settings(peek) >= 2 || server_of_keys(peek) == SERVER_NONE)
        return 0;
    return 80;
}

/* ---- Containers ---- */

struct reading {
    struct import *import;
    struct error *err;
    struct server_settings *settings;
    int64_t n_containers;
    const struct json *chosen;  /* the container that is read */
    bool chosen_adapts;
};

struct words {
    struct shell_word *words;
    size_t n, capacity;
};

static void add_word(struct reading *r, struct words *list, struct shell_word word)
{
    struct shell_word *room =
        arena_room(r->import->arena, list->words, list->n, &list->capacity, sizeof *room);

    if (!room)
        return;
    list->words = room;
    list->words[list->n++] = word;
}

/* A list of words, or a text as a shell reads it (all its commands: `sh -c "…"` holds one). */
static void add_words(struct reading *r, struct words *list, const struct json *value)
{
    if (json_is(value, JSON_STRING)) {
        struct shell_reader reader = {.text = value->text, .line = value->line};
        struct shell_command command;

        while (shell_next(&reader, r->import->arena, &command))
            for (size_t i = 0; i < command.n; i++)
                add_word(r, list, command.words[i]);
        return;
    }
    for (const struct json *item = json_is(value, JSON_ARRAY) ? value->child : NULL; item;
         item = item->next) {
        const char *before = list->n > 0 ? list->words[list->n - 1].text : "";
        bool is_script = json_is(item, JSON_STRING) &&
                         (strcmp(before, "-c") == 0 || strcmp(before, "-lc") == 0);
        if (is_script)
            add_words(r, list, item);
        else if (item->type == JSON_STRING || item->type == JSON_NUMBER)
            add_word(r, list,
                     (struct shell_word){
                         arena_strndup(r->import->arena, item->text.p, item->text.n), item->line,
                         str_find(item->text, "$") >= 0});
    }
}

/* {NAME: value}, ["NAME=value"], [{name: NAME, value: value}] */
static int take_environment(struct reading *r, const struct json *value)
{
    int rc = OK;

    for (const struct json *item = value ? value->child : NULL; item && rc == OK;
         item = item->next) {
        struct str name = item->key, text = item->text;
        const struct json *from = item;

        if (value->type == JSON_ARRAY && item->type == JSON_OBJECT) {
            from = json_get(item, "value");
            name = json_is(json_get(item, "name"), JSON_STRING) ? json_get(item, "name")->text
                                                                 : (struct str){NULL, 0};
            text = from ? from->text : (struct str){NULL, 0};
        } else if (value->type == JSON_ARRAY) {
            if (!str_split(&text, '=', &name))
                continue;
        }
        if (!from || (from->type != JSON_STRING && from->type != JSON_NUMBER) || !name.n)
            continue;
        rc = server_settings_variable(r->settings, name,
                                      arena_strndup(r->import->arena, text.p ? text.p : "", text.n),
                                      from->line, r->err);
    }
    return rc;
}

static bool container_command(struct reading *r, const struct json *object, struct server_command *out)
{
    static const char *const WORDS[] = {"entrypoint", "command", "args"};
    const struct json *image = json_get(object, "image");
    struct words list = {0};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        add_words(r, &list, json_get(object, WORDS[i]));
    enum server server = json_is(image, JSON_STRING)
                             ? server_of_image(arena_strndup(r->import->arena, image->text.p,
                                                             image->text.n))
                             : SERVER_NONE;
    if (server_command_find(list.words, list.n, out))
        return true;
    *out = (struct server_command){server, list.words, server == SERVER_OLLAMA ? 0 : list.n};
    return server != SERVER_NONE;
}

static bool environment_adapts(const struct json *object)
{
    static const char NAME[] = "LORA_ADAPTERS";
    const struct json *value = json_get(object, "environment");

    for (const struct json *item = value ? value->child : NULL; item; item = item->next)
        if (str_is(item->key, NAME) || str_starts(item->text, NAME))
            return true;
    return false;
}

/* The first that runs a server, or the first with an adapter where several do. */
static void choose_container(struct reading *r, const struct json *object)
{
    struct server_command command;

    if (!container_command(r, object, &command))
        return;
    bool adapts = server_command_adapts(&command) || environment_adapts(object);
    r->n_containers++;
    if (r->chosen && (r->chosen_adapts || !adapts))
        return;
    r->chosen = object;
    r->chosen_adapts = adapts;
}

static int take_container(struct reading *r, const struct json *object)
{
    struct server_command command;

    if (!container_command(r, object, &command))
        return OK;
    if (object != r->chosen)
        return sink_note(r->import->sink, NOTE_INFO, object->line, NONE, r->err,
                         r->chosen_adapts ? "another server is started here, of the file the first one "
                                            "with an adapter was read"
                                          : "another server is started here, of the file the first one "
                                            "was read");
    int rc = server_settings_open(&r->settings, r->import, command.server, r->err);
    if (rc == OK)
        rc = server_settings_command(r->settings, &command, r->err);
    if (rc == OK)
        rc = take_environment(r, json_get(object, "environment"));
    return rc == OK ? take_environment(r, json_get(object, "env")) : rc;
}

/* Once to choose, once to read. */
static int walk(struct reading *r, const struct json *value, int depth, bool is_choosing)
{
    int rc = OK;

    if (depth > DEPTH_MAX)
        return OK;
    if (value->type == JSON_OBJECT &&
        (json_get(value, "image") || json_get(value, "command") || json_get(value, "args"))) {
        if (is_choosing)
            choose_container(r, value);
        else
            rc = take_container(r, value);
    }
    bool is_nested = value->type == JSON_OBJECT || value->type == JSON_ARRAY;
    for (const struct json *child = is_nested ? value->child : NULL; child && rc == OK;
         child = child->next)
        if (depth > 0 || !str_starts(child->key, "x-"))     /* compose: a piece for anchors */
            rc = walk(r, child, depth + 1, is_choosing);
    return rc;
}

/* ---- A server's own config ---- */

static int take_members(struct reading *r, const struct json *tree, enum server server)
{
    int rc = server_settings_open(&r->settings, r->import, server, r->err);

    for (const struct json *child = tree->child; child && rc == OK; child = child->next)
        rc = server_settings_member(
            r->settings, arena_strndup(r->import->arena, child->key.p, child->key.n), child, r->err);
    return rc;
}

static enum server server_of_tree(const struct json *tree)
{
    size_t vllm = 0, sglang = 0;

    for (size_t i = 0; i < sizeof VLLM_KEYS / sizeof *VLLM_KEYS; i++)
        vllm += json_get(tree, VLLM_KEYS[i]) != NULL;
    for (size_t i = 0; i < sizeof SGLANG_KEYS / sizeof *SGLANG_KEYS; i++)
        sglang += json_get(tree, SGLANG_KEYS[i]) != NULL;
    return sglang > vllm ? SERVER_SGLANG : vllm ? SERVER_VLLM : SERVER_NONE;
}

static int run(struct import *import, struct error *err)
{
    struct reading r = {.import = import, .err = err};
    const struct json *tree;
    int rc = import_yaml_documents(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    if (tree->type != JSON_OBJECT && tree->type != JSON_ARRAY)
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err,
                         "not a mapping of settings");
    enum server server = server_of_tree(tree);
    bool is_own = server != SERVER_NONE && !json_get(tree, "services") && !json_get(tree, "spec");
    if (is_own)
        rc = take_members(&r, tree, server);
    else if ((rc = walk(&r, tree, 0, true)) == OK)
        rc = walk(&r, tree, 0, false);
    if (rc == OK && r.settings)
        rc = server_put_others(import, r.n_containers - 1, err);
    if (rc == OK && r.settings)
        rc = server_settings_end(r.settings, err);
    else if (rc == OK)
        rc = sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                       "no container that runs a known server");
    server_settings_close(r.settings);
    return rc;
}

const struct importer importer_serve_config = {
    .id = "serve_config",
    .title = "a server's configuration",
    .hint = "the YAML of vLLM --config, SGLang --config, docker compose or Kubernetes",
    .supplies = NEEDS_SERVING,
    .version = 2,
    .role = "served",
    .probe = probe,
    .run = run,
};
