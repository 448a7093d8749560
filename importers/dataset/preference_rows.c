/* Facts of preference rows. See preference_rows.h. An answer may be a text, one message, or messages: of
 * those the turns behind the last user turn are the answer, since chosen and rejected then share their
 * prompt. Words are runs without blanks, or one character of a script that writes none. */
#include "importers/dataset/preference_rows.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/base/hash.h"
#include "core/base/number.h"

/* ---- Answers ---- */

struct side_text {
    bool is_there;
    int64_t words;
    uint64_t hash;
};

static void add_text(struct side_text *answer, struct str text)
{
    bool in_word = false;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_alone = c >= 0xE3, is_letter = c > ' ' && !is_alone;

        answer->words += is_alone || (is_letter && !in_word && (c & 0xC0) != 0x80);
        in_word = is_letter || (in_word && (c & 0xC0) == 0x80);
        if (is_alone)
            in_word = false;
        while (is_alone && i + 1 < text.n && ((unsigned char)text.p[i + 1] & 0xC0) == 0x80)
            i++;
    }
    answer->hash = hash_more(answer->hash, text.p, text.n);
    answer->is_there = true;
}

static bool is_user(const struct json *message)
{
    const struct json *role = json_get(message, "role");

    role = role ? role : json_get(message, "from");
    return json_is(role, JSON_STRING) && (str_is_ignoring_case(role->text, "user") ||
                                          str_is_ignoring_case(role->text, "human") ||
                                          str_is_ignoring_case(role->text, "system"));
}

static void add_message(struct side_text *answer, const struct json *message)
{
    static const char *const KEYS[] = {"content", "value", "text"};
    const struct json *content = json_is(message, JSON_OBJECT) ? NULL : message;

    for (size_t i = 0; !content && i < sizeof KEYS / sizeof *KEYS; i++)
        content = json_get(message, KEYS[i]);
    if (json_is(content, JSON_STRING))
        add_text(answer, content->text);
    for (const struct json *part = json_is(content, JSON_ARRAY) ? content->child : NULL; part;
         part = part->next) {
        const struct json *text = json_is(part, JSON_OBJECT) ? json_get(part, "text") : part;
        if (json_is(text, JSON_STRING))
            add_text(answer, text->text);
    }
}

/* Dialogues as one text keep their prompt in it: what follows the last "Assistant:" is the answer. */
static struct str behind_prompt(struct str text, bool has_prompt)
{
    static const char MARK[] = "\n\nAssistant:";
    ptrdiff_t at;

    while (!has_prompt && (at = str_find(text, MARK)) >= 0)
        text = str_skip(text, (size_t)at + sizeof MARK - 1);
    return text;
}

static struct side_text answer_of_tree(const struct json *value, bool has_prompt)
{
    struct side_text answer = {0};
    const struct json *from = json_is(value, JSON_ARRAY) ? value->child : NULL;

    if (json_is(value, JSON_STRING)) {
        add_text(&answer, behind_prompt(value->text, has_prompt));
        return answer;
    }
    if (json_is(value, JSON_OBJECT))
        add_message(&answer, value);
    for (const struct json *m = from; m; m = m->next)
        if (is_user(m))
            from = m->next;
    for (; from; from = from->next)
        add_message(&answer, from);
    return answer;
}

/* ---- Numbers of a row ---- */

static void run_on(struct running *running, double x, int64_t n)
{
    double d = x - running->mean;

    running->mean += d / (double)n;
    running->m2 += d * (x - running->mean);
}

static void see_answers(struct preference_rows *rows, const struct side_text *chosen,
                        const struct side_text *rejected)
{
    if (!chosen->is_there || !rejected->is_there)
        return;
    rows->n++;
    rows->n_longer += chosen->words > rejected->words;
    rows->n_shorter += chosen->words < rejected->words;
    rows->n_equal += chosen->words == rejected->words && chosen->hash == rejected->hash;
    run_on(&rows->chosen, (double)chosen->words, rows->n);
    run_on(&rows->rejected, (double)rejected->words, rows->n);
}

static void see_scores(struct preference_rows *rows, double chosen, double rejected, int64_t line,
                       int64_t number)
{
    if (!isfinite(chosen) || !isfinite(rejected))
        return;
    rows->n_scored++;
    if (chosen >= rejected)
        return;
    if (rows->n_contradicting < PREFERENCE_ROWS_KEPT)
        rows->kept[rows->n_contradicting] =
            (struct preference_odd_row){line, number, chosen, rejected};
    rows->n_contradicting++;
}

static bool holds(struct str text, const char *word, size_t *at)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.n; i++)
        if (strncasecmp(text.p + i, word, n) == 0) {
            *at = i;
            return true;
        }
    return false;
}

