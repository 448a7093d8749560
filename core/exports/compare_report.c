/* Two runs side by side. See compare_report.h. */
#include "core/exports/compare_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/read/json.h"

enum { VALUE_BYTES = 60, NAMED = 12 };

int comparison_make(struct comparison *out, const struct run_facts *a, const struct run_facts *b,
                    struct arena *arena, struct error *err)
{
    *out = (struct comparison){0};
    if (compare_settings(a, b, arena, &out->settings, &out->n_settings) &&
        compare_data(a, b, arena, &out->data, &out->n_data) &&
        compare_curves(a, b, arena, &out->curves, &out->n_curves))
        return OK;
    return error_set(err, E_NOMEM, "no memory to compare two runs");
}

const char *compared_value_text(const struct compared_value *value, struct arena *arena)
{
    if (!value->text)
        return "not stated";
    struct str text = str_of(value->text);
    struct str cut = unicode_cut(text, VALUE_BYTES);
    const char *shown =
        cut.n < text.n ? arena_printf(arena, "%.*s… (%zu bytes)", (int)cut.n, cut.p, text.n)
        : value->is_default ? arena_printf(arena, "%s (default)", value->text)
                            : value->text;

    return shown ? shown : "";
}

const char *compared_curve_text(const struct compared_curve *c, struct arena *arena)
{
    const char *text = NULL, *noise = "";

    if (isfinite(c->bound))
        noise = c->is_relative ? arena_printf(arena, "; beyond noise is %.1f %%", 100.0 * expm1(c->bound))
                               : arena_printf(arena, "; beyond noise is %.3g", c->bound);
    switch (c->answer) {
    case PARTING_TOO_FEW:
        text = arena_printf(arena, "%zu common steps, too few to tell; last %.4g and %.4g", c->n_common,
                            c->last_a, c->last_b);
        break;
    case PARTING_EQUAL:
        text = arena_printf(arena, "equal on %zu common steps", c->n_common);
        break;
    case PARTING_WITHIN_NOISE:
        text = arena_printf(arena, "within noise on %zu common steps; last %.4g and %.4g%s", c->n_common,
                            c->last_a, c->last_b, noise ? noise : "");
        break;
    case PARTING_FOUND:
        text = arena_printf(arena, "part at %s%lld: %.4g and %.4g; last %.4g and %.4g%s",
                            c->from_start ? "the first common step, " : "step ", (long long)c->step,
                            c->at_a, c->at_b, c->last_a, c->last_b, noise ? noise : "");
        break;
    }
    return text ? text : "";
}

/* ---- Text ---- */

static void write_run(struct buf *out, const char *letter, const struct run_facts *facts)
{
    const struct run *run = &facts->run;

    buf_printf(out, "%s  %s  %s  %s", letter, run->name ? run->name : "?", run_kind_name(run->kind),
               outcome_name(run->outcome));
    if (facts->last_step >= 0)
        buf_printf(out, "  step %lld", (long long)facts->last_step);
    if (facts->max_steps > 0)
        buf_printf(out, " of %lld", (long long)facts->max_steps);
    buf_printf(out, "%s%s\n", run->framework ? "  " : "", run->framework ? run->framework : "");
}

static const char *place_of(const struct run_facts *facts, const struct setting *setting,
                            struct arena *arena)
{
    const char *text;

    if (!setting)
        return "";
    const char *file = setting->source_id ? facts_file_name(facts, setting->source_id) : "you said";
    text = setting->line > 0 ? arena_printf(arena, "  [%s:%lld]", file, (long long)setting->line)
                             : arena_printf(arena, "  [%s]", file);
    return text ? text : "";
}

static void write_settings(struct buf *out, const struct comparison *c, const struct run_facts *a,
                           const struct run_facts *b, struct arena *arena)
{
    const char *knob = NULL;
    size_t n = 0;

    buf_puts(out, "\nsettings that differ\n");
    for (size_t i = 0; i < c->n_settings; i++) {
        const struct compared_setting *s = &c->settings[i];

        if (s->is_incidental || (s->is_one_sided && s->knob == KNOB_NONE))
            continue;
        const char *group = s->knob == KNOB_NONE ? "other" : knob_name(s->knob);
        if (!knob || strcmp(knob, group) != 0)
            buf_printf(out, "  %s\n", group);
        knob = group;
        buf_printf(out, "    %s%s%s\n      A  %s%s\n      B  %s%s\n",
                   s->side == SIDE_TRAIN ? "" : side_name(s->side), s->side == SIDE_TRAIN ? "" : " ",
                   s->name, compared_value_text(&s->a, arena), place_of(a, s->a.setting, arena),
                   compared_value_text(&s->b, arena), place_of(b, s->b.setting, arena));
        n++;
    }
    if (n == 0)
        buf_puts(out, "  none that were stated\n");
}

