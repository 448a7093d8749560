/* Which run of a project a serving record belongs to, and in which role its files stand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "importers/folder.h"
#include "tests/harness/tempdir.h"

#define STATE "{\"log_history\": [{\"loss\": 1.5, \"step\": 1}]}"

struct fixture {
    char *folder;
    struct arena *arena;
    struct plan plan;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.folder = tempdir_make(), .arena = arena_open((size_t)16 << 20)};
    tempdir_write_text(f.folder, "runs-of-us/first/trainer_state.json", STATE);
    tempdir_write_text(f.folder, "runs-of-us/second/trainer_state.json", STATE);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->folder);
    arena_close(f->arena);
    return 0;
}

static void make(struct fixture *f)
{
    const char *path = f->folder;
    struct error err = {0};

    assert_int_equal(plan_make(&path, 1, NULL, f->arena, &f->plan, &err), OK);
}

/* The role of the file in the run whose folder ends so; NULL: it is not among its files. */
static const char *role_in(const struct fixture *f, const char *run, const char *file)
{
    for (size_t i = 0; i < f->plan.n_runs; i++) {
        if (!str_ends(str_of(f->plan.runs[i].run.folder), run))
            continue;
        for (size_t k = 0; k < f->plan.runs[i].n_files; k++)
            if (str_ends(str_of(f->plan.runs[i].files[k].path), file))
                return f->plan.runs[i].files[k].role;
    }
    return NULL;
}

static void a_record_that_names_a_run_is_of_that_run(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "deployment/serve.sh",
                       "vllm serve org/base --lora-modules bot=/srv/runs/second/checkpoint-10\n");
    make(f);
    assert_int_equal(f->plan.n_runs, 2);
    assert_string_equal(role_in(f, "/second", "serve.sh"), "served");
    assert_null(role_in(f, "/first", "serve.sh"));
}

static void a_record_that_names_none_is_of_every_run(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "deployment/serve.sh", "vllm serve org/base --max-model-len 4096\n");
    make(f);
    assert_int_equal(f->plan.n_runs, 2);
    assert_non_null(role_in(f, "/first", "serve.sh"));
    assert_non_null(role_in(f, "/second", "serve.sh"));
}

static void part_of_a_word_is_no_name(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "deployment/Modelfile",
                       "FROM ./second-try.gguf\nADAPTER /srv/runs/first/lora.gguf\n");
    make(f);
    assert_non_null(role_in(f, "/first", "Modelfile"));
    assert_null(role_in(f, "/second", "Modelfile"));
}

static void a_servers_log_is_no_run_of_its_own(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "somewhere/out.log",
                       "INFO vLLM API server version 0.9.1\nINFO non-default args: {'model': 'x'}\n");
    make(f);
    assert_int_equal(f->plan.n_runs, 2);
    assert_non_null(role_in(f, "/first", "out.log"));
}

static void a_gguf_in_a_run_is_served_and_in_base_the_base(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "runs-of-us/first/bot.gguf", "GGUF");
    tempdir_write_text(f->folder, "runs-of-us/second/base/start.gguf", "GGUF");
    make(f);
    assert_string_equal(role_in(f, "/first", "bot.gguf"), "served");
    assert_string_equal(role_in(f, "/second", "start.gguf"), "base");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_record_that_names_a_run_is_of_that_run),
        TEST(a_record_that_names_none_is_of_every_run),
        TEST(part_of_a_word_is_no_name),
        TEST(a_servers_log_is_no_run_of_its_own),
        TEST(a_gguf_in_a_run_is_served_and_in_base_the_base),
    };

    return cmocka_run_group_tests_name("serving_runs", tests, NULL, NULL);
}
