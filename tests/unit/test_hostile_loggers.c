/* Files of loggers, cut, flipped and made to lie: the import ends by itself, crashes nowhere, tells
 * of the damage, and what stands before a cut is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/random.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/registry.h"
#include "tests/harness/logger_files.h"
#include "tests/harness/tempdir.h"

#define HEAD_BYTES 400 /* cut at each of them */
#define CUTS       200 /* at random places behind */
#define FLIPS      300
#define SEED       20260101
#define REAL       "tests/engines/loggers/"

struct specimen {
    const char *importer, *path;
};

static const struct specimen SAMPLES[] = {
    {"tensorboard", "tests/importers/tensorboard/writer-x/events.out.tfevents.1700000000.host"},
    {"tensorboard", "tests/importers/tensorboard/tensors/events.out.tfevents.1700000000.host.1.0"},
    {"wandb", "tests/importers/wandb/offline/run-abc12345.wandb"},
    {"wandb", "tests/importers/wandb/files/config.yaml"},
    {"wandb", "tests/importers/wandb/files/wandb-metadata.json"},
    {"wandb", "tests/importers/wandb/files/wandb-summary.json"},
    {"mlflow_files", "tests/importers/mlflow_files/run/meta.yaml"},
    {"mlflow_db", "tests/importers/mlflow_db/two-runs/mlflow.db"},
    {"tensorboard", REAL "torch/events.out.tfevents.1700000000.host"},
    {"tensorboard", REAL "torch/hparams/events.out.tfevents.1700000001.host"},
    {"tensorboard", REAL "torch_gz/events.out.tfevents.1700000000.host.gz"},
    {"tensorboard", REAL "tensorboardx/events.out.tfevents.1700000000.host"},
    {"wandb", REAL "wandb/wandb/offline-run-20240101_000000-sample01/run-sample01.wandb"},
    {"trackio", REAL "trackio/sample.db"},
    {"trainer_log", REAL "trainer_log/trainer_log.jsonl"},
    {"metrics_table", REAL "lightning/lightning_logs/version_0/metrics.csv"},
    {"settings_file", REAL "lightning/lightning_logs/version_0/hparams.yaml"},
    {"metrics_table", "tests/importers/metrics_table/parquet/metrics.parquet"},
    {"metrics_table", "tests/engines/tables/pyarrow_many_pages.parquet"},
    {"metrics_table", "tests/engines/tables/pyarrow_feather.arrow"},
    {"metrics_table", "tests/engines/tables/pyarrow_stream_zstd_deltas.arrow"},
};

struct imported {
    int64_t n_points, n_notes;
    enum source_state state;
};

/* Counts by the first word of the lines of the text sink. */
static int64_t count(struct str text, const char *word)
{
    struct str line;
    int64_t n = 0;

    while (str_split(&text, '\n', &line))
        n += str_starts(line, word);
    return n;
}

static struct imported import_bytes(const char *id, const char *folder, const char *name,
                                    struct str bytes)
{
    const struct importer *importer = importer_by_id(id);
    const struct run run = {.key = "k", .folder = folder, .name = "run", .project = folder};
    struct imported out = {0};
    struct sink *sink;
    struct buf text;
    struct error err;

    assert_non_null(importer);
    const char *path = tempdir_path(folder, name);
    (void)unlink(path); /* a file that is overwritten goes to the disk at once */
    tempdir_write(folder, name, bytes.p, bytes.n);
    struct source source = {.path = path, .importer = id};
    struct import import = {.path = path, .run = &run, .arena = arena_open(ARENA_BATCH_BYTES)};
    buf_init(&text, (size_t)64 << 20);
    assert_int_equal(sink_open_text(&sink, &text, &err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &err), OK);
    import.sink = sink;
    if (importer->run(&import, &err) != OK)
        fail_msg("%s: %s", name, err.message);
    assert_int_equal(sink_end(sink, import.read_to, import.state, &err), OK);
    out = (struct imported){count(buf_view(&text), "point\t"), count(buf_view(&text), "note\t"),
                            import.state};
    sink_close(sink);
    buf_free(&text);
    arena_close(import.arena);
    return out;
}

static const char *name_of(const struct specimen *sample)
{
    return strrchr(sample->path, '/') + 1;
}

static void read_sample(const struct specimen *sample, char **bytes, size_t *n)
{
    assert_int_equal(source_slurp(sample->path, (size_t)1 << 20, bytes, n, NULL), OK);
}

static void cut_at(const struct specimen *sample, const char *folder, const char *bytes, size_t n)
{
    char *exact = malloc(n + 1); /* a read beyond the end is then seen by the sanitizer */

    assert_non_null(exact);
    memcpy(exact, bytes, n);
    (void)import_bytes(sample->importer, folder, name_of(sample), str_from(exact, n));
    free(exact);
}

