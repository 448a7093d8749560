/* The inside of the Jinja engine: values, the tree of a template, a render under way. Not for
 * others; see jinja.h. The names of parts follow Jinja2's: what it does is the standard here.
 *
 * A text is lexed and parsed into nodes; scope.c then gives every name a slot as Jinja2's compiler
 * gives it a local variable, and folds constants. A render walks the nodes. What it makes lies in a
 * heap that is given back at once; texts are slices and are not copied. A failure leaves by longjmp
 * to the one place that started: nothing in between owns anything but the heap. */
#ifndef CORE_TEXT_JINJA_JINJA_PARTS_H
#define CORE_TEXT_JINJA_JINJA_PARTS_H

#include <setjmp.h>

#include "core/text/jinja/jinja.h"
#include "core/text/jinja/values.h"

/* ---- the tree ---- */

enum node_kind {
    E_CONST,
    E_NAME,
    E_TUPLE,
    E_LIST,
    E_DICT, /* items: key, value, key, value */
    E_ADD,
    E_SUB,
    E_MUL,
    E_DIV,
    E_FLOORDIV,
    E_MOD,
    E_POW,
    E_AND,
    E_OR,
    E_NOT,
    E_NEG,
    E_POS,
    E_CONCAT,
    E_COMPARE, /* a, then items with op */
    E_OPERAND,
    E_COND, /* b if a else c */
    E_GETATTR,
    E_GETITEM,
    E_SLICE,
    E_CALL,
    E_FILTER, /* a NULL: of a block */
    E_TEST,
    E_NSREF,
    S_DATA,
    S_OUTPUT,
    S_IF,  /* a, body; items: elif nodes; other */
    S_FOR, /* a target, b iterable, c test */
    S_SET,
    S_SET_BLOCK,  /* a target, b filter */
    S_MACRO,      /* items: parameters; defaults: the last of them */
    S_CALL_BLOCK, /* a call; as a macro */
    S_FILTER_BLOCK,
    S_WITH,       /* items: targets; defaults: values */
    S_AUTOESCAPE, /* a */
    S_BLOCK,
    S_BREAK,
    S_CONTINUE,
    S_NO_LOADER /* include, import, from, extends: items are targets stored */
};

enum operand { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_IN, OP_NOT_IN };
enum name_context { CTX_LOAD, CTX_STORE, CTX_PARAM };

struct keyword {
    struct str name;
    struct node *value;
};

/* Where a variable is: so many functions out, and its slot there. */
struct place {
    uint16_t hops, slot;
};

enum load_action { LOAD_PARAMETER, LOAD_RESOLVE, LOAD_ALIAS, LOAD_UNDEFINED };

/* What happens to a variable when its scope is entered. */
struct load {
    uint16_t slot;
    uint8_t action;
    uint16_t name;     /* LOAD_RESOLVE */
    struct place from; /* LOAD_ALIAS */
};

struct scope {
    struct load *loads;
    size_t n;
};

struct function {
    struct function *outer;
    size_t n_slots;
    struct ident *idents; /* scope.c */
    size_t n_idents, idents_capacity;
};

struct body {
    struct node **items;
    size_t n;
};

struct node {
    enum node_kind kind;
    uint8_t op;       /* enum operand, enum name_context */
    bool is_extended; /* a loop that has `loop` */
    bool is_recursive, is_generation, is_scoped;
    bool takes_kwargs, takes_varargs, takes_caller;
    bool is_mutable; /* a constant with lists or dicts in it */
    uint8_t escape;  /* 0 no, 1 yes, 2 as the render says */
    int line;
    uint16_t depth;
    uint16_t name_id;   /* of names: index in the program's names */
    struct place place; /* names; loop variable of S_FOR; macro's own name */
    uint16_t export;    /* 1 + name_id: a top-level assignment, kept for macros and blocks */
    uint16_t caller_slot, kwargs_slot, varargs_slot;
    struct str name;
    struct value value; /* E_CONST, S_DATA */
    struct node *a, *b, *c;
    struct node **items;
    size_t n;
    struct node **defaults;
    size_t n_defaults;
    struct keyword *kwargs;
    size_t n_kwargs;
    struct node *dyn_args, *dyn_kwargs;
    struct body body, other;
    struct scope scope, other_scope, test_scope;
    struct function *function;      /* macros, call blocks, recursive loops, blocks */
    struct function *test_function; /* for … if */
    const struct filter *filter;
    const struct test *test;
    uint16_t *exports;           /* name ids and … */
    struct place *export_places; /* … where their values are */
    size_t n_exports;
};

