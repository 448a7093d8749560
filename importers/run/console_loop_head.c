/* Finds the first word that counts epochs or steps and looks at every word before it. Sentences
 * ("saved the best model at step 100, loss 1.2") have words that no head has. */
#include "importers/run/console_loop_head.h"

#include <ctype.h>
#include <string.h>

#define MAX_HEAD 160

static const char *const COUNTERS[] = {"epoch",     "step", "global_step", "iter",
                                       "iteration", "it",   "update"};
static const char *const LEVELS[] = {"info", "debug", "warning", "warn", "error", "notice", "log",
                                     "mon",  "tue",   "wed",     "thu",  "fri",   "sat",    "sun",
                                     "jan",  "feb",   "mar",     "apr",  "may",   "jun",    "jul",
                                     "aug",  "sep",   "oct",     "nov",  "dec",   "rank",   "gpu",
                                     "utc",  "pid",   "am",      "pm",   "global", "training",
                                     "train"};
static const char *const HELD_OUT[] = {"eval", "evaluation", "val", "valid", "validation",
                                       "test", "dev"};

static bool is_one_of(struct str word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (word.n == strlen(list[i]) && str_has_ignoring_case(word, list[i])) {
            return true;
        }
    }
    return false;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* "step 12", "step: 12", "Step [12/600]": is a number behind the word? */
static bool counts(struct str after)
{
    size_t i = 0;
    while (i < after.n && i < 4 && after.p[i] != '\0' && strchr(" \t:=[(#", after.p[i])) {
        i++;
    }
    return i < after.n && isdigit((unsigned char)after.p[i]);
}

/* Where the word that counts begins; -1: nowhere near. */
static ptrdiff_t find_counter(struct str line)
{
    for (size_t i = 0; i < line.n && i < MAX_HEAD; i++) {
        size_t n = 0;
        if (i > 0 && is_word_byte(line.p[i - 1])) {
            continue;
        }
        while (i + n < line.n && is_word_byte(line.p[i + n])) {
            n++;
        }
        if (n > 0 &&
            is_one_of(str_from(line.p + i, n), COUNTERS, sizeof COUNTERS / sizeof COUNTERS[0]) &&
            counts(str_skip(line, i + n))) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

/* Without the brackets and the marks around it. */
static struct str bare(struct str word)
{
    while (word.n > 0 && !is_word_byte(word.p[0])) {
        word = str_skip(word, 1);
    }
    while (word.n > 0 && !is_word_byte(word.p[word.n - 1])) {
        word = str_first(word, word.n - 1);
    }
    return word;
}

static bool is_dividing(struct str word)
{
    return word.n > 0 && bare(word).n == 0;
}

/* "12:30:01,311", "I0302", "trainer.py:120", "__main__". */
static bool has_form_of_a_head(struct str text)
{
    bool has_digit = false;
    for (size_t i = 0; i < text.n; i++) {
        if (strchr(".:_/", text.p[i]) && text.p[i] != '\0') {
            return true;
        }
        has_digit |= isdigit((unsigned char)text.p[i]) != 0;
    }
    return has_digit;
}

/* May this word stand in a head, the next one being `next`? */
static bool may_stand(struct str word, struct str next)
{
    struct str text = bare(word);
    if (text.n == 0 || has_form_of_a_head(text) || word.p[0] == '[' || word.p[0] == '<' ||
        word.p[word.n - 1] == ']' || word.p[word.n - 1] == '>') {
        return true;
    }
    return is_one_of(text, LEVELS, sizeof LEVELS / sizeof LEVELS[0]) ||
           is_one_of(text, HELD_OUT, sizeof HELD_OUT / sizeof HELD_OUT[0]) || is_dividing(next);
}

static struct str next_word(struct str *rest)
{
    while (rest->n > 0 && (rest->p[0] == ' ' || rest->p[0] == '\t')) {
        *rest = str_skip(*rest, 1);
    }
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t') {
        n++;
    }
    struct str word = str_first(*rest, n);
    *rest = str_skip(*rest, n);
    return word;
}

/* "INFO:root:" and "train:" hold several words. */
static bool names_held_out(struct str word)
{
    struct str text = bare(word);
    return is_one_of(text, HELD_OUT, sizeof HELD_OUT / sizeof HELD_OUT[0]);
}

bool console_loop_head(struct str line, struct str *rest, bool *is_held_out)
{
    ptrdiff_t at = find_counter(line);
    *is_held_out = false;
    if (at < 0) {
        return false;
    }
    struct str head = str_first(line, (size_t)at);
    *rest = str_skip(line, (size_t)at);
    struct str word = next_word(&head);
    while (word.n > 0) {
        struct str next = next_word(&head);
        if (!may_stand(word, next)) {
            return false;
        }
        *is_held_out |= names_held_out(word);
        word = next;
    }
    return true;
}
