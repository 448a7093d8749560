/* Weight files as artefacts with tensors. See weight_file.h. */
#include "importers/model/weight_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/read/file_hash.h"
#include "core/read/source.h"
#include "core/read/weights.h"

#define ARENA_BYTES       ((size_t)512 << 20)
#define TENSOR_NAME_BYTES 2048

/* ---- Artefacts ---- */

int weight_artefact(struct import *import, const char *kind, bool with_hash, int64_t *id,
                    struct error *err)
{
    struct source_stat stat;
    struct error why = {0};
    char hex[65];
    struct artefact artefact = {.kind = kind, .path = import->path, .size = NONE, .step = NONE};

    if (source_stat_path(import->path, &stat, &why) == OK)
        artefact.size = stat.size;
    if (with_hash && artefact.size >= 0 && artefact.size <= WEIGHT_VALUES_BYTES &&
        file_sha256(import->path, NULL, hex, &why) == OK)
        artefact.sha256 = hex;
    return sink_artefact(import->sink, &artefact, id, err);
}

static int put_tensor(struct import *import, int64_t artefact, const struct tensor *tensor,
                      struct error *err)
{
    struct tensor clean = *tensor;
    struct buf name;
    int rc;

    import->n_rows++;
    if (unicode_is_valid(str_of(tensor->name)))
        return sink_tensor(import->sink, artefact, tensor, err);
    buf_init(&name, TENSOR_NAME_BYTES * 4);
    unicode_valid(&name, str_of(tensor->name));
    clean.name = name.p ? name.p : "";
    rc = sink_tensor(import->sink, artefact, &clean, err);
    buf_free(&name);
    return rc;
}

int weight_name(struct import *import, int64_t artefact, struct str name, double norm,
                struct error *err)
{
    char text[TENSOR_NAME_BYTES];
    struct tensor tensor = {.name = text,
                            .dtype = "",
                            .shape = "",
                            .n_values = NONE,
                            .norm = norm,
                            .n_nonzero = NONE,
                            .n_nonfinite = NONE,
                            .delta_norm = NAN};

    if (name.n == 0 || name.n >= sizeof text)
        return OK;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return put_tensor(import, artefact, &tensor, err);
}

/* ---- Tensors ---- */

/* A file that its own library does not load decides nothing. */
static int note_broken(struct import *import, struct error *err, const char *what)
{
    import->state = SOURCE_DAMAGED;
    return sink_note(import->sink, NOTE_ERROR, NONE, NONE, err, "%s", what);
}

/* What of the table is no tensor that is read. A pickle may hold numbers beside its tensors; a
 * header of safetensors holds nothing else. */
static int note_entries(struct import *import, const struct weights *file, struct error *err)
{
    const char *first = file->first_bad ? file->first_bad : "not named";

    if (file->is_no_state_dict)
        return note_broken(import, err, "a pickle of something that is no state dict");
    if (file->n_bad == 0)
        return file->n == 0 ? sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "holds no tensors")
                            : OK;
    if (!file->is_pickle || file->n == 0)
        import->state = SOURCE_DAMAGED;
    return sink_note(import->sink, import->state == SOURCE_DAMAGED ? NOTE_ERROR : NOTE_WARN, NONE, NONE,
                     err,
                     file->is_pickle ? "%zu entries are no tensors that are read, first %s"
                                     : "%zu tensors were left out, their shape, dtype and offsets do "
                                       "not agree, first %s",
                     file->n_bad, first);
}

static int note_damage(struct import *import, const struct weights *file, struct error *err)
{
    int rc = OK;

    if (file->is_cut) {
        import->state = SOURCE_DAMAGED;
        rc = sink_note(import->sink, NOTE_ERROR, NONE, NONE, err,
                       "cut: %lld bytes are missing at the end", (long long)file->missing_bytes);
    }
    for (size_t i = 0; i < file->n_foreign && rc == OK; i++)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "holds code: %s, not run",
                       file->foreign[i]);
    if (rc == OK && file->is_overlapping)
        rc = note_broken(import, err, "tensors overlap in the file, no values were read");
    if (rc == OK && file->unclaimed_bytes > 0 && !file->is_cut && file->n_bad == 0)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld bytes belong to no tensor: safetensors refuses to load such a file",
                       (long long)file->unclaimed_bytes);
    return rc == OK ? note_entries(import, file, err) : rc;
}

static int note_empty_tensors(struct import *import, const struct weights *file, struct error *err)
{
    size_t n_empty = 0;
    const char *first = NULL;

    for (size_t i = 0; i < file->n; i++)
        if (file->tensors[i].facts.n_values == 0 && n_empty++ == 0)
            first = file->tensors[i].facts.name;
    return n_empty
               ? sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                           "%zu of %zu tensors have no values, first %s", n_empty, file->n, first)
               : OK;
}

int weight_tensors(struct import *import, const char *kind, int64_t values_up_to, struct error *err)
{
    /* Of many checkpoints each would cost; the run's own files are worth it. */
    bool is_checkpoint = strstr(import->path, "/checkpoint-") != NULL;
    const struct weight_options options = {.values_up_to = values_up_to,
                                           .products_up_to = is_checkpoint ? 0 : WEIGHT_PRODUCTS,
                                           .cancel = import->cancel};
    struct weights file;
    struct error why = {0};
    struct arena *arena = arena_open(ARENA_BYTES);
    int64_t id = 0;
    int rc = arena ? weight_artefact(import, kind, true, &id, err)
                   : error_set(err, E_NOMEM, "reading tensors");

    if (rc == OK) {
        rc = weights_read(import->path, &options, arena, &file, &why);
        if (rc != OK) {
            rc = import_note_error(import, &why, err);
            goto out;
        }
        rc = note_damage(import, &file, err);
        if (rc == OK)
            rc = note_empty_tensors(import, &file, err);
        for (size_t i = 0; i < file.n && rc == OK; i++)
            rc = put_tensor(import, id, &file.tensors[i].facts, err);
    }
out:
    arena_close(arena);
    return rc;
}
