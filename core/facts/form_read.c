/* The folder of a data set's facts and its facts.json, every field checked. See form_read.h; rows and
 * candidates: form_read_rows.c. */
#include "core/facts/form_read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/form_read_parts.h"
#include "core/read/json.h"

#define HEAD_ARENA ((size_t)512 << 20)

/* ---- Files ---- */

static bool is_ending(const char *name)
{
    static const char *const ENDINGS[] = {".jsonl", ".jsonl.zst", ".jsonl.gz", ".parquet"};

    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++)
        if (str_ends(str_of(name), ENDINGS[i]))
            return true;
    return false;
}

int form_part_of_name(const char *name)
{
    if (!is_ending(name))
        return -1;
    if (strncmp(name, "rows-", 5) == 0)
        return FORM_ROWS;
    return strncmp(name, "candidates-", 11) == 0 ? FORM_CANDIDATES : -1;
}

static int by_name(const void *pa, const void *pb)
{
    const char *const *a = pa, *const *b = pb;

    return strcmp(*a, *b);
}

static int add_file(struct form_folder *folder, const char *name, struct error *err)
{
    int part = form_part_of_name(name);
    struct form_files *files = part < 0 ? NULL : &folder->files[part];

    if (!files)
        return OK;
    if (files->n == FORM_MOST_FILES)
        return error_set(err, E_LIMIT, "more than %d files of facts", FORM_MOST_FILES);
    files->names = arena_room(folder->arena, files->names, files->n, &files->capacity,
                              sizeof *files->names);
    if (!files->names)
        return error_set(err, E_NOMEM, "no memory for the files of facts");
    files->names[files->n++] = arena_strdup(folder->arena, name);
    return OK;
}

static int list_files(struct form_folder *folder, struct error *err)
{
    DIR *dir = opendir(folder->path);
    int rc = dir ? OK : error_set(err, E_IO, "%s: %s", folder->path, strerror(errno));

    for (struct dirent *entry; rc == OK && (entry = readdir(dir));)
        rc = add_file(folder, entry->d_name, err);
    if (dir)
        closedir(dir);
    for (int part = 0; rc == OK && part < 2; part++)
        if (folder->files[part].n)
            qsort(folder->files[part].names, folder->files[part].n, sizeof(char *), by_name);
    return rc;
}

/* ---- Fields ---- */

bool form_u64(const struct json *value, uint64_t *out)
{
    struct str text = json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER) ? value->text
                                                                                  : str_of("");
    bool is_negative = text.n > 1 && text.p[0] == '-';
    uint64_t n = 0;

    text = str_skip(text, is_negative);
    if (text.n == 0 || text.n > 20)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned digit = (unsigned)(unsigned char)text.p[i] - '0';

        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (is_negative && n > (uint64_t)1 << 63)
        return false;
    *out = is_negative ? 0 - n : n;
    return true;
}

bool form_count(const struct json *value, int64_t most, int64_t *out)
{
    return json_is(value, JSON_NUMBER) && number_parse_int(value->text, out) && *out >= 0 &&
           *out <= most;
}

static int wrong(struct error *err, const struct json *at, const char *name, const char *expected)
{
    int rc = at ? error_set(err, E_PARSE, "\"%s\" is something else, expected %s", name, expected)
                : error_set(err, E_PARSE, "no \"%s\", expected %s", name, expected);

    error_at(err, FORM_NAME, at ? at->line : NONE, NONE);
    return rc;
}

static int take_text(const struct json *tree, const char *name, struct arena *arena,
                     const char **out, struct error *err)
{
    const struct json *value = json_get(tree, name);

    if (!json_is(value, JSON_STRING))
        return wrong(err, value, name, "a text");
    *out = arena_strndup(arena, value->text.p, value->text.n);
    return OK;
}

static int take_texts(const struct json *list, const char *name, size_t most, struct arena *arena,
                      const char *const **out, size_t *n, struct error *err)
{
    if (!json_is(list, JSON_ARRAY) || list->n > most)
        return wrong(err, list, name, "a list of texts");
    const char **texts = arena_array(arena, list->n + 1, sizeof *texts);
    *n = 0;
    for (const struct json *item = texts ? list->child : NULL; item; item = item->next) {
        if (item->type != JSON_STRING)
            return wrong(err, item, name, "a list of texts");
        texts[(*n)++] = arena_strndup(arena, item->text.p, item->text.n);
    }
    *out = texts;
    return texts ? OK : error_set(err, E_NOMEM, "no memory for facts.json");
}

static int take_split(const struct json *item, struct arena *arena, struct form_split *out,
                      struct error *err)
{
    const struct json *rows = json_get(item, "rows");
    int rc = take_text(item, "name", arena, &out->name, err);

    if (rc == OK && (!*out->name || strlen(out->name) > 256))
        rc = wrong(err, item, "name", "a name of 1 to 256 bytes");
    if (rc == OK && !form_count(rows, FORM_MOST_ROWS, &out->n_rows))
        rc = wrong(err, rows, "rows", "a number of rows");
    if (rc == OK)
        rc = take_texts(json_get(item, "files"), "files", FORM_MOST_FILES, arena, &out->files,
                        &out->n_files, err);
    return rc;
}

static int take_splits(const struct json *list, struct arena *arena, struct form_head *out,
                       struct error *err)
{
    if (!json_is(list, JSON_ARRAY) || list->n == 0 || list->n > FORM_MOST_SPLITS)
        return wrong(err, list, "splits", "a list of splits");
    struct form_split *splits = arena_array(arena, list->n, sizeof *splits);
    int rc = splits ? OK : error_set(err, E_NOMEM, "no memory for facts.json");

