/* The label mask on turns that a chat template renders: whose each token is, where an answer begins and ends.
 * Rows without a template are test_labels.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/word_labels.h"

static const char CHATML[] =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
/* Content joined to other text: no value is seen as it is. */
static const char JOINED[] =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}";
static const char MARKED[] =
    "{% for m in messages %}{% if m.role == 'assistant' %}<|im_start|>assistant\n{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}{{ '\n' }}{% else %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}";

struct rendering {
    struct chat_template *chat_template;
    struct labeller *labeller;
};

static struct rendering open_template(const struct label_policy *policy, const char *text)
{
    struct rendering out;
    struct jinja_failure failure;
    struct error err;

    if (chat_template_open(&out.chat_template, str_of(text), &failure, &err) != OK)
        fail_msg("%s", failure.message);
    struct labeller_parts parts = {.policy = policy,
                                   .tokenizer = word_tokenizer(),
                                   .chat_template = out.chat_template,
                                   .template_text = str_of(text)};
    assert_int_equal(labeller_open(&out.labeller, &parts, &err), OK);
    return out;
}

static void close_template(struct rendering *rendering)
{
    labeller_close(rendering->labeller);
    chat_template_close(rendering->chat_template);
}

static const char TURNS[] =
    "{\"messages\":[{\"role\":\"system\",\"content\":\"e\"},{\"role\":\"user\",\"content\":\" a b \"},"
    "{\"role\":\"assistant\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"c\"},"
    "{\"role\":\"assistant\",\"content\":\"b d\"}]}";

static void each_token_of_a_rendered_row_has_its_side(void **state)
{
    static const char *const TEMPLATES[] = {CHATML, JOINED, MARKED};
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    policy.eos_id = 4;
    for (size_t i = 0; i < sizeof TEMPLATES / sizeof TEMPLATES[0]; i++) {
        struct rendering rendering = open_template(&policy, TEMPLATES[i]);
        struct labelled_row row = label(rendering.labeller, TURNS);

        assert_labels(&row, "3+ 8+ 15+ 4+ 3+ 6+ 9+ 10+ 4+ 3+ 7+ 9+ 4+ 3+ 6+ 11+ 4+ 3+ 7+ 10+ 12+ 4+");
        assert_sides(&row, "ssss" "uuuuu" "hhaa" "uuuu" "hhaaa");
        assert_int_equal(row.n_prompt, 11);
        close_template(&rendering);
    }
}

static void an_empty_answer_still_has_its_end(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    struct rendering rendering = open_template(&policy, CHATML);
    struct labelled_row row = label(
        rendering.labeller, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                            "{\"role\":\"assistant\",\"content\":\"\"}]}");
    assert_labels(&row, "3+ 6+ 9+ 4+ 3+ 7+ 4+");
    assert_true(row.has_sides);
    close_template(&rendering);
}

static void generation_spans_are_the_assistant_mask(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    policy.assistant_only = YES;
    struct rendering rendering = open_template(&policy, MARKED);
    struct labelled_row row = label(rendering.labeller, TURNS);
    assert_labels(&row, "3- 8- 15- 4- 3- 6- 9- 10- 4- 3- 7- 9+ 4+ 3- 6- 11- 4- 3- 7- 10+ 12+ 4+");
    assert_int_equal(row.why[9], WHY_HEADER);
    assert_int_equal(row.why[6], WHY_PROMPT);
    close_template(&rendering);
    rendering = open_template(&policy, CHATML);
    row = label(rendering.labeller, TURNS);
    assert_int_equal(row.why[11], WHY_NO_SPAN);
    assert_int_equal(row.trained[11], 0);
    close_template(&rendering);
}

static void trls_own_variant_trains_up_to_the_end_of_turn(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    policy.assistant_only = YES;
    policy.template_is_patched = true;
    policy.eos_id = 4;
    struct rendering rendering = open_template(&policy, CHATML);    /* of no family: by the sides */
    struct labelled_row row = label(rendering.labeller, TURNS);
    assert_labels(&row, "3- 8- 15- 4- 3- 6- 9- 10- 4- 3- 7- 9+ 4+ 3- 6- 11- 4- 3- 7- 10+ 12+ 4+");
    close_template(&rendering);
}

static void a_pair_of_turns_begins_where_the_generation_prompt_ends(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    policy.boundary_is_prefix = true;
    struct rendering rendering = open_template(&policy, CHATML);
    struct labelled_row row = label(
        rendering.labeller, "{\"prompt\":[{\"role\":\"user\",\"content\":\"a\"}],"
                            "\"completion\":[{\"role\":\"assistant\",\"content\":\"b\"}]}");
    assert_labels(&row, "3- 6- 9- 4- 3- 7- 10+ 4+");
    assert_int_equal(row.n_prompt, 6);
    close_template(&rendering);
}

static void a_row_that_the_template_refuses_says_why(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    struct rendering rendering =
        open_template(&policy, "{{ messages[0].content }}\n{{ raise_exception('only so') }}");
    struct labelled_row row = label(rendering.labeller, TURNS);
    assert_non_null(row.refused);
    assert_non_null(strstr(row.refused, "only so"));
    assert_non_null(strstr(row.refused, "line 2"));
    row = label(rendering.labeller, "{\"messages\":[]}");
    assert_non_null(row.refused);
    close_template(&rendering);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_token_of_a_rendered_row_has_its_side),
        cmocka_unit_test(an_empty_answer_still_has_its_end),
        cmocka_unit_test(generation_spans_are_the_assistant_mask),
        cmocka_unit_test(trls_own_variant_trains_up_to_the_end_of_turn),
        cmocka_unit_test(a_pair_of_turns_begins_where_the_generation_prompt_ends),
        cmocka_unit_test(a_row_that_the_template_refuses_says_why),
    };

    return cmocka_run_group_tests(tests, word_labels_open, word_labels_close);
}
