/* Text packed with gzip or zstd, read by offsets in the unpacked text.
 *
 * Reading on is sequential; going back starts at the nearest restart point (one each 16 MiB where
 * the format allows it, see decompress_zlib.c and decompress_zstd.c). Several members or frames one
 * behind the other are one text. A file that is cut or damaged gives what is whole, then E_PARSE with
 * the byte of the packed file; one that unpacks to more than a data set can be, E_LIMIT. */
#ifndef CORE_READ_DECOMPRESS_H
#define CORE_READ_DECOMPRESS_H

#include "core/read/source.h"

#define UNPACKED_MAX_RATIO       400                  /* looked at from UNPACKED_FREE_BYTES on */
#define UNPACKED_FREE_BYTES      ((int64_t)256 << 20)
#define UNPACKED_MAX_BYTES       ((int64_t)1 << 40)
#define UNPACKED_RESTART_BYTES   ((int64_t)16 << 20)
#define UNPACKED_RESTARTS        1024                 /* then every second goes, and the distance doubles */

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

enum packing packing_of_bytes(struct str first_bytes);
enum packing packing_of_name(const char *name);       /* by .gz .gzip .zst .zstd, ASCII case ignored */
const char *packing_name(enum packing packing);       /* "gzip" "zstd" "" */
/* The name without the ending that names the packing: "train.jsonl.gz" → 11 bytes. */
struct str packing_inner_name(const char *name);

/* A file as it is, or its unpacked text when its first bytes say that it is packed. */
MUST_CHECK int source_open_unpacked(struct source_file **out, enum packing *packing,
                                    const char *path, struct error *err);
/* The same on a file that is open already, which is given away, also when this fails. */
MUST_CHECK int source_unpack_if_packed(struct source_file **out, enum packing *packing,
                                       struct source_file *file, struct error *err);
/* The unpacked text of a file that is open already, which is given away, also when this fails.
 * packing is not PACKING_NONE. */
MUST_CHECK int source_unpack(struct source_file **out, struct source_file *packed,
                             enum packing packing, struct error *err);
/* How far the packed file was read, for progress; of a plain file where it stands. */
int64_t source_packed_tell(const struct source_file *file);

#endif
