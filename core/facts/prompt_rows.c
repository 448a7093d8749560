/* What the training rows say of prompts: how many have a system turn, which text it is, which markers
 * stand in the rows themselves, and the row that stands for all of them. */
#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/prompt_pair_parts.h"
#include "core/read/rows.h"
#include "core/text/conversation.h"

#define ROWS_MAX     100000     /* looked at; the pair says how many it saw */
#define FAMILY_ROWS  500        /* of them, for their markers */
#define TEXTS_MAX    1024       /* different system texts that are told apart */
#define TEXT_BYTES   ((size_t)256 << 10)    /* kept of a row's text */

struct system_text {
    uint64_t hash;
    int64_t n;
    const char *text;
};

struct rows_reading {
    struct prompt_maker *maker;
    struct arena *arena;        /* of one row */
    int64_t n, n_turns, n_system, n_texts;      /* rows: all, with turns or markers, … */
    struct system_text *systems;
    size_t n_systems;
    int64_t n_family[FAMILY_OTHER + 1], n_family_rows;
    struct conversation with, without;          /* first rows of each kind: only whether there is one */
    bool has_with, has_without;
};

static void count_system(struct rows_reading *r, struct str text)
{
    text = str_trim(text);
    uint64_t hash = hash_bytes(text.n ? text.p : "", text.n);

    r->n_system++;
    for (size_t i = 0; i < r->n_systems; i++)
        if (r->systems[i].hash == hash) {
            r->systems[i].n++;
            return;
        }
    if (r->n_systems == TEXTS_MAX)
        return;
    text = str_first(text, TEXT_BYTES);
    r->systems[r->n_systems++] = (struct system_text){
        hash, 1, arena_strndup(r->maker->arena, text.n ? text.p : "", text.n)};
}

/* ---- Markers in the rows' own text ---- */

static void count_family(struct rows_reading *r, enum marker_family family)
{
    r->n_family[family]++;
}

/* Words of plain families may stand in any message: only the two ends of Alpaca together count. */
static enum marker_family family_in_content(struct str text)
{
    struct prompt_shape shape;
    struct arena *arena = arena_open((size_t)16 << 20);
    enum marker_family family = FAMILY_NONE;

    if (!arena)
        return FAMILY_NONE;
    prompt_shape_of(text, NULL, 0, arena, &shape);
    bool is_plain = shape.family == FAMILY_VICUNA || shape.family == FAMILY_HUMAN ||
                    shape.family == FAMILY_OTHER;
    bool has_user = false, has_assistant = shape.assistant < shape.n;
    for (size_t i = 0; i < shape.n; i++)
        has_user |= shape.segments[i].part == PART_MARKER &&
                    strcmp(shape.segments[i].role, "user") == 0;
    if (!is_plain && has_user && has_assistant)
        family = shape.family;
    arena_close(arena);
    return family;
}

static void look_at_turns(struct rows_reading *r, const struct json *messages)
{
    enum marker_family family = FAMILY_NONE;

    for (const struct json *m = messages->child; m && family == FAMILY_NONE; m = m->next) {
        struct str text = turn_text(m, r->arena);

        if (text.p)
            family = family_in_content(text);
    }
    count_family(r, family);
    r->n_family_rows++;
}

/* ---- Rows ---- */

static struct str system_of_turns(const struct json *messages, struct arena *arena)
{
    for (const struct json *m = messages->child; m; m = m->next) {
        struct str role = turn_role(m);

        if (str_is(role, "system") || str_is(role, "developer")) {
            struct str text = turn_text(m, arena);

            return text.p ? text : str_of("");
        }
    }
    return (struct str){NULL, 0};
}

static bool ends_with_answer(const struct json *messages)
{
    const struct json *last = NULL;

    for (const struct json *m = messages->child; m; m = m->next)
        last = m;
    return last && str_is(turn_role(last), "assistant");
}

static const struct json *copy_of(struct rows_reading *r, const struct json *value)
{
    struct buf text;
    const struct json *copy = NULL;
    struct error ignored = {0};

    if (!value)
        return NULL;
    buf_init(&text, PROMPT_FILE_BYTES);
    json_write(&text, value);
    if (!text.failed) {
        struct str kept = arena_str(r->maker->arena, buf_view(&text));

        if (json_parse_exact(kept, r->maker->arena, &copy, &ignored) != OK)
            copy = NULL;
    }
    buf_free(&text);
    return copy;
}

