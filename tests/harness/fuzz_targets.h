/* One function for each reader that is fuzzed: bytes in, nothing out, no crash, no leak, no hang.
 * tests/fuzz/fuzz_<name>.c gives one of them to libFuzzer (`make fuzz T=<name>`), and
 * test_fuzz_replay.c gives all of them the seeds of tests/fuzz/seeds/<name>/. */
#ifndef TESTS_HARNESS_FUZZ_TARGETS_H
#define TESTS_HARNESS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_TARGETS(X) \
    X(json)             \
    X(json_stream)      \
    X(python_literal)   \
    X(pickle)           \
    X(yaml)             \
    X(csv)              \
    X(rows)             \
    X(table)            \
    X(safetensors)      \
    X(gguf)             \
    X(repr)             \
    X(console_log)      \
    X(hf_trainer_state) \
    X(tensorboard)      \
    X(wandb)            \
    X(mlflow_db)        \
    X(tokenizer)        \
    X(jinja)            \
    X(go_template)      \
    X(modelfile)

#define FUZZ_DECLARE(name) void fuzz_##name(const uint8_t *bytes, size_t n);
FUZZ_TARGETS(FUZZ_DECLARE)
#undef FUZZ_DECLARE

/* What libFuzzer calls; each fuzz_<name>.c defines its own. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
