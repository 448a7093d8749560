/* Python pickles as values: builds no objects, imports nothing, calls nothing (FORMATS.md A5).
 *
 * A GLOBAL stays a name; REDUCE, NEWOBJ and BUILD only build a CALL node. Enums, paths, devices
 * and dtypes are shown as their text by `pickle_text`. Globals outside the known modules are
 * listed in `foreign`: the file holds code, which was not run. Limits: PICKLE_MAX_VALUES values,
 * memo likewise, texts 16 MiB. */
#ifndef CORE_READ_PICKLE_H
#define CORE_READ_PICKLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"

#define PICKLE_MAX_VALUES 1000000
#define PICKLE_MAX_BYTES  ((size_t)16 << 20)

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_LIST,
    PICKLE_TUPLE,
    PICKLE_DICT,
    PICKLE_SET,
    PICKLE_GLOBAL,
    PICKLE_CALL,
    PICKLE_PERSISTENT
};

struct pickle_value {
    enum pickle_type type;
    bool boolean;
    int64_t integer; /* exact when it fits; else see text */
    double number;
    struct str text; /* text, bytes; decimal digits of a big int; "module name" of GLOBAL */
    struct pickle_value **items; /* list, tuple, set; dict: key, value, key, value … */
    size_t n;                    /* items (dict: twice the pairs); a CALL may have items too */
    size_t capacity;             /* private */
    struct pickle_value *callee, *arguments, *state; /* CALL */
};

struct pickle {
    const struct pickle_value *top;
    const char *const *foreign; /* "posix system": named by the file, not known to be harmless */
    size_t n_foreign;
    size_t n_read; /* bytes up to its end; the pickles before it included */
};

/* Reads the first pickle of the bytes, or the fourth when they are torch's old format (magic,
 * version, system info, object). Everything lives in the arena. */
MUST_CHECK int pickle_parse(const void *bytes, size_t n, struct arena *arena, struct pickle *out,
                            struct error *err);
/* How the value is shown as a setting: enums as their lower-case text, lists as compact JSON,
 * unknown calls as module.name(…). Cycles are cut. */
void pickle_text(struct buf *out, const struct pickle_value *value);
/* The dict of attributes of an object (its state), or NULL. */
const struct pickle_value *pickle_attributes(const struct pickle_value *object);

#endif
