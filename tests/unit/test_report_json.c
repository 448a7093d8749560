/* flatline-check/1: every member of its form, for every check of the registry, for hostile texts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/checks/registry.h"
#include "core/exports/report.h"
#include "core/read/json.h"
#include "tests/harness/stored_run.h"

struct fixture {
    struct stored_run *run;
    struct buf out;
    struct report_options options;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    f->run = stored_run_open();
    buf_init(&f->out, (size_t)8 << 20);
    f->options = (struct report_options){
        .redact = {.secrets = true}, .columns = 80, .argument = f->run->folder, .version = "0.0.0"};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    stored_run_close(f->run);
    buf_free(&f->out);
    free(f);
    return 0;
}

static const char *written(struct fixture *f)
{
    struct error err;

    buf_clear(&f->out);
    if (report_json(&f->out, f->run->store, &f->run->run.id, 1, &f->options, &err) != OK)
        fail_msg("%s", err.message);
    assert_false(f->out.failed);
    return f->out.p;
}

static void put_plain(struct fixture *f)
{
    stored_run_put(f->run, "qwen-sft-07", "train.log");
    stored_run_findings(f->run, "the loss is NaN from step 30 on, 2 of 4 rows");
    stored_run_remarks(f->run, "seen on both GPUs");
    f->options.only = "run-incomplete,oom-train,nan-onset,nan-fp16-overflow,nan-high-lr";
}

/* ---- flatline-check/1 ---- */

static const struct json *parsed(struct fixture *f)
{
    const struct json *json;
    struct error err;
    int n_repairs = 0;

    written(f);
    if (json_parse(buf_view(&f->out), false, f->run->arena, &json, &n_repairs, &err) != OK)
        fail_msg("line %lld: %s", (long long)err.line, err.message);
    assert_int_equal(n_repairs, 0);
    assert_true(unicode_is_valid(buf_view(&f->out)));
    return json;
}

/* Exactly these members: `types` has a letter for each, n null, s string, i integer, a array; an
 * upper-case letter also allows null. */
static void assert_members(const struct json *object, const char *names, const char *types)
{
    struct str rest = str_of(names), name;
    const struct json *member = object->child;
    size_t i = 0;

    assert_true(json_is(object, JSON_OBJECT));
    for (; str_split(&rest, ' ', &name); member = member->next, i++) {
        char type = types[i];

        if (!member || !str_eq(member->key, name))
            fail_msg("expected the member %.*s", (int)name.n, name.p);
        if (type >= 'A' && type <= 'Z' && json_is(member, JSON_NULL))
            continue;
        switch (type | 0x20) {
        case 's':
            assert_true(json_is(member, JSON_STRING));
            break;
        case 'i':
            assert_true(json_is(member, JSON_NUMBER) && member->is_integer);
            break;
        case 'a':
            assert_true(json_is(member, JSON_ARRAY));
            break;
        default:                /* a number or the word of a non-finite one */
            assert_true(json_is(member, JSON_NUMBER) || json_is(member, JSON_STRING));
        }
    }
    assert_null(member);
}

static void assert_one_of(const struct json *value, const char *words)
{
    struct str rest = str_of(words), word;

    while (str_split(&rest, ' ', &word))
        if (str_eq(value->text, word))
            return;
    fail_msg("%.*s is none of %s", (int)value->text.n, value->text.p, words);
}

static void json_has_every_member_of_its_form_and_every_check_in_order(void **state)
{
    struct fixture *f = *state;
    const struct json *json, *run, *check;
    size_t i = 0;

    put_plain(f);
    f->options.only = NULL;
    json = parsed(f);
    assert_members(json, "format version runs notes", "ssaa");
    assert_true(str_is(json_get(json, "format")->text, "flatline-check/1"));
    run = json_get(json, "runs")->child;
    assert_int_equal(json_get(json, "runs")->n, 1);
    assert_members(run, "name path framework kind marks state last_step max_steps verdict headline "
                        "checks", "ssSsasIIsSa");
    assert_true(str_is(json_get(run, "path")->text, "qwen-sft-07"));
    assert_true(str_is(json_get(run, "headline")->text, "nan-fp16-overflow"));
    assert_true(str_is(json_get(run, "verdict")->text, "fail"));
    assert_one_of(json_get(run, "kind"),
                  "grpo ppo dpo reward-model classification seq2seq pretraining sft unknown");
    assert_one_of(json_get(run, "state"), "finished crashed stopped running unknown");
    for (check = json_get(run, "checks")->child; check; check = check->next, i++) {
        bool is_preference = check_at(i)->stage == STAGE_PREFERENCE;

        assert_members(check,
                       "id stage title verdict confidence severity version dismissed finding "
                       "explained_by information missing evidence fix",
                       is_preference ? "ssssSsiSsSaaaa" : "sissSsiSsSaaaa");
        assert_true(str_is(json_get(check, "id")->text, check_at(i)->id));
        assert_one_of(json_get(check, "verdict"), "fail warn pass unknown not-applicable");
        assert_one_of(json_get(check, "severity"), "blocks misleads wastes");
        for (const struct json *e = json_get(check, "evidence")->child; e; e = e->next)
            assert_members(e, "file line step row token commit value bound text", "SIIIISNNs");
    }
    assert_int_equal(i, check_count());
    for (const struct json *note = json_get(json, "notes")->child; note; note = note->next)
        assert_members(note, "file line severity text", "SIss");
    assert_int_equal(json_get(json, "notes")->n, 1);
}

