/* The outputs of a notebook as a text whose places are those of the file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "importers/registry.h"
#include "importers/run/notebook_text.h"
#include "tests/harness/dumped.h"

static const char WHOLE[] =
    "{\"cells\": [\n {\"outputs\": [\n  {\"text\": [\"a\\n\",\n   \"b\\tc "
    "\\u00e4\\ud83e\\udda5\"]},\n"
    "  {\"data\": {\"text/html\": [\"<progress value='1'></progress>\\n\",\n   \"[1/2 : < :, Epoch "
    "0.5/1]\\n\",\n   \"<tr\\n>\\n\", \"<td>1</td>\\n\",\n   \"<td>x</td>\",\n \"</tr>\\n\"]}},\n"
    "  {\"traceback\": \"\\u001b[0mE: \\\"q\\\"\", \"metadata\": {\"text\": \"no\"}}\n ],\n"
    "  \"source\": [\"no\"]}\n], \"text\": \"no\", \"nbformat\": 4}\n";

/* Exactly as many bytes as the text has, so that a sanitizer sees one too many. */
static char *read_text(const char *json, size_t n, struct notebook_text *out)
{
    char *bytes = malloc(n + (n == 0));
    assert_non_null(bytes);
    memcpy(bytes, json, n);
    notebook_text(bytes, n, out);
    return bytes;
}

/* Where the part stands; it must stand there. */
static size_t place_of(const char *bytes, size_t n, const char *part)
{
    const char *at = memmem(bytes, n, part, strlen(part));
    if (at == NULL) {
        fail_msg("missing: %s", part);
    }
    return at != NULL ? (size_t)(at - bytes) : 0;
}

static size_t newlines(const char *bytes, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += bytes[i] == '\n';
    }
    return count;
}

static void outputs_stand_where_their_strings_stood(void **state)
{
    (void)state;
    struct notebook_text text;
    size_t n = sizeof WHOLE - 1;
    char *bytes = read_text(WHOLE, n, &text);
    assert_true(text.has_cells);
    assert_int_equal(text.n_outputs, 3);
    assert_false(text.is_cut);
    assert_int_equal(place_of(bytes, n, "\ra\r"), place_of(WHOLE, n, "\"a"));
    assert_int_equal(place_of(bytes, n, "b\tc \u00e4\U0001f9a5\r"), place_of(WHOLE, n, "b\\tc"));
    assert_int_equal(place_of(bytes, n, "\r[1/2 : < :, Epoch 0.5/1]"),
                     place_of(WHOLE, n, "\"[1/2"));
    assert_int_equal(place_of(bytes, n, "1\tx"), place_of(WHOLE, n, "<tr"));
    assert_int_equal(place_of(bytes, n, "\033[0mE: \"q\"\r"), place_of(WHOLE, n, "\\u001b"));
    assert_null(memmem(bytes, n, "no", 2));
    assert_int_equal(newlines(bytes, n), newlines(WHOLE, n));
    free(bytes);
}

static void whatever_breaks_off_keeps_its_lines(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof WHOLE - 1; n++) {
        struct notebook_text text;
        char *bytes = read_text(WHOLE, n, &text);
        assert_int_equal(newlines(bytes, n), newlines(WHOLE, n));
        assert_true(n == 0 || text.is_cut || n == sizeof WHOLE - 2);
        free(bytes);
    }
}

static void odd_json_is_survived(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "]]}}",
        "\"",
        "\"\\",
        "{\"cells",
        "{\"cells\":[{\"outputs\":[{\"text\":\"\\u12\"}]}]}",
        "{\"cells\":[{\"outputs\":[{\"text\":\"\\ud800x\\udc00\"}]}]}",
        ",,:,\"x\"",
        "[[\"a\"]]",
        "{\"cells\":[{\"outputs\":[{\"data\":{\"text/html\":\"<progress><tr\\n><td>\\n\\n<\"}}]}]}",
        "{\"cells\":[{\"outputs\":[{\"data\":{\"text/html\":[\"<progress><td></tr></"
        "table><tr>\"\n"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct notebook_text text;
        size_t n = strlen(odd[i]);
        char *bytes = read_text(odd[i], n, &text);
        assert_int_equal(newlines(bytes, n), newlines(odd[i], n));
        free(bytes);
    }
}

static void nesting_has_an_end(void **state)
{
    (void)state;
    char deep[4096];
    memset(deep, '[', sizeof deep);
    struct notebook_text text;
    char *bytes = read_text(deep, sizeof deep, &text);
    assert_true(text.is_cut);
    assert_null(memchr(bytes, '[', sizeof deep));
    free(bytes);
}

static void html_that_shows_no_training_is_blanked(void **state)
{
    (void)state;
    char html[] = "<table><tr><td>CUDA out of memory</td>\n</tr></table>";
    notebook_html(html, sizeof html - 1);
    assert_int_equal(strspn(html, "\r\n"), sizeof html - 1);
}

static void a_notebook_is_known_by_name_and_form(void **state)
{
    (void)state;
    static const char cells[] = "{\n \"cells\": [\n  {}]}";
    assert_true(dumped_probe(&importer_notebook, "train.ipynb", cells));
    assert_false(dumped_probe(&importer_notebook, "train.json", cells));
    assert_false(dumped_probe(&importer_notebook, "train.ipynb", "{\"a\": 1}"));
}

static void a_notebook_of_one_line_keeps_its_rows(void **state)
{
    (void)state;
    dumped_read_text(&importer_notebook, "x.ipynb",
                     "{\"cells\":[{\"outputs\":[{\"text\":\"step 5/40 loss 3.5\\nstep 6/40 loss "
                     "3.4\\n\"}]}]}");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 5\t3.5\tline 1");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 6\t3.4\tline 1");
}

static void a_second_banner_begins_a_second_training(void **state)
{
    (void)state;
    static const char text[] =
        "   \\\\   /|    Num examples = 9 | Num Epochs = 1 | Total steps = 2\n"
        "Step\tTraining Loss\n1\t0.5\n2\t0.4\n"
        "   \\\\   /|    Num examples = 9 | Num Epochs = 1 | Total steps = 2\n"
        "Step\tTraining Loss\n1\t0.6\n2\t0.5\n";
    dumped_read_text(&importer_console_log, "train.log", text);
    assert_int_equal(dumped_count("training-restart\t-\tstep 2\tline 5"), 1);
    dumped_has("point\tloss\tseq 2\tsegment 1\tstep 1\t0.6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_stand_where_their_strings_stood),
        cmocka_unit_test(whatever_breaks_off_keeps_its_lines),
        cmocka_unit_test(odd_json_is_survived),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(html_that_shows_no_training_is_blanked),
        cmocka_unit_test(a_notebook_is_known_by_name_and_form),
        cmocka_unit_test(a_notebook_of_one_line_keeps_its_rows),
        cmocka_unit_test(a_second_banner_begins_a_second_training),
    };
    return cmocka_run_group_tests(tests, dumped_set_up, dumped_tear_down);
}
