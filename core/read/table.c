/* What tables of all formats share. See table.h. */
#include "core/read/table.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/read/flatbuffer.h"

#define MESSAGE_SCHEMA 1
#define MOST_VERSION   4

/* A stream begins with the continuation mark and the length of its first message, or with the length
 * alone when it is old. The message is a flatbuffer that says that it holds a schema. */
static bool is_stream(struct str bytes)
{
    struct flat_table message;

    if (str_starts(bytes, "\xff\xff\xff\xff"))
        bytes = str_skip(bytes, 4);
    return bytes.n > 4 && flat_root(str_skip(bytes, 4), &message) &&
           flat_number(&message, 6, 1, 0) == MESSAGE_SCHEMA &&
           flat_number(&message, 4, 2, 0) <= MOST_VERSION && flat_has(&message, 8);
}

enum table_format table_format_of(struct str first_bytes)
{
    if (str_starts(first_bytes, "PAR1"))
        return TABLE_PARQUET;
    if (str_starts(first_bytes, "ARROW1") || is_stream(str_first(first_bytes, TABLE_HEAD_BYTES)))
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
