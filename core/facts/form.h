/* The facts form of a data set (FORMATS.md B25): what stages 5 and 6 need to know of rows that are too
 * many for this machine. This header is the shape that its writer (form_write.h), its reader (form_read.h)
 * and the two scripts beside the importers share; who computes it, the bytes are the same.
 *
 * A folder: facts.json; rows-00000.jsonl, rows-00001.jsonl … (or .parquet); candidates-00000.jsonl … (or
 * .parquet; the first is there even when it is empty). Splits stand in the order of facts.json, their rows
 * ascending; a reader takes the files in any order and rows of any order.
 *
 * JSON lines are compact (no blanks), keys in the order given here, texts in UTF-8 with only what JSON
 * demands escaped, as Python's json.dumps(row, ensure_ascii=False, separators=(",", ":")) writes them:
 *   {"split":"train","row":0,"exact":"13","input":"8","target":"5","n_words":12,"n_target_words":3,
 *    "n_shingles":8,"n_bytes":77,"n_tokens":null,"class":"spam","opening":["1","2"],"bands":["7",… 42],
 *    "groups":{"user_id":"9"},"flags":0}
 *   {"split":"train","row":0,"input":"…","target":"…"}                        candidates
 * A row that cannot be read has flag 8, zeros for hashes and counts, null for class and bands, [] and {}.
 *
 * What B25 leaves open:
 *   which rows          those of the files as rows.h gives them, blank lines not counted. Not readable: no
 *                       JSON object, broken JSON or UTF-8, nested deeper than 200, a line above 64 MiB
 *   broken text         a lone surrogate counts as the three bytes that Python's surrogatepass writes
 *                       (n_bytes); where text is normalised or written each of them is one U+FFFD
 *   common text         of all training rows that can be read; of no other split
 *   n_words, n_bytes    of the normal text that `exact` hashes without its target: the normalised input's
 *                       words, and the bytes of input + target as they are in the row
 *   n_shingles, bands   of the stripped text (normalised input + " " + target, common text stripped)
 *   n_tokens            of input and of target as they are, each by itself, without special tokens
 *   class               the target as it is, ends trimmed of ASCII white space, when it has 1 … 64 bytes so
 *                       and is UTF-8
 *   opening             words of the normalised input as they stand, joined by one blank
 *   groups              decided by each row alone: a text or a number of 1 … 512 bytes, of a column or of a
 *                       member of an object ("metadata.user", 127 bytes at most), the first 64 of the row;
 *                       of no column that is content; of any column whose name says that it is a key,
 *                       else a text only that is no number and whose column is not meant to recur (the
 *                       name lists of C6.2, ASCII case ignored); hash of the value's text as JSON gives it.
 *                       Keys in the order of the row
 *   flags               those of row_parts.h; rows of one text alone have no input that could be empty
 *   columns             names of the first level in all readable rows, sorted by bytes; group_columns: all
 *                       that occur in groups, likewise. At most 4096 of each: the first by bytes; of 512
 *                       bytes at most
 *   candidates          rows whose normalised input is empty do not count as one input
 *   crowded             [{"band":0,"hash":"1","rows":10001}], by band, then hash (as a number); rows of all
 *                       splits count, also when one split has them all
 *   splits              "train" first, then as given; files by name, without their folder; rows: all, also
 *                       those that are not readable
 *   made_by, version    the program that wrote it, and its version
 * facts.json is written with one blank after ":" and ",", on one line, line feed at its end, keys:
 *   format, version, made_by, splits [{name, rows, files}], prefix, suffix, columns, group_columns, crowded.
 */
#ifndef CORE_FACTS_FORM_H
#define CORE_FACTS_FORM_H

#include "core/base/str.h"
#include "core/similar/shingles.h"

#define FORM_FORMAT     "flatline-facts/1"
#define FORM_CROWD      10000       /* a band of more rows gives no candidates */
#define FORM_CLASS      64          /* bytes */
#define FORM_FILE_ROWS  1000000     /* of one file, as flatline writes them */
#define FORM_COLUMNS    4096        /* names that facts.json lists, of either kind */
enum { FORM_OPENINGS = 12, FORM_GROUPS = 64, FORM_GROUP_BYTES = 512 };

struct form_split {
    const char *name;
    int64_t n_rows;
    const char *const *files;
    size_t n_files;
};

struct form_crowd {
    int band;
    uint64_t hash;
    int64_t n_rows;
};

struct form_head {
    const char *version, *made_by;
    const struct form_split *splits;
    size_t n_splits;
    const char *const *prefix, *const *suffix;      /* words */
    size_t n_prefix, n_suffix;
    const char *const *columns, *const *group_columns;
    size_t n_columns, n_group_columns;
    const struct form_crowd *crowded;
    size_t n_crowded;
};

struct form_group {
    struct str column;
    uint64_t value;
};

struct form_row {
    struct str split;
    int64_t row;
    uint64_t exact, input, target;  /* 0, 0, 0 of a row that is not readable */
    int64_t n_words, n_target_words, n_shingles, n_bytes;
    int64_t n_tokens;               /* NONE: no tokenizer was given */
    struct str class_name;          /* p NULL: none */
    uint64_t opening[FORM_OPENINGS];
    size_t n_opening;
    uint64_t bands[MINHASH_BANDS];
    bool has_bands;                 /* false: the stripped text is empty */
    struct form_group groups[FORM_GROUPS];
    size_t n_groups;
    unsigned flags;                 /* enum row_part_flag */
};

struct form_candidate {
    struct str split;
    int64_t row;
    struct str input, target;       /* as they are in the row */
};

#endif
