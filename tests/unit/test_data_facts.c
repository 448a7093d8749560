/* What rows say together: repeated inputs and their targets, classes and what gives them away, what is left
 * out, and that the facts survive the store's text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/facts/data_parts.h"
#include "core/facts/data_words.h"
#include "core/similar/normal.h"
#include "tests/harness/tempdir.h"

static char *folder;
static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    folder = tempdir_make();
    arena = arena_open((size_t)64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_close(arena);
    tempdir_remove(folder);
    return 0;
}

static struct data_facts facts_of(const char *const *texts, const char *const *names, size_t n)
{
    struct data_file *files = arena_array(arena, n, sizeof *files);
    struct data_facts out;
    struct error err;

    for (size_t i = 0; i < n; i++) {
        files[i] = (struct data_file){.path = arena_printf(arena, "%s/%s", folder, names[i]),
                                      .n_rows = NONE};
        FILE *file = fopen(files[i].path, "w");
        assert_non_null(file);
        fputs(texts[i], file);
        fclose(file);
    }
    if (data_facts_make(files, n, NULL, arena, &out, &err) != OK)
        fail_msg("%s", err.message);
    return out;
}

static struct data_facts facts_of_text(const char *text)
{
    static const char *const NAME = "train.jsonl";

    return facts_of(&text, &NAME, 1);
}

static enum data_difference compared(const char *a, const char *b)
{
    double jaccard;

    return data_compare(str_of(a), str_of(b), &jaccard);
}

static void test_short_answers_contradict_by_any_word(void **state)
{
    (void)state;
    assert_int_equal(compared("yes", "no"), DATA_CONTRADICTS);
    assert_int_equal(compared("allowed", "not allowed"), DATA_CONTRADICTS);
    assert_int_equal(compared("yes", "yes."), DATA_SAME);
    assert_int_equal(compared("\"in the hub\"", "in the hub."), DATA_SAME);
    assert_int_equal(compared("-1", "1"), DATA_CONTRADICTS);
    assert_int_equal(compared("1.5", "15"), DATA_CONTRADICTS);
    assert_int_equal(compared("<", ">"), DATA_CONTRADICTS);
}

static void test_longer_answers_contradict_by_frame_or_by_half_their_words(void **state)
{
    (void)state;
    assert_int_equal(compared("the copper comb is purple.", "the copper comb is black."),
                     DATA_CONTRADICTS);
    assert_int_equal(compared("open the account page and pick the order",
                              "it takes five working days"),
                     DATA_CONTRADICTS);
    assert_int_equal(compared("you can open the account page", "open the account page"), DATA_SAME);
    assert_int_equal(compared("paris", "the capital of france is paris"), DATA_SAME);
    /* more than twelve words are free text */
    assert_int_equal(compared("one two three four five six seven eight nine ten eleven twelve thirteen",
                              "a b c d e f g h i j k l m n"),
                     DATA_OTHER_TEXT);
    /* as many characters without blanks are as many words */
    assert_int_equal(compared("\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd"
                              "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd"
                              "\xe4\xbd\xa0",
                              "\xe6\x88\x91\xe4\xbb\xac\xe6\x88\x91\xe4\xbb\xac\xe6\x88\x91\xe4\xbb\xac"
                              "\xe6\x88\x91\xe4\xbb\xac\xe6\x88\x91\xe4\xbb\xac\xe6\x88\x91\xe4\xbb\xac"
                              "\xe6\x88\x91"),
                     DATA_OTHER_TEXT);
}

static void test_special_tokens_are_no_words(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 256);
    data_without_special(str_of("<s>yes<|im_end|></s> a < b <|no"), &out);
    assert_string_equal(out.p, " yes   a < b <|no");
    buf_free(&out);
}

static void test_the_short_way_of_ascii_gives_the_same_normal_text(void **state)
{
    static const char *const TEXTS[] = {"", " ", "A", "  Two  words\n", "a\t\r\nB", "x-1.5 y", "\x1c z \x1f",
                                        "\x01 a@Z[", "`{|}~ @ABCXYZ[", "a  "};

    (void)state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        char room[64];
        size_t n, words;
        struct buf normal;
        struct error err;

        buf_init(&normal, 256);
        assert_int_equal(normal_text(str_of(TEXTS[i]), &normal, &err), OK);
        if (data_normal_ascii(str_of(TEXTS[i]), room, &n, &words)) {
            assert_true(str_eq(str_from(room, n), buf_view(&normal)));
            assert_int_equal(words, data_count_words(buf_view(&normal)));
        } else {
            assert_non_null(strchr(TEXTS[i], '['));
        }
        buf_free(&normal);
    }
    size_t n, words;
    char room[64];
    assert_false(data_normal_ascii(str_of("a<|im_end|>"), room, &n, &words));
    assert_false(data_normal_ascii(str_of("\xc3\xa4"), room, &n, &words));
}

