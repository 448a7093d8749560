/* An audit as the store keeps it: a head of JSON with all but the rows, and columns of the rows. */
#include <stdlib.h>
#include <string.h>

#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"
#include "core/store/store.h"

#define COLUMNS_ARENA ((size_t)512 << 20)
#define HEAD_BYTES    ((size_t)1 << 20)

/* ---- Names of the members ---- */

struct text_member {
    const char *name;
    size_t at;
};
struct count_member {
    const char *name;
    size_t at;
};

#define AT(member) offsetof(struct audit, member)

static const struct text_member TEXTS[] = {
    {"policy", AT(policy)},
    {"because", AT(because)},
    {"assumption", AT(assumption)},
    {"missing", AT(missing)},
    {"eos_text", AT(eos_text)},
    {"turn_end_text", AT(turn_end_text)},
    {"last_text", AT(last_text)},
    {"first_refusal", AT(first_refusal)},
    {"marker", AT(marker)},
    {"marker_ids", AT(marker_ids)},
    {"nearest_ids", AT(nearest_ids)},
    {"nearest_text", AT(nearest_text)},
};

static const struct count_member COUNTS[] = {
    {"n_rows", AT(n_rows)},
    {"n_file_rows", AT(n_file_rows)},
    {"max_length", AT(max_length)},
    {"pad_id", AT(pad_id)},
    {"eos_id", AT(eos_id)},
    {"bos_id", AT(bos_id)},
    {"turn_end_id", AT(turn_end_id)},
    {"last_id", AT(last_id)},
    {"n_last_id", AT(n_last_id)},
    {"first_refused_row", AT(first_refused_row)},
    {"n_vocab", AT(n_vocab)},
    {"first_new_id", AT(first_new_id)},
    {"max_id", AT(max_id)},
    {"max_id_row", AT(max_id_row)},
    {"n_tokens", AT(n_tokens)},
    {"n_trained", AT(n_trained)},
    {"n_trained_prompt", AT(n_trained_prompt)},
    {"n_with_sides", AT(n_with_sides)},
};

enum { N_TEXTS = sizeof TEXTS / sizeof *TEXTS, N_COUNTS = sizeof COUNTS / sizeof *COUNTS };

static const char **text_of(struct audit *audit, size_t i)
{
    return (const char **)(void *)((char *)audit + TEXTS[i].at);
}

static int64_t *count_of(struct audit *audit, size_t i)
{
    return (int64_t *)(void *)((char *)audit + COUNTS[i].at);
}

/* ---- Writing ---- */

static void put_new_ids(struct buf *head, const struct audit *audit)
{
    buf_puts(head, ",\"new_ids\":[");
    for (size_t i = 0; i < audit->n_new_ids; i++) {
        const struct audit_new_id *new_id = &audit->new_ids[i];

        buf_printf(head, "%s[%lld,%lld", i ? "," : "", (long long)new_id->id,
                   (long long)new_id->n_rows);
        if (new_id->text) {
            buf_putc(head, ',');
            json_write_string(head, str_of(new_id->text));
        }
        buf_putc(head, ']');
    }
    buf_putc(head, ']');
}

static void put_head(struct buf *head, const struct audit *source)
{
    struct audit audit = *source;

    buf_printf(head, "{\"basis\":%d,\"is_partial\":%d,\"is_sampled\":%d,\"last_is_special\":%d",
               (int)audit.basis, audit.is_partial, audit.is_sampled, audit.last_is_special);
    for (size_t i = 0; i < N_TEXTS; i++)
        if (*text_of(&audit, i)) {
            buf_printf(head, ",\"%s\":", TEXTS[i].name);
            json_write_string(head, str_of(*text_of(&audit, i)));
        }
    for (size_t i = 0; i < N_COUNTS; i++)
        buf_printf(head, ",\"%s\":%lld", COUNTS[i].name, (long long)*count_of(&audit, i));
    buf_puts(head, ",\"n_flagged\":[");
    for (int i = 0; i < AUDIT_N_FLAGS; i++)
        buf_printf(head, "%s%lld", i ? "," : "", (long long)audit.n_flagged[i]);
    buf_putc(head, ']');
    put_new_ids(head, &audit);
    buf_putc(head, '}');
}

static void put_column(const struct audit_row *row, size_t i, int32_t *const *columns)
{
    columns[0][i] = row->n_tokens;
    columns[1][i] = row->n_prompt;
    columns[2][i] = row->n_trained;
    columns[3][i] = row->n_trained_prompt;
    columns[4][i] = (int32_t)row->flags;
    columns[5][i] = row->last_id;
}

int audit_put(struct store *store, int64_t run_id, const struct audit *audit, uint64_t key,
              struct error *err)
{
    size_t n = audit->rows ? (size_t)audit->n_rows : 0;
    int32_t *numbers = calloc(AUDIT_COLUMNS * (n + 1), sizeof *numbers);
    int32_t *columns[AUDIT_COLUMNS];
    struct stored_audit stored = {
        .dataset_id = audit->dataset->id, .key = key, .n_rows = (int64_t)n};
    struct buf head;
    int rc = OK;

