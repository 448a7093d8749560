/* One pass over a tokenizer.json by brackets and strings: files of 30 MB are counted, not parsed.
 *
 * Depth 1 are the members of the document, depth 2 those of "model" and the elements of
 * "added_tokens", depth 3 the entries of model.vocab. */
#include "importers/model/vocab_scan.h"

#include <string.h>

#include "core/read/source.h"

#define KEY_BYTES    64
#define OBJECT_BYTES ((size_t)64 << 10)

enum place { IN_OTHER, IN_MODEL, IN_ADDED };

struct scan {
    struct vocab_facts *facts;
    int depth;
    bool in_string, is_escaped;
    char text[KEY_BYTES]; /* of the last string */
    size_t n_text;
    enum place place; /* which member of the document */
    bool in_vocab, vocab_is_list;
    int64_t number;    /* id being read in the vocabulary, or NONE */
    struct buf object; /* of an added token */
    bool keeps;        /* bytes go to `object` */
    int (*added)(void *ctx, struct str object, struct error *err);
    void *ctx;
};

static bool text_is(const struct scan *scan, const char *word)
{
    return scan->n_text == strlen(word) && memcmp(scan->text, word, scan->n_text) == 0;
}

static void string_byte(struct scan *scan, char c)
{
    if (scan->is_escaped)
        scan->is_escaped = false;
    else if (c == '\\')
        scan->is_escaped = true;
    else if (c == '"') {
        scan->in_string = false;
        return;
    }
    if (scan->n_text < KEY_BYTES)
        scan->text[scan->n_text] = c;
    scan->n_text++;
}

static void end_number(struct scan *scan)
{
    if (scan->number > scan->facts->max_id)
        scan->facts->max_id = scan->number;
    scan->number = NONE;
}

/* A colon: the last string was a key. */
static void key_ends(struct scan *scan)
{
    if (scan->depth == 1)
        scan->place = text_is(scan, "model")          ? IN_MODEL
                      : text_is(scan, "added_tokens") ? IN_ADDED
                                                      : IN_OTHER;
    else if (scan->depth == 2 && scan->place == IN_MODEL)
        scan->in_vocab = text_is(scan, "vocab");
    else if (scan->depth == 3 && scan->in_vocab && !scan->vocab_is_list)
        scan->facts->n_entries++;
}

static void open_bracket(struct scan *scan, char c)
{
    scan->depth++;
    if (scan->depth == 3 && scan->in_vocab && scan->place == IN_MODEL) {
        scan->vocab_is_list = c == '[';
        scan->facts->n_entries = 0;
    } else if (scan->depth == 4 && scan->in_vocab && scan->vocab_is_list) {
        scan->facts->n_entries++; /* Unigram: ["token", score] */
    } else if (scan->depth == 3 && scan->place == IN_ADDED && c == '{') {
        buf_clear(&scan->object);
        scan->keeps = true;
    }
}

static int close_bracket(struct scan *scan, struct error *err)
{
    if (scan->in_vocab && scan->depth == 3) {
        end_number(scan);
        if (scan->vocab_is_list)
            scan->facts->max_id = scan->facts->n_entries - 1;
    }
    if (scan->depth == 3)
        scan->in_vocab = false;
    scan->depth--;
    if (scan->depth == 2 && scan->keeps) {
        scan->keeps = false;
        buf_putc(&scan->object, '}');
        return scan->object.failed ? OK : scan->added(scan->ctx, buf_view(&scan->object), err);
    }
    return OK;
}

static void digit(struct scan *scan, char c)
{
    if (!scan->in_vocab || scan->vocab_is_list || scan->depth != 3)
        return;
    if (scan->number == NONE)
        scan->number = 0;
    if (scan->number < INT64_C(1000000000000))
        scan->number = scan->number * 10 + (c - '0');
}

static int byte(struct scan *scan, char c, struct error *err)
{
    if (scan->in_string) {
        string_byte(scan, c);
        if (scan->keeps)
            buf_putc(&scan->object, c);
        return OK;
    }
    if (c == '{' || c == '[')
        open_bracket(scan, c);
    else if (c == '}' || c == ']') {
        int rc = close_bracket(scan, err);

        if (scan->keeps)
            buf_putc(&scan->object, c);
        return rc;
    } else if (c == '"') {
        scan->in_string = true;
        scan->n_text = 0;
    } else if (c == ':')
        key_ends(scan);
    else if (c == ',')
        end_number(scan);
    else if (c >= '0' && c <= '9')
        digit(scan, c);
    if (scan->keeps)
        buf_putc(&scan->object, c);
    return OK;
}

int vocab_scan(struct source_file *file, struct vocab_facts *out,
               int (*added)(void *ctx, struct str object, struct error *err), void *ctx,
               struct error *err)
{
    struct vocab_facts facts = {.n_entries = NONE, .max_id = NONE};
    struct scan scan = {.facts = &facts, .number = NONE, .added = added, .ctx = ctx};
    struct str chunk;
    int rc = OK;

    buf_init(&scan.object, OBJECT_BYTES);
    while (rc == OK) {
        rc = source_chunk(file, &chunk, err);
        if (rc != OK || chunk.n == 0)
            break;
        for (size_t i = 0; i < chunk.n && rc == OK; i++)
            rc = byte(&scan, chunk.p[i], err);
    }
    facts.is_cut = scan.depth > 0 || scan.in_string;
    buf_free(&scan.object);
    if (rc == OK)
        *out = facts;
    return rc;
}
