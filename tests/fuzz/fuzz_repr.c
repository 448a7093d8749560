/* libFuzzer's entry to fuzz_repr (tests/harness/fuzz_targets.h). */
#include "tests/harness/fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_repr(bytes, n);
    return 0;
}
