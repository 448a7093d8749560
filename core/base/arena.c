/* Allocation by lifetime. See arena.h. */
#include "core/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN            16u
#define FIRST_BLOCK      (16u << 10)
#define LARGEST_BLOCK    (1u << 20)

struct block {
    struct block *next;
    size_t capacity, used;
    size_t dirty; /* bytes from the start that were handed out before; the others are zero */
    /* followed by `capacity` bytes, aligned because the header is a multiple of ALIGN */
};

struct arena {
    struct block *blocks;   /* newest first */
    size_t limit, used, next_block;
    bool failed;
};

struct arena *arena_open(size_t limit_bytes)
{
    struct arena *arena = calloc(1, sizeof *arena);

    if (!arena)
        return NULL;
    arena->limit = limit_bytes;
    arena->next_block = FIRST_BLOCK;
    return arena;
}

static void free_blocks(struct block *block)
{
    while (block) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
}

void arena_close(struct arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena->blocks);
    free(arena);
}

void arena_reset(struct arena *arena)
{
#ifdef FLATLINE_ARENA_MALLOC
    free_blocks(arena->blocks);
    arena->blocks = NULL;
#else
    if (arena->blocks) {
        free_blocks(arena->blocks->next);
        arena->blocks->next = NULL;
        if (arena->blocks->used > arena->blocks->dirty)
            arena->blocks->dirty = arena->blocks->used;
        arena->blocks->used = 0;
    }
#endif
    arena->used = 0;
    arena->failed = false;
}

bool arena_failed(const struct arena *arena)
{
    return arena->failed;
}

size_t arena_used(const struct arena *arena)
{
    return arena->used;
}

static struct block *add_block(struct arena *arena, size_t need)
{
#ifdef FLATLINE_ARENA_MALLOC
    size_t capacity = need;
#else
    size_t capacity = need > arena->next_block ? need : arena->next_block;

    if (arena->next_block < LARGEST_BLOCK)
        arena->next_block *= 2;
#endif
    /* The system's fresh pages are zero and are not touched for it: a long column is often written
     * only in part. */
    struct block *block = calloc(1, sizeof *block + capacity);

    if (!block)
        return NULL;
    block->next = arena->blocks;
    block->capacity = capacity;
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct block *block = arena->blocks;
    size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);

    if (need < size || need > arena->limit - arena->used) {
        arena->failed = true;
        return NULL;
    }
    if (need == 0)
        need = ALIGN;
    if (!block || block->capacity - block->used < need)
        block = add_block(arena, need);
    if (!block) {
        arena->failed = true;
        return NULL;
    }

    char *out = (char *)(block + 1) + block->used;
    size_t dirty = block->dirty > block->used ? block->dirty - block->used : 0;

    block->used += need;
    arena->used += need;
    if (arena->used > arena->limit)
        arena->used = arena->limit;
    memset(out, 0, dirty < need ? dirty : need);
    return out;
}

void *arena_array(struct arena *arena, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size) {
        arena->failed = true;
        return NULL;
    }
    return arena_alloc(arena, n * size);
}

void *arena_grow(struct arena *arena, const void *old, size_t old_bytes, size_t new_bytes)
{
    void *out = arena_alloc(arena, new_bytes);

    if (out && old)
        memcpy(out, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    return out;
}

void *arena_room(struct arena *arena, void *list, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity)
        return list;

    size_t more = *capacity ? *capacity * 2 : 32;
    void *grown = arena_grow(arena, list, *capacity * item_bytes, more * item_bytes);

    if (grown)
        *capacity = more;
    return grown;
}

const char *arena_strndup(struct arena *arena, const char *text, size_t n)
{
    char *out = n < SIZE_MAX ? arena_alloc(arena, n + 1) : NULL;

    if (!out)
        return "";
    memcpy(out, text, n);
    return out;
}

const char *arena_strdup(struct arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

struct str arena_str(struct arena *arena, struct str text)
{
    const char *p = arena_strndup(arena, text.n ? text.p : "", text.n);

    return (struct str){p, arena->failed ? 0 : text.n};
}

const char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args, again;
    char *out = NULL;

    va_start(args, fmt);
    va_copy(again, args);

    int n = vsnprintf(NULL, 0, fmt, args);

    va_end(args);
    if (n >= 0)
        out = arena_alloc(arena, (size_t)n + 1);
    if (out)
        vsnprintf(out, (size_t)n + 1, fmt, again);
    va_end(again);
    return out ? out : "";
}
