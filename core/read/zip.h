/* Members of a zip by name (libzip), with limits: a member larger than the limit, or one that
 * inflates to more than it says, is E_LIMIT. */
#ifndef CORE_READ_ZIP_H
#define CORE_READ_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct zip_file_reader;

MUST_CHECK int zip_reader_open(struct zip_file_reader **out, const char *path, struct error *err);
void zip_reader_close(struct zip_file_reader *zip);
size_t zip_reader_count(const struct zip_file_reader *zip);
const char *zip_reader_name(const struct zip_file_reader *zip, size_t i); /* borrowed */
/* The first member whose name ends with the suffix ("/data.pkl"); *out is the caller's to free. */
MUST_CHECK int zip_reader_member(struct zip_file_reader *zip, const char *suffix, size_t limit,
                                 char **out, size_t *n, struct error *err);
/* The i-th member. */
MUST_CHECK int zip_reader_read(struct zip_file_reader *zip, size_t i, size_t limit, char **out, size_t *n,
                               struct error *err);

/* Up to n bytes of that member from `offset`; fewer at its end. Only of members that are stored
 * unpacked: E_UNSUPPORTED. Reading on from where the last call ended is cheap. */
MUST_CHECK int zip_reader_part(struct zip_file_reader *zip, const char *suffix, int64_t offset,
                               void *out, size_t n, size_t *got, struct error *err);

#endif