/* score_chosen, chosen-rating, chosen_avg_rating …: the name of the other side's, or false. */
static bool is_score_name(struct str key, char other[PREFERENCE_KEY_BYTES])
{
    static const char *const WORDS[] = {"score", "rating", "reward", "grade", "points", "quality"};
    size_t at = 0, word_at = 0;
    bool has_word = false;

    if (key.n + 2 >= PREFERENCE_KEY_BYTES || key.n <= 6 || !holds(key, "chosen", &at))
        return false;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS && !has_word; i++)
        has_word = holds(key, WORDS[i], &word_at);
    if (!has_word)
        return false;
    memcpy(other, key.p, at);
    memcpy(other + at, "rejected", 8);
    memcpy(other + at + 8, key.p + at + 6, key.n - at - 6);
    other[key.n + 2] = '\0';
    return true;
}

static void keep_key(struct preference_rows *rows, struct str key)
{
    if (rows->score[0] || key.n >= sizeof rows->score)
        return;
    memcpy(rows->score, key.p, key.n);
    rows->score[key.n] = '\0';
}

/* ---- Trees ---- */

static double number_of(const struct json *value)
{
    double number = NAN;

    if (json_is(value, JSON_NUMBER))
        return value->number;
    if (json_is(value, JSON_STRING) && number_parse(str_trim(value->text), &number))
        return number;
    return NAN;
}

static const struct json *first_list(const struct json *row, const char *const *names)
{
    const struct json *value = NULL;

    for (; *names && !json_is(value, JSON_ARRAY); names++)
        value = json_get(row, *names);
    return json_is(value, JSON_ARRAY) ? value : NULL;
}

/* A list of answers with a list of ratings: the two whose texts are chosen and rejected. */
static bool listed_scores(const struct json *row, const struct side_text *chosen,
                          const struct side_text *rejected, double scores[2])
{
    static const char *const RATINGS[] = {"rating", "ratings", "scores", "score", NULL},
                      *const TEXTS[] = {"generations", "responses", "completions", "answers",
                                        "outputs", NULL};
    const struct json *rating = first_list(row, RATINGS), *texts = first_list(row, TEXTS);

    scores[0] = scores[1] = NAN;
    if (!rating || !texts || rating->n != texts->n)
        return false;
    const struct json *r = rating->child;
    for (const struct json *t = texts->child; t && r; t = t->next, r = r->next) {
        struct side_text own = answer_of_tree(t, true);

        if (own.is_there && own.hash == chosen->hash && !isfinite(scores[0]))
            scores[0] = number_of(r);
        else if (own.is_there && own.hash == rejected->hash)
            scores[1] = number_of(r);
    }
    return isfinite(scores[0]) && isfinite(scores[1]);
}

static void see_label(struct preference_rows *rows, const struct json *tree)
{
    const struct json *label = json_get(tree, "label");

    if (!json_is(label, JSON_TRUE) && !json_is(label, JSON_FALSE))
        return;
    rows->n_labels++;
    rows->n_true += label->type == JSON_TRUE;
}

static void see_tree(struct preference_rows *rows, const struct json *tree, int64_t line,
                     int64_t number)
{
    const struct json *chosen = json_get(tree, "chosen"), *rejected = json_get(tree, "rejected");
    char other[PREFERENCE_KEY_BYTES];
    double scores[2];

    if (!chosen || !rejected) {
        if (json_get(tree, "completion"))
            see_label(rows, tree);
        return;
    }
    bool has_prompt = json_get(tree, "prompt") || json_get(tree, "question") ||
                      json_get(tree, "instruction");
    struct side_text a = answer_of_tree(chosen, has_prompt), b = answer_of_tree(rejected, has_prompt);
    see_answers(rows, &a, &b);
    bool is_equal = a.words == b.words && a.hash == b.hash; /* says nothing of the columns */
    for (const struct json *m = is_equal ? NULL : tree->child; m; m = m->next)
        if (is_score_name(m->key, other) && isfinite(number_of(m)) &&
            isfinite(number_of(json_get(tree, other)))) {
            keep_key(rows, m->key);
            see_scores(rows, number_of(m), number_of(json_get(tree, other)), line, number);
            return;
        }
    if (!is_equal && listed_scores(tree, &a, &b, scores)) {
        keep_key(rows, str_of("rating"));
        see_scores(rows, scores[0], scores[1], line, number);
    }
}

/* ---- Flat rows and cells ---- */

enum { MAX_FLAT = 64 };

static ptrdiff_t find(const struct str *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(names[i], name))
            return (ptrdiff_t)i;
    return -1;
}

static void see_flat_label(struct preference_rows *rows, struct str label)
{
    bool is_true = str_is_ignoring_case(label, "true"),
         is_false = str_is_ignoring_case(label, "false");

    rows->n_labels += is_true || is_false;
    rows->n_true += is_true;
}

