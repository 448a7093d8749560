/* What a program wrote, compared with what was accepted before. See golden.h. */
#include "tests/harness/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GOLDEN_FOLDER "tests/unit/data/"
#define GOLDEN_BYTES  ((size_t)4 << 20)

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text;
    size_t n;

    if (!file)
        return NULL;
    text = malloc(GOLDEN_BYTES + 1);
    n = text ? fread(text, 1, GOLDEN_BYTES, file) : 0;
    fclose(file);
    if (text)
        text[n] = '\0';
    return text;
}

static void accept(const char *path, const char *text)
{
    char folder[512];
    char *slash;
    FILE *file;

    snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        mkdir(folder, 0777);
    }
    file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        fail_msg("%s: cannot be written", path);
}

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

/* Says where the two part, with both lines. */
static void fail_at_difference(const char *path, const char *expected, const char *found)
{
    int line = 1;

    while (*expected && *found && line_length(expected) == line_length(found) &&
           strncmp(expected, found, line_length(found)) == 0 &&
           expected[line_length(found)] && found[line_length(found)]) {
        expected += line_length(expected) + 1;
        found += line_length(found) + 1;
        line++;
    }
    fail_msg("%s:%d: expected\n%.*s\nfound\n%.*s\n(GOLDEN=accept takes the new text)", path, line,
             (int)line_length(expected), expected, (int)line_length(found), found);
}

void golden_compare(const char *name, const char *text)
{
    const char *mode = getenv("GOLDEN");
    char path[512];
    char *expected;

    snprintf(path, sizeof path, GOLDEN_FOLDER "%s", name);
    if (mode && strcmp(mode, "accept") == 0) {
        accept(path, text);
        return;
    }
    expected = read_all(path);
    if (!expected)
        fail_msg("%s: no such file; GOLDEN=accept makes it", path);
    if (strcmp(expected, text) != 0)
        fail_at_difference(path, expected, text);
    free(expected);
}
