/* The functions that a template may call: Go's own and the four that Ollama adds. Comparisons are
 * compare.c, lists and maps are index.c. */
#include <stdio.h>
#include <time.h>

#include "core/text/go/go_parts.h"

static bool give_text(const struct go_call *call, struct buf *text, bool is_good,
                      struct go_value *out)
{
    if (text->failed)
        is_good = go_run_limit(call->run, "16 MiB for one text");
    *out = go_text(arena_str(call->run->arena, buf_view(text)));
    buf_free(text);
    return is_good;
}

/* ---- logic ---- */

static bool call_not(const struct go_call *call, struct go_value *out)
{
    *out = go_bool(!go_is_true(&call->args[0]));
    return true;
}

/* call_function decides these two itself: they do not look at what stands behind the decision. */
static bool call_and(const struct go_call *call, struct go_value *out)
{
    *out = call->args[0];
    return true;
}

static bool call_or(const struct go_call *call, struct go_value *out)
{
    *out = call->args[0];
    return true;
}

/* No function is ever a value of the data. */
static bool call_call(const struct go_call *call, struct go_value *out)
{
    (void)out;
    if (call->args[0].type == GO_INVALID || call->args[0].type == GO_NIL)
        return go_run_fail(call->run, "error calling call: call of nil");
    return go_run_fail(call->run, "error calling call: non-function of type %s",
                       go_type_name(&call->args[0]));
}

/* ---- texts ---- */

static bool call_print(const struct go_call *call, struct go_value *out)
{
    struct buf text;

    buf_init(&text, GO_OUTPUT_BYTES);
    return give_text(call, &text, go_print_all(call->run, call->args, call->n, &text), out);
}

static bool call_println(const struct go_call *call, struct go_value *out)
{
    struct buf text;

    buf_init(&text, GO_OUTPUT_BYTES);
    return give_text(call, &text, go_println(call->run, call->args, call->n, &text), out);
}

static bool call_printf(const struct go_call *call, struct go_value *out)
{
    struct buf text;

    buf_init(&text, GO_OUTPUT_BYTES);
    return give_text(call, &text, go_printf(call->run, call->args, call->n, &text), out);
}

static bool call_json(const struct go_call *call, struct go_value *out)
{
    struct buf text;

    buf_init(&text, GO_OUTPUT_BYTES);
    return give_text(call, &text, go_json(call->run, &call->args[0], &text), out);
}

/* The arguments printed as one text, and that escaped. */
static bool escape(const struct go_call *call, void (*put)(struct buf *out, struct str text),
                   struct go_value *out)
{
    struct buf plain, text;
    bool is_good;
    struct go_value *args = arena_array(call->run->arena, call->n + 1, sizeof *args);

    if (!args)
        return go_run_limit(call->run, "the memory that it may have");
    for (size_t i = 0; i < call->n; i++) {
        args[i] = call->args[i];
        if (args[i].type == GO_STRUCT && !args[i].is_nil)
            args[i].is_pointer = false;
        if (args[i].type == GO_NIL)
            args[i] = go_text(str_of("<no value>"));
    }
    buf_init(&plain, GO_OUTPUT_BYTES);
    buf_init(&text, GO_OUTPUT_BYTES);
    is_good = go_print_all(call->run, args, call->n, &plain);
    put(&text, buf_view(&plain));
    text.failed |= plain.failed;
    buf_free(&plain);
    return give_text(call, &text, is_good, out);
}

static bool call_html(const struct go_call *call, struct go_value *out)
{
    return escape(call, go_escape_html, out);
}

static bool call_js(const struct go_call *call, struct go_value *out)
{
    return escape(call, go_escape_js, out);
}

static bool call_urlquery(const struct go_call *call, struct go_value *out)
{
    return escape(call, go_escape_query, out);
}

/* ---- Ollama's ---- */

