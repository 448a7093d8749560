/* Clusters of near rows. See leaks_clusters.h. */
#include "core/facts/leaks_clusters.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/facts/leaks_parts.h"

struct joining {
    struct leak_clusters *out;
    size_t capacity;
    struct common *common;
    struct similar_index *index;
    struct id_map texts;
    uint32_t *row_of_text; /* the first row with it */
    size_t text_capacity;
};

void leak_clusters_free(struct leak_clusters *clusters)
{
    free(clusters->of);
    *clusters = (struct leak_clusters){0};
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the clusters of rows");
}

static int grow(uint32_t **list, size_t *capacity, size_t n, struct error *err)
{
    size_t wanted = *capacity ? *capacity * 2 : 1024;

    if (n < *capacity)
        return OK;
    uint32_t *grown = realloc(*list, wanted * sizeof *grown);
    if (!grown)
        return no_memory(err);
    *list = grown;
    *capacity = wanted;
    return OK;
}

/* The first row of a cluster; the way to it becomes shorter. */
static uint32_t first_of(uint32_t *of, uint32_t row)
{
    while (of[row] != row) {
        of[row] = of[of[row]];
        row = of[row];
    }
    return row;
}

static void join_rows(uint32_t *of, uint32_t a, uint32_t b)
{
    uint32_t first_a = first_of(of, a), first_b = first_of(of, b);

    of[first_a < first_b ? first_b : first_a] = first_a < first_b ? first_a : first_b;
}

static int take_text(void *ctx, const struct dataset *dataset, int64_t number, struct leak_row *row,
                     struct error *err)
{
    struct joining *j = ctx;

    (void)dataset;
    (void)number;
    return row->line ? common_add(j->common, buf_view(&row->text), err) : OK;
}

/* Rows of one text are joined here and indexed once. */
static int take_set(void *ctx, const struct dataset *dataset, int64_t number, struct leak_row *row,
                    struct error *err)
{
    struct joining *j = ctx;
    const uint32_t self = (uint32_t)j->out->n;
    uint32_t id;
    bool is_new = true;
    int rc = grow(&j->out->of, &j->capacity, j->out->n, err);

    (void)dataset;
    (void)number;
    if (rc != OK)
        return rc;
    j->out->of[j->out->n++] = self;
    const bool has_set = row->line && row->set.n > 0;
    if (has_set)
        rc = id_map_add(&j->texts, hash_bytes(row->stripped.p, row->stripped.n), &id, &is_new, err);
    if (rc == OK && has_set && is_new) {
        rc = grow(&j->row_of_text, &j->text_capacity, id, err);
        if (rc == OK)
            j->row_of_text[id] = self;
    } else if (rc == OK && has_set) {
        join_rows(j->out->of, j->row_of_text[id], self);
    }
    return rc == OK ? similar_add(j->index, row->set.items, has_set && is_new ? row->set.n : 0, err)
                    : rc;
}

static int join_near(struct joining *j, struct error *err)
{
    struct similar_asker asker = {0};
    int rc = similar_build(j->index, err);

    for (size_t row = 0; rc == OK && row < j->out->n; row++) {
        rc = similar_ask_own(j->index, &asker, row, err);
        for (size_t i = 0; rc == OK && i < asker.n_matches; i++)
            join_rows(j->out->of, asker.matches[i].row, (uint32_t)row);
    }
    similar_asker_free(&asker);
    for (size_t row = 0; rc == OK && row < j->out->n; row++)
        j->out->of[row] = first_of(j->out->of, (uint32_t)row);
    return rc;
}

static int run_passes(struct joining *j, struct leak_reader *reader, const struct leak_files *files,
                      struct common_text *stripped, struct error *err)
{
    const struct similar_options options = {.jaccard = LEAK_CLUSTER_JACCARD};
    struct leak_pass pass = {.row = take_text, .ctx = j};
    int rc = common_open(&j->common, 0, err);

    for (size_t i = 0; rc == OK && i < files->n_train; i++)
        rc = leak_reader_run(reader, files->train[i], &pass, err);
    if (rc == OK)
        rc = common_find(j->common, stripped, err);
    if (rc == OK)
        rc = similar_open(&j->index, &options, err);
    pass = (struct leak_pass){LEAK_SETS, stripped, NULL, take_set, j, NULL};
    for (size_t i = 0; rc == OK && i < files->n_train; i++)
        rc = leak_reader_run(reader, files->train[i], &pass, err);
    for (size_t i = 0; rc == OK && i < files->n_test; i++)
        rc = leak_reader_run(reader, files->test[i], &pass, err);
    if (rc == OK && reader->trouble[0])
        return error_set(err, E_IO, "%s", reader->trouble);
    return rc == OK ? join_near(j, err) : rc;
}

static int find(const struct run_facts *facts, const struct leak_files *files,
                struct leak_clusters *out, struct error *err)
{
    struct leak_reader reader = {.facts = facts};
    struct joining j = {.out = out};
    struct common_text stripped = {0};
    int rc = leak_reader_open(&reader, err);

    if (rc == OK)
        rc = run_passes(&j, &reader, files, &stripped, err);
    leak_reader_close(&reader);
    common_close(j.common);
    common_text_free(&stripped);
    similar_close(j.index);
    id_map_free(&j.texts);
    free(j.row_of_text);
    return rc;
}

int leak_clusters_find(const struct run_facts *facts, struct leak_clusters *out, struct error *err)
{
    struct leak_files files;

    *out = (struct leak_clusters){0};
    leak_files_choose(facts, &files);
    if (!files.n_train || !files.n_test)
        return error_set(err, E_NOTFOUND, "there are no training and test rows to be split");
    int rc = find(facts, &files, out, err);
    if (rc != OK)
        leak_clusters_free(out);
    return rc;
}