    buf_init(&head, HEAD_BYTES);
    put_head(&head, audit);
    if (!numbers || head.failed) {
        rc = error_set(err, E_NOMEM, "no memory for the audit of %zu rows", n);
        goto out;
    }
    for (size_t c = 0; c < AUDIT_COLUMNS; c++)
        columns[c] = numbers + c * (n + 1);
    for (size_t i = 0; i < n; i++)
        put_column(&audit->rows[i], i, columns);
    stored.head = head.p;
    rc = store_audit_put(store, run_id, &stored, (const int32_t *const *)columns, err);
out:
    buf_free(&head);
    free(numbers);
    return rc;
}

/* ---- Reading ---- */

static int64_t number_of(const struct json *value)
{
    return json_is(value, JSON_NUMBER) && value->number > -9e15 && value->number < 9e15
               ? (int64_t)value->number
               : NONE;
}

static void take_new_ids(const struct json *list, struct arena *arena, struct audit *audit)
{
    struct audit_new_id *ids = list ? arena_array(arena, list->n + 1, sizeof *ids) : NULL;

    for (const struct json *item = ids ? list->child : NULL; item; item = item->next) {
        const struct json *id = item->child, *n = id ? id->next : NULL;
        const struct json *text = n ? n->next : NULL;

        ids[audit->n_new_ids++] = (struct audit_new_id){
            .id = number_of(id),
            .n_rows = number_of(n),
            .text = json_is(text, JSON_STRING) ? arena_strndup(arena, text->text.p, text->text.n)
                                               : NULL,
        };
    }
    audit->new_ids = ids;
}

static bool take_head(const char *head, struct arena *arena, struct audit *audit)
{
    const struct json *tree;

    if (!head || json_parse(str_of(head), false, arena, &tree, NULL, NULL) != OK)
        return false;
    audit->basis = (enum audit_basis)number_of(json_get(tree, "basis"));
    audit->is_partial = number_of(json_get(tree, "is_partial")) == 1;
    audit->is_sampled = number_of(json_get(tree, "is_sampled")) == 1;
    audit->last_is_special = number_of(json_get(tree, "last_is_special")) == 1;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const struct json *text = json_get(tree, TEXTS[i].name);

        if (json_is(text, JSON_STRING))
            *text_of(audit, i) = arena_strndup(arena, text->text.p, text->text.n);
    }
    for (size_t i = 0; i < N_COUNTS; i++)
        *count_of(audit, i) = number_of(json_get(tree, COUNTS[i].name));
    const struct json *flags = json_get(tree, "n_flagged"), *flag = flags ? flags->child : NULL;
    for (int i = 0; i < AUDIT_N_FLAGS && flag; i++, flag = flag->next)
        audit->n_flagged[i] = number_of(flag);
    take_new_ids(json_get(tree, "new_ids"), arena, audit);
    return audit->n_rows >= 0 && (int)audit->basis >= 0 && audit->basis <= AUDIT_SIMULATED;
}

static int take_columns(struct store *store, const struct stored_audit *stored,
                        struct arena *scratch, struct audit_row *rows, struct error *err)
{
    const int32_t *columns[AUDIT_COLUMNS];
    int rc = store_audit_rows(store, stored, scratch, columns, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < (size_t)stored->n_rows; i++)
        rows[i] = (struct audit_row){.n_tokens = columns[0][i],
                                     .n_prompt = columns[1][i],
                                     .n_trained = columns[2][i],
                                     .n_trained_prompt = columns[3][i],
                                     .flags = columns[4][i] < 0 ? 0 : (uint32_t)columns[4][i],
                                     .last_id = columns[5][i]};
    return OK;
}

/* The columns are given back: they are as large as the rows. */
static int take_rows(struct store *store, const struct stored_audit *stored, struct arena *arena,
                     struct audit *audit, struct error *err)
{
    struct audit_row *rows = arena_array(arena, (size_t)stored->n_rows + 1, sizeof *rows);
    struct arena *scratch = arena_open(COLUMNS_ARENA);
    int rc = rows && scratch ? take_columns(store, stored, scratch, rows, err)
                             : error_set(err, E_NOMEM, "no memory for %lld audited rows",
                                         (long long)stored->n_rows);

    arena_close(scratch);
    if (rc == OK)
        audit->rows = rows;
    return rc;
}

static const struct dataset *dataset_of(const struct run_facts *facts, int64_t id)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].id == id)
            return &facts->datasets[i];
    return NULL;
}

int audit_load(const struct run_facts *facts, struct error *err)
{
    struct facts_cache *cache = facts->cache;
    struct arena *arena = cache->arena;
    size_t n = cache->n_stored_audits;
    struct audit *audits = arena_array(arena, n + 1, sizeof *audits);
    const struct audit **list = arena_array(arena, n + 1, sizeof *list);
    int rc = audits && list ? OK : error_set(err, E_NOMEM, "no memory for the audits");

    cache->n_audits = 0;
    for (size_t i = 0; i < n && rc == OK; i++) {
        const struct stored_audit *stored = &cache->stored_audits[i];
        struct audit *audit = &audits[cache->n_audits];

        *audit = (struct audit){.dataset = dataset_of(facts, stored->dataset_id)};
        if (!audit->dataset || !take_head(stored->head, arena, audit))
            continue;
        if (stored->n_rows > 0)
            rc = take_rows(cache->store, stored, arena, audit, err);
        if (rc == E_NOTFOUND) { /* replaced meanwhile: these facts are not current any more */
            rc = OK;
            continue;
        }
        list[cache->n_audits++] = audit;
    }
    cache->audits = list;
    return rc;
}
