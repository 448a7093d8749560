/* libFuzzer's entry to fuzz_gguf (tests/harness/fuzz_targets.h). */
#include "tests/harness/fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_gguf(bytes, n);
    return 0;
}
