/* Files of repeated inputs and their targets; see contradictions.h. What is in them was counted by
 * core/facts/data_facts.c. */
#include "core/exports/contradictions.h"

#include <math.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/facts/data_facts.h"
#include "core/read/json.h"
#include "core/text/diff.h"

#define MOST_BYTES ((size_t)64 << 20)

enum { ROWS_NAMED = 20 };

static const char *kind_name(enum data_group_kind kind)
{
    static const char *const NAMES[] = {[DATA_AGREES] = "agrees",
                                        [DATA_FREE_TEXT] = "free text",
                                        [DATA_CONTRADICTORY] = "contradictory",
                                        [DATA_RANKED_BOTH_WAYS] = "ranked both ways",
                                        [DATA_BOTH_LABELS] = "both labels"};

    return (size_t)kind < sizeof NAMES / sizeof *NAMES ? NAMES[kind] : "?";
}

static const char *file_name(const struct data_facts *data, int64_t file)
{
    return file >= 0 && (size_t)file < data->n_files ? data_file_name(&data->files[file]) : "";
}

/* ---- For reading ---- */

/* A text as an indented block, so that nothing in it is taken for markup. */
static void put_block(struct buf *out, const char *text)
{
    struct str rest = str_of(text), line;

    while (str_split(&rest, '\n', &line)) {
        buf_puts(out, "    ");
        unicode_visible(out, line, false);
        buf_putc(out, '\n');
    }
    buf_putc(out, '\n');
}

static void put_rows(struct buf *out, const struct data_facts *data,
                     const struct data_target *target)
{
    for (size_t i = 0; i < target->n_rows && i < ROWS_NAMED; i++) {
        const struct data_place *place = &target->rows[i];

        if (i == 0 || place->file != target->rows[i - 1].file) {
            buf_puts(out, i ? "; " : "");
            unicode_visible(out, str_of(file_name(data, place->file)), false);
            buf_printf(out, " row%s %lld", target->n_rows > 1 ? "s" : "", (long long)place->row);
        } else {
            buf_printf(out, ", %lld", (long long)place->row);
        }
    }
    if (target->count > ROWS_NAMED)
        buf_printf(out, " and %lld more", (long long)(target->count - ROWS_NAMED));
}

/* "… -blue -> +red": the first stretch in which the second target is not the first. */
static void put_first_difference(struct buf *out, const struct data_group *group)
{
    struct arena *arena = arena_open((size_t)32 << 20);
    struct diff diff;
    struct error ignored;
    struct str a = str_of(group->targets[0].text), b = str_of(group->targets[1].text);
    struct str gone = {"", 0}, come = {"", 0};

    if (arena &&
        diff_texts(a, b, DIFF_WORDS, NULL, 0, NULL, 0, arena, &diff, &ignored) == OK) {
        size_t i = 0;

        while (i < diff.n && diff.parts[i].kind == DIFF_EQUAL)
            i++;
        for (; i < diff.n && diff.parts[i].kind != DIFF_EQUAL; i++) {
            const struct diff_part *p = &diff.parts[i];
            if (p->kind == DIFF_REMOVED)
                gone = str_from(a.p + p->a_begin, p->a_end - p->a_begin);
            else
                come = str_from(b.p + p->b_begin, p->b_end - p->b_begin);
        }
        buf_puts(out, "First difference: \"");
        unicode_visible(out, unicode_cut(str_trim(gone), 200), false);
        buf_puts(out, "\" against \"");
        unicode_visible(out, unicode_cut(str_trim(come), 200), false);
        buf_puts(out, "\".\n\n");
    }
    arena_close(arena);
}

static void put_group(struct buf *out, const struct data_facts *data, size_t i)
{
    const struct data_group *group = &data->groups[i];

    buf_printf(out, "## %zu. %lld rows, %s", i + 1, (long long)group->n_rows, kind_name(group->kind));
    if (group->n_targets > 1 && group->kind <= DATA_CONTRADICTORY)
        buf_printf(out, ", Jaccard %.2f", group->jaccard);
    buf_puts(out, "\n\nInput:\n\n");
    put_block(out, group->input);
    for (size_t k = 0; k < group->n_targets; k++) {
        const struct data_target *target = &group->targets[k];

        buf_printf(out, "Target of %lld row%s (", (long long)target->count,
                   target->count == 1 ? "" : "s");
        put_rows(out, data, target);
        buf_puts(out, "):\n\n");
        put_block(out, target->text);
    }
    if (group->n_more)
        buf_printf(out, "%lld more targets.\n\n", (long long)group->n_more);
    if (group->n_targets > 1 && group->kind <= DATA_CONTRADICTORY)
        put_first_difference(out, group);
}

