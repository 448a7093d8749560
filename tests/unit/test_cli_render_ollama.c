/* `flatline render` of Modelfiles and of templates in Go's language. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/harness/tempdir.h"
#include "tui/cli_render_ollama.h"

#define QUESTION "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}"

static void names_tell_what_is_ollamas(void **state)
{
    (void)state;
    assert_true(ollama_source_is("a/Modelfile"));
    assert_true(ollama_source_is("modelfile.q4"));
    assert_true(ollama_source_is("/x/tuned.Modelfile"));
    assert_true(ollama_source_is("chat.gotmpl"));
    assert_false(ollama_source_is("chat_template.jinja"));
    assert_false(ollama_source_is("a/Modelfiles/x.jinja"));
    assert_false(ollama_source_is("modelfiles"));
    assert_false(ollama_source_is("model"));
}

/* The text of QUESTION, or the complaint, behind the status. */
static void render(const char *name, const char *text, struct buf *out)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    const struct jinja_settings clock = {.now = 1768435200};
    struct jinja_failure failure = {.line = 0};
    struct ollama_source source;
    const struct json *question;
    struct error err = {0};
    struct buf prompt;
    char *folder = tempdir_make();

    tempdir_write_text(folder, name, text);
    const char *path = arena_printf(arena, "%s/%s", folder, name);
    int rc = ollama_source_read(path, arena, &source, &err);

    buf_init(&prompt, JINJA_OUTPUT_BYTES);
    if (rc == OK) {
        assert_int_equal(json_parse_exact(str_of(QUESTION), arena, &question, &err), OK);
        rc = ollama_source_render(&source, question, &clock, arena, &prompt, &failure, &err);
    }
    buf_clear(out);
    buf_printf(out, "%d %s", rc,
               rc == OK             ? prompt.p
               : failure.message[0] ? failure.message
                                    : err.message);
    buf_free(&prompt);
    tempdir_remove(folder);
    arena_close(arena);
}

static void a_modelfile_renders_with_its_system_and_turns(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    render("Modelfile",
           "FROM m\nSYSTEM be \"kind\"\nTEMPLATE \"\"\"{{ .System }}/{{ range .Messages }}{{ .Role }}="
           "{{ .Content }};{{ end }}\"\"\"\nMESSAGE user a\nMESSAGE assistant b\n",
           &out);
    assert_string_equal(out.p, "0 be \"kind\"/system=be \"kind\";user=a;assistant=b;user=hi;");
    render("x.gotmpl", "<{{ .Prompt }}>", &out);
    assert_string_equal(out.p, "0 <hi>");
    buf_free(&out);
}

static void what_cannot_be_rendered_is_told(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    render("Modelfile", "FROM m\n", &out);
    assert_non_null(strstr(out.p, "no TEMPLATE"));
    render("Modelfile", "FROM m\nTEMPLATE \"\"\"x\n", &out);
    assert_non_null(strstr(out.p, "its quotes are not closed"));
    render("Modelfile", "FROM m\nTEMPLATE x\nRENDERER qwen3-coder\n", &out);
    assert_non_null(strstr(out.p, "RENDERER qwen3-coder: Ollama builds the prompt itself"));
    render("x.gotmpl", "{{ lower .Prompt }}", &out);
    assert_non_null(strstr(out.p, "not supported here: function \"lower\" not defined"));
    render("x.gotmpl", "{{ .Prompt", &out);
    assert_non_null(strstr(out.p, "unclosed action"));
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_what_is_ollamas),
        cmocka_unit_test(a_modelfile_renders_with_its_system_and_turns),
        cmocka_unit_test(what_cannot_be_rendered_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
