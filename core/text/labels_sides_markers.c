/* Whose text each token is in rows that are text or ids alone: by the shapes of known markers (prompt.h).
 * Rendered rows: labels_sides.c. */
#include <stdlib.h>
#include <string.h>

#include "core/text/labels_parts.h"
#include "core/text/prompt.h"

#define MOST_SPECIALS 512   /* looked for; a vocabulary with more has reserved ones behind them */

static int find_specials(struct labeller *l, struct error *err)
{
    l->has_specials = true;
    if (!l->tokenizer)
        return OK;
    l->specials = calloc(MOST_SPECIALS, sizeof *l->specials);
    if (!l->specials)
        return error_set(err, E_NOMEM, "no memory for the special tokens");
    uint32_t n = tokenizer_size(l->tokenizer);
    for (uint32_t id = 0; id < n && l->n_specials < MOST_SPECIALS; id++) {
        struct str text = tokenizer_is_special(l->tokenizer, id) ? tokenizer_token(l->tokenizer, id)
                                                                 : str_from(NULL, 0);

        if (str_trim(text).n > 0)
            l->specials[l->n_specials++] = text;
    }
    return OK;
}

static bool is_role(const struct prompt_segment *segment, const char *role)
{
    return strcmp(segment->role, role) == 0;
}

static bool shape_has_turns(const struct prompt_shape *shape)
{
    bool has_user = false, has_assistant = false;

    for (size_t i = 0; i < shape->n; i++) {
        bool is_header = shape->segments[i].part == PART_MARKER;

        has_user |= is_header && is_role(&shape->segments[i], "user");
        has_assistant |= is_header && is_role(&shape->segments[i], "assistant");
    }
    return has_user && has_assistant && shape->family != FAMILY_NONE;
}

/* A marker without a role ends the turn before it. */
static enum token_side side_of_segment(const struct prompt_segment *segment, enum token_side before)
{
    if (segment->role[0] == '\0')
        return segment->part == PART_MARKER ? before : SIDE_OF_NOBODY;
    enum token_side side = labels_side_of_role(str_of(segment->role));
    return segment->part == PART_MARKER && side == SIDE_OF_ASSISTANT ? SIDE_OF_HEADER : side;
}

int labels_sides_by_markers(struct labeller *l, struct error *err)
{
    struct prompt_shape shape;
    enum token_side before = SIDE_OF_NOBODY;
    size_t i = 0;

    if (!l->has_specials) {
        int rc = find_specials(l, err);
        if (rc != OK)
            return rc;
    }
    prompt_shape_of(l->shown, l->specials, l->n_specials, l->arena, &shape);
    if (!shape_has_turns(&shape))
        return OK;
    l->has_sides = true;
    l->n_prompt = l->n;
    for (size_t s = 0; s < shape.n; s++) {
        const struct prompt_segment *segment = &shape.segments[s];
        enum token_side side = side_of_segment(segment, before);

        for (; i < l->n && l->row.begin[i] < segment->end; i++) {
            if (l->row.begin[i] == l->row.end[i])
                continue;
            l->side[i] = (uint8_t)side;
            if (side == SIDE_OF_ASSISTANT && l->n_prompt == l->n)
                l->n_prompt = i;
        }
        before = side == SIDE_OF_HEADER ? SIDE_OF_ASSISTANT : side;
    }
    return OK;
}
