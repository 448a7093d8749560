/* Comparing settings. See config_diff.h. */
#include "core/facts/config_diff.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/facts/secrets.h"
#include "core/text/diff.h"

#define LINE_BYTES      400
#define LINES_MAX_BYTES ((size_t)1 << 20)

bool config_values_are_equal(const char *a, const char *b)
{
    double x, y;

    if (strcmp(a, b) == 0)
        return true;
    if (number_parse_any(str_of(a), &x) && number_parse_any(str_of(b), &y))
        return x == y;
    return (strcasecmp(a, "true") == 0 && strcasecmp(b, "true") == 0) ||
           (strcasecmp(a, "false") == 0 && strcasecmp(b, "false") == 0);
}

/* ---- By settings ---- */

struct key {
    const struct setting *setting;
    const char *name;
    size_t order;
};

static int by_name(const void *pa, const void *pb)
{
    const struct key *a = pa, *b = pb;
    int c = strcmp(a->name, b->name);

    if (c == 0)
        c = strcmp(a->setting->raw_name, b->setting->raw_name);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

static struct key *sorted(const struct config_text *text, struct arena *arena)
{
    struct key *keys = arena_array(arena, text->n + 1, sizeof *keys);

    for (size_t i = 0; keys && i < text->n; i++) {
        const struct setting *s = &text->settings[i];

        keys[i] = (struct key){s, s->name ? s->name : s->raw_name, i};
    }
    if (keys)
        qsort(keys, text->n, sizeof *keys, by_name);
    return keys;
}

struct changes {
    struct arena *arena;
    struct config_change *list;
    size_t n, capacity, n_more;
};

static void add(struct changes *changes, const struct config_change *change)
{
    if (changes->n == CONFIG_DIFF_MAX) {
        changes->n_more++;
        return;
    }
    struct config_change *list = arena_room(changes->arena, changes->list, changes->n,
                                            &changes->capacity, sizeof *list);
    if (!list)
        return;
    changes->list = list;
    list[changes->n++] = *change;
}

static void add_pair(struct changes *changes, const char *name, const struct setting *old,
                     const struct setting *new)
{
    if (old && new && config_values_are_equal(old->value, new->value))
        return;
    add(changes, &(struct config_change){.name = name,
                                         .old_value = old ? old->value : NULL,
                                         .new_value = new ? new->value : NULL,
                                         .line = new ? new->line : old ? old->line : NONE});
}

static size_t end_of_group(const struct key *keys, size_t n, size_t i)
{
    size_t end = i + 1;

    while (end < n && strcmp(keys[end].name, keys[i].name) == 0)
        end++;
    return end;
}

/* Several spellings of one name in one text: compared spelling by spelling. */
static void add_group(struct changes *changes, const struct key *old, size_t n_old,
                      const struct key *new, size_t n_new)
{
    size_t i = 0, k = 0;

    if (n_old == 1 && n_new == 1) {
        add_pair(changes, new->name, old->setting, new->setting);
        return;
    }
    while (i < n_old || k < n_new) {
        int c = i == n_old   ? 1
                : k == n_new ? -1
                             : strcmp(old[i].setting->raw_name, new[k].setting->raw_name);

        if (c < 0)
            add_pair(changes, old[i].setting->raw_name, old[i].setting, NULL);
        else if (c > 0)
            add_pair(changes, new[k].setting->raw_name, NULL, new[k].setting);
        else
            add_pair(changes, new[k].setting->raw_name, old[i].setting, new[k].setting);
        i += c <= 0;
        k += c >= 0;
    }
}

static int by_line(const void *pa, const void *pb)
{
    const struct config_change *a = pa, *b = pb;
    bool is_gone = !a->new_value, is_other_gone = !b->new_value;

    if (is_gone != is_other_gone)
        return is_gone ? 1 : -1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return strcmp(a->name, b->name);
}

int config_diff_settings(const struct config_text *old, const struct config_text *new,
                         struct arena *arena, struct config_diff *out, struct error *err)
{
    struct changes changes = {.arena = arena};
    struct key *a = sorted(old, arena), *b = sorted(new, arena);
    size_t i = 0, k = 0;

    while (a && b && (i < old->n || k < new->n)) {
        int c = i == old->n ? 1 : k == new->n ? -1 : strcmp(a[i].name, b[k].name);
        size_t i_end = c <= 0 ? end_of_group(a, old->n, i) : i;
        size_t k_end = c >= 0 ? end_of_group(b, new->n, k) : k;

        add_group(&changes, a + i, i_end - i, b + k, k_end - k);
        i = i_end;
        k = k_end;
    }
    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "comparing two configurations");
    if (changes.n)
        qsort(changes.list, changes.n, sizeof *changes.list, by_line);
    *out = (struct config_diff){.changes = changes.list, .n = changes.n, .n_more = changes.n_more,
                                .n_settings = new->n};
    return OK;
}

