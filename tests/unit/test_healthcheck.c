/* `make healthcheck`: which prompts, and the script's answer for a server that has the adapter, one that
 * has not, and one that is not there (a curl of the test's own stands for them). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/exports/healthcheck.h"
#include "core/read/json.h"
#include "tests/harness/imported_run.h"

struct fixture {
    struct imported_run *run;
    struct buf said, text;
    char out[4096];
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.run = imported_run_new()};
    buf_init(&f.said, 1 << 16);
    buf_init(&f.text, 1 << 20);
    snprintf(f.out, sizeof f.out, "%s/made", f.run->root);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    imported_run_free(f->run);
    buf_free(&f->said);
    buf_free(&f->text);
    return 0;
}

static int make(struct fixture *f, struct error *err)
{
    const struct made_folder folder = {.path = f->out, .said = &f->said};

    return make_healthcheck(f->run->facts, &folder, err);
}

static const char *made(struct fixture *f, const char *name)
{
    char path[8192], piece[4096];
    size_t n;

    snprintf(path, sizeof path, "%s/%s", f->out, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    buf_clear(&f->text);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(&f->text, piece, n);
    fclose(file);
    return f->text.p;
}

/* Answers of six words each, one letter apart, that repeat nothing of their question; row 3 repeats it. */
static void import_rows(struct fixture *f, int n)
{
    struct buf rows;

    buf_init(&rows, 1 << 20);
    for (int i = 0; i < n; i++) {
        buf_printf(&rows, "{\"messages\": [{\"role\": \"system\", \"content\": \"You're \\\"it\\\"\"}, "
                          "{\"role\": \"user\", \"content\": \"Question number %d please\"}, "
                          "{\"role\": \"assistant\", \"content\": \"", i);
        if (i == 3)
            buf_puts(&rows, "Question number 3 please, number 3 please, question number 3");
        else
            for (int k = 0; k <= 8 + i; k++)
                buf_printf(&rows, "%sx%d_%d", k ? " " : "", i, k);
        buf_puts(&rows, "\"}]}\n");
    }
    tempdir_write_text(f->run->folder, "train.jsonl", rows.p);
    imported_run_audit(f->run, NULL);
    buf_free(&rows);
}

static void import_outputs(struct fixture *f)
{
    tempdir_write_text(f->run->folder, "generations.jsonl",
                       "{\"prompt\": \"alike\", \"base\": \"one two three four five\", "
                       "\"finetuned\": \"one two three four six\"}\n"
                       "{\"prompt\": \"same\", \"base\": \"one two three four five\", "
                       "\"finetuned\": \"one two three four five\"}\n"
                       "{\"prompt\": \"far\", \"base\": \"one two three four five\", "
                       "\"finetuned\": \"it's \\\"quite\\\" another answer\"}\n");
    imported_run_audit(f->run, NULL);
}

/* ---- Which prompts ---- */

static void the_prompts_that_differ_most_stand_first(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    import_outputs(f);
    assert_int_equal(make(f, &err), OK);
    const char *text = made(f, "prompts.jsonl");
    const char *far = strstr(text, "\"far\""), *alike = strstr(text, "\"alike\"");
    assert_non_null(far);
    assert_non_null(alike);
    assert_true(far < alike);
    assert_null(strstr(text, "\"same\""));
    assert_non_null(strstr(text, "\"base_output\": \"one two three four five\""));
    assert_null(strstr(made(f, "README.md"), "Not verified"));
}

static void without_outputs_rows_with_answers_of_their_own_are_asked(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    size_t n = 0;

    import_rows(f, 10);
    assert_int_equal(make(f, &err), OK);
    const char *text = made(f, "prompts.jsonl");
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    assert_int_equal(n, HEALTHCHECK_PROMPTS);
    assert_null(strstr(text, "Question number 3 please"));
    assert_non_null(strstr(text, "\"role\": \"system\""));
    assert_non_null(strstr(text, "unverified"));
    assert_non_null(strstr(made(f, "README.md"), "Not verified"));
}

