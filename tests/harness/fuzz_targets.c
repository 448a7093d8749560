/* See fuzz_targets.h. Readers of files get one without a name on disk. */
#include "tests/harness/fuzz_targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/read/csv.h"
#include "core/read/pickle.h"
#include "core/read/python_literal.h"
#include "core/read/weights.h"
#include "core/read/yaml.h"
#include "core/text/jinja/jinja.h"
#include "core/text/tokenizer/tokenizer.h"
#include "importers/importer.h"
#include "importers/registry.h"

#define ARENA_BYTES ((size_t)256 << 20)

static struct arena *arena_of_target(void)
{
    struct arena *arena = arena_open(ARENA_BYTES);

    if (!arena)
        abort();
    return arena;
}

void fuzz_json(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_of_target();
    const struct json *tree, *again;
    struct error err;
    struct buf text;

    buf_init(&text, ARENA_BYTES);
    for (int comments = 0; comments < 2; comments++)
        if (json_parse(str_from((const char *)bytes, n), comments, arena, &tree, NULL, &err) ==
            OK) {
            buf_clear(&text);
            json_write(&text, tree);
            if (text.failed || json_parse(buf_view(&text), false, arena, &again, NULL, &err) != OK)
                abort(); /* what is written must be JSON */
        }
    buf_free(&text);
    arena_close(arena);
}

static int take_value(void *ctx, const struct json *value, struct error *err)
{
    (void)err;
    *(size_t *)ctx += value->n;
    return OK;
}

static int take_row(void *ctx, const struct json_row *row, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < row->n; i++)
        *(size_t *)ctx += row->fields[i].text.n + row->fields[i].key.n;
    return OK;
}

void fuzz_json_stream(const uint8_t *bytes, size_t n)
{
    static const char *const KEYS[] = {"log_history", NULL};

    for (size_t i = 0; i < 2; i++) {
        size_t seen = 0;
        const struct json_stream handler = {
            .array_key = KEYS[i], .member = take_value, .row = take_row, .ctx = &seen};
        struct source_file *file;
        struct error err;
        bool cut;

        if (source_open_bytes(&file, "fuzz", bytes, n, &err) != OK)
            abort();
        (void)!json_stream(file, &handler, &cut, &err);
        source_close(file);
    }
}

void fuzz_python_literal(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_of_target();
    const struct json *tree;
    struct error err;
    size_t used = 0;

    if (python_literal_parse(str_from((const char *)bytes, n), arena, &tree, &used, &err) == OK &&
        used > n)
        abort();
    arena_close(arena);
}

void fuzz_pickle(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_of_target();
    struct pickle pickle;
    struct error err;
    struct buf text;

    buf_init(&text, (size_t)1 << 24);
    if (pickle_parse(bytes, n, arena, &pickle, &err) == OK) {
        pickle_text(&text, pickle.top);
        (void)pickle_attributes(pickle.top);
    }
    buf_free(&text);
    arena_close(arena);
}

void fuzz_yaml(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_of_target();
    struct str text = str_from((const char *)bytes, n);
    const struct json *tree;
    struct error err;

    (void)!yaml_parse(text, arena, &tree, &err);
    (void)!yaml_front_matter(text, arena, &tree, &err);
    arena_close(arena);
}

static int take_cells(void *ctx, const struct csv_row *row, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < row->n; i++)
        *(size_t *)ctx += row->cells[i].n;
    return OK;
}

void fuzz_csv(const uint8_t *bytes, size_t n)
{
    size_t seen = 0;
    const struct csv_handler handler = {take_cells, &seen};
    struct source_file *file;
    struct error err;

    if (source_open_bytes(&file, "fuzz", bytes, n, &err) != OK)
        abort();
    (void)!csv_read_rows(file, '\0', &handler, &err);
    source_close(file);
}

/* ---- Readers of files ---- */

