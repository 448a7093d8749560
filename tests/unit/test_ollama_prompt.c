/* Prompts by cases, whose expectations are what Ollama 0.17.4's own template package gave, with the
 * messages put together as its server does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "core/text/go/ollama_prompt.h"

#define CASES "tests/engines/go/prompts.json"

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);

    return value ? value->text : str_of("");
}

static int think_of(const struct json *one)
{
    const struct json *think = json_get(one, "think");

    return json_is(think, JSON_TRUE) ? 1 : json_is(think, JSON_FALSE) ? 0 : -1;
}

static int prompt_of(const struct json *one, struct buf *out, struct go_failure *failure)
{
    const struct ollama_request request = {
        .template_text = text_of(one, "template"),
        .system = text_of(one, "system"),
        .examples = json_get(one, "examples"),
        .messages = json_get(one, "messages"),
        .tools = json_get(one, "tools"),
        .think = think_of(one),
    };
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    struct error err;
    int rc = ollama_prompt(&request, arena, out, NULL, failure, &err);

    arena_close(arena);
    return rc;
}

static int check(const struct json *one)
{
    const struct json *text = json_get(one, "text");
    struct go_failure failure = {.line = 0};
    struct buf out;

    buf_init(&out, GO_OUTPUT_BYTES);
    int rc = prompt_of(one, &out, &failure);
    int right = text ? rc == OK && str_eq(text->text, buf_view(&out)) : rc == E_PARSE;

    if (!right)
        print_error("%s\n  gives %d %s\n  not %s\n  %s\n", text_of(one, "template").p, rc,
                    out.p ? out.p : "", text ? text->text.p : "an error", failure.message);
    buf_free(&out);
    return right;
}

static void prompts_are_built_as_ollama_builds_them(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    const struct json *document = NULL;
    struct error err;
    char *text;
    size_t n, n_cases = 0, n_right = 0;

    (void)state;
    assert_int_equal(source_slurp(CASES, 1 << 20, &text, &n, &err), OK);
    assert_int_equal(json_parse_exact(str_from(text, n), arena, &document, &err), OK);
    for (const struct json *one = document->child; one; one = one->next) {
        n_cases++;
        n_right += (size_t)check(one);
    }
    assert_true(n_cases > 70);
    assert_int_equal(n_right, n_cases);
    free(text);
    arena_close(arena);
}

/* ---- single ones ---- */

static int prompt(const char *template_text, const char *messages, struct buf *out,
                  struct go_failure *failure)
{
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    const struct json *list;
    struct error err;
    bool uses_messages = false;

    assert_int_equal(json_parse_exact(str_of(messages), arena, &list, &err), OK);
    const struct ollama_request request = {
        .template_text = str_of(template_text), .messages = list, .think = -1};
    int rc = ollama_prompt(&request, arena, out, &uses_messages, failure, &err);

    if (rc == OK)
        assert_int_equal(uses_messages, strstr(template_text, ".Messages") != NULL);
    arena_close(arena);
    return rc;
}

static void parts_of_a_content_are_messages_of_their_own(void **state)
{
    struct go_failure failure;
    struct buf out;

    (void)state;
    buf_init(&out, GO_OUTPUT_BYTES);
    assert_int_equal(
        prompt("{{ range .Messages }}<{{ .Content }}>{{ end }}",
               "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": "
               "\"image_url\", \"image_url\": {\"url\": \"data:;base64,aGk=\"}}]}]",
               &out, &failure),
        OK);
    assert_string_equal(out.p, "<a\n\n[img-0]>");
    assert_int_equal(prompt("{{ .Prompt }}",
                            "[{\"role\": \"user\", \"content\": [{\"type\": \"input_audio\"}]}]", &out,
                            &failure),
                     E_PARSE);
    assert_string_equal(failure.message,
                        "a part of a message's content is neither text nor image_url");
    assert_string_equal(out.p, "<a\n\n[img-0]>"); /* untouched */
    buf_free(&out);
}

static void calls_in_openais_form_have_arguments_as_text(void **state)
{
    struct go_failure failure;
    struct buf out;

    (void)state;
    buf_init(&out, GO_OUTPUT_BYTES);
    assert_int_equal(
        prompt("{{ range .Messages }}{{ .ToolCalls }}{{ .ToolName }}{{ .Content }}{{ end }}",
               "[{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c\", "
               "\"function\": {\"name\": \"f\", \"arguments\": \"{\\\"b\\\": 1, \\\"a\\\": 2}\"}}]}, "
               "{\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"!\"}]",
               &out, &failure),
        OK);
    assert_string_equal(out.p, "[{c {0 f {\"a\":2,\"b\":1}}}][]f!");
    assert_int_equal(prompt("{{ .Prompt }}",
                            "[{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": "
                            "\"f\", \"arguments\": \"{\"}}]}]",
                            &out, &failure),
                     E_PARSE);
    assert_string_equal(failure.message, "the arguments of a tool call are no JSON");
    buf_free(&out);
}

static void an_address_of_the_servers_memory_is_not_made_up(void **state)
{
    struct go_failure failure;
    struct buf out;

    (void)state;
    buf_init(&out, GO_OUTPUT_BYTES);
    assert_int_equal(
        prompt("{{ .Messages }}", "[{\"role\": \"user\", \"content\": \"x\"}]", &out, &failure),
        E_UNSUPPORTED);
    assert_int_equal(failure.kind, GO_UNSUPPORTED);
    assert_non_null(strstr(failure.message, "prints the address"));
    buf_free(&out);
}

static void a_cut_that_breaks_ollama_is_a_failure(void **state)
{
    struct go_failure failure;
    struct buf out;

    (void)state;
    buf_init(&out, GO_OUTPUT_BYTES);
    assert_int_equal(prompt("{{ if .Prompt }}{{ .Response }}{{ else }}x{{ end }}",
                            "[{\"role\": \"user\", \"content\": \"x\"}]", &out, &failure),
                     E_PARSE);
    assert_non_null(strstr(failure.message, "cannot cut"));
    buf_free(&out);
}

static void a_look_tells_what_the_template_names_itself(void **state)
{
    struct ollama_template_facts facts;
    struct go_failure failure;
    struct error err;

    (void)state;
    assert_int_equal(ollama_template_look(str_of("{{ .System }}{{ .Prompt }}"), &facts, &failure, &err),
                     OK);
    assert_true(facts.uses_system && facts.uses_prompt);
    assert_false(facts.uses_messages || facts.uses_response || facts.uses_tools);
    assert_int_equal(
        ollama_template_look(str_of("{{ range .Messages }}{{ end }}{{ if .Tools }}{{ end }}"), &facts,
                             &failure, &err),
        OK);
    assert_true(facts.uses_messages && facts.uses_tools);
    assert_int_equal(ollama_template_look(str_of("a\n{{ if }}"), &facts, &failure, &err), E_PARSE);
    assert_int_equal(failure.line, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_are_built_as_ollama_builds_them),
        cmocka_unit_test(parts_of_a_content_are_messages_of_their_own),
        cmocka_unit_test(calls_in_openais_form_have_arguments_as_text),
        cmocka_unit_test(an_address_of_the_servers_memory_is_not_made_up),
        cmocka_unit_test(a_cut_that_breaks_ollama_is_a_failure),
        cmocka_unit_test(a_look_tells_what_the_template_names_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
