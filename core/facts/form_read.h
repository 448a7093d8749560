/* Reads a folder of facts (form.h): its facts.json whole, its rows and candidates one by one, in bounded
 * memory. What is wrong with the folder is said with file and line (row, in Parquet) and the reading goes
 * on behind it; nothing is repaired.
 *
 *     form_open ─ form_head …                        what facts.json says
 *         form_reader_open(FORM_ROWS) ─ form_next*   rows; at the end what facts.json counts and is not there
 *         form_reader_open(FORM_CANDIDATES) ─ form_next*, form_read_at
 */
#ifndef CORE_FACTS_FORM_READ_H
#define CORE_FACTS_FORM_READ_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/facts/form.h"

#define FORM_NAME       "facts.json"
#define FORM_MOST_ROWS  ((int64_t)1 << 32)  /* of a split */
#define FORM_MOST_FILES 100000
enum { FORM_MOST_SPLITS = 256, FORM_MOST_COLUMNS = 4096, FORM_MOST_CROWDED = 1 << 20 };

enum form_part { FORM_ROWS, FORM_CANDIDATES };
/* "rows-00000.jsonl", packed or not, "candidates-3.parquet": which part; -1: neither. */
int form_part_of_name(const char *name);

struct form_folder;
/* `path` of facts.json. E_PARSE, E_UNSUPPORTED (another version), E_LIMIT: err has the line. */
MUST_CHECK int form_open(struct form_folder **out, const char *path, struct error *err);
void form_close(struct form_folder *folder);                    /* NULL allowed */
const struct form_head *form_head_of(const struct form_folder *folder);
size_t form_n_files(const struct form_folder *folder, enum form_part part);
size_t form_split_at(const struct form_head *head, struct str name);   /* SIZE_MAX: there is none */

/* Has the row a band that so many rows share that it gives no candidates? */
bool form_is_crowded(const struct form_head *head, const struct form_row *row);

/* Where an item stands: file by name among those of its part. */
struct form_place {
    int32_t file;
    int64_t at, row;            /* for rows_seek; row of the file */
};

struct form_item {
    bool is_damage;             /* nothing but `why` is filled */
    size_t split;               /* of facts.json */
    const struct form_row *row; /* of FORM_ROWS; until the next call */
    struct form_candidate candidate;    /* of FORM_CANDIDATES; likewise */
    struct form_place place;
};

/* Parts of a row that cost something; those that are not asked for stay empty. */
enum form_want { FORM_OPENING = 1, FORM_BANDS = 2, FORM_KEYS = 4, FORM_ALL = 7 };

struct form_reader;
/* Borrows the folder. `want`: enum form_want. */
MUST_CHECK int form_reader_open(struct form_reader **out, const struct form_folder *folder,
                                enum form_part part, unsigned want, struct error *err);
void form_reader_close(struct form_reader *reader);             /* NULL allowed */
/* 1 an item, or something that is wrong, with `why`; 0 the end; negative: a failure of ours. */
MUST_CHECK int form_next(struct form_reader *reader, struct form_item *out, struct error *why,
                         struct error *err);
/* One file of rows or candidates alone, for who reads them file by file: no folder is asked, so that
 * splits, repetitions and counts are not looked at. */
MUST_CHECK int form_reader_open_file(struct form_reader **out, const char *path, enum form_part part,
                                     struct error *err);
/* The candidate at a place that form_next gave; not between two calls of form_next. False: it is not
 * there any more. */
bool form_read_at(struct form_reader *reader, const struct form_place *place,
                  struct form_candidate *out);

#endif
