/* Where two rendered prompts part, in the order of CHECKS.md stage 2: families, the system turn, the
 * assistant's header, the bytes between markers, blanks of contents, ids. What cannot be told apart
 * for certain is no difference: contents of other conversations, blanks that may be a content's. */
#include <math.h>
#include <string.h>

#include "core/text/prompt_parts.h"

/* ---- Turns ---- */

/* A turn: its header, content and what stands behind it up to the next header. */
struct turn {
    const char *role;
    struct str header, content, behind;
    size_t at, behind_at;
};

struct turns {
    struct turn *items;
    size_t n;
    struct str lead;        /* before the first header */
};

static struct str segment_text(const struct prompt_side *side, size_t i)
{
    const struct prompt_segment *segment = &side->shape.segments[i];

    return str_from(side->text.p + segment->begin, segment->end - segment->begin);
}

static void extend(struct str *text, struct str more)
{
    if (text->n == 0)
        *text = more;
    else
        text->n += more.n;
}

/* Up to the last assistant header, which is the last turn then (its content is not looked at). What a
 * serving prompt has behind it counts: a user's turn that waits for its header. */
static bool turns_of(const struct prompt_side *side, bool is_serving, struct arena *arena,
                     struct turns *out)
{
    struct turn *turn = NULL;
    size_t last = side->shape.assistant;

    for (size_t i = last; i < side->shape.n && is_serving; i++)
        if (side->shape.segments[i].part == PART_MARKER && side->shape.segments[i].role[0])
            last = i;
    *out = (struct turns){.items = arena_array(arena, side->shape.n + 1, sizeof *out->items)};
    if (!out->items)
        return false;
    for (size_t i = 0; i < side->shape.n; i++) {
        const struct prompt_segment *segment = &side->shape.segments[i];
        struct str text = segment_text(side, i);

        if (segment->part == PART_MARKER && segment->role[0]) {
            turn = &out->items[out->n++];
            *turn = (struct turn){.role = segment->role, .header = text, .at = segment->begin};
            if (i == last && i == side->shape.assistant)
                break;
        } else if (segment->part == PART_CONTENT && !turn) {
            turn = &out->items[out->n++];   /* a system text without a header */
            *turn = (struct turn){.role = segment->role, .content = text, .at = segment->begin};
        } else if (segment->part == PART_CONTENT) {
            extend(&turn->content, text);
        } else if (turn) {
            if (turn->behind.n == 0)
                turn->behind_at = segment->begin;
            extend(&turn->behind, text);
        } else {
            extend(&out->lead, text);
        }
    }
    return true;
}

static bool same_role(const struct turn *a, const struct turn *b)
{
    return strcmp(a->role, b->role) == 0;
}

/* Both sides hold the same messages, but for blanks. */
static bool is_same_conversation(const struct turns *a, const struct turns *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!same_role(&a->items[i], &b->items[i]) ||
            !prompt_same_but_blanks(a->items[i].content, b->items[i].content))
            return false;
    return true;
}

/* ---- Places ---- */

