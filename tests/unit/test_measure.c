/* Values and hashes of weight files on request: only when asked, kept with the file, seen again by the
 * next import of the same file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/measure.h"
#include "core/read/source.h"
#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

static const char HEADER[] =
    "{\"x.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
    "\"x.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[8,12]}}";
static const float VALUES[] = {3, 4, 2};

struct fixture {
    char *folder, *path;
    struct store *store;
    struct sink *sink;
    struct arena *arena;
    struct run_facts *facts;
    int64_t run_id;
    struct error err;
};

/* The file as an import leaves it when it is too large to be read: names and shapes. */
static void import_table(struct fixture *f)
{
    const struct run run = {.key = "k", .folder = f->folder, .name = "run"};
    struct source_stat stat;
    struct tensor a = {.name = "x.lora_A.weight", .dtype = "F32", .shape = "[1,2]", .n_values = 2,
                       .norm = NAN, .n_nonzero = NONE, .n_nonfinite = NONE, .delta_norm = NAN};
    struct tensor b = a;
    struct run stored;
    int64_t id;

    assert_int_equal(source_stat_path(f->path, &stat, &f->err), OK);
    const struct source source = {.path = f->path, .importer = "peft_adapter",
                                  .importer_version = 1, .size = stat.size,
                                  .mtime_ns = stat.mtime_ns, .device = stat.device,
                                  .inode = stat.inode, .role = "trained"};
    const struct artefact artefact = {.kind = "adapter", .path = f->path, .size = stat.size,
                                      .step = NONE};
    b.name = "x.lora_B.weight";
    b.shape = "[1,1]";
    b.n_values = 1;
    assert_int_equal(sink_begin(f->sink, &run, &source, &f->err), OK);
    assert_int_equal(sink_artefact(f->sink, &artefact, &id, &f->err), OK);
    assert_int_equal(sink_tensor(f->sink, id, &a, &f->err), OK);
    assert_int_equal(sink_tensor(f->sink, id, &b, &f->err), OK);
    assert_int_equal(sink_end(f->sink, stat.size, SOURCE_WHOLE, &f->err), OK);
    assert_int_equal(store_run_find(f->store, "k", f->arena, &stored, &f->err), OK);
    f->run_id = stored.id;
}

static void open_facts(struct fixture *f)
{
    run_facts_close(f->facts);
    f->facts = NULL;
    assert_int_equal(run_facts_open(&f->facts, f->store, f->run_id, &f->err), OK);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char bytes[8 + sizeof HEADER + sizeof VALUES] = {0};

    f->folder = tempdir_make();
    bytes[0] = (char)(sizeof HEADER - 1);
    memcpy(bytes + 8, HEADER, sizeof HEADER - 1);
    memcpy(bytes + 8 + sizeof HEADER - 1, VALUES, sizeof VALUES);
    tempdir_write(f->folder, "adapter_model.safetensors", bytes,
                  8 + sizeof HEADER - 1 + sizeof VALUES);
    f->path = strdup(tempdir_path(f->folder, "adapter_model.safetensors"));
    char *cache = strdup(tempdir_path(f->folder, "cache.db"));
    const struct store_options options = {.cache_path = cache,
                                          .kept_path = tempdir_path(f->folder, "triage.db")};
    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
    free(cache);
    assert_int_equal(sink_open_store(&f->sink, f->store, &f->err), OK);
    f->arena = arena_open(ARENA_CHECK_BYTES);
    import_table(f);
    open_facts(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    run_facts_close(f->facts);
    sink_close(f->sink);
    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f->path);
    free(f);
    return 0;
}

static void ask(struct fixture *f)
{
    assert_int_equal(store_answer_set(f->store, "k", "measure", "all", &f->err), OK);
    open_facts(f);
}

static const struct tensor *tensors_of(struct fixture *f)
{
    size_t n = 0;
    const struct tensor *tensors = facts_tensors(f->facts, &f->facts->artefacts[0], &n);

    assert_int_equal(n, 2);
    return tensors;
}

static void nothing_is_read_unless_it_was_asked_for(void **state)
{
    struct fixture *f = *state;
    struct unmeasured what;
    bool did = true;

    facts_unmeasured(f->facts, &what);
    assert_int_equal(what.n, 1);
    assert_int_equal(what.bytes, f->facts->artefacts[0].size);
    assert_int_equal(measures_refresh(f->facts, f->store, NULL, &did, &f->err), OK);
    assert_false(did);
}

static void what_was_asked_for_is_in_the_store_afterwards(void **state)
{
    struct fixture *f = *state;
    struct unmeasured what;
    bool did = false;

    ask(f);
    assert_int_equal(measures_refresh(f->facts, f->store, NULL, &did, &f->err), OK);
    assert_true(did);
    open_facts(f);
    assert_true(tensors_of(f)[0].norm == 5.0);
    assert_true(tensors_of(f)[1].delta_norm == 10.0);
    assert_int_equal(tensors_of(f)[1].n_nonzero, 1);
    assert_int_equal(strlen(f->facts->artefacts[0].sha256), 64);
    facts_unmeasured(f->facts, &what);
    assert_int_equal(what.n, 0);
    assert_int_equal(measures_refresh(f->facts, f->store, NULL, &did, &f->err), OK);
    assert_false(did);
}

static void the_next_import_of_the_same_file_knows_its_hash(void **state)
{
    struct fixture *f = *state;
    bool did = false;

    ask(f);
    assert_int_equal(measures_refresh(f->facts, f->store, NULL, &did, &f->err), OK);
    import_table(f);
    open_facts(f);
    assert_non_null(f->facts->artefacts[0].sha256);
    assert_true(isnan(tensors_of(f)[0].norm));
}

static void a_gguf_is_hashed_once_although_its_values_stay_unknown(void **state)
{
    struct fixture *f = *state;
    struct unmeasured what;
    bool did = false;

    tempdir_write(f->folder, "model.gguf", "GGUF, as far as its hash goes", 29);
    free(f->path);
    f->path = strdup(tempdir_path(f->folder, "model.gguf"));
    import_table(f);
    ask(f);
    assert_int_equal(measures_refresh(f->facts, f->store, NULL, &did, &f->err), OK);
    assert_true(did);
    open_facts(f);
    facts_unmeasured(f->facts, &what);
    assert_int_equal(what.n, 0);
}

static void a_stop_is_no_failure_and_a_lost_file_neither(void **state)
{
    struct fixture *f = *state;
    const atomic_bool cancel = true;
    const struct audit_hooks hooks = {.cancel = &cancel};
    bool did = true;

    ask(f);
    assert_int_equal(measures_refresh(f->facts, f->store, &hooks, &did, &f->err), OK);
    assert_false(did);
    tempdir_write(f->folder, "adapter_model.safetensors", "gone", 4);
    assert_int_equal(measures_refresh(f->facts, f->store, NULL, &did, &f->err), OK);
    assert_false(did);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_read_unless_it_was_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_asked_for_is_in_the_store_afterwards, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_next_import_of_the_same_file_knows_its_hash, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_gguf_is_hashed_once_although_its_values_stay_unknown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_stop_is_no_failure_and_a_lost_file_neither, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
