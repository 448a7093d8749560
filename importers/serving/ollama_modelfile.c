/* An Ollama Modelfile (FORMATS.md B21): the model, its adapter, the template, the system text, example
 * turns and parameters with which it is served. Whether the template renders is not asked here. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/source.h"
#include "core/text/go/modelfile.h"
#include "importers/importer.h"
#include "importers/peek.h"

#define ARENA_BYTES ((size_t)128 << 20)     /* for a file of the greatest size */

/* ---- probe ---- */

static bool is_named(const struct peek *peek)
{
    return peek_name_is(peek, "modelfile") || peek_name_starts(peek, "modelfile.") ||
           peek_name_starts(peek, "modelfile-") || peek_name_starts(peek, "modelfile_") ||
           peek_name_ends(peek, ".modelfile");
}

struct looks {
    bool has_from, is_first_from;
    size_t n_instructions, n_others;    /* lines that begin with one, with another word */
};

/* PARAMETER and the like begin lines; those inside of a quoted text count as other words. */
static struct looks look_at(struct str head)
{
    struct looks looks = {0};
    struct str line;

    if (str_starts(head, "\xEF\xBB\xBF"))
        head = str_skip(head, 3);
    while (str_split(&head, '\n', &line)) {
        size_t n = 0;

        line = str_trim(line);
        if (line.n == 0 || line.p[0] == '#')
            continue;
        while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
            n++;
        bool is_from = str_is_ignoring_case(str_first(line, n), "from");

        looks.is_first_from |= is_from && looks.n_instructions + looks.n_others == 0;
        looks.has_from |= is_from;
        if (n < line.n && modelfile_is_instruction(str_first(line, n)))
            looks.n_instructions++;
        else
            looks.n_others++;
    }
    return looks;
}

/* FROM alone may be a Dockerfile's, whose other words are none of ours. */
static int probe(const struct peek *peek)
{
    struct looks looks = look_at(peek->head);

    if (is_named(peek))
        return looks.has_from ? 96 : looks.n_instructions > 0 ? 70 : 0;
    if (!looks.is_first_from || looks.n_instructions < 2)
        return 0;
    return looks.n_others == 0 || str_find(peek->head, "\nTEMPLATE \"\"\"") >= 0 ||
                   str_find(peek->head, "\nPARAMETER ") >= 0
               ? 72
               : 0;
}

/* ---- settings ---- */

struct reading {
    struct import *import;
    struct modelfile file;
    struct error *err;
};

static int put_text(struct reading *r, const char *name, struct str text, int64_t line)
{
    const struct json value = {.type = JSON_STRING, .text = text, .line = line};

    return import_own_setting(r->import, SIDE_SERVE, name, &value, r->err);
}

static int put_last(struct reading *r, const char *instruction, const char *name)
{
    const struct modelfile_instruction *found = modelfile_last(&r->file, instruction);

    return found ? put_text(r, name, found->value, found->line) : OK;
}

/* A blob of Ollama's own store is named by the hash of its content: sha256-HEX. */
static int put_hash(struct reading *r, struct str model, int64_t line)
{
    ptrdiff_t at = str_find(model, "blobs/sha256-");
    struct str hash = at < 0 ? str_of("") : str_skip(model, (size_t)at + 13);

    if (hash.n != 64)
        return OK;
    for (size_t i = 0; i < hash.n; i++)
        if (!((hash.p[i] >= '0' && hash.p[i] <= '9') || (hash.p[i] >= 'a' && hash.p[i] <= 'f')))
            return OK;
    return put_text(r, "sha256", hash, line);
}

/* The first FROM is the model. Others are further files, as a projector; they are told as a list. */
static int put_model(struct reading *r)
{
    struct json items[16] = {{0}};
    struct json list = {.type = JSON_ARRAY, .child = items};
    int64_t line = NONE;
    int rc = OK;

    for (size_t i = 0; i < r->file.n && list.n < 16 && rc == OK; i++) {
        const struct modelfile_instruction *from = &r->file.items[i];

        if (strcmp(from->name, "from") != 0)
            continue;
        items[list.n] = (struct json){.type = JSON_STRING, .text = from->value, .line = from->line};
        if (list.n > 0)
            items[list.n - 1].next = &items[list.n];
        line = list.n == 0 ? from->line : line;
        rc = list.n++ == 0 ? put_text(r, "model", from->value, from->line) : OK;
    }
    list.line = line;
    if (rc == OK && list.n > 0)
        rc = put_hash(r, items[0].text, line);
    return rc == OK && list.n > 1
               ? import_own_setting(r->import, SIDE_SERVE, "model_files", &list, r->err)
               : rc;
}

/* [{"path": …}]: Ollama takes one adapter and applies it always. */
static int put_adapter(struct reading *r)
{
    const struct modelfile_instruction *adapter = modelfile_last(&r->file, "adapter");

    if (!adapter)
        return OK;
    struct json applied = {.type = JSON_TRUE, .key = str_of("applied")};
    struct json path = {.type = JSON_STRING,
                        .key = str_of("path"),
                        .text = adapter->value,
                        .next = &applied};
    struct json object = {.type = JSON_OBJECT, .child = &path, .n = 2};
    const struct json list = {
        .type = JSON_ARRAY, .child = &object, .n = 1, .line = adapter->line};

    return import_own_setting(r->import, SIDE_SERVE, "adapter", &list, r->err);
}

