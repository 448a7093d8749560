/* What a rendered prompt is made of: the text cut into markers, contents and what stands between.
 * Pure reading of bytes; which side is right is the comparison's business (prompt_compare.c). */
#include <string.h>

#include "core/text/prompt_parts.h"

struct cutting {
    struct str text;
    struct arena *arena;
    struct prompt_segment *items;
    size_t n, capacity;
};

static void put(struct cutting *cut, enum prompt_part part, const char *role, size_t begin,
                size_t end)
{
    struct prompt_segment *room =
        arena_room(cut->arena, cut->items, cut->n, &cut->capacity, sizeof *cut->items);

    if (!room)
        return;
    cut->items = room;
    cut->items[cut->n++] = (struct prompt_segment){part, role, begin, end};
}

/* Text before the first header is the system text where the family has no header for it. */
static bool leads_with_system(enum marker_family family)
{
    return family == FAMILY_VICUNA || family == FAMILY_HUMAN || family == FAMILY_DEEPSEEK;
}

/* Blanks at the edges of a content without an end marker are the template's. */
static void put_content(struct cutting *cut, enum marker_family family, const char *role,
                        size_t begin, size_t end)
{
    size_t after = 0;

    if (prompt_family_is_open(family))
        after = prompt_blanks_before(str_first(cut->text, end), end);
    if (after > end - begin)
        after = end - begin;
    put(cut, PART_CONTENT, role, begin, end - after);
    if (after)
        put(cut, PART_TEXT, "", end - after, end);
}

static void put_outside(struct cutting *cut, enum marker_family family, bool is_lead, size_t begin,
                        size_t end)
{
    if (begin == end)
        return;
    size_t blanks = prompt_blanks(str_from(cut->text.p + begin, end - begin));
    if (!is_lead || !leads_with_system(family) || blanks == end - begin) {
        put(cut, PART_TEXT, "", begin, end);
        return;
    }
    if (blanks)
        put(cut, PART_TEXT, "", begin, begin + blanks);
    put_content(cut, family, "system", begin + blanks, end);
}

static void cut_text(struct cutting *cut, enum marker_family family,
                     const struct special_list *special)
{
    const char *role = NULL;    /* NULL: outside of any turn */
    bool is_lead = true;
    size_t begin = 0, at = 0;

    while (at < cut->text.n) {
        struct marker_match match;

        if (!prompt_marker_at(family, special, cut->text, at, &match)) {
            at++;
            continue;
        }
        if (role)
            put_content(cut, family, role, begin, at);
        else
            put_outside(cut, family, is_lead, begin, at);
        put(cut, PART_MARKER, match.role, at, at + match.n);
        at += match.n;
        begin = at;
        if (match.act == MARK_OPEN)
            role = match.role;
        else if (match.act == MARK_CLOSE)
            role = NULL;
        is_lead &= match.act == MARK_LEAD;
    }
    if (begin == at)
        return;
    if (role)
        put(cut, PART_CONTENT, role, begin, at);
    else
        put_outside(cut, family, false, begin, at);
}

static bool is_header(const struct prompt_segment *segment, const char *role)
{
    return segment->part == PART_MARKER && strcmp(segment->role, role) == 0;
}

static void find_places(struct prompt_shape *shape, struct str text)
{
    size_t last = shape->n;

    shape->system = shape->assistant = shape->n;
    shape->prompt_end = text.n;
    for (size_t i = 0; i < shape->n; i++) {
        const struct prompt_segment *segment = &shape->segments[i];

        if (segment->part == PART_CONTENT && shape->system == shape->n &&
            strcmp(segment->role, "system") == 0)
            shape->system = i;
        if (segment->part == PART_MARKER && segment->role[0])
            last = i;
        if (is_header(segment, "assistant")) {
            shape->assistant = i;
            shape->prompt_end = segment->end;
        }
    }
    if (shape->assistant == shape->n || last != shape->assistant)
        return;
    bool is_empty;
    struct str rest = str_skip(text, shape->prompt_end);
    rest = str_skip(rest, prompt_thinking(rest, &is_empty));
    shape->ends_with_header = is_empty && prompt_blanks(rest) == rest.n;
}

void prompt_shape_of(struct str text, const struct str *special, size_t n_special,
                     struct arena *arena, struct prompt_shape *out)
{
    struct special_list list = {special, n_special};
    struct cutting cut = {.text = text, .arena = arena};

    *out = (struct prompt_shape){.family = prompt_family_of(text, &list)};
    if (out->family == FAMILY_NONE) {
        if (text.n)
            put(&cut, PART_TEXT, "", 0, text.n);
    } else {
        cut_text(&cut, out->family, &list);
    }
    out->segments = cut.items;
    out->n = cut.n;
    find_places(out, text);
}

struct str prompt_system_text(const struct prompt_side *side)
{
    const struct prompt_shape *shape = &side->shape;

    if (shape->system >= shape->n)
        return (struct str){NULL, 0};
    const struct prompt_segment *system = &shape->segments[shape->system];
    return str_from(side->text.p + system->begin, system->end - system->begin);
}
