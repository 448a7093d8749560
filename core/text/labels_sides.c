/* Whose text each token of a row is.
 *
 * In a rendered row the content of each turn is found where its value was printed (by address), else by
 * searching its trimmed text; a gap between two contents is divided behind the end of turn: what ends a
 * turn belongs to it, the rest is the header of the next one. Rows that are text or ids alone:
 * labels_sides_markers.c. No labels here. */
#include <stdlib.h>

#include "core/text/labels_parts.h"

enum token_side labels_side_of_role(struct str role)
{
    static const struct {
        const char *role;
        enum token_side side;
    } SIDES[] = {
        {"system", SIDE_OF_SYSTEM},       {"developer", SIDE_OF_SYSTEM},
        {"user", SIDE_OF_USER},           {"human", SIDE_OF_USER},
        {"assistant", SIDE_OF_ASSISTANT}, {"gpt", SIDE_OF_ASSISTANT},
        {"model", SIDE_OF_ASSISTANT},     {"tool", SIDE_OF_TOOL},
        {"function", SIDE_OF_TOOL},       {"observation", SIDE_OF_TOOL},
        {"ipython", SIDE_OF_TOOL},        {"tool_response", SIDE_OF_TOOL},
    };

    for (size_t i = 0; i < sizeof SIDES / sizeof SIDES[0]; i++)
        if (str_is(role, SIDES[i].role))
            return SIDES[i].side;
    return SIDE_OF_USER;
}

/* ---- The texts of the messages ---- */

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the turns of a row");
}

static bool room(void *place, size_t n, size_t *capacity, size_t bytes)
{
    void **p = place;

    if (n < *capacity)
        return true;
    size_t more = *capacity ? *capacity * 2 : 32;
    void *bigger = realloc(*p, more * bytes);
    if (!bigger)
        return false;
    *p = bigger;
    *capacity = more;
    return true;
}

/* All texts below a value; depth is bounded by the reader. */
static bool add_sources(struct labeller *l, const struct json *value, size_t turn)
{
    if (!value)
        return true;
    if (value->type == JSON_STRING) {
        if (value->text.n == 0)
            return true;
        if (!room(&l->sources, l->n_sources, &l->sources_capacity, sizeof *l->sources))
            return false;
        l->sources[l->n_sources++] =
            (struct source_text){.p = value->text.p, .n = value->text.n, .turn = turn};
        return true;
    }
    for (const struct json *item = value->child; item; item = item->next)
        if (!str_is(item->key, "type") && !add_sources(l, item, turn))
            return false;
    return true;
}

static bool add_message(struct labeller *l, const struct json *message, size_t turn)
{
    static const char *const KEYS[] = {"content", "reasoning_content", "reasoning", "thinking",
                                       "tool_calls"};

    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        if (!add_sources(l, json_get(message, KEYS[i]), turn))
            return false;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct source_text *x = a, *y = b;

    return x->p < y->p ? -1 : x->p > y->p;
}

static const struct source_text *source_of(const struct labeller *l, const char *p)
{
    size_t low = 0, high = l->n_sources;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->sources[middle].p <= p)
            low = middle + 1;
        else
            high = middle;
    }
    const struct source_text *source = low ? &l->sources[low - 1] : NULL;
    return source && (size_t)(p - source->p) < source->n ? source : NULL;
}

/* ---- Places of contents ---- */

static bool add_place(struct labeller *l, struct turn_place place)
{
    if (!room(&l->places, l->n_places, &l->places_capacity, sizeof *l->places))
        return false;
    l->places[l->n_places++] = place;
    return true;
}

/* Values in the order of the text; neighbours of one turn become one place. */
static bool places_by_address(struct labeller *l, const struct jinja_output *render)
{
    for (size_t i = 0; i < render->n_pieces; i++) {
        const struct jinja_piece *piece = &render->pieces[i];
        const struct source_text *source =
            piece->value && piece->end > piece->begin ? source_of(l, piece->value) : NULL;

        if (!source)
            continue;
        struct turn_place *last = l->n_places ? &l->places[l->n_places - 1] : NULL;
        if (last && last->turn == source->turn)
            last->end = piece->end;
        else if (!add_place(l, (struct turn_place){.begin = piece->begin,
                                                   .end = piece->end,
                                                   .turn = source->turn,
                                                   .is_found = true}))
            return false;
    }
    return true;
}

static ptrdiff_t find_text(struct str text, size_t from, size_t end, struct str what)
{
    if (from > end || what.n > end - from)
        return -1;
    const char *p = memmem(text.p + from, end - from, what.p, what.n);
    return p ? p - text.p : -1;
}

static int by_begin(const void *a, const void *b)
{
    const struct turn_place *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->turn < y->turn ? -1 : x->turn > y->turn;
}

