/* The artefacts pane: the broken link is named, Enter goes to the tensors of a file and back, tensors are
 * sorted and filtered. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tests/harness/pane.h"
#include "views/registry.h"

static const struct tensor TENSORS[] = {
    {.name = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", .dtype = "F32",
     .shape = "[8,64]", .n_values = 512, .norm = 4.5, .n_nonzero = 512, .delta_norm = NAN},
    {.name = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight", .dtype = "F32",
     .shape = "[64,8]", .n_values = 512, .norm = 1.25, .n_nonzero = 512, .delta_norm = 2.5},
    {.name = "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight", .dtype = "F32",
     .shape = "[8,64]", .n_values = 512, .norm = 4.25, .n_nonzero = 512, .delta_norm = NAN},
    {.name = "base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight", .dtype = "F32",
     .shape = "[64,8]", .n_values = 512, .norm = 0.0, .n_nonzero = 0, .delta_norm = 0.0},
};

static int set_up(void **state)
{
    struct pane *pane = pane_new(&view_artefacts);

    fake_artefact(pane->run, "adapter", "/runs/out/adapter_model.safetensors", NONE);
    fake_last_artefact(pane->run)->role = "trained";
    fake_last_artefact(pane->run)->sha256 =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    fake_tensors(pane->run, TENSORS, 4);
    fake_setting_on(pane->run, SIDE_MODEL, "num_hidden_layers", "4");
    fake_suite(pane->run, "ft", "task", 40, 50);
    fake_last_suite(pane->run)->artefact = "adapter_model.safetensors";
    fake_last_suite(pane->run)->sha256 = "aaaaaaaa";
    fake_setting_on(pane->run, SIDE_SERVE, "artefact", "desk-q4_k_m.gguf");
    fake_setting_on(pane->run, SIDE_SERVE, "sha256", "77d01b");
    pane_usual_checklist(pane);
    *state = pane;
    return 0;
}

static int tear_down(void **state)
{
    pane_free(*state);
    return 0;
}

static bool shows(struct pane *pane, const char *text)
{
    return strstr(pane_drawn(pane, false), text) != NULL;
}

static void the_broken_link_is_named(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    pane_load(pane, 20, 120);
    assert_true(shows(pane, "trained"));
    assert_true(shows(pane, "adapter_model.safetensors"));
    assert_true(shows(pane, "adapter_model.safetensors  aaaaaaaaaaaa"));
    assert_true(shows(pane, "evaluated"));
    assert_true(shows(pane, "desk-q4_k_m.gguf"));
    assert_true(shows(pane, "BROKEN"));
    assert_int_equal(pane->view.ops->at(&pane->view), pane_search(pane, "BROKEN"));
    assert_non_null(pane->view.ops->heading(&pane->view));
    assert_non_null(strstr(pane->view.ops->heading(&pane->view), "not the same"));
}

static void a_narrow_pane_wraps_what_is_broken(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    pane_load(pane, 30, 44);
    assert_true(shows(pane, "BROKEN"));
    assert_true(shows(pane, "77d01b"));
}

static void what_an_adapter_holds_stands_under_it(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    pane->desk.ascii = true;
    pane_load(pane, 20, 120);
    assert_true(shows(pane, "4, 2 pairs, lora_B zero in 1"));
    assert_true(shows(pane, "##.."));
    assert_true(shows(pane, "2 of 4 layers adapted"));
}

static void enter_shows_the_tensors_of_the_file_and_goes_back(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    pane_load(pane, 20, 140);
    assert_true(pane_search(pane, "lora_B zero") >= 0);
    pane->view.ops->go(&pane->view, (size_t)pane_search(pane, "lora_B zero"));
    pane_act(pane, "open");
    assert_true(shows(pane, "layers.1.self_attn.q_proj.lora_B.weight"));
    assert_true(shows(pane, "[64,8]"));
    assert_true(shows(pane, "100 %"));
    assert_non_null(strstr(pane->view.ops->heading(&pane->view), "4 of 4 tensors"));
    pane_act(pane, "open");
    assert_true(shows(pane, "BROKEN"));
}

static void tensors_are_filtered_and_sorted(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    pane_load(pane, 20, 140);
    pane->view.ops->go(&pane->view, (size_t)pane_search(pane, "lora_B zero"));
    pane_act(pane, "open");
    pane_act(pane, "filter");
    pane_act(pane, "filter");
    assert_non_null(strstr(pane->view.ops->heading(&pane->view), "1 of 4 tensors: all zero"));
    assert_false(shows(pane, "layers.0"));
    pane_act(pane, "filter");
    pane_act(pane, "filter");
    pane_act(pane, "sort");         /* by the norm */
    assert_non_null(strstr(pane->view.ops->line(&pane->view, 0).p, "layers.0.self_attn.q_proj.lora_A"));
    assert_non_null(strstr(pane->view.ops->line(&pane->view, 3).p, "layers.1.self_attn.q_proj.lora_B"));
}

static void what_was_not_read_is_read_on_request(void **state)
{
    struct pane *pane = *state;

    fake_artefact(pane->run, "base", "/runs/base/model.safetensors", NONE);
    fake_last_artefact(pane->run)->role = "base";
    fake_last_artefact(pane->run)->size = (int64_t)2 << 30;
    pane_facts(pane);
    pane_load(pane, 20, 120);
    assert_true(shows(pane, "M reads them"));
    pane->view.ops->act(&pane->view, 3);
    assert_string_equal(pane->desk.request, "set measure=all");
    pane->desk.request = NULL;
}

static void every_size_is_drawn(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    pane_small_sizes(pane);
}

static void a_run_without_files_says_what_to_import(void **state)
{
    struct pane *pane = pane_new(&view_artefacts);

    (void)state;
    pane_usual_checklist(pane);
    pane_facts(pane);
    pane_load(pane, 10, 80);
    assert_true(shows(pane, "no adapter, model or serving record"));
    pane_free(pane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_broken_link_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_narrow_pane_wraps_what_is_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_an_adapter_holds_stands_under_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(enter_shows_the_tensors_of_the_file_and_goes_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(tensors_are_filtered_and_sorted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_not_read_is_read_on_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_size_is_drawn, set_up, tear_down),
        cmocka_unit_test(a_run_without_files_says_what_to_import),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
