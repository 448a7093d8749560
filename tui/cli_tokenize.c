/* `flatline tokenize`: text to ids and back (CLI.md). With --batch a JSON object a line is answered
 * by one; without, a table for people, or with --ids the text of ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/text/tokenizer/tokenizer.h"
#include "tui/cli.h"
#include "tui/tell.h"

#define TEXT_BYTES ((size_t)256 << 20)

/* What one line after the other needs; memory is used again. */
struct tokenizing {
    struct tokenizer *tokenizer;
    struct tokenizer_scratch *scratch;
    struct arena *arena;
    struct tokens tokens;
    struct buf text, answer;
    uint32_t *ids;
    size_t n_ids, capacity;
    struct error err;
};

static void add_number(struct buf *out, uint32_t value)
{
    char digits[10];
    size_t n = sizeof digits;

    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    buf_add(out, digits + n, sizeof digits - n);
}

/* ---- --batch ---- */

static int add_id(struct tokenizing *t, double number)
{
    if (t->n_ids == t->capacity) {
        size_t capacity = t->capacity ? t->capacity * 2 : 256;
        uint32_t *ids = realloc(t->ids, capacity * sizeof *ids);

        if (!ids)
            return error_set(&t->err, E_NOMEM, "no memory for %zu ids", capacity);
        t->ids = ids;
        t->capacity = capacity;
    }
    if (!(number >= 0) || number > 4294967295.0 || number != (double)(uint32_t)number)
        return error_set(&t->err, E_PARSE, "expected ids, which are whole numbers from 0");
    t->ids[t->n_ids++] = (uint32_t)number;
    return OK;
}

static int answer_ids(struct tokenizing *t, struct str text, bool special)
{
    int rc = tokenizer_encode(t->tokenizer, t->scratch, text, special, &t->tokens, &t->err);

    if (rc != OK)
        return rc;
    buf_puts(&t->answer, "{\"ids\": [");
    for (size_t i = 0; i < t->tokens.n; i++) {
        buf_puts(&t->answer, i ? ", " : "");
        add_number(&t->answer, t->tokens.ids[i]);
    }
    buf_puts(&t->answer, "], \"offsets\": [");
    for (size_t i = 0; i < t->tokens.n; i++) {
        buf_puts(&t->answer, i ? ", [" : "[");
        add_number(&t->answer, t->tokens.begin[i]);
        buf_puts(&t->answer, ", ");
        add_number(&t->answer, t->tokens.end[i]);
        buf_putc(&t->answer, ']');
    }
    buf_puts(&t->answer, "]}\n");
    return OK;
}

static int answer_text(struct tokenizing *t, const struct json *ids, bool skip_special)
{
    int rc = OK;

    t->n_ids = 0;
    for (const struct json *id = ids->child; rc == OK && id; id = id->next)
        rc = add_id(t, id->type == JSON_NUMBER ? id->number : -1);
    buf_clear(&t->text);
    if (rc == OK)
        rc = tokenizer_decode(t->tokenizer, t->ids, t->n_ids, skip_special, &t->text, &t->err);
    if (rc != OK)
        return rc;
    buf_puts(&t->answer, "{\"text\": ");
    json_write_string(&t->answer, buf_view(&t->text));
    buf_puts(&t->answer, "}\n");
    return OK;
}

static int answer(struct tokenizing *t, struct str line)
{
    const struct json *question = NULL;
    int rc;

    arena_reset(t->arena);
    rc = json_parse_exact(line, t->arena, &question, &t->err);
    if (rc != OK)
        return rc;

    const struct json *text = json_get(question, "text"), *ids = json_get(question, "ids");

    if (json_is(text, JSON_STRING))
        return answer_ids(t, text->text, !json_is(json_get(question, "special"), JSON_FALSE));
    if (json_is(ids, JSON_ARRAY))
        return answer_text(t, ids, json_is(json_get(question, "skip_special"), JSON_TRUE));
    return error_set(&t->err, E_PARSE, "expected an object with a text or a list of ids");
}

static int batch(struct tokenizing *t)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    while ((n = getline(&line, &capacity, stdin)) > 0) {
        struct str text = str_from(line, (size_t)n);

        if (str_trim(text).n == 0)
            continue;
        buf_clear(&t->answer);
        if (answer(t, text) != OK) {
            buf_clear(&t->answer);
            buf_puts(&t->answer, "{\"error\": ");
            json_write_string(&t->answer, str_of(t->err.message));
            buf_puts(&t->answer, "}\n");
        }
        if (t->answer.failed)
            fputs("{\"error\": \"the answer is too long\"}\n", stdout);
        else
            fwrite(t->answer.p, 1, t->answer.n, stdout);
        fflush(stdout);
    }
    free(line);
    return ferror(stdin) ? 2 : 0;
}

/* ---- For people ---- */

