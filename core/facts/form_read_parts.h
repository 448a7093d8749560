/* What the two files of core/facts/form_read*.c share; for them only. */
#ifndef CORE_FACTS_FORM_READ_PARTS_H
#define CORE_FACTS_FORM_READ_PARTS_H

#include "core/facts/form_read.h"
#include "core/read/json.h"

struct form_files {
    const char **names;
    size_t n, capacity;
};

struct form_folder {
    struct arena *arena;
    const char *path;
    struct form_head head;
    struct form_files files[2];     /* by enum form_part */
};

/* Decimal digits as text or number; a negative number has the same bits. */
bool form_u64(const struct json *value, uint64_t *out);
/* 0 … most. */
bool form_count(const struct json *value, int64_t most, int64_t *out);

#endif
