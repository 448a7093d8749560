/* The smallest folders that decide one check: tests/checks/<check>/{pass,fail,unknown}-<what>/.
 * Each is imported and checked as a user would, and compared with its expect.json:
 *
 *     {"must": {"lr-zero": "fail"}, "headline": "lr-zero"}
 *
 * Of several runs in a folder one has to fulfil it, each with a value of its own. "headline": null
 * says that nothing is named. ONLY=<check id> in the environment looks at that check's folders.
 * Every check has one that finds something, one that passes, one that cannot tell, and a line of the
 * README. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/checks/registry.h"
#include "core/checks/runner.h"
#include "core/checks/verdicts.h"
#include "core/read/json.h"
#include "core/store/store.h"
#include "importers/folder.h"
#include "tests/harness/tempdir.h"

#define FOLDERS "tests/checks"

static int n_folders, n_wrong;

static const char *verdict_word(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_NOT_APPLICABLE:
        return "n/a";
    case VERDICT_PASS:
        return "pass";
    case VERDICT_UNKNOWN:
        return "unknown";
    case VERDICT_WARN:
        return "warn";
    case VERDICT_FAIL:
        return "fail";
    }
    return "?";
}

static void wrong(const char *folder, const char *what, const char *is, const char *must)
{
    print_error("%s: %s is %s, expected %s\n", folder, what, is, must);
    n_wrong++;
}

#define MAX_RUNS 8 /* of one folder */

struct outcome_of_folder {
    const char *folder;
    struct verdicts runs[MAX_RUNS];
    size_t n;
};

static const char *verdict_of(const struct verdicts *v, struct str id)
{
    for (size_t i = 0; i < v->n_rows; i++)
        if (str_is(id, v->rows[i].check->id))
            return verdict_word(v->rows[i].result.verdict);
    return "not in the registry";
}

static const char *headline_of(const struct verdicts *v)
{
    return v->headline < 0 ? "none" : v->rows[v->headline].check->id;
}

static void compare_rows(const struct outcome_of_folder *o, const struct json *must)
{
    for (const struct json *want = must ? must->child : NULL; want; want = want->next) {
        char id[64], expected[64];
        bool is_met = false;

        snprintf(id, sizeof id, "%.*s", (int)want->key.n, want->key.p);
        snprintf(expected, sizeof expected, "%.*s", (int)want->text.n, want->text.p);
        for (size_t i = 0; i < o->n; i++)
            is_met |= strcmp(verdict_of(&o->runs[i], want->key), expected) == 0;
        if (!is_met)
            wrong(o->folder, id, verdict_of(&o->runs[0], want->key), expected);
    }
}

static void compare_headline(const struct outcome_of_folder *o, const struct json *headline)
{
    char expected[64] = "none";
    bool is_met = false;

    if (!headline)
        return;
    if (headline->type == JSON_STRING)
        snprintf(expected, sizeof expected, "%.*s", (int)headline->text.n, headline->text.p);
    for (size_t i = 0; i < o->n; i++)
        is_met |= strcmp(headline_of(&o->runs[i]), expected) == 0;
    if (!is_met)
        wrong(o->folder, "the headline", headline_of(&o->runs[0]), expected);
}

static void check_runs(const char *folder, struct store *store, const struct plan *plan,
                       const struct json *expect, struct arena *arena)
{
    struct outcome_of_folder o = {.folder = folder};
    struct error err = {0};

    for (size_t i = 0; i < plan->n_runs && o.n < MAX_RUNS; i++) {
        struct run run;

        assert_int_equal(store_run_find(store, plan->runs[i].run.key, arena, &run, &err), OK);
        assert_int_equal(checks_run(store, run.id, NULL, &err), OK);
        assert_int_equal(verdicts_load(store, run.id, arena, &o.runs[o.n++], &err), OK);
    }
    if (o.n == 0) {
        wrong(folder, "the folder", "no run", "one");
        return;
    }
    compare_rows(&o, json_get(expect, "must"));
    compare_headline(&o, json_get(expect, "headline"));
}

static void check_folder(const char *folder)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    const struct json *expect = NULL;
    struct store *store = NULL;
    struct sink *sink = NULL;
    struct plan plan;
    struct error err = {0};
    char *kept = tempdir_make(), path[600];
    const struct store_options options = {.in_memory = true,
                                          .kept_path = tempdir_path(kept, "kept.db")};

    snprintf(path, sizeof path, "%s/expect.json", folder);
    if (json_read_file(path, false, arena, &expect, NULL, &err) != OK) {
        wrong(folder, "expect.json", err.message, "read");
    } else {
        assert_int_equal(store_open(&store, &options, &err), OK);
        assert_int_equal(sink_open_store(&sink, store, &err), OK);
        assert_int_equal(plan_make(&folder, 1, NULL, arena, &plan, &err), OK);
        assert_int_equal(plan_import(&plan, sink, false, NULL, &err), OK);
        check_runs(folder, store, &plan, expect, arena);
        sink_close(sink);
        store_close(store);
    }
    n_folders++;
    tempdir_remove(kept);
    arena_close(arena);
}

static bool is_hidden(const struct dirent *entry)
{
    return entry->d_name[0] == '.';
}

static void check_folders_of(const char *check)
{
    char path[300], folder[560];
    const struct dirent *entry;

    snprintf(path, sizeof path, FOLDERS "/%.200s", check);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (is_hidden(entry))
            continue;
        snprintf(folder, sizeof folder, "%s/%s", path, entry->d_name);
        check_folder(folder);
    }
    if (dir)
        closedir(dir);
}

static void every_folder_gets_its_verdict(void **state)
{
    const char *only = getenv("ONLY");
    DIR *dir = opendir(FOLDERS);
    const struct dirent *entry;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        if (!is_hidden(entry) && (!only || strcmp(only, entry->d_name) == 0))
            check_folders_of(entry->d_name);
    closedir(dir);
    print_message("%d folders\n", n_folders);
    assert_true(n_folders > 0);
    assert_int_equal(n_wrong, 0);
}

static bool has_folder(const char *check, const char *kind)
{
    char path[300];
    const struct dirent *entry;
    bool is_there = false;

    snprintf(path, sizeof path, FOLDERS "/%.200s", check);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        is_there |= strncmp(entry->d_name, kind, strlen(kind)) == 0;
    if (dir)
        closedir(dir);
    return is_there;
}

static void every_check_has_its_folders(void **state)
{
    int n_lacking = 0;

    (void)state;
    for (size_t i = 0; i < check_count(); i++) {
        const char *id = check_at(i)->id;
        bool finds = has_folder(id, "fail-") || has_folder(id, "warn-");

        if (finds && has_folder(id, "pass-") && has_folder(id, "unknown-"))
            continue;
        print_error("%s lacks a folder that %s\n", id,
                    !finds ? "finds something" : !has_folder(id, "pass-") ? "passes" : "cannot tell");
        n_lacking++;
    }
    assert_int_equal(n_lacking, 0);
}

static void every_check_has_its_line_in_the_readme(void **state)
{
    static char readme[1 << 18];
    FILE *file = fopen("README.md", "r");

    (void)state;
    assert_non_null(file);
    readme[fread(readme, 1, sizeof readme - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        char line[400];

        snprintf(line, sizeof line, "\n| %s | `%s` | %s |\n", stage_key(check->stage), check->id,
                 check->title);
        if (!strstr(readme, line))
            fail_msg("README.md lacks the line%s", line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_folder_gets_its_verdict),
        cmocka_unit_test(every_check_has_its_folders),
        cmocka_unit_test(every_check_has_its_line_in_the_readme),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
