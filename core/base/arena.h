/* Allocation by lifetime.
 *
 * An arena hands out zeroed memory and gives all of it back at once. It has a limit in bytes;
 * beyond it, or when the system has no memory, an allocation returns NULL and the arena stays
 * failed (sticky) until it is reset: append freely, check `arena_failed` once.
 * Under the address sanitizer (FLATLINE_ARENA_MALLOC) each allocation is its own malloc, so
 * that an overrun is seen. Not thread-safe: one arena, one thread. */
#ifndef CORE_BASE_ARENA_H
#define CORE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/str.h"

/* Limits of the lifetimes, in bytes. */
#define ARENA_BATCH_BYTES  (16u << 20)    /* one committed batch of an import */
#define ARENA_CHECK_BYTES  (256u << 20)   /* one run of one check, and the facts of a run */
#define ARENA_RENDER_BYTES (64u << 20)    /* one rendered row */
#define ARENA_VIEW_BYTES   (64u << 20)    /* from load to the next load */
#define ARENA_FRAME_BYTES  (1u << 20)     /* one redraw */
#define ARENA_REPORT_BYTES (64u << 20)    /* one report */

struct arena;

/* NULL when out of memory. The limit counts what is handed out. */
struct arena *arena_open(size_t limit_bytes);
void arena_close(struct arena *arena);                       /* NULL allowed */
void arena_reset(struct arena *arena);                       /* keeps one block for reuse */
bool arena_failed(const struct arena *arena);
size_t arena_used(const struct arena *arena);

/* Zeroed, aligned for any type; NULL when failed. n * size is checked for overflow. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_array(struct arena *arena, size_t n, size_t size);
/* Grows an array that was the last or any earlier allocation by copying; old may be NULL. */
void *arena_grow(struct arena *arena, const void *old, size_t old_bytes, size_t new_bytes);
/* Room for one more item behind the n of a list: the list as it is, or a copy twice as long with
 * *capacity raised. NULL when failed. */
void *arena_room(struct arena *arena, void *list, size_t n, size_t *capacity, size_t item_bytes);

/* Copies are NUL-terminated. They return "" (never NULL) when the arena has failed, so that
 * a message may be built without a test in between. */
const char *arena_strdup(struct arena *arena, const char *text);       /* NULL stays NULL */
const char *arena_strndup(struct arena *arena, const char *text, size_t n);
struct str arena_str(struct arena *arena, struct str text);
const char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
