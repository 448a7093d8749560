/* A text through one importer, and what has to stand in the dump of the sink. */
#include "tests/harness/dumped.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/importing.h"
#include "tests/harness/tempdir.h"

static char *folder;
static struct buf dump;

int dumped_set_up(void **state)
{
    (void)state;
    folder = tempdir_make();
    buf_init(&dump, (size_t)64 << 20);
    return 0;
}

int dumped_tear_down(void **state)
{
    (void)state;
    buf_free(&dump);
    tempdir_remove(folder);
    return 0;
}

void dumped_read(const struct importer *importer, const char *name, const void *bytes, size_t n)
{
    struct error err = {0};

    tempdir_write(folder, name, bytes, n);
    buf_clear(&dump);
    if (importing_dump(importer, folder, tempdir_path(folder, name), &dump, &err) != OK)
        fail_msg("%s: %s", name, err.message);
}

void dumped_read_text(const struct importer *importer, const char *name, const char *text)
{
    dumped_read(importer, name, text, strlen(text));
}

const char *dumped_text(void)
{
    return dump.p;
}

void dumped_has(const char *part)
{
    if (!strstr(dump.p, part))
        fail_msg("missing %s in\n%s", part, dump.p);
}

void dumped_has_not(const char *part)
{
    if (strstr(dump.p, part))
        fail_msg("unexpected %s in\n%s", part, dump.p);
}

size_t dumped_count(const char *part)
{
    size_t n = 0;

    for (const char *p = dump.p; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

int dumped_probe(const struct importer *importer, const char *name, const char *text)
{
    struct str head = str_of(text);
    struct peek peek = {.path = name, .name = name, .folder_name = "", .head = head,
                        .size = (int64_t)head.n};

    return importer->probe(&peek);
}
