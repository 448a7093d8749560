/* See measure.h. */
#include "core/facts/measure.h"

#include <math.h>
#include <string.h>

#include "core/read/file_hash.h"
#include "core/read/source.h"
#include "core/read/tensor_values.h"
#include "core/read/weights.h"

#define TABLE_ARENA ((size_t)512 << 20)

struct measuring {
    struct store *store;
    const struct audit_hooks *hooks;
    const struct artefact *artefact;
    int64_t before, total;              /* bytes of the files before this one, of all; both passes */
    int64_t in_file;                    /* bytes of the first pass over it */
};

/* ---- Which ---- */

static bool is_weight_file(const struct artefact *artefact)
{
    return artefact->path && artefact->size > 0 &&
           (str_ends(str_of(artefact->path), ".safetensors") ||
            str_ends(str_of(artefact->path), ".bin") || str_ends(str_of(artefact->path), ".gguf"));
}

/* Values are read of the whole file or of none of it: a tensor that has none beside others that do is a
 * view that cannot be read, and no reading changes that. Of a GGUF file only the hash is taken. */
static bool lacks_values(const struct run_facts *facts, const struct artefact *artefact)
{
    size_t n = 0, n_unknown = 0;
    const struct tensor *tensors = facts_tensors(facts, artefact, &n);

    if (str_ends(str_of(artefact->path), ".gguf"))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].n_values <= 0 || tensor_value_bytes(tensors[i].dtype) == 0)
            continue;
        if (!isnan(tensors[i].norm))
            return false;
        n_unknown++;
    }
    return n_unknown > 0;
}

static bool is_unmeasured(const struct run_facts *facts, const struct artefact *artefact)
{
    const struct source *source = facts_source(facts, artefact->source_id);

    return is_weight_file(artefact) && source && source->state != SOURCE_GONE &&
           source->state != SOURCE_DAMAGED &&
           (!artefact->sha256 || lacks_values(facts, artefact));
}

void facts_unmeasured(const struct run_facts *facts, struct unmeasured *out)
{
    *out = (struct unmeasured){0};
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *artefact = &facts->artefacts[i];

        if (!is_unmeasured(facts, artefact))
            continue;
        if (!out->first)
            out->first = artefact;
        out->n++;
        out->bytes += artefact->size;
    }
}

/* ---- Reading ---- */

static void on_bytes(void *ctx, int64_t bytes)
{
    struct measuring *m = ctx;

    if (m->hooks && m->hooks->bytes)
        m->hooks->bytes(m->hooks->ctx, m->before + m->in_file + bytes, m->total);
}

static int put(struct measuring *m, const struct source_stat *stat, const char *hex,
               const struct weights *weights, struct arena *arena, struct error *err)
{
    const struct source file = {.size = stat->size,
                                .mtime_ns = stat->mtime_ns,
                                .device = stat->device,
                                .inode = stat->inode};
    const struct tensor **tensors = arena_array(arena, weights->n + 1, sizeof *tensors);

    if (!tensors)
        return error_set(err, E_NOMEM, "%zu tensors", weights->n);
    for (size_t i = 0; i < weights->n; i++)
        tensors[i] = &weights->tensors[i].facts;
    return store_measured(m->store, m->artefact->id, &file, hex, tensors, weights->n, err);
}

static int measure(struct measuring *m, struct arena *arena, struct error *err)
{
    const atomic_bool *cancel = m->hooks ? m->hooks->cancel : NULL;
    const struct file_hash_hooks hashing = {.cancel = cancel, .progress = on_bytes, .ctx = m};
    const struct weight_options options = {.values_up_to = INT64_MAX,
                                           .products_up_to = INT64_MAX,
                                           .cancel = cancel,
                                           .progress = on_bytes,
                                           .ctx = m};
    struct weights weights = {0};
    struct source_stat stat;
    char hex[65];
    int rc = source_stat_path(m->artefact->path, &stat, err);

    if (rc == OK)
        rc = file_sha256(m->artefact->path, &hashing, hex, err);
    m->in_file = m->artefact->size;
    if (rc == OK && !str_ends(str_of(m->artefact->path), ".gguf"))
        rc = weights_read(m->artefact->path, &options, arena, &weights, err);
    return rc == OK ? put(m, &stat, hex, &weights, arena, err) : rc;
}

int measures_refresh(const struct run_facts *facts, struct store *store,
                     const struct audit_hooks *hooks, bool *did, struct error *err)
{
    const char *asked = facts_answer(facts, "measure");
    struct measuring m = {.store = store, .hooks = hooks};
    struct unmeasured all;
    int rc = OK;

    *did = false;
    if (!asked || strcmp(asked, "all") != 0)
        return OK;
    facts_unmeasured(facts, &all);
    m.total = 2 * all.bytes;
    for (size_t i = 0; i < facts->n_artefacts && rc == OK && all.n; i++) {
        struct error why = {0};
        struct arena *arena;

        m.artefact = &facts->artefacts[i];
        m.in_file = 0;
        if (!is_unmeasured(facts, m.artefact))
            continue;
        arena = arena_open(TABLE_ARENA);
        rc = arena ? measure(&m, arena, &why) : error_set(&why, E_NOMEM, "measuring tensors");
        arena_close(arena);
        *did = *did || rc == OK;
        if (rc == E_CANCELLED)
            return OK;
        if (rc == E_NOMEM || rc == E_DB)
            *err = why;
        else
            rc = OK; /* the file is not to be read now: its values stay unknown */
        m.before += 2 * m.artefact->size;
    }
    return rc;
}
