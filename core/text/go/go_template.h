/* Go's text/template, as far as Ollama's templates use it: text, {{ pipelines }}, trim marks,
 * comments, if / else if / with / range / break / continue, define / template / block, variables,
 * fields and methods, parentheses, the built-in functions, and Ollama's own (json, currentDate,
 * yesterdayDate). FORMATS.md B21.
 *
 * A program is compiled once, is const afterwards. Data is a tree of JSON values in which an object
 * is either a map (a missing key is "no value") or a struct (a missing field is an error): see
 * struct go_value. Nothing is executed; steps, depth and output are bounded. What the engine does
 * not know is refused by name and line, never approximated: E_UNSUPPORTED with the failure filled;
 * E_PARSE when the template itself is wrong or its execution fails, as Go would fail. */
#ifndef CORE_TEXT_GO_GO_TEMPLATE_H
#define CORE_TEXT_GO_GO_TEMPLATE_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"

#define GO_TEMPLATE_BYTES ((size_t)1 << 20)
#define GO_OUTPUT_BYTES   ((size_t)16 << 20)
#define GO_STEPS          10000000
#define GO_DEPTH          100

enum go_fault { GO_SYNTAX, GO_RUNTIME, GO_UNSUPPORTED, GO_LIMIT };

struct go_failure {
    enum go_fault kind;
    int line;                   /* of the template, from 1; 0 not known */
    char message[512];
};

/* GO_NIL is an interface that holds nothing (JSON's null). GO_INVALID is "no value" at all: what a
 * missing key becomes once a pipeline has seen it. Data does not hold it. */
enum go_type {
    GO_NIL,
    GO_BOOL,
    GO_INT,
    GO_FLOAT,
    GO_STRING,
    GO_LIST,
    GO_MAP,
    GO_STRUCT,
    GO_INVALID
};

/* What a named type of the server does otherwise than a plain value of its kind. */
enum go_form {
    GO_FORM_PLAIN,
    GO_FORM_JSON,     /* has a String method that gives its JSON ("{}" for a nil map) */
    GO_FORM_TYPES,    /* a list of type names: one prints and marshals as a bare text */
    GO_FORM_PROPERTY, /* a struct with the method ToTypeScriptType */
    GO_FORM_ORDERED,  /* a struct whose fields are hidden and marshalled in their order */
    GO_FORM_OPAQUE    /* bytes that are not here: whatever shows them is refused */
};

struct go_class {
    const char *name; /* as Go prints the type: "template.templateTools" */
    enum go_form form;
    const struct go_value *missing; /* of a map: what a key that it has not gives; NULL: nil */
};

struct go_field;

/* A value of the data; borrowed for the time of the render. */
struct go_value {
    enum go_type type;
    bool boolean;
    int64_t integer;
    double number;
    struct str text;
    const struct go_value *items;       /* GO_LIST */
    const struct go_field *fields;      /* GO_MAP (sorted by key when ranged over), GO_STRUCT */
    size_t n;
    const struct go_class *class; /* NULL: bool, int, float64, string, []any, map[string]any */
    bool is_nil;                  /* a nil list, map or pointer: prints empty, marshals as null */
    bool is_pointer;              /* a GO_STRUCT behind a pointer */
};

struct go_field {
    const char *name;           /* field or key */
    const char *json_name;      /* of a struct's field, for `json`; NULL: as name, "-": left out */
    bool omits_empty;           /* json: an empty one is left out */
    bool is_any;                /* declared as any: only nil counts as empty */
    struct go_value value;
};

struct go_template;

MUST_CHECK int go_template_open(struct go_template **out, struct str text,
                                struct go_failure *failure, struct error *err);
void go_template_close(struct go_template *tmpl);       /* NULL allowed */

struct go_settings {
    int64_t now, utc_offset;    /* for currentDate: seconds since 1970, and local time's offset */
};

/* Appends to *out what Execute writes; on a failure what was written so far stays in it. */
MUST_CHECK int go_template_render(const struct go_template *tmpl, const struct go_value *data,
                                  const struct go_settings *settings, struct buf *out,
                                  struct go_failure *failure, struct error *err);

/* ---- What Ollama asks of a template before it renders it ---- */

/* The template names this variable (ignoring case) where Ollama looks: fields and variables of actions
 * and of the pipelines of if, range, with and template; not what stands in (…).Field. */
bool go_template_names(const struct go_template *tmpl, const char *variable);
/* A {{template "x"}} without a value stands in it: Ollama refuses such templates. */
bool go_template_has_bare_call(const struct go_template *tmpl);
/* Behind the last node: {{ .Response }}. */
MUST_CHECK int go_template_append_response(struct go_template *tmpl, struct error *err);
/* The tags around `.Thinking` in a range over .Messages, trimmed; false when one is missing. */
bool go_template_thinking_tags(const struct go_template *tmpl, struct str *opening,
                               struct str *closing);
/* As go_template_render, but everything behind the first .Response is cut away, and the template runs
 * alone: without definitions and without the functions that Ollama adds. */
MUST_CHECK int go_template_render_until_response(const struct go_template *tmpl,
                                                 const struct go_value *data,
                                                 const struct go_settings *settings,
                                                 struct buf *out, struct go_failure *failure,
                                                 struct error *err);

#endif
