/* The prompt of training against the prompt of serving, found among a run's files: what is recorded,
 * captured, in the rows, or rendered by the templates of the two sides. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/facts/prompt_pair.h"
#include "core/store/sink.h"
#include "core/store/store.h"
#include "importers/folder.h"
#include "tests/harness/tempdir.h"

#define CHATML                                                                                     \
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + " \
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
#define CHATML_DEFAULT                                                                             \
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}"   \
    "{% endif %}" CHATML
#define VICUNA                                                                                     \
    "{% for m in messages %}{% if m['role'] == 'user' %}USER: {{ m['content'] }} {% else %}"        \
    "ASSISTANT: {{ m['content'] }}</s>{% endif %}{% endfor %}"                                      \
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
#define ROW                                                                                        \
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Where?\"}, "                               \
    "{\"role\": \"assistant\", \"content\": \"Here.\"}]}\n"
#define ROW_SYSTEM                                                                                 \
    "{\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, "                          \
    "{\"role\": \"user\", \"content\": \"Where?\"}, "                                               \
    "{\"role\": \"assistant\", \"content\": \"Here.\"}]}\n"

struct opened {
    char *folder, *kept;
    struct arena *arena;
    struct store *store;
    struct sink *sink;
    struct plan plan;
    struct run_facts *facts;
    const struct prompt_pair *pair;
};

static void put(struct opened *o, const char *name, const char *text)
{
    if (!o->folder) {
        o->folder = tempdir_make();
        o->kept = tempdir_make();
    }
    tempdir_write_text(o->folder, name, text);
}

static void put_rows(struct opened *o, const char *name, const char *row, size_t n)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < n; i++)
        buf_puts(&text, row);
    put(o, name, text.p);
    buf_free(&text);
}

static const struct prompt_pair *open_pair(struct opened *o)
{
    struct error err = {0};
    struct run run;
    const char *folder = o->folder;
    const struct store_options options = {.in_memory = true,
                                          .kept_path = tempdir_path(o->kept, "kept.db")};

    o->arena = arena_open((size_t)64 << 20);
    assert_int_equal(store_open(&o->store, &options, &err), OK);
    assert_int_equal(sink_open_store(&o->sink, o->store, &err), OK);
    assert_int_equal(plan_make(&folder, 1, NULL, o->arena, &o->plan, &err), OK);
    assert_int_equal(plan_import(&o->plan, o->sink, false, NULL, &err), OK);
    assert_true(o->plan.n_runs >= 1);
    assert_int_equal(store_run_find(o->store, o->plan.runs[0].run.key, o->arena, &run, &err), OK);
    assert_int_equal(run_facts_open(&o->facts, o->store, run.id, &err), OK);
    o->pair = facts_prompt_pair(o->facts);
    assert_non_null(o->pair);
    assert_ptr_equal(o->pair, facts_prompt_pair(o->facts));
    return o->pair;
}

static void close_pair(struct opened *o)
{
    run_facts_close(o->facts);
    sink_close(o->sink);
    store_close(o->store);
    arena_close(o->arena);
    tempdir_remove(o->folder);
    tempdir_remove(o->kept);
}

static void put_training(struct opened *o, const char *template)
{
    put(o, "run/trainer_state.json",
        "{\"log_history\": [{\"loss\": 1.5, \"step\": 1}, {\"loss\": 1.2, \"step\": 2}]}");
    put(o, "run/tokenizer_config.json", "{\"eos_token\": \"<|im_end|>\"}");
    put(o, "run/chat_template.jinja", template);
}

/* ---- What stands in files ---- */

static void recorded_prompts_are_taken_byte_for_byte(void **state)
{
    struct opened o = {0};

    (void)state;
    put(&o, "prompt_train.txt", "USER: a ASSISTANT: b</s>\n");
    put(&o, "prompt_infer.txt", "USER: a ASSISTANT:");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->train.origin, PROMPT_RECORDED);
    assert_true(str_is(pair->train.side.text, "USER: a ASSISTANT: b</s>\n"));
    assert_int_equal(pair->comparison.difference, PROMPTS_EQUAL);
    assert_true(pair->is_same_conversation);
    assert_true(isnan(pair->system_share));
    close_pair(&o);
}

