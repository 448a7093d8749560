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
    struct str plain_text;              /* of a row of prompt and answer without any markers */
    int64_t plain_row;
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
    bool is_go;                         /* `text` is an Ollama TEMPLATE */
    bool is_near;                       /* only the family of it is served, not the template itself */
    const char *unknown;                /* why what is served cannot be rendered; what to import */
};
void prompt_template_of(const struct prompt_maker *maker, enum side side,
                        struct template_place *out);

/* What the two files of templates share. */
bool prompt_is_importer(const struct source *source, const char *id);
const char *prompt_name_of(const char *path);
/* 1 the file holds a template, 0 it says that there is none, -1 it does not say. */
int prompt_states_template(const struct run_facts *facts, const struct source *source);
void prompt_take(const struct prompt_maker *maker, const struct source *source,
                 struct template_place *out);
/* The template of the first file of that role that has one; one in a checkpoint only when none is
 * outside. */
bool prompt_find_by_role(const struct prompt_maker *maker, const char *role,
                         struct template_place *out);
/* The template of the folder that a record names. True as well for one without (`bare`). */
bool prompt_find_by_name(const struct prompt_maker *maker, const char *value,
                         struct template_place *out);

/* ---- prompt_serving.c: which template a server uses ---- */

void prompt_template_of_serving(const struct prompt_maker *maker, struct template_place *out);

/* ---- prompt_ollama.c: Ollama's own templates ---- */

/* The prompt that Ollama builds of the messages by a place that is_go. False: record->failure says why. */
bool prompt_by_ollama(const struct prompt_maker *maker, const struct template_place *place,
                      const struct json *messages, const struct json *tools,
                      struct prompt_record *record);

/* ---- prompt_rows.c: what the training rows hold ---- */

void prompt_read_rows(struct prompt_maker *maker);

/* ---- prompt_ids.c ---- */

/* Ids of both texts, where both are there and a tokenizer can be loaded. */
void prompt_tokenise(struct prompt_maker *maker, const struct template_place *serve);

/* ---- prompt_render.c: the sides that have to be rendered ---- */

void prompt_render_sides(struct prompt_maker *maker);

#endif
