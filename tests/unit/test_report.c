/* The report in its four forms: golden files, hostile texts, masked secrets, limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/exports/report.h"
#include "tests/harness/golden.h"
#include "tests/harness/stored_run.h"

#define SECRET "hf_abcdefghijklmnopqrstuvwx12"

struct fixture {
    struct stored_run *run;
    struct buf out;
    struct report_options options;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    f->run = stored_run_open();
    buf_init(&f->out, (size_t)8 << 20);
    f->options = (struct report_options){
        .redact = {.secrets = true}, .columns = 80, .argument = f->run->folder, .version = "0.0.0"};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    stored_run_close(f->run);
    buf_free(&f->out);
    free(f);
    return 0;
}

/* ---- Writing ---- */

typedef int report_fn(struct buf *out, struct store *store, const int64_t *run_ids, size_t n,
                      const struct report_options *options, struct error *err);

static const struct {
    const char *name;
    report_fn *write;
} FORMS[] = {
    {"markdown", report_markdown}, {"json", report_json}, {"tsv", report_tsv}, {"text", report_text}};

#define N_FORMS 4

static const char *written(struct fixture *f, report_fn *write)
{
    struct error err;

    buf_clear(&f->out);
    if (write(&f->out, f->run->store, &f->run->run.id, 1, &f->options, &err) != OK)
        fail_msg("%s", err.message);
    assert_false(f->out.failed);
    return f->out.p;
}

/* What differs from machine to machine or grows with the registry is put aside: the temporary
 * folder is DIR, the table of the stages is left out. */
static char *stable(const struct fixture *f, const char *text)
{
    struct str rest = str_of(text), line;
    struct buf out;

    buf_init(&out, (size_t)1 << 20);
    while (str_split(&rest, '\n', &line)) {
        ptrdiff_t at = str_find(line, f->run->folder);

        if (str_starts(line, "| ") || (line.n > 4 && str_starts(line, "  ") && line.p[3] == ' ' &&
                                       strchr("01234567P", line.p[2])))
            continue;
        if (at >= 0) {
            buf_str(&out, str_first(line, (size_t)at));
            buf_puts(&out, "DIR");
            line = str_skip(line, (size_t)at + strlen(f->run->folder));
        }
        buf_str(&out, line);
        if (rest.p)
            buf_putc(&out, '\n');
    }
    return buf_steal(&out);
}

static void compare(struct fixture *f, report_fn *write, const char *golden)
{
    char *text = stable(f, written(f, write));

    assert_non_null(text);
    golden_compare(golden, text);
    free(text);
}

static void put_plain(struct fixture *f)
{
    stored_run_put(f->run, "qwen-sft-07", "train.log");
    stored_run_findings(f->run, "the loss is NaN from step 30 on, 2 of 4 rows");
    stored_run_remarks(f->run, "seen on both GPUs");
    f->options.only = "run-incomplete,oom-train,nan-onset,nan-fp16-overflow,nan-high-lr";
}

static void each_form_is_as_it_was_accepted(void **state)
{
    struct fixture *f = *state;

    put_plain(f);
    compare(f, report_markdown, "report/plain.md");
    compare(f, report_text, "report/plain.txt");
    compare(f, report_tsv, "report/plain.tsv");
    compare(f, report_json, "report/plain.json");
}

static void a_run_without_a_fault_says_so(void **state)
{
    struct fixture *f = *state;
    const char *const missing[] = {"the training rows"};
    struct check_result result = {.check_id = "nan-high-lr", .verdict = VERDICT_UNKNOWN,
                                  .finding = "no learning rate", .branch = "", .from_step = NONE,
                                  .missing = missing, .n_missing = 1};

    stored_run_put(f->run, "fine", "train.log");
    stored_run_results(f->run, &result, 1);
    compare(f, report_markdown, "report/fine.md");
    compare(f, report_text, "report/fine.txt");
}

/* A rate outside its usual range is the cause of nothing known: no headline, but not silence. */
static void a_warning_that_is_no_headline_is_still_told(void **state)
{
    struct fixture *f = *state;
    struct check_result result = {.check_id = "hyperparams-range", .verdict = VERDICT_WARN,
                                  .confidence = CONFIDENCE_POSSIBLE,
                                  .finding = "9 epochs; usual are 1 to 3", .branch = "",
                                  .from_step = NONE};
    const char *text;

    stored_run_put(f->run, "fine", "train.log");
    stored_run_results(f->run, &result, 1);
    for (size_t i = 0; i < N_FORMS; i++)
        assert_non_null(strstr(written(f, FORMS[i].write), "9 epochs; usual are 1 to 3"));
    text = written(f, report_text);
    assert_null(strstr(text, "cause  "));
    assert_non_null(strstr(text, "independent, look next  warn  stage 7  hyperparams-range"));
}

static void the_same_store_gives_the_same_bytes(void **state)
{
    struct fixture *f = *state;

    put_plain(f);
    f->options.only = NULL;
    for (size_t i = 0; i < N_FORMS; i++) {
        char *first = strdup(written(f, FORMS[i].write));

        assert_string_equal(written(f, FORMS[i].write), first);
        free(first);
    }
}

