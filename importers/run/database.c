/* The frame around reading a logger's database; see database.h. */
#include "importers/run/database.h"

int database_import(struct import *import,
                    int (*read)(void *ctx, struct sqlite_file *file, struct error *err), void *ctx,
                    struct error *err)
{
    struct sqlite_file *file = NULL;
    struct error why = {0};
    bool is_odd;

    import->state = SOURCE_WHOLE;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd)
        return rc;
    rc = sqlite_file_open(&file, import->path, import->cancel, &why);
    if (rc == OK)
        rc = read(ctx, file, &why);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    if (rc == OK && file && sqlite_file_is_copy(file))
        rc = sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                       "a journal lies beside the database: a copy of both was read");
    sqlite_file_close(file);
    return rc;
}
