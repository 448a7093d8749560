/* Python dict and list literals as training scripts print them: {'loss': 1.46, 'x': nan}.
 * Values become the tree of json.h: True/False/None, single or double quotes, tuples as arrays,
 * nan, inf, -inf, numbers with '_' . Depth JSON_MAX_DEPTH. */
#ifndef CORE_READ_PYTHON_LITERAL_H
#define CORE_READ_PYTHON_LITERAL_H

#include "core/read/json.h"

/* *used: bytes of the text that the literal took (text may go on after it). */
MUST_CHECK int python_literal_parse(struct str text, struct arena *arena, const struct json **out,
                                    size_t *used, struct error *err);

#endif
