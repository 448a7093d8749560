/* How many rows of a data set hold a text, such as the spelling of an added token: for what the
 * importers could not know when they read the rows. The rows are read from their file again. */
#ifndef CORE_FACTS_ROW_SEARCH_H
#define CORE_FACTS_ROW_SEARCH_H

#include "core/facts/run_facts.h"

#define ROW_SEARCH_ROWS 5000    /* looked at, at most */

struct row_search {
    const char *text;           /* looked for in every string of a row */
    int64_t n_rows;             /* rows that hold it */
    int64_t first_row;          /* NONE: none */
};

/* Fills n_rows and first_row of each. Returns the rows that were looked at; 0 when the file cannot
 * be read any more. */
int64_t row_search(const struct run_facts *facts, const struct dataset *dataset,
                   struct row_search *searches, size_t n);

#endif
