/* The lines of a facts form, to the byte as form.h says. See form_row.h. */
#include <inttypes.h>

#include "core/facts/form_row.h"
#include "core/read/json.h"

static void put_number(struct buf *out, uint64_t value)
{
    char room[20];
    size_t n = sizeof room;

    do
        room[--n] = (char)('0' + value % 10);
    while (value /= 10);
    buf_add(out, room + n, sizeof room - n);
}

static void put_hash(struct buf *out, uint64_t value)
{
    buf_putc(out, '"');
    put_number(out, value);
    buf_putc(out, '"');
}

/* With only the escapes that JSON demands: nobody reads these lines on a terminal. */
static void put_text(struct buf *out, struct str text)
{
    json_write(out, &(struct json){.type = JSON_STRING, .text = text});
}

static void put_named_hash(struct buf *out, const char *name, uint64_t value)
{
    buf_puts(out, name);
    put_hash(out, value);
}

static void put_named(struct buf *out, const char *name, int64_t value)
{
    buf_puts(out, name);
    if (value < 0)
        buf_puts(out, "null");
    else
        put_number(out, (uint64_t)value);
}

static void put_hashes(struct buf *out, const uint64_t *items, size_t n)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_putc(out, ',');
        put_hash(out, items[i]);
    }
    buf_putc(out, ']');
}

static void put_place(struct buf *out, struct str split, int64_t row)
{
    buf_puts(out, "{\"split\":");
    put_text(out, split);
    put_named(out, ",\"row\":", row);
}

static void put_groups(struct buf *out, const struct form_row *row)
{
    buf_putc(out, '{');
    for (size_t i = 0; i < row->n_groups; i++) {
        if (i)
            buf_putc(out, ',');
        put_text(out, row->groups[i].column);
        put_named_hash(out, ":", row->groups[i].value);
    }
    buf_putc(out, '}');
}

void form_row_write(const struct form_row *row, struct buf *out)
{
    put_place(out, row->split, row->row);
    put_named_hash(out, ",\"exact\":", row->exact);
    put_named_hash(out, ",\"input\":", row->input);
    put_named_hash(out, ",\"target\":", row->target);
    put_named(out, ",\"n_words\":", row->n_words);
    put_named(out, ",\"n_target_words\":", row->n_target_words);
    put_named(out, ",\"n_shingles\":", row->n_shingles);
    put_named(out, ",\"n_bytes\":", row->n_bytes);
    put_named(out, ",\"n_tokens\":", row->n_tokens);
    buf_puts(out, ",\"class\":");
    if (row->class_name.p)
        put_text(out, row->class_name);
    else
        buf_puts(out, "null");
    buf_puts(out, ",\"opening\":");
    put_hashes(out, row->opening, row->n_opening);
    buf_puts(out, ",\"bands\":");
    if (row->has_bands)
        put_hashes(out, row->bands, MINHASH_BANDS);
    else
        buf_puts(out, "null");
    buf_puts(out, ",\"groups\":");
    put_groups(out, row);
    put_named(out, ",\"flags\":", row->flags);
    buf_puts(out, "}\n");
}

void form_candidate_write(const struct form_candidate *candidate, struct buf *out)
{
    put_place(out, candidate->split, candidate->row);
    buf_puts(out, ",\"input\":");
    put_text(out, candidate->input);
    buf_puts(out, ",\"target\":");
    put_text(out, candidate->target);
    buf_puts(out, "}\n");
}

/* ---- facts.json ---- */

static void put_words(struct buf *out, const char *name, const char *const *words, size_t n)
{
    buf_printf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, i ? ", " : "");
        put_text(out, str_of(words[i]));
    }
    buf_putc(out, ']');
}

static void put_split(struct buf *out, const struct form_split *split)
{
    buf_puts(out, "{\"name\": ");
    put_text(out, str_of(split->name));
    buf_printf(out, ", \"rows\": %" PRId64, split->n_rows);
    put_words(out, "files", split->files, split->n_files);
    buf_putc(out, '}');
}

void form_head_write(const struct form_head *head, struct buf *out)
{
    buf_puts(out, "{\"format\": ");
    put_text(out, str_of(FORM_FORMAT));
    buf_puts(out, ", \"version\": ");
    put_text(out, str_of(head->version));
    buf_puts(out, ", \"made_by\": ");
    put_text(out, str_of(head->made_by));
    buf_puts(out, ", \"splits\": [");
    for (size_t i = 0; i < head->n_splits; i++) {
        buf_puts(out, i ? ", " : "");
        put_split(out, &head->splits[i]);
    }
    buf_putc(out, ']');
    put_words(out, "prefix", head->prefix, head->n_prefix);
    put_words(out, "suffix", head->suffix, head->n_suffix);
    put_words(out, "columns", head->columns, head->n_columns);
    put_words(out, "group_columns", head->group_columns, head->n_group_columns);
    buf_puts(out, ", \"crowded\": [");
    for (size_t i = 0; i < head->n_crowded; i++) {
        const struct form_crowd *crowd = &head->crowded[i];

        buf_printf(out, "%s{\"band\": %d, \"hash\": \"%" PRIu64 "\", \"rows\": %" PRId64 "}",
                   i ? ", " : "", crowd->band, crowd->hash, crowd->n_rows);
    }
    buf_puts(out, "]}\n");
}
