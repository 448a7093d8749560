/* Takes such a line apart at " - "; a value is what stands behind the last colon of its part, so that
 * names may hold one. See console_dashed.h. */
#include "importers/run/console_dashed.h"

#include "core/base/number.h"

enum { FEWEST_VALUES = 3 };

/* Without "(TaskRunner pid=4121, ip=10.0.0.4) ". */
static struct str behind_head(struct str line)
{
    ptrdiff_t end = str_starts(line, "(") ? str_find(line, ") ") : -1;

    return end > 0 && str_find(str_first(line, (size_t)end), " pid=") >= 0
               ? str_skip(line, (size_t)end + 2)
               : line;
}

static bool is_kept(struct str key)
{
    static const char *const OTHERS[] = {"timing_", "perf/", "global_seqlen/"};

    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (str_starts(key, OTHERS[i]))
            return false;
    return key.n > 0;
}

/* "0.31", "np.float64(0.31)" */
static struct str bare_value(struct str text)
{
    ptrdiff_t open = str_find(text, "(");

    text = str_trim(text);
    if (open > 0 && str_starts(text, "np.") && str_ends(text, ")"))
        return str_skip(str_first(text, text.n - 1), (size_t)open + 1);
    return text;
}

static bool take_part(struct str part, struct console_row *row)
{
    size_t colon = part.n;

    while (colon > 0 && part.p[colon - 1] != ':')
        colon--;
    if (colon < 2)
        return false;
    struct console_field field = {.key = str_trim(str_first(part, colon - 1)),
                                  .text = bare_value(str_skip(part, colon)),
                                  .is_number = true};
    if (!number_parse_any(field.text, &field.value) || !is_kept(field.key) ||
        row->n == CONSOLE_MAX_FIELDS)
        return false;
    row->fields[row->n++] = field;
    return true;
}

bool console_dashed_read(struct str line, struct console_row *row)
{
    struct str rest = behind_head(line);

    row->n = 0;
    row->used = line.n;
    if (!str_starts(rest, "step:"))
        return false;
    while (rest.n > 0) {
        ptrdiff_t end = str_find(rest, " - ");
        struct str part = end < 0 ? rest : str_first(rest, (size_t)end);

        if (!take_part(part, row) && row->n == 0)
            return false; /* the step itself */
        rest = end < 0 ? str_skip(rest, rest.n) : str_skip(rest, (size_t)end + 3);
    }
    return row->n > FEWEST_VALUES;
}
