/* The stack machine of Python's pickles, without Python: opcodes push and join values of
 * pickle.h. No name is looked up, nothing is called. How values are shown is in pickle_text.c. */
#include "core/read/pickle.h"

#include <string.h>

#include "core/read/pickle_machine.h"

#define PICKLE_MAX_FOREIGN 100
/* LONG1 of torch's magic number, little-endian: how a file of before torch 1.6 begins. */
static const unsigned char LEGACY_HEAD[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                            0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
#define LEGACY_SKIP 3 /* magic, version, system info */

/* Modules that training arguments and tensors are made of. */
static const char *const KNOWN_MODULES[] = {
    "transformers",
    "trl",
    "accelerate",
    "peft",
    "torch",
    "axolotl",
    "llamafactory",
    "llmtuner",
    "swift",
    "unsloth",
    "UnslothSFTTrainer",
    "deepspeed",
    "collections",
    "pathlib",
    "datetime",
    "numpy",
    "_codecs",
    "functools",
    "enum",
    "optimum",
    "datasets",
    "sentence_transformers",
    "setfit",
    "lightning",
    "pytorch_lightning",
    "__main__",
    "copy_reg",
    "copyreg",
    "typing",
    "dataclasses",
    "uuid",
    "decimal",
    "omegaconf",
    "argparse",
    "types",
    "simpletransformers",
};
/* Of Python itself only what builds containers; `eval`, `exec`, `open` … are foreign. */
static const char *const KNOWN_BUILTINS[] = {
    "set", "frozenset", "getattr",   "dict",    "list",   "tuple", "int",   "float", "bool",
    "str", "bytes",     "bytearray", "complex", "object", "slice", "range", "type",
};

/* ---- Values ---- */

static int push_text(struct pickle_machine *m, enum pickle_type type, size_t length_bytes)
{
    struct str text;
    int rc = machine_take_text(m, length_bytes, &text);
    struct pickle_value *value = rc == OK ? machine_new_value(m, type) : NULL;

    if (rc != OK)
        return rc;
    if (value)
        value->text = arena_str(m->arena, text);
    return machine_push(m, value);
}

static int push_int(struct pickle_machine *m, int64_t integer)
{
    struct pickle_value *value = machine_new_value(m, PICKLE_INT);

    if (value) {
        value->integer = integer;
        value->number = (double)integer;
    }
    return machine_push(m, value);
}

static int push_bool(struct pickle_machine *m, bool boolean)
{
    struct pickle_value *value = machine_new_value(m, PICKLE_BOOL);

    if (value)
        value->boolean = boolean;
    return machine_push(m, value);
}

static int push_float(struct pickle_machine *m)
{
    const unsigned char *p;
    struct pickle_value *value = machine_new_value(m, PICKLE_FLOAT);
    uint64_t bits = 0;

    if (!machine_take(m, 8, &p))
        return machine_fail(m, E_PARSE, "cut inside a float");
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    if (value)
        memcpy(&value->number, &bits, sizeof value->number);
    return machine_push(m, value);
}

/* Decimal digits of a two's complement number, least significant byte first. */
static struct str long_digits(struct arena *arena, const unsigned char *p, size_t n, bool negative)
{
    size_t n_digits = 0, most = n * 5 / 2 + 3; /* 256 < 10^2.5 */
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
    for (size_t k = 0; carry && k < n_digits; k++) { /* -x is ~x + 1 */
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
static int push_long(struct pickle_machine *m, size_t length_bytes)
{
    uint64_t n, bits;
    const unsigned char *p;
    struct pickle_value *value = machine_new_value(m, PICKLE_INT);

    if (!machine_take_number(m, length_bytes, &n) || n > 4096 || !machine_take(m, (size_t)n, &p))
        return machine_fail(m, E_PARSE, "an integer is longer than what is left of the file");
    if (!value)
        return machine_out_of_values(m);
    bool negative = n > 0 && (p[n - 1] & 0x80);
    if (n <= 8) {
        bits = machine_little(p, (size_t)n);
        if (negative && n < 8)
            bits |= UINT64_MAX << (8 * n);
        memcpy(&value->integer, &bits, sizeof bits);
        value->number = (double)value->integer;
        return machine_push(m, value);
    }
    for (size_t i = (size_t)n; i-- > 0;)
        value->number = value->number * 256 + (i + 1 == n && negative ? p[i] - 256.0 : p[i]);
    value->text = long_digits(m->arena, p, (size_t)n, negative);
    return machine_push(m, value);
}

static int push_container(struct pickle_machine *m, enum pickle_type type)
{
    return machine_push(m, machine_new_value(m, type));
}

static int append_items(struct pickle_machine *m, struct pickle_value *to,
                        struct pickle_value **items, size_t n)
{
    size_t want = to->n + n;

    if (n == 0)
        return OK;
    if (want > to->capacity) {
        size_t capacity = to->capacity ? to->capacity : 4;

        while (capacity < want)
            capacity *= 2;
        struct pickle_value **grown =
            arena_grow(m->arena, to->items, to->n * sizeof(*items), capacity * sizeof(*items));
        if (!grown)
            return machine_fail(m, E_NOMEM, "out of memory for a list");
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
static int add_marked(struct pickle_machine *m, enum pickle_type type)
{
    struct pickle_value **items;
    size_t n;

    if (!machine_pop_mark(m, &items, &n))
        return machine_fail(m, E_PARSE, "no mark on the stack");
    struct pickle_value *to = machine_top(m);
    if (!is_container(to, type))
        return machine_fail(m, E_PARSE, "items for something that is no container");
    if (type == PICKLE_DICT && n % 2)
        return machine_fail(m, E_PARSE, "a key without a value");
    return append_items(m, to, items, n);
}

static int add_last(struct pickle_machine *m, enum pickle_type type, size_t n)
{
    struct pickle_value *items[2];

    for (size_t i = n; i-- > 0;) {
        items[i] = machine_pop(m);
        if (!items[i])
            return machine_fail(m, E_PARSE, "the stack is empty");
    }
    struct pickle_value *to = machine_top(m);
    if (!is_container(to, type))
        return machine_fail(m, E_PARSE, "items for something that is no container");
    return append_items(m, to, items, n);
}

static int push_tuple(struct pickle_machine *m, size_t n)
{
    struct pickle_value *items[3];
    struct pickle_value *tuple = machine_new_value(m, PICKLE_TUPLE);

    for (size_t i = n; i-- > 0;) {
        items[i] = machine_pop(m);
        if (!items[i])
            return machine_fail(m, E_PARSE, "the stack is empty");
    }
    if (!tuple)
        return machine_out_of_values(m);
    int rc = append_items(m, tuple, items, n);
    return rc == OK ? machine_push(m, tuple) : rc;
}

static int push_marked(struct pickle_machine *m, enum pickle_type type)
{
    struct pickle_value **items;
    size_t n;
    struct pickle_value *value = machine_new_value(m, type);

    if (!value)
        return machine_out_of_values(m);
    if (!machine_pop_mark(m, &items, &n))
        return machine_fail(m, E_PARSE, "no mark on the stack");
    int rc = append_items(m, value, items, n);
    return rc == OK ? machine_push(m, value) : rc;
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

static void note_foreign(struct pickle_machine *m, const char *text)
{
    for (size_t i = 0; i < m->n_foreign; i++)
        if (strcmp(m->foreign[i], text) == 0)
            return;
    if (!m->foreign)
        m->foreign = arena_array(m->arena, PICKLE_MAX_FOREIGN, sizeof *m->foreign);
    if (m->foreign && m->n_foreign < PICKLE_MAX_FOREIGN)
        m->foreign[m->n_foreign++] = text;
}

static int push_global(struct pickle_machine *m, struct str module, struct str name)
{
    struct pickle_value *value = machine_new_value(m, PICKLE_GLOBAL);

    if (!value)
        return machine_out_of_values(m);
    const char *text = arena_printf(m->arena, "%.*s %.*s", (int)str_first(module, 512).n, module.p,
                                    (int)str_first(name, 512).n, name.p);
    value->text = str_of(text);
    if (!is_known(module, name))
        note_foreign(m, text);
    return machine_push(m, value);
}

static int op_global(struct pickle_machine *m)
{
    struct str module, name;

    if (!machine_take_line(m, &module) || !machine_take_line(m, &name))
        return machine_fail(m, E_PARSE, "cut inside a name");
    return push_global(m, module, name);
}

static int op_stack_global(struct pickle_machine *m)
{
    const struct pickle_value *name = machine_pop(m);
    const struct pickle_value *module = machine_pop(m);

    if (!name || !module || name->type != PICKLE_TEXT || module->type != PICKLE_TEXT)
        return machine_fail(m, E_PARSE, "a name that is no text");
    return push_global(m, module->text, name->text);
}

/* NEWOBJ_EX has keywords beside the arguments; they are kept as the state. */
static int op_call(struct pickle_machine *m, bool has_keywords)
{
    struct pickle_value *keywords = has_keywords ? machine_pop(m) : NULL;
    struct pickle_value *arguments = machine_pop(m);
    struct pickle_value *callee = machine_pop(m);
    struct pickle_value *call = machine_new_value(m, PICKLE_CALL);

    if (!callee || !arguments || (has_keywords && !keywords))
        return machine_fail(m, E_PARSE, "the stack is empty");
    if (!call)
        return machine_out_of_values(m);
    call->callee = callee;
    call->arguments = arguments;
    call->state = keywords;
    return machine_push(m, call);
}

static int op_build(struct pickle_machine *m)
{
    struct pickle_value *state = machine_pop(m);
    struct pickle_value *object = machine_top(m);

    if (!state || !object)
        return machine_fail(m, E_PARSE, "the stack is empty");
    object->state = state;
    return OK;
}

static int op_persistent(struct pickle_machine *m)
{
    struct pickle_value *id = machine_pop(m);
    struct pickle_value *value = machine_new_value(m, PICKLE_PERSISTENT);

    if (!id)
        return machine_fail(m, E_PARSE, "the stack is empty");
    if (value)
        value->arguments = id;
    return machine_push(m, value);
}

static int op_pop_mark(struct pickle_machine *m)
{
    struct pickle_value **items;
    size_t n;

    return machine_pop_mark(m, &items, &n) ? OK : machine_fail(m, E_PARSE, "no mark on the stack");
}

/* POP takes a value, or the mark when nothing lies above it. */
static int op_dup(struct pickle_machine *m)
{
    struct pickle_value *top = machine_top(m);

    return top ? machine_push(m, top) : machine_fail(m, E_PARSE, "the stack is empty");
}

static int op_pop(struct pickle_machine *m)
{
    if (machine_pop(m))
        return OK;
    return op_pop_mark(m);
}

static int op_memo(struct pickle_machine *m, size_t index_bytes, bool put)
{
    uint64_t index;

    if (!machine_take_number(m, index_bytes, &index))
        return machine_fail(m, E_PARSE, "cut inside a memo index");
    return put ? machine_memo_put(m, index) : machine_memo_get(m, index);
}

static int op_int(struct pickle_machine *m, size_t n_bytes, bool is_signed)
{
    uint64_t value;

    if (!machine_take_number(m, n_bytes, &value))
        return machine_fail(m, E_PARSE, "cut inside an integer");
    return push_int(m, is_signed ? (int32_t)(uint32_t)value : (int64_t)value);
}

static int op_skip(struct pickle_machine *m, size_t n)
{
    const unsigned char *p;

    return machine_take(m, n, &p) ? OK : machine_fail(m, E_PARSE, "cut inside an opcode");
}

/* clang-format off */
/* One opcode of protocols 2 to 5. */
static int step(struct pickle_machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 0x80: return op_skip(m, 1);                            /* PROTO */
    case 0x95: return op_skip(m, 8);                            /* FRAME */
    case 'c': return op_global(m);
    case 0x93: return op_stack_global(m);
    case 'q': return op_memo(m, 1, true);                       /* BINPUT */
    case 'r': return op_memo(m, 4, true);
    case 0x94: return machine_memo_put(m, m->n_memo);                   /* MEMOIZE */
    case 'h': return op_memo(m, 1, false);                      /* BINGET */
    case 'j': return op_memo(m, 4, false);
    case '(': return machine_push_mark(m);
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
    case '2': return op_dup(m);
    case 'I': case 'L': case 'F': case 'S': case 'V': case 'i': case 'o': case 'P': case 'd':
    case 'l': case 'p': case 'g':
        return machine_fail(m, E_UNSUPPORTED, "a pickle of protocol 0, protocols 2 to 5 are read");
    default: return machine_fail(m, E_PARSE, "an opcode that pickles do not have");
    }
}

/* clang-format on */

/* Runs to STOP. */
static int run(struct pickle_machine *m, const struct pickle_value **out)
{
    const unsigned char *opcode;

    m->n_stack = m->n_marks = 0;
    for (;;) {
        if (!machine_take(m, 1, &opcode))
            return machine_fail(m, E_PARSE, "ends before its STOP");
        if (*opcode == '.')
            break;
        int rc = step(m, *opcode);
        if (rc != OK)
            return rc;
    }
    *out = machine_top(m);
    return *out ? OK : machine_fail(m, E_PARSE, "holds no value");
}

int pickle_parse(const void *bytes, size_t n, struct arena *arena, struct pickle *out,
                 struct error *err)
{
    struct pickle_machine machine = {.bytes = bytes, .n = n, .arena = arena, .err = err};
    const struct pickle_value *value = NULL;
    bool is_legacy = n >= sizeof LEGACY_HEAD && memcmp(bytes, LEGACY_HEAD, sizeof LEGACY_HEAD) == 0;
    int rc = OK;

    for (int i = is_legacy ? -LEGACY_SKIP : 0; i <= 0 && rc == OK; i++) {
        machine_forget(&machine);
        rc = run(&machine, &value);
    }
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "pickle of %zu values", machine.n_values);
    if (rc == OK)
        *out = (struct pickle){value, machine.foreign, machine.n_foreign, machine.at};
    machine_close(&machine);
    return rc;
}