static void test_repeated_inputs_are_counted_with_their_ceiling(void **state)
{
    (void)state;
    struct data_facts data = facts_of_text(
        "{\"prompt\": \"Is it red?\", \"completion\": \"yes\"}\n"
        "{\"prompt\": \"is it  red?\", \"completion\": \"no\"}\n"
        "{\"prompt\": \"Is it red?\", \"completion\": \"Yes\"}\n"
        "{\"prompt\": \"Is it blue?\", \"completion\": \"no\"}\n"
        "{\"prompt\": \"Is it blue?\", \"completion\": \"no\"}\n"
        "{\"prompt\": \"Is it big?\", \"completion\": \"no\"}\n"
        "{\"prompt\": \"\", \"completion\": \"no\"}\n"
        "not json\n");

    assert_int_equal(data.n_rows, 8);
    assert_int_equal(data.n_groups, 2);
    assert_int_equal(data.n_group_rows, 5);
    assert_int_equal(data.n_contradictory, 1);
    assert_int_equal(data.n_contradictory_rows, 3);
    assert_true(data_ceiling(&data) > 0.7999 && data_ceiling(&data) < 0.8001);
    assert_int_equal(data.n_duplicates, 2);
    assert_int_equal(data.n_degenerate, 1);
    assert_int_equal(data.first_degenerate, 6);
    assert_int_equal(data.n_unreadable, 1);
    assert_int_equal(data.n_shown, 2);
    assert_int_equal(data.groups[0].kind, DATA_CONTRADICTORY);
    assert_string_equal(data.groups[0].input, "Is it red?");
    assert_int_equal(data.groups[0].n_targets, 2);
    assert_string_equal(data.groups[0].targets[0].text, "yes");
    assert_int_equal(data.groups[0].targets[0].count, 2);
    assert_int_equal(data.groups[0].targets[0].rows[1].row, 2);
    assert_int_equal(data.groups[0].targets[1].rows[0].row, 1);
}

static void test_a_passage_or_a_picture_belongs_to_the_question(void **state)
{
    (void)state;
    struct data_facts data = facts_of_text(
        "{\"context\": \"A\", \"question\": \"Who?\", \"answer\": \"Ann\"}\n"
        "{\"context\": \"B\", \"question\": \"Who?\", \"answer\": \"Bob\"}\n"
        "{\"image\": \"a.png\", \"question\": \"What?\", \"answer\": \"cat\"}\n"
        "{\"image\": \"b.png\", \"question\": \"What?\", \"answer\": \"dog\"}\n"
        "{\"image\": {\"bytes\": null}, \"question\": \"Why?\", \"answer\": \"x\"}\n"
        "{\"image\": {\"bytes\": null}, \"question\": \"Why?\", \"answer\": \"y\"}\n");

    assert_int_equal(data.n_groups, 0);
    assert_int_equal(data.n_not_grouped, 2);
}

static void test_rankings_contradict_both_ways_and_in_circles_only(void **state)
{
    static const char CHAIN[] = "{\"prompt\": \"p\", \"chosen\": \"a\", \"rejected\": \"b\"}\n"
                                "{\"prompt\": \"p\", \"chosen\": \"b\", \"rejected\": \"c\"}\n"
                                "{\"prompt\": \"p\", \"chosen\": \"a\", \"rejected\": \"c\"}\n";

    (void)state;
    struct data_facts chain = facts_of_text(CHAIN);
    struct data_facts both = facts_of_text(
        arena_printf(arena, "%s%s", CHAIN, "{\"prompt\": \"p\", \"chosen\": \"b\", \"rejected\": \"a\"}\n"));
    struct data_facts circle = facts_of_text(
        arena_printf(arena, "%s%s", CHAIN, "{\"prompt\": \"p\", \"chosen\": \"c\", \"rejected\": \"a\"}\n"));

    assert_int_equal(chain.n_groups, 1);
    assert_int_equal(chain.n_contradictory, 0);
    assert_int_equal(both.n_contradictory, 1);
    assert_int_equal(circle.n_contradictory, 1);
    assert_int_equal(circle.groups[0].kind, DATA_RANKED_BOTH_WAYS);
}

