/* SHA-256 against the examples of FIPS 180-4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/sha256.h"

static struct sha256 *opened(void)
{
    struct sha256 *hash = NULL;

    assert_int_equal(sha256_open(&hash, NULL), OK);
    return hash;
}

static void known_digests(void **state)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    struct sha256 *hash = opened();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t digest[32];
        char hex[65];

        sha256_add(hash, cases[i].text, strlen(cases[i].text));
        sha256_finish(hash, digest, hex); /* and starts anew */
        assert_string_equal(hex, cases[i].hex);
    }
    sha256_close(hash);
    sha256_close(NULL);
}

static void pieces_give_the_digest_of_the_whole(void **state)
{
    struct sha256 *hash = opened();
    uint8_t whole[32], pieces[32];
    char text[1000];

    (void)state;
    memset(text, 'x', sizeof text);
    sha256_add(hash, text, sizeof text);
    sha256_finish(hash, whole, NULL);
    for (size_t i = 0; i < sizeof text; i += 7)
        sha256_add(hash, text + i, sizeof text - i < 7 ? sizeof text - i : 7);
    sha256_finish(hash, pieces, NULL);
    assert_memory_equal(whole, pieces, 32);
    sha256_close(hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests),
        cmocka_unit_test(pieces_give_the_digest_of_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
