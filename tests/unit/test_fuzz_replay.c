/* Every seed of the fuzzers through its target, whole and cut, with an ordinary compiler. A crash
 * that a fuzzer finds becomes a seed. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/read/source.h"
#include "tests/harness/fuzz_targets.h"

#define SEEDS "tests/fuzz/seeds"

/* Cut at up to 12 places, so that each seed stands for many. Exact copies: a read beyond the end
 * is then seen by the sanitizer. */
static void replay(void (*target)(const uint8_t *, size_t), const char *bytes, size_t n)
{
    size_t step = n / 12 + 1;

    for (size_t cut = 0;; cut = cut + step < n ? cut + step : n) {
        uint8_t *copy = malloc(cut + 1);

        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        target(copy, cut);
        free(copy);
        if (cut == n)
            break;
    }
}

static void replay_all(const char *name, void (*target)(const uint8_t *, size_t))
{
    char path[600];
    size_t n_seeds = 0;

    snprintf(path, sizeof path, SEEDS "/%s", name);
    DIR *folder = opendir(path);

    if (!folder)
        fail_msg("%s: no seeds", path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char *bytes;
        size_t n;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, SEEDS "/%s/%s", name, entry->d_name);
        assert_int_equal(source_slurp(path, (size_t)1 << 20, &bytes, &n, NULL), OK);
        replay(target, bytes, n);
        free(bytes);
        n_seeds++;
    }
    closedir(folder);
    assert_true(n_seeds > 0);
}

#define REPLAY(name)                                      \
    static void seeds_of_##name##_do_no_harm(void **state) \
    {                                                     \
        (void)state;                                      \
        replay_all(#name, fuzz_##name);                   \
    }
FUZZ_TARGETS(REPLAY)

int main(void)
{
#define TEST(name) cmocka_unit_test(seeds_of_##name##_do_no_harm),
    const struct CMUnitTest tests[] = {FUZZ_TARGETS(TEST)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