/* What is known of a turn while its place is looked for. */
struct turn_bounds {
    size_t begin, end;   /* from its first place to the end of its last one; begin > end: it has none */
    size_t until;        /* where the first place of a later turn begins */
    size_t n_assistant;  /* assistant's turns before it */
    enum token_side side;
};

/* Texts are looked for in what may be a row of many megabytes with as many turns: what may be read for one
 * row. */
#define SEARCH_BYTES ((size_t)1 << 32)

/* One for each turn, and one behind the last. */
static bool bounds_open(struct labeller *l, const struct json *messages, struct turn_bounds **out)
{
    size_t n = 0, n_assistant = 0, until = l->shown.n;

    for (const struct json *message = messages->child; message; message = message->next)
        n++;
    struct turn_bounds *bounds = arena_alloc(l->arena, (n + 1) * sizeof *bounds);
    if (!bounds)
        return false;
    n = 0;
    for (const struct json *message = messages->child; message; message = message->next) {
        enum token_side side = labels_side_of_role(turn_role(message));

        bounds[n++] = (struct turn_bounds){
            .begin = SIZE_MAX, .side = side, .n_assistant = n_assistant};
        n_assistant += side == SIDE_OF_ASSISTANT;
    }
    bounds[n] = (struct turn_bounds){.begin = SIZE_MAX, .n_assistant = n_assistant};
    for (size_t i = 0; i < l->n_places; i++) {
        const struct turn_place *place = &l->places[i];
        if (place->turn >= n)
            continue;
        struct turn_bounds *turn = &bounds[place->turn];

        turn->begin = place->begin < turn->begin ? place->begin : turn->begin;
        turn->end = place->end > turn->end ? place->end : turn->end;
    }
    while (n-- > 0) {
        bounds[n].until = until;
        until = bounds[n].begin < until ? bounds[n].begin : until;
    }
    *out = bounds;
    return true;
}

/* Turns whose value was not seen whole (joined to other text, replaced, escaped): their trimmed text. A
 * short text may stand in a marker too: it counts only where no letter stands beside it. */
static bool is_alone(struct str text, size_t at, size_t n)
{
    if (n > 8)
        return true;
    char before = at ? text.p[at - 1] : '\n', after = at + n < text.n ? text.p[at + n] : '\n';
    bool joins_before = (before >= 'a' && before <= 'z') || before == '_' || before == '|';
    bool joins_after = (after >= 'a' && after <= 'z') || after == '_' || after == '|';
    return !joins_before && !joins_after;
}

/* The blanks at the edges of the content, where the template left them. */
static struct turn_place with_blanks(struct str text, struct str whole, struct str trimmed,
                                     struct turn_place place)
{
    size_t before = (size_t)(trimmed.p - whole.p), behind = whole.n - before - trimmed.n;

    if (before <= place.begin && memcmp(text.p + place.begin - before, whole.p, before) == 0)
        place.begin -= before;
    if (behind <= text.n - place.end &&
        memcmp(text.p + place.end, trimmed.p + trimmed.n, behind) == 0)
        place.end += behind;
    return place;
}

/* from is behind the turns before; *budget what may still be read. */
static bool place_by_search(struct labeller *l, const struct json *message, size_t turn,
                            struct turn_bounds *bounds, size_t from, size_t *budget)
{
    struct str whole = turn_text(message, l->arena), what = whole.p ? str_trim(whole) : whole;
    size_t end = bounds[turn].until;

    if (!what.p || what.n == 0)
        return true;
    for (;;) {
        ptrdiff_t at = find_text(l->shown, from, end, what);
        size_t read = at < 0 ? (end > from ? end - from : 0) : (size_t)at + what.n - from;

        if (at < 0 || read > *budget) {
            *budget -= read < *budget ? read : *budget;
            return true;
        }
        *budget -= read;
        struct turn_place place = {.begin = (size_t)at, .end = (size_t)at + what.n, .turn = turn,
                                   .is_found = true};
        if (is_alone(l->shown, (size_t)at, what.n)) {
            place = with_blanks(l->shown, whole, what, place);
            bounds[turn].begin = place.begin;
            bounds[turn].end = place.end;
            return add_place(l, place);
        }
        from = (size_t)at + 1;
    }
}

static int find_places(struct labeller *l, const struct json *messages,
                       const struct jinja_output *render, struct turn_bounds **out,
                       struct error *err)
{
    struct turn_bounds *bounds;
    size_t turn = 0, from = 0, budget = SEARCH_BYTES;

