/* The walk. See history.h. */
#include "core/git/history.h"

#include <stdlib.h>
#include <string.h>

#include "core/git/commit.h"
#include "core/git/commit_graph.h"
#include "core/git/rename.h"

#define STEP_COMMITS 256
#define SUBJECT_BYTES 2000

struct waiting {                        /* found, not yet looked at */
    struct git_id id, tree;
    struct git_id first, second;        /* parents; of more the commit is read again */
    int64_t time;
    uint64_t order;                     /* first found, first looked at, among equal times */
    uint32_t n_parents;
};

struct history {
    struct repository *repository;
    struct history_options options;
    struct path_cache *path;
    char *path_text, *older_path;       /* followed now; of the last row's parent */
    bool has_moved;                     /* the path is not the first one any more */
    struct git_id until;                /* options.until, or none */
    char *row_path;                     /* of the last row when the path has moved on since */

    struct waiting *heap;
    size_t n_heap, heap_capacity;
    uint64_t next_order;

    struct git_id *seen;                /* open addressing; none is free */
    size_t n_seen, seen_capacity;

    struct history_sum sum;
    struct error problem;
    struct buf author, subject;
};

/* ---- Commits seen ---- */

static size_t seen_at(const struct git_id *table, size_t capacity, const struct git_id *id)
{
    uint64_t hash;

    memcpy(&hash, id->b, sizeof hash);
    size_t i = hash & (capacity - 1);
    while (!git_id_is_none(&table[i]) && !git_id_is(&table[i], id))
        i = (i + 1) & (capacity - 1);
    return i;
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "a file's history");
}

static int grow_seen(struct history *h, struct error *err)
{
    size_t capacity = h->seen_capacity ? h->seen_capacity * 2 : 4096;
    struct git_id *table = calloc(capacity, sizeof *table);

    if (!table)
        return no_memory(err);
    for (size_t i = 0; i < h->seen_capacity; i++)
        if (!git_id_is_none(&h->seen[i]))
            table[seen_at(table, capacity, &h->seen[i])] = h->seen[i];
    free(h->seen);
    h->seen = table;
    h->seen_capacity = capacity;
    return OK;
}

/* 1 new, 0 seen before. */
static int mark_seen(struct history *h, const struct git_id *id, struct error *err)
{
    if (h->n_seen * 3 >= h->seen_capacity * 2) {
        int rc = grow_seen(h, err);
        if (rc != OK)
            return rc;
    }
    size_t i = seen_at(h->seen, h->seen_capacity, id);
    if (!git_id_is_none(&h->seen[i]))
        return 0;
    h->seen[i] = *id;
    h->n_seen++;
    return 1;
}

/* ---- Commits waiting: a heap, the newest first ---- */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
    return a->time != b->time ? a->time > b->time : a->order < b->order;
}

static int push(struct history *h, const struct waiting *item, struct error *err)
{
    if (h->n_heap == h->heap_capacity) {
        size_t capacity = h->heap_capacity ? h->heap_capacity * 2 : 64;
        struct waiting *heap = realloc(h->heap, capacity * sizeof *heap);

        if (!heap)
            return no_memory(err);
        h->heap = heap;
        h->heap_capacity = capacity;
    }
    size_t i = h->n_heap++;
    while (i > 0 && is_before(item, &h->heap[(i - 1) / 2])) {
        h->heap[i] = h->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->heap[i] = *item;
    return OK;
}

static struct waiting pop(struct history *h)
{
    struct waiting first = h->heap[0], last = h->heap[--h->n_heap];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= h->n_heap)
            break;
        if (child + 1 < h->n_heap && is_before(&h->heap[child + 1], &h->heap[child]))
            child++;
        if (!is_before(&h->heap[child], &last))
            break;
        h->heap[i] = h->heap[child];
        i = child;
    }
    if (h->n_heap)
        h->heap[i] = last;
    return first;
}

/* ---- What cannot be read ---- */

/* A missing or damaged object ends its branch, and is told; a failure of ours ends the walk. */
static int pass_over(struct history *h, int rc, const struct error *why, struct error *err)
{
    if (rc == E_NOMEM || rc == E_CANCELLED) {
        if (err)
            *err = *why;
        return rc;
    }
    h->sum.n_missing_commits++;
    if (!h->problem.status)
        h->problem = *why;
    return OK;
}

/* ---- Opening ---- */

