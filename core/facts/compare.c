/* Settings and data of two runs that differ. */
#include "core/facts/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"

/* ---- Values ---- */

static const char *text_of(const struct setting *setting)
{
    return setting && setting->value ? setting->value : NULL;
}

static bool is_list(const char *text)
{
    return text && text[0] == '[';
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum { MAX_ITEMS = 256, ITEM_BYTES = 8192 };

static const char BETWEEN[] = "[]\", ";

/* The items of a JSON list or of "a,b", names sorted; the texts are cut into `room`. 0: lists in lists,
 * objects, and what does not fit are compared as they are written. */
static size_t items_of(const char *text, char room[ITEM_BYTES], const char *items[MAX_ITEMS])
{
    size_t n = 0, length = strlen(text);
    double number;

    if (length >= ITEM_BYTES || strchr(text, '{') || strchr(text + is_list(text), '['))
        return 0;
    memcpy(room, text, length + 1);
    for (char *at = room; *at;) {
        at += strspn(at, BETWEEN);
        size_t word = strcspn(at, BETWEEN);
        if (word == 0)
            break;
        if (n == MAX_ITEMS)
            return 0;
        items[n++] = at;
        at += word;
        if (*at)
            *at++ = '\0';
    }
    /* Of names the order says nothing, of numbers (betas, layers) it does. */
    if (n && !number_parse(str_of(items[0]), &number))
        qsort(items, n, sizeof *items, by_text);
    return n;
}

static bool same_items(const char *a, const char *b)
{
    char room_a[ITEM_BYTES], room_b[ITEM_BYTES];
    const char *items_a[MAX_ITEMS], *items_b[MAX_ITEMS];
    size_t n = items_of(a, room_a, items_a);

    if (n == 0 || n != items_of(b, room_b, items_b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(items_a[i], items_b[i]) != 0)
            return false;
    return true;
}

/* "true", "True", "1": -1 when it is no truth value. */
static int truth_of(const char *text)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "True") == 0)
        return 1;
    return strcmp(text, "false") == 0 || strcmp(text, "False") == 0 ? 0 : -1;
}

static bool same_text(const char *a, const char *b)
{
    double x, y;

    if (!a || !b)
        return a == b;
    if (strcmp(a, b) == 0)
        return true;
    if (number_parse(str_of(a), &x) && number_parse(str_of(b), &y))
        return x == y || fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
    if (truth_of(a) >= 0 && truth_of(a) == truth_of(b))
        return true;
    return (is_list(a) || is_list(b)) && same_items(a, b);
}

bool compare_values(const struct setting *a, const struct setting *b)
{
    return same_text(text_of(a), text_of(b));
}

/* ---- Settings ---- */

struct key {
    enum side side;
    const char *name;
    bool is_raw;
};

/* What a run says of itself rather than what was asked of it. */
static bool is_no_setting(const struct setting *setting)
{
    static const char *const BEGINNINGS[] = {"state.", "rows.", "generations.", "not ", "best_",
                                             "package.", "results.", "card."};
    const char *name = setting->name ? setting->name : setting->raw_name;

    if (!name || (!setting->name && setting->side != SIDE_TRAIN))
        return true;
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof *BEGINNINGS; i++)
        if (strncmp(name, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    return false;
}

static int by_key(const void *pa, const void *pb)
{
    const struct key *a = pa, *b = pb;

    if (a->side != b->side)
        return a->side < b->side ? -1 : 1;
    return strcmp(a->name, b->name);
}

static size_t gather(const struct run_facts *facts, struct key *keys, size_t n)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];

        if (!is_no_setting(setting))
            keys[n++] = (struct key){setting->side, setting->name ? setting->name : setting->raw_name,
                                     !setting->name};
    }
    return n;
}

static size_t without_doubles(struct key *keys, size_t n)
{
    size_t kept = 0;

    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || by_key(&keys[kept - 1], &keys[i]) != 0)
            keys[kept++] = keys[i];
    return kept;
}

static const struct setting *raw_setting(const struct run_facts *facts, const char *raw_name)
{
    for (size_t i = 0; i < facts->n_settings; i++)
        if (!facts->settings[i].name && facts->settings[i].side == SIDE_TRAIN &&
            facts->settings[i].raw_name && strcmp(facts->settings[i].raw_name, raw_name) == 0)
            return &facts->settings[i];
    return NULL;
}

static bool takes_defaults(const struct run_facts *facts)
{
    const char *framework = facts->run.framework;

    return framework && (strncmp(framework, "transformers", 12) == 0 ||
                         strncmp(framework, "TRL", 3) == 0 ||
                         strncmp(framework, "LLaMA-Factory", 13) == 0);
}

static struct compared_value value_of(const struct run_facts *facts, const struct key *key)
{
    const struct setting *setting;

    if (key->is_raw)
        setting = raw_setting(facts, key->name);
    else if (key->side == SIDE_TRAIN)
        setting = facts_setting(facts, key->name); /* or the adapter's own file */
    else
        setting = facts_setting_on(facts, key->side, key->name);
    if (setting && (setting->type == VALUE_NULL || !setting->value))
        setting = NULL;
    if (setting)
        return (struct compared_value){setting, setting->value, false};
    const char *usual = key->side == SIDE_TRAIN && takes_defaults(facts) ? setting_default(key->name)
                                                                         : NULL;
    return (struct compared_value){NULL, usual, usual != NULL};
}

