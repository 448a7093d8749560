/* What the files of core/facts/leaks*.c share; for them only. */
#ifndef CORE_FACTS_LEAKS_PARTS_H
#define CORE_FACTS_LEAKS_PARTS_H

#include "core/facts/data_columns.h"
#include "core/facts/leaks.h"
#include "core/jobs/parallel.h"
#include "core/read/json.h"
#include "core/similar/index.h"
#include "core/similar/shared_text.h"
#include "core/text/conversation.h"

/* ---- Numbers for hashes (leaks_map.c): from 0, in the order of their coming ---- */

struct id_map {
    uint64_t *keys;  /* by number */
    uint32_t *slots; /* number + 1; 0 empty */
    size_t n, capacity, n_slots;
};
void id_map_free(struct id_map *map);
/* *is_new: it was not there. E_NOMEM. */
MUST_CHECK int id_map_add(struct id_map *map, uint64_t key, uint32_t *id, bool *is_new,
                          struct error *err);
bool id_map_find(const struct id_map *map, uint64_t key, uint32_t *id);

/* ---- Going through rows (leaks_rows.c) ---- */

struct leak_row {            /* a row as it comes back from a thread */
    const struct json *line; /* NULL: not readable */
    int rc;
    struct buf input, target, text; /* normal; text is both, joined by a blank */
    uint64_t exact;
    struct str stripped; /* of text */
    struct shingles set;
    struct similar_match *matches;
    size_t n_matches, capacity;
    uint32_t *grams; /* of test rows, that stand in it (leaks_overlap.c) */
    size_t n_grams, grams_capacity;
};

enum leak_depth { LEAK_TEXTS, LEAK_SETS, LEAK_MATCHES }; /* how much of a row is made */

struct leak_pass {
    enum leak_depth depth;
    const struct common_text *common;  /* from LEAK_SETS on */
    struct similar_index *index;       /* LEAK_MATCHES */
    /* Each row in order; a status ends the pass. */
    int (*row)(void *ctx, const struct dataset *dataset, int64_t number, struct leak_row *row,
               struct error *err);
    void *ctx;
    const struct leak_overlap *overlap; /* LEAK_MATCHES; NULL: not asked for */
};

struct leak_reader {
    const struct run_facts *facts;
    const struct audit_hooks *hooks;
    const char *cache;       /* path of the cache, beside which sets go; NULL: nowhere */
    int64_t n_done, n_total; /* for the progress */
    bool is_stopped;
    char trouble[1024];           /* of the first file that could not be read to its end; "" */
    struct leak_threads *threads; /* private */
};
MUST_CHECK int leak_reader_open(struct leak_reader *reader, struct error *err);
void leak_reader_close(struct leak_reader *reader);
/* All rows of the data set; one that cannot be read comes with line NULL. */
MUST_CHECK int leak_reader_run(struct leak_reader *reader, const struct dataset *dataset,
                               const struct leak_pass *pass, struct error *err);

/* `exact` and `text` of normal input and target. */
void leak_row_join(struct leak_row *row);

/* ---- Runs of words (leaks_overlap.c) ---- */

struct leak_overlap;
MUST_CHECK int leak_overlap_open(struct leak_overlap **out, struct error *err);
void leak_overlap_close(struct leak_overlap *overlap); /* NULL allowed */
/* The next text of the test side, from number 0. */
MUST_CHECK int leak_overlap_add(struct leak_overlap *overlap, struct str stripped,
                                struct error *err);
/* Fills row->grams; by any number of threads once all texts are added. */
MUST_CHECK int leak_overlap_look(const struct leak_overlap *overlap, struct leak_row *row);
MUST_CHECK int leak_overlap_mark(struct leak_overlap *overlap, const struct leak_row *row,
                                 struct error *err);
/* False: the text has no such run, or was not kept. */
bool leak_overlap_has(const struct leak_overlap *overlap, uint32_t text, bool *is_shared);

/* ---- Sets beyond memory (leaks_spill.c) ---- */

struct leak_spill;
/* In the folder of the cache; *out NULL: the cache is in memory, and so is all else. */
MUST_CHECK int leak_spill_open(struct leak_spill **out, const char *cache, struct error *err);
void leak_spill_close(struct leak_spill *spill);                              /* NULL allowed */
const struct similar_spill *leak_spill_calls(const struct leak_spill *spill); /* NULL: NULL */

/* ---- Key columns (leaks_columns.c) ---- */

struct leak_columns;
MUST_CHECK int leak_columns_open(struct leak_columns **out, struct error *err);
void leak_columns_close(struct leak_columns *columns); /* NULL allowed */
/* All test rows of the set come before the training rows. */
MUST_CHECK int leak_columns_add(struct leak_columns *columns, const struct json *line, bool is_test,
                                struct error *err);
/* A value of which the hash alone is known, in any order of the sides; `number` of its row names it. */
MUST_CHECK int leak_columns_add_hash(struct leak_columns *columns, const struct form_group *value,
                                     bool is_test, int64_t number, struct error *err);
/* Those that may be a key, by C6.2, the worst first; in the arena. */
MUST_CHECK int leak_columns_find(const struct leak_columns *columns, struct arena *arena,
                                 const struct leak_column **out, size_t *n, struct error *err);

/* ---- Comparing (leaks_find.c) ---- */

struct leak_files {
    const struct dataset *train[256], *test[256];
    size_t n_train, n_test;
    size_t set_of[256]; /* of each test file */
    size_t n_sets;
    const char *form; /* facts.json of all of them; NULL: they are files of rows */
};
void leak_files_choose(const struct run_facts *facts, struct leak_files *files); /* leaks.c */
/* In the arena. reader->is_stopped: what was found until then. */
MUST_CHECK int leaks_find(struct leak_reader *reader, const struct leak_files *files,
                          struct arena *arena, struct leaks *out, struct error *err);

/* ---- Facts made elsewhere (leaks_form.c), whose rows come otherwise ---- */

struct finder;
struct leak_form { /* what the passes over facts fill */
    struct finder *finder;
    struct leak_reader *reader;
    const struct leak_files *files;
    struct leak_columns *const *columns; /* of each set */
    struct common_text *stripped;
    struct similar_index **index;
    const struct similar_spill *spill;
    struct arena *arena;
    struct leaks *out;
};
MUST_CHECK int leak_form_passes(struct leak_form *form, struct error *err);
/* Once the sets are made: where the texts of their pairs are. */
MUST_CHECK int leak_form_places(const struct leak_form *form, struct leak_set *sets, size_t n,
                                struct error *err);

/* What the finder is told (leaks_find.c): every test row by number, then each training row, then the
 * texts of the test rows that have some, then what the index finds of those of training rows. */
MUST_CHECK int leak_find_test(struct finder *f, size_t file, const uint64_t *exact, bool is_short,
                              struct error *err); /* exact NULL: not readable */
void leak_find_train(struct finder *f, size_t file, int64_t number, uint64_t exact);
MUST_CHECK int leak_find_text(struct finder *f, size_t file, int64_t number,
                              const struct leak_row *row, struct error *err);
void leak_find_matches(struct finder *f, size_t file, int64_t number, size_t n_shingles,
                       const struct similar_asker *found);

/* ---- Kept (leaks_store.c) ---- */

void leaks_write(const struct leaks *leaks, struct buf *out);
/* False: it is not what leaks_write wrote. */
bool leaks_read(const struct run_facts *facts, const char *text, struct arena *arena,
                struct leaks *out);

#endif