/* ---- a compiled template ---- */

struct jinja_program {
    struct arena *arena;
    struct str text; /* newlines made one, own copy */
    struct body body;
    struct scope scope;
    struct function *function;
    struct str *names;
    size_t n_names, names_capacity;
    struct jinja_memory *memory; /* of folded constants */
    uint32_t *name_table;
    uint32_t name_mask;
    bool has_generation, uses_clock, mutates;
    struct node **blocks;
    size_t n_blocks, blocks_capacity;
};

/* ---- a render under way, or a compilation ---- */

struct activation {
    struct value *slots;
    struct activation *outer;
};

struct chunk {
    struct chunk *next;
    size_t size;
};

struct jinja_memory {    /* kept in the output between renders */
    struct chunk *first; /* the chunks in the order they are filled */
    struct chunk *current;
    char *p, *end;
    size_t used;
};

struct vm {
    const struct jinja_program *program;
    const struct json *context;
    const struct jinja_settings *settings;
    struct jinja_output *output;
    struct jinja_memory *memory;
    struct jinja_failure *failure;
    jmp_buf *jump;
    uint64_t steps, step_limit;
    size_t memory_limit;
    int depth, depth_limit;
    const char *stack; /* where the render began */
    int line;
    bool autoescape;
    int captures;    /* captured texts under way */
    size_t root_end; /* of the output when the outermost capture or generation began */
    int in_generation;
    struct capture *capture;   /* the innermost */
    struct value *vars;        /* by name: what the top level has set */
    struct value *resolved;    /* by name: from the context; V_MISSING with aux 1: not there */
    struct function *function; /* compilation */
};

void jinja_fail(struct vm *vm, enum jinja_fault kind, const char *fmt, ...) PRINTF_LIKE(3, 4)
    __attribute__((noreturn));
/* The usual one: a runtime error as Python would raise it. */
void jinja_error(struct vm *vm, const char *fmt, ...) PRINTF_LIKE(2, 3) __attribute__((noreturn));
void jinja_too_much(struct vm *vm, const char *what) __attribute__((noreturn));

/* heap.c */
void *jinja_take_more(struct vm *vm, size_t n);
static inline void *jinja_take(struct vm *vm, size_t n)
{
#ifndef FLATLINE_ARENA_MALLOC
    char *p = vm->memory->p;
    size_t need = (n + 7) & ~(size_t)7;

    if (need >= n && need <= (size_t)(vm->memory->end - p)) {
        vm->memory->p = p + need;
        return p;
    }
#endif
    return jinja_take_more(vm, n);
}
void *jinja_take_array(struct vm *vm, size_t n, size_t size);
struct jinja_memory *jinja_memory_open(void);
void jinja_memory_reset(struct jinja_memory *memory);
void jinja_memory_close(struct jinja_memory *memory);
/* Counts work done, so that nothing runs for long: n bytes or items looked at in one go. */
void jinja_spend(struct vm *vm, uint64_t steps);
static inline void jinja_step(struct vm *vm)
{
    if (++vm->steps > vm->step_limit)
        jinja_too_much(vm, "steps");
}
static inline void jinja_work(struct vm *vm, size_t bytes)
{
    if (bytes >= 256)
        jinja_spend(vm, bytes / 256);
}
void jinja_check_stack(struct vm *vm);

/* A text that grows in the heap. */
struct text {
    struct vm *vm;
    char *p;
    size_t n, capacity;
};
void jinja_text_add(struct text *text, const char *p, size_t n);
void jinja_text_str(struct text *text, struct value v);
void jinja_text_puts(struct text *text, const char *p);
void jinja_text_putc(struct text *text, char c);
void jinja_text_fill(struct text *text, struct str unit, int64_t n);
void jinja_text_codepoint(struct text *text, int32_t codepoint); /* surrogates too */
struct value jinja_text_value(struct text *text);