    for (const struct json *message = messages->child; message; message = message->next)
        if (!add_message(l, message, turn++))
            return no_memory(err);
    if (l->n_sources)
        qsort(l->sources, l->n_sources, sizeof *l->sources, by_address);
    if (!places_by_address(l, render) || !bounds_open(l, messages, &bounds))
        return no_memory(err);
    *out = bounds;
    turn = 0;
    for (const struct json *message = messages->child; message; message = message->next, turn++) {
        if (bounds[turn].begin == SIZE_MAX &&
            !place_by_search(l, message, turn, bounds, from, &budget))
            return no_memory(err);
        if (budget == 0)
            return labels_refuse(l, "too many turns in too much text to find one in the other");
        from = bounds[turn].end > from ? bounds[turn].end : from;
    }
    if (l->n_places)
        qsort(l->places, l->n_places, sizeof *l->places, by_begin);
    for (size_t i = 0; i < l->n_places; i++)
        if (l->places[i].turn < turn)
            l->places[i].side = bounds[l->places[i].turn].side;
    return OK;
}

/* ---- From places to tokens ---- */

void labels_set_side(struct labeller *l, size_t begin, size_t end, enum token_side side)
{
    if (begin < end)
        memset(l->side + begin, side, end - begin);
}

static struct str token_text(const struct labeller *l, size_t i)
{
    return str_from(l->shown.p + l->row.begin[i], l->row.end[i] - l->row.begin[i]);
}

static bool is_blank_token(const struct labeller *l, size_t i)
{
    return str_trim(token_text(l, i)).n == 0;
}

/* A marker that closes a turn in any of the families, by its text: the byte behind it, or 0. */
static size_t end_marker(struct str text)
{
    static const char *const WORDS[] = {"end", "eot", "eom", "eos", "return", "turn|", "/s>",
                                        "call|"};
    size_t n = 1;

    if (text.n < 3 || (text.p[0] != '<' && text.p[0] != '['))
        return 0;
    while (n < text.n && n < 48 && text.p[n] != '>' && text.p[n] != ']' && text.p[n] != '\n')
        n++;
    if (n == text.n || (text.p[n] != '>' && text.p[n] != ']'))
        return 0;
    text = str_first(text, n + 1);
    if (str_has_ignoring_case(text, "header"))
        return 0;
    for (size_t w = 0; w < sizeof WORDS / sizeof WORDS[0]; w++)
        if (str_has_ignoring_case(text, WORDS[w]))
            return n + 1;
    return 0;
}

/* The token behind an end of turn that begins with token i, which may be written in several; i: none begins
 * there. */
static size_t behind_end(const struct labeller *l, size_t i, size_t end)
{
    size_t at = l->row.begin[i], n = end_marker(str_skip(l->shown, at));
    bool is_eos = l->eos_id != NONE && l->row.ids[i] == l->eos_id;

    if (n == 0 || at == l->row.end[i])
        return is_eos ? i + 1 : i;
    while (i < end && l->row.begin[i] < at + n)
        i++;
    return i;
}

/* The end of turn at the start of a gap: end tokens with the blanks between and behind them. Text before
 * the first one (arguments of a call) is still the turn's. */
static size_t end_of_turn(const struct labeller *l, size_t begin, size_t end)
{
    size_t i = begin, behind = begin;

    while (i < end && behind_end(l, i, end) == i)
        i++;
    if (i == end)
        i = begin;
    while (i < end) {
        size_t next = behind_end(l, i, end);

        if (next > i) {
            behind = i = next;
            continue;
        }
        if (!is_blank_token(l, i))
            break;
        i++;
    }
    if (behind > begin || i == end)
        behind = i;         /* blanks behind an end token, or nothing but blanks */
    return behind;
}

/* What the template puts before an answer, from a render with and one without it; made once. */
static int learn_header(struct labeller *l, const struct json *messages, struct error *err)
{
    const struct json *turn = messages->child;

    l->has_header = true;
    while (turn && labels_side_of_role(turn_role(turn)) != SIDE_OF_USER)
        turn = turn->next;
    if (!turn)
        return OK;
    struct json user = *turn, alone = *messages;
    user.next = NULL;
    alone.child = &user;
    alone.n = 1;
    struct chat_request request = {.messages = &alone};
    int rc = labels_render(l, &request, &l->other, err);
    if (rc == OK && !l->is_refused) {
        buf_clear(&l->header);
        size_t n = l->other.text.n;
        request.add_generation_prompt = true;
        rc = labels_render(l, &request, &l->other, err);
        if (rc == OK && !l->is_refused && l->other.text.n > n)
            buf_str(&l->header, str_skip(buf_view(&l->other.text), n));
    }
    l->is_refused = false;      /* a template that will not do this has no header that can be known */
    return rc;
}

/* An assistant's turn of which no text was found (a call alone) stands in the gap: from its header to its
 * end of turn. Returns where the rest of the gap begins. */
