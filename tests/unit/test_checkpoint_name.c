/* Names of checkpoints, as each framework spells them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/facts/checkpoint_name.h"
#include "core/model.h"

struct expected {
    const char *name;
    int64_t step, epoch;
};

static void each_spelling_tells_its_step_or_epoch(void **state)
{
    static const struct expected EXPECTED[] = {
        {"checkpoint-200", 200, NONE},
        {"checkpoint_200", 200, NONE},
        {"epoch=1-step=200.ckpt", 200, 1},
        {"epoch=01-val_loss=0.35-step=200.ckpt", 200, 1},
        {"model-epoch=3.ckpt", NONE, 3},
        {"epoch=00-val_loss=1.25.ckpt", NONE, 0},
        {"step_200", 200, NONE},
        {"step-000200", 200, NONE},
        {"iter-000200-ckpt.pth", 200, NONE},
        {"iter_0000200", 200, NONE},
        {"global_step200", 200, NONE},
        {"name--val_loss=0.51-step=99-consumed_samples=800.0", 99, NONE},
        {"epoch_0", NONE, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        struct checkpoint_name name;

        print_message("%s\n", EXPECTED[i].name);
        assert_true(checkpoint_name_read(str_of(EXPECTED[i].name), &name));
        assert_int_equal(name.step, EXPECTED[i].step);
        assert_int_equal(name.epoch, EXPECTED[i].epoch);
        assert_true(name.is_certain == (strncmp(EXPECTED[i].name, "checkpoint-", 11) == 0));
    }
}

static void other_names_are_none(void **state)
{
    static const char *const NAMES[] = {"checkpoint-best",  "checkpoint-100-merged", "step",
                                        "step_",            "timestep=5x",           "stepwise_2",
                                        "last.ckpt",        "final",                 "epoch_one",
                                        "footstep=20.ckpt", "step_1_prepare",        "",
                                        "checkpoint-9999999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct checkpoint_name name;

        print_message("%s\n", NAMES[i]);
        assert_false(checkpoint_name_read(str_of(NAMES[i]), &name));
    }
}

static void the_outermost_component_below_the_run_counts(void **state)
{
    static const char PATH[] = "/runs/step_5/out/checkpoint-200/global_step200/zero.pt";
    struct checkpoint_name name;
    size_t end;

    (void)state;
    assert_true(checkpoint_name_find(PATH, strlen("/runs/step_5/out"), &end, &name));
    assert_int_equal(name.step, 200);
    assert_int_equal(end, strlen("/runs/step_5/out/checkpoint-200"));
    assert_false(checkpoint_name_find("/runs/step_5/out/model.pt", 16, &end, &name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_spelling_tells_its_step_or_epoch),
        cmocka_unit_test(other_names_are_none),
        cmocka_unit_test(the_outermost_component_below_the_run_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
