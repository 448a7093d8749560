/* What the files of core/facts/prompt*.c share; for them only. */
#ifndef CORE_FACTS_PROMPT_PAIR_PARTS_H
#define CORE_FACTS_PROMPT_PAIR_PARTS_H

#include "core/facts/prompt_pair.h"
#include "core/read/json.h"

#define PROMPT_FILE_BYTES ((size_t)4 << 20)     /* of one recorded prompt */

struct prompt_maker {
    const struct run_facts *facts;
    struct arena *arena;                /* of the facts: what the pair borrows */
    struct prompt_pair *pair;
    const struct json *request;         /* body of the captured request, or NULL */
    const struct source *request_source;
    /* Of the training data (prompt_rows.c); NULL or 0: none. */
    const struct dataset *dataset;
    const struct json *messages, *tools;    /* of the row that stands for all */
    int64_t messages_row;
    struct str row_text;                /* of a row that holds its text itself */
    int64_t text_row;
};

/* ---- prompt_sources.c: where the templates and prompts lie ---- */

/* The newest rendered prompt of a side, or NULL. */
const struct source *prompt_recorded(const struct run_facts *facts, enum side side);
const struct source *prompt_request(const struct run_facts *facts);
/* The template of a side. */
struct template_place {
    const struct source *source;        /* NULL: none is known */
    const char *path;                   /* file or folder to load; NULL when `text` is set */
    const char *folder;                 /* whose tokenizer files go with it */
    struct str text;                    /* stated itself, by a request or a serving record */
    const char *about;                  /* "serve/chat_template.jinja" */
    const struct source *bare;          /* a tokenizer of that side without any template, or NULL */
    enum marker_family named;           /* a built-in one that is only named: its family */
};
void prompt_template_of(const struct prompt_maker *maker, enum side side,
                        struct template_place *out);

/* ---- prompt_rows.c: what the training rows hold ---- */

void prompt_read_rows(struct prompt_maker *maker);

/* ---- prompt_ids.c ---- */

/* Ids of both texts, where both are there and a tokenizer can be loaded. */
void prompt_tokenise(struct prompt_maker *maker, const struct template_place *serve);

/* ---- prompt_render.c: the sides that have to be rendered ---- */

void prompt_render_sides(struct prompt_maker *maker);

#endif
