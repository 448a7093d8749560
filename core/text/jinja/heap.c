/* The memory of a render: taken in pieces, given back at once, kept for the next render. Also texts
 * that grow in it, and the limits. See jinja_parts.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja_parts.h"

#define FIRST_CHUNK   ((size_t)32 << 10)
#define LARGEST_CHUNK ((size_t)1 << 20)
#define KEPT          ((size_t)4 << 20) /* of a memory between renders */
#define STACK_BYTES   ((size_t)3 << 19)

/* ---- failures ---- */

static void write_message(char *out, size_t size, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

static void write_message(char *out, size_t size, const char *fmt, va_list args)
{
    char message[sizeof((struct jinja_failure *)0)->message + 8];
    int n = vsnprintf(message, sizeof message, fmt, args);
    size_t cut = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;

    while (cut > 0 && cut < (size_t)n && ((unsigned char)message[cut] & 0xC0) == 0x80)
        cut--;
    memcpy(out, message, cut);
    out[cut] = '\0';
}

void jinja_fail(struct vm *vm, enum jinja_fault kind, const char *fmt, ...)
{
    va_list args;

    vm->failure->kind = kind;
    vm->failure->line = vm->line;
    va_start(args, fmt);
    write_message(vm->failure->message, sizeof vm->failure->message, fmt, args);
    va_end(args);
    longjmp(*vm->jump, 1);
}

void jinja_error(struct vm *vm, const char *fmt, ...)
{
    va_list args;

    vm->failure->kind = JINJA_RUNTIME;
    vm->failure->line = vm->line;
    va_start(args, fmt);
    write_message(vm->failure->message, sizeof vm->failure->message, fmt, args);
    va_end(args);
    longjmp(*vm->jump, 1);
}

void jinja_too_much(struct vm *vm, const char *what)
{
    jinja_fail(vm, JINJA_LIMIT, "the template uses too much: %s", what);
}

void jinja_spend(struct vm *vm, uint64_t steps)
{
    vm->steps += steps;
    if (vm->steps > vm->step_limit)
        jinja_too_much(vm, "steps");
}

/* The stack of the thread is what deep recursion uses up first. */
void jinja_check_stack(struct vm *vm)
{
    char here;
    ptrdiff_t used = vm->stack - &here;

    if (used > (ptrdiff_t)STACK_BYTES || used < -(ptrdiff_t)STACK_BYTES)
        jinja_too_much(vm, "depth");
}

/* ---- memory ---- */

struct jinja_memory *jinja_memory_open(void)
{
    return calloc(1, sizeof(struct jinja_memory));
}

static void use_chunk(struct jinja_memory *memory, struct chunk *chunk)
{
    memory->current = chunk;
    memory->p = chunk ? (char *)(chunk + 1) : NULL;
    memory->end = chunk ? memory->p + chunk->size : NULL;
}

static void free_after(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void jinja_memory_reset(struct jinja_memory *memory)
{
    size_t kept = 0;
    struct chunk **tail = &memory->first;

#ifndef FLATLINE_ARENA_MALLOC
    while (*tail && kept + (*tail)->size <= KEPT) {
        kept += (*tail)->size;
        tail = &(*tail)->next;
    }
#endif
    free_after(*tail);
    *tail = NULL;
    memory->used = kept;
    use_chunk(memory, memory->first);
}

void jinja_memory_close(struct jinja_memory *memory)
{
    if (!memory)
        return;
    free_after(memory->first);
    free(memory);
}

static size_t chunk_size(const struct jinja_memory *memory, size_t need)
{
#ifdef FLATLINE_ARENA_MALLOC
    (void)memory;
    return need; /* each piece by itself, so that an overrun is seen */
#else
    size_t size = memory->current ? memory->current->size * 2 : FIRST_CHUNK;

    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    return need > size ? need : size;
#endif
}

void *jinja_take_more(struct vm *vm, size_t n)
{
    struct jinja_memory *memory = vm->memory;
    size_t need = (n + 7) & ~(size_t)7;

    if (need < n || need > vm->memory_limit)
        jinja_too_much(vm, "memory");
#ifndef FLATLINE_ARENA_MALLOC
    while (memory->current && memory->current->next) {
        use_chunk(memory, memory->current->next);
        if (need <= (size_t)(memory->end - memory->p)) {
            memory->p += need;
            return memory->p - need;
        }
    }
#endif

    size_t size = chunk_size(memory, need);

    if (memory->used + size > vm->memory_limit)
        jinja_too_much(vm, "memory");

    struct chunk *chunk = malloc(sizeof *chunk + size);

    if (!chunk)
        jinja_too_much(vm, "memory");
    chunk->size = size;
    chunk->next = NULL;
    if (memory->current)
        memory->current->next = chunk;
    else
        memory->first = chunk;
    memory->used += size;
    use_chunk(memory, chunk);
    memory->p += need;
    return memory->p - need;
}

void *jinja_take_array(struct vm *vm, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / 2 / size)
        jinja_too_much(vm, "memory");
    return jinja_take(vm, n * size);
}

/* ---- texts that grow ---- */

void jinja_text_add(struct text *text, const char *p, size_t n)
{
    if (n > text->capacity - text->n) {
        size_t capacity = text->capacity ? text->capacity * 2 : 64;

        if (n > SIZE_MAX / 4)
            jinja_too_much(text->vm, "memory");
        while (capacity - text->n < n)
            capacity *= 2;

        char *grown = jinja_take(text->vm, capacity);

        if (text->n)
            memcpy(grown, text->p, text->n);
        text->p = grown;
        text->capacity = capacity;
        jinja_work(text->vm, capacity);
    }
    if (n)
        memcpy(text->p + text->n, p, n);
    text->n += n;
}

void jinja_text_str(struct text *text, struct value v)
{
    jinja_text_add(text, v.p, v.n);
}

void jinja_text_puts(struct text *text, const char *p)
{
    jinja_text_add(text, p, strlen(p));
}

void jinja_text_putc(struct text *text, char c)
{
    if (text->n < text->capacity)
        text->p[text->n++] = c;
    else
        jinja_text_add(text, &c, 1);
}

void jinja_text_fill(struct text *text, struct str unit, int64_t n)
{
    if (n > 0 && unit.n > text->vm->memory_limit / (size_t)n)
        jinja_too_much(text->vm, "memory");
    for (int64_t i = 0; i < n; i++)
        jinja_text_add(text, unit.p, unit.n);
}

void jinja_text_codepoint(struct text *text, int32_t codepoint)
{
    char out[4];
    size_t n = 0;

    if (codepoint < 0x80) {
        jinja_text_putc(text, (char)codepoint);
        return;
    }
    if (codepoint < 0x800) {
        out[n++] = (char)(0xC0 | codepoint >> 6);
    } else {
        if (codepoint < 0x10000) {
            out[n++] = (char)(0xE0 | codepoint >> 12);
        } else {
            out[n++] = (char)(0xF0 | codepoint >> 18);
            out[n++] = (char)(0x80 | (codepoint >> 12 & 0x3F));
        }
        out[n++] = (char)(0x80 | (codepoint >> 6 & 0x3F));
    }
    out[n++] = (char)(0x80 | (codepoint & 0x3F));
    jinja_text_add(text, out, n);
}

struct value jinja_text_value(struct text *text)
{
    return v_str(text->vm, str_from(text->p, text->n), 0);
}
