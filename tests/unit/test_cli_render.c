/* `flatline render` without a context: a conversation of its own, so that a template shows something. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/flatline_run.h"
#include "tests/harness/tempdir.h"

static void render(const char *text, struct flatline_run *run)
{
    char *folder = tempdir_make();

    tempdir_write_text(folder, "chat_template.jinja", text);
    flatline_run(folder, NULL, "render @", NULL, NULL, run);
    flatline_run_is_sound(run, text);
    tempdir_remove(folder);
}

static void a_template_alone_renders_a_small_conversation(void **state)
{
    struct flatline_run run;

    (void)state;
    render("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
           "{% if add_generation_prompt %}<assistant>{% endif %}", &run);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "<system>"));
    assert_true(strncmp(run.out + strlen(run.out) - 11, "<assistant>", 11) == 0);
    assert_non_null(strstr(run.err, "--context FILE"));
    flatline_run_free(&run);
}

static void a_template_that_refuses_a_system_turn_gets_none(void **state)
{
    struct flatline_run run;

    (void)state;
    render("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
           "<{{ m.role }}>{% endfor %}", &run);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "<user><assistant><user>");
    flatline_run_free(&run);
}

static void what_refuses_every_conversation_fails_with_its_words(void **state)
{
    struct flatline_run run;

    (void)state;
    render("{{ raise_exception('never') }}", &run);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "never"));
    flatline_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_alone_renders_a_small_conversation),
        cmocka_unit_test(a_template_that_refuses_a_system_turn_gets_none),
        cmocka_unit_test(what_refuses_every_conversation_fails_with_its_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
