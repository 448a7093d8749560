/* Files read in bounded pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/read/source.h"
#include "tests/harness/tempdir.h"

static struct source_file *open_text(const char *text, size_t n, size_t buffer_bytes)
{
    struct source_file *file = NULL;

    assert_int_equal(source_open_bytes(&file, "memory", text, n, NULL), OK);
    source_set_buffer_bytes(file, buffer_bytes);
    return file;
}

struct expected_line {
    const char *text;
    int64_t byte;
    bool whole, cut;
};

static void assert_lines(const char *text, size_t n, size_t limit,
                         const struct expected_line *expected, size_t n_lines)
{
    for (size_t buffer = 1; buffer <= n + 2; buffer++) {
        struct source_file *file = open_text(text, n, buffer);
        struct source_line line;
        size_t i = 0;

        while (source_next_line(file, limit, &line, NULL) == 1) {
            assert_true(i < n_lines);
            if (!str_is(line.text, expected[i].text))
                fail_msg("buffer %zu: line %zu is '%.*s'", buffer, i, (int)line.text.n,
                         line.text.p);
            assert_int_equal(line.byte, expected[i].byte);
            assert_int_equal(line.number, (int64_t)i + 1);
            assert_int_equal(line.whole, expected[i].whole);
            assert_int_equal(line.cut, expected[i].cut);
            i++;
        }
        assert_int_equal(i, n_lines);
        assert_int_equal(source_tell(file), (int64_t)n);
        source_close(file);
    }
}

static void lines_are_the_same_for_every_buffer_size(void **state)
{
    static const char text[] = "one\r\n\ntwo\rhalf\nlong long line\n\r\nlast";
    static const struct expected_line expected[] = {
        {"one", 0, true, false},       {"", 5, true, false},
        {"two\rhalf", 6, true, false}, {"long long line", 15, true, false},
        {"", 30, true, false},         {"last", 32, false, false},
    };

    (void)state;
    assert_lines(text, sizeof text - 1, 0, expected, 6);
}

static void long_lines_are_cut_and_passed_over(void **state)
{
    static const char text[] = "12345\r\n123456\r\n123456789012345\n1234\r\n1234567";
    static const struct expected_line expected[] = {
        {"12345", 0, true, false}, {"12345", 7, true, true},   {"12345", 15, true, true},
        {"1234", 31, true, false}, {"12345", 37, false, true},
    };

    (void)state;
    assert_lines(text, sizeof text - 1, 5, expected, 5);
}

static void an_end_of_line_belongs_to_the_last_line(void **state)
{
    static const struct expected_line one[] = {{"a", 0, true, false}};
    static const struct expected_line bare[] = {{"a\r", 0, false, false}};

    (void)state;
    assert_lines("a\n", 2, 0, one, 1);
    assert_lines("a\r", 2, 0, bare, 1);
    assert_lines("", 0, 0, NULL, 0);
}

static void a_zero_does_not_end_a_line(void **state)
{
    struct source_file *file = open_text("a\0b\nc", 5, 3);
    struct source_line line;

    (void)state;
    assert_int_equal(source_next_line(file, 0, &line, NULL), 1);
    assert_int_equal(line.text.n, 3);
    assert_memory_equal(line.text.p, "a\0b", 3);
    source_close(file);
}

static void chunks_give_every_byte_once(void **state)
{
    static const char text[] = "0123456789";

    (void)state;
    for (size_t buffer = 1; buffer < 12; buffer++) {
        struct source_file *file = open_text(text, 10, buffer);
        struct str chunk;
        char all[11];
        size_t n = 0;

        do {
            assert_int_equal(source_chunk(file, &chunk, NULL), OK);
            assert_true(chunk.n <= buffer && n + chunk.n <= 10);
            memcpy(all + n, chunk.p, chunk.n);
            n += chunk.n;
            assert_int_equal(source_tell(file), (int64_t)n);
        } while (chunk.n);
        assert_int_equal(n, 10);
        assert_memory_equal(all, text, 10);
        source_close(file);
    }
}

static void seeking_starts_anew_there(void **state)
{
    struct source_file *file = open_text("ab\ncd\nef", 8, 4);
    struct source_line line;
    char bytes[8];
    size_t got;

    (void)state;
    assert_int_equal(source_next_line(file, 0, &line, NULL), 1);
    assert_int_equal(source_seek(file, 6, NULL), OK);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 1);
    assert_true(str_is(line.text, "ef"));
    assert_int_equal(line.byte, 6);
    assert_int_equal(source_seek(file, 100, NULL), OK);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 0);
    assert_int_equal(source_seek(file, -1, NULL), E_LIMIT);
    assert_int_equal(source_at(file, 5, bytes, 8, &got, NULL), OK);
    assert_int_equal(got, 3);
    assert_memory_equal(bytes, "\nef", 3);
    assert_int_equal(source_at(file, 80, bytes, 8, &got, NULL), OK);
    assert_int_equal(got, 0);
    assert_int_equal(source_at(file, -1, bytes, 8, &got, NULL), E_LIMIT);
    source_close(file);
}

/* ---- files ---- */