/* value.c */
#define VALUE(t) ((struct value){.type = (t)})
static inline struct value v_none(void)
{
    return VALUE(V_NONE);
}
static inline struct value v_missing(void)
{
    return VALUE(V_MISSING);
}
static inline struct value v_bool(bool b)
{
    return (struct value){.type = V_BOOL, .i = b};
}
static inline struct value v_int(int64_t i)
{
    return (struct value){.type = V_INT, .i = i};
}
static inline struct value v_float(double f)
{
    return (struct value){.type = V_FLOAT, .f = f};
}
static inline struct str str_v(struct value v)
{
    return (struct str){v.p, v.n};
}
static inline struct value v_str(struct vm *vm, struct str s, uint8_t flags)
{
    if (s.n > UINT32_MAX)
        jinja_too_much(vm, "memory");
    return (struct value){.type = V_STR, .flags = flags, .n = (uint32_t)s.n, .p = s.n ? s.p : ""};
}
/* A part of a text keeps what the whole is. */
static inline struct value v_slice(struct value of, size_t from, size_t to)
{
    of.p += from;
    of.n = (uint32_t)(to - from);
    return of;
}
struct value jinja_v_chars(const char *constant);
struct value jinja_v_undefined(enum undefined_kind kind, struct value object, struct str name);
struct value jinja_v_hint(const char *hint);
_Noreturn void jinja_undefined_error(struct vm *vm, struct value v);
struct list *jinja_list_new(struct vm *vm, size_t capacity);
void jinja_list_add(struct vm *vm, struct list *list, struct value v);
struct value jinja_v_list(struct list *list);
struct value jinja_v_tuple(struct list *list);
struct value jinja_v_pair(struct vm *vm, struct value a, struct value b);
struct dict *jinja_dict_new(struct vm *vm, size_t capacity);
void jinja_dict_set(struct vm *vm, struct dict *dict, struct value key, struct value value);
struct value *jinja_dict_get(struct vm *vm, struct dict *dict,
                             struct value key); /* NULL: not there */
struct value jinja_v_dict(struct dict *dict);
bool jinja_value_is_hashable(struct vm *vm, struct value v);
bool jinja_value_truth(struct vm *vm, struct value v);
const char *jinja_value_type_name(struct value v);
struct value jinja_value_of_json(struct vm *vm, const struct json *json);
struct value jinja_value_copy(struct vm *vm, struct value v, int depth); /* lists and dicts anew */
static inline bool is_str(struct value v)
{
    return v.type == V_STR;
}
static inline bool is_listy(struct value v)
{
    return v.type == V_LIST || v.type == V_TUPLE;
}
static inline bool is_intlike(struct value v)
{
    return v.type == V_INT || v.type == V_BOOL;
}
static inline bool is_number(struct value v)
{
    return v.type >= V_BOOL && v.type <= V_FLOAT;
}

/* compare.c */
bool jinja_value_equal(struct vm *vm, struct value a, struct value b);
bool jinja_value_same(struct value a, struct value b); /* `is` */
bool jinja_value_compare(struct vm *vm, enum operand op, struct value a, struct value b);
bool jinja_value_in(struct vm *vm, struct value needle, struct value haystack);
/* Stable. keys: what is compared, by position. */
void jinja_value_sort(struct vm *vm, struct list *list, struct list *keys, bool is_reverse);

/* number.c, big.c */
struct value jinja_value_binary(struct vm *vm, enum node_kind kind, struct value a, struct value b);
struct value jinja_value_negate(struct vm *vm, struct value a);
struct value jinja_value_plus(struct vm *vm, struct value a);
double jinja_value_double(struct vm *vm, struct value v); /* of a number */
bool jinja_double_of_big(const struct big *big, double *out);
struct value jinja_int_of_double(struct vm *vm, double f);
int jinja_number_compare(struct vm *vm, struct value a, struct value b); /* -2: not ordered */
struct value jinja_big_of_text(struct vm *vm,
                               struct str digits); /* normal form: V_INT when it fits */
