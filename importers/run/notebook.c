/* Jupyter notebooks (nbformat 4): what their cells printed is read as a console log. Code, remarks
 * and pictures are not looked at. */
#include <stdlib.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/peek.h"
#include "importers/run/console_log.h"
#include "importers/run/notebook_text.h"

static int probe(const struct peek *peek)
{
    bool is_known = peek_has_key(peek, "cells") || peek_has_key(peek, "nbformat");
    return peek_name_ends(peek, ".ipynb") && peek_first(peek) == '{' && is_known ? 95 : 0;
}

static int note_form(struct import *import, const struct notebook_text *text, struct error *err)
{
    if (text->is_cut) {
        import->state = SOURCE_DAMAGED;
        return sink_note(import->sink, NOTE_WARN, text->cut_line, NONE, err,
                         "the notebook's JSON breaks off here; read up to there");
    }
    if (!text->has_cells || text->n_outputs == 0) {
        return sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                         text->has_cells ? "the notebook was saved without outputs"
                                         : "a notebook without cells: expected nbformat 4");
    }
    return sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                     "read from %zu outputs; a line is where the output stands in the file",
                     text->n_outputs);
}

static int read_text(struct import *import, char *bytes, size_t n, struct error *err)
{
    struct source_file *file = NULL;
    struct notebook_text text;
    notebook_text(bytes, n, &text);
    int rc = source_open_bytes(&file, import->path, bytes, n, err);
    if (rc != OK) {
        return rc;
    }
    rc = console_log_read(import, file, err);
    source_close(file);
    return rc == OK ? note_form(import, &text, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct error why = {0};
    char *bytes = NULL;
    size_t n = 0;
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd) {
        return rc;
    }
    rc = source_slurp(import->path, NOTEBOOK_MAX_BYTES, &bytes, &n, &why);
    if (rc != OK) {
        return import_note_error(import, &why, err);
    }
    rc = read_text(import, bytes, n, err);
    free(bytes);
    return rc;
}

const struct importer importer_notebook = {
    .id = "notebook",
    .title = "a Jupyter notebook's outputs",
    .hint = "train.ipynb, saved after it ran",
    .supplies = NEEDS_LOG | NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES,
    .version = 1,
    .role = "log",
    .probe = probe,
    .run = run,
};
