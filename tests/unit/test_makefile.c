/* What the Makefile says when packages are missing: the one line to type. Nothing is installed: the
 * programs that it asks are replaced. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/harness/tempdir.h"

static int setup(void **state)
{
    *state = tempdir_make();
    return 0;
}

static int teardown(void **state)
{
    tempdir_remove(*state);
    return 0;
}

/* A program of that name which answers every call the same. */
static void replace(const char *folder, const char *name, const char *script)
{
    char path[64], text[200];

    snprintf(path, sizeof path, "bin/%s", name);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    tempdir_write_text(folder, path, text);
    assert_int_equal(chmod(tempdir_path(folder, path), 0700), 0);
}

/* Status of make with the replaced programs; what it said on both streams in `out`. */
static int make(const char *folder, const char *goals, char *out, size_t size)
{
    char line[1000];
    FILE *pipe;
    size_t n;
    int status;

    snprintf(line, sizeof line,
             "env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS PATH='%s/bin':\"$PATH\" "
             "make B='%s/build' %s 2>&1 < /dev/null", folder, folder, goals);
    pipe = popen(line, "r");
    assert_non_null(pipe);
    n = fread(out, 1, size - 1, pipe);
    out[n] = '\0';
    status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void without_packages_and_rights_the_one_line_is_all_that_is_said(void **state)
{
    static const char *const goals[] = {"demo", "test", "", "demo -j4", "unit T=test_json", "install"};
    char out[8192];

    replace(*state, "dpkg-query", "exit 1");
    replace(*state, "id", "echo 1000");
    replace(*state, "sudo", "exit 1");
    replace(*state, "apt-get", "echo apt-get was called");
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        int status = make(*state, goals[i], out, sizeof out);

        if (status == 0)
            fail_msg("make %s: status 0: %s", goals[i], out);
        if (strncmp(out, "flatline: missing Debian packages, install them with: "
                         "sudo apt-get install -y gcc ", 82) != 0 ||
            strchr(out, '\n') != out + strlen(out) - 1)
            fail_msg("make %s said: %s", goals[i], out);
    }
}

static void a_failed_installation_names_what_failed(void **state)
{
    char out[8192];

    replace(*state, "dpkg-query", "exit 1");
    replace(*state, "id", "echo 0");
    replace(*state, "apt-get", "exit 100");
    assert_int_not_equal(make(*state, "demo", out, sizeof out), 0);
    assert_non_null(strstr(out, "flatline: this failed: apt-get install -y gcc "));
}

static void help_asks_for_no_package(void **state)
{
    char out[8192];

    replace(*state, "dpkg-query", "exit 1");
    replace(*state, "id", "echo 1000");
    assert_int_equal(make(*state, "help", out, sizeof out), 0);
    assert_non_null(strstr(out, "demo "));
    assert_null(strstr(out, "missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_packages_and_rights_the_one_line_is_all_that_is_said,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_installation_names_what_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(help_asks_for_no_package, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
