/* Chat templates as transformers uses them: which one, with which variables, continued or not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/chat_template.h"
#include "tests/harness/tempdir.h"

static struct arena *arena;
static struct jinja_output output;
static struct jinja_failure failure;

static int set_up(void **state)
{
    (void)state;
    arena = arena_open((size_t)16 << 20);
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    jinja_output_free(&output);
    arena_close(arena);
    return 0;
}

static const struct json *parsed(const char *text)
{
    const struct json *out = NULL;

    assert_int_equal(json_parse_exact(str_of(text), arena, &out, NULL), OK);
    return out;
}

static int render(const char *text, const struct chat_request *request)
{
    struct chat_template *chat_template = NULL;
    const struct jinja_settings settings = {0};
    int rc = chat_template_open(&chat_template, str_of(text), &failure, NULL);

    if (rc == OK)
        rc =
            chat_template_render(chat_template, request, &settings, arena, &output, &failure, NULL);
    chat_template_close(chat_template);
    return rc;
}

static void test_absent_arguments_are_what_transformers_passes(void **state)
{
    struct chat_request request = {.messages = parsed("[]"),
                                   .special_tokens = parsed("{\"bos_token\": \"<s>\"}"),
                                   .kwargs = parsed("{\"thinking\": true}")};

    (void)state;
    assert_int_equal(render("{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ bos_token }}"
                            "{{ eos_token is defined }}{{ thinking }}",
                            &request),
                     OK);
    assert_string_equal(output.text.p, "NoneNoneFalse<s>FalseTrue");
}

#define TURNS   "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
#define TRIMMED "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</>{% endfor %}"

static void test_a_continued_message_ends_the_text(void **state)
{
    struct chat_request request = {
        .messages = parsed(
            "[{\"role\": \"u\", \"content\": \"a\"}, {\"role\": \"x\", \"content\": \"b  \"}]"),
        .continue_final_message = true};

    (void)state;
    assert_int_equal(render(TURNS, &request), OK);
    assert_string_equal(output.text.p, "<u>a</><x>b  ");
    assert_int_equal(render(TRIMMED, &request), OK);
    assert_string_equal(output.text.p, "<u>a</><x>b");
    assert_int_equal(render("{{ messages[0].content }}", &request), E_PARSE);
    assert_int_equal(failure.kind, JINJA_RUNTIME);
    request.add_generation_prompt = true;
    assert_int_equal(render(TURNS, &request), E_PARSE);
}

static void test_the_last_text_part_is_continued(void **state)
{
    struct chat_request request = {.messages =
                                       parsed("[{\"role\": \"x\", \"content\": [{\"text\": \"a\"}, "
                                              "{\"text\": \"b\"}, {\"image\": 1}]}]"),
                                   .continue_final_message = true};

    (void)state;
    assert_int_equal(
        render("{% for p in messages[0].content %}{{ p.text }}|{% endfor %}", &request), OK);
    assert_string_equal(output.text.p, "a|b");
    request.messages = parsed("[{\"role\": \"x\", \"content\": null}]");
    assert_int_equal(render(TURNS, &request), E_PARSE);
}

static const struct named_template *named(const struct chat_template_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}

static void test_templates_are_found_where_transformers_finds_them(void **state)
{
    char *dir = tempdir_make();
    struct chat_template_set set;
    const struct json *tokens;
    char path[512];

    (void)state;
    tempdir_write_text(dir, "tokenizer_config.json",
                       "{\"bos_token\": {\"content\": \"<b>\"}, \"pad_token\": null,\n"
                       " \"chat_template\": [{\"name\": \"default\", \"template\": \"D\"},\n"
                       "  {\"name\": \"tool_use\", \"template\": \"T\"}]}");
    tempdir_write_text(dir, "special_tokens_map.json",
                       "{\"bos_token\": \"<a>\", \"eos_token\": \"<e>\"}");
    snprintf(path, sizeof path, "%s/tokenizer_config.json", dir);
    assert_int_equal(chat_template_find(path, arena, &set, NULL), OK);
    assert_int_equal(set.n, 2);
    assert_true(str_is(chat_template_choose(&set, false)->text, "D"));
    assert_true(str_is(chat_template_choose(&set, true)->text, "T"));
    assert_int_equal(named(&set, "tool_use")->line, 3);

    assert_int_equal(chat_special_tokens(dir, arena, &tokens, NULL), OK);
    assert_true(str_is(json_get(tokens, "bos_token")->text, "<b>"));
    assert_true(str_is(json_get(tokens, "eos_token")->text, "<e>"));
    assert_null(json_get(tokens, "pad_token"));

    tempdir_write_text(dir, "chat_template.jinja", "J");
    tempdir_write_text(dir, "additional_chat_templates/rag.jinja", "R");
    assert_int_equal(chat_template_find(dir, arena, &set, NULL), OK);
    assert_int_equal(set.n, 2);
    assert_true(str_is(chat_template_choose(&set, true)->text, "J"));
    assert_true(str_is(named(&set, "rag")->text, "R"));
    tempdir_remove(dir);
}

static void test_a_place_without_a_template_is_told(void **state)
{
    char *dir = tempdir_make();
    struct chat_template_set set;

    (void)state;
    assert_int_equal(chat_template_find(dir, arena, &set, NULL), E_NOTFOUND);
    tempdir_write_text(dir, "tokenizer_config.json", "{\"chat_template\": null}");
    assert_int_equal(chat_template_find(dir, arena, &set, NULL), E_NOTFOUND);
    assert_int_equal(chat_template_find("/nonexistent/x.jinja", arena, &set, NULL), E_IO);
    tempdir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_absent_arguments_are_what_transformers_passes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_continued_message_ends_the_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_text_part_is_continued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_templates_are_found_where_transformers_finds_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_place_without_a_template_is_told, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
