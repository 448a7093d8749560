/* See data_facts.h: which files are read, the pass over them, what is kept of it, and asking for it. */
#include "core/facts/data_facts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/data_parts.h"
#include "core/facts/facts_cache.h"
#include "core/store/store.h"

#define PASS_ARENA ((size_t)64 << 20)
#define HEAD_BYTES ((size_t)16 << 20)
#define TEXT_BYTES ((size_t)256 << 20)

/* ---- The pass ---- */

static const char *commonest_form(const struct data_pass *pass)
{
    int best = 0;

    for (int i = 1; i < (int)(sizeof pass->forms / sizeof *pass->forms); i++)
        if (pass->forms[i] > pass->forms[best])
            best = i;
    return row_form_name((enum row_form)best);
}

static void count_rows(struct data_pass *pass)
{
    struct data_facts *out = pass->out;

    out->n_rows = (int64_t)pass->n;
    for (size_t i = 0; i < pass->n; i++) {
        uint32_t flags = pass->rows[i].flags;

        if (flags & DATA_ROW_UNREADABLE) {
            if (out->n_unreadable++ == 0)
                out->first_unreadable = (int64_t)i;
            continue;
        }
        if (flags & DATA_ROW_DEGENERATE && out->n_degenerate++ == 0)
            out->first_degenerate = (int64_t)i;
        out->n_no_target += !(flags & DATA_ROW_TARGET);
        out->n_no_input += !(flags & DATA_ROW_INPUT);
        out->n_not_grouped += (flags & DATA_ROW_PART_UNKNOWN) != 0;
        out->n_preference += (flags & DATA_ROW_PREFERENCE) != 0;
        out->n_kto += (flags & DATA_ROW_KTO) != 0;
    }
}

static int64_t rows_of_files(const struct data_file *files, size_t n)
{
    int64_t rows = 0;

    for (size_t i = 0; i < n; i++)
        rows = files[i].n_rows < 0 || rows < 0 ? NONE : rows + files[i].n_rows;
    return rows;
}

int data_facts_make(struct data_file *files, size_t n_files, const struct audit_hooks *hooks,
                    struct arena *arena, struct data_facts *out, struct error *err)
{
    struct data_pass pass = {.files = files, .n_files = n_files, .hooks = hooks, .arena = arena,
                             .out = out};

    *out = (struct data_facts){.files = files,
                               .n_files = n_files,
                               .n_file_rows = rows_of_files(files, n_files),
                               .first_unreadable = NONE,
                               .first_degenerate = NONE};
    buf_init(&pass.normal, TEXT_BYTES);
    buf_init(&pass.clean, TEXT_BYTES);
    int rc = data_read_rows(&pass, err);
    if (rc == OK) {
        count_rows(&pass);
        out->form = commonest_form(&pass);
        rc = data_find_groups(&pass, err);
    }
    if (rc == OK)
        rc = data_find_classes(&pass, err);
    if (rc == OK)
        data_find_lengths(&pass);
    if (rc == OK)
        rc = data_find_spans(&pass, err);
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "no memory for what the rows say together");
    if (rc == OK && !out->is_partial)
        out->n_file_rows = out->n_rows;
    arena_close(pass.scratch);
    data_form_close(pass.form);
    free(pass.rows);
    free(pass.openings);
    free(pass.seen);
    buf_free(&pass.normal);
    buf_free(&pass.clean);
    return rc;
}

double data_ceiling(const struct data_facts *data)
{
    return data->n_group_rows > 0 ? (double)data->n_best_rows / (double)data->n_group_rows : 1.0;
}

const char *data_file_name(const struct data_file *file)
{
    const char *slash = strrchr(file->path, '/');

    return file->split ? file->split : slash ? slash + 1 : file->path;
}

const struct data_file *data_file_of(const struct data_facts *data, int64_t row, int64_t *in_file)
{
    for (size_t i = 0; i < data->n_files; i++) {
        const struct data_file *file = &data->files[i];

        if (row < file->first_row || row >= file->first_row + file->n_rows)
            continue;
        *in_file = row - file->first_row;
        return file;
    }
    return NULL;
}