/* Names in one line, the rest as a count. */
static void write_names(struct buf *out, const struct comparison *c, bool incidental, const char *what)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_settings; i++) {
        const struct compared_setting *s = &c->settings[i];
        bool is_here = incidental ? s->is_incidental
                                  : !s->is_incidental && s->is_one_sided && s->knob == KNOB_NONE;

        if (!is_here)
            continue;
        if (n < NAMED)
            buf_printf(out, "%s%s", n ? ", " : what, s->name);
        n++;
    }
    if (n > NAMED)
        buf_printf(out, " and %zu more", n - NAMED);
    if (n)
        buf_putc(out, '\n');
}

static void write_data(struct buf *out, const struct comparison *c)
{
    buf_puts(out, "\ndata that differs\n");
    for (size_t i = 0; i < c->n_data; i++)
        buf_printf(out, "  %-24s A %s, B %s\n", c->data[i].what,
                   c->data[i].a ? c->data[i].a : "not imported",
                   c->data[i].b ? c->data[i].b : "not imported");
    if (c->n_data == 0)
        buf_puts(out, "  none as far as the files tell (names, rows, bytes, forms, columns)\n");
}

static void write_curves(struct buf *out, const struct comparison *c, struct arena *arena)
{
    buf_puts(out, "\ncurves on common steps\n");
    for (size_t i = 0; i < c->n_curves; i++)
        buf_printf(out, "  %-24s %s\n", c->curves[i].name, compared_curve_text(&c->curves[i], arena));
    if (c->n_curves == 0)
        buf_puts(out, "  no metric with steps that both have\n");
}

static const char *word_of(const struct verdict_row *row)
{
    return row->dismissed ? "dismissed" : verdict_name(row->result.verdict);
}

static bool verdicts_differ(const struct verdict_row *a, const struct verdict_row *b)
{
    return a->result.verdict != b->result.verdict || !a->dismissed != !b->dismissed;
}

static void write_verdicts(struct buf *out, const struct verdicts *a, const struct verdicts *b)
{
    size_t n = 0;

    buf_puts(out, "\nverdicts that differ\n");
    for (size_t i = 0; i < a->n_rows && i < b->n_rows; i++) {
        const struct verdict_row *x = &a->rows[i], *y = &b->rows[i];

        if (!verdicts_differ(x, y))
            continue;
        n++;
        buf_printf(out, "  %s  %-30s A %s, B %s\n", stage_key(x->check->stage), x->check->id, word_of(x),
                   word_of(y));
        if (x->result.verdict >= VERDICT_WARN && x->result.finding)
            buf_printf(out, "       A: %s\n", x->result.finding);
        if (y->result.verdict >= VERDICT_WARN && y->result.finding)
            buf_printf(out, "       B: %s\n", y->result.finding);
    }
    if (n == 0)
        buf_puts(out, "  none\n");
}

/* Text from files must not reach a terminal as it is. */
static int make_harmless(struct buf *out, struct buf *raw, struct error *err)
{
    unicode_visible(out, buf_view(raw), true);
    bool failed = raw->failed || out->failed;

    buf_free(raw);
    return failed ? error_set(err, E_NOMEM, "no memory to compare two runs") : OK;
}

int compare_text(struct buf *out, const struct compared_run *a, const struct compared_run *b,
                 struct error *err)
{
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    struct comparison c;
    struct buf raw;

    if (!arena)
        return error_set(err, E_NOMEM, "no memory to compare two runs");
    buf_init(&raw, (size_t)16 << 20);
    int rc = comparison_make(&c, a->facts, b->facts, arena, err);
    if (rc == OK) {
        write_run(&raw, "A", a->facts);
        write_run(&raw, "B", b->facts);
        write_settings(&raw, &c, a->facts, b->facts, arena);
        write_names(&raw, &c, false, "  stated by one run only: ");
        write_names(&raw, &c, true, "  without effect: ");
        write_data(&raw, &c);
        write_curves(&raw, &c, arena);
        write_verdicts(&raw, a->verdicts, b->verdicts);
        rc = make_harmless(out, &raw, err);
    } else {
        buf_free(&raw);
    }
    arena_close(arena);
    return rc;
}

/* ---- JSON ---- */

static void put_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "\"%s\":", key);
    if (text)
        json_write_string(out, str_of(text));
    else
        buf_puts(out, "null");
}

