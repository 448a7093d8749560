/* libFuzzer's entry to fuzz_go_template (tests/harness/fuzz_targets.h). */
#include "tests/harness/fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_go_template(bytes, n);
    return 0;
}
