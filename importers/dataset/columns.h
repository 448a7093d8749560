/* The columns of a data set, gathered row by row, and the form that they make it. */
#ifndef IMPORTERS_DATASET_COLUMNS_H
#define IMPORTERS_DATASET_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/read/json.h"

#define MAX_COLUMNS  64
#define COLUMN_BYTES 64

struct column {
    char name[COLUMN_BYTES];
    bool is_bool, is_list; /* of the first value that was not null */
    bool is_known;         /* there was one */
};

struct columns {
    struct column list[MAX_COLUMNS];
    size_t n;
};

/* The column of the name, added when it is new; NULL when there is no room or it is no name. */
struct column *columns_add(struct columns *columns, struct str name);
void columns_see_member(struct columns *columns, const struct json *member);
void columns_see_field(struct columns *columns, const struct json_field *field);
void columns_join(const struct columns *columns, struct buf *out);

#define FORM_BY_BYTES 64

/* The name of the form as in struct dataset, by the rules of core/text/conversation.h over all rows;
 * `by` gets the columns that decided; of "other" the prompt that stands alone, or "". */
const char *columns_form(const struct columns *columns, char by[FORM_BY_BYTES]);

#endif