/* What the walk needs of a commit: from the table of the repository, or the object itself. */
static int read_waiting(struct history *h, const struct git_id *id, struct waiting *out, struct error *err)
{
    struct graph_commit row;
    struct commit commit;

    if (h->repository->graph && commit_graph_find(h->repository->graph, id, &row)) {
        *out = (struct waiting){.id = *id, .tree = row.tree, .first = row.parents[0],
                                .second = row.parents[1], .time = row.time, .n_parents = row.n_parents};
        return OK;
    }
    int rc = commit_read(h->repository->objects, id, &commit, err);
    if (rc != OK)
        return rc;
    *out = (struct waiting){.id = *id, .tree = commit.tree, .first = commit.parents[0],
                            .second = commit.parents[1], .time = commit.committer_time,
                            .n_parents = (uint32_t)commit.n_parents};
    commit_free(&commit);
    return OK;
}

/* Reads a commit and lets it wait; its tree is given. 1 done, 0 passed over. */
static int add(struct history *h, const struct git_id *id, struct git_id *tree, struct error *err)
{
    struct waiting item;
    struct error why;
    int is_new = mark_seen(h, id, err);

    if (is_new < 0)
        return is_new;
    int rc = read_waiting(h, id, &item, &why);
    if (rc != OK)
        return is_new ? pass_over(h, rc, &why, err) : OK;
    *tree = item.tree;
    if (!is_new)
        return 1;
    item.order = h->next_order++;
    rc = push(h, &item, err);
    return rc == OK ? 1 : rc;
}

static int follow(struct history *h, const char *path, struct error *err)
{
    struct path_cache *cache = NULL;
    char *text = strdup(path);
    int rc = text ? path_cache_open(&cache, path, err) : no_memory(err);

    if (rc != OK) {
        free(text);
        return rc;
    }
    path_cache_close(h->path);
    free(h->row_path);
    h->has_moved = h->path_text != NULL;
    h->row_path = h->path_text;
    h->path_text = text;
    h->path = cache;
    return OK;
}

int history_open(struct history **out, struct repository *repository, const char *path,
                 const struct history_options *options, struct error *err)
{
    struct history *h = calloc(1, sizeof *h);
    struct git_id from, tree;
    int rc = OK;

    if (!h)
        return no_memory(err);
    h->repository = repository;
    if (options)
        h->options = *options;
    if (h->options.until)
        h->until = *h->options.until;
    if (h->options.max_commits <= 0)
        h->options.max_commits = HISTORY_MAX_COMMITS;
    buf_init(&h->author, SUBJECT_BYTES);
    buf_init(&h->subject, SUBJECT_BYTES);
    if (h->options.from)
        from = *h->options.from;
    else
        rc = repository_head(repository, &from, NULL, err);
    if (rc == OK)
        rc = follow(h, path, err);
    if (rc == OK)
        rc = add(h, &from, &tree, err);
    if (rc == 0)
        rc = error_set(err, E_GIT, "%s", h->problem.message);
    if (rc < 0) {
        history_close(h);
        return rc;
    }
    *out = h;
    return OK;
}

void history_close(struct history *history)
{
    if (!history)
        return;
    path_cache_close(history->path);
    free(history->path_text);
    free(history->row_path);
    free(history->heap);
    free(history->seen);
    buf_free(&history->author);
    buf_free(&history->subject);
    free(history);
}

/* ---- One commit ---- */

/* The path has no entry in the parent: was it another file there? */
static int find_origin(struct history *h, const struct git_id *parent, const struct git_id *child,
                       struct history_row *row, struct error *err)
{
    struct rename_origin origin;
    struct error why;
    int rc = rename_find(h->repository->objects, parent, child, row->path, &row->entry, &origin, &why);

    if (rc != OK)
        return pass_over(h, rc, &why, err);
    h->sum.n_missing_contents += (int64_t)origin.n_missing;
    h->sum.is_bounded |= origin.is_bounded;
    if (!origin.path)
        return OK;
    rc = follow(h, origin.path, err);
    free(origin.path);
    if (rc != OK)
        return rc;
    row->path = h->row_path;
    row->old_path = h->path_text;
    row->old_entry = origin.entry;
    row->similarity = (int)((int64_t)origin.score * 100 / RENAME_MAX_SCORE);
    row->status = origin.is_copy ? HISTORY_COPIED : HISTORY_RENAMED;
    return OK;
}

/* Fills the row when the file differs between the commit and its parent (NULL: it has none). */
static int compare(struct history *h, const struct waiting *at, const struct git_id *parent_tree,
                   struct history_row *row, struct error *err)
{
    struct objects *objects = h->repository->objects;
    struct error why;
    int rc = path_cache_find(h->path, objects, &at->tree, &row->entry, &why);

