/* libFuzzer's entry to fuzz_hf_trainer_state (tests/harness/fuzz_targets.h). */
#include "tests/harness/fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_hf_trainer_state(bytes, n);
    return 0;
}
