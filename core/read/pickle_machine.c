/* Input, stack, marks and memo of the pickle machine, each with its limit. */
#include "core/read/pickle_machine.h"

#include <stdlib.h>
#include <string.h>

#define PICKLE_MAX_MEMO  1000000
#define PICKLE_MAX_STACK 1000000

/* ---- Input ---- */

int machine_fail(struct pickle_machine *m, int status, const char *what)
{
    int rc = error_set(m->err, status, "pickle: %s", what);

    error_at(m->err, NULL, NONE, (int64_t)m->at);
    return rc;
}

bool machine_take(struct pickle_machine *m, size_t n, const unsigned char **out)
{
    if (n > m->n - m->at)
        return false;
    *out = m->bytes + m->at;
    m->at += n;
    return true;
}

uint64_t machine_little(const unsigned char *p, size_t n)
{
    uint64_t value = 0;

    for (size_t i = n; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

bool machine_take_number(struct pickle_machine *m, size_t n_bytes, uint64_t *out)
{
    const unsigned char *p;

    if (!machine_take(m, n_bytes, &p))
        return false;
    *out = machine_little(p, n_bytes);
    return true;
}

int machine_take_text(struct pickle_machine *m, size_t length_bytes, struct str *out)
{
    uint64_t n;
    const unsigned char *p;

    if (!machine_take_number(m, length_bytes, &n) || n > m->n - m->at)
        return machine_fail(m, E_PARSE, "a text is longer than what is left of the file");
    if (n > PICKLE_MAX_BYTES)
        return machine_fail(m, E_LIMIT, "a text of more than 16 MiB");
    if (!machine_take(m, (size_t)n, &p))
        return machine_fail(m, E_PARSE, "a text is longer than what is left of the file");
    *out = str_from((const char *)p, (size_t)n);
    return OK;
}

bool machine_take_line(struct pickle_machine *m, struct str *out)
{
    const unsigned char *p = m->bytes + m->at;
    const unsigned char *end = memchr(p, '\n', m->n - m->at);

    if (!end)
        return false;
    *out = str_from((const char *)p, (size_t)(end - p));
    m->at += out->n + 1;
    return true;
}

/* ---- Stack, marks, memo ---- */

struct pickle_value *machine_new_value(struct pickle_machine *m, enum pickle_type type)
{
    struct pickle_value *value = NULL;

    if (m->n_values++ < PICKLE_MAX_VALUES)
        value = arena_alloc(m->arena, sizeof *value);
    if (value)
        value->type = type;
    return value;
}

int machine_out_of_values(struct pickle_machine *m)
{
    if (m->n_values > PICKLE_MAX_VALUES)
        return machine_fail(m, E_LIMIT, "more than 1,000,000 values");
    return machine_fail(m, E_NOMEM, "out of memory for values");
}

int machine_push(struct pickle_machine *m, struct pickle_value *value)
{
    if (!value)
        return machine_out_of_values(m);
    if (m->n_stack == m->stack_capacity) {
        size_t capacity = m->stack_capacity ? m->stack_capacity * 2 : 256;
        struct pickle_value **stack =
            capacity > PICKLE_MAX_STACK * 2 ? NULL : realloc(m->stack, capacity * sizeof(*stack));
        if (!stack)
            return machine_fail(m, E_LIMIT, "a stack of more than 1,000,000 values");
        m->stack = stack;
        m->stack_capacity = capacity;
    }
    m->stack[m->n_stack++] = value;
    return OK;
}

static size_t stack_floor(const struct pickle_machine *m)
{
    return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

struct pickle_value *machine_pop(struct pickle_machine *m)
{
    return m->n_stack > stack_floor(m) ? m->stack[--m->n_stack] : NULL;
}

struct pickle_value *machine_top(struct pickle_machine *m)
{
    return m->n_stack > stack_floor(m) ? m->stack[m->n_stack - 1] : NULL;
}

int machine_push_mark(struct pickle_machine *m)
{
    if (m->n_marks == m->marks_capacity) {
        size_t capacity = m->marks_capacity ? m->marks_capacity * 2 : 64;
        size_t *marks =
            capacity > PICKLE_MAX_STACK * 2 ? NULL : realloc(m->marks, capacity * sizeof *marks);

        if (!marks)
            return machine_fail(m, E_LIMIT, "more than 1,000,000 marks");
        m->marks = marks;
        m->marks_capacity = capacity;
    }
    m->marks[m->n_marks++] = m->n_stack;
    return OK;
}

bool machine_pop_mark(struct pickle_machine *m, struct pickle_value ***items, size_t *n)
{
    if (m->n_marks == 0)
        return false;
    size_t begin = m->marks[--m->n_marks];
    *items = m->stack ? m->stack + begin : NULL; /* a mark on a stack that never held a value */
    *n = m->n_stack - begin;
    m->n_stack = begin;
    return true;
}

int machine_memo_put(struct pickle_machine *m, uint64_t index)
{
    struct pickle_value *value = machine_top(m);

    if (!value)
        return machine_fail(m, E_PARSE, "nothing to remember");
    if (index >= PICKLE_MAX_MEMO)
        return machine_fail(m, E_LIMIT, "a memo index above 1,000,000");
    if (index >= m->memo_capacity) {
        size_t capacity = m->memo_capacity ? m->memo_capacity : 256;

        while (capacity <= index)
            capacity *= 2;
        struct pickle_value **memo = realloc(m->memo, capacity * sizeof(*memo));
        if (!memo)
            return machine_fail(m, E_NOMEM, "out of memory for the memo");
        memset(memo + m->memo_capacity, 0, (capacity - m->memo_capacity) * sizeof(*memo));
        m->memo = memo;
        m->memo_capacity = capacity;
    }
    m->memo[index] = value;
    if (index >= m->n_memo)
        m->n_memo = (size_t)index + 1;
    return OK;
}

int machine_memo_get(struct pickle_machine *m, uint64_t index)
{
    if (index >= m->memo_capacity || !m->memo[index])
        return machine_fail(m, E_PARSE, "a reference to a value that is not there");
    return machine_push(m, m->memo[index]);
}

void machine_forget(struct pickle_machine *m)
{
    if (m->memo)
        memset(m->memo, 0, m->memo_capacity * sizeof(*m->memo));
    m->n_memo = 0;
}

void machine_close(struct pickle_machine *m)
{
    free(m->stack);
    free(m->marks);
    free(m->memo);
}