static bool give_date(const struct go_call *call, int days_back, struct go_value *out)
{
    const struct go_settings *settings = call->run->settings;
    time_t when = (time_t)(settings->now + settings->utc_offset - days_back * 86400);
    struct tm date;
    char text[64] = "";

    if (gmtime_r(&when, &date))
        snprintf(text, sizeof text, "%04d-%02d-%02d", date.tm_year + 1900, date.tm_mon + 1,
                 date.tm_mday);
    *out = go_text(arena_str(call->run->arena, str_of(text)));
    return true;
}

static bool call_current_date(const struct go_call *call, struct go_value *out)
{
    return give_date(call, 0, out);
}

static bool call_yesterday_date(const struct go_call *call, struct go_value *out)
{
    return give_date(call, 1, out);
}

static bool call_type_script(const struct go_call *call, struct go_value *out)
{
    const struct go_value *value = &call->args[0];
    struct buf text;

    buf_init(&text, GO_OUTPUT_BYTES);
    if (value->class && value->class->form == GO_FORM_PROPERTY)
        go_types_text(value, &text);
    else
        buf_puts(&text, "any");
    return give_text(call, &text, true, out);
}

/* ---- the list ---- */

#define ANY SIZE_MAX

static const struct go_function FUNCTIONS[] = {
    {.name = "and", .n_least = 1, .n_most = ANY, .takes_values = true, .call = call_and},
    {.name = "or", .n_least = 1, .n_most = ANY, .takes_values = true, .call = call_or},
    {.name = "not", .n_least = 1, .n_most = 1, .takes_values = true, .call = call_not},
    {.name = "eq", .n_least = 1, .n_most = ANY, .takes_values = true, .call = go_call_eq},
    {.name = "ne", .n_least = 2, .n_most = 2, .takes_values = true, .call = go_call_ne},
    {.name = "lt", .n_least = 2, .n_most = 2, .takes_values = true, .call = go_call_lt},
    {.name = "le", .n_least = 2, .n_most = 2, .takes_values = true, .call = go_call_le},
    {.name = "gt", .n_least = 2, .n_most = 2, .takes_values = true, .call = go_call_gt},
    {.name = "ge", .n_least = 2, .n_most = 2, .takes_values = true, .call = go_call_ge},
    {.name = "len", .n_least = 1, .n_most = 1, .takes_values = true, .call = go_call_len},
    {.name = "index", .n_least = 1, .n_most = ANY, .takes_values = true, .call = go_call_index},
    {.name = "slice", .n_least = 1, .n_most = ANY, .takes_values = true, .call = go_call_slice},
    {.name = "call", .n_least = 1, .n_most = ANY, .takes_values = true, .call = call_call},
    {.name = "print", .n_least = 0, .n_most = ANY, .call = call_print},
    {.name = "println", .n_least = 0, .n_most = ANY, .call = call_println},
    {.name = "printf", .n_least = 1, .n_most = ANY, .first_is_text = true, .call = call_printf},
    {.name = "html", .n_least = 0, .n_most = ANY, .call = call_html},
    {.name = "js", .n_least = 0, .n_most = ANY, .call = call_js},
    {.name = "urlquery", .n_least = 0, .n_most = ANY, .call = call_urlquery},
    {.name = "json", .n_least = 1, .n_most = 1, .is_added = true, .call = call_json},
    {.name = "currentDate", .n_most = ANY, .all_are_text = true, .is_added = true,
     .call = call_current_date},
    {.name = "yesterdayDate", .n_most = ANY, .all_are_text = true, .is_added = true,
     .call = call_yesterday_date},
    {.name = "toTypeScriptType", .n_least = 1, .n_most = 1, .is_added = true,
     .call = call_type_script},
};

const struct go_function *go_function_find(struct str name)
{
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (str_is(name, FUNCTIONS[i].name))
            return &FUNCTIONS[i];
    return NULL;
}

bool go_is_and_or(const struct go_function *function, bool *is_or)
{
    *is_or = function->call == call_or;
    return *is_or || function->call == call_and;
}