/* A list of what every instruction of this name and key says. */
static struct json *list_of(struct reading *r, const char *name, const char *key,
                            struct json *(*item)(struct reading *r,
                                                 const struct modelfile_instruction *from))
{
    struct json *list = arena_alloc(r->import->arena, sizeof *list), **end;

    if (!list)
        return NULL;
    *list = (struct json){.type = JSON_ARRAY};
    end = &list->child;
    for (size_t i = 0; i < r->file.n; i++) {
        const struct modelfile_instruction *from = &r->file.items[i];
        struct json *made;

        if (strcmp(from->name, name) != 0 || (key && strcmp(from->key, key) != 0))
            continue;
        made = item(r, from);
        if (!made)
            return NULL;
        if (list->n++ == 0)
            list->line = from->line;
        *end = made;
        end = &made->next;
    }
    return list;
}

static struct json *stop_of(struct reading *r, const struct modelfile_instruction *from)
{
    struct json *stop = arena_alloc(r->import->arena, sizeof *stop);

    if (stop)
        *stop = (struct json){.type = JSON_STRING, .text = from->value, .line = from->line};
    return stop;
}

static struct json *turn_of(struct reading *r, const struct modelfile_instruction *from)
{
    struct json *turn = arena_array(r->import->arena, 3, sizeof *turn);

    if (!turn)
        return NULL;
    turn[0] = (struct json){.type = JSON_OBJECT, .child = &turn[1], .n = 2, .line = from->line};
    turn[1] = (struct json){.type = JSON_STRING,
                            .key = str_of("role"),
                            .text = str_of(from->key),
                            .next = &turn[2]};
    turn[2] = (struct json){
        .type = JSON_STRING, .key = str_of("content"), .text = from->value};
    return turn;
}

static int put_lists(struct reading *r)
{
    const struct json *stops = list_of(r, "parameter", "stop", stop_of);
    const struct json *turns = list_of(r, "message", NULL, turn_of);
    int rc = OK;

    if (!stops || !turns)
        return error_set(r->err, E_NOMEM, "a Modelfile");
    if (stops->n > 0)
        rc = import_own_setting(r->import, SIDE_SERVE, "stop", stops, r->err);
    if (rc == OK && turns->n > 0)
        rc = import_own_setting(r->import, SIDE_SERVE, "example_messages", turns, r->err);
    return rc;
}

static enum value_type type_of(struct str value)
{
    int64_t integer;
    double number;

    if (number_parse_int(value, &integer))
        return VALUE_INT;
    if (number_parse(value, &number))
        return VALUE_FLOAT;
    return str_is(value, "true") || str_is(value, "false") ? VALUE_BOOL : VALUE_TEXT;
}

/* num_predict below zero means no limit, or the rest of the context: it is no number of tokens. */
static int put_parameter(struct reading *r, const struct modelfile_instruction *parameter)
{
    enum value_type type = type_of(parameter->value);
    const struct setting unlimited = {.side = SIDE_SERVE,
                                      .raw_name = parameter->key,
                                      .value = parameter->value.p,
                                      .type = type,
                                      .line = parameter->line};

    if (strcmp(parameter->key, "num_predict") == 0 && str_starts(parameter->value, "-"))
        return sink_setting(r->import->sink, &unlimited, r->err);
    return import_setting(r->import, SIDE_SERVE, parameter->key, parameter->value.p, type,
                          parameter->line, r->err);
}

static int put_parameters(struct reading *r)
{
    int rc = OK;

    for (size_t i = 0; i < r->file.n && rc == OK; i++) {
        const struct modelfile_instruction *item = &r->file.items[i];

        if (strcmp(item->name, "parameter") == 0 && strcmp(item->key, "stop") != 0)
            rc = put_parameter(r, item);
        else if (strcmp(item->name, "renderer") == 0 || strcmp(item->name, "parser") == 0 ||
                 strcmp(item->name, "requires") == 0)
            rc = put_text(r, item->name, item->value, item->line);
    }
    return rc;
}

static int put_all(struct reading *r)
{
    int rc = put_text(r, "engine", str_of("ollama"), NONE);

    if (rc == OK)
        rc = put_model(r);
    if (rc == OK)
        rc = put_adapter(r);
    if (rc == OK)
        rc = put_last(r, "template", "go_template");
    if (rc == OK)
        rc = put_last(r, "system", "system");
    if (rc == OK)
        rc = put_lists(r);
    return rc == OK ? put_parameters(r) : rc;
}

/* Ollama refuses the file for each of them; what could be read is kept all the same. */
static int note_complaints(struct reading *r)
{
    int rc = OK;

    for (size_t i = 0; i < r->file.n_complaints && rc == OK; i++)
        rc = sink_note(r->import->sink, NOTE_WARN, r->file.complaints[i].line, NONE, r->err, "%s",
                       r->file.complaints[i].message);
    if (r->file.n_complaints > 0)
        r->import->state = SOURCE_DAMAGED;
    return rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import, .err = err};
    struct error why = {0};
    char *text = NULL;
    size_t n = 0;
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "instructions";
    if (rc != OK || is_odd)
        return rc;
    struct arena *arena = arena_open(ARENA_BYTES);
    if (!arena)
        return error_set(err, E_NOMEM, "a Modelfile");
    rc = source_slurp(import->path, MODELFILE_BYTES, &text, &n, &why);
    if (rc == OK)
        rc = modelfile_read(str_from(text, n), arena, &reading.file, &why);
    if (rc != OK) {
        rc = import_note_error(import, &why, err);
    } else {
        import->n_rows = (int64_t)reading.file.n;
        rc = put_all(&reading);
    }
    if (rc == OK)
        rc = note_complaints(&reading);
    free(text);
    arena_close(arena);
    return rc;
}

const struct importer importer_ollama_modelfile = {
    .id = "ollama_modelfile",
    .title = "a Modelfile of Ollama",
    .hint = "Modelfile",
    .supplies = NEEDS_SERVING,
    .version = 1,
    .role = "served",
    .probe = probe,
    .run = run,
};
