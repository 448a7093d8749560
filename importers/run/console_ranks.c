/* See console_ranks.h. */
#include "importers/run/console_ranks.h"

#include "importers/run/console_exception.h"

#define RANK_LINE_BYTES 4096
#define RANK_SEEN_BYTES (1 << 20)

static bool is_row_of_rank_0(struct str line)
{
    struct str rank;
    size_t n = console_rank(line, &rank);

    if (n == 0 || !str_is(rank, "0"))
        return false;
    struct str rest = str_skip(line, n);
    return str_find(rest, "{'") >= 0 && str_find(rest, "loss") >= 0;
}

bool console_rank_0_has_rows(struct source_file *file)
{
    struct source_line line;
    bool found = false;

    while (!found && source_next_line(file, RANK_LINE_BYTES, &line, NULL) == 1 &&
           line.byte < RANK_SEEN_BYTES)
        found = is_row_of_rank_0(line.text);
    return source_seek(file, 0, NULL) == OK && found;
}