/* ---- By lines ---- */

static const char *line_text(struct arena *arena, struct str text)
{
    struct buf out;

    if (text.n == 0)
        return NULL;
    if (secret_in_text(text))
        return "(not shown: it may hold a secret)";
    buf_init(&out, (size_t)LINE_BYTES * 8);
    unicode_valid(&out, str_first(str_trim(text), LINE_BYTES));
    if (text.n > LINE_BYTES)
        buf_puts(&out, "…");
    const char *copy = arena_strdup(arena, out.p ? out.p : "");
    buf_free(&out);
    return copy;
}

static int64_t lines_in(struct str text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static int diff_lines(struct str old, struct str new, struct arena *arena, struct config_diff *out,
                      struct error *err)
{
    struct changes changes = {.arena = arena};
    struct diff diff;
    int64_t line = 1;
    int rc = diff_texts(old, new, DIFF_LINES, NULL, 0, NULL, 0, arena, &diff, err);

    for (size_t i = 0; rc == OK && i < diff.n; i++) {
        const struct diff_part *part = &diff.parts[i], *next = i + 1 < diff.n ? part + 1 : NULL;
        bool is_pair = next && part->kind == DIFF_REMOVED && next->kind == DIFF_ADDED;
        const struct diff_part *added = part->kind == DIFF_ADDED ? part : is_pair ? next : NULL;
        struct str before = part->kind == DIFF_REMOVED
                                ? str_from(old.p + part->a_begin, part->a_end - part->a_begin)
                                : str_from("", 0);
        struct str after = added ? str_from(new.p + added->b_begin, added->b_end - added->b_begin)
                                 : str_from("", 0);

        if (part->kind == DIFF_EQUAL) {
            line += lines_in(str_from(new.p + part->b_begin, part->b_end - part->b_begin));
            continue;
        }
        add(&changes, &(struct config_change){.name = arena_printf(arena, "line %lld", (long long)line),
                                              .old_value = line_text(arena, before),
                                              .new_value = line_text(arena, after),
                                              .line = line});
        line += lines_in(after);
        i += is_pair;
    }
    if (rc == OK && arena_failed(arena))
        rc = error_set(err, E_NOMEM, "comparing two texts");
    if (rc == OK)
        *out = (struct config_diff){.changes = changes.list, .n = changes.n, .n_more = changes.n_more};
    return rc;
}

static bool is_binary(struct str text)
{
    return text.n && memchr(text.p, '\0', text.n) != NULL;
}

int config_diff_texts(const char *path, struct str old, struct str new, struct arena *arena,
                      struct config_diff *out, struct error *err)
{
    enum config_form form = config_form_of(path);
    struct config_text a = {.n = 0}, b = {.n = 0};
    struct error why = {.status = OK};
    int rc = old.p ? config_text_read(form, old, arena, &a, &why) : OK;

    if (rc == OK && new.p)
        rc = config_text_read(form, new, arena, &b, &why);
    if (rc == OK)
        return config_diff_settings(&a, &b, arena, out, err);
    if (rc == E_NOMEM) {
        if (err)
            *err = why;
        return rc;
    }
    *out = (struct config_diff){.n = 0};
    rc = OK;
    if (is_binary(old) || is_binary(new) || old.n > LINES_MAX_BYTES || new.n > LINES_MAX_BYTES)
        why.message[0] = '\0';
    else if (old.p && new.p)
        rc = diff_lines(old, new, arena, out, err);
    if (rc == OK)
        out->by_lines = why.message[0] ? arena_printf(arena, "compared by lines: %s", why.message)
                                       : "not compared: binary, or too large";
    return rc;
}