static void put_value(struct buf *out, const char *key, const struct compared_value *value,
                      const struct run_facts *facts)
{
    buf_printf(out, ",\"%s\":{", key);
    put_text(out, "value", value->text);
    buf_printf(out, ",\"state\":\"%s\"",
               value->setting ? "stated" : value->is_default ? "default" : "not-stated");
    if (value->setting && value->setting->source_id) {
        buf_putc(out, ',');
        put_text(out, "file", facts_file_name(facts, value->setting->source_id));
        if (value->setting->line > 0)
            buf_printf(out, ",\"line\":%lld", (long long)value->setting->line);
    }
    buf_putc(out, '}');
}

static void put_run(struct buf *out, const char *key, const struct run_facts *facts)
{
    buf_printf(out, "\"%s\":{", key);
    put_text(out, "name", facts->run.name);
    buf_printf(out, ",\"kind\":\"%s\",\"outcome\":\"%s\",", run_kind_name(facts->run.kind),
               outcome_name(facts->run.outcome));
    put_text(out, "framework", facts->run.framework);
    buf_putc(out, '}');
}

static void put_number(struct buf *out, const char *key, double value)
{
    buf_printf(out, ",\"%s\":", key);
    if (isnan(value))
        buf_puts(out, "null");
    else
        json_write_number(out, value);
}

static void put_curve(struct buf *out, const struct compared_curve *c)
{
    static const char *const ANSWERS[] = {"too-few", "equal", "within-noise", "parted"};

    buf_putc(out, '{');
    put_text(out, "name", c->name);
    buf_printf(out, ",\"answer\":\"%s\",\"common_steps\":%zu", ANSWERS[c->answer], c->n_common);
    if (c->answer == PARTING_FOUND)
        buf_printf(out, ",\"step\":%lld", (long long)c->step);
    put_number(out, "a", c->at_a);
    put_number(out, "b", c->at_b);
    put_number(out, "last_a", c->last_a);
    put_number(out, "last_b", c->last_b);
    put_number(out, "bound", c->bound);
    buf_printf(out, ",\"relative\":%s}", c->is_relative ? "true" : "false");
}

static void put_settings(struct buf *out, const struct comparison *c, const struct run_facts *a,
                         const struct run_facts *b)
{
    buf_puts(out, ",\"settings\":[");
    for (size_t i = 0; i < c->n_settings; i++) {
        const struct compared_setting *s = &c->settings[i];

        buf_puts(out, i ? ",{" : "{");
        put_text(out, "name", s->name);
        buf_printf(out, ",\"side\":\"%s\",", side_name(s->side));
        put_text(out, "group", s->knob == KNOB_NONE ? NULL : knob_name(s->knob));
        buf_printf(out, ",\"incidental\":%s", s->is_incidental ? "true" : "false");
        put_value(out, "a", &s->a, a);
        put_value(out, "b", &s->b, b);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

static void put_rest(struct buf *out, const struct comparison *c, const struct verdicts *a,
                     const struct verdicts *b)
{
    bool is_first = true;

    buf_puts(out, ",\"data\":[");
    for (size_t i = 0; i < c->n_data; i++) {
        buf_puts(out, i ? ",{" : "{");
        put_text(out, "what", c->data[i].what);
        buf_putc(out, ',');
        put_text(out, "a", c->data[i].a);
        buf_putc(out, ',');
        put_text(out, "b", c->data[i].b);
        buf_putc(out, '}');
    }
    buf_puts(out, "],\"curves\":[");
    for (size_t i = 0; i < c->n_curves; i++) {
        if (i)
            buf_putc(out, ',');
        put_curve(out, &c->curves[i]);
    }
    buf_puts(out, "],\"verdicts\":[");
    for (size_t i = 0; i < a->n_rows && i < b->n_rows; i++) {
        if (!verdicts_differ(&a->rows[i], &b->rows[i]))
            continue;
        buf_printf(out, "%s{\"id\":\"%s\",\"a\":\"%s\",\"b\":\"%s\"}", is_first ? "" : ",",
                   a->rows[i].check->id, word_of(&a->rows[i]), word_of(&b->rows[i]));
        is_first = false;
    }
    buf_puts(out, "]}\n");
}

int compare_json(struct buf *out, const struct compared_run *a, const struct compared_run *b,
                 struct error *err)
{
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    struct comparison c;

    if (!arena)
        return error_set(err, E_NOMEM, "no memory to compare two runs");
    int rc = comparison_make(&c, a->facts, b->facts, arena, err);
    if (rc == OK) {
        buf_puts(out, "{\"format\":\"flatline-compare/1\",");
        put_run(out, "a", a->facts);
        buf_putc(out, ',');
        put_run(out, "b", b->facts);
        put_settings(out, &c, a->facts, b->facts);
        put_rest(out, &c, a->verdicts, b->verdicts);
        if (out->failed)
            rc = error_set(err, E_NOMEM, "no memory to compare two runs");
    }
    arena_close(arena);
    return rc;
}