static size_t common_prefix(struct str a, struct str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

static ptrdiff_t token_at(const struct prompt_side *side, size_t byte)
{
    for (size_t i = 0; i < side->n_ids; i++)
        if (side->end[i] > byte)
            return (ptrdiff_t)i;
    return side->n_ids ? (ptrdiff_t)side->n_ids : -1;
}

static void place(const struct prompt_side *train, const struct prompt_side *serve,
                  size_t train_byte, size_t serve_byte, struct prompt_comparison *out)
{
    out->train_byte = train_byte;
    out->serve_byte = serve_byte;
    out->train_token = token_at(train, train_byte);
    out->serve_token = token_at(serve, serve_byte);
}

static void note(struct prompt_comparison *out, struct arena *arena, const char *text)
{
    out->note = out->note ? arena_printf(arena, "%s; %s", out->note, text) : text;
}

struct comparing {
    const struct prompt_side *train, *serve;
    struct turns a, b;
    bool is_same;
    struct arena *arena;
    struct prompt_comparison *out;
};

static bool is_prefix(struct str text, struct str prefix)
{
    return prefix.n <= text.n && (prefix.n == 0 || memcmp(text.p, prefix.p, prefix.n) == 0);
}

static bool differ(struct comparing *c, enum prompt_difference difference, size_t train_byte,
                   size_t serve_byte)
{
    c->out->difference = difference;
    place(c->train, c->serve, train_byte, serve_byte, c->out);
    return true;
}

/* ---- (i) families ---- */

static const struct turn *turn_of_role(const struct turns *turns, const char *role)
{
    for (size_t i = 0; i < turns->n; i++)
        if (strcmp(turns->items[i].role, role) == 0 && turns->items[i].header.n)
            return &turns->items[i];
    return NULL;
}

/* Two sets of special tokens are two families when no header is in both. */
static bool other_headers(const struct comparing *c)
{
    static const char *const ROLES[] = {"user", "assistant", "system"};
    bool is_compared = false;

    for (size_t i = 0; i < 3; i++) {
        const struct turn *a = turn_of_role(&c->a, ROLES[i]), *b = turn_of_role(&c->b, ROLES[i]);

        if (!a || !b)
            continue;
        is_compared = true;
        if (common_prefix(a->header, b->header) >= 3)
            return false;
    }
    return is_compared;
}

static bool families_differ(struct comparing *c)
{
    size_t n = common_prefix(c->train->text, c->serve->text);

    if (c->train->shape.family != c->serve->shape.family ||
        (c->train->shape.family == FAMILY_OTHER && other_headers(c)))
        return differ(c, PROMPTS_OTHER_FAMILY, n, n);
    return false;
}

/* ---- (ii) system ---- */

static const struct turn *system_turn(const struct turns *turns)
{
    for (size_t i = 0; i < turns->n; i++)
        if (strcmp(turns->items[i].role, "system") == 0)
            return &turns->items[i];
    return NULL;
}

static bool systems_differ(struct comparing *c)
{
    const struct turn *a = system_turn(&c->a), *b = system_turn(&c->b);

    if (a)
        c->out->system_train = arena_str(c->arena, str_trim(a->content)).p;
    if (b)
        c->out->system_serve = arena_str(c->arena, str_trim(b->content)).p;
    if (!a != !b)
        return differ(c, PROMPTS_SYSTEM_ONE_SIDE, a ? a->at : c->a.n ? c->a.items[0].at : 0,
                      b ? b->at : c->b.n ? c->b.items[0].at : 0);
    if (!a || prompt_same_but_blanks(a->content, b->content))
        return false;
    c->out->system_jaccard = prompt_word_likeness(a->content, b->content, c->arena);
    c->out->system_differs = c->out->system_jaccard < 0.5;
    if (prompt_only_dates_differ(a->content, b->content)) {
        c->out->system_differs = false;
        note(c->out, c->arena, "the system texts differ in a date");
    }
    return false;
}

/* ---- (iii) the assistant's header ---- */

static const struct turn *last_turn(const struct turns *turns)
{
    return turns->n ? &turns->items[turns->n - 1] : NULL;
}

static bool ends_in_assistant(const struct turns *turns)
{
    const struct turn *last = last_turn(turns);

    return last && strcmp(last->role, "assistant") == 0;
}

/* [INST] has no header to forget: what stands there closes the user's turn. */
static bool header_is_missing(struct comparing *c)
{
    const struct turn *header = last_turn(&c->a), *last = last_turn(&c->b);

    if (c->train->shape.family == FAMILY_INST || !ends_in_assistant(&c->a) || !last ||
        strcmp(last->role, "assistant") == 0 || strcmp(last->role, "system") == 0)
        return false;
    size_t from = header->at;
    if (is_prefix(c->train->text, c->serve->text) && c->serve->text.n < from + header->header.n)
        from = c->serve->text.n;
    c->out->missing = str_from(c->train->text.p + from, header->at + header->header.n - from);
    return differ(c, PROMPTS_NO_HEADER, from, c->serve->text.n);
}

/* ---- (iv) the bytes between markers ---- */

static struct str without_tail(struct str text)
{
    return str_first(text, text.n - prompt_blanks_before(text, text.n));
}

/* In an open family the blanks before the next header may be a content's. */
static bool same_behind(const struct comparing *c, const struct turn *a, const struct turn *b)
{
    if (str_eq(a->behind, b->behind))
        return true;
    if (!prompt_family_is_open(c->train->shape.family) || c->is_same)
        return false;
    return str_eq(str_trim(a->behind), str_trim(b->behind));
}

static bool is_last(const struct turns *turns, size_t i)
{
    return i + 1 == turns->n;
}

/* A serving prompt that was cut off behind a message says nothing of what stands between. */
static bool joint_differs(struct comparing *c, size_t i, size_t k)
{
    const struct turn *a = &c->a.items[i], *b = &c->b.items[k];

    if (!same_role(a, b))
        return false;
    bool ends = (is_last(&c->a, i) && ends_in_assistant(&c->a)) ||
                (is_last(&c->b, k) && ends_in_assistant(&c->b));
    if (!ends && !str_eq(a->header, b->header)) {
        size_t n = common_prefix(a->header, b->header);
        return differ(c, PROMPTS_OTHER_BYTES, a->at + n, b->at + n);
    }
    if (is_last(&c->a, i) || is_last(&c->b, k) || !same_role(a + 1, b + 1) ||
        same_behind(c, a, b))
        return false;
    size_t n = common_prefix(a->behind, b->behind);
    return differ(c, PROMPTS_OTHER_BYTES, a->behind_at + n, b->behind_at + n);
}

static bool same_joint(const struct comparing *c, size_t i, size_t k)
{
    const struct turn *a = &c->a.items[i], *b = &c->b.items[k];

    return same_role(a, b) && is_last(&c->a, i) == is_last(&c->b, k) &&
           (is_last(&c->a, i) || same_role(a + 1, b + 1));
}

/* Conversations of other turns: a joint that training has in several forms may have each of them. */
static bool joint_is_new(struct comparing *c, size_t k)
{
    size_t first = c->a.n;
    struct prompt_comparison saved = *c->out;

    for (size_t i = 0; i < c->a.n; i++) {
        if (!same_joint(c, i, k))
            continue;
        if (!joint_differs(c, i, k))
            return false;
        *c->out = saved;
        if (first == c->a.n)
            first = i;
    }
    return first < c->a.n && joint_differs(c, first, k);
}

/* Turn by turn when both have the same ones. */
static bool joints_differ(struct comparing *c)
{
    bool is_parallel = c->a.n == c->b.n;

    for (size_t i = 0; i < c->a.n && is_parallel; i++)
        is_parallel = same_role(&c->a.items[i], &c->b.items[i]);
    for (size_t k = 0; k < c->b.n; k++)
        if (is_parallel ? joint_differs(c, k, k) : joint_is_new(c, k))
            return true;
    return false;
}

/* The fixed sentence before "### Instruction:": it changes with the presence of an input. */
static bool leads_differ(struct comparing *c)
{
    struct str a = str_trim(c->a.lead), b = str_trim(c->b.lead);
    size_t n_a = 0, n_b = 0;

    if (c->train->shape.family != FAMILY_ALPACA || prompt_same_but_blanks(a, b))
        return false;
    for (size_t i = 0; i < c->a.n; i++)
        n_a += strcmp(c->a.items[i].role, "user") == 0;
    for (size_t i = 0; i < c->b.n; i++)
        n_b += strcmp(c->b.items[i].role, "user") == 0;
    if (n_a != n_b && a.n && b.n)
        return false;
    size_t n = common_prefix(c->train->text, c->serve->text);
    return differ(c, PROMPTS_OTHER_BYTES, n, n);
}

/* Families whose header ends with a line end, which the prompt therefore must have. */
static bool header_has_line(enum marker_family family)
{
    return family == FAMILY_CHATML || family == FAMILY_LLAMA3 || family == FAMILY_GEMMA ||
           family == FAMILY_ZEPHYR || family == FAMILY_ALPACA;
}

struct answer {             /* what stands from the last assistant header on */
    struct str core, blanks, rest;
    bool has_thinking, thinks_nothing;
};

static struct answer answer_of(const struct prompt_side *side, const struct turns *turns)
{
    const struct turn *header = last_turn(turns);
    struct answer answer = {.core = without_tail(header->header)};
    struct str rest = str_skip(side->text, header->at + answer.core.n);

    answer.blanks = str_first(rest, prompt_blanks(rest));
    answer.rest = str_skip(rest, answer.blanks.n);
    size_t thinking = prompt_thinking(answer.rest, &answer.thinks_nothing);
    answer.has_thinking = thinking > 0;
    answer.rest = str_skip(answer.rest, thinking);
    return answer;
}

/* Of the header itself: serving may stop inside of a run of special tokens behind the role, which
 * the model then writes (<|start|>assistant). */
static bool cores_differ(struct comparing *c, const struct answer *a, const struct answer *b)
{
    if (str_eq(a->core, b->core))
        return false;
    bool is_run = c->train->shape.family == FAMILY_OTHER &&
                  (is_prefix(a->core, b->core) || is_prefix(b->core, a->core));
    if (is_run) {
        note(c->out, c->arena, "one side has more special tokens behind the assistant's role");
        return false;
    }
    size_t n = common_prefix(a->core, b->core);
    return differ(c, PROMPTS_OTHER_BYTES, last_turn(&c->a)->at + n, last_turn(&c->b)->at + n);
}

static size_t line_ends(struct str blanks, size_t most)
{
    size_t n = 0;

    while (n < most && n < blanks.n && blanks.p[n] == '\n')
        n++;
    return n;
}

/* The blanks behind the header. More of them in training may be the answer's own. */
static bool blanks_differ(struct comparing *c, const struct answer *a, const struct answer *b)
{
    enum marker_family family = c->train->shape.family;
    bool is_bare = b->rest.n == 0 && !b->has_thinking;
    bool fits = is_prefix(a->blanks, b->blanks) || (!is_bare && is_prefix(b->blanks, a->blanks));

    if (fits && header_has_line(family)) {
        size_t most = family == FAMILY_LLAMA3 ? 2 : 1;

        fits = line_ends(a->blanks, most) <= line_ends(b->blanks, most) || b->rest.n > 0;
    }
    if (fits) {
        if (is_bare && a->blanks.n > b->blanks.n + 1)
            note(c->out, c->arena, "the answer of the training side begins with white space");
        return false;
    }
    size_t n = common_prefix(a->blanks, b->blanks);
    return differ(c, PROMPTS_OTHER_BYTES, last_turn(&c->a)->at + a->core.n + n,
                  last_turn(&c->b)->at + b->core.n + n);
}

static bool headers_differ(struct comparing *c)
{
    if (!ends_in_assistant(&c->a) || !ends_in_assistant(&c->b))
        return false;
    struct answer a = answer_of(c->train, &c->a), b = answer_of(c->serve, &c->b);
    if (cores_differ(c, &a, &b))
        return true;
    if (str_eq(a.core, b.core) && blanks_differ(c, &a, &b))
        return true;
    if (a.has_thinking != b.has_thinking)
        note(c->out, c->arena,
             a.has_thinking ? "a thinking block stands behind the header in training only"
                            : "a thinking block stands behind the header in serving only");
    return false;
}

/* The user's turn is not closed: only where no header can be missing. */
static bool prompt_is_open(struct comparing *c)
{
    const struct turn *last = last_turn(&c->b);

    if (!ends_in_assistant(&c->a) || !last || ends_in_assistant(&c->b) ||
        c->train->shape.family != FAMILY_INST)
        return false;
    return differ(c, PROMPTS_OTHER_BYTES, last_turn(&c->a)->at, c->serve->text.n);
}

/* ---- (v), other texts ---- */

static void compare_contents(struct comparing *c)
{
    size_t end_a = c->train->shape.prompt_end, end_b = c->serve->shape.prompt_end;
    size_t n = common_prefix(str_first(c->train->text, end_a), str_first(c->serve->text, end_b));
    bool is_equal = true;

    for (size_t i = 0; i < c->a.n && c->is_same; i++)
        is_equal &= str_eq(c->a.items[i].content, c->b.items[i].content);
    c->out->difference = !c->is_same ? PROMPTS_OTHER_TEXT
                         : is_equal  ? PROMPTS_EQUAL
                                     : PROMPTS_CONTENT_BLANKS;
    if (c->is_same && !is_equal)
        note(c->out, c->arena, "only white space inside of messages differs");
    if (c->out->difference == PROMPTS_EQUAL && !prompt_same_but_blanks(c->a.lead, c->b.lead))
        note(c->out, c->arena, "the texts before the first turn differ (a BOS text)");
    place(c->train, c->serve, n, n, c->out);
}

/* A date in the system text makes other contents, and still the same conversation. */
static void forgive_dates(struct comparing *c)
{
    if (c->is_same || c->a.n != c->b.n)
        return;
    for (size_t i = 0; i < c->a.n; i++) {
        struct str x = c->a.items[i].content, y = c->b.items[i].content;

        if (!same_role(&c->a.items[i], &c->b.items[i]) ||
            !(prompt_same_but_blanks(x, y) ||
              (strcmp(c->a.items[i].role, "system") == 0 && prompt_only_dates_differ(x, y))))
            return;
    }
    c->out->difference = PROMPTS_EQUAL;
}

/* ---- (vi) ids ---- */

static void compare_ids(struct comparing *c)
{
    const struct prompt_side *a = c->train, *b = c->serve;
    size_t end = b->shape.prompt_end;
    /* a BOS that the server added before the text's own is a finding of its own (C2.5) */
    size_t added = b->n_ids >= 2 && b->ids[0] == b->ids[1] && b->end[0] == b->begin[0];

    if (c->out->difference != PROMPTS_EQUAL || a->n_ids == 0 || b->n_ids == 0 ||
        !is_prefix(a->text, str_first(b->text, end)))
        return;
    for (size_t i = 0, k = added; k < b->n_ids && b->begin[k] < end; i++, k++) {
        if (i < a->n_ids && a->ids[i] == b->ids[k])
            continue;
        /* the end of the prompt lies inside of a training token: of the answer's first one */
        if (i < a->n_ids && b->end[k] >= end && a->begin[i] == b->begin[k] && a->end[i] > end) {
            note(c->out, c->arena, "the prompt ends inside of a token of the training text");
            return;
        }
        differ(c, PROMPTS_OTHER_IDS, i < a->n_ids ? a->begin[i] : a->text.n, b->begin[k]);
        c->out->train_token = (ptrdiff_t)i;
        c->out->serve_token = (ptrdiff_t)k;
        return;
    }
}

/* Without markers: serving is the beginning of training, or nothing can be said. */
static void compare_plain(struct comparing *c)
{
    size_t n = common_prefix(c->train->text, c->serve->text);

    c->out->difference = PROMPTS_UNKNOWN;
    if (c->train->shape.family == FAMILY_NONE && c->serve->shape.family == FAMILY_NONE &&
        c->serve->text.n > 0 && str_trim(c->serve->text).n > 0 &&
        n >= without_tail(c->serve->text).n) {
        c->out->difference = PROMPTS_EQUAL;
        note(c->out, c->arena, "neither side has turn markers; the serving prompt begins the training text");
    }
    place(c->train, c->serve, n, n, c->out);
}

void prompt_compare(const struct prompt_side *train, const struct prompt_side *serve,
                    struct arena *arena, struct prompt_comparison *out)
{
    struct comparing c = {.train = train, .serve = serve, .arena = arena, .out = out};

    *out = (struct prompt_comparison){.difference = PROMPTS_UNKNOWN,
                                      .train_token = -1,
                                      .serve_token = -1,
                                      .system_jaccard = NAN};
    if (!turns_of(train, false, arena, &c.a) || !turns_of(serve, true, arena, &c.b))
        return;
    if (train->shape.family == FAMILY_NONE || serve->shape.family == FAMILY_NONE || c.a.n == 0 ||
        c.b.n == 0) {
        compare_plain(&c);
        return;
    }
    c.is_same = is_same_conversation(&c.a, &c.b);
    if (families_differ(&c) || systems_differ(&c) || header_is_missing(&c) || prompt_is_open(&c) ||
        leads_differ(&c) || joints_differ(&c) || headers_differ(&c))
        return;
    compare_contents(&c);
    forgive_dates(&c);
    compare_ids(&c);
}
