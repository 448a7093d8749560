/* A rendered prompt and where two of them part.
 *
 * The comparison is CHECKS.md stage 2's: skeletons (marker, role; texts replaced) first, then bytes
 * between markers, then ids; up to the last byte of the assistant's header. */
#ifndef CORE_TEXT_PROMPT_H
#define CORE_TEXT_PROMPT_H

#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/text/tokenizer/tokenizer.h"

/* Families of turn markers. */
enum marker_family {
    FAMILY_NONE,            /* plain text */
    FAMILY_CHATML,
    FAMILY_LLAMA3,
    FAMILY_INST,            /* Llama 2, Mistral */
    FAMILY_GEMMA,
    FAMILY_ZEPHYR,          /* <|user|> … <|assistant|>: Zephyr, Phi */
    FAMILY_DEEPSEEK,
    FAMILY_ALPACA,
    FAMILY_VICUNA,
    FAMILY_HUMAN,           /* Human: … Assistant: */
    FAMILY_CHATGLM,
    FAMILY_OTHER            /* added special tokens of the tokenizer */
};
const char *marker_family_name(enum marker_family family);

enum prompt_part { PART_TEXT, PART_MARKER, PART_CONTENT };

struct prompt_segment {
    enum prompt_part part;
    const char *role;           /* system user assistant tool, or "" */
    size_t begin, end;          /* bytes */
};

struct prompt_shape {
    enum marker_family family;
    const struct prompt_segment *segments;  /* cover the text */
    size_t n;
    size_t system, assistant;   /* index of the first system content and of the last assistant header
                                   (its marker), or n: none */
    bool ends_with_header;      /* nothing (but blanks or a thinking block) behind the assistant's header */
    size_t prompt_end;          /* byte behind the last assistant header; text length when none */
};

/* `special`: texts of added special tokens of the tokenizer, for FAMILY_OTHER; may be NULL. In the
 * arena. Never fails but by the arena. */
void prompt_shape_of(struct str text, const struct str *special, size_t n_special,
                     struct arena *arena, struct prompt_shape *out);

enum prompt_difference {
    PROMPTS_EQUAL,              /* up to the assistant's turn */
    PROMPTS_OTHER_FAMILY,       /* (i) */
    PROMPTS_SYSTEM_ONE_SIDE,    /* (ii) */
    PROMPTS_NO_HEADER,          /* (iii) serving stops before the assistant's header */
    PROMPTS_OTHER_BYTES,        /* (iv) same markers, other bytes between them */
    PROMPTS_CONTENT_BLANKS,     /* (v) only white space inside or at the edges of contents: a note */
    PROMPTS_OTHER_IDS,          /* (vi) equal bytes, other ids */
    PROMPTS_OTHER_TEXT,         /* other conversations: contents cannot be compared */
    PROMPTS_UNKNOWN             /* a side has no recognisable shape */
};

struct prompt_comparison {
    enum prompt_difference difference;
    size_t train_byte, serve_byte;      /* where they first part */
    ptrdiff_t train_token, serve_token; /* -1: no tokenizer */
    const char *system_train, *system_serve;    /* the system texts, NULL: none */
    bool system_differs;                /* both have one, and the word sets' Jaccard is below 0.5 */
    double system_jaccard;
    struct str missing;                 /* PROMPTS_NO_HEADER: the header bytes that serving lacks */
    const char *note;                   /* one clause: what is behind the header on one side, dates … */
};

/* One side, ready to compare: ids may be absent (n_ids 0). */
struct prompt_side {
    struct str text;
    const uint32_t *ids, *begin, *end;
    size_t n_ids;
    struct prompt_shape shape;
};
void prompt_compare(const struct prompt_side *train, const struct prompt_side *serve,
                    struct arena *arena, struct prompt_comparison *out);

/* Two system texts: equal but for blanks, or how alike their word sets are (Jaccard). */
struct prompt_system_texts {
    bool are_equal, only_dates_differ;
    double jaccard;
};
void prompt_system_compare(struct str train, struct str serve, struct arena *arena,
                           struct prompt_system_texts *out);
/* Of a template known by name ("chatml", "llama-3", "vicuna_v1.1"); FAMILY_NONE: unknown. */
enum marker_family prompt_family_by_name(const char *name);
/* The first system content of a side; p NULL: none. */
struct str prompt_system_text(const struct prompt_side *side);

#endif
