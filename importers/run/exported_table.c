/* See exported_table.h. */
#include "importers/run/exported_table.h"

#include <ctype.h>
#include <string.h>

static const char divider[] = " - ";

/* "train/loss__MIN" */
static bool is_range(struct str name)
{
    static const char *const ends[] = {"__MIN", "__MAX", "__STD"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (str_ends(name, ends[i])) {
            return true;
        }
    }
    return false;
}

struct str exported_column(struct str column)
{
    struct str name = column;
    ptrdiff_t at;
    while ((at = str_find(name, divider)) > 0) {
        name = str_skip(name, (size_t)at + sizeof divider - 1);
    }
    return is_range(name) && name.n < column.n ? str_first(name, 0) : str_trim(name);
}

struct str exported_plain(struct str name, char *out, size_t size)
{
    if (name.n == 0 || name.n >= size || !isupper((unsigned char)name.p[0])) {
        return name;
    }
    for (size_t i = 0; i < name.n; i++) {
        out[i] = name.p[i] == ' ' ? '_' : (char)tolower((unsigned char)name.p[i]);
    }
    return str_from(out, name.n);
}

bool exported_is_scalar(const struct str *columns, size_t n)
{
    return n == 3 && str_is_ignoring_case(columns[0], "wall time") &&
           str_is_ignoring_case(columns[1], "step") && str_is_ignoring_case(columns[2], "value");
}

const char *exported_tag(const char *file_name)
{
    static const struct {
        const char *word, *name;
    } tags[] = {{"grad_norm", "grad_norm"},
                {"grad-norm", "grad_norm"},
                {"learning_rate", "learning_rate"},
                {"learning-rate", "learning_rate"},
                {"reward", "reward"}};
    static const char *const held_out[] = {"eval", "val", "test", "dev"};
    struct str name = str_of(file_name);
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (str_has_ignoring_case(name, tags[i].word)) {
            return tags[i].name;
        }
    }
    if (!str_has_ignoring_case(name, "loss")) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof held_out / sizeof held_out[0]; i++) {
        if (str_has_ignoring_case(name, held_out[i])) {
            return "eval_loss";
        }
    }
    return "loss";
}
