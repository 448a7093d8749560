/* Post-processors: special tokens around the text, and offsets without blanks. See pipeline.h;
 * their settings are read in post_read.c. The library makes a list of encodings that each processor
 * takes and gives; here they are runs of one list of tokens. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/pipeline.h"

#define RUNS 64

struct run {
    size_t begin, n;
};

struct posting {
    struct encoding *encoding;
    struct tokens *list, *next; /* what is there, and where it is rebuilt */
    struct blank_list *blanks, *next_blanks;
    bool trims;
    struct run runs[RUNS];
    size_t n_runs;
};

/* ---- Trimming ---- */

static uint32_t forward(struct str text, uint32_t at, uint32_t n_chars, uint32_t end)
{
    int32_t c;

    while (n_chars-- > 0 && at < end)
        at += (uint32_t)unicode_next(str_skip(text, at), &c);
    return at < end ? at : end;
}

/* n_chars back from `at`, not before `begin`; the text may not have so many. */
static uint32_t back(struct str text, uint32_t at, uint32_t n_chars, uint32_t begin)
{
    uint32_t to = at;

    for (uint32_t i = 0; i < n_chars; i++) {
        int32_t c;
        uint32_t before = to;

        if (to == 0)
            return at;
        do
            to--;
        while (to > 0 && before - to < 4 && ((unsigned char)text.p[to] & 0xC0) == 0x80);
        if (to + unicode_next(str_skip(text, to), &c) != before)
            to = before - 1;
    }
    return to > begin ? to : begin;
}

static void trim(const struct posting *posting, const struct post *post)
{
    struct str text = posting->encoding->text;
    struct tokens *list = posting->list;

    for (size_t r = 0; r < posting->n_runs; r++)
        for (size_t i = 0; i < posting->runs[r].n; i++) {
            size_t k = posting->runs[r].begin + i;
            struct token_blanks blanks = posting->blanks->items[k];

            if (blanks.leading == 1 && post->add_prefix_space && (i == 0 || list->begin[k] == 0))
                blanks.leading = 0;
            if (blanks.leading)
                list->begin[k] = forward(text, list->begin[k], blanks.leading, list->end[k]);
            if (blanks.trailing)
                list->end[k] = back(text, list->end[k], blanks.trailing, list->begin[k]);
        }
}

/* ---- Rebuilding the list ---- */

struct rebuild {
    struct posting *posting;
    struct run runs[RUNS];
    size_t n_runs;
};

static int begin_run(struct rebuild *rebuild)
{
    if (rebuild->n_runs == RUNS)
        return error_set(rebuild->posting->encoding->err, E_LIMIT,
                         "post-processors that make more than %d parts", RUNS);
    rebuild->runs[rebuild->n_runs++] = (struct run){rebuild->posting->next->n, 0};
    return OK;
}

static int end_run(struct rebuild *rebuild)
{
    struct run *run = &rebuild->runs[rebuild->n_runs - 1];

    run->n = rebuild->posting->next->n - run->begin;
    return OK;
}

static int put_special(struct rebuild *rebuild, const struct post_piece *piece)
{
    struct posting *posting = rebuild->posting;
    struct error *err = posting->encoding->err;
    int rc = posting->trims ? blank_list_add(posting->next_blanks, piece->n, err) : OK;

    for (size_t i = 0; rc == OK && i < piece->n; i++)
        rc = tokens_push(posting->next, piece->ids[i], 0, 0, err);
    return rc;
}

static int put_run(struct rebuild *rebuild, struct run run)
{
    struct posting *posting = rebuild->posting;
    struct tokens *next = posting->next;
    const struct tokens *list = posting->list;
    struct error *err = posting->encoding->err;
    int rc = tokens_reserve(next, run.n, err);

    if (rc == OK && posting->trims)
        rc = blank_list_add(posting->next_blanks, run.n, err);
    if (rc != OK || run.n == 0)
        return rc;
    if (posting->trims)
        memcpy(posting->next_blanks->items + next->n, posting->blanks->items + run.begin,
               run.n * sizeof *posting->blanks->items);
    memcpy(next->ids + next->n, list->ids + run.begin, run.n * sizeof *next->ids);
    memcpy(next->begin + next->n, list->begin + run.begin, run.n * sizeof *next->begin);
    memcpy(next->end + next->n, list->end + run.begin, run.n * sizeof *next->end);
    next->n += run.n;
    return OK;
}

