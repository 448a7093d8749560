/* Settings of no particular framework: a JSON object or YAML mapping that names at least two known
 * settings, and shell scripts that start a trainer (their --name value pairs). */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/shell_words.h"
#include "core/read/source.h"
#include "importers/config/settings_document.h"

#define SCRIPT_MAX_BYTES ((size_t)4 << 20)
#define LIST_MAX_BYTES   ((size_t)16 << 10)

/* Words of a command that starts training. */
static const char *const STARTERS[] = {
    "torchrun", "accelerate", "llamafactory-cli", "axolotl", "swift",  "deepspeed",
    "trl",      "tune",       "litgpt",           "python",  "python3"};

static bool is_script_name(const struct peek *peek)
{
    return peek_name_ends(peek, ".sh") || peek_name_ends(peek, ".bash") ||
           peek_name_ends(peek, ".slurm") || peek_name_ends(peek, ".sbatch") ||
           peek_name_is(peek, "cmd.txt") || peek_name_is(peek, "command.txt");
}

/* W&B wraps each value ({"value": …}); that is another importer's matter. */
static bool is_wandb(const struct peek *peek)
{
    return peek_has_key(peek, "_wandb") || peek_has_key(peek, "wandb_version");
}

/* torchtune's recipes that train nothing: its own importer takes the others. */
static bool is_other_recipe(const struct peek *peek)
{
    return peek_has_key(peek, "_component_") && str_find(peek->head, "torchtune.") >= 0;
}

static int probe(const struct peek *peek)
{
    if (is_script_name(peek))
        return str_find(peek->head, "--") >= 0 ? 50 : 0;
    bool is_json =
        peek_is_object(peek) && (peek_name_ends(peek, ".json") || peek_name_ends(peek, ".jsonc"));
    bool is_yaml = peek_is_yaml_name(peek) && peek_first(peek) != '[';
    if ((!is_json && !is_yaml) || is_wandb(peek) || is_other_recipe(peek))
        return 0;
    size_t n = peek_known_settings(peek);
    if (n >= 2)
        return 60;
    /* One known setting is enough where the name says what the file is for. */
    bool is_named = peek_name_ends(peek, "_config.json") || peek_name_ends(peek, "_args.json") ||
                    peek_name_ends(peek, "_config.yaml") || peek_name_is(peek, "hparams.yaml");
    return n == 1 && is_named ? 55 : 0;
}

/* ---- Command lines ---- */

static bool is_starter(const struct shell_command *command)
{
    for (size_t i = 0; i < command->n; i++) {
        const char *slash = strrchr(command->words[i].text, '/');
        const char *name = slash ? slash + 1 : command->words[i].text;

        for (size_t k = 0; k < sizeof STARTERS / sizeof *STARTERS; k++)
            if (strcmp(name, STARTERS[k]) == 0)
                return true;
    }
    return false;
}

static bool is_option(const struct shell_word *word)
{
    double number;

    return word->text[0] == '-' && word->text[1] && !number_parse(str_of(word->text), &number);
}

static enum value_type type_of_text(const char *text)
{
    double number;
    int64_t integer;
    struct str value = str_of(text);

    if (str_is_ignoring_case(value, "true") || str_is_ignoring_case(value, "false"))
        return VALUE_BOOL;
    if (number_parse_int(value, &integer))
        return VALUE_INT;
    return number_parse_any(value, &number) ? VALUE_FLOAT : VALUE_TEXT;
}

static int put_option(struct import *import, const char *name, const char *value,
                      const struct shell_word *word, struct error *err)
{
    struct buf plain;
    enum value_type type = type_of_text(value);
    bool is_list = value[0] == '[';
    int rc;

    buf_init(&plain, 256);
    for (const char *p = name; *p; p++)
        buf_putc(&plain, *p == '-' ? '_' : *p);
    if (plain.failed || plain.n == 0) {
        buf_free(&plain);
        return OK;
    }
    if (type == VALUE_BOOL)
        value = str_is_ignoring_case(str_of(value), "true") ? "true" : "false";
    import->n_rows++;
    rc = import_setting(import, SIDE_TRAIN, plain.p, value, is_list ? VALUE_LIST : type, word->line,
                        err);
    if (rc == OK && word->has_variable)
        rc = sink_note(import->sink, NOTE_INFO, word->line, NONE, err,
                       "%s: the shell's variable is not known, its text was kept", plain.p);
    buf_free(&plain);
    return rc;
}