    out->splits = splits;
    for (const struct json *item = list->child; rc == OK && item; item = item->next) {
        struct form_split *split = &splits[out->n_splits];

        rc = item->type == JSON_OBJECT ? take_split(item, arena, split, err)
                                       : wrong(err, item, "splits", "a list of objects");
        if (rc == OK && form_split_at(out, str_of(split->name)) != SIZE_MAX)
            rc = error_set(err, E_PARSE, "split \"%s\" stands in " FORM_NAME " twice", split->name);
        out->n_splits++;
    }
    return rc;
}

static int by_band(const void *pa, const void *pb)
{
    const struct form_crowd *a = pa, *b = pb;

    if (a->band != b->band)
        return a->band < b->band ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

bool form_is_crowded(const struct form_head *head, const struct form_row *row)
{
    for (int band = 0; row->has_bands && head->n_crowded && band < MINHASH_BANDS; band++) {
        const struct form_crowd key = {.band = band, .hash = row->bands[band]};

        if (bsearch(&key, head->crowded, head->n_crowded, sizeof key, by_band))
            return true;
    }
    return false;
}

static int take_crowded(const struct json *list, struct arena *arena, struct form_head *out,
                        struct error *err)
{
    if (!json_is(list, JSON_ARRAY) || list->n > FORM_MOST_CROWDED)
        return wrong(err, list, "crowded", "a list of bands");
    struct form_crowd *crowded = arena_array(arena, list->n + 1, sizeof *crowded);
    if (!crowded)
        return error_set(err, E_NOMEM, "no memory for facts.json");
    for (const struct json *item = list->child; item; item = item->next) {
        struct form_crowd *crowd = &crowded[out->n_crowded++];
        int64_t band;

        if (!form_count(json_get(item, "band"), MINHASH_BANDS - 1, &band) ||
            !form_u64(json_get(item, "hash"), &crowd->hash) ||
            !form_count(json_get(item, "rows"), INT64_MAX, &crowd->n_rows))
            return wrong(err, item, "crowded", "{\"band\", \"hash\", \"rows\"}");
        crowd->band = (int)band;
    }
    if (out->n_crowded)
        qsort(crowded, out->n_crowded, sizeof *crowded, by_band);
    out->crowded = crowded;
    return OK;
}

static int take_format(const struct json *tree, struct error *err)
{
    const struct json *format = json_get(tree, "format");

    if (!json_is(format, JSON_STRING))
        return wrong(err, format, "format", "\"" FORM_FORMAT "\"");
    if (str_is(format->text, FORM_FORMAT))
        return OK;
    return error_set(err, E_UNSUPPORTED, FORM_NAME " is of format \"%.*s\", expected \"" FORM_FORMAT "\"",
                     (int)str_first(format->text, 64).n, format->text.p);
}

static int take_head(const struct json *tree, struct arena *arena, struct form_head *out,
                     struct error *err)
{
    int rc = json_is(tree, JSON_OBJECT) ? take_format(tree, err)
                                        : wrong(err, tree, FORM_NAME, "an object");

    if (rc == OK)
        rc = take_text(tree, "version", arena, &out->version, err);
    if (rc == OK)
        rc = take_text(tree, "made_by", arena, &out->made_by, err);
    if (rc == OK)
        rc = take_splits(json_get(tree, "splits"), arena, out, err);
    if (rc == OK)
        rc = take_texts(json_get(tree, "prefix"), "prefix", SIZE_MAX, arena, &out->prefix,
                        &out->n_prefix, err);
    if (rc == OK)
        rc = take_texts(json_get(tree, "suffix"), "suffix", SIZE_MAX, arena, &out->suffix,
                        &out->n_suffix, err);
    if (rc == OK)
        rc = take_texts(json_get(tree, "columns"), "columns", FORM_MOST_COLUMNS, arena,
                        &out->columns, &out->n_columns, err);
    if (rc == OK)
        rc = take_texts(json_get(tree, "group_columns"), "group_columns", FORM_MOST_COLUMNS, arena,
                        &out->group_columns, &out->n_group_columns, err);
    return rc == OK ? take_crowded(json_get(tree, "crowded"), arena, out, err) : rc;
}

/* ---- The folder ---- */

static int read_folder(struct form_folder *folder, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    const struct json *tree = NULL;

    folder->path = slash ? arena_strndup(folder->arena, path, (size_t)(slash - path)) : ".";
    if (slash == path)
        folder->path = "/";
    int rc = json_read_file(path, false, folder->arena, &tree, NULL, err);
    if (rc == OK)
        rc = take_head(tree, folder->arena, &folder->head, err);
    if (rc == OK && arena_failed(folder->arena))
        rc = error_set(err, E_NOMEM, "no memory for facts.json");
    return rc == OK ? list_files(folder, err) : rc;
}

int form_open(struct form_folder **out, const char *path, struct error *err)
{
    struct form_folder *folder = calloc(1, sizeof *folder);
    int rc = OK;

    if (folder)
        folder->arena = arena_open(HEAD_ARENA);
    if (!folder || !folder->arena)
        rc = error_set(err, E_NOMEM, "no memory for facts.json");
    if (rc == OK)
        rc = read_folder(folder, path, err);
    if (rc != OK) {
        form_close(folder);
        return rc;
    }
    *out = folder;
    return OK;
}

void form_close(struct form_folder *folder)
{
    if (!folder)
        return;
    arena_close(folder->arena);
    free(folder);
}

const struct form_head *form_head_of(const struct form_folder *folder)
{
    return &folder->head;
}

size_t form_n_files(const struct form_folder *folder, enum form_part part)
{
    return folder->files[part].n;
}

size_t form_split_at(const struct form_head *head, struct str name)
{
    for (size_t i = 0; i < head->n_splits; i++)
        if (str_is(name, head->splits[i].name))
            return i;
    return SIZE_MAX;
}