static void an_absent_side_says_what_to_import(void **state)
{
    struct opened o = {0};

    (void)state;
    put(&o, "prompt_infer.txt", "USER: a ASSISTANT:");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->train.origin, PROMPT_ABSENT);
    assert_non_null(strstr(pair->train.missing, "prompt_train.txt"));
    assert_int_equal(pair->comparison.difference, PROMPTS_UNKNOWN);
    close_pair(&o);
}

static void a_text_row_is_the_training_prompt_itself(void **state)
{
    struct opened o = {0};

    (void)state;
    put_rows(&o, "train.jsonl",
             "{\"text\": \"### Instruction:\\nSay.\\n\\n### Response:\\nYes\"}\n", 8);
    put(&o, "request.json",
        "{\"model\": \"m\", \"prompt\": \"### Instruction:\\nGo.\\n\\n### Response:\\n\", "
        "\"max_tokens\": 9}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->train.origin, PROMPT_ROWS);
    assert_int_equal(pair->train.row, 0);
    assert_int_equal(pair->serve.origin, PROMPT_REQUEST);
    assert_int_equal(pair->rows_family, FAMILY_ALPACA);
    assert_int_equal(pair->comparison.difference, PROMPTS_OTHER_TEXT);
    close_pair(&o);
}

static void shares_are_counted_over_all_rows(void **state)
{
    struct opened o = {0};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 100; i++) {
        buf_puts(&text, i % 4 ? ROW_SYSTEM : ROW);
        if (i == 50)
            buf_puts(&text, "{\"messages\": [{\"role\"\n");
    }
    put(&o, "train.jsonl", text.p);
    buf_free(&text);
    const struct prompt_pair *pair = open_pair(&o);
    assert_true(fabs(pair->system_share - 0.75) < 1e-9);
    assert_true(fabs(pair->system_constant_share - 0.75) < 1e-9);
    assert_string_equal(pair->system_text, "Be brief.");
    assert_int_equal(pair->n_seen, 100);
    assert_true(pair->rows_are_templated);
    assert_int_equal(pair->rows_family, FAMILY_NONE);
    close_pair(&o);
}

static void markers_inside_of_turns_are_told(void **state)
{
    struct opened o = {0};

    (void)state;
    put_rows(&o, "train.jsonl",
             "{\"messages\": [{\"role\": \"user\", \"content\": \"[INST] Where? [/INST]\"}, "
             "{\"role\": \"assistant\", \"content\": \"Here.\"}]}\n",
             10);
    assert_int_equal(open_pair(&o)->rows_family, FAMILY_INST);
    close_pair(&o);
}

static void a_request_tells_of_its_system_turn_without_a_template(void **state)
{
    struct opened o = {0};

    (void)state;
    put(&o, "request.json",
        "{\"request\": {\"model\": \"m\", \"messages\": [{\"role\": \"system\", \"content\": \"Hm.\"}, "
        "{\"role\": \"user\", \"content\": \"a\"}], \"stream\": false}}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->request_has_system, 1);
    assert_string_equal(pair->request_system, "Hm.");
    assert_int_equal(pair->serve.origin, PROMPT_ABSENT);
    close_pair(&o);
}

/* ---- What is rendered ---- */

static void both_sides_are_rendered_from_the_same_messages(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW, 6);
    put(&o, "serve/chat_template.jinja", VICUNA);
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->train.origin, PROMPT_RENDERED);
    assert_int_equal(pair->serve.origin, PROMPT_RENDERED);
    assert_true(str_starts(pair->train.side.text, "<|im_start|>user\nWhere?<|im_end|>\n"));
    assert_true(str_is(pair->serve.side.text, "USER: Where? ASSISTANT:"));
    assert_int_equal(pair->comparison.difference, PROMPTS_OTHER_FAMILY);
    assert_true(pair->is_same_conversation);
    assert_int_equal(pair->serve_template, FAMILY_VICUNA);
    close_pair(&o);
}

