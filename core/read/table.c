/* What tables of all formats share. See table.h. */
#include "core/read/table.h"

#include <stdarg.h>
#include <stdio.h>

enum table_format table_format_of(struct str first_bytes)
{
    /* A stream begins with the continuation mark and the length of its first message, or with the
     * length alone when it is old; the message begins with the offset of its table. */
    static const char CONTINUATION[] = "\xff\xff\xff\xff";

    if (str_starts(first_bytes, "PAR1"))
        return TABLE_PARQUET;
    if (str_starts(first_bytes, "ARROW1") ||
        (str_starts(first_bytes, CONTINUATION) && first_bytes.n >= 12 && first_bytes.p[7] == 0 &&
         first_bytes.p[4] % 8 == 0 && first_bytes.p[9] == 0 && first_bytes.p[10] == 0 &&
         first_bytes.p[11] == 0))
        return TABLE_ARROW;
    return TABLE_NONE;
}

void table_note(struct table *table, const char *fmt, ...)
{
    char text[400];
    va_list args;

    if (table->n_notes == TABLE_NOTES)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    table->notes[table->n_notes++] = arena_strdup(table->arena, text);
}
