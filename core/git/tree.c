/* Reading trees raw: "<mode> <name>\0<20 bytes>". See tree.h. */
#include "core/git/tree.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH    64
#define CACHE_SLOTS  1024               /* of one component of the path */

bool tree_entry_is(const struct tree_entry *a, const struct tree_entry *b)
{
    return a->mode == b->mode && (a->mode == 0 || git_id_is(&a->id, &b->id));
}

/* Older writers left other permission bits: git shows two. */
static unsigned plain_mode(unsigned mode)
{
    switch (mode & MODE_KIND) {
    case MODE_FILE:
        return mode & 0100 ? 0100755 : 0100644;
    case MODE_FOLDER:
    case MODE_LINK:
        return mode & MODE_KIND;
    default:
        return MODE_SUBMODULE;
    }
}

struct raw_entry {
    struct str name;
    struct tree_entry entry;
};

/* Takes one entry off; false at the end, *is_damaged when that is no end. */
static bool next_entry(struct str *rest, struct raw_entry *out, bool *is_damaged)
{
    unsigned mode = 0;
    size_t i = 0;

    if (rest->n == 0)
        return false;
    *is_damaged = true;
    for (; i < rest->n && i < 8 && rest->p[i] >= '0' && rest->p[i] <= '7'; i++)
        mode = mode << 3 | (unsigned)(rest->p[i] - '0');
    if (i == 0 || i >= rest->n || rest->p[i] != ' ')
        return false;
    struct str name = str_skip(*rest, i + 1);
    const char *end = name.n ? memchr(name.p, '\0', name.n) : NULL;
    if (!end || end == name.p)
        return false;
    out->name = str_from(name.p, (size_t)(end - name.p));
    *rest = str_skip(name, out->name.n + 1);
    if (rest->n < GIT_ID_BYTES)
        return false;
    memcpy(out->entry.id.b, rest->p, GIT_ID_BYTES);
    out->entry.mode = plain_mode(mode);
    *rest = str_skip(*rest, GIT_ID_BYTES);
    *is_damaged = false;
    return true;
}

static int damaged(const struct git_id *tree, struct error *err)
{
    char hex[GIT_ID_HEX + 1];

    git_id_hex(tree, hex);
    return error_set(err, E_GIT, "tree %.12s is damaged", hex);
}

static int find_in(struct objects *objects, const struct git_id *tree, struct str name,
                   struct tree_entry *out, struct error *err)
{
    struct object object;
    struct raw_entry entry;
    bool is_damaged = false;
    int rc = objects_read(objects, tree, OBJECT_TREE, TREE_MAX_BYTES, &object, err);

    if (rc != OK)
        return rc;
    *out = (struct tree_entry){.mode = 0};
    for (struct str rest = object.bytes; next_entry(&rest, &entry, &is_damaged);)
        if (str_eq(entry.name, name)) {
            *out = entry.entry;
            break;
        }
    object_free(&object);
    return is_damaged ? damaged(tree, err) : OK;
}

/* ---- One path in many trees ---- */

struct slot {
    struct git_id tree;
    struct tree_entry entry;
    bool is_used;
};

struct path_cache {
    char *path;
    size_t n_parts;
    struct str parts[MAX_DEPTH];
    struct slot *slots;                 /* n_parts * CACHE_SLOTS */
};

int path_cache_open(struct path_cache **out, const char *path, struct error *err)
{
    struct path_cache *cache = calloc(1, sizeof *cache);
    struct str rest, part;

    if (!cache || !(cache->path = strdup(path))) {
        free(cache);
        return error_set(err, E_NOMEM, "a path's history");
    }
    for (rest = str_of(cache->path); str_split(&rest, '/', &part);) {
        if (part.n == 0)
            continue;
        if (cache->n_parts == MAX_DEPTH) {
            path_cache_close(cache);
            return error_set(err, E_LIMIT, "a path of more than %d folders", MAX_DEPTH);
        }
        cache->parts[cache->n_parts++] = part;
    }
    cache->slots = calloc(cache->n_parts + 1, CACHE_SLOTS * sizeof *cache->slots);
    if (!cache->slots) {
        path_cache_close(cache);
        return error_set(err, E_NOMEM, "a path's history");
    }
    *out = cache;
    return OK;
}

void path_cache_close(struct path_cache *cache)
{
    if (!cache)
        return;
    free(cache->slots);
    free(cache->path);
    free(cache);
}

