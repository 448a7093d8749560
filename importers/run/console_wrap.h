/* What stands around every line of a log that went through another program: Docker's and the
 * kubelet's records, `kubectl logs --timestamps`, the journal, `docker compose`, one rank of a
 * launcher, and UTF-16 as PowerShell redirects it. */
#ifndef IMPORTERS_RUN_CONSOLE_WRAP_H
#define IMPORTERS_RUN_CONSOLE_WRAP_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/read/source.h"

#define WRAP_HEAD_BYTES ((size_t)64 << 10) /* that are looked at */

enum console_wrap_kind {
    WRAP_NONE,
    WRAP_UTF16,   /* little endian, with its mark or without */
    WRAP_DOCKER,  /* {"log":"text\n","stream":"stdout","time":"…"} */
    WRAP_TIME,    /* 2025-03-04T10:02:11.5Z text, or … stdout F text */
    WRAP_BRACKET, /* [2025-03-04 10:02:11] text */
    WRAP_JOURNAL, /* Mar 04 10:02:11 host python[4411]: text */
    WRAP_SAME,    /* the same words before each line: a rank, a service */
};

struct console_wrap {
    enum console_wrap_kind kind;
    char same[96];  /* of WRAP_SAME, without blanks at its end */
    bool has_blank; /* one stands behind it */
};

bool console_wrap_is_utf16(struct str head);
/* Decided by the first bytes of the log: nine of ten lines have to be wrapped. */
void console_wrap_find(struct console_wrap *wrap, struct str head);
MUST_CHECK int console_wrap_find_in(struct console_wrap *wrap, struct source_file *file,
                                    struct error *err);
/* The text of a piece without what stands around it; `scratch` holds it where it had to be
 * changed. A piece that is not wrapped comes back as it is. */
struct str console_wrap_open(const struct console_wrap *wrap, struct str piece, struct buf *scratch);

#endif
