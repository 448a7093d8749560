/* `make retention`: twenty items under one hash, a record that fits them, and its reading. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/sha256.h"
#include "core/exports/retention.h"
#include "core/read/json.h"
#include "core/read/source.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct buf said;
    struct arena *arena;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    f->folder = tempdir_make();
    f->arena = arena_open((size_t)8 << 20);
    buf_init(&f->said, 1 << 16);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->folder);
    arena_close(f->arena);
    buf_free(&f->said);
    free(f);
    return 0;
}

static struct str made(struct fixture *f, const char *name)
{
    char *text, path[4096];
    size_t n;
    struct error err;

    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    assert_int_equal(source_slurp(path, 1 << 20, &text, &n, &err), OK);
    struct str copy = arena_str(f->arena, str_from(text, n));
    free(text);
    return copy;
}

static void make(struct fixture *f)
{
    const struct made_folder folder = {.path = f->folder, .said = &f->said};

    assert_int_equal(make_retention(&folder, NULL), OK);
}

static const struct json *parsed(struct fixture *f, struct str line)
{
    const struct json *tree;
    struct error err;

    assert_int_equal(json_parse(line, false, f->arena, &tree, NULL, &err), OK);
    return tree;
}

static bool text_is(const struct json *tree, const char *key, const char *text)
{
    const struct json *value = json_get(tree, key);

    return json_is(value, JSON_STRING) && str_is(value->text, text);
}

static void the_head_has_the_hash_of_the_items(void **state)
{
    struct fixture *f = *state;
    struct sha256 *hash;
    char hex[65];
    uint8_t digest[32];

    make(f);
    struct str rest = made(f, "suite.jsonl"), head;
    assert_true(str_split(&rest, '\n', &head));
    assert_int_equal(sha256_open(&hash, NULL), OK);
    sha256_add(hash, rest.p, rest.n);
    sha256_finish(hash, digest, hex);
    sha256_close(hash);
    assert_true(text_is(parsed(f, head), "sha256", hex));
    struct str record = made(f, "record.jsonl"), line;
    int n = 0;
    while (str_split(&record, '\n', &line) && line.n) {
        const struct json *row = parsed(f, line);
        assert_true(text_is(row, "suite_sha256", hex));
        assert_true(json_is(json_get(row, "correct"), JSON_NULL));
        n++;
    }
    assert_int_equal(n, 2 * RETENTION_ITEMS);
}

static void twenty_items_have_answers_that_a_rule_can_check(void **state)
{
    static const char *const CHECKS[] = {"exact", "regex", "contains_all", "json_keys"};
    struct fixture *f = *state;
    int n = 0;

    make(f);
    struct str rest = made(f, "suite.jsonl"), line;
    assert_true(str_split(&rest, '\n', &line));
    while (str_split(&rest, '\n', &line) && line.n) {
        const struct json *item = parsed(f, line), *answer = json_get(item, "answer");
        size_t known = 0;

        for (size_t i = 0; i < 4; i++)
            known += text_is(item, "check", CHECKS[i]);
        assert_int_equal(known, 1);
        bool is_list = text_is(item, "check", "contains_all") || text_is(item, "check", "json_keys");
        assert_true(json_is(answer, is_list ? JSON_ARRAY : JSON_STRING));
        assert_true(json_is(json_get(item, "prompt"), JSON_STRING));
        n++;
    }
    assert_int_equal(n, RETENTION_ITEMS);
}

static void the_readme_says_what_it_can_show(void **state)
{
    struct fixture *f = *state;

    make(f);
    struct str text = made(f, "README.md");
    assert_true(str_find(text, "| 20 | 26 points or more |") >= 0);
    assert_true(str_find(text, "| 100 | 12 points or more |") >= 0);
    assert_true(str_find(text, "| 500 | 6 points or more |") >= 0);
}

static void nothing_is_overwritten_unasked(void **state)
{
    struct fixture *f = *state;
    const struct made_folder again = {.path = f->folder, .said = &f->said};
    const struct made_folder forced = {.path = f->folder, .said = &f->said, .force = true};

    make(f);
    assert_int_not_equal(make_retention(&again, NULL), OK);
    assert_int_equal(make_retention(&forced, NULL), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_head_has_the_hash_of_the_items, set_up, tear_down),
        cmocka_unit_test_setup_teardown(twenty_items_have_answers_that_a_rule_can_check, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_readme_says_what_it_can_show, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_overwritten_unasked, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