static const struct json *check_in(const struct json *json, const char *id)
{
    const struct json *check = json_get(json_get(json, "runs")->child, "checks")->child;

    while (check && !str_is(json_get(check, "id")->text, id))
        check = check->next;
    assert_non_null(check);
    return check;
}

static void json_points_to_places_and_names_what_is_not_finite(void **state)
{
    struct fixture *f = *state;
    const struct json *json, *check, *evidence;

    put_plain(f);
    json = parsed(f);
    check = check_in(json, "nan-onset");
    assert_true(str_is(json_get(check, "explained_by")->text, "nan-fp16-overflow"));
    evidence = json_get(check, "evidence")->child;
    assert_true(str_is(json_get(evidence, "file")->text, "qwen-sft-07/trainer_state.json"));
    assert_int_equal(json_get(evidence, "line")->number, 28);
    assert_int_equal(json_get(evidence, "step")->number, 30);
    assert_true(str_is(json_get(evidence, "value")->text, "NaN"));
    assert_true(str_is(json_get(evidence, "bound")->text, "4.5"));
    check = check_in(json, "run-incomplete");
    assert_true(str_is(json_get(check, "dismissed")->text, "seen on both GPUs"));
    check = check_in(json, "nan-high-lr");
    assert_true(json_is(json_get(check, "confidence"), JSON_NULL));
    assert_int_equal(json_get(check, "missing")->n, 2);
}

static void a_report_about_no_run_is_a_whole_document(void **state)
{
    struct fixture *f = *state;
    const struct json *json;

    assert_int_equal(report_json(&f->out, f->run->store, NULL, 0, &f->options, NULL), OK);
    assert_int_equal(json_parse(buf_view(&f->out), false, f->run->arena, &json, NULL, NULL), OK);
    assert_members(json, "format version runs notes", "ssaa");
}

static void only_the_checks_asked_for_are_listed(void **state)
{
    struct fixture *f = *state;
    const struct json *json;

    put_plain(f);
    f->options.only = "nan-high-lr,oom-train,no-such-check";
    json = parsed(f);
    assert_int_equal(json_get(json_get(json, "runs")->child, "checks")->n, 2);
}

#define HOSTILE                                                                                    \
    "`a` ``b`` ```c | d <script>alert(1)</script> \x1b[31m\x07 \xe2\x80\xae"                          \
    "rtl \xff\xc3 \n# heading\n|"

static void json_of_hostile_texts_is_json_and_keeps_their_characters(void **state)
{
    struct fixture *f = *state;
    const struct json *json, *finding;

    stored_run_put(f->run, "evil` | <b>\n\x1b[2J\xe2\x80\xae" "name", "log` | \n<i>.txt");
    stored_run_findings(f->run, HOSTILE);
    stored_run_remarks(f->run, HOSTILE);
    json = parsed(f);
    finding = json_get(check_in(json, "nan-onset"), "finding");
    assert_true(str_starts(finding->text, "`a` ``b`` ```c | d <script>alert(1)</script> "));
    assert_true(str_find(finding->text, "\n# heading\n") > 0);
    assert_true(str_find(finding->text, "\x1b[31m") > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(json_has_every_member_of_its_form_and_every_check_in_order),
        TEST(json_points_to_places_and_names_what_is_not_finite),
        TEST(a_report_about_no_run_is_a_whole_document),
        TEST(only_the_checks_asked_for_are_listed),
        TEST(json_of_hostile_texts_is_json_and_keeps_their_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