static void with_neither_it_says_what_to_import(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    tempdir_write_text(f->run->folder, "config.json", "{\"model_type\": \"llama\", \"architectures\": []}");
    imported_run_audit(f->run, NULL);
    assert_int_equal(make(f, &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "generations.jsonl"));
}

/* ---- The script ---- */

/* A curl that answers as the model of the request: "tuned" by `tuned`, any other by `base`; no text: no
 * server. */
static int ask(struct fixture *f, const char *tuned, const char *base, const char *arguments)
{
    char path[8192], command[20000];
    struct buf curl;

    buf_init(&curl, 1 << 16);
    buf_puts(&curl, "#!/bin/sh\nfor last; do case \"$last\" in *'\"model\": \"tuned\"'*) t=1;; esac; done\n");
    if (tuned)
        buf_printf(&curl, "if [ \"$t\" ]; then cat <<'X'\n{\"choices\": [{\"message\": {\"role\": "
                          "\"assistant\",\n \"reasoning_content\": \"no\", \"content\": \"%s\"}}]}\nX\n"
                          "else cat <<'X'\n{\"choices\":[{\"message\":{\"content\":\"%s\"}}]}\nX\nfi\n",
                   tuned, base);
    else
        buf_puts(&curl, "exit 7\n");
    snprintf(path, sizeof path, "%s/curl", f->run->root);
    tempdir_write_text(f->run->root, "curl", curl.p);
    assert_int_equal(chmod(path, 0755), 0);
    buf_free(&curl);
    snprintf(command, sizeof command,
             "cd '%s' && rm -f healthcheck.out.jsonl && PATH='%s':\"$PATH\" sh healthcheck.sh http://x %s "
             "> said.txt 2>&1",
             f->out, f->run->root, arguments);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_script_tells_a_loaded_adapter_from_a_missing_one(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    import_outputs(f);
    assert_int_equal(make(f, &err), OK);
    assert_int_equal(ask(f, "it's \\\"quite\\\" another answer", "b", "tuned"), 0);
    assert_non_null(strstr(made(f, "said.txt"), "begins as the tuned model should"));
    assert_int_equal(ask(f, "one two three four five", "b", "tuned"), 1);
    assert_non_null(strstr(made(f, "said.txt"), "the adapter is not loaded"));
    assert_int_equal(ask(f, "one thing", "one thing", "tuned plain"), 1);
    assert_int_equal(ask(f, "one thing", "another", "tuned plain"), 0);
    assert_int_equal(ask(f, NULL, NULL, "tuned"), 2);
    assert_int_equal(ask(f, "x", "y", ""), 2);
}

static void answers_are_kept_in_a_form_that_is_read_back(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    import_outputs(f);
    assert_int_equal(make(f, &err), OK);
    assert_int_equal(ask(f, "say \\\"hi\\\"\\n", "else", "tuned plain"), 0);
    assert_non_null(strstr(made(f, "healthcheck.out.jsonl"),
                           "{\"id\": 1, \"model\": \"tuned\", \"output\": \"say \\\"hi\\\"\\n\"}\n"
                           "{\"id\": 1, \"model\": \"base\", \"output\": \"else\"}\n"));
}

static void an_unverified_prompt_without_a_base_is_no_verdict(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    import_rows(f, 10);
    assert_int_equal(make(f, &err), OK);
    assert_int_equal(ask(f, "some other words", "b", "tuned"), 2);
    assert_non_null(strstr(made(f, "said.txt"), "no answer of the base to compare with"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_prompts_that_differ_most_stand_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_outputs_rows_with_answers_of_their_own_are_asked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(with_neither_it_says_what_to_import, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_script_tells_a_loaded_adapter_from_a_missing_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(answers_are_kept_in_a_form_that_is_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unverified_prompt_without_a_base_is_no_verdict, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
