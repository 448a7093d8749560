/* The prompt that was trained against the prompt that is served, with where each is from. */
#ifndef CORE_FACTS_PROMPT_PAIR_H
#define CORE_FACTS_PROMPT_PAIR_H

#include "core/facts/mask_policy.h"
#include "core/facts/run_facts.h"
#include "core/text/prompt.h"

enum prompt_origin {
    PROMPT_ABSENT,
    PROMPT_RECORDED,            /* prompt_train.txt, prompt_infer.txt */
    PROMPT_REQUEST,             /* a captured request: its prompt, or its messages rendered */
    PROMPT_RENDERED,            /* a row or the built-in conversation by a template of the files */
    PROMPT_ROWS                 /* a data row that holds the markers itself (text) */
};

struct prompt_record {
    enum prompt_origin origin;
    const struct source *source;        /* the file that decided: capture, template; NULL */
    int64_t row;                        /* of the data set, or NONE */
    const char *about;                  /* "rendered from chat_template.jinja, row 0" */
    const char *missing;                /* PROMPT_ABSENT: what to import */
    const char *failure;                /* the template refused: its message with line */
    struct prompt_side side;            /* text, ids, shape */
    bool inserts_system;                /* the template put a system text that no message has */
    bool is_assumed;                    /* serving: rendered by the training template, no other is known */
};

struct prompt_pair {
    struct prompt_record train, serve;
    bool is_same_conversation;          /* both sides render or hold the same messages */
    struct prompt_comparison comparison;
    /* Over the rows of the training data (0 … 1, NAN unknown): */
    double system_share;                /* rows with a system turn */
    double system_constant_share;       /* rows with the most frequent system text */
    const char *system_text;            /* that text */
    enum marker_family rows_family;     /* markers standing in the rows' own text, FAMILY_NONE */
    int64_t n_rows, n_seen;             /* rows of the file (NONE: not known), rows looked at */
    bool rows_are_templated;            /* they have turns, which a template renders */
    const struct dataset *dataset;      /* whose rows, or NULL */
    /* The system turn that serving sends, when no prompt of it can be made: 1, 0, -1 not known. */
    int request_has_system;
    const char *request_system;         /* its text, or NULL */
    /* Templates of the two sides, known without rendering: FAMILY_NONE when not. */
    enum marker_family train_template, serve_template;
    const struct source *bare_serve;    /* the served tokenizer that has no template, or NULL */
};

/* Made once for the facts; never NULL unless memory ran out (run_facts_status). */
const struct prompt_pair *facts_prompt_pair(const struct run_facts *facts);

#endif
