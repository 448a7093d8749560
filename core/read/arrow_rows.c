/* Arrow files are known, and refused for now. See table.h. */
#include "core/read/table.h"

int arrow_open(struct table **out, struct source_file *file, struct error *err)
{
    (void)out;
    (void)file;
    return error_set(err, E_UNSUPPORTED, "an Arrow file, which cannot be read yet");
}