/* Behind the token: the bytes of the text, where the vocabulary spells them in another way. */
static void add_source(struct tokenizing *t, size_t i, struct str text)
{
    struct str token = tokenizer_token(t->tokenizer, t->tokens.ids[i]);
    struct str source = str_first(str_skip(text, t->tokens.begin[i]),
                                  t->tokens.end[i] - t->tokens.begin[i]);

    if (source.n == 0 || str_eq(source, token))
        return;
    buf_puts(&t->answer, "  \"");
    unicode_visible(&t->answer, source, false);
    buf_puts(&t->answer, "\"");
}

static int show(struct tokenizing *t, struct str text)
{
    if (tokenizer_encode(t->tokenizer, t->scratch, text, true, &t->tokens, &t->err) != OK) {
        cli_complain(&t->err);
        return 2;
    }
    printf("%8s  %-13s  %s\n", "id", "bytes",
           "token, and the text it stands for where it is spelt otherwise");
    for (size_t i = 0; i < t->tokens.n; i++) {
        char bytes[32] = "-";
        uint32_t id = t->tokens.ids[i];

        if (t->tokens.begin[i] != t->tokens.end[i])
            snprintf(bytes, sizeof bytes, "%u-%u", (unsigned)t->tokens.begin[i],
                     (unsigned)t->tokens.end[i]);
        buf_clear(&t->answer);
        unicode_visible(&t->answer, tokenizer_token(t->tokenizer, id), false);
        add_source(t, i, text);
        printf("%8u  %-13s  %s%s\n", (unsigned)id, bytes, t->answer.p,
               tokenizer_is_special(t->tokenizer, id) ? "  (special)" : "");
    }
    printf("%zu tokens, %zu bytes, %s\n", t->tokens.n, text.n, tokenizer_about(t->tokenizer));
    return 0;
}

static int show_text(struct tokenizing *t, struct str words)
{
    for (struct str word; words.n && str_split(&words, ' ', &word);) {
        double number;

        word = str_trim(word);
        while (word.n && (word.p[word.n - 1] == ',' || word.p[word.n - 1] == ']'))
            word.n--;
        if (word.n && word.p[0] == '[')
            word = str_skip(word, 1);
        if (word.n && (!number_parse(word, &number) || add_id(t, number) != OK)) {
            tell("--ids: expected ids, which are whole numbers from 0");
            return 2;
        }
    }
    if (tokenizer_decode(t->tokenizer, t->ids, t->n_ids, false, &t->text, &t->err) != OK) {
        cli_complain(&t->err);
        return 2;
    }
    unicode_visible(&t->answer, buf_view(&t->text), true);
    printf("%s\n", t->answer.p);
    return 0;
}

/* The words of the command line, or standard input. */
static bool take_text(struct buf *out, const struct options *options)
{
    char piece[4096];
    size_t n;

    for (size_t i = 0; i < options->n_paths; i++) {
        buf_puts(out, i ? " " : "");
        buf_puts(out, options->paths[i]);
    }
    while (options->n_paths == 0 && (n = fread(piece, 1, sizeof piece, stdin)) > 0)
        buf_add(out, piece, n);
    if (out->failed || ferror(stdin))
        tell("standard input: %s", out->failed ? "too long" : "cannot be read");
    return !out->failed && !ferror(stdin);
}

static int work(struct tokenizing *t, const struct options *options)
{
    struct buf given;
    int status = 2;

    if (options->batch)
        return batch(t);
    buf_init(&given, TEXT_BYTES);
    if (take_text(&given, options))
        status = options->ids ? show_text(t, buf_view(&given)) : show(t, buf_view(&given));
    buf_free(&given);
    return status;
}

int cli_tokenize(const struct options *options)
{
    struct tokenizing t = {0};
    int status = 2;

    if (!options->tokenizer) {
        tell("tokenize: --tokenizer FILE is missing; see flatline tokenize --help");
        return 2;
    }
    if (options->batch && options->n_paths) {
        tell("tokenize --batch reads standard input and takes no text");
        return 2;
    }
    buf_init(&t.text, TEXT_BYTES);
    buf_init(&t.answer, 4 * TEXT_BYTES);
    t.arena = arena_open(TEXT_BYTES);
    if (!t.arena)
        tell("out of memory");
    else if (tokenizer_load(&t.tokenizer, options->tokenizer, NULL, &t.err) != OK ||
             tokenizer_scratch_open(&t.scratch, &t.err) != OK)
        cli_complain(&t.err);
    else
        status = work(&t, options);
    tokenizer_scratch_close(t.scratch);
    tokenizer_close(t.tokenizer);
    tokens_free(&t.tokens);
    free(t.ids);
    buf_free(&t.text);
    buf_free(&t.answer);
    arena_close(t.arena);
    return tell_end(status);
}