static void a_report_about_no_run_is_whole(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < N_FORMS; i++) {
        buf_clear(&f->out);
        assert_int_equal(FORMS[i].write(&f->out, f->run->store, NULL, 0, &f->options, NULL), OK);
    }
}

static void a_run_that_is_not_there_is_an_error(void **state)
{
    struct fixture *f = *state;
    const int64_t id = 99;

    for (size_t i = 0; i < N_FORMS; i++) {
        buf_clear(&f->out);
        assert_int_not_equal(FORMS[i].write(&f->out, f->run->store, &id, 1, &f->options, NULL), OK);
    }
}

/* ---- Hostile texts ---- */

#define HOSTILE "`a` ``b`` ```c | d <script>alert(1)</script> [x](http://y) *z* \x1b[31m\x07 " \
                "\xe2\x80\xae" "rtl \xff\xc3 \n# heading\n| cell |\r\x01 \t end"

static void put_hostile(struct fixture *f)
{
    stored_run_put(f->run, "evil` | <b>\n\x1b[2J\xe2\x80\xae" "name", "log` | \n<i>.txt");
    stored_run_findings(f->run, HOSTILE);
    stored_run_remarks(f->run, HOSTILE);
}

static void hostile_texts_reach_no_form_raw(void **state)
{
    struct fixture *f = *state;

    put_hostile(f);
    for (size_t i = 0; i < N_FORMS; i++) {
        written(f, FORMS[i].write);
        for (size_t k = 0; k < f->out.n; k++) {
            unsigned char c = (unsigned char)f->out.p[k];

            if (c == 0x7f || (c < ' ' && c != '\n' && (c != '\t' || FORMS[i].write != report_tsv)))
                fail_msg("%s: byte %zu is 0x%02x", FORMS[i].name, k, c);
        }
        assert_true(unicode_is_valid(buf_view(&f->out)));
        if (FORMS[i].write != report_json)
            assert_null(strstr(f->out.p, "\xe2\x80\xae"));
    }
}

/* Every line belongs to the report, none to a text: a text never breaks out of its line. */
static void a_text_stays_on_its_line(void **state)
{
    struct fixture *f = *state;

    put_hostile(f);
    written(f, report_tsv);
    for (struct str rest = buf_view(&f->out), line; str_split(&rest, '\n', &line) && rest.p;) {
        size_t n_tabs = 0;

        for (size_t i = 0; i < line.n; i++)
            n_tabs += line.p[i] == '\t';
        assert_int_equal(n_tabs, 9);
    }
    written(f, report_text);
    assert_null(strstr(f->out.p, "\n# heading"));
    assert_null(strstr(f->out.p, "\n| cell"));
}

static void markdown_of_hostile_texts_is_no_markup(void **state)
{
    struct fixture *f = *state;
    bool is_fenced = false;
    size_t fence = 0;

    put_hostile(f);
    written(f, report_markdown);
    for (struct str rest = buf_view(&f->out), line; str_split(&rest, '\n', &line);) {
        size_t ticks = 0, spans = 0;

        while (ticks < line.n && line.p[ticks] == '`')
            ticks++;
        if (ticks >= 3 && !is_fenced) {
            is_fenced = true;
            fence = ticks;
            continue;
        }
        if (is_fenced) {
            is_fenced = !(ticks >= fence && ticks == line.n);
            continue;
        }
        assert_false(str_starts(line, "# heading"));
        assert_false(str_starts(line, "| cell"));
        /* outside of code spans no sign of HTML or links stands without its backslash */
        for (size_t i = 0; i < line.n; i++) {
            size_t n = 0;

            if (line.p[i] == '\\' && !spans) {
                i++;
                continue;
            }
            while (i + n < line.n && line.p[i + n] == '`')
                n++;
            if (n) {
                spans = spans == n ? 0 : spans ? spans : n;
                i += n - 1;
            } else if (!spans && strchr("<>[]", line.p[i])) {
                fail_msg("raw %c in: %.*s", line.p[i], (int)line.n, line.p);
            }
        }
        if (spans)
            fail_msg("an open code span in: %.*s", (int)line.n, line.p);
    }
    assert_false(is_fenced);
}

/* ---- Secrets, anonymous reports ---- */

static void secrets_are_masked_in_every_form_unless_asked_not_to(void **state)
{
    struct fixture *f = *state;

    stored_run_put(f->run, "run", "train.log");
    stored_run_findings(f->run, "HF_TOKEN=" SECRET " python train.py");
    stored_run_remarks(f->run, "my key is " SECRET);
    for (size_t i = 0; i < N_FORMS; i++) {
        f->options.redact.secrets = true;
        written(f, FORMS[i].write);
        if (strstr(f->out.p, SECRET))
            fail_msg("%s shows the secret", FORMS[i].name);
        assert_non_null(strstr(f->out.p, "[masked]"));
        f->options.redact.secrets = false;
        written(f, FORMS[i].write);
        if (!strstr(f->out.p, SECRET))
            fail_msg("%s masks although it should not", FORMS[i].name);
    }
}