static size_t turn_in_gap(struct labeller *l, size_t begin, size_t end, enum token_side before)
{
    struct str header = str_trim(buf_view(&l->header));
    size_t from = l->row.begin[begin], to = l->row.end[end - 1], i = begin;
    ptrdiff_t at = header.n ? find_text(l->shown, from, to, header) : -1;

    if (at < 0)
        return begin;
    while (i < end && l->row.begin[i] < (size_t)at)
        i++;
    labels_set_side(l, begin, i, before == SIDE_OF_NOBODY ? SIDE_OF_USER : before);
    size_t first = i;
    while (i < end && (l->row.begin[i] < (size_t)at + header.n || is_blank_token(l, i)))
        i++;
    labels_set_side(l, first, i, SIDE_OF_HEADER);
    if (l->n_prompt == l->n)
        l->n_prompt = i;
    first = i;
    i = end_of_turn(l, i, end);
    labels_set_side(l, first, i, SIDE_OF_ASSISTANT);
    return i;
}

/* Where the generation prompt ends: what the template prints between it and the content (a thought, the
 * head of a call) is the assistant's. */
static size_t behind_header(const struct labeller *l, size_t begin, size_t end)
{
    struct str header = str_trim(buf_view(&l->header));

    if (begin == end || header.n == 0)
        return end;
    ptrdiff_t at = find_text(l->shown, l->row.begin[begin], l->row.end[end - 1], header);
    if (at < 0)
        return end;
    while (begin < end && (l->row.begin[begin] < (size_t)at + header.n || is_blank_token(l, begin)))
        begin++;
    return begin;
}

static void divide_gap(struct labeller *l, size_t begin, size_t end, enum token_side before,
                       enum token_side after)
{
    size_t header = begin;

    if (begin >= end)
        return;
    if (before != SIDE_OF_NOBODY) {
        header = end_of_turn(l, begin, end);
        labels_set_side(l, begin, header, before);
    } else {
        while (header < end && l->row.begin[header] == l->row.end[header])
            header++;       /* added by the tokenizer, not of the text */
    }
    size_t behind = after == SIDE_OF_ASSISTANT ? behind_header(l, header, end) : end;
    labels_set_side(l, header, behind, after == SIDE_OF_ASSISTANT ? SIDE_OF_HEADER : after);
    labels_set_side(l, behind, end, SIDE_OF_ASSISTANT);
    if (behind < end && l->n_prompt == l->n)
        l->n_prompt = behind;
}

int labels_sides_rendered(struct labeller *l, const struct json *messages,
                          const struct jinja_output *render, struct error *err)
{
    size_t i = 0, gap = 0, next_turn = 0;
    enum token_side before = SIDE_OF_NOBODY;
    struct turn_bounds *bounds = NULL;

    int rc = l->has_header || !l->chat_template ? OK : learn_header(l, messages, err);
    if (rc != OK)
        return rc;
    rc = find_places(l, messages, render, &bounds, err);
    if (rc != OK || l->is_refused)
        return rc;
    l->has_sides = l->n_places > 0;
    l->n_prompt = l->n;
    for (size_t p = 0; p < l->n_places; p++) {
        const struct turn_place *place = &l->places[p];

        while (i < l->n && l->row.end[i] <= place->begin)
            i++;
        size_t first = i;
        while (i < l->n && l->row.begin[i] < place->end)
            i++;
        if (first == i)
            continue;
        bool misses_assistant = next_turn < place->turn && bounds[next_turn].n_assistant <
                                                               bounds[place->turn].n_assistant;
        if (gap < first && misses_assistant) {
            size_t behind = turn_in_gap(l, gap, first, before);
            before = behind > gap ? SIDE_OF_ASSISTANT : before;
            gap = behind;
        }
        next_turn = place->turn + 1;
        divide_gap(l, gap, first, before, place->side);
        labels_set_side(l, first, i, place->side);
        if (place->side == SIDE_OF_ASSISTANT && l->n_prompt == l->n)
            l->n_prompt = first;
        before = place->side;
        gap = i;
    }
    if (gap < l->n && before != SIDE_OF_NOBODY)
        divide_gap(l, gap, l->n, before, SIDE_OF_NOBODY);
    return OK;
}

void labels_sides_split(struct labeller *l, size_t boundary)
{
    if (boundary > l->n)
        boundary = l->n;
    labels_set_side(l, 0, boundary, SIDE_OF_USER);
    labels_set_side(l, boundary, l->n, SIDE_OF_ASSISTANT);
    for (size_t i = 0; i < boundary && l->row.begin[i] == l->row.end[i]; i++)
        l->side[i] = SIDE_OF_NOBODY;
    l->n_prompt = boundary;
    l->has_sides = true;
}

void labels_explain(struct labeller *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->trained[i] || l->why[i] != WHY_PROMPT)
            continue;
        if (l->side[i] == SIDE_OF_HEADER)
            l->why[i] = WHY_HEADER;
        else if (l->side[i] == SIDE_OF_ASSISTANT)
            l->why[i] = WHY_END;
    }
}
