/* Which side a data file is on, by the words of its name. */
#include "importers/split_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct split_word {
    const char *word, *split;
};

static const struct split_word WORDS[] = {
    {"test", "test"}, {"tests", "test"},      {"testing", "test"}, {"heldout", "test"},
    {"eval", "eval"}, {"evaluation", "eval"}, {"valid", "eval"},   {"validation", "eval"},
    {"val", "eval"},  {"dev", "eval"},        {"train", "train"},  {"training", "train"},
};

static const char *split_of_word(const char *text, size_t n)
{
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++)
        if (strlen(WORDS[k].word) == n && strncasecmp(WORDS[k].word, text, n) == 0)
            return WORDS[k].split;
    return NULL;
}

static const char *split_of_words(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t begin = i;

        while (i < n && isalpha((unsigned char)text[i]))
            i++;
        if (split_of_word(text + begin, i - begin))
            return split_of_word(text + begin, i - begin);
        i += i == begin;
    }
    return NULL;
}

const char *split_by_name(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *split = split_of_words(name ? name + 1 : path, strlen(name ? name + 1 : path));

    if (split || !name)
        return split ? split : "train";
    const char *folder = name;
    while (folder > path && folder[-1] != '/')
        folder--;
    /* The whole name: a run called "qwen-test-3" holds training rows. */
    split = split_of_word(folder, (size_t)(name - folder));
    return split ? split : "train";
}