static void an_anonymous_report_does_not_name_the_folder(void **state)
{
    struct fixture *f = *state;

    put_plain(f);
    f->options.argument = NULL;         /* paths would be absolute */
    f->options.redact.anonymous = true;
    for (size_t i = 0; i < N_FORMS; i++) {
        written(f, FORMS[i].write);
        if (strstr(f->out.p, f->run->folder))
            fail_msg("%s names the folder", FORMS[i].name);
    }
}

/* ---- Charts, colours, limits ---- */

static void draw_chart(struct buf *out, const struct run_facts *facts, const char *metric,
                       bool unicode)
{
    (void)facts;
    buf_printf(out, "chart of %s, %s\n```\n", metric, unicode ? "braille" : "ascii");
}

static void a_chart_stands_in_a_fence_longer_than_its_own(void **state)
{
    struct fixture *f = *state;

    put_plain(f);
    f->options.chart = draw_chart;
    written(f, report_markdown);
    assert_null(strstr(f->out.p, "chart of"));          /* the headline has no series */
    assert_int_equal(
        store_tick_set(f->run->store, f->run->run.key, "nan-fp16-overflow", "dismissed", "no", NULL), OK);
    written(f, report_markdown);
    assert_non_null(strstr(f->out.p, "````text\nchart of loss, ascii\n```\n````\n"));
    f->options.unicode_charts = true;
    written(f, report_markdown);
    assert_non_null(strstr(f->out.p, "chart of loss, braille"));
}

static void colours_are_only_there_when_asked_for_and_are_closed(void **state)
{
    struct fixture *f = *state;
    size_t n_open = 0, n_close = 0;

    put_plain(f);
    assert_null(strchr(written(f, report_text), '\x1b'));
    f->options.colour = true;
    for (const char *p = strchr(written(f, report_text), '\x1b'); p; p = strchr(p + 1, '\x1b'))
        *(strncmp(p, "\x1b[0m", 4) == 0 ? &n_close : &n_open) += 1;
    assert_true(n_open > 0);
    assert_true(n_close >= n_open);
}

static void long_sentences_are_folded_to_the_width(void **state)
{
    struct fixture *f = *state;
    struct str rest, line;

    stored_run_put(f->run, "run", "train.log");
    stored_run_findings(f->run, "one two three four five six seven eight nine ten eleven twelve thirteen "
                    "fourteen fifteen sixteen seventeen eighteen nineteen twenty");
    f->options.columns = 76;
    written(f, report_text);
    rest = buf_view(&f->out);
    while (str_split(&rest, '\n', &line))
        if (unicode_count(line) > 76 && !(line.n > 3 && strchr("01234567P", line.p[2])))
            fail_msg("%.*s", (int)line.n, line.p);
}

/* Texts beyond the arena of a report end in an error, not in a crash. */
static void a_report_larger_than_its_limit_is_an_error(void **state)
{
    struct fixture *f = *state;
    size_t length = 60000, n = 600;
    char *text = malloc(length + 1);
    struct evidence *evidence = calloc(n, sizeof *evidence);
    struct check_result result = {.check_id = "nan-onset", .verdict = VERDICT_FAIL,
                                  .confidence = CONFIDENCE_CERTAIN, .finding = "x", .branch = "",
                                  .from_step = NONE, .evidence = evidence, .n_evidence = n};

    assert_true(text && evidence);
    memset(text, 'e', length);
    text[length] = '\0';
    stored_run_put(f->run, "run", "train.log");
    for (size_t i = 0; i < n; i++)
        evidence[i] = stored_run_evidence(f->run->log, 1, NONE, text);
    stored_run_results(f->run, &result, 1);
    buf_free(&f->out);
    buf_init(&f->out, (size_t)256 << 20);
    for (size_t i = 0; i < N_FORMS; i++) {
        struct error err;
        int rc;

        buf_clear(&f->out);
        rc = FORMS[i].write(&f->out, f->run->store, &f->run->run.id, 1, &f->options, &err);
        if (FORMS[i].write == report_json)
            assert_int_not_equal(rc, OK);
        else if (FORMS[i].write == report_markdown && rc == OK)
            assert_non_null(strstr(f->out.p, "and 500 more"));
    }
    free(evidence);
    free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_form_is_as_it_was_accepted),
        TEST(a_run_without_a_fault_says_so),
        TEST(a_warning_that_is_no_headline_is_still_told),
        TEST(the_same_store_gives_the_same_bytes),
        TEST(a_report_about_no_run_is_whole),
        TEST(a_run_that_is_not_there_is_an_error),
        TEST(hostile_texts_reach_no_form_raw),
        TEST(a_text_stays_on_its_line),
        TEST(markdown_of_hostile_texts_is_no_markup),
        TEST(secrets_are_masked_in_every_form_unless_asked_not_to),
        TEST(an_anonymous_report_does_not_name_the_folder),
        TEST(a_chart_stands_in_a_fence_longer_than_its_own),
        TEST(colours_are_only_there_when_asked_for_and_are_closed),
        TEST(long_sentences_are_folded_to_the_width),
        TEST(a_report_larger_than_its_limit_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