static void swap(struct rebuild *rebuild)
{
    struct posting *posting = rebuild->posting;
    struct tokens *list = posting->list;

    struct blank_list *blanks = posting->blanks;

    posting->list = posting->next;
    posting->next = list;
    posting->blanks = posting->next_blanks;
    posting->next_blanks = blanks;
    memcpy(posting->runs, rebuild->runs, sizeof posting->runs);
    posting->n_runs = rebuild->n_runs;
}

static int apply_template(struct posting *posting, const struct post *post, bool add_special)
{
    struct rebuild rebuild = {.posting = posting};
    const struct post_template *template = posting->n_runs == 1 ? &post->single : &post->pair;
    int rc = OK;

    if (posting->n_runs == 0 || posting->n_runs > 2)
        return error_set(posting->encoding->err, E_UNSUPPORTED,
                         "TemplateProcessing after a post-processor that made %zu parts",
                         posting->n_runs);
    posting->next->n = posting->next_blanks->n = 0;
    for (size_t i = 0; rc == OK && i < template->n; i++) {
        const struct post_piece *piece = &template->pieces[i];

        if (!piece->is_text && !add_special)
            continue;
        if (piece->is_text && piece->is_second && posting->n_runs < 2)
            return error_set(posting->encoding->err, E_UNSUPPORTED,
                             "TemplateProcessing with $B for one text");
        rc = begin_run(&rebuild);
        if (rc == OK)
            rc = piece->is_text ? put_run(&rebuild, posting->runs[piece->is_second])
                                : put_special(&rebuild, piece);
        if (rc == OK)
            rc = end_run(&rebuild);
    }
    if (rc == OK)
        swap(&rebuild);
    return rc;
}

static int apply_pair(struct posting *posting, const struct post *post)
{
    struct rebuild rebuild = {.posting = posting};
    int rc = OK;

    posting->next->n = posting->next_blanks->n = 0;
    for (size_t i = 0; rc == OK && i < posting->n_runs; i++) {
        rc = begin_run(&rebuild);
        if (rc == OK && i == 0)
            rc = put_special(&rebuild, &post->first);
        if (rc == OK && i > 0 && post->doubles_last)
            rc = put_special(&rebuild, &post->last);
        if (rc == OK)
            rc = put_run(&rebuild, posting->runs[i]);
        if (rc == OK)
            rc = put_special(&rebuild, &post->last);
        if (rc == OK)
            rc = end_run(&rebuild);
    }
    if (rc == OK)
        swap(&rebuild);
    return rc;
}

int blank_list_add(struct blank_list *list, size_t n, struct error *err)
{
    size_t wanted = list->n + n, capacity = list->capacity ? list->capacity : 64;

    while (capacity < wanted)
        capacity *= 2;
    if (capacity > list->capacity) {
        struct token_blanks *items = realloc(list->items, capacity * sizeof *items);

        if (!items)
            return error_set(err, E_NOMEM, "no memory for the blanks of %zu tokens", capacity);
        list->items = items;
        list->capacity = capacity;
    }
    if (n)
        memset(list->items + list->n, 0, n * sizeof *list->items);
    list->n = wanted;
    return OK;
}

int post_process(struct encoding *encoding, bool add_special)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;
    struct posting posting = {.encoding = encoding,
                              .list = encoding->out,
                              .next = &encoding->scratch->order,
                              .blanks = &encoding->scratch->blanks,
                              .next_blanks = &encoding->scratch->order_blanks,
                              .trims = tokenizer->trims_offsets,
                              .runs = {{0, encoding->out->n}},
                              .n_runs = 1};
    int rc = OK;

    for (size_t i = 0; rc == OK && i < tokenizer->n_posts; i++) {
        const struct post *post = &tokenizer->posts[i];

        if (post->trims)
            trim(&posting, post);
        if (post->kind == POST_TEMPLATE)
            rc = apply_template(&posting, post, add_special);
        else if (post->kind == POST_PAIR && add_special)
            rc = apply_pair(&posting, post);
    }
    if (rc == OK && posting.list != encoding->out) {
        struct tokens given = *encoding->out;

        *encoding->out = *posting.list;
        *posting.list = given;
    }
    return rc;
}
