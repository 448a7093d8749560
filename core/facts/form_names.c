/* See form_names.h. */
#include "core/facts/form_names.h"

#include <stdlib.h>
#include <string.h>

void form_names_free(struct form_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct form_names){0};
}

/* Where it stands or would stand. */
static size_t place_of(const struct form_names *names, struct str name, bool *is_there)
{
    size_t low = 0, high = names->n;

    *is_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(str_of(names->items[middle]), name);

        if (order == 0) {
            *is_there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int make_room(struct form_names *names, struct error *err)
{
    size_t capacity = names->capacity ? names->capacity * 2 : 16;

    if (names->n < names->capacity)
        return OK;
    char **items = realloc(names->items, capacity * sizeof *items);
    if (!items)
        return error_set(err, E_NOMEM, "no memory for names of columns");
    names->items = items;
    names->capacity = capacity;
    return OK;
}

int form_names_add(struct form_names *names, struct str name, struct error *err)
{
    bool is_there;
    size_t at = place_of(names, name, &is_there);

    if (is_there || at == FORM_COLUMNS || name.n > FORM_GROUP_BYTES ||
        (name.n && memchr(name.p, '\0', name.n)))
        return OK;
    int rc = make_room(names, err);
    if (rc != OK)
        return rc;
    char *copy = strndup(name.n ? name.p : "", name.n);
    if (!copy)
        return error_set(err, E_NOMEM, "no memory for names of columns");
    if (names->n == FORM_COLUMNS)
        free(names->items[--names->n]);
    memmove(&names->items[at + 1], &names->items[at], (names->n - at) * sizeof *names->items);
    names->items[at] = copy;
    names->n++;
    return OK;
}

int form_names_join(struct form_names *names, const struct form_names *more, struct error *err)
{
    int rc = OK;

    for (size_t i = 0; rc == OK && i < more->n; i++)
        rc = form_names_add(names, str_of(more->items[i]), err);
    return rc;
}
