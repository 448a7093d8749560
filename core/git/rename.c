/* Similarity of files: how many bytes of them stand in equal lines (pieces of at most 64 bytes). The rules
 * of choice are git's, so that the same origin is found: an equal file before a similar one, a file that
 * is gone before one that stays, the same base name before another. See rename.h. */
#include "core/git/rename.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

#define MAX_FILES       200000
#define MAX_BLOB_BYTES  ((size_t)16 << 20)
#define MAX_ALL_BYTES   ((size_t)512 << 20)
#define PIECE_BYTES     64
#define MIN_SCORE       (RENAME_MAX_SCORE / 2)
#define MAX_EQUAL       100             /* equal files looked at */
#define N_BEST          4

/* ---- Pieces of a text ---- */

struct piece {
    uint64_t hash;
    uint32_t n_bytes;
};
struct pieces {
    struct piece *list;
    size_t n;
};

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const struct piece *)a)->hash, y = ((const struct piece *)b)->hash;

    return (x > y) - (x < y);
}

/* Equal pieces become one with the sum of their bytes. */
static size_t join_equal(struct piece *list, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept && list[kept - 1].hash == list[i].hash)
            list[kept - 1].n_bytes += list[i].n_bytes;
        else
            list[kept++] = list[i];
    }
    return kept;
}

static bool is_binary(struct str text)
{
    size_t n = text.n < 8000 ? text.n : 8000;

    return n && memchr(text.p, '\0', n);
}

/* Up to and with the end of a line, at most PIECE_BYTES; a CR before a LF is no byte of a text. What
 * follows the last line end and is shorter than a piece does not count: so did git until 2.44. */
