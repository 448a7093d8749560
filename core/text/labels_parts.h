/* Between the rules of the label mask (core/text/labels_*.c). For these files only.
 *
 * A rule fills the labeller's row: tokens (`row`), and for each of them trained, why, side. The dispatch
 * in labels.c cuts, drops and hands out. All memory is the labeller's and is reused from row to row. */
#ifndef CORE_TEXT_LABELS_PARTS_H
#define CORE_TEXT_LABELS_PARTS_H

#include "core/text/labels.h"

#define LABELS_TEXT_BYTES ((size_t)64 << 20)    /* the text of one row */

/* A stretch of the row's text that is the content of one turn. */
struct turn_place {
    size_t begin, end;
    enum token_side side;
    size_t turn;            /* which message */
    bool is_found;
};

/* A text of a message: content, part, thought, tool call. For finding by address where a value of the
 * render comes from. */
struct source_text {
    const char *p;
    size_t n;
    size_t turn;
};

struct id_list {
    uint32_t *ids;
    size_t n;
};

struct unsloth_marker {
    struct id_list whole;   /* left | core | right */
    size_t core, right;     /* where they begin */
};

struct labeller {
    struct label_policy policy;
    const struct tokenizer *tokenizer;
    const struct chat_template *chat_template;
    const struct json *special_tokens;
    struct jinja_settings jinja;
    struct str template_text;
    struct tokenizer_scratch *scratch;
    struct arena *arena;            /* of the row: contexts of templates, lists made of messages */
    struct jinja_output render, other;
    struct tokens row, extra;
    struct buf text, refusal;
    struct str shown;               /* the text that row's offsets are of */
    uint8_t *trained, *why, *side;
    uint32_t *label_id;
    uint32_t *spare;                /* room to move tokens */
    size_t capacity;
    struct turn_place *places;
    size_t n_places, places_capacity;
    struct source_text *sources;
    size_t n_sources, sources_capacity;
    struct buf header;              /* the generation prompt, learned at the first need */
    bool has_header;
    struct str *specials;           /* for the shapes of recorded text; made at the first use */
    size_t n_specials;
    bool has_specials;
    /* Made at opening. */
    struct id_list response, instruction;
    struct unsloth_marker response_edges, instruction_edges;
    uint32_t *message_start;
    size_t n_message_start;
    const struct json *named;       /* LLaMA-Factory's template */
    int64_t eos_id;                 /* the policy's, or what the named template puts in its place */
    uint32_t *eot_ids;
    size_t n_eot_ids;
    /* Of the row. */
    size_t n;                       /* tokens before the cut */
    size_t n_kept;                  /* tokens that a cut inside of the rule leaves; SIZE_MAX: none was made */
    size_t n_prompt;
    size_t n_added;                 /* tokens at the end that the tokenizer adds and a cut keeps */
    bool has_sides, has_label_ids, is_refused, has_no_cut;
    bool is_too_much;               /* refused at a limit of time or memory */
    bool marker_missing;
    size_t marker_near, marker_near_n;
};

/* ---- labels.c ---- */
MUST_CHECK int labels_reserve(struct labeller *l, size_t n, struct error *err);
/* The row cannot be labelled; OK, so that a rule returns it. */
int labels_refuse(struct labeller *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sets the row's token count, everything trained, sides unknown. */
MUST_CHECK int labels_begin(struct labeller *l, struct error *err);
void labels_mask(struct labeller *l, size_t begin, size_t end, enum label_why why);
/* The start is kept; the tokens that the tokenizer adds at the end too. */
void labels_truncate(struct labeller *l, size_t limit);
/* The tokens that come nearest to a marker that the row has not. */
void labels_find_nearest(struct labeller *l, const struct id_list *marker);
bool labels_cut_ends(const struct labeller *l, size_t *first, size_t *end);

/* ---- labels_text.c: from a row to text and tokens ---- */
/* Renders; a failure of the template becomes a refusal (l->is_refused). */
MUST_CHECK int labels_render(struct labeller *l, const struct chat_request *request,
                             struct jinja_output *out, struct error *err);
/* Encodes a text into l->row. */
MUST_CHECK int labels_encode(struct labeller *l, struct str text, bool add_special,
                             struct error *err);
/* Encodes a text behind what l->row and l->text hold already. */
MUST_CHECK int labels_append(struct labeller *l, struct str text, bool add_special,
                             struct error *err);
/* One id behind it, with its spelling as its text. */
MUST_CHECK int labels_append_id(struct labeller *l, uint32_t id, struct error *err);
/* a's messages and b's behind them; either may be NULL. In l->arena; NULL: no memory. */
const struct json *labels_joined(struct labeller *l, const struct json *a, const struct json *b);

/* ---- labels_sides.c, labels_sides_markers.c ---- */
/* l->row holds the tokens of l->text, which was rendered from `messages`. */
MUST_CHECK int labels_sides_rendered(struct labeller *l, const struct json *messages,
                                     const struct jinja_output *render, struct error *err);
/* Everything before `boundary` is the user's, the rest the assistant's. */
void labels_sides_split(struct labeller *l, size_t boundary);
/* By the shapes of known markers in l->text; has_sides stays false when there are none. */
MUST_CHECK int labels_sides_by_markers(struct labeller *l, struct error *err);
enum token_side labels_side_of_role(struct str role);
void labels_set_side(struct labeller *l, size_t begin, size_t end, enum token_side side);
/* Tells the masked tokens apart by whose they are: header, end of turn, prompt. */
void labels_explain(struct labeller *l);

/* ---- The rules ---- */
MUST_CHECK int labels_trl(struct labeller *l, const struct conversation *row, struct error *err);
MUST_CHECK int labels_trl_old(struct labeller *l, const struct conversation *row,
                              struct error *err);
MUST_CHECK int labels_response_template(struct labeller *l, const struct conversation *row,
                                        struct error *err);
MUST_CHECK int labels_unsloth(struct labeller *l, const struct conversation *row,
                              struct error *err);
MUST_CHECK int labels_llamafactory(struct labeller *l, const struct conversation *row,
                                   struct error *err);
MUST_CHECK int labels_axolotl_chat(struct labeller *l, const struct conversation *row,
                                   struct error *err);
MUST_CHECK int labels_axolotl_prompt(struct labeller *l, const struct conversation *row,
                                     struct error *err);
MUST_CHECK int labels_axolotl_text(struct labeller *l, const struct conversation *row,
                                   struct error *err);
MUST_CHECK int labels_axolotl_segments(struct labeller *l, const struct conversation *row,
                                       struct error *err);
MUST_CHECK int labels_trainer(struct labeller *l, const struct conversation *row,
                              struct error *err);
MUST_CHECK int labels_torchtune(struct labeller *l, const struct conversation *row,
                                struct error *err);
MUST_CHECK int labels_litgpt(struct labeller *l, const struct conversation *row,
                             struct error *err);
/* Ids, and labels where the row has them, as they are. */
MUST_CHECK int labels_of_ids(struct labeller *l, const struct conversation *row,
                             struct error *err);

MUST_CHECK int labels_open_unsloth(struct labeller *l, struct error *err);
MUST_CHECK int labels_open_llamafactory(struct labeller *l, struct error *err);
MUST_CHECK int labels_open_axolotl(struct labeller *l, struct error *err);
MUST_CHECK int labels_open_torchtune(struct labeller *l, struct error *err);

/* Masks l->row's tokens outside of the spans that TRL's variant of the template trains. */
void labels_patched_spans(struct labeller *l);

#endif
