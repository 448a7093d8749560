/* Members of zips: found by suffix, limited, damaged archives told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/read/zip.h"
#include "tests/harness/tempdir.h"

/* One stored member, sizes only in the central directory, as torch writes it. */
static void write_zip(const char *folder, const char *name, const char *data, uint32_t stated)
{
    struct buf out;
    uint32_t n = (uint32_t)strlen(data), n_name = (uint32_t)strlen(name), crc = 0xffffffff;

    for (uint32_t i = 0; i < n; i++) {
        crc ^= (unsigned char)data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    buf_init(&out, 1 << 20);
    const uint32_t local[] = {0x04034b50, 20, 0, 0, crc, stated, stated};
    const uint8_t widths[] = {4, 2, 4, 4, 4, 4, 4};
    for (size_t i = 0; i < 7; i++)
        for (int k = 0; k < widths[i]; k++)
            buf_putc(&out, (char)(local[i] >> (8 * k) & 255));
    buf_putc(&out, (char)n_name);
    buf_repeat(&out, '\0', 3);
    buf_puts(&out, name);
    buf_puts(&out, data);
    uint32_t directory = (uint32_t)out.n;
    const uint32_t central[] = {0x02014b50, 20, 20, 0, 0, crc, stated, stated};
    const uint8_t central_widths[] = {4, 2, 2, 4, 4, 4, 4, 4};
    for (size_t i = 0; i < 8; i++)
        for (int k = 0; k < central_widths[i]; k++)
            buf_putc(&out, (char)(central[i] >> (8 * k) & 255));
    buf_putc(&out, (char)n_name);
    buf_repeat(&out, '\0', 17);
    buf_puts(&out, name);
    uint32_t n_directory = (uint32_t)out.n - directory;
    const uint32_t end[] = {0x06054b50, 0, 0x00010001, n_directory, directory};
    for (size_t i = 0; i < 5; i++)
        for (int k = 0; k < 4; k++)
            buf_putc(&out, (char)(end[i] >> (8 * k) & 255));
    buf_repeat(&out, '\0', 2);
    tempdir_write(folder, "a.zip", out.p, out.n);
    buf_free(&out);
}

static void members_are_found_by_their_suffix(void **state)
{
    char *folder = tempdir_make(), *text = NULL;
    struct zip_file_reader *zip = NULL;
    struct error err;
    size_t n = 0;

    (void)state;
    write_zip(folder, "archive/data.pkl", "hello", 5);
    assert_int_equal(zip_reader_open(&zip, tempdir_path(folder, "a.zip"), &err), OK);
    assert_string_equal(zip_reader_name(zip, 0), "archive/data.pkl");
    assert_string_equal(zip_reader_name(zip, 1), "");
    assert_int_equal(zip_reader_member(zip, "/data.pkl", 100, &text, &n, &err), OK);
    assert_int_equal(n, 5);
    assert_string_equal(text, "hello");
    free(text);
    assert_int_equal(zip_reader_member(zip, "/data.pkl", 4, &text, &n, &err), E_LIMIT);
    assert_int_equal(zip_reader_member(zip, "/other", 100, &text, &n, &err), E_NOTFOUND);
    zip_reader_close(zip);
    tempdir_remove(folder);
}

static void damage_is_an_error_and_no_crash(void **state)
{
    char *folder = tempdir_make(), *text = NULL;
    struct zip_file_reader *zip = NULL;
    struct error err;
    size_t n = 0;

    (void)state;
    tempdir_write_text(folder, "a.zip", "PK\003\004 this is cut");
    assert_int_equal(zip_reader_open(&zip, tempdir_path(folder, "a.zip"), &err), E_PARSE);
    assert_int_equal(zip_reader_open(&zip, tempdir_path(folder, "none.zip"), &err), E_IO);
    write_zip(folder, "archive/data.pkl", "hello", 1000); /* states more than there is */
    if (zip_reader_open(&zip, tempdir_path(folder, "a.zip"), &err) == OK) {
        assert_int_not_equal(zip_reader_member(zip, "/data.pkl", 4000, &text, &n, &err), OK);
        zip_reader_close(zip);
    }
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_by_their_suffix),
        cmocka_unit_test(damage_is_an_error_and_no_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
