/* The text form of a sink, and the protocol that every sink keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/store/sink.h"

static const struct run RUN = {.key = "k", .folder = "/data/run", .name = "run"};
static const struct source SOURCE = {
    .path = "/data/run/logs/train.log", .importer = "console_log", .role = "log"};

struct dump {
    struct buf text;
    struct sink *sink;
};

static int open_dump(void **state)
{
    static struct dump dump;

    buf_init(&dump.text, 1 << 20);
    assert_int_equal(sink_open_text(&dump.sink, &dump.text, NULL), OK);
    assert_int_equal(sink_begin(dump.sink, &RUN, &SOURCE, NULL), OK);
    *state = &dump;
    return 0;
}

static int close_dump(void **state)
{
    struct dump *dump = *state;

    sink_close(dump->sink);
    buf_free(&dump->text);
    return 0;
}

static void finish(struct dump *dump)
{
    assert_int_equal(sink_end(dump->sink, 99, SOURCE_WHOLE, NULL), OK);
}

static void a_source_is_one_line_with_its_path_below_the_run(void **state)
{
    struct dump *dump = *state;

    finish(dump);
    assert_string_equal(dump->text.p, "source\tconsole_log\tlogs/train.log\tlog\n"
                                      "end\twhole\tread 99\n");
}

static void a_setting_says_side_names_type_value_and_line(void **state)
{
    struct dump *dump = *state;
    struct setting setting = {.side = SIDE_TRAIN, .raw_name = "lr", .name = "learning_rate",
                              .value = "0.0002", .type = VALUE_FLOAT, .line = 3};

    assert_int_equal(sink_setting(dump->sink, &setting, NULL), OK);
    setting = (struct setting){.side = SIDE_SERVE, .raw_name = "-", .value = NULL,
                               .type = VALUE_NULL, .line = NONE};
    assert_int_equal(sink_setting(dump->sink, &setting, NULL), OK);
    assert_non_null(
        strstr(dump->text.p, "setting\ttrain\tlr\tlearning_rate\tfloat\t0.0002\tline 3\n"));
    assert_non_null(strstr(dump->text.p, "setting\tserve\t\\-\t-\tnull\t-\tline -\n"));
}

static void points_name_their_series_and_print_exactly(void **state)
{
    struct dump *dump = *state;
    struct point point = {.seq = 0, .segment = 1, .step = 10, .value = 0.1, .line = 4,
                          .wall = NAN};
    int first, again, other;

    assert_int_equal(sink_series(dump->sink, "loss", "train/loss", &first, NULL), OK);
    assert_int_equal(sink_series(dump->sink, "eval_loss", NULL, &other, NULL), OK);
    assert_int_equal(sink_series(dump->sink, "loss", "train/loss", &again, NULL), OK);
    assert_int_equal(first, again);
    assert_int_not_equal(first, other);
    assert_int_equal(sink_point(dump->sink, first, &point, NULL), OK);
    point = (struct point){.seq = 1, .step = NONE, .value = -INFINITY, .line = NONE,
                           .wall = 1.5};
    assert_int_equal(sink_point(dump->sink, other, &point, NULL), OK);
    point.value = NAN;
    assert_int_equal(sink_point(dump->sink, other, &point, NULL), OK);
    assert_non_null(strstr(dump->text.p, "series\tloss\ttrain/loss\nseries\teval_loss\t-\npoint"));
    assert_non_null(
        strstr(dump->text.p, "point\tloss\tseq 0\tsegment 1\tstep 10\t0.1\tline 4\n"));
    assert_non_null(strstr(
        dump->text.p, "point\teval_loss\tseq 1\tsegment 0\tstep -\t-inf\tline -\twall 1.5\n"));
    assert_non_null(strstr(dump->text.p, "\tnan\t"));
}

static void many_series_keep_their_handles(void **state)
{
    struct dump *dump = *state;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            char name[32];
            int handle;

            snprintf(name, sizeof name, "metric/%d", i);
            assert_int_equal(sink_series(dump->sink, name, NULL, &handle, NULL), OK);
            assert_int_equal(handle, i);
        }
}

static void hostile_text_stays_on_its_line(void **state)
{
    struct dump *dump = *state;
    struct event event = {.seq = 2, .kind = "exception", .pattern = NULL, .step = NONE,
                          .line = 7, .byte = 88, .text = "a\tb\nc\x1b[31m\\",
                          .n_captures = 2, .captures = {"", "x\ry"}};

    assert_int_equal(sink_event(dump->sink, &event, NULL), OK);
    assert_non_null(strstr(dump->text.p, "event\tseq 2\texception\t-\tstep -\tline 7\tbyte 88\t"
                                         "a\\tb\\nc\\x1b[31m\\\\\t\tx\\ry\n"));
}

static void models_and_datasets_carry_ids_of_their_source(void **state)
{
    struct dump *dump = *state;
    struct artefact artefact = {.kind = "adapter", .role = "trained", .path = "/data/run",
                                .size = 12, .step = NONE};
    struct tensor tensor = {.name = "lora_A", .dtype = "F32", .shape = "[8,16]", .n_values = 128,
                            .norm = NAN, .n_nonzero = NONE, .n_nonfinite = 0, .delta_norm = NAN};
    struct dataset dataset = {.name = "train.jsonl", .split = "train", .form = "other",
                              .n_rows = NONE, .n_unreadable = NONE};
    struct sample sample = {.at = 0, .length = 55, .flags = 0x12, .n_tokens = -1,
                            .n_prompt_tokens = 3, .n_trained = 0};
    struct generation generation = {.ord = 0, .row = 4, .step = NONE, .model = "base",
                                    .n_tokens = 9, .max_new_tokens = 16, .batch = NONE,
                                    .exact = -1, .flags = GENERATION_HAS_TEXT};
    struct judgement judgement = {.ord = 3, .item = "q1", .base = "base", .candidate = "ft",
                                  .length_base = 8, .length_candidate = NONE, .score = 0.5,
                                  .step = NONE, .line = 4};
    int64_t a, d;

    assert_int_equal(sink_artefact(dump->sink, &artefact, &a, NULL), OK);
    assert_int_equal(sink_tensor(dump->sink, a, &tensor, NULL), OK);
    assert_int_equal(sink_dataset(dump->sink, &dataset, &d, NULL), OK);
    assert_int_equal(sink_sample(dump->sink, d, &sample, NULL), OK);
    assert_int_equal(sink_dataset_done(dump->sink, d, "messages", "messages,tools", 1, 0, NULL),
                     OK);
    assert_int_equal(sink_generation(dump->sink, &generation, NULL), OK);
    assert_int_equal(sink_judgement(dump->sink, &judgement, NULL), OK);
    finish(dump);
    assert_string_equal(
        dump->text.p,
        "source\tconsole_log\tlogs/train.log\tlog\n"
        "artefact\t1\tadapter\ttrained\t.\tsize 12\tstep -\t-\n"
        "tensor\t1\tlora_A\tF32\t[8,16]\tvalues 128\tnorm nan\tnon-zero -\tnon-finite 0\n"
        "dataset\t1\ttrain.jsonl\ttrain\tother\t-\trows -\tunreadable -\n"
        "sample\t1\tat 0\tlength 55\tflags 0x12\ttokens -\tprompt 3\ttrained 0\n"
        "dataset-done\t1\tmessages\tmessages,tools\trows 1\tunreadable 0\n"
        "generation\t0\trow 4\tbase\tstep -\t-\ttokens 9\tlimit 16\tbatch -\texact -\tflags 1\n"
        "judgement\t3\tq1\tbase\tft\t0.5\tbase 8\tcandidate -\tstep -\tline 4\n"
        "end\twhole\tread 99\n");
}

static void an_aborted_source_keeps_its_notes_only(void **state)
{
    struct dump *dump = *state;
    int handle;

    assert_int_equal(sink_note(dump->sink, NOTE_WARN, 1, NONE, NULL, "first %d", 1), OK);
    assert_int_equal(sink_series(dump->sink, "loss", NULL, &handle, NULL), OK);
    assert_int_equal(sink_note(dump->sink, NOTE_ERROR, NONE, 5, NULL, "second"), OK);
    sink_abort(dump->sink);
    assert_string_equal(dump->text.p, "source\tconsole_log\tlogs/train.log\tlog\n"
                                      "note\twarn\tline 1\tbyte -\tfirst 1\n"
                                      "note\terror\tline -\tbyte 5\tsecond\n"
                                      "abort\n");
    assert_int_equal(sink_begin(dump->sink, &RUN, &SOURCE, NULL), OK);
}

static void a_failure_is_repeated_until_the_source_is_given_up(void **state)
{
    struct buf small;
    struct sink *sink;
    struct error err;
    int handle;

    (void)state;
    buf_init(&small, 60);
    assert_int_equal(sink_open_text(&sink, &small, NULL), OK);
    assert_int_equal(sink_begin(sink, &RUN, &SOURCE, NULL), OK);
    assert_int_equal(sink_note(sink, NOTE_INFO, 1, 1, &err, "%s", "longer than the rest"),
                     E_LIMIT);
    assert_int_equal(sink_series(sink, "loss", NULL, &handle, &err), E_LIMIT);
    assert_int_equal(err.status, E_LIMIT);
    assert_int_equal(sink_end(sink, 1, SOURCE_WHOLE, &err), E_LIMIT);
    sink_close(sink);
    buf_free(&small);
}

static void the_null_sink_takes_everything(void **state)
{
    struct artefact artefact = {.kind = "base", .path = "/x"};
    struct point point = {.value = 1};
    struct sink *sink;
    int64_t id, next;
    int handle;

    (void)state;
    assert_int_equal(sink_open_null(&sink, NULL), OK);
    assert_false(sink_is_current(sink, &RUN, &SOURCE));
    assert_int_equal(sink_begin(sink, &RUN, &SOURCE, NULL), OK);
    assert_int_equal(sink_series(sink, "loss", NULL, &handle, NULL), OK);
    assert_int_equal(sink_point(sink, handle, &point, NULL), OK);
    assert_int_equal(sink_artefact(sink, &artefact, &id, NULL), OK);
    assert_int_equal(sink_artefact(sink, &artefact, &next, NULL), OK);
    assert_int_not_equal(id, next);
    assert_int_equal(sink_end(sink, 0, SOURCE_WHOLE, NULL), OK);
    assert_int_equal(sink_keep_only(sink, &RUN, NULL, 0, NULL), OK);
    sink_close(sink);
    sink_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_source_is_one_line_with_its_path_below_the_run,
                                        open_dump, close_dump),
        cmocka_unit_test_setup_teardown(a_setting_says_side_names_type_value_and_line, open_dump,
                                        close_dump),
        cmocka_unit_test_setup_teardown(points_name_their_series_and_print_exactly, open_dump,
                                        close_dump),
        cmocka_unit_test_setup_teardown(many_series_keep_their_handles, open_dump, close_dump),
        cmocka_unit_test_setup_teardown(hostile_text_stays_on_its_line, open_dump, close_dump),
        cmocka_unit_test_setup_teardown(models_and_datasets_carry_ids_of_their_source, open_dump,
                                        close_dump),
        cmocka_unit_test_setup_teardown(an_aborted_source_keeps_its_notes_only, open_dump,
                                        close_dump),
        cmocka_unit_test(a_failure_is_repeated_until_the_source_is_given_up),
        cmocka_unit_test(the_null_sink_takes_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