void preference_rows_cells(struct preference_rows *rows, const struct str *names,
                           const struct str *cells, size_t n, int64_t line, int64_t number)
{
    ptrdiff_t chosen = find(names, n, "chosen"), rejected = find(names, n, "rejected");
    char other[PREFERENCE_KEY_BYTES];
    struct side_text a = {0}, b = {0};

    if (chosen < 0 || rejected < 0) {
        ptrdiff_t label = find(names, n, "label");
        if (label >= 0 && find(names, n, "completion") >= 0)
            see_flat_label(rows, cells[label]);
        return;
    }
    bool has_prompt = find(names, n, "prompt") >= 0 || find(names, n, "question") >= 0 ||
                      find(names, n, "instruction") >= 0;
    if (cells[chosen].p)
        add_text(&a, behind_prompt(cells[chosen], has_prompt));
    if (cells[rejected].p)
        add_text(&b, behind_prompt(cells[rejected], has_prompt));
    see_answers(rows, &a, &b);
    for (size_t i = 0; i < n && !(a.words == b.words && a.hash == b.hash); i++) {
        double score = NAN, against = NAN;
        ptrdiff_t at = is_score_name(names[i], other) ? find(names, n, other) : -1;

        if (at < 0 || !cells[i].p || !cells[at].p || !number_parse(str_trim(cells[i]), &score) ||
            !number_parse(str_trim(cells[at]), &against))
            continue;
        keep_key(rows, names[i]);
        see_scores(rows, score, against, line, number);
        return;
    }
}

void preference_rows_row(struct preference_rows *rows, const struct json_row *row, int64_t number)
{
    struct str names[MAX_FLAT], texts[MAX_FLAT];
    size_t n = row->n < MAX_FLAT ? row->n : MAX_FLAT;

    if (row->tree) {
        see_tree(rows, row->tree, row->line, number);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_null = !row->fields[i].is_quoted && str_is(row->fields[i].text, "null");
        names[i] = row->fields[i].key;
        texts[i] = row->fields[i].text;
        if (is_null)
            texts[i] = (struct str){0};
    }
    preference_rows_cells(rows, names, texts, n, row->line, number);
}

/* ---- What is kept ---- */

static double deviation(const struct running *running, int64_t n)
{
    return n > 1 ? sqrt(running->m2 / (double)(n - 1)) : 0.0;
}

static void write_kept(struct buf *out, const struct preference_rows *rows)
{
    int64_t n = rows->n_contradicting < PREFERENCE_ROWS_KEPT ? rows->n_contradicting
                                                             : PREFERENCE_ROWS_KEPT;

    buf_puts(out, ",\"rows\":[");
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, "%s[%lld,%lld,%.17g,%.17g]", i ? "," : "", (long long)rows->kept[i].line,
                   (long long)rows->kept[i].row, rows->kept[i].chosen, rows->kept[i].rejected);
    buf_putc(out, ']');
}

int preference_rows_put(const struct preference_rows *rows, struct import *import,
                        struct error *err)
{
    struct buf out;

    if (rows->n == 0 && rows->n_labels == 0)
        return OK;
    buf_init(&out, 1 << 14);
    buf_printf(&out, "{\"pairs\":%lld,\"longer\":%lld,\"shorter\":%lld,\"equal\":%lld",
               (long long)rows->n, (long long)rows->n_longer, (long long)rows->n_shorter,
               (long long)rows->n_equal);
    buf_printf(&out, ",\"mean_chosen\":%.17g,\"mean_rejected\":%.17g", rows->chosen.mean,
               rows->rejected.mean);
    buf_printf(&out, ",\"sd_chosen\":%.17g,\"sd_rejected\":%.17g",
               deviation(&rows->chosen, rows->n), deviation(&rows->rejected, rows->n));
    buf_printf(&out, ",\"scored\":%lld,\"contradicting\":%lld", (long long)rows->n_scored,
               (long long)rows->n_contradicting);
    if (rows->score[0]) {
        const struct json key = {.type = JSON_STRING, .text = str_of(rows->score)};
        buf_puts(&out, ",\"score\":");
        json_write(&out, &key);
    }
    write_kept(&out, rows);
    if (rows->n_labels)
        buf_printf(&out, ",\"labels\":%lld,\"true\":%lld", (long long)rows->n_labels,
                   (long long)rows->n_true);
    buf_putc(&out, '}');
    int rc = out.failed ? error_set(err, E_NOMEM, "no memory for the pairs of a data set")
                        : import_setting(import, SIDE_TRAIN, "rows.preference", out.p, VALUE_OBJECT,
                                         NONE, err);
    buf_free(&out);
    return rc;
}