struct value jinja_big_of_text_base(struct vm *vm, struct str digits, int base);
struct str jinja_big_text(struct vm *vm, const struct big *big);
struct value jinja_big_binary(struct vm *vm, enum node_kind kind, struct value a, struct value b);
int jinja_big_compare(struct vm *vm, struct value a, struct value b);
struct value jinja_big_negate(struct vm *vm, struct value a);
struct value jinja_value_repeat(struct vm *vm, struct value v, int64_t times);
/* An index or count: integers and booleans; else a type error that names `what`. */
int64_t jinja_value_index(struct vm *vm, struct value v, const char *what);

/* printing.c */
void jinja_print_str(struct text *out, struct value v);  /* str(v) */
void jinja_print_repr(struct text *out, struct value v); /* repr(v) */
void jinja_repr_bytes(struct text *out, struct str s);
struct value jinja_value_str(struct vm *vm, struct value v);  /* a plain text */
struct value jinja_value_soft(struct vm *vm, struct value v); /* Markup stays */
struct value jinja_value_escape(struct vm *vm, struct value v);
void jinja_escape_into(struct text *out, struct str s);
struct value jinja_filter_tojson(struct vm *vm, struct value v, const struct value *args);

/* texts.c: code points */
bool jinja_text_is_ascii(struct str s);
size_t jinja_text_count(struct vm *vm, struct str s);     /* code points */
size_t jinja_text_step(struct str s, int32_t *codepoint); /* as unicode_next, surrogates pass */
size_t jinja_text_offset(struct vm *vm, struct str s, size_t index); /* byte of a code point */
struct value jinja_text_slice(struct vm *vm, struct value v, int64_t from, int64_t step, int64_t n);
struct value jinja_text_char(struct vm *vm, struct value v, int64_t index, bool *found);
struct value jinja_text_strip(struct value v, struct value chars, int sides, struct vm *vm);
struct value jinja_text_replace(struct vm *vm, struct value v, struct str old, struct str with,
                                int64_t count);
struct list *jinja_text_split(struct vm *vm, struct value v, struct value separator, int64_t most,
                              bool from_right);
struct list *jinja_text_lines(struct vm *vm, struct value v, bool keep_ends);
struct value jinja_text_pad(struct vm *vm, struct value v, int64_t width, struct str fill,
                            char align);
enum case_change { CASE_UPPER, CASE_LOWER, CASE_TITLE, CASE_CAPITALIZE, CASE_SWAP, CASE_FOLD };
struct value jinja_text_case(struct vm *vm, struct value v, enum case_change change);
bool jinja_text_parse_int(struct vm *vm, struct str s, int base, struct value *out);
bool jinja_text_parse_float(struct str s, double *out);

/* iterate.c */
bool jinja_value_iterate(struct vm *vm, struct value v,
                         struct iter *iter);               /* false: not iterable */
struct iter *jinja_iter_of(struct vm *vm, struct value v); /* fails when not iterable */
bool jinja_iter_next(struct vm *vm, struct iter *iter, struct value *out);
struct list *jinja_list_of(struct vm *vm, struct value v);          /* list(v) */
bool jinja_value_length(struct vm *vm, struct value v, int64_t *n); /* false: has no len() */
struct value jinja_v_lazy(struct vm *vm, enum iter_kind kind, struct value source,
                          const struct lazy *lazy);
/* reversed(v) */
bool jinja_value_reversed(struct vm *vm, struct value v, struct value *out);
struct list *jinja_attribute_parts(struct vm *vm, struct value attribute);
struct value jinja_attribute_of(struct vm *vm, struct value v, const struct list *parts,
                                struct value default_value);

/* lookup.c */
struct value jinja_value_attribute(struct vm *vm, struct value v, struct str name);
struct value jinja_value_item(struct vm *vm, struct value v, struct value key);
struct value jinja_value_slice(struct vm *vm, struct value v, const struct value bounds[3]);
bool jinja_python_attribute(struct vm *vm, struct value v, struct str name, struct value *out);

