/* Between the files that make core/facts/completions.h; for nobody else. */
#ifndef CORE_FACTS_COMPLETIONS_PARTS_H
#define CORE_FACTS_COMPLETIONS_PARTS_H

#include "core/facts/completions.h"

struct completion_fact {            /* a row */
    int64_t step;
    uint64_t prompt;                /* hash; 0: not stated */
    uint64_t output, opening;       /* hashes; 0: too short */
    int32_t file, words;
    int64_t ord;                    /* among the rows of its file */
    double reward, accuracy, advantage; /* NaN: not stated */
};

struct completion_pass {
    const struct completion_files *files;
    const struct audit_hooks *hooks;
    struct arena *arena;            /* what is kept */
    struct completions *out;
    struct completion_fact *rows;   /* by file and ord; then by step, prompt, file, ord */
    size_t n, capacity;
    struct completion_step *steps;  /* rising; sums until completions_count_steps */
    int64_t (*counts)[COMPLETION_REWARDS + 1];  /* of each step: values of each part, of the reward */
    size_t n_steps, steps_capacity;
};

/* completions_read.c */
MUST_CHECK int completions_read_all(struct completion_pass *pass, struct error *err);

/* completions_groups.c: sorts the rows and counts by step and group. */
MUST_CHECK int completions_count_steps(struct completion_pass *pass, struct error *err);

/* A completion that is looked at for phrases. */
struct phrase_text {
    size_t row;                     /* of pass->rows */
    struct str text;
    double reward;                  /* NaN: none */
};
struct phrase_group {               /* of one prompt at one step */
    struct str prompt;
    size_t first, n;                /* texts */
    bool is_last;                   /* of the last quarter */
};
struct phrase_input {
    const struct phrase_group *groups; size_t n_groups;
    const struct phrase_text *texts;
};
/* completions_texts.c: the two quarters, what is alike in them, and their phrases. */
MUST_CHECK int completions_compare_quarters(struct completion_pass *pass, struct error *err);
/* completions_phrases.c */
MUST_CHECK int completions_find_phrases(const struct phrase_input *input, struct arena *arena,
                                        struct completions *out, struct error *err);

/* completions_store.c */
void completions_put(const struct completions *completions, struct buf *out);
bool completions_take(const char *text, struct arena *arena, struct completions *out);

/* White space parts the words; without the marks at their ends unless nothing else is left. */
bool completion_next_word(struct str *rest, struct str *word);

#endif