static void put_header(struct buf *out, const struct data_facts *data)
{
    double share = data->n_rows ? (double)data->n_contradictory_rows / (double)data->n_rows : 0.0;

    buf_printf(out,
               "# Repeated inputs\n\n"
               "%lld inputs stand in several of the %lld rows; %lld of them have targets that contradict "
               "each other (%lld rows, %.3g %% of all).\n",
               (long long)data->n_groups, (long long)data->n_rows, (long long)data->n_contradictory,
               (long long)data->n_contradictory_rows, 100.0 * share);
    if (!data->n_preference && !data->n_kto)
        buf_printf(out, "Accuracy ceiling: no model can give more than %.4f of the targets of repeated "
                        "inputs as they stand.\n",
                   data->n_group_rows ? data_ceiling(data) : 1.0);
    if (data->limits) {
        unicode_visible(out, str_of(data->limits), false);
        buf_puts(out, ".\n");
    }
    if (data->is_partial)
        buf_printf(out, "Not all rows were read: %lld of %lld.\n", (long long)data->n_rows,
                   (long long)data->n_file_rows);
    if (data->n_contradictory == 0 && data->n_shown)
        buf_printf(out, "With none of %zu groups contradictory, the rate is at most %.1f %% (95 %%).\n",
                   data->n_shown, 100.0 * (1.0 - pow(0.05, 1.0 / (double)data->n_shown)));
    if (data->n_contradictory > DATA_GROUPS)
        buf_printf(out, "Below are %d of them, drawn with the seed 20.\n", DATA_GROUPS);
    buf_puts(out, "Rows count from 0.\n\n");
}

/* ---- For programs ---- */

static void put_json_target(struct buf *out, const struct data_facts *data,
                            const struct data_target *target)
{
    buf_puts(out, "{\"text\":");
    json_write_string(out, str_of(target->text));
    buf_printf(out, ",\"count\":%lld,\"rows\":[", (long long)target->count);
    for (size_t i = 0; i < target->n_rows; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)target->rows[i].row);
    buf_puts(out, "]");
    if (data->n_files > 1) {
        buf_puts(out, ",\"files\":[");
        for (size_t i = 0; i < target->n_rows; i++) {
            buf_puts(out, i ? "," : "");
            json_write_string(out, str_of(file_name(data, target->rows[i].file)));
        }
        buf_putc(out, ']');
    }
    buf_putc(out, '}');
}

static void put_json_group(struct buf *out, const struct data_facts *data,
                           const struct data_group *group)
{
    buf_printf(out, "{\"key\":\"%016llx\",\"n\":%lld,\"kind\":\"%s\",\"input\":",
               (unsigned long long)group->key, (long long)group->n_rows, kind_name(group->kind));
    json_write_string(out, str_of(group->input));
    buf_puts(out, ",\"targets\":[");
    for (size_t i = 0; i < group->n_targets; i++) {
        buf_puts(out, i ? "," : "");
        put_json_target(out, data, &group->targets[i]);
    }
    buf_puts(out, "]}\n");
}

/* ---- Both ---- */

static int write_both(const struct data_facts *data, const struct made_folder *folder,
                      struct error *err)
{
    struct buf text, lines;

    buf_init(&text, MOST_BYTES);
    buf_init(&lines, MOST_BYTES);
    put_header(&text, data);
    for (size_t i = 0; i < data->n_shown; i++) {
        put_group(&text, data, i);
        put_json_group(&lines, data, &data->groups[i]);
    }
    int rc = made_folder_open(folder, err);
    if (rc == OK)
        rc = made_file_write(folder, "groups.md", &text, "repeated inputs and their targets", err);
    if (rc == OK)
        rc = made_file_write(folder, "groups.jsonl", &lines, "the same, one a line", err);
    buf_free(&text);
    buf_free(&lines);
    return rc;
}

int make_contradictions(const struct run_facts *facts, const struct made_folder *folder,
                        struct error *err)
{
    const struct data_facts *data;
    int rc = data_facts_now(facts, &data, err);

    if (rc != OK)
        return rc;
    if (data->n_shown == 0)
        return error_set(err, E_NOTFOUND, "no input stands in two of the %lld rows",
                         (long long)data->n_rows);
    return write_both(data, folder, err);
}