static int file_of(const uint8_t *bytes, size_t n, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

void fuzz_safetensors(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_of_target();
    const struct weight_options options = {.values_up_to = 1 << 20, .products_up_to = 1 << 20};
    struct weights tensors;
    struct error err;
    char path[64];
    int fd = file_of(bytes, n, path);

    (void)!weights_read(path, &options, arena, &tensors, &err);
    close(fd);
    arena_close(arena);
}

static void import_into_nothing(const char *id, const uint8_t *bytes, size_t n)
{
    const struct importer *importer = importer_by_id(id);
    const struct run run = {.key = "key", .folder = "/", .name = "run", .project = "/"};
    struct arena *arena = arena_open(ARENA_BATCH_BYTES);
    struct sink *sink = NULL;
    struct error err;
    char path[64];
    int fd = file_of(bytes, n, path);
    struct source source = {.path = path, .importer = id, .role = importer->role};
    struct import import = {.path = path, .run = &run, .arena = arena};

    if (!arena || sink_open_null(&sink, &err) != OK || sink_begin(sink, &run, &source, &err) != OK)
        abort();
    import.sink = sink;
    if (importer->run(&import, &err) == OK)
        (void)!sink_end(sink, import.read_to, import.state, &err);
    else
        sink_abort(sink);
    sink_close(sink);
    close(fd);
    arena_close(arena);
}

void fuzz_console_log(const uint8_t *bytes, size_t n)
{
    import_into_nothing("console_log", bytes, n);
}

void fuzz_hf_trainer_state(const uint8_t *bytes, size_t n)
{
    import_into_nothing("hf_trainer_state", bytes, n);
}

/* ---- Tokenizers ---- */

static void encode_and_decode(const struct tokenizer *tokenizer, struct str text)
{
    struct tokenizer_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;
    struct buf decoded;

    if (tokenizer_scratch_open(&scratch, &err) != OK)
        abort();
    buf_init(&decoded, (size_t)1 << 24);
    for (int special = 0; special < 2; special++) {
        if (tokenizer_encode(tokenizer, scratch, text, special, &tokens, &err) != OK)
            continue;
        for (size_t i = 0; i < tokens.n; i++)
            if (tokens.begin[i] > tokens.end[i] || tokens.end[i] > text.n)
                abort();
        (void)!tokenizer_decode(tokenizer, tokens.ids, tokens.n, special, &decoded, &err);
    }
    buf_free(&decoded);
    tokens_free(&tokens);
    tokenizer_scratch_close(scratch);
}

/* A tokenizer.json, and after a NUL a text to encode. */
void fuzz_tokenizer(const uint8_t *bytes, size_t n)
{
    static const char TEXT[] =
        "Hello  world, don't 12345\n\n\xE6\x97\xA5 e\xCC\x81 <s>\xF0\x9F\x98\x80\xFF";
    size_t n_settings = strnlen((const char *)bytes, n);
    struct str text = n_settings < n
                          ? str_from((const char *)bytes + n_settings + 1, n - n_settings - 1)
                          : str_of(TEXT);
    struct tokenizer *tokenizer = NULL;
    struct error err;

    if (tokenizer_load_text(&tokenizer, str_from((const char *)bytes, n_settings), &err) != OK)
        return;
    encode_and_decode(tokenizer, text);
    tokenizer_close(tokenizer);
}

/* A template on a small conversation; what it takes is bounded, so that a hang is seen. */
void fuzz_jinja(const uint8_t *bytes, size_t n)
{
    static const char context[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\\u00e9 "
                                  "<b>\"}], \"l\": [3, 1.5, null], "
                                  "\"d\": {\"k\": \"v\"}, \"n\": 12345678901234567890}";
    const struct jinja_settings settings = {.steps = 20000,
                                            .memory_bytes = (size_t)8 << 20,
                                            .output_bytes = (size_t)1 << 20,
                                            .wants_pieces = true};
    struct arena *arena = arena_of_target();
    struct jinja_program *program;
    struct jinja_output output = {0};
    const struct json *tree;

    if (json_parse_exact(str_of(context), arena, &tree, NULL) != OK)
        abort();
    if (jinja_compile(&program, str_from((const char *)bytes, n), NULL, NULL) == OK) {
        (void)!jinja_render(program, tree, &settings, &output, NULL, NULL);
        jinja_close(program);
    }
    jinja_output_free(&output);
    arena_close(arena);
}
