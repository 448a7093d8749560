/* Runs tests/importers/<importer>/<case>/: every file of the case but expect.txt, in order of name,
 * is given to the importer of the folder's name, which has to be the surest one; what it tells the
 * sink is compared with expect.txt. GOLDEN=accept writes expect.txt anew.
 *
 * Given paths, it instead prints what the surest importer says of each. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "importers/registry.h"
#include "tests/harness/importing.h"

#define ROOT       "tests/importers"
#define DUMP_BYTES ((size_t)64 << 20)
#define MAX_CASES  500

struct case_name {
    char importer[128], name[256];
};

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A folder belongs to a file beside it, whose importer reads it. */
static int visible_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type != DT_DIR;
}

static void import_file(const struct case_name *this, const char *folder, const char *name,
                        struct buf *out)
{
    const struct importer *importer = importer_by_id(this->importer);
    char path[1024];
    struct looked_at looked;
    struct error err = {0};
    int score;

    assert_non_null(importer);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(importing_look(path, &looked));
    const struct importer *surest = importer_probe(&looked.peek, &score, NULL);
    if (surest != importer)
        fail_msg("%s is taken by %s", path, surest ? surest->id : "nobody");
    free(looked.bytes);
    if (importing_dump(importer, folder, path, out, &err) != OK)
        fail_msg("%s: %s", path, err.message);
}

static void expect(const char *folder, const struct buf *got)
{
    char path[1024], *wanted = NULL;
    size_t n = 0;
    const char *golden = getenv("GOLDEN");
    struct error err;

    snprintf(path, sizeof path, "%s/expect.txt", folder);
    if (golden && strcmp(golden, "accept") == 0) {
        FILE *file = fopen(path, "wb");

        assert_non_null(file);
        assert_int_equal(fwrite(got->p, 1, got->n, file), got->n);
        assert_int_equal(fclose(file), 0);
        return;
    }
    assert_int_equal(source_slurp(path, DUMP_BYTES, &wanted, &n, &err), OK);
    if (n != got->n || memcmp(wanted, got->p, n) != 0) {
        print_message("%s: got\n%s", folder, got->p);
        free(wanted);
        fail_msg("%s is not what was imported (GOLDEN=accept writes it)", path);
    }
    free(wanted);
}

static void the_case_is_imported_as_expected(void **state)
{
    const struct case_name *this = *state;
    struct dirent **entries;
    struct buf out;
    char folder[512];

    snprintf(folder, sizeof folder, ROOT "/%s/%s", this->importer, this->name);
    int n = scandir(folder, &entries, visible_file, alphasort);
    assert_true(n > 0);
    buf_init(&out, DUMP_BYTES);
    for (int i = 0; i < n; i++) {
        if (strcmp(entries[i]->d_name, "expect.txt") != 0)
            import_file(this, folder, entries[i]->d_name, &out);
        free(entries[i]);
    }
    free(entries);
    expect(folder, &out);
    buf_free(&out);
}

static size_t find_cases(struct case_name *cases)
{
    struct dirent **importers;
    size_t n_cases = 0;
    int n = scandir(ROOT, &importers, visible, alphasort);

    for (int i = 0; i < n; i++) {
        struct dirent **names;
        char folder[512];

        snprintf(folder, sizeof folder, ROOT "/%s", importers[i]->d_name);
        int m = scandir(folder, &names, visible, alphasort);
        for (int k = 0; k < m; k++) {
            if (n_cases < MAX_CASES) {
                snprintf(cases[n_cases].importer, sizeof cases->importer, "%.127s",
                         importers[i]->d_name);
                snprintf(cases[n_cases++].name, sizeof cases->name, "%s", names[k]->d_name);
            }
            free(names[k]);
        }
        if (m >= 0)
            free(names);
        free(importers[i]);
    }
    if (n >= 0)
        free(importers);
    return n_cases;
}

static int dump_paths(int n, char **paths)
{
    int status = 0;

    for (int i = 0; i < n; i++) {
        struct looked_at looked;
        struct buf out;
        struct error err = {0};
        int score = 0;
        const struct importer *second = NULL;

        if (!importing_look(paths[i], &looked)) {
            printf("== %s cannot be read\n", paths[i]);
            free(looked.bytes);
            continue;
        }
        const struct importer *importer = importer_probe(&looked.peek, &score, &second);
        printf("== %s: %s %d%s%s\n", paths[i], importer ? importer->id : "nobody", score,
               second ? " and as sure " : "", second ? second->id : "");
        buf_init(&out, DUMP_BYTES);
        if (importer && importing_dump(importer, "/", paths[i], &out, &err) != OK) {
            printf("FAILED: %s\n", err.message);
            status = 1;
        }
        if (out.n)
            fwrite(out.p, 1, out.n, stdout);
        buf_free(&out);
        free(looked.bytes);
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct case_name cases[MAX_CASES];
    static struct CMUnitTest tests[MAX_CASES];

    if (argc > 1)
        return dump_paths(argc - 1, argv + 1);
    size_t n = find_cases(cases);
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = the_case_is_imported_as_expected,
                                       .initial_state = &cases[i]};
    return n ? _cmocka_run_group_tests("importers", tests, n, NULL, NULL) : 1;
}
