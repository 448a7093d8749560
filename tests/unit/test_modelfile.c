/* Modelfiles as Ollama reads them: quotes over lines, letters of any case, what it drops and refuses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/text/go/modelfile.h"

/* The instructions of a text, one a line: NAME [KEY] <VALUE> LINE; complaints behind them. */
static void read_into(struct buf *out, const char *text, size_t n)
{
    struct arena *arena = arena_open((size_t)16 << 20);
    struct modelfile file;
    struct error err;

    buf_clear(out);
    assert_int_equal(modelfile_read(str_from(text, n), arena, &file, &err), OK);
    for (size_t i = 0; i < file.n; i++)
        buf_printf(out, "%s%s%s <%s> %d\n", file.items[i].name, file.items[i].key ? " " : "",
                   file.items[i].key ? file.items[i].key : "", file.items[i].value.p,
                   (int)file.items[i].line);
    for (size_t i = 0; i < file.n_complaints; i++)
        buf_printf(out, "! %d %s\n", (int)file.complaints[i].line, file.complaints[i].message);
    arena_close(arena);
}

static void texts_come_out_as_ollama_takes_them(void **state)
{
    static const struct {
        const char *text, *read;
    } cases[] = {
        {"FROM llama3", "from <llama3> 1\n"},
        {"\xEF\xBB\xBF# c \"\"\" \n\n from\tm:7b \r\nSystem  a b \r\n",
         "from <m:7b> 3\nsystem <a b> 4\n"},
        {"FROM m\nSYSTEM \"\"\"a\n \"b\"\n\n\"\"\"  \nPARAMETER stop \"<|x|>\"\nparameter num_ctx 4096",
         "from <m> 1\nsystem <a\n \"b\"\n\n> 2\nparameter stop <<|x|>> 6\nparameter num_ctx <4096> 7\n"},
        {"FROM m\nTEMPLATE \"one\ntwo\"\nADAPTER ./a\nMESSAGE user \"\"\"hi\"\"\"\nMESSAGE assistant yo",
         "from <m> 1\ntemplate <one\ntwo> 2\nadapter <./a> 4\nmessage user <hi> 5\n"
         "message assistant <yo> 6\n"},
        /* closing quotes count at the end of a line only */
        {"FROM m\nSYSTEM \"\"\"a\"\"\" b\nc\"\"\"\nLICENSE MIT",
         "from <m> 1\nsystem <a\"\"\" b\nc> 2\nlicense <MIT> 4\n"},
        {"FROM m\nSYSTEM a \"b\" c\nSYSTEM \nSYSTEM \"\"", "from <m> 1\nsystem <a \"b\" c> 2\n"
                                                            "system <> 3\nsystem <> 4\n"},
        /* what cannot be printed is dropped, blanks and line ends stay */
        {"FROM m\nSYSTEM \"a\xC2\xA0\tb\xE2\x80\x8D\x01 c\n\"", "from <m> 1\nsystem <a\tb c\n> 2\n"},
        {"FROM one\nFROM two\n", "from <one> 1\nfrom <two> 2\n"},
    };
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_into(&out, cases[i].text, strlen(cases[i].text));
        assert_string_equal(out.p, cases[i].read);
    }
    buf_free(&out);
}

static void mistakes_are_told_with_their_line_and_the_rest_is_read(void **state)
{
    static const struct {
        const char *text, *read;
    } cases[] = {
        {"FROM m\nSYSTEM \"\"\"never\nclosed\nPARAMETER a 1",
         "from <m> 1\n! 2 system: its quotes are not closed at the end of the file\n"},
        {"SYSTEM x", "system <x> 1\n! -1 no FROM: Ollama takes no such file\n"},
        {"FROM m\nMESSAGE tool x\nMESSAGE user y",
         "from <m> 1\nmessage user <y> 3\n"
         "! 2 message: the role is none of system, user and assistant\n"},
        {"FROM m\nPARAMETER  stop x\nPARAMETER stop\nADAPTER a",
         "from <m> 1\nadapter <a> 4\n! 2 parameter: expected a name behind one blank\n"
         "! 3 parameter: expected a name and a value\n"},
        {"FROM m\nSYSTEM\nFROM", "from <m> 1\n! 2 system without a value\n"
                                  "! 3 the file ends inside of an instruction\n"},
        {"FROM m\nRUN x\nSYSTEM s",
         "from <m> 1\nsystem <s> 3\n! 2 no instruction: expected FROM, PARAMETER, TEMPLATE, SYSTEM, "
         "ADAPTER, MESSAGE, LICENSE, RENDERER, PARSER or REQUIRES\n"},
        {"", "! -1 no FROM: Ollama takes no such file\n"},
    };
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_into(&out, cases[i].text, strlen(cases[i].text));
        assert_string_equal(out.p, cases[i].read);
    }
    buf_free(&out);
}

static void complaints_are_counted_up_to_a_bound(void **state)
{
    struct arena *arena = arena_open((size_t)16 << 20);
    struct modelfile file;
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_puts(&text, "NO x\n");
    assert_int_equal(modelfile_read(buf_view(&text), arena, &file, NULL), OK);
    assert_int_equal(file.n, 0);
    assert_int_equal(file.n_complaints, MODELFILE_COMPLAINTS);
    buf_free(&text);
    arena_close(arena);
}

static void the_last_of_a_name_is_found(void **state)
{
    static const char text[] = "FROM m\nSYSTEM a\nSYSTEM b\n";
    struct arena *arena = arena_open((size_t)1 << 20);
    struct modelfile file;

    (void)state;
    assert_int_equal(modelfile_read(str_of(text), arena, &file, NULL), OK);
    assert_string_equal(modelfile_last(&file, "system")->value.p, "b");
    assert_null(modelfile_last(&file, "template"));
    arena_close(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_out_as_ollama_takes_them),
        cmocka_unit_test(mistakes_are_told_with_their_line_and_the_rest_is_read),
        cmocka_unit_test(complaints_are_counted_up_to_a_bound),
        cmocka_unit_test(the_last_of_a_name_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