static int make_folder(void **state)
{
    *state = tempdir_make();
    return 0;
}

static int remove_folder(void **state)
{
    tempdir_remove(*state);
    return 0;
}

static void assert_refused(const char *path, int status, const char *says)
{
    struct source_file *file = NULL;
    struct error err;

    assert_int_equal(source_open(&file, path, &err), status);
    assert_null(file);
    assert_string_equal(err.path, path);
    assert_non_null(strstr(err.message, says));
}

static void what_is_no_file_is_refused_without_waiting(void **state)
{
    const char *pipe_path = tempdir_path(*state, "pipe");

    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_refused(pipe_path, E_UNSUPPORTED, "a pipe");
    assert_refused("/dev/null", E_UNSUPPORTED, "a device");
    assert_refused(*state, E_UNSUPPORTED, "a folder");
    assert_refused(tempdir_path(*state, "absent"), E_NOTFOUND, "No such file");
}

static void a_loop_of_links_is_an_error(void **state)
{
    const char *a = tempdir_path(*state, "a"), *b = tempdir_path(*state, "b");

    assert_int_equal(symlink(b, a), 0);
    assert_int_equal(symlink(a, b), 0);
    assert_refused(a, E_IO, "links");
}

static void an_unreadable_file_is_an_error_with_its_path(void **state)
{
    const char *path = tempdir_path(*state, "secret");

    tempdir_write_text(*state, "secret", "x");
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() == 0)
        skip(); /* root reads everything */
    assert_refused(path, E_IO, "Permission");
}

static void changes_are_seen(void **state)
{
    const char *path = tempdir_path(*state, "log");
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct source_file *file;

    tempdir_write_text(*state, "log", "one\ntwo\n");
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(source_open(&file, path, NULL), OK);
    assert_int_equal(source_size(file), 8);
    assert_int_equal(source_has_changed(file), 0);
    assert_int_equal(truncate(path, 3), 0);
    assert_int_equal(source_has_changed(file), 1);
    source_close(file);

    assert_int_equal(source_open(&file, path, NULL), OK);
    tempdir_write_text(*state, "new", "one");
    assert_int_equal(rename(tempdir_path(*state, "new"), path), 0);
    assert_int_equal(source_has_changed(file), 1);
    source_close(file);

    assert_int_equal(source_open(&file, path, NULL), OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(source_has_changed(file), 1);
    source_close(file);
}

static void a_file_that_shrinks_while_read_just_ends(void **state)
{
    const char *path = tempdir_path(*state, "log");
    struct source_file *file;
    struct source_line line;

    tempdir_write_text(*state, "log", "one\ntwo\nthree\n");
    assert_int_equal(source_open(&file, path, NULL), OK);
    source_set_buffer_bytes(file, 4);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 1);
    assert_int_equal(truncate(path, 4), 0);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 0);
    source_close(file);
}