static void every_cut_is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES; i++) {
        char *folder = tempdir_make(), *bytes;
        struct random random;
        size_t n;

        read_sample(&SAMPLES[i], &bytes, &n);
        random_seed(&random, SEED);
        for (size_t cut = 0; cut < HEAD_BYTES && cut < n; cut++)
            cut_at(&SAMPLES[i], folder, bytes, cut);
        for (size_t k = 0; k < CUTS && n > HEAD_BYTES; k++)
            cut_at(&SAMPLES[i], folder, bytes,
                   HEAD_BYTES + (size_t)random_below(&random, n - HEAD_BYTES));
        free(bytes);
        tempdir_remove(folder);
    }
}

/* Formats that say where they end; of those without it a cut between two records is none. */
static void a_cut_is_told_and_costs_what_is_behind_it(void **state)
{
    static const char *const ENDED[] = {".gz", ".parquet", ".arrow", ".csv"};

    (void)state;
    for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES; i++) {
        struct str path = str_of(SAMPLES[i].path);
        char *folder = tempdir_make(), *bytes;
        int64_t last = 0;
        size_t n;
        bool has_end = false;

        for (size_t k = 0; k < sizeof ENDED / sizeof *ENDED; k++)
            has_end |= str_ends(path, ENDED[k]) && str_find(path, "stream") < 0;
        read_sample(&SAMPLES[i], &bytes, &n);
        for (size_t cut = 1; has_end && cut < n; cut += 1 + n / 150) {
            struct imported got = import_bytes(SAMPLES[i].importer, folder, name_of(&SAMPLES[i]),
                                               str_from(bytes, cut));

            assert_true(got.n_points >= last);
            last = got.n_points;
            if (bytes[cut - 1] != '\n' && bytes[cut - 1] != '\r' && cut > 50)
                if (got.state == SOURCE_WHOLE && got.n_notes == 0)
                    fail_msg("%s: nothing is told of a cut at %zu", SAMPLES[i].path, cut);
        }
        free(bytes);
        tempdir_remove(folder);
    }
}

/* meta.yaml is what is opened; the metrics lie in files beside it. */
static void a_cut_file_of_an_mlflow_metric_gives_its_whole_lines(void **state)
{
    static const char RUN[] = "tests/importers/mlflow_files/run/";
    char *folder = tempdir_make(), *meta, *metric, path[200];
    size_t n_meta, n;

    (void)state;
    (void)snprintf(path, sizeof path, "%smeta.yaml", RUN);
    assert_int_equal(source_slurp(path, (size_t)1 << 20, &meta, &n_meta, NULL), OK);
    (void)snprintf(path, sizeof path, "%smetrics/loss", RUN);
    assert_int_equal(source_slurp(path, (size_t)1 << 20, &metric, &n, NULL), OK);
    for (size_t cut = 0; cut <= n; cut++) {
        int64_t n_lines = 0;

        for (size_t k = 0; k < cut; k++)
            n_lines += metric[k] == '\n';
        tempdir_write(folder, "metrics/loss", metric, cut);
        struct imported got =
            import_bytes("mlflow_files", folder, "meta.yaml", str_from(meta, n_meta));
        assert_true(got.n_points == n_lines || got.n_points == n_lines + 1);
    }
    for (size_t k = 0; k < n * 8; k += 3) {
        metric[k / 8] = (char)(metric[k / 8] ^ (1 << k % 8));
        tempdir_write(folder, "metrics/loss", metric, n);
        (void)import_bytes("mlflow_files", folder, "meta.yaml", str_from(meta, n_meta));
    }
    free(meta);
    free(metric);
    tempdir_remove(folder);
}

static void flipped_bits_are_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES; i++) {
        char *folder = tempdir_make(), *bytes;
        struct random random;
        size_t n;

        read_sample(&SAMPLES[i], &bytes, &n);
        random_seed(&random, SEED + 1);
        for (size_t k = 0; k < FLIPS; k++) {
            size_t at = (size_t)random_below(&random, n);
            char before = bytes[at];

            bytes[at] = (char)(bytes[at] ^ (1 << random_below(&random, 8)));
            (void)import_bytes(SAMPLES[i].importer, folder, name_of(&SAMPLES[i]),
                               str_from(bytes, n));
            if (k % 3) /* else they pile up */
                bytes[at] = before;
        }
        free(bytes);
        tempdir_remove(folder);
    }
}

static void points_before_a_cut_are_there(void **state)
{
    char *folder = tempdir_make();
    struct buf events, wandb;
    size_t ends[2][20];

    (void)state;
    buf_init(&events, (size_t)1 << 20);
    buf_init(&wandb, (size_t)1 << 20);
    logger_begin_events(&events);
    logger_begin_wandb(&wandb);
    for (int i = 0; i < 20; i++) {
        logger_put_scalar(&events, "loss", i, 1700000000 + i, 2.5);
        logger_put_history(&wandb, "loss", i, 2.5);
        ends[0][i] = events.n;
        ends[1][i] = wandb.n;
    }
    for (size_t cut = ends[0][10]; cut < events.n; cut += 7) {
        struct imported got =
            import_bytes("tensorboard", folder, "e.tfevents.1", str_from(events.p, cut));
        int64_t expected = 0;

        while (expected < 20 && ends[0][expected] <= cut)
            expected++;
        assert_int_equal(got.n_points, expected);
        if (cut != ends[0][expected - 1])
            assert_int_equal(got.state, SOURCE_GROWING);
    }
    for (size_t cut = ends[1][10]; cut < wandb.n; cut += 7) {
        struct imported got = import_bytes("wandb", folder, "run-a.wandb", str_from(wandb.p, cut));
        int64_t expected = 0;

        while (expected < 20 && ends[1][expected] <= cut)
            expected++;
        assert_int_equal(got.n_points, expected);
    }
    buf_free(&events);
    buf_free(&wandb);
    tempdir_remove(folder);
}

