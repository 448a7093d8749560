/* The pass over rows: each becomes hashes and counts; and single rows again, for their texts. */
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/facts/data_parts.h"
#include "core/facts/data_words.h"
#include "core/facts/dataset_shards.h"
#include "core/similar/normal.h"

#define ROW_ARENA ((size_t)512 << 20)

enum { FIRST_ROWS = 1024, ROWS_BETWEEN = 256, SHORT_BYTES = 64, SEEN_SLOTS = 4096, MANY_TARGETS = 1024 };

/* ---- What belongs to the input besides the prompt ---- */

static bool is_one_of(struct str name, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* A question about a passage or a picture is another one with another passage. */
static const char *const CONTEXT[] = {"context",  "passage", "document", "documents", "article",
                                      "paragraph", "schema",  "table",    "background", "evidence",
                                      "story",    "hint",    "choices",  "options",   "tools",
                                      "functions", "knowledge", "code",   NULL};
static const char *const MEDIA[] = {"image", "images", "audio", "audios", "video", "videos", "file_name",
                                    "image_path", "image_id", "audio_path", NULL};

bool data_is_context(struct str column)
{
    return is_one_of(column, CONTEXT) || is_one_of(column, MEDIA);
}

/* A picture by its path or its bytes; of one whose bytes were not read nothing tells it apart. */
static bool says_something(const struct json *value)
{
    if (value->type == JSON_STRING)
        return value->text.n > 0;
    if (value->type == JSON_NUMBER)
        return true;
    for (const struct json *child = value->child; child; child = child->next)
        if (says_something(child))
            return true;
    return false;
}

static uint64_t hash_value(uint64_t hash, const struct json *value)
{
    const unsigned char type = (unsigned char)value->type;

    hash = hash_more(hash, &type, 1);
    hash = hash_more(hash, value->key.p ? value->key.p : "", value->key.n);
    if (value->text.n)
        hash = hash_more(hash, value->text.p, value->text.n);
    for (const struct json *child = value->child; child; child = child->next)
        hash = hash_value(hash, child);
    return hash;
}

static bool is_text_part(const struct json *part)
{
    const struct json *type = json_get(part, "type");

    return json_is(part, JSON_STRING) || (json_is(type, JSON_STRING) && str_is(type->text, "text"));
}

static void hash_parts(const struct json *turns, struct data_row *out)
{
    for (const struct json *turn = turns ? turns->child : NULL; turn; turn = turn->next) {
        const struct json *content = json_get(turn, "content");

        for (const struct json *part = json_is(content, JSON_ARRAY) ? content->child : NULL; part;
             part = part->next)
            if (!is_text_part(part))
                out->key = hash_value(out->key, part);
    }
}

static void hash_context(const struct conversation *row, struct data_row *out)
{
    for (const struct json *value = json_is(row->row, JSON_OBJECT) ? row->row->child : NULL; value;
         value = value->next) {
        bool is_media = is_one_of(value->key, MEDIA);

        if (value->type == JSON_NULL || (!is_media && !is_one_of(value->key, CONTEXT)))
            continue;
        if (says_something(value))
            out->key = hash_value(out->key, value);
        else if (is_media && value->n > 0)
            out->flags |= DATA_ROW_PART_UNKNOWN;
    }
    hash_parts(row->messages, out);
    hash_parts(row->prompt_messages, out);
}

/* ---- Texts ---- */

/* The last thing that the user says: what instructions stand before it is no cue. */
static struct str last_user_text(const struct conversation *row, struct str input,
                                 struct arena *arena)
{
    const struct json *turns = row->prompt_messages ? row->prompt_messages : row->messages;
    struct str last = {NULL, 0};

    if (row->form == ROW_ALPACA)
        return row->input.n ? row->input : row->instruction;
    for (const struct json *turn = turns ? turns->child : NULL; turn; turn = turn->next)
        if (str_is(turn_role(turn), "user"))
            last = turn_text(turn, arena);
    return last.p ? last : input;
}

static struct str rejected_text(const struct conversation *row, struct arena *arena)
{
    struct str last = {NULL, 0};

    for (const struct json *turn = row->rejected_messages ? row->rejected_messages->child : NULL; turn;
         turn = turn->next)
        if (str_is(turn_role(turn), "assistant"))
            last = turn_text(turn, arena);
    return row->rejected_messages ? last : row->rejected;
}

/* The normal text without special tokens; lives until the next call. */
static int make_normal(struct data_pass *pass, struct str text, struct str *out, struct error *err)
{
    buf_clear(&pass->clean);
    data_without_special(text, &pass->clean);
    int rc = normal_text(buf_view(&pass->clean), &pass->normal, err);
    *out = buf_view(&pass->normal);
    return rc;
}

static uint32_t count_of(size_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static int take_text(struct data_pass *pass, struct str text, uint64_t *hash, uint32_t *n_words,
                     struct error *err)
{
    struct str normal;
    size_t n, words;
    char *room = arena_alloc(pass->scratch, text.n + 1);

    if (room && data_normal_ascii(text, room, &n, &words)) {
        *hash = hash_bytes(room, n);
        *n_words = count_of(words);
        return OK;
    }
    int rc = make_normal(pass, text, &normal, err);

    if (rc != OK)
        return rc;
    *hash = hash_bytes(normal.p, normal.n);
    *n_words = count_of(data_count_words(normal));
    return OK;
}

/* ---- Openings ---- */

static int take_openings(struct data_pass *pass, struct str text, struct data_openings *out,
                         struct error *err)
{
    struct str normal, word;
    uint64_t hash = 0;
    int rc = make_normal(pass, text, &normal, err);

    *out = (struct data_openings){{0}};
    for (int k = 0; rc == OK && k < DATA_OPENINGS && data_next_word(&normal, &word); k++) {
        hash = hash_more(hash, word.p, word.n);
        out->hashes[k] = (uint32_t)hash ? (uint32_t)hash : 1u;
    }
    return rc;
}

/* Targets so far; from so many on they are no classes, and openings need not be kept. */
void data_see_target(struct data_pass *pass, uint64_t target)
{
    size_t at = target % SEEN_SLOTS;

    while (pass->seen[at] && pass->seen[at] != target)
        at = (at + 1) % SEEN_SLOTS;
    if (pass->seen[at] == target)
        return;
    pass->seen[at] = target;
    if (++pass->n_seen <= MANY_TARGETS)
        return;
    free(pass->openings);
    pass->openings = NULL;
}

/* ---- One row ---- */

/* 0.7 is a score; 1.0 may be a class. */
bool data_is_fraction(struct str label)
{
    const char *dot = memchr(label.p, '.', label.n);

    for (const char *c = dot ? dot + 1 : NULL; c && c < label.p + label.n; c++)
        if (*c > '0' && *c <= '9')
            return label.p[0] >= '0' && label.p[0] <= '9';
    return false;
}

/* A boolean beside an answer; beside a text alone it is a class. */
static bool is_liked_or_not(const struct conversation *row, const struct json *label)
{
    return (json_is(label, JSON_TRUE) || json_is(label, JSON_FALSE)) && row->form != ROW_TEXT &&
           row->form != ROW_OTHER;
}

static uint32_t flags_of(const struct conversation *row, const struct row_parts *parts,
                         const struct column_names *columns)
{
    const char *name = columns->label ? columns->label : "label";
    const struct json *label = json_get(row->row, name);
    uint32_t flags = parts->has_target ? DATA_ROW_TARGET : 0u;

    if (parts->flags & ROW_NOT_READABLE)
        return DATA_ROW_UNREADABLE;
    if (parts->flags)
        flags |= DATA_ROW_DEGENERATE;
    if (parts->input.n)
        flags |= DATA_ROW_INPUT;
    if (row->form == ROW_PREFERENCE)
        flags |= DATA_ROW_PREFERENCE;
    if (is_liked_or_not(row, label))
        flags |= DATA_ROW_KTO | (json_is(label, JSON_TRUE) ? DATA_ROW_LIKED : 0u);
    if (parts->has_target && parts->target.n <= SHORT_BYTES)
        flags |= DATA_ROW_SHORT;
    if (parts->has_target && parts->input.n && (row->form == ROW_TEXT || row->form == ROW_OTHER))
        flags |= DATA_ROW_LABEL | (data_is_fraction(parts->target) ? DATA_ROW_FRACTION : 0u);
    return flags;
}

static int take_row(struct data_pass *pass, const struct conversation *row, struct data_row *out,
                    struct error *err)
{
    struct row_parts parts;
    int rc = row_parts_of(row, pass->scratch, &parts, err);

    if (rc != OK)
        return rc;
    pass->forms[row->form]++;
    out->flags = flags_of(row, &parts, &pass->files[out->file].columns);
    out->n_bytes = count_of(parts.input.n);
    rc = take_text(pass, parts.input, &out->key, &out->n_words, err);
    hash_context(row, out);
    out->key = hash_more(out->key, &pass->set, sizeof pass->set);
    if (rc == OK && parts.has_target)
        rc = take_text(pass, parts.target, &out->target, &out->n_target, err);
    if (rc == OK && row->form == ROW_PREFERENCE) {
        struct str rejected = rejected_text(row, pass->scratch);

        if (!rejected.p || str_trim(rejected).n == 0)
            out->flags |= DATA_ROW_DEGENERATE;
        rc = take_text(pass, rejected, &out->other, &out->n_other, err);
    }
    if (rc != OK || !pass->openings)
        return rc;
    if (!(out->flags & DATA_ROW_SHORT) || out->flags & (DATA_ROW_PREFERENCE | DATA_ROW_KTO))
        return OK;
    rc = take_openings(pass, last_user_text(row, parts.input, pass->scratch),
                       &pass->openings[pass->n], err);
    data_see_target(pass, out->target);
    return rc;
}

/* ---- All rows ---- */

static int make_room(struct data_pass *pass, struct error *err)
{
    if (pass->n < pass->capacity)
        return OK;
    size_t capacity = pass->capacity ? 2 * pass->capacity : FIRST_ROWS;
    struct data_row *rows =
        capacity <= DATA_MOST_ROWS ? realloc(pass->rows, capacity * sizeof *rows) : NULL;

    if (rows)
        pass->rows = rows;
    if (rows && (pass->openings || pass->n == 0)) {
        struct data_openings *openings = realloc(pass->openings, capacity * sizeof *openings);

        if (!openings)
            rows = NULL;
        else
            pass->openings = openings;
    }
    if (!rows)
        return error_set(err, E_NOMEM, "no more than %zu rows are held in memory", pass->n);
    pass->capacity = capacity;
    return OK;
}

static int add_row(struct data_pass *pass, const struct json *tree, int64_t at, size_t file,
                   struct error *err)
{
    struct conversation row;
    int rc = OK;

    struct data_row *out = &pass->rows[pass->n];
    *out = (struct data_row){.at = at, .file = (uint32_t)file, .flags = DATA_ROW_UNREADABLE};
    if (pass->openings)
        pass->openings[pass->n] = (struct data_openings){{0}};
    if (tree) {
        rc = conversation_of_row(tree, &pass->files[file].columns, pass->scratch, &row, err);
        if (rc == OK)
            rc = take_row(pass, &row, out, err);
    }
    pass->n++;
    return rc;
}

static bool goes_on(struct data_pass *pass)
{
    const struct audit_hooks *hooks = pass->hooks;
    struct error ignored;

    if (!hooks || pass->n % ROWS_BETWEEN)
        return true;
    if (hooks->progress)
        hooks->progress(hooks->ctx, (int64_t)pass->n, pass->out->n_file_rows);
    if (hooks->cancel && atomic_load(hooks->cancel))
        return false;
    return !hooks->yield || hooks->yield(hooks->ctx, &ignored) == OK;
}

void data_stop(struct data_pass *pass, const char *why)
{
    pass->out->is_partial = true;
    if (!pass->out->missing)
        pass->out->missing = arena_strdup(pass->arena, why);
}

static size_t name_at(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The first file of those that are one set: shards of one name. Other files may be versions of each
 * other: nothing says that a run trained on both. */
static int64_t set_of(const struct data_pass *pass, size_t file)
{
    const char *path = pass->files[file].path;
    size_t n = name_at(path);
    struct shard_name own, other;

    for (size_t i = 0; shard_name_read(path + n, &own) && i < file; i++) {
        const char *p = pass->files[i].path;

        if (name_at(p) == n && shard_name_read(p + n, &other) && other.stem == own.stem &&
            other.total == own.total && strncmp(p, path, n + own.stem) == 0)
            return (int64_t)i;
    }
    return (int64_t)file;
}

static int read_file(struct data_pass *pass, size_t file, struct error *err)
{
    struct rows *rows = NULL;
    const struct json *tree;
    struct row_place place;
    struct error why = {0}, bad;
    int rc = rows_open(&rows, pass->files[file].path, &why), failed = OK;

    pass->files[file].first_row = (int64_t)pass->n;
    pass->set = set_of(pass, file);
    while (rc == OK && !pass->out->is_partial) {
        arena_reset(pass->scratch);
        rc = rows_next(rows, pass->scratch, &tree, &place, &bad, &why);
        if (rc <= 0)
            break;
        if (make_room(pass, &bad) != OK) {
            data_stop(pass, bad.message);
            break;
        }
        rc = failed = add_row(pass, tree, place.at, file, err);
        if (rc == OK && !goes_on(pass))
            data_stop(pass, "stopped by the user");
    }
    rows_close(rows);
    pass->files[file].n_rows = (int64_t)pass->n - pass->files[file].first_row;
    if (failed != OK)
        return failed;
    if (rc < 0 && why.status == E_NOMEM) {
        *err = why;
        return rc;
    }
    if (rc != OK && rc != 1)
        data_stop(pass, why.message);
    return OK;
}

int data_read_rows(struct data_pass *pass, struct error *err)
{
    int rc = OK;

    pass->seen = calloc(SEEN_SLOTS, sizeof *pass->seen);
    pass->scratch = arena_open(ROW_ARENA);
    if (!pass->seen || !pass->scratch)
        return error_set(err, E_NOMEM, "no memory for the facts of rows");
    for (size_t i = 0; rc == OK && i < pass->n_files; i++)
        rc = pass->files[i].split ? data_form_read(pass, i, err) : read_file(pass, i, err);
    return rc;
}

/* ---- A row again ---- */

static int open_reader(struct data_pass *pass, struct data_reader *reader, size_t file)
{
    struct error ignored;

    if (reader->rows && reader->file == file)
        return OK;
    rows_close(reader->rows);
    reader->rows = NULL;
    reader->file = file;
    reader->next = (size_t)pass->files[file].first_row;
    if (!reader->scratch)
        reader->scratch = arena_open(ROW_ARENA);
    return reader->scratch ? rows_open(&reader->rows, pass->files[file].path, &ignored) : E_NOMEM;
}

void data_reader_close(struct data_reader *reader)
{
    rows_close(reader->rows);
    arena_close(reader->scratch);
    *reader = (struct data_reader){0};
}

struct str data_read_text(struct data_pass *pass, struct data_reader *reader, size_t row, int which,
                          size_t limit, struct arena *arena)
{
    const struct data_row *of = &pass->rows[row];
    int64_t in_file = (int64_t)row - pass->files[of->file].first_row;
    const struct json *tree = NULL;
    struct row_place place;
    struct conversation conversation;
    struct row_parts parts;
    struct error ignored, bad;

    if (pass->files[of->file].split)
        return data_form_text(pass, row, which, limit, arena);
    if (open_reader(pass, reader, of->file) != OK)
        return str_of("");
    arena_reset(reader->scratch);
    if ((reader->next != row && rows_seek(reader->rows, of->at, in_file, &ignored) != OK) ||
        rows_next(reader->rows, reader->scratch, &tree, &place, &bad, &ignored) != 1 || !tree ||
        conversation_of_row(tree, &pass->files[of->file].columns, reader->scratch, &conversation,
                            &ignored) != OK ||
        row_parts_of(&conversation, reader->scratch, &parts, &ignored) != OK)
        return str_of("");
    reader->next = row + 1;
    struct str text = which == 0   ? parts.input
                      : which == 1 ? parts.target
                      : which == 2 ? rejected_text(&conversation, reader->scratch)
                                   : last_user_text(&conversation, parts.input, reader->scratch);
    return arena_str(arena, text.p ? str_first(text, limit) : str_of(""));
}