/* The first row with a system turn, until one without is more usual: decided at the end. */
static void keep_turns(struct rows_reading *r, const struct json *messages,
                       const struct json *tools, int64_t row, bool has_system)
{
    bool *has = has_system ? &r->has_with : &r->has_without;
    struct prompt_maker *maker = r->maker;

    if (*has || !ends_with_answer(messages))
        return;
    *has = true;
    /* The kind of the first row may be the rarer one; a later row of the other kind replaces it
     * only when it is in the majority then. */
    bool is_first = !maker->messages;
    bool is_usual = has_system == (2 * r->n_system >= r->n);
    if (!is_first && !is_usual)
        return;
    const struct json *copy = copy_of(r, messages);
    if (!copy)
        return;
    maker->messages = copy;
    maker->tools = copy_of(r, tools);
    maker->messages_row = row;
}

static void on_turns(struct rows_reading *r, const struct json *messages, const struct json *tools,
                     struct str own_system, int64_t row)
{
    struct str system = system_of_turns(messages, r->arena);

    if (!system.p && own_system.p && str_trim(own_system).n)
        system = own_system;
    r->n_turns++;
    if (system.p)
        count_system(r, system);
    keep_turns(r, messages, tools, row, system.p != NULL);
    if (r->n_family_rows < FAMILY_ROWS)
        look_at_turns(r, messages);
}

/* Returns whether the text was looked at and has no markers. */
static bool on_text(struct rows_reading *r, struct str text, int64_t row)
{
    struct prompt_shape shape;

    if (r->n_family_rows >= FAMILY_ROWS)
        return false;
    text = str_first(text, TEXT_BYTES);
    prompt_shape_of(text, NULL, 0, r->arena, &shape);
    count_family(r, shape.family);
    r->n_family_rows++;
    if (shape.family == FAMILY_NONE)
        return true;
    r->n_texts++;
    if (shape.system < shape.n) {
        const struct prompt_segment *system = &shape.segments[shape.system];

        count_system(r, str_from(text.p + system->begin, system->end - system->begin));
    }
    if (r->maker->text_row == NONE && shape.assistant < shape.n) {
        r->maker->row_text = arena_str(r->maker->arena, text);
        r->maker->text_row = row;
    }
    return false;
}

static void join_and_look(struct rows_reading *r, struct str a, struct str b, int64_t row)
{
    struct prompt_maker *maker = r->maker;
    struct buf text;

    buf_init(&text, TEXT_BYTES * 2);
    buf_str(&text, str_first(a, TEXT_BYTES));
    buf_str(&text, str_first(b, TEXT_BYTES));
    if (!text.failed && on_text(r, buf_view(&text), row) && maker->plain_row == NONE && b.n) {
        maker->plain_text = arena_str(maker->arena, buf_view(&text));
        maker->plain_row = row;
    }
    buf_free(&text);
}

/* Prompt and completion as lists of messages are one conversation. */
static const struct json *joined_turns(struct rows_reading *r, const struct json *prompt,
                                       const struct json *completion)
{
    struct buf text;
    const struct json *joined = NULL;
    struct error ignored = {0};
    const struct json *lists[] = {prompt, completion};

    buf_init(&text, PROMPT_FILE_BYTES);
    buf_putc(&text, '[');
    for (size_t i = 0; i < 2; i++)
        for (const struct json *m = lists[i] ? lists[i]->child : NULL; m; m = m->next) {
            if (text.n > 1)
                buf_putc(&text, ',');
            json_write(&text, m);
        }
    buf_putc(&text, ']');
    if (!text.failed) {
        struct str kept = arena_str(r->arena, buf_view(&text));

        if (json_parse_exact(kept, r->arena, &joined, &ignored) != OK)
            joined = NULL;
    }
    buf_free(&text);
    return joined;
}

