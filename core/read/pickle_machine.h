/* The machine under pickle.c: bounded input, the stack of values, marks and the memo. Knows no
 * opcode. Not for others. */
#ifndef CORE_READ_PICKLE_MACHINE_H
#define CORE_READ_PICKLE_MACHINE_H

#include "core/read/pickle.h"

struct pickle_machine {
    const unsigned char *bytes;
    size_t n, at;
    struct arena *arena;
    struct error *err;
    size_t n_values;
    struct pickle_value **stack;
    size_t n_stack, stack_capacity;
    size_t *marks;
    size_t n_marks, marks_capacity;
    struct pickle_value **memo;
    size_t n_memo, memo_capacity; /* n_memo: highest used index + 1, and next of MEMOIZE */
    const char **foreign;
    size_t n_foreign;
};

/* Sets the error with the byte where the machine is; returns status. */
int machine_fail(struct pickle_machine *m, int status, const char *what);
/* n bytes of the input, borrowed; false when fewer are left. */
bool machine_take(struct pickle_machine *m, size_t n, const unsigned char **out);
uint64_t machine_little(const unsigned char *p, size_t n);
bool machine_take_number(struct pickle_machine *m, size_t n_bytes, uint64_t *out);
/* A length of 1, 4 or 8 bytes and that many bytes. */
MUST_CHECK int machine_take_text(struct pickle_machine *m, size_t length_bytes, struct str *out);
bool machine_take_line(struct pickle_machine *m, struct str *out);

/* NULL at the limit or without memory: then machine_out_of_values tells which. */
struct pickle_value *machine_new_value(struct pickle_machine *m, enum pickle_type type);
int machine_out_of_values(struct pickle_machine *m);
/* value may be NULL from machine_new_value: that is the error then. */
MUST_CHECK int machine_push(struct pickle_machine *m, struct pickle_value *value);
/* NULL when nothing lies above the last mark. */
struct pickle_value *machine_pop(struct pickle_machine *m);
struct pickle_value *machine_top(struct pickle_machine *m);
MUST_CHECK int machine_push_mark(struct pickle_machine *m);
/* The values above the last mark; they stay where they are until the next push. */
bool machine_pop_mark(struct pickle_machine *m, struct pickle_value ***items, size_t *n);
MUST_CHECK int machine_memo_put(struct pickle_machine *m, uint64_t index);
MUST_CHECK int machine_memo_get(struct pickle_machine *m, uint64_t index);
void machine_forget(struct pickle_machine *m);
void machine_close(struct pickle_machine *m);

#endif