static int weight_of(const struct compared_setting *s)
{
    if (s->is_incidental)
        return N_KNOBS + 2;
    return s->knob == KNOB_NONE ? (int)N_KNOBS + s->is_one_sided : (int)s->knob;
}

static int by_weight(const void *pa, const void *pb)
{
    const struct compared_setting *a = pa, *b = pb;
    int x = weight_of(a), y = weight_of(b);

    if (x != y)
        return x < y ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : (int)a->side - (int)b->side;
}

bool compare_settings(const struct run_facts *a, const struct run_facts *b, struct arena *arena,
                      const struct compared_setting **out, size_t *n)
{
    size_t most = a->n_settings + b->n_settings;
    struct key *keys = arena_array(arena, most + 1, sizeof *keys);
    struct compared_setting *list = arena_array(arena, most + 1, sizeof *list);

    *n = 0;
    *out = list;
    if (!keys || !list)
        return false;
    size_t n_keys = without_doubles(keys, gather(b, keys, gather(a, keys, 0)));
    for (size_t i = 0; i < n_keys; i++) {
        const struct key *key = &keys[i];
        /* What the training side states was compared with the adapter's file already. */
        if (key->side == SIDE_ADAPTER && (facts_setting_on(a, SIDE_TRAIN, key->name) ||
                                          facts_setting_on(b, SIDE_TRAIN, key->name)))
            continue;
        struct compared_setting now = {.side = key->side,
                                       .name = key->name,
                                       .a = value_of(a, key),
                                       .b = value_of(b, key),
                                       .knob = key->side == SIDE_TRAIN || key->side == SIDE_ADAPTER
                                                   ? knob_of(key->name)
                                                   : KNOB_NONE};
        if (same_text(now.a.text, now.b.text))
            continue;
        now.is_incidental = setting_is_incidental(key->name);
        now.is_one_sided = !now.a.text || !now.b.text;
        list[(*n)++] = now;
    }
    qsort(list, *n, sizeof *list, by_weight);
    return true;
}

/* ---- Data ---- */

static bool is_split(const struct dataset *dataset, const char *split)
{
    const char *own = dataset->split ? dataset->split : "train";
    const char *form = dataset->form ? dataset->form : "";

    return strcmp(own, split) == 0 && strcmp(form, "lengths") != 0 && strcmp(form, "tokens") != 0;
}

struct split_facts {
    int64_t rows, unreadable, bytes;
    const char *files, *form, *columns;
    size_t n;
};

static struct split_facts read_split(const struct run_facts *facts, const char *split,
                                     struct arena *arena)
{
    struct split_facts all = {0};

    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *d = &facts->datasets[i];
        const struct source *source = facts_source(facts, d->source_id);

        if (!is_split(d, split))
            continue;
        all.rows += d->n_rows > 0 ? d->n_rows : 0;
        all.unreadable += d->n_unreadable > 0 ? d->n_unreadable : 0;
        all.bytes += source && source->size > 0 ? source->size : 0;
        all.files = all.n ? arena_printf(arena, "%s, %s", all.files, d->name) : d->name;
        all.form = all.n && d->form && all.form && strcmp(all.form, d->form) != 0 ? "several" : d->form;
        all.columns = d->columns;
        all.n++;
    }
    return all;
}

struct data_list {
    struct compared_data *items;
    size_t n;
};

static void add_text(struct data_list *list, const char *what, const char *a, const char *b)
{
    if (!same_text(a, b))
        list->items[list->n++] = (struct compared_data){what, a, b};
}

static void add_count(struct data_list *list, struct arena *arena, const char *what, int64_t a, int64_t b)
{
    if (a != b)
        list->items[list->n++] =
            (struct compared_data){what, arena_printf(arena, "%lld", (long long)a),
                                   arena_printf(arena, "%lld", (long long)b)};
}

enum { MAX_DATA = 32 };

bool compare_data(const struct run_facts *a, const struct run_facts *b, struct arena *arena,
                  const struct compared_data **out, size_t *n)
{
    static const char *const SPLITS[] = {"train", "eval", "test"};
    struct data_list list = {arena_array(arena, MAX_DATA, sizeof *list.items), 0};

    *n = 0;
    *out = list.items;
    if (!list.items)
        return false;
    for (size_t i = 0; i < 3; i++) {
        const char *split = SPLITS[i];
        struct split_facts x = read_split(a, split, arena), y = read_split(b, split, arena);

        if (x.n == 0 && y.n == 0)
            continue;
        if (x.n == 0 || y.n == 0) {
            add_text(&list, arena_printf(arena, "%s files", split), x.n ? x.files : NULL,
                     y.n ? y.files : NULL);
            continue;
        }
        add_text(&list, arena_printf(arena, "%s files", split), x.files, y.files);
        add_count(&list, arena, arena_printf(arena, "%s rows", split), x.rows, y.rows);
        add_count(&list, arena, arena_printf(arena, "%s rows not readable", split), x.unreadable,
                  y.unreadable);
        if (x.rows == y.rows) /* as many rows, but not the same */
            add_count(&list, arena, arena_printf(arena, "%s bytes", split), x.bytes, y.bytes);
        add_text(&list, arena_printf(arena, "%s form", split), x.form, y.form);
        add_text(&list, arena_printf(arena, "%s columns", split), x.columns, y.columns);
    }
    *n = list.n;
    return !arena_failed(arena);
}