static void on_row(struct rows_reading *r, const struct conversation *row, int64_t number)
{
    const struct json *messages = row->messages;
    const struct json *answer =
        row->completion_messages ? row->completion_messages : row->chosen_messages;

    r->n++;
    if (row->form == ROW_ALPACA) {
        r->n_turns++;           /* turns of its own format, no template is known here */
        if (row->system.p && str_trim(row->system).n)
            count_system(r, row->system);
        return;
    }
    if (!messages && row->prompt_messages)
        messages = joined_turns(r, row->prompt_messages, answer);
    if (json_is(messages, JSON_ARRAY)) {
        on_turns(r, messages, row->tools, row->system, number);
        return;
    }
    if (row->form == ROW_TEXT && row->text.p)
        (void)on_text(r, row->text, number);
    else if (row->prompt.p)
        join_and_look(r, row->prompt, row->completion.p ? row->completion : row->chosen, number);
}

/* ---- Which file ---- */

static bool is_read(const struct dataset *dataset)
{
    return strcmp(dataset->split, "train") == 0 && strcmp(dataset->form, "tokens") != 0 &&
           strcmp(dataset->form, "lengths") != 0 && strcmp(dataset->form, "facts") != 0;
}

static const struct dataset *training_rows(const struct run_facts *facts)
{
    const struct dataset *found = NULL;

    for (size_t i = 0; i < facts->n_datasets; i++)
        if (is_read(&facts->datasets[i]) &&
            (!found || facts->datasets[i].n_rows > found->n_rows))
            found = &facts->datasets[i];
    return found;
}

static int read_file(struct rows_reading *r, const char *path, const struct column_names *names,
                     struct error *err)
{
    struct rows *rows = NULL;
    const struct json *row;
    struct row_place place;
    struct error why;
    int rc = rows_open(&rows, path, err);

    while (rc >= 0 && rows) {
        struct conversation conversation;

        arena_reset(r->arena);
        why = (struct error){0};
        rc = rows_next(rows, r->arena, &row, &place, &why, err);
        if (rc != 1 || r->n >= ROWS_MAX)
            break;
        if (!row)
            continue;
        if (conversation_of_row(row, names, r->arena, &conversation, &why) == OK)
            on_row(r, &conversation, place.row);
    }
    rows_close(rows);
    return rc < 0 ? rc : OK;
}

static void sum_up(struct rows_reading *r)
{
    struct prompt_pair *pair = r->maker->pair;
    int64_t n = r->n_turns + r->n_texts;
    const struct system_text *usual = NULL;

    pair->n_seen = r->n_turns ? r->n : r->n_family_rows;
    pair->rows_are_templated = r->n_turns > 0 && r->maker->messages;
    for (int family = FAMILY_NONE + 1; family <= FAMILY_OTHER; family++)
        if (2 * r->n_family[family] > r->n_family_rows)
            pair->rows_family = (enum marker_family)family;
    if (r->n_turns > 0 || r->n_texts > 0)
        r->maker->plain_row = NONE; /* not all of them are plain */
    if (n == 0)
        return;
    pair->system_share = (double)r->n_system / (double)n;
    for (size_t i = 0; i < r->n_systems; i++)
        if (!usual || r->systems[i].n > usual->n)
            usual = &r->systems[i];
    pair->system_constant_share = usual ? (double)usual->n / (double)n : 0.0;
    pair->system_text = usual ? usual->text : NULL;
}

void prompt_read_rows(struct prompt_maker *maker)
{
    struct rows_reading r = {.maker = maker};
    const struct run_facts *facts = maker->facts;
    struct column_names names = {.text = facts_text(facts, "dataset_text_field")};
    struct error why = {0};

    maker->text_row = maker->messages_row = maker->plain_row = NONE;
    maker->dataset = maker->pair->dataset = training_rows(facts);
    const struct source *source =
        maker->dataset ? facts_source(facts, maker->dataset->source_id) : NULL;
    if (!source || !source->path)
        return;
    maker->pair->n_rows = maker->dataset->n_rows;
    r.arena = arena_open(ARENA_RENDER_BYTES);
    r.systems = arena_array(maker->arena, TEXTS_MAX, sizeof *r.systems);
    if (r.arena && r.systems) {
        /* A file that is gone or damaged, or a row too large to hold, ends the reading: n_seen tells. */
        (void)!read_file(&r, source->path, &names, &why);
        sum_up(&r);
    }
    arena_close(r.arena);
}
