/* The list of places of a curve that matter: where it stops being finite, where it jumps, where it
 * was resumed or saved. Ctrl-arrows walk it, `m` shows it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "views/curves_parts.h"

#define MAX_MARKS 5000                  /* beyond it the rest is one line at the end */

struct list {
    const struct picture *picture;
    struct arena *arena;
    struct curve_mark *marks;
    size_t n, n_left_out;
};

static void add(struct list *list, size_t point, const char *text)
{
    if (list->n == MAX_MARKS) {
        list->n_left_out++;
        return;
    }
    list->marks[list->n++] = (struct curve_mark){point, text};
}

static const char *kind_of(double y)
{
    return isnan(y) ? "NaN" : y > 0 ? "+Inf" : "-Inf";
}

static bool is_same_kind(double a, double b)
{
    return !isfinite(b) && isnan(a) == isnan(b) && (isnan(a) || (a > 0) == (b > 0));
}

static void add_nonfinite(struct list *list)
{
    const struct picture *p = list->picture;
    const double *y = p->y;

    for (size_t i = 0, end; i < p->curve->n; i = end) {
        end = i + 1;
        if (isfinite(y[i]))
            continue;
        while (end < p->curve->n && is_same_kind(y[i], y[end]))
            end++;
        if (end - i == 1)
            add(list, i, arena_printf(list->arena, "%s %.10g  %s", p->x_name, p->x[i],
                                      kind_of(y[i])));
        else
            add(list, i, arena_printf(list->arena, "%s %.10g-%.10g  %zu %s", p->x_name, p->x[i],
                                      p->x[end - 1], end - i, kind_of(y[i])));
    }
}

static void add_resumes(struct list *list)
{
    const struct curve *curve = list->picture->curve;
    for (size_t i = 1; i < curve->n; i++)
        if (curve->segment[i] != curve->segment[i - 1])
            add(list, i, arena_printf(list->arena, "%s %.10g  resumed, segment %d",
                                      list->picture->x_name, list->picture->x[i],
                                      (int)curve->segment[i] + 1));
}

/* Spikes are known by place in the kept series; the points stand in the same order there. */
static void add_spikes(struct list *list)
{
    const struct picture *p = list->picture;
    const struct plot_prepared *prepared = &p->prepared[0];
    const struct plot_series *kept = &p->series[0];
    size_t at = 0;

    for (size_t k = 0; p->n_series && k < prepared->n_spikes; k++) {
        size_t spike = prepared->spikes[k];
        char value[32];
        while (at < p->curve->n &&
               !(p->x[at] == kept->x[spike] && p->y[at] == kept->y[spike]))
            at++;
        if (at == p->curve->n)
            return;
        number_short(value, kept->y[spike], 3);
        add(list, at, arena_printf(list->arena, "%s %.10g  spike %s", p->x_name, p->x[at], value));
    }
}

/* The point that stands at or before an x, the last one of them in file order. */
static ptrdiff_t point_before(const struct picture *picture, double x)
{
    ptrdiff_t best = -1;
    for (size_t i = 0; i < picture->curve->n; i++)
        if (picture->x[i] <= x && (best < 0 || picture->x[i] >= picture->x[best]))
            best = (ptrdiff_t)i;
    return best;
}

static void add_checkpoints(struct list *list)
{
    const struct picture *p = list->picture;
    for (size_t i = 0; i < p->n_marks && i < 200; i++) {
        if (p->marks[i].kind != PLOT_MARK_CHECKPOINT)
            continue;
        ptrdiff_t at = point_before(p, p->marks[i].x);
        if (at >= 0)
            add(list, (size_t)at, arena_printf(list->arena, "%s %.10g  checkpoint", p->x_name,
                                               p->marks[i].x));
    }
}

static int by_point(const void *a, const void *b)
{
    const struct curve_mark *x = a, *y = b;
    if (x->point != y->point)
        return x->point < y->point ? -1 : 1;
    return strcmp(x->text, y->text);
}

int curves_list_marks(const struct picture *picture, struct arena *arena,
                      const struct curve_mark **out, size_t *n, struct error *err)
{
    struct list list = {.picture = picture, .arena = arena,
                        .marks = arena_array(arena, MAX_MARKS + 1, sizeof *list.marks)};
    if (!list.marks)
        return error_set(err, E_NOMEM, "marks of a curve");
    add_resumes(&list);
    add_checkpoints(&list);
    add_nonfinite(&list);
    add_spikes(&list);
    qsort(list.marks, list.n, sizeof *list.marks, by_point);
    if (list.n_left_out && picture->curve->n)
        list.marks[list.n++] = (struct curve_mark){
            picture->curve->n - 1, arena_printf(arena, "%zu more are not listed", list.n_left_out)};
    *out = list.marks;
    *n = list.n;
    return OK;
}