static void the_same_template_on_both_sides_is_equal(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW_SYSTEM, 6);
    put(&o, "serve.json", "{\"engine\": \"vllm\", \"model\": \"run\"}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->serve.origin, PROMPT_RENDERED);
    assert_false(pair->serve.is_assumed);
    assert_int_equal(pair->comparison.difference, PROMPTS_EQUAL);
    assert_true(pair->serve.side.shape.ends_with_header);
    close_pair(&o);
}

static void a_default_system_text_of_one_template_is_seen(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW, 6);
    put(&o, "serve/chat_template.jinja", CHATML_DEFAULT);
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->comparison.difference, PROMPTS_SYSTEM_ONE_SIDE);
    assert_true(pair->serve.inserts_system);
    assert_false(pair->train.inserts_system);
    close_pair(&o);
}

static void a_request_is_rendered_as_it_asks(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW, 6);
    put(&o, "serve/chat_template.jinja", CHATML);
    put(&o, "request.json",
        "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"Why?\"}], "
        "\"add_generation_prompt\": false, \"max_tokens\": 5}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->serve.origin, PROMPT_REQUEST);
    assert_true(str_is(pair->serve.side.text, "<|im_start|>user\nWhy?<|im_end|>\n"));
    assert_int_equal(pair->comparison.difference, PROMPTS_NO_HEADER);
    close_pair(&o);
}

static void a_request_without_a_served_template_takes_the_training_one_and_says_so(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW, 6);
    put(&o, "request.json",
        "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"Why?\"}], "
        "\"max_tokens\": 5}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->serve.origin, PROMPT_REQUEST);
    assert_true(pair->serve.is_assumed);
    close_pair(&o);
}

static void a_template_of_the_request_wins(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW, 6);
    put(&o, "serve/chat_template.jinja", CHATML);
    put(&o, "request.json",
        "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"Why?\"}], "
        "\"chat_template\": \"{% for m in messages %}Human: {{ m.content }}{% endfor %}\\n\\n"
        "Assistant:\", \"max_tokens\": 5}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_true(str_is(pair->serve.side.text, "Human: Why?\nAssistant:"));
    close_pair(&o);
}

static void a_template_that_refuses_leaves_its_message(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW_SYSTEM, 6);
    put(&o, "serve/chat_template.jinja",
        "{% if messages[0]['role'] == 'system' %}\n{{ raise_exception('no system here') }}{% endif %}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_int_equal(pair->serve.origin, PROMPT_ABSENT);
    assert_non_null(pair->serve.failure);
    assert_non_null(strstr(pair->serve.failure, "no system here"));
    close_pair(&o);
}

static void a_served_tokenizer_without_a_template_is_told(void **state)
{
    struct opened o = {0};

    (void)state;
    put_training(&o, CHATML);
    put_rows(&o, "data/train.jsonl", ROW, 6);
    put(&o, "serve/tokenizer_config.json", "{\"eos_token\": \"</s>\"}");
    const struct prompt_pair *pair = open_pair(&o);
    assert_non_null(pair->bare_serve);
    assert_int_equal(pair->serve.origin, PROMPT_ABSENT);
    close_pair(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_prompts_are_taken_byte_for_byte),
        cmocka_unit_test(an_absent_side_says_what_to_import),
        cmocka_unit_test(a_text_row_is_the_training_prompt_itself),
        cmocka_unit_test(shares_are_counted_over_all_rows),
        cmocka_unit_test(markers_inside_of_turns_are_told),
        cmocka_unit_test(a_request_tells_of_its_system_turn_without_a_template),
        cmocka_unit_test(both_sides_are_rendered_from_the_same_messages),
        cmocka_unit_test(the_same_template_on_both_sides_is_equal),
        cmocka_unit_test(a_default_system_text_of_one_template_is_seen),
        cmocka_unit_test(a_request_is_rendered_as_it_asks),
        cmocka_unit_test(a_request_without_a_served_template_takes_the_training_one_and_says_so),
        cmocka_unit_test(a_template_of_the_request_wins),
        cmocka_unit_test(a_template_that_refuses_leaves_its_message),
        cmocka_unit_test(a_served_tokenizer_without_a_template_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