static int find_part(struct path_cache *cache, size_t i, struct objects *objects,
                     const struct git_id *tree, struct tree_entry *out, struct error *err)
{
    uint32_t hash;

    memcpy(&hash, tree->b, sizeof hash);
    struct slot *slot = &cache->slots[i * CACHE_SLOTS + hash % CACHE_SLOTS];
    if (!slot->is_used || !git_id_is(&slot->tree, tree)) {
        int rc = find_in(objects, tree, cache->parts[i], out, err);

        if (rc != OK)
            return rc;
        *slot = (struct slot){*tree, *out, true};
    }
    *out = slot->entry;
    return OK;
}

int path_cache_find(struct path_cache *cache, struct objects *objects, const struct git_id *tree,
                    struct tree_entry *out, struct error *err)
{
    struct tree_entry entry = {*tree, MODE_FOLDER};
    int rc = OK;

    for (size_t i = 0; rc == OK && i < cache->n_parts && entry.mode == MODE_FOLDER; i++) {
        struct git_id in = entry.id;

        rc = find_part(cache, i, objects, &in, &entry, err);
        if (rc == OK && i + 1 < cache->n_parts && entry.mode != MODE_FOLDER)
            entry.mode = 0;
    }
    if (rc != OK)
        return rc;
    if (entry.mode == MODE_FOLDER)
        entry.mode = 0;
    *out = entry;
    return OK;
}

int tree_find(struct objects *objects, const struct git_id *tree, const char *path,
              struct tree_entry *out, struct error *err)
{
    struct tree_entry entry = {*tree, MODE_FOLDER};
    struct str rest = str_of(path), part;
    int rc = OK;

    while (rc == OK && entry.mode == MODE_FOLDER && str_split(&rest, '/', &part)) {
        struct git_id in = entry.id;

        rc = find_in(objects, &in, part, &entry, err);
        if (rc == OK && rest.p && entry.mode != MODE_FOLDER)
            entry.mode = 0;
    }
    if (rc != OK)
        return rc;
    if (entry.mode == MODE_FOLDER)
        entry.mode = 0;
    *out = entry;
    return OK;
}

/* ---- All files ---- */

struct listing {
    struct objects *objects;
    struct buf path;
    size_t n, max;
    int depth;
    tree_file_fn *fn;
    void *ctx;
};

static int list_folder(struct listing *list, const struct git_id *tree, struct error *err);

static int list_entry(struct listing *list, const struct raw_entry *raw, struct error *err)
{
    size_t before = list->path.n;
    int rc = OK;

    if (before)
        buf_putc(&list->path, '/');
    buf_str(&list->path, raw->name);
    if (list->path.failed)
        return error_set(err, E_LIMIT, "a path of more than %zu bytes", list->path.limit);
    if (raw->entry.mode == MODE_FOLDER)
        rc = list_folder(list, &raw->entry.id, err);
    else if (list->n++ >= list->max)
        rc = error_set(err, E_LIMIT, "more than %zu files", list->max);
    else
        rc = list->fn(list->ctx, &(struct tree_file){list->path.p, raw->entry}, err);
    list->path.n = before;
    list->path.p[before] = '\0';
    return rc;
}

static int list_folder(struct listing *list, const struct git_id *tree, struct error *err)
{
    struct object object;
    struct raw_entry entry;
    bool is_damaged = false;
    int rc;

    if (list->depth == MAX_DEPTH)
        return error_set(err, E_LIMIT, "folders more than %d deep", MAX_DEPTH);
    rc = objects_read(list->objects, tree, OBJECT_TREE, TREE_MAX_BYTES, &object, err);
    if (rc != OK)
        return rc;
    list->depth++;
    for (struct str rest = object.bytes; rc == OK && next_entry(&rest, &entry, &is_damaged);)
        rc = list_entry(list, &entry, err);
    list->depth--;
    object_free(&object);
    return rc == OK && is_damaged ? damaged(tree, err) : rc;
}

int tree_files(struct objects *objects, const struct git_id *tree, size_t max_files, tree_file_fn *fn,
               void *ctx, struct error *err)
{
    struct listing list = {.objects = objects, .max = max_files, .fn = fn, .ctx = ctx};

    buf_init(&list.path, (size_t)64 << 10);
    int rc = list_folder(&list, tree, err);
    buf_free(&list.path);
    return rc;
}
