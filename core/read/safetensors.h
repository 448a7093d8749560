/* safetensors: header, tensor ranges, values. FORMATS.md B13. */
#ifndef CORE_READ_SAFETENSORS_H
#define CORE_READ_SAFETENSORS_H

#include "core/read/weights.h"

/* See weights_read. */
MUST_CHECK int safetensors_read(const char *path, const struct weight_options *options,
                                struct arena *arena, struct weights *out, struct error *err);

#endif