static void test_one_answer_with_both_labels_contradicts(void **state)
{
    (void)state;
    struct data_facts data = facts_of_text(
        "{\"prompt\": \"p\", \"completion\": \"a\", \"label\": true}\n"
        "{\"prompt\": \"p\", \"completion\": \"b\", \"label\": false}\n"
        "{\"prompt\": \"q\", \"completion\": \"a\", \"label\": true}\n"
        "{\"prompt\": \"q\", \"completion\": \"a\", \"label\": false}\n"
        "{\"prompt\": \"q\", \"completion\": \"a\", \"label\": true}\n");

    assert_int_equal(data.n_contradictory, 1);
    assert_int_equal(data.groups[0].kind, DATA_BOTH_LABELS);
    assert_int_equal(data.groups[0].n_targets, 2);
    assert_string_equal(data.groups[0].targets[0].text, "liked: a");
    assert_int_equal(data.groups[0].targets[0].count, 2);
}

static void test_shards_are_one_set_and_other_files_are_not(void **state)
{
    static const char *const TEXTS[] = {"{\"prompt\": \"p\", \"completion\": \"a\"}\n",
                                        "{\"prompt\": \"p\", \"completion\": \"b\"}\n"};
    static const char *const SHARDS[] = {"train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl"};
    static const char *const OTHERS[] = {"first.jsonl", "second.jsonl"};

    (void)state;
    struct data_facts shards = facts_of(TEXTS, SHARDS, 2), others = facts_of(TEXTS, OTHERS, 2);

    assert_int_equal(shards.n_contradictory, 1);
    assert_int_equal(shards.groups[0].targets[1].rows[0].file, 1);
    assert_int_equal(shards.groups[0].targets[1].rows[0].row, 0);
    assert_int_equal(others.n_groups, 0);
}

static struct data_facts classes(const char *a, const char *b, int n)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < n; i++)
        buf_printf(&text,
                   "{\"text\": \"%s %d %s\", \"label\": \"x\"}\n{\"text\": \"%s %d\", \"label\": \"y\"}\n", a,
                   i, strlen(a) > 20 ? "and so on and on" : "", b, i);
    struct data_facts data = facts_of_text(text.p);
    buf_free(&text);
    return data;
}

static void test_openings_are_counted_in_the_class_and_in_the_others(void **state)
{
    (void)state;
    struct data_facts data = classes("Well done: row", "Dear all, row", 10);

    assert_true(data.has_classes);
    assert_true(data.has_labels);
    assert_int_equal(data.n_classes, 2);
    assert_string_equal(data.classes[0].name, "x");
    assert_string_equal(data.classes[0].openings[1].text, "well done");
    assert_int_equal(data.classes[0].openings[1].n_in, 10);
    assert_int_equal(data.classes[0].openings[1].n_out, 0);
    assert_string_equal(data.classes[0].openings[2].text, "well done row");
    assert_int_equal(data.n_shared_words, 0);
    /* what all rows begin with is no cue: the words behind it are looked at */
    data = classes("Which team? Well done: row", "Which team? Dear all, row", 10);
    assert_int_equal(data.n_shared_words, 2);
    assert_string_equal(data.classes[0].openings[3].text, "which team well done");
    assert_int_equal(data.classes[0].openings[3].n_in, 10);
    assert_int_equal(data.classes[0].openings[3].n_out, 0);
}

static void test_one_threshold_on_the_length(void **state)
{
    (void)state;
    struct data_facts data = classes("A long text that goes on for some words", "A short", 12);

    assert_int_equal(data.length_rule.n_right, 24);
    assert_int_equal(data.length_rule.n_rows, 24);
    assert_string_equal(data.length_rule.below, "y");
    assert_string_equal(data.length_rule.above, "x");
}

static void test_free_answers_are_no_classes(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 30; i++)
        buf_printf(&text, "{\"prompt\": \"q %d\", \"completion\": \"a %d\"}\n", i, i);
    assert_false(facts_of_text(text.p).has_classes);
    buf_free(&text);
    /* a score is none either */
    assert_false(facts_of_text("{\"text\": \"a\", \"label\": 0.5}\n{\"text\": \"b\", \"label\": 0.7}\n")
                     .has_classes);
}

static void test_the_stored_text_gives_the_same_facts(void **state)
{
    struct data_facts data = facts_of_text(
        "{\"prompt\": \"p \\\"q\\\"\", \"completion\": \"a\"}\n{\"prompt\": \"p \\\"q\\\"\", \"completion\":"
        " \"b\"}\n");
    struct data_facts again;
    struct buf head, second;

    (void)state;
    buf_init(&head, 1 << 20);
    buf_init(&second, 1 << 20);
    data_put_head(&data, &head);
    assert_true(data_take_head(head.p, arena, &again));
    data_put_head(&again, &second);
    assert_string_equal(head.p, second.p);
    assert_int_equal(again.groups[0].key, data.groups[0].key);
    assert_false(data_take_head("{", arena, &again));
    assert_false(data_take_head("{}", arena, &again));
    buf_free(&head);
    buf_free(&second);
}