/* Values up to the next option: none is a switch, several are a list. */
static int put_values(struct import *import, const struct shell_command *command, size_t *i,
                      struct error *err)
{
    const struct shell_word *option = &command->words[*i];
    const char *name = option->text + strspn(option->text, "-");
    size_t first = *i + 1, end = first;
    struct buf list;
    int rc;

    /* torchrun --nproc_per_node 8 train.py …: the script is no value of the option */
    while (end < command->n && !is_option(&command->words[end]) &&
           (end == first || !str_ends(str_of(command->words[end].text), ".py")))
        end++;
    *i = end;
    if (end == first)
        return put_option(import, name, "true", option, err);
    if (end == first + 1)
        return put_option(import, name, command->words[first].text, &command->words[first], err);
    buf_init(&list, LIST_MAX_BYTES);
    for (size_t k = first; k < end; k++) {
        buf_putc(&list, k == first ? '[' : ',');
        json_write_string(&list, str_of(command->words[k].text));
    }
    buf_putc(&list, ']');
    rc = list.failed ? OK : put_option(import, name, list.p, &command->words[first], err);
    buf_free(&list);
    return rc;
}

static int import_command(struct import *import, const struct shell_command *command,
                          struct error *err)
{
    size_t i = 0;
    int rc = OK;

    while (i < command->n && rc == OK) {
        const char *text = command->words[i].text;
        const char *equals = strchr(text, '=');

        if (strncmp(text, "--", 2) != 0 || !text[2]) {
            i++;
        } else if (equals) {
            struct buf name;

            buf_init(&name, 256);
            buf_add(&name, text + 2, (size_t)(equals - text - 2));
            if (!name.failed && name.n)
                rc = put_option(import, name.p, equals + 1, &command->words[i], err);
            buf_free(&name);
            i++;
        } else {
            rc = put_values(import, command, &i, err);
        }
    }
    return rc;
}

static int run_script(struct import *import, struct error *err)
{
    char *text = NULL;
    size_t n = 0, n_commands = 0;
    struct error why = {0};
    struct shell_command command;
    struct shell_reader reader = {.line = 1};
    int rc = source_slurp(import->path, SCRIPT_MAX_BYTES, &text, &n, &why);

    if (rc != OK)
        return import_note_error(import, &why, err);
    reader.text = str_from(text, n);
    while (rc == OK && shell_next(&reader, import->arena, &command)) {
        if (is_starter(&command)) {
            rc = import_command(import, &command, err);
            n_commands++;
        }
    }
    free(text);
    if (rc == OK && arena_failed(import->arena)) {
        arena_reset(import->arena);
        rc = sink_note(import->sink, NOTE_WARN, reader.line, NONE, err,
                       "too many words, the rest of the script was not read");
    }
    if (rc == OK && n_commands == 0)
        rc = sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                       "no command that starts a known trainer");
    return rc;
}

/* ---- The importer ---- */

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    struct peek peek = {.name = slash ? slash + 1 : import->path};
    bool is_odd;

    import->n_rows_are = "settings";
    if (!is_script_name(&peek))
        return settings_document(import, NULL, err);
    int rc = import_oddity(import, &is_odd, err);
    return rc != OK || is_odd ? rc : run_script(import, err);
}

const struct importer importer_settings_file = {
    .id = "settings_file",
    .title = "a settings file or start script of any trainer",
    .hint = "the JSON or YAML file, or the shell script, that the training was started with",
    .supplies = NEEDS_SETTINGS,
    .version = 2,
    .role = "config",
    .probe = probe,
    .run = run,
};