static void a_file_that_grows_is_read_on(void **state)
{
    const char *path = tempdir_path(*state, "log");
    struct source_file *file;
    struct source_line line;

    tempdir_write_text(*state, "log", "one\n");
    assert_int_equal(source_open(&file, path, NULL), OK);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 1);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 0);

    int fd = open(path, O_WRONLY | O_APPEND);

    assert_int_equal(write(fd, "two\n", 4), 4);
    close(fd);
    assert_int_equal(source_next_line(file, 0, &line, NULL), 1);
    assert_true(str_is(line.text, "two"));
    assert_int_equal(line.number, 2);
    source_close(file);
}

static void a_small_file_is_read_whole_up_to_the_limit(void **state)
{
    const char *path = tempdir_path(*state, "f");
    char *text = NULL;
    size_t n;
    struct error err;

    tempdir_write(*state, "f", "ab\0cd", 5);
    assert_int_equal(source_slurp(path, 5, &text, &n, &err), OK);
    assert_int_equal(n, 5);
    assert_memory_equal(text, "ab\0cd", 6);
    free(text);
    text = NULL;
    assert_int_equal(source_slurp(path, 4, &text, &n, &err), E_LIMIT);
    assert_null(text);
    assert_string_equal(err.path, path);
    tempdir_write_text(*state, "f", "");
    assert_int_equal(source_slurp(path, 4, &text, &n, &err), OK);
    assert_int_equal(n, 0);
    assert_string_equal(text, "");
    free(text);
}

static void a_path_tells_its_kind(void **state)
{
    struct source_stat stat;
    struct error err;

    tempdir_write_text(*state, "f", "abc");
    assert_int_equal(source_stat_path(tempdir_path(*state, "f"), &stat, &err), OK);
    assert_true(stat.is_regular);
    assert_int_equal(stat.size, 3);
    assert_int_equal(source_stat_path(*state, &stat, &err), OK);
    assert_false(stat.is_regular);
    assert_int_equal(source_stat_path(tempdir_path(*state, "g"), &stat, &err), E_NOTFOUND);
}

static void odd_files_are_recognised(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        enum source_oddity oddity;
    } cases[] = {
        {"", 0, ODDITY_EMPTY},
        {"{\"a\": 1}", 8, ODDITY_NONE},
        {"\xEF\xBB\xBF{}", 5, ODDITY_NONE},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:00", 56, ODDITY_LFS_POINTER},
        {"\xFF\xFE{\0}\0", 6, ODDITY_UTF16},
        {"\xFE\xFF\0{\0}", 6, ODDITY_UTF16},
        {"{\0\"\0a\0\"\0:\0", 10, ODDITY_UTF16},
        {"PK\3\4\0\0\0\0abcdefgh", 16, ODDITY_BINARY},
        {"\xFF\xFF text", 7, ODDITY_NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum source_oddity oddity = source_oddity(str_from(cases[i].bytes, cases[i].n));

        assert_int_equal(oddity, cases[i].oddity);
        assert_true(strlen(source_oddity_name(oddity)) > 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_for_every_buffer_size),
        cmocka_unit_test(long_lines_are_cut_and_passed_over),
        cmocka_unit_test(an_end_of_line_belongs_to_the_last_line),
        cmocka_unit_test(a_zero_does_not_end_a_line),
        cmocka_unit_test(chunks_give_every_byte_once),
        cmocka_unit_test(seeking_starts_anew_there),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_refused_without_waiting, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_loop_of_links_is_an_error, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_unreadable_file_is_an_error_with_its_path, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(changes_are_seen, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_shrinks_while_read_just_ends, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_grows_is_read_on, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_small_file_is_read_whole_up_to_the_limit, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_path_tells_its_kind, make_folder, remove_folder),
        cmocka_unit_test(odd_files_are_recognised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