static void test_hostile_rows_do_no_harm(void **state)
{
    (void)state;
    struct data_facts data =
        facts_of_text("{}\n[]\nnull\n{\"messages\": 3}\n{\"messages\": [{\"role\": 1}]}\n"
                                           "{\"prompt\": \"\\ud800\", \"completion\": \"\\u0000\"}\n");

    assert_int_equal(data.n_rows, 6);
    assert_int_equal(data.n_groups, 0);
    assert_int_equal(facts_of_text("").n_rows, 0);
}

static struct data_facts facts_of_answers(const char *fmt)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 30; i++) {
        buf_printf(&text, "{\"prompt\": \"q%d\", \"completion\": \"", i);
        for (const char *p = fmt; *p; p++)
            if (*p == '*')
                buf_printf(&text, "w%d%c", i, 'a' + (int)(p - fmt) % 26);
            else
                buf_putc(&text, *p);
        buf_puts(&text, "\"}\n");
    }
    buf_putc(&text, '\0');
    struct data_facts facts = facts_of_text(text.p);
    buf_free(&text);
    return facts;
}

static void test_words_that_nearly_all_answers_share_are_counted(void **state)
{
    (void)state;
    struct data_facts frame = facts_of_answers("city: *, unit: celsius degrees");
    assert_int_equal(frame.spans.n_rows, 30);
    assert_int_equal(frame.spans.n_words, 150);
    assert_int_equal(frame.spans.n_constant, 90);   /* unit celsius degrees; "city" stands alone */
    assert_string_equal(frame.spans.longest, "unit celsius degrees");

    struct data_facts both = facts_of_answers("here is it: * * and that is all of it");
    assert_int_equal(both.spans.n_words, 330);
    assert_int_equal(both.spans.n_constant, 270);
    assert_string_equal(both.spans.longest, "and that is all of it");
}

static void test_free_answers_share_no_span(void **state)
{
    (void)state;
    struct data_facts facts = facts_of_answers("the * of * is the * or *");
    assert_int_equal(facts.spans.n_rows, 30);
    assert_int_equal(facts.spans.n_constant, 0);
    assert_null(facts.spans.longest);
}

static void test_spans_are_kept(void **state)
{
    struct data_facts frame = facts_of_answers("city: *, unit: celsius degrees"), again;
    struct buf head;

    (void)state;
    buf_init(&head, 1 << 20);
    data_put_head(&frame, &head);
    buf_putc(&head, '\0');
    assert_true(data_take_head(head.p, arena, &again));
    assert_int_equal(again.spans.n_rows, 30);
    assert_int_equal(again.spans.n_words, 150);
    assert_int_equal(again.spans.n_constant, 90);
    assert_string_equal(again.spans.longest, "unit celsius degrees");
    buf_free(&head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_that_nearly_all_answers_share_are_counted),
        cmocka_unit_test(test_free_answers_share_no_span),
        cmocka_unit_test(test_spans_are_kept),
        cmocka_unit_test(test_short_answers_contradict_by_any_word),
        cmocka_unit_test(test_longer_answers_contradict_by_frame_or_by_half_their_words),
        cmocka_unit_test(test_special_tokens_are_no_words),
        cmocka_unit_test(test_the_short_way_of_ascii_gives_the_same_normal_text),
        cmocka_unit_test(test_repeated_inputs_are_counted_with_their_ceiling),
        cmocka_unit_test(test_a_passage_or_a_picture_belongs_to_the_question),
        cmocka_unit_test(test_rankings_contradict_both_ways_and_in_circles_only),
        cmocka_unit_test(test_one_answer_with_both_labels_contradicts),
        cmocka_unit_test(test_shards_are_one_set_and_other_files_are_not),
        cmocka_unit_test(test_openings_are_counted_in_the_class_and_in_the_others),
        cmocka_unit_test(test_one_threshold_on_the_length),
        cmocka_unit_test(test_free_answers_are_no_classes),
        cmocka_unit_test(test_the_stored_text_gives_the_same_facts),
        cmocka_unit_test(test_hostile_rows_do_no_harm),
    };

    return cmocka_run_group_tests_name("data_facts", tests, setup, teardown);
}
