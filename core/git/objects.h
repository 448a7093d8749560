/* Git's objects by id: the only door to libgit2.
 *
 * Reading alone. Nothing of a repository but its objects folder is given to the library, so that no
 * configuration, hook, filter or helper program of it is ever looked at; what else a repository says
 * (HEAD, refs, shallow) is read by repository.c. One store, one thread.
 *
 * An object is checked against the caller's limit before it is unpacked. */
#ifndef CORE_GIT_OBJECTS_H
#define CORE_GIT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

#define GIT_ID_BYTES 20
#define GIT_ID_HEX   40

struct git_id {
    unsigned char b[GIT_ID_BYTES];      /* all zero: none */
};

bool git_id_is(const struct git_id *a, const struct git_id *b);
bool git_id_is_none(const struct git_id *id);
/* 40 digits and a NUL. */
void git_id_hex(const struct git_id *id, char out[GIT_ID_HEX + 1]);
bool git_id_parse(struct str hex, struct git_id *out);  /* exactly 40 digits, either case */

enum object_kind { OBJECT_NONE = 0, OBJECT_COMMIT = 1, OBJECT_TREE = 2, OBJECT_BLOB = 3, OBJECT_TAG = 4 };

struct object {
    enum object_kind kind;
    struct str bytes;                   /* lives until object_free */
    void *handle;
};

struct objects;

void objects_library_version(char out[16]);
/* `folder` is the objects folder itself; its alternates are used. It is looked through first: what is
 * there under the name of an object or pack and is no regular file is refused, since opening a fifo
 * waits for ever. E_GIT, E_UNSUPPORTED. */
MUST_CHECK int objects_open(struct objects **out, const char *folder, struct error *err);
void objects_close(struct objects *objects);            /* NULL allowed */

/* E_NOTFOUND: not there (a partial clone). E_LIMIT: larger than `limit` bytes. E_GIT: damaged, or of
 * another kind than `kind` (OBJECT_NONE: any). */
MUST_CHECK int objects_read(struct objects *objects, const struct git_id *id, enum object_kind kind,
                            size_t limit, struct object *out, struct error *err);
/* Without unpacking it. */
MUST_CHECK int objects_size(struct objects *objects, const struct git_id *id, size_t *n,
                            struct error *err);
/* The object whose id begins with 7 to 40 hex digits. E_NOTFOUND: none, or several. */
MUST_CHECK int objects_expand(struct objects *objects, struct str hex, struct git_id *out,
                              struct error *err);
void object_free(struct object *object);                /* a zeroed one allowed */

/* The id that git would give to a file of these bytes. Nothing is written. */
MUST_CHECK int objects_blob_id(struct str bytes, struct git_id *out, struct error *err);

/* Puts a pack, given in pieces, with an index into `folder`, which is the caller's. read() gives up to n
 * bytes, 0 at the end. E_GIT: damaged, or it rests on objects that it does not hold. */
struct pack_source {
    int (*read)(void *ctx, void *out, size_t n, size_t *got, struct error *err);
    void *ctx;
};
MUST_CHECK int objects_index_pack(const char *folder, const struct pack_source *source,
                                  struct error *err);

#endif