static int cut_pieces(struct str text, struct pieces *out, struct error *err)
{
    bool is_text = !is_binary(text);
    char piece[PIECE_BYTES];
    size_t n = 0, capacity = text.n / 8 + 16;

    out->n = 0;
    out->list = malloc(capacity * sizeof *out->list);
    if (!out->list)
        return error_set(err, E_NOMEM, "comparing files");
    for (size_t i = 0; i < text.n; i++) {
        if (is_text && text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            continue;
        piece[n++] = text.p[i];
        if (n < PIECE_BYTES && text.p[i] != '\n')
            continue;
        if (out->n == capacity) {
            capacity *= 2;
            struct piece *more = realloc(out->list, capacity * sizeof *more);
            if (!more) {
                free(out->list);
                out->list = NULL;
                return error_set(err, E_NOMEM, "comparing files");
            }
            out->list = more;
        }
        out->list[out->n++] = (struct piece){hash_bytes(piece, n), (uint32_t)n};
        n = 0;
    }
    qsort(out->list, out->n, sizeof *out->list, by_hash);
    out->n = join_equal(out->list, out->n);
    return OK;
}

static uint64_t common_bytes(const struct pieces *a, const struct pieces *b)
{
    uint64_t sum = 0;
    size_t i = 0, k = 0;

    while (i < a->n && k < b->n) {
        if (a->list[i].hash == b->list[k].hash) {
            uint32_t x = a->list[i++].n_bytes, y = b->list[k++].n_bytes;
            sum += x < y ? x : y;
        } else if (a->list[i].hash < b->list[k].hash) {
            i++;
        } else {
            k++;
        }
    }
    return sum;
}

/* ---- Candidates ---- */

struct candidate {
    char *path;                         /* NULL: unused */
    struct tree_entry entry;
    int score, same_name;
};

struct search {
    struct objects *objects;
    const struct git_id *child;
    const char *path;
    const struct tree_entry *entry;
    struct rename_origin *out;
    /* Equal files. */
    int n_equal, best_equal;
    struct candidate equal;
    /* Similar ones. */
    size_t size;
    struct pieces pieces;
    struct candidate best[N_BEST];
    size_t bytes;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int is_gone(const struct search *s, const char *path, bool *out, struct error *err)
{
    struct tree_entry entry;
    int rc = tree_find(s->objects, s->child, path, &entry, err);

    if (rc == OK)
        *out = entry.mode == 0;
    return rc;
}

static bool is_file(const struct tree_entry *entry)
{
    return (entry->mode & MODE_KIND) == MODE_FILE;
}

static int set_candidate(struct candidate *c, const struct tree_file *file, struct error *err)
{
    char *path = strdup(file->path);

    if (!path)
        return error_set(err, E_NOMEM, "comparing files");
    free(c->path);
    c->path = path;
    c->entry = file->entry;
    return OK;
}

static int look_for_equal(void *ctx, const struct tree_file *file, struct error *err)
{
    struct search *s = ctx;
    bool gone = false;
    int rc, score;

    if (!git_id_is(&file->entry.id, &s->entry->id) || s->best_equal == 2 || s->n_equal >= MAX_EQUAL)
        return OK;
    if ((!is_file(&file->entry) || !is_file(s->entry)) && file->entry.mode != s->entry->mode)
        return OK;
    rc = is_gone(s, file->path, &gone, err);
    if (rc != OK)
        return rc;
    s->n_equal++;
    score = gone + (strcmp(base_name(file->path), base_name(s->path)) == 0);
    if (score <= s->best_equal)
        return OK;
    s->best_equal = score;
    return set_candidate(&s->equal, file, err);
}

/* Above 0: a is worse. */
static int compare_candidates(const struct candidate *a, const struct candidate *b)
{
    if (!a->path)
        return b->path != NULL;
    if (!b->path)
        return -1;
    return a->score == b->score ? b->same_name - a->same_name : b->score - a->score;
}

static int keep_if_better(struct search *s, const struct tree_file *file, int score, struct error *err)
{
    struct candidate new = {.path = s->equal.path, .score = score};
    size_t worst = 0;
    char probe[] = "";

    new.path = probe;
    new.same_name = strcmp(base_name(file->path), base_name(s->path)) == 0;
    for (size_t i = 1; i < N_BEST; i++)
        if (compare_candidates(&s->best[i], &s->best[worst]) > 0)
            worst = i;
    if (compare_candidates(&s->best[worst], &new) <= 0)
        return OK;
    s->best[worst].score = score;
    s->best[worst].same_name = new.same_name;
    return set_candidate(&s->best[worst], file, err);
}

/* A failure that says something of one file alone. */
static int pass_over(struct search *s, int rc)
{
    if (rc == E_NOTFOUND)
        s->out->n_missing++;
    else if (rc == E_LIMIT)
        s->out->is_bounded = true;
    return rc == E_NOMEM ? rc : OK;
}

static int look_for_similar(void *ctx, const struct tree_file *file, struct error *err)
{
    struct search *s = ctx;
    struct object object;
    struct pieces pieces;
    size_t size;

    if (!is_file(&file->entry) || s->out->is_bounded)
        return OK;
    int rc = objects_size(s->objects, &file->entry.id, &size, err);
    if (rc != OK)
        return pass_over(s, rc);
    uint64_t more = size > s->size ? size : s->size, less = size < s->size ? size : s->size;
    if (more * (RENAME_MAX_SCORE - MIN_SCORE) < (more - less) * RENAME_MAX_SCORE)
        return OK;
    s->bytes += size;
    if (s->bytes > MAX_ALL_BYTES) {
        s->out->is_bounded = true;
        return OK;
    }
    rc = objects_read(s->objects, &file->entry.id, OBJECT_BLOB, MAX_BLOB_BYTES, &object, err);
    if (rc != OK)
        return pass_over(s, rc);
    rc = cut_pieces(object.bytes, &pieces, err);
    object_free(&object);
    if (rc != OK)
        return rc;
    int score = more ? (int)((double)common_bytes(&pieces, &s->pieces) * RENAME_MAX_SCORE / (double)more)
                     : 0;
    free(pieces.list);
    return score >= MIN_SCORE ? keep_if_better(s, file, score, err) : OK;
}

static int give(struct search *s, struct candidate *c, int score, struct error *err)
{
    bool gone = false;
    int rc = is_gone(s, c->path, &gone, err);

    if (rc != OK)
        return rc;
    s->out->path = c->path;
    s->out->entry = c->entry;
    s->out->score = score;
    s->out->is_copy = !gone;
    c->path = NULL;
    return OK;
}

static int by_rank(const void *a, const void *b)
{
    return compare_candidates(a, b);
}

/* Of the best ones the first that is gone, else the first. */
static int choose(struct search *s, struct error *err)
{
    size_t chosen = 0;
    bool gone = false;

    qsort(s->best, N_BEST, sizeof *s->best, by_rank);
    for (size_t i = 0; i < N_BEST && s->best[i].path && !gone; i++) {
        int rc = is_gone(s, s->best[i].path, &gone, err);

        if (rc != OK)
            return rc;
        if (gone)
            chosen = i;
    }
    return s->best[0].path ? give(s, &s->best[chosen], s->best[chosen].score, err) : OK;
}

static int find_similar(struct search *s, const struct git_id *parent, struct error *err)
{
    struct object object;
    int rc = objects_read(s->objects, &s->entry->id, OBJECT_BLOB, MAX_BLOB_BYTES, &object, err);

    if (rc != OK)
        return pass_over(s, rc);
    s->size = object.bytes.n;
    rc = cut_pieces(object.bytes, &s->pieces, err);
    object_free(&object);
    if (rc == OK && s->size)
        rc = tree_files(s->objects, parent, MAX_FILES, look_for_similar, s, err);
    if (rc == OK)
        rc = choose(s, err);
    free(s->pieces.list);
    return rc;
}

int rename_find(struct objects *objects, const struct git_id *parent, const struct git_id *child,
                const char *path, const struct tree_entry *entry, struct rename_origin *out,
                struct error *err)
{
    struct search s = {.objects = objects, .child = child, .path = path, .entry = entry, .out = out,
                       .best_equal = -1};
    int rc;

    *out = (struct rename_origin){.path = NULL};
    rc = tree_files(objects, parent, MAX_FILES, look_for_equal, &s, err);
    if (rc == OK && s.equal.path)
        rc = give(&s, &s.equal, RENAME_MAX_SCORE, err);
    else if (rc == OK && is_file(entry))
        rc = find_similar(&s, parent, err);
    if (rc == E_LIMIT || rc == E_NOTFOUND)
        rc = pass_over(&s, rc);
    free(s.equal.path);
    for (size_t i = 0; i < N_BEST; i++)
        free(s.best[i].path);
    return rc;
}
