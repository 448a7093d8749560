/* Values of a template while it is rendered: their kinds and what each is made of. What can be done
 * with them is in jinja_parts.h. Not for others. */
#ifndef CORE_TEXT_JINJA_VALUES_H
#define CORE_TEXT_JINJA_VALUES_H

#include "core/base/str.h"

struct node;
struct activation;
struct filter;
struct test;

enum value_type {
    V_MISSING, /* no value at all: an unset variable, an argument that was not given */
    V_UNDEFINED,
    V_NONE,
    V_BOOL,
    V_INT,
    V_BIG, /* an integer beyond 64 bits */
    V_FLOAT,
    V_STR,
    V_LIST,
    V_TUPLE,
    V_DICT,
    V_RANGE,
    V_NAMESPACE,
    V_VIEW, /* of a dict: keys, values, items */
    V_ITER, /* generators and iterators: once, lazily */
    V_LOOP,
    V_MACRO,
    V_METHOD, /* bound */
    V_GLOBAL, /* a function of the environment */
    V_CYCLER,
    V_JOINER,
    V_BYTES
};

/* flags of a text */
#define F_MARKUP  1 /* markupsafe's Markup */
#define F_LITERAL 2 /* a slice of the template's own text */
#define F_CONTEXT 4 /* a slice of a text of the context */

/* how an undefined came to be, in aux: which message it has */
enum undefined_kind { U_NAME, U_ATTRIBUTE, U_HINT, U_UNSAFE };

struct value {
    uint8_t type, flags;
    uint16_t aux; /* undefined: kind, and type of the object << 8; global: which; view: which */
    uint32_t n;   /* bytes of a text; of the name of an undefined */
    union {
        const char *p;
        int64_t i;
        double f;
        struct big *big;
        struct list *list;
        struct dict *dict;
        struct range *range;
        struct iter *iter;
        struct loop *loop;
        struct macro *macro;
        struct method *method;
        struct cycler *cycler;
        struct joiner *joiner;
    };
};

struct big { /* magnitude, least limb first, base 10^9; no leading zero limbs */
    bool negative;
    uint32_t n;
    uint32_t limb[];
};

struct list { /* lists and tuples; a groupby tuple has is_group */
    struct value *items;
    uint32_t n, capacity;
    bool is_group;
};

struct entry {
    struct value key, value;
    uint64_t hash;
};

struct dict { /* insertion order; the table is there from DICT_FEW entries on */
    struct entry *entries;
    uint32_t n, capacity;
    uint32_t *table; /* place + 1 */
    uint32_t mask;
    bool is_hashed; /* entries have their hash */
};
#define DICT_FEW 8

struct range {
    int64_t start, step, n, stop;
};

enum iter_kind {
    I_EMPTY,
    I_LIST,
    I_LIST_BACK,
    I_STR,
    I_KEYS,
    I_VALUES,
    I_ITEMS,
    I_RANGE,
    I_MAP, /* filters over a source */
    I_SELECT,
    I_UNIQUE,
    I_BATCH,
    I_SLICE,
    I_TESTED, /* for … if */
    I_LOOP
};

struct iter {
    enum iter_kind kind;
    bool is_done, is_back, is_generator, is_lazy; /* is_lazy: source not looked at yet */
    struct value source;
    struct iter *from;
    int64_t at, end;
    const struct lazy *lazy;      /* of map, select, unique, batch, slice */
    struct dict *seen;            /* unique */
    const struct node *loop_node; /* for … if */
    struct activation *activation, *outer;
};

/* What a lazy filter was called with. */
struct lazy {
    const struct node *node;
    struct value *args;
    size_t n_args;
    struct str *names; /* of keyword arguments, which follow the others */
    size_t n_names;
    const struct list *parts; /* of an attribute path; NULL: none */
    struct value default_value;
    const struct filter *filter;
    const struct test *test;
    struct str called; /* name of filter or test, for its message */
    bool is_negated, has_filter, has_test, is_sensitive;
};

struct loop {
    struct iter *iter;
    int64_t index0, length, depth0; /* length -1: not known yet */
    struct value after, current, before;
    struct list *changed;
    const struct node *node; /* recursive loops */
    struct activation *outer;
};

struct macro {
    const struct node *node;
    struct activation *outer;
};

struct method {
    struct value self;
    struct str name;
    int which;
};

struct cycler {
    struct list *items;
    uint32_t at;
};

struct joiner {
    struct value separator;
    bool is_used;
};

#endif