    row->old_entry = (struct tree_entry){.mode = 0};
    if (rc == OK && parent_tree)
        rc = path_cache_find(h->path, objects, parent_tree, &row->old_entry, &why);
    if (rc != OK)
        return pass_over(h, rc, &why, err);
    if (tree_entry_is(&row->entry, &row->old_entry))
        return 0;
    row->commit = at->id;
    row->path = h->path_text;
    row->old_path = NULL;
    row->similarity = 0;
    row->status = !row->entry.mode       ? HISTORY_DELETED
                  : !row->old_entry.mode ? HISTORY_ADDED
                                         : HISTORY_MODIFIED;
    if (row->status == HISTORY_ADDED && parent_tree) {
        rc = find_origin(h, parent_tree, &at->tree, row, err);
        if (rc != OK)
            return rc;
    }
    return 1;
}

/* Only what is shown is read once more. */
static int describe(struct history *h, const struct waiting *at, struct history_row *row,
                    struct error *err)
{
    struct commit commit;
    int rc = commit_read(h->repository->objects, &at->id, &commit, err);

    if (rc != OK)
        return rc;
    buf_clear(&h->author);
    buf_clear(&h->subject);
    commit_author(&commit, &h->author);
    commit_subject(&commit, &h->subject);
    row->author = h->author.p ? h->author.p : "";
    row->subject = h->subject.p ? h->subject.p : "";
    row->author_time = commit.author_time;
    row->commit_time = commit.committer_time;
    row->author_offset = commit.author_offset;
    commit_free(&commit);
    return OK;
}

/* Lets the parents wait. *parent_tree: of the first; *has_parent false: there is none. */
static int add_list(struct history *h, const struct git_id *parents, size_t n,
                    struct git_id *parent_tree, bool *has_parent, struct error *err)
{
    struct git_id tree;

    for (size_t i = 0; i < n; i++) {
        int rc = add(h, &parents[i], &tree, err);

        if (rc < 0)
            return rc;
        if (rc == 1 && i == 0) {
            *parent_tree = tree;
            *has_parent = true;
        }
    }
    return OK;
}

static int add_octopus(struct history *h, const struct waiting *at, struct git_id *parent_tree,
                       bool *has_parent, struct error *err)
{
    struct commit commit;
    struct error why;
    int rc = commit_read(h->repository->objects, &at->id, &commit, &why);

    if (rc != OK)
        return pass_over(h, rc, &why, err);
    rc = add_list(h, commit.parents, commit.n_parents, parent_tree, has_parent, err);
    commit_free(&commit);
    return rc;
}

static int add_parents(struct history *h, const struct waiting *at, struct git_id *parent_tree,
                       bool *has_parent, struct error *err)
{
    const struct git_id two[2] = {at->first, at->second};

    if (at->n_parents > 2)
        return add_octopus(h, at, parent_tree, has_parent, err);
    return add_list(h, two, at->n_parents, parent_tree, has_parent, err);
}

static int look_at(struct history *h, struct waiting *at, struct history_row *row, struct error *err)
{
    struct git_id parent_tree;
    bool has_parent = false;
    int rc;

    if (at->n_parents && repository_is_shallow_at(h->repository, &at->id)) {
        h->sum.ends_shallow = true;
        at->n_parents = 0;
    }
    rc = add_parents(h, at, &parent_tree, &has_parent, err);
    if (rc != OK || at->n_parents > 1)
        return rc;
    rc = compare(h, at, has_parent ? &parent_tree : NULL, row, err);
    if (rc != 1)
        return rc;
    row->parent = has_parent ? at->first : (struct git_id){{0}};
    rc = describe(h, at, row, err);
    return rc == OK ? 1 : rc;
}

int history_next(struct history *history, struct history_row *row, struct error *err)
{
    struct history *h = history;
    int rc = 0;

    while (rc == 0 && h->n_heap) {
        if (h->sum.n_commits >= h->options.max_commits) {
            h->sum.is_cut = true;
            return 0;
        }
        if (h->options.step && h->sum.n_commits % STEP_COMMITS == 0) {
            rc = h->options.step(h->options.ctx, h->sum.n_commits, err);
            if (rc != OK)
                return rc;
        }
        struct waiting at = pop(h);
        if (h->n_heap == 0 && !h->has_moved && !git_id_is_none(&h->until) &&
            git_id_is(&at.id, &h->until)) {
            h->sum.reached_until = true;
            return 0;
        }
        h->sum.n_commits++;
        rc = look_at(h, &at, row, err);
    }
    return rc;
}

void history_sum(const struct history *history, struct history_sum *out)
{
    *out = history->sum;
    out->first_problem = history->problem.status ? history->problem.message : NULL;
}

const char *history_status_name(enum history_status status)
{
    static const char *const NAMES[] = {"added", "modified", "renamed", "copied", "deleted"};

    return NAMES[status];
}