/* ---- Contents that lie inside sound frames ---- */

static void put_both(struct buf *events, struct buf *wandb, struct str record)
{
    struct buf outer;

    buf_init(&outer, (size_t)1 << 20);
    logger_put_record(events, record);
    logger_put_wandb(wandb, record);
    for (unsigned field = 1; field < 32; field++) {
        buf_clear(&outer);
        logger_put_bytes(&outer, field, record);
        logger_put_record(events, buf_view(&outer));
        logger_put_wandb(wandb, buf_view(&outer));
    }
    buf_free(&outer);
}

static void messages_that_lie_are_told_and_left(void **state)
{
    static const char *const TEXTS[] = {
        "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", /* no end of a number */
        "\x0A\xFF\xFF\xFF\xFF\x0F"
        "abc", /* longer than what is left */
        "\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
        "\x0A\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01x",
        "\x0B\x0B\x0B\x0B\x0C", /* groups */
        "\x07\x07",             /* no such type */
        "\x0A\x02\x0A\x05",     /* the inner one is longer than the outer one */
        "\x09"
        "1234", /* half a number */
    };
    char *folder = tempdir_make();
    struct buf events, wandb;

    (void)state;
    buf_init(&events, (size_t)1 << 20);
    buf_init(&wandb, (size_t)1 << 20);
    logger_begin_events(&events);
    logger_begin_wandb(&wandb);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        put_both(&events, &wandb, str_of(TEXTS[i]));
    logger_put_scalar(&events, "loss", 1, 1700000000, 2.5);
    logger_put_history(&wandb, "loss", 1, 2.5);
    struct imported got = import_bytes("tensorboard", folder, "e.tfevents.1", buf_view(&events));
    assert_int_equal(got.n_points, 1);
    assert_true(got.n_notes > 0 && got.n_notes < 20);
    got = import_bytes("wandb", folder, "run-a.wandb", buf_view(&wandb));
    assert_int_equal(got.n_points, 1);
    assert_true(got.n_notes > 0 && got.n_notes < 20);
    buf_free(&events);
    buf_free(&wandb);
    tempdir_remove(folder);
}

static void tags_without_end_are_bounded(void **state)
{
    char *folder = tempdir_make(), tag[64];
    struct buf events;

    (void)state;
    buf_init(&events, (size_t)64 << 20);
    logger_begin_events(&events);
    for (int i = 0; i < 25000; i++) {
        snprintf(tag, sizeof tag, "tag %d", i);
        logger_put_scalar(&events, tag, 1, 1700000000, 2.5);
    }
    struct imported got = import_bytes("tensorboard", folder, "e.tfevents.1", buf_view(&events));
    assert_true(got.n_points > 1000 && got.n_points <= 20000);
    assert_int_equal(got.n_notes, 1);
    buf_free(&events);
    tempdir_remove(folder);
}

/* Each length claims most of the file with a right checksum: the same bytes must not be summed up
 * for every one of them. */
static void headers_that_lie_cost_no_more_than_they_can(void **state)
{
    char *folder = tempdir_make();
    struct buf events;

    (void)state;
    buf_init(&events, (size_t)64 << 20);
    logger_begin_events(&events);
    for (int i = 0; i < 30000; i++)
        logger_put_header(&events, 200000);
    struct imported got = import_bytes("tensorboard", folder, "e.tfevents.1", buf_view(&events));
    assert_int_equal(got.n_points, 0);
    assert_int_equal(got.state, SOURCE_DAMAGED);
    buf_free(&events);
    tempdir_remove(folder);
}

static void a_database_of_another_program_is_none(void **state)
{
    char *folder = tempdir_make(), *bytes;
    size_t n;

    (void)state;
    read_sample(&SAMPLES[7], &bytes, &n);
    for (size_t i = 100; i < n; i++) /* the header stays */
        bytes[i] = (char)(i * 7);
    struct imported got = import_bytes("mlflow_db", folder, "mlflow.db", str_from(bytes, n));
    assert_int_equal(got.state, SOURCE_DAMAGED);
    assert_int_equal(got.n_notes, 1);
    free(bytes);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(a_cut_is_told_and_costs_what_is_behind_it),
        cmocka_unit_test(a_cut_file_of_an_mlflow_metric_gives_its_whole_lines),
        cmocka_unit_test(flipped_bits_are_survived),
        cmocka_unit_test(points_before_a_cut_are_there),
        cmocka_unit_test(messages_that_lie_are_told_and_left),
        cmocka_unit_test(tags_without_end_are_bounded),
        cmocka_unit_test(headers_that_lie_cost_no_more_than_they_can),
        cmocka_unit_test(a_database_of_another_program_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