/* ---- Which files ---- */

static bool is_form(const struct dataset *dataset, const char *form)
{
    return dataset->form && strcmp(dataset->form, form) == 0;
}

static bool is_training(const struct dataset *dataset)
{
    bool is_train = !dataset->split || strcmp(dataset->split, "train") == 0;

    return is_train && !is_form(dataset, "tokens") && !is_form(dataset, "lengths") &&
           dataset->n_rows != 0;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The same file under another name, such as the one that the run copied beside itself. */
static bool is_copy(const struct run_facts *facts, size_t i)
{
    const struct dataset *of = &facts->datasets[i];
    const struct source *source = facts_source(facts, of->source_id);

    for (size_t k = 0; k < i; k++) {
        const struct dataset *other = &facts->datasets[k];
        const struct source *s = facts_source(facts, other->source_id);

        if (is_training(other) && s && source && s->size == source->size &&
            other->n_rows == of->n_rows && is_same_text(other->form, of->form) &&
            is_same_text(other->name, of->name))
            return true;
    }
    return false;
}

static int by_path(const void *pa, const void *pb)
{
    const struct data_file *a = pa, *b = pb;
    int order = strcmp(a->path, b->path);

    return order || !a->split || !b->split ? order : strcmp(a->split, b->split);
}

/* Are there facts of more rows than are here? Facts of the same rows say less than they. */
static bool has_more_facts(const struct run_facts *facts)
{
    int64_t rows = 0, elsewhere = 0;

    for (size_t i = 0; i < facts->n_datasets; i++)
        if (is_training(&facts->datasets[i]) && !is_copy(facts, i))
            *(is_form(&facts->datasets[i], "facts") ? &elsewhere : &rows) += facts->datasets[i].n_rows;
    return elsewhere > rows;
}

/* The training files of the form that most rows have: those of another stage are another task. */
static size_t find_files(const struct run_facts *facts, struct data_file *files,
                         struct arena *arena)
{
    const struct dataset *main_set = NULL;
    bool has_facts = has_more_facts(facts);
    size_t n = 0;

    for (size_t i = 0; i < facts->n_datasets; i++)
        if (is_training(&facts->datasets[i]) && is_form(&facts->datasets[i], "facts") == has_facts &&
            (!main_set || facts->datasets[i].n_rows > main_set->n_rows))
            main_set = &facts->datasets[i];
    for (size_t i = 0; main_set && i < facts->n_datasets; i++) {
        const struct dataset *dataset = &facts->datasets[i];
        const struct source *source = facts_source(facts, dataset->source_id);

        if (is_training(dataset) && source && !is_copy(facts, i) &&
            is_same_text(dataset->form, main_set->form))
            files[n++] = (struct data_file){
                .path = source->path, .source_id = source->id, .n_rows = dataset->n_rows,
                .split = is_form(dataset, "facts") ? dataset->name : NULL,
                .columns = data_columns_of(facts, dataset, arena)};
    }
    if (n)
        qsort(files, n, sizeof *files, by_path);
    return n;
}

static uint64_t key_of(const struct run_facts *facts, const struct data_file *files, size_t n)
{
    const int64_t version = DATA_FACTS_VERSION;
    uint64_t hash = hash_bytes(&version, sizeof version);

    for (size_t i = 0; i < n; i++) {
        const struct source *source = facts_source(facts, files[i].source_id);
        const int64_t numbers[] = {source->importer_version, source->size, source->mtime_ns,
                                   source->read_to};

        hash = hash_more(hash, source->path, strlen(source->path) + 1);
        if (files[i].split)
            hash = data_form_hash(facts, hash_more(hash, files[i].split, strlen(files[i].split)));
        hash = data_columns_hash(hash_more(hash, numbers, sizeof numbers), &files[i].columns);
    }
    return hash ? hash : 1;
}

/* ---- Keeping ---- */

int data_facts_find(const struct run_facts *facts, struct store *store, struct error *err)
{
    struct facts_cache *cache = facts->cache;

    cache->data_known = false;
    cache->stored_data = (struct stored_text){0};
    int rc = store_derived(store, facts->run.id, DATA_FACTS_NAME, cache->arena, &cache->stored_data,
                           err);
    return rc == E_NOTFOUND ? OK : rc;
}

/* A stopped pass is made anew the next time: its key is of nothing. */
static int make_and_put(const struct run_facts *facts, struct store *store,
                        const struct audit_hooks *hooks, struct data_file *files, size_t n,
                        struct error *err)
{
    struct arena *arena = arena_open(PASS_ARENA);
    struct data_facts data;
    struct buf head;
    int rc = arena ? OK : error_set(err, E_NOMEM, "no memory for what the rows say together");
    uint64_t key = key_of(facts, files, n);

    buf_init(&head, HEAD_BYTES);
    if (rc == OK)
        rc = data_facts_make(files, n, hooks, arena, &data, err);
    if (rc == OK) {
        data_put_head(&data, &head);
        bool is_stopped = hooks && hooks->cancel && atomic_load(hooks->cancel);
        struct stored_text stored = {.key = is_stopped ? 0 : key, .text = head.p};

        rc = head.failed ? error_set(err, E_LIMIT, "what the rows say together is above %zu bytes",
                                     HEAD_BYTES)
                         : store_derived_put(store, facts->run.id, DATA_FACTS_NAME, &stored, err);
    }
    buf_free(&head);
    arena_close(arena);
    return rc;
}

int data_facts_refresh(const struct run_facts *facts, struct store *store,
                       const struct audit_hooks *hooks, struct error *err)
{
    struct facts_cache *cache = facts->cache;
    struct data_file *files = arena_array(cache->arena, facts->n_datasets + 1, sizeof *files);
    size_t n = files ? find_files(facts, files, cache->arena) : 0;
    int rc = OK;

    if (!files)
        return error_set(err, E_NOMEM, "no memory for the files of rows");
    if (n == 0 && (!cache->stored_data.text || !*cache->stored_data.text))
        return OK;
    if (n && cache->stored_data.text && cache->stored_data.key == key_of(facts, files, n))
        return OK;
    const struct stored_text nothing = {.key = 0, .text = ""};
    if (n == 0)
        rc = store_derived_put(store, facts->run.id, DATA_FACTS_NAME, &nothing, err);
    else
        rc = make_and_put(facts, store, hooks, files, n, err);
    return rc == OK ? data_facts_find(facts, store, err) : rc;
}

/* ---- Asking ---- */

static void name_sources(const struct run_facts *facts, struct data_facts *data,
                         struct data_file *files)
{
    for (size_t i = 0; i < data->n_files; i++)
        for (size_t k = 0; k < facts->n_sources; k++)
            if (strcmp(facts->sources[k].path, files[i].path) == 0)
                files[i].source_id = facts->sources[k].id;
}

const struct data_facts *facts_data(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;

    if (cache->memory)
        return cache->memory->data;
    if (cache->data_known)
        return cache->data;
    cache->data_known = true;
    cache->data = NULL;
    struct data_facts *data = arena_alloc(cache->arena, sizeof *data);
    if (!cache->stored_data.text || !data ||
        !data_take_head(cache->stored_data.text, cache->arena, data))
        return NULL;
    struct data_file *files = arena_array(cache->arena, data->n_files + 1, sizeof *files);
    if (!files)
        return NULL;
    memcpy(files, data->files, data->n_files * sizeof *files);
    name_sources(facts, data, files);
    data->files = files;
    return cache->data = data;
}

int data_facts_now(const struct run_facts *facts, const struct data_facts **out, struct error *err)
{
    int rc = facts->cache->memory ? OK : data_facts_refresh(facts, facts->cache->store, NULL, err);

    *out = rc == OK ? facts_data(facts) : NULL;
    if (rc != OK || *out)
        return rc;
    return error_set(err, E_NOTFOUND, "the training rows are not known; import them (JSONL, JSON, CSV, "
                                      "Parquet or Arrow) with the run");
}

uint64_t facts_data_hash(const struct run_facts *facts)
{
    const struct stored_text *stored = &facts->cache->stored_data;

    return stored->text && *stored->text
               ? hash_more(stored->key, stored->text, strlen(stored->text))
               : 0;
}