/* call.c */
struct call {
    struct value *args;
    size_t n;
    struct str *names; /* of the keyword arguments, whose values follow the others in args */
    size_t n_names;
    const char *what; /* for messages */
};
/* The arguments by name into out[n]; V_MISSING where not given. `names` blank-separated; a name
 * before '/' cannot be given by keyword. */
void jinja_call_bind(struct vm *vm, const struct call *call, const char *names, size_t n_required,
                     struct value *out);
struct value jinja_value_call(struct vm *vm, struct value callee, const struct call *call);
bool jinja_global_find(struct str name, struct value *out);
struct value jinja_method_call(struct vm *vm, struct method *method, const struct call *call);
int jinja_method_find(struct value self, struct str name); /* -1: there is none */
struct value jinja_str_method(struct vm *vm, struct method *method, const struct call *call);
struct value jinja_format_percent(struct vm *vm, struct value format, struct value args);
struct value jinja_format_braces(struct vm *vm, struct value format, const struct call *call);
struct value jinja_format_time(struct vm *vm, struct str format);
bool jinja_loop_next(struct vm *vm, struct loop *loop, struct value *out);
int64_t jinja_loop_length(struct vm *vm, struct loop *loop);
struct value jinja_loop_recurse(struct vm *vm, struct loop *loop, struct value iterable);
struct value jinja_loop_attribute(struct vm *vm, struct loop *loop, struct str name, bool *found);

/* filters*.c, tests.c */
struct filter {
    const char *name;
    const char *params; /* after the value, blank-separated; "*": its own business */
    uint8_t n_params, n_required;
    struct value (*run)(struct vm *vm, struct value v, const struct value *args);
    struct value (*run_call)(struct vm *vm, struct value v, const struct call *call);
};
const struct filter *jinja_filter_find(struct str name);
struct value jinja_filter_apply(struct vm *vm, const struct filter *filter, struct value v,
                                const struct call *call);
struct test {
    const char *name;
    uint8_t n_args;
    bool (*run)(struct vm *vm, struct value v, const struct value *args);
};
const struct test *jinja_test_find(struct str name);
bool jinja_test_apply(struct vm *vm, const struct test *test, struct value v,
                      const struct call *call);
const struct filter *jinja_filters_of_texts(size_t *n);
const struct filter *jinja_filters_of_lists(size_t *n);
const struct filter *jinja_filters_of_more(size_t *n);

/* eval.c, exec.c */
struct value jinja_eval(struct vm *vm, const struct node *node, struct activation *act);
/* The filters of a block on its text; the call of a call block with its caller. */
struct value jinja_eval_filter_on(struct vm *vm, const struct node *node, struct activation *act,
                                  struct value text);
struct value jinja_eval_call_of(struct vm *vm, const struct node *node, struct activation *act,
                                struct value caller);
enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };
enum flow jinja_exec(struct vm *vm, const struct body *body, struct activation *act);
void jinja_assign(struct vm *vm, const struct node *target, struct value v, struct activation *act);
struct activation *jinja_activation_new(struct vm *vm, const struct function *function,
                                        struct activation *outer);
void jinja_scope_enter(struct vm *vm, const struct scope *scope, struct activation *act);
void jinja_scope_leave(const struct scope *scope, struct activation *act);
struct value jinja_resolve(struct vm *vm, uint16_t name);
void jinja_out_write(struct vm *vm, struct value v, const struct node *node);
enum flow jinja_run_for_statement(struct vm *vm, const struct node *node,
                                  struct activation *act); /* loops.c */
static inline struct value *jinja_slot_at(struct activation *act, struct place place)
{
    for (unsigned hops = place.hops; hops > 0; hops--)
        act = act->outer;
    return &act->slots[place.slot];
}
/* A text that is captured instead of written. */
struct capture {
    size_t begin;
    struct value only; /* when one value was all that was written */
    int n_writes;
    struct capture *outer;
};
void jinja_capture_begin(struct vm *vm, struct capture *capture);
struct value jinja_capture_end(struct vm *vm, struct capture *capture);

#endif
