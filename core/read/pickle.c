/* The stack machine of Python's pickles, without Python: opcodes push and join values of
 * pickle.h. No name is looked up, nothing is called. How values are shown is in pickle_text.c. */
#include "core/read/pickle.h"

#include <stdlib.h>
#include <string.h>

#define PICKLE_MAX_MEMO 1000000
#define PICKLE_MAX_STACK 1000000
#define PICKLE_MAX_FOREIGN 100
/* LONG1 of torch's magic number, little-endian: how a file of before torch 1.6 begins. */
static const unsigned char LEGACY_HEAD[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                            0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
#define LEGACY_SKIP 3       /* magic, version, system info */

struct machine {
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
    size_t n_memo, memo_capacity;       /* n_memo: highest used index + 1, and next of MEMOIZE */
    const char **foreign;
    size_t n_foreign;
};

/* Modules that training arguments and tensors are made of. */
static const char *const KNOWN_MODULES[] = {
    "transformers", "trl",     "accelerate", "peft",       "torch",      "axolotl",   "llamafactory",
    "llmtuner",     "swift",   "unsloth",    "UnslothSFTTrainer",        "deepspeed", "collections",
    "pathlib",      "datetime", "numpy",     "_codecs",    "functools",  "enum",      "optimum",
    "datasets",     "sentence_transformers", "setfit",     "lightning",  "pytorch_lightning",
    "__main__",     "copy_reg", "copyreg",   "typing",     "dataclasses", "uuid",     "decimal",
    "omegaconf",    "argparse", "types",    "simpletransformers",
};
/* Of Python itself only what builds containers; `eval`, `exec`, `open` … are foreign. */
static const char *const KNOWN_BUILTINS[] = {
    "set",  "frozenset", "getattr", "dict", "list",  "tuple", "int",   "float",
    "bool", "str",       "bytes",   "bytearray", "complex", "object", "slice", "range", "type",
};

/* ---- Input ---- */

static int fail(struct machine *m, int status, const char *what)
{
    int rc = error_set(m->err, status, "pickle: %s", what);

    error_at(m->err, NULL, NONE, (int64_t)m->at);
    return rc;
}

static bool take(struct machine *m, size_t n, const unsigned char **out)
{
    if (n > m->n - m->at)
        return false;
    *out = m->bytes + m->at;
    m->at += n;
    return true;
}

static uint64_t little(const unsigned char *p, size_t n)
{
    uint64_t value = 0;

    for (size_t i = n; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

static bool take_number(struct machine *m, size_t n_bytes, uint64_t *out)
{
    const unsigned char *p;

    if (!take(m, n_bytes, &p))
        return false;
    *out = little(p, n_bytes);
    return true;
}

/* A length of 1, 4 or 8 bytes and that many bytes. */
static int take_text(struct machine *m, size_t length_bytes, struct str *out)
{
    uint64_t n;
    const unsigned char *p;

    if (!take_number(m, length_bytes, &n) || n > m->n - m->at)
        return fail(m, E_PARSE, "a text is longer than what is left of the file");
    if (n > PICKLE_MAX_BYTES)
        return fail(m, E_LIMIT, "a text of more than 16 MiB");
    if (!take(m, (size_t)n, &p))
        return fail(m, E_PARSE, "a text is longer than what is left of the file");
    *out = str_from((const char *)p, (size_t)n);
    return OK;
}

static bool take_line(struct machine *m, struct str *out)
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

static struct pickle_value *new_value(struct machine *m, enum pickle_type type)
{
    struct pickle_value *value = NULL;

    if (m->n_values++ < PICKLE_MAX_VALUES)
        value = arena_alloc(m->arena, sizeof *value);
    if (value)
        value->type = type;
    return value;
}

static int out_of_values(struct machine *m)
{
    if (m->n_values > PICKLE_MAX_VALUES)
        return fail(m, E_LIMIT, "more than 1,000,000 values");
    return fail(m, E_NOMEM, "out of memory for values");
}

static int push(struct machine *m, struct pickle_value *value)
{
    if (!value)
        return out_of_values(m);
    if (m->n_stack == m->stack_capacity) {
        size_t capacity = m->stack_capacity ? m->stack_capacity * 2 : 256;
        struct pickle_value **stack = capacity > PICKLE_MAX_STACK * 2
                                          ? NULL
                                          : realloc(m->stack, capacity * sizeof(*stack));
        if (!stack)
            return fail(m, E_LIMIT, "a stack of more than 1,000,000 values");
        m->stack = stack;
        m->stack_capacity = capacity;
    }
    m->stack[m->n_stack++] = value;
    return OK;
}

static size_t stack_floor(const struct machine *m)
{
    return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

static struct pickle_value *pop(struct machine *m)
{
    return m->n_stack > stack_floor(m) ? m->stack[--m->n_stack] : NULL;
}

static struct pickle_value *top(struct machine *m)
{
    return m->n_stack > stack_floor(m) ? m->stack[m->n_stack - 1] : NULL;
}

static int push_mark(struct machine *m)
{
    if (m->n_marks == m->marks_capacity) {
        size_t capacity = m->marks_capacity ? m->marks_capacity * 2 : 64;
        size_t *marks =
            capacity > PICKLE_MAX_STACK * 2 ? NULL : realloc(m->marks, capacity * sizeof *marks);

        if (!marks)
            return fail(m, E_LIMIT, "more than 1,000,000 marks");
        m->marks = marks;
        m->marks_capacity = capacity;
    }
    m->marks[m->n_marks++] = m->n_stack;
    return OK;
}

/* The values above the last mark; they stay on the stack until the next push. */
static bool pop_mark(struct machine *m, struct pickle_value ***items, size_t *n)
{
    if (m->n_marks == 0)
        return false;
    size_t begin = m->marks[--m->n_marks];
    *items = m->stack + begin;
    *n = m->n_stack - begin;
    m->n_stack = begin;
    return true;
}

static int memo_put(struct machine *m, uint64_t index)
{
    struct pickle_value *value = top(m);

    if (!value)
        return fail(m, E_PARSE, "nothing to remember");
    if (index >= PICKLE_MAX_MEMO)
        return fail(m, E_LIMIT, "a memo index above 1,000,000");
    if (index >= m->memo_capacity) {
        size_t capacity = m->memo_capacity ? m->memo_capacity : 256;

        while (capacity <= index)
            capacity *= 2;
        struct pickle_value **memo = realloc(m->memo, capacity * sizeof(*memo));
        if (!memo)
            return fail(m, E_NOMEM, "out of memory for the memo");
        memset(memo + m->memo_capacity, 0, (capacity - m->memo_capacity) * sizeof(*memo));
        m->memo = memo;
        m->memo_capacity = capacity;
    }
    m->memo[index] = value;
    if (index >= m->n_memo)
        m->n_memo = (size_t)index + 1;
    return OK;
}

static int memo_get(struct machine *m, uint64_t index)
{
    if (index >= m->memo_capacity || !m->memo[index])
        return fail(m, E_PARSE, "a reference to a value that is not there");
    return push(m, m->memo[index]);
}

/* ---- Values ---- */

static int push_text(struct machine *m, enum pickle_type type, size_t length_bytes)
{
    struct str text;
    int rc = take_text(m, length_bytes, &text);
    struct pickle_value *value = rc == OK ? new_value(m, type) : NULL;

    if (rc != OK)
        return rc;
    if (value)
        value->text = arena_str(m->arena, text);
    return push(m, value);
}

static int push_int(struct machine *m, int64_t integer)
{
    struct pickle_value *value = new_value(m, PICKLE_INT);

    if (value) {
        value->integer = integer;
        value->number = (double)integer;
    }
    return push(m, value);
}

static int push_bool(struct machine *m, bool boolean)
{
    struct pickle_value *value = new_value(m, PICKLE_BOOL);

    if (value)
        value->boolean = boolean;
    return push(m, value);
}

static int push_float(struct machine *m)
{
    const unsigned char *p;
    struct pickle_value *value = new_value(m, PICKLE_FLOAT);
    uint64_t bits = 0;

    if (!take(m, 8, &p))
        return fail(m, E_PARSE, "cut inside a float");
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    if (value)
        memcpy(&value->number, &bits, sizeof value->number);
    return push(m, value);
}

/* Decimal digits of a two's complement number, least significant byte first. */
static struct str long_digits(struct arena *arena, const unsigned char *p, size_t n, bool negative)
{
    size_t n_digits = 0, most = n * 5 / 2 + 3;      /* 256 < 10^2.5 */
    char *digits = arena_alloc(arena, most + 1);
    unsigned carry = negative;

    if (!digits)
        return str_of("");
    for (size_t i = n; i-- > 0;) {
        unsigned rest = negative ? (unsigned)(p[i] ^ 0xff) : p[i];

        for (size_t k = 0; k < n_digits; k++) {
            rest += (unsigned)digits[k] * 256;
            digits[k] = (char)(rest % 10);
            rest /= 10;
        }
        for (; rest; rest /= 10)
            digits[n_digits++] = (char)(rest % 10);
    }
    for (size_t k = 0; carry && k < n_digits; k++) {    /* -x is ~x + 1 */
        carry = digits[k] == 9;
        digits[k] = (char)(carry ? 0 : digits[k] + 1);
    }
    if (carry)
        digits[n_digits++] = 1;
    if (negative)
        digits[n_digits++] = '-' - '0';
    for (size_t k = 0; k < n_digits; k++)
        digits[k] = (char)(digits[k] + '0');
    for (size_t k = 0; k < n_digits / 2; k++) {
        char swap = digits[k];

        digits[k] = digits[n_digits - 1 - k];
        digits[n_digits - 1 - k] = swap;
    }
    return str_from(digits, n_digits);
}

/* Two's complement of any length. */
static int push_long(struct machine *m, size_t length_bytes)
{
    uint64_t n, bits;
    const unsigned char *p;
    struct pickle_value *value = new_value(m, PICKLE_INT);

    if (!take_number(m, length_bytes, &n) || n > 4096 || !take(m, (size_t)n, &p))
        return fail(m, E_PARSE, "an integer is longer than what is left of the file");
    if (!value)
        return out_of_values(m);
    bool negative = n > 0 && (p[n - 1] & 0x80);
    if (n <= 8) {
        bits = little(p, (size_t)n);
        if (negative && n < 8)
            bits |= UINT64_MAX << (8 * n);
        memcpy(&value->integer, &bits, sizeof bits);
        value->number = (double)value->integer;
        return push(m, value);
    }
    for (size_t i = (size_t)n; i-- > 0;)
        value->number = value->number * 256 + (i + 1 == n && negative ? p[i] - 256.0 : p[i]);
    value->text = long_digits(m->arena, p, (size_t)n, negative);
    return push(m, value);
}

static int push_container(struct machine *m, enum pickle_type type)
{
    return push(m, new_value(m, type));
}

static int append_items(struct machine *m, struct pickle_value *to, struct pickle_value **items,
                        size_t n)
{
    size_t want = to->n + n;

    if (n == 0)
        return OK;
    if (want > to->capacity) {
        size_t capacity = to->capacity ? to->capacity : 4;

        while (capacity < want)
            capacity *= 2;
        struct pickle_value **grown = arena_grow(m->arena, to->items, to->n * sizeof(*items),
                                                 capacity * sizeof(*items));
        if (!grown)
            return fail(m, E_NOMEM, "out of memory for a list");
        to->items = grown;
        to->capacity = capacity;
    }
    memcpy(to->items + to->n, items, n * sizeof(*items));
    to->n = want;
    return OK;
}

static bool is_container(const struct pickle_value *value, enum pickle_type type)
{
    return value && (value->type == type || value->type == PICKLE_CALL);
}

/* Items for an object that is built by a call (OrderedDict(), set(...)): kept as its items. */
static int add_marked(struct machine *m, enum pickle_type type)
{
    struct pickle_value **items;
    size_t n;

    if (!pop_mark(m, &items, &n))
        return fail(m, E_PARSE, "no mark on the stack");
    struct pickle_value *to = top(m);
    if (!is_container(to, type))
        return fail(m, E_PARSE, "items for something that is no container");
    if (type == PICKLE_DICT && n % 2)
        return fail(m, E_PARSE, "a key without a value");
    return append_items(m, to, items, n);
}

static int add_last(struct machine *m, enum pickle_type type, size_t n)
{
    struct pickle_value *items[2];

    for (size_t i = n; i-- > 0;) {
        items[i] = pop(m);
        if (!items[i])
            return fail(m, E_PARSE, "the stack is empty");
    }
    struct pickle_value *to = top(m);
    if (!is_container(to, type))
        return fail(m, E_PARSE, "items for something that is no container");
    return append_items(m, to, items, n);
}

static int push_tuple(struct machine *m, size_t n)
{
    struct pickle_value *items[3];
    struct pickle_value *tuple = new_value(m, PICKLE_TUPLE);

    for (size_t i = n; i-- > 0;) {
        items[i] = pop(m);
        if (!items[i])
            return fail(m, E_PARSE, "the stack is empty");
    }
    if (!tuple)
        return out_of_values(m);
    int rc = append_items(m, tuple, items, n);
    return rc == OK ? push(m, tuple) : rc;
}

static int push_marked(struct machine *m, enum pickle_type type)
{
    struct pickle_value **items;
    size_t n;
    struct pickle_value *value = new_value(m, type);

    if (!value)
        return out_of_values(m);
    if (!pop_mark(m, &items, &n))
        return fail(m, E_PARSE, "no mark on the stack");
    int rc = append_items(m, value, items, n);
    return rc == OK ? push(m, value) : rc;
}

/* ---- Names and calls ---- */

static bool is_known(struct str module, struct str name)
{
    struct str package = module;

    for (size_t i = 0; i < module.n; i++)
        if (module.p[i] == '.') {
            package = str_first(module, i);
            break;
        }
    if (str_is(package, "builtins") || str_is(package, "__builtin__")) {
        for (size_t i = 0; i < sizeof KNOWN_BUILTINS / sizeof *KNOWN_BUILTINS; i++)
            if (str_is(name, KNOWN_BUILTINS[i]))
                return true;
        return false;
    }
    for (size_t i = 0; i < sizeof KNOWN_MODULES / sizeof *KNOWN_MODULES; i++)
        if (str_is(package, KNOWN_MODULES[i]))
            return true;
    return false;
}

static void note_foreign(struct machine *m, const char *text)
{
    for (size_t i = 0; i < m->n_foreign; i++)
        if (strcmp(m->foreign[i], text) == 0)
            return;
    if (!m->foreign)
        m->foreign = arena_array(m->arena, PICKLE_MAX_FOREIGN, sizeof *m->foreign);
    if (m->foreign && m->n_foreign < PICKLE_MAX_FOREIGN)
        m->foreign[m->n_foreign++] = text;
}

static int push_global(struct machine *m, struct str module, struct str name)
{
    struct pickle_value *value = new_value(m, PICKLE_GLOBAL);

    if (!value)
        return out_of_values(m);
    const char *text = arena_printf(m->arena, "%.*s %.*s", (int)str_first(module, 512).n, module.p,
                                    (int)str_first(name, 512).n, name.p);
    value->text = str_of(text);
    if (!is_known(module, name))
        note_foreign(m, text);
    return push(m, value);
}

static int op_global(struct machine *m)
{
    struct str module, name;

    if (!take_line(m, &module) || !take_line(m, &name))
        return fail(m, E_PARSE, "cut inside a name");
    return push_global(m, module, name);
}

static int op_stack_global(struct machine *m)
{
    const struct pickle_value *name = pop(m);
    const struct pickle_value *module = pop(m);

    if (!name || !module || name->type != PICKLE_TEXT || module->type != PICKLE_TEXT)
        return fail(m, E_PARSE, "a name that is no text");
    return push_global(m, module->text, name->text);
}

/* NEWOBJ_EX has keywords beside the arguments; they are kept as the state. */
static int op_call(struct machine *m, bool has_keywords)
{
    struct pickle_value *keywords = has_keywords ? pop(m) : NULL;
    struct pickle_value *arguments = pop(m);
    struct pickle_value *callee = pop(m);
    struct pickle_value *call = new_value(m, PICKLE_CALL);

    if (!callee || !arguments || (has_keywords && !keywords))
        return fail(m, E_PARSE, "the stack is empty");
    if (!call)
        return out_of_values(m);
    call->callee = callee;
    call->arguments = arguments;
    call->state = keywords;
    return push(m, call);
}

static int op_build(struct machine *m)
{
    struct pickle_value *state = pop(m);
    struct pickle_value *object = top(m);

    if (!state || !object)
        return fail(m, E_PARSE, "the stack is empty");
    object->state = state;
    return OK;
}

static int op_persistent(struct machine *m)
{
    struct pickle_value *id = pop(m);
    struct pickle_value *value = new_value(m, PICKLE_PERSISTENT);

    if (!id)
        return fail(m, E_PARSE, "the stack is empty");
    if (value)
        value->arguments = id;
    return push(m, value);
}

static int op_pop_mark(struct machine *m)
{
    struct pickle_value **items;
    size_t n;

    return pop_mark(m, &items, &n) ? OK : fail(m, E_PARSE, "no mark on the stack");
}

/* POP takes a value, or the mark when nothing lies above it. */
static int op_pop(struct machine *m)
{
    if (pop(m))
        return OK;
    return op_pop_mark(m);
}

static int op_memo(struct machine *m, size_t index_bytes, bool put)
{
    uint64_t index;

    if (!take_number(m, index_bytes, &index))
        return fail(m, E_PARSE, "cut inside a memo index");
    return put ? memo_put(m, index) : memo_get(m, index);
}

static int op_int(struct machine *m, size_t n_bytes, bool is_signed)
{
    uint64_t value;

    if (!take_number(m, n_bytes, &value))
        return fail(m, E_PARSE, "cut inside an integer");
    return push_int(m, is_signed ? (int32_t)(uint32_t)value : (int64_t)value);
}

static int op_skip(struct machine *m, size_t n)
{
    const unsigned char *p;

    return take(m, n, &p) ? OK : fail(m, E_PARSE, "cut inside an opcode");
}

/* clang-format off: one line an opcode */
/* One opcode of protocols 2 to 5. */
static int step(struct machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 0x80: return op_skip(m, 1);                            /* PROTO */
    case 0x95: return op_skip(m, 8);                            /* FRAME */
    case 'c': return op_global(m);
    case 0x93: return op_stack_global(m);
    case 'q': return op_memo(m, 1, true);                       /* BINPUT */
    case 'r': return op_memo(m, 4, true);
    case 0x94: return memo_put(m, m->n_memo);                   /* MEMOIZE */
    case 'h': return op_memo(m, 1, false);                      /* BINGET */
    case 'j': return op_memo(m, 4, false);
    case '(': return push_mark(m);
    case ')': return push_container(m, PICKLE_TUPLE);
    case ']': return push_container(m, PICKLE_LIST);
    case '}': return push_container(m, PICKLE_DICT);
    case 0x8f: return push_container(m, PICKLE_SET);
    case 't': return push_marked(m, PICKLE_TUPLE);
    case 0x91: return push_marked(m, PICKLE_SET);               /* FROZENSET */
    case 0x85: return push_tuple(m, 1);
    case 0x86: return push_tuple(m, 2);
    case 0x87: return push_tuple(m, 3);
    case 'a': return add_last(m, PICKLE_LIST, 1);
    case 'e': return add_marked(m, PICKLE_LIST);
    case 0x90: return add_marked(m, PICKLE_SET);                /* ADDITEMS */
    case 's': return add_last(m, PICKLE_DICT, 2);
    case 'u': return add_marked(m, PICKLE_DICT);
    case 'R': case 0x81: return op_call(m, false);              /* REDUCE, NEWOBJ */
    case 0x92: return op_call(m, true);
    case 'b': return op_build(m);
    case 'X': return push_text(m, PICKLE_TEXT, 4);
    case 0x8c: return push_text(m, PICKLE_TEXT, 1);
    case 0x8d: return push_text(m, PICKLE_TEXT, 8);
    case 'U': return push_text(m, PICKLE_TEXT, 1);              /* SHORT_BINSTRING */
    case 'T': return push_text(m, PICKLE_TEXT, 4);
    case 'C': return push_text(m, PICKLE_BYTES, 1);
    case 'B': return push_text(m, PICKLE_BYTES, 4);
    case 0x8e: case 0x96: return push_text(m, PICKLE_BYTES, 8); /* BINBYTES8, BYTEARRAY8 */
    case 'J': return op_int(m, 4, true);
    case 'K': return op_int(m, 1, false);
    case 'M': return op_int(m, 2, false);
    case 0x8a: return push_long(m, 1);
    case 0x8b: return push_long(m, 4);
    case 'G': return push_float(m);
    case 'N': return push_container(m, PICKLE_NONE);
    case 0x88: return push_bool(m, true);
    case 0x89: return push_bool(m, false);
    case 'Q': return op_persistent(m);
    case '0': return op_pop(m);
    case '1': return op_pop_mark(m);
    case '2': return top(m) ? push(m, top(m)) : fail(m, E_PARSE, "the stack is empty");
    case 'I': case 'L': case 'F': case 'S': case 'V': case 'i': case 'o': case 'P': case 'd':
    case 'l': case 'p': case 'g':
        return fail(m, E_UNSUPPORTED, "a pickle of protocol 0, protocols 2 to 5 are read");
    default: return fail(m, E_PARSE, "an opcode that pickles do not have");
    }
}

/* clang-format on */

/* Runs to STOP. */
static int run(struct machine *m, const struct pickle_value **out)
{
    const unsigned char *opcode;

    m->n_stack = m->n_marks = 0;
    for (;;) {
        if (!take(m, 1, &opcode))
            return fail(m, E_PARSE, "ends before its STOP");
        if (*opcode == '.')
            break;
        int rc = step(m, *opcode);
        if (rc != OK)
            return rc;
    }
    *out = top(m);
    return *out ? OK : fail(m, E_PARSE, "holds no value");
}

static void forget(struct machine *m)
{
    if (m->memo)
        memset(m->memo, 0, m->memo_capacity * sizeof(*m->memo));
    m->n_memo = 0;
}

int pickle_parse(const void *bytes, size_t n, struct arena *arena, struct pickle *out,
                 struct error *err)
{
    struct machine machine = {.bytes = bytes, .n = n, .arena = arena, .err = err};
    const struct pickle_value *value = NULL;
    bool is_legacy = n >= sizeof LEGACY_HEAD && memcmp(bytes, LEGACY_HEAD, sizeof LEGACY_HEAD) == 0;
    int rc = OK;

    for (int i = is_legacy ? -LEGACY_SKIP : 0; i <= 0 && rc == OK; i++) {
        forget(&machine);
        rc = run(&machine, &value);
    }
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "pickle of %zu values", machine.n_values);
    if (rc == OK)
        *out = (struct pickle){value, machine.foreign, machine.n_foreign};
    free(machine.stack);
    free(machine.marks);
    free(machine.memo);
    return rc;
}
