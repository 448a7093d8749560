/* A state dict that torch.save wrote: its pickle is read as values (names, shapes and which
 * storage), nothing in it is executed; its storages as plain bytes. The format before torch 1.6 (a
 * row of pickles) gives names and shapes only. FORMATS.md A5. */
#ifndef CORE_READ_TORCH_FILE_H
#define CORE_READ_TORCH_FILE_H

#include "core/read/weights.h"

/* See weights_read. */
MUST_CHECK int torch_file_read(const char *path, const struct weight_options *options,
                               struct arena *arena, struct weights *out, struct error *err);

#endif
