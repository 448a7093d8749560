/* A run built by hand. Lists grow by malloc and are handed to run_facts_from_memory. */
#include "tests/harness/fake_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CURVES = 64, MAX_OF_A_KIND = 512 };

struct fake_run {
    struct arena *arena;
    struct facts_memory memory;
    struct run_facts *facts; /* NULL until fake_facts */

    struct source sources[16];
    struct note notes[16];
    struct setting settings[MAX_OF_A_KIND];
    struct series series[MAX_CURVES];
    struct curve curves[MAX_CURVES];
    struct event events[MAX_OF_A_KIND];
    struct artefact artefacts[64];
    struct facts_tensor_set tensors[64];
    struct dataset datasets[16];
    struct generation generations[MAX_OF_A_KIND];
    struct answer answers[16];
    struct sample *lengths;
    struct facts_sample_set samples[16];
    struct eval_suite suites[32];
    struct facts_item_set items[32];
    struct audit audits[8];
    const struct audit *audit_list[8];
};

static void need_room(size_t n, size_t capacity)
{
    if (n >= capacity)
        BUG("a fake run holds at most %zu of these", capacity);
}

static const char *keep(struct fake_run *run, const char *text)
{
    return arena_strdup(run->arena, text);
}

struct fake_run *fake_run_new(enum run_kind kind)
{
    struct fake_run *run = calloc(1, sizeof *run);

    if (!run)
        BUG("no memory for a fake run");
    run->arena = arena_open(256u << 20);
    if (!run->arena)
        BUG("no memory for a fake run");
    struct run_facts *facts = &run->memory.lists;
    facts->run = (struct run){.id = 1,
                              .key = "fake",
                              .folder = "/fake/run",
                              .name = "fake",
                              .project = "/fake",
                              .kind = kind,
                              .started_at = NONE,
                              .ended_at = NONE};
    facts->last_step = NONE;
    facts->max_steps = NONE;
    facts->last_epoch = NAN;
    facts->planned_epochs = NAN;
    facts->outcome_reason = "";
    fake_source(run, "/fake/run/train.log", "console_log");
    facts->has_training_log = true;
    return run;
}

void fake_run_free(struct fake_run *run)
{
    if (!run)
        return;
    run_facts_close(run->facts);
    arena_close(run->arena);
    free(run->lengths);
    free(run);
}

struct arena *fake_arena(struct fake_run *run)
{
    return run->arena;
}

struct run_facts *fake_decided(struct fake_run *run)
{
    return &run->memory.lists;
}

int64_t fake_source(struct fake_run *run, const char *path, const char *importer)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_sources, sizeof run->sources / sizeof *run->sources);
    int64_t id = (int64_t)facts->n_sources + 1;
    run->sources[facts->n_sources++] = (struct source){.id = id,
                                                       .path = keep(run, path),
                                                       .importer = keep(run, importer),
                                                       .importer_version = 1,
                                                       .state = SOURCE_WHOLE};
    return id;
}

void fake_curve_at(struct fake_run *run, const char *name, const int64_t *step, const double *y,
                   size_t n)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(run->memory.n_curves, MAX_CURVES);
    double *value = arena_array(run->arena, n + 1, sizeof *value);
    int64_t *at = arena_array(run->arena, n + 1, sizeof *at);
    int64_t *seq = arena_array(run->arena, n + 1, sizeof *seq);
    int64_t *line = arena_array(run->arena, n + 1, sizeof *line);
    int32_t *segment = arena_array(run->arena, n + 1, sizeof *segment);
    if (!value || !at || !seq || !line || !segment)
        BUG("no memory for a fake curve");
    int32_t current = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && step[i] < step[i - 1])
            current++;
        value[i] = y[i];
        at[i] = step[i];
        seq[i] = step[i] + (int64_t)current * 1000000;
        line[i] = seq[i] + 1;
        segment[i] = current;
        if (step[i] > facts->last_step)
            facts->last_step = step[i];
    }
    size_t k = run->memory.n_curves++;
    run->curves[k] = (struct curve){.name = keep(run, name),
                                    .source_id = FAKE_LOG,
                                    .n = n,
                                    .value = value,
                                    .step = at,
                                    .seq = seq,
                                    .line = line,
                                    .segment = segment,
                                    .n_segments = current + 1};
    run->series[facts->n_series++] = (struct series){.id = (int64_t)k + 1,
                                                     .source_id = FAKE_LOG,
                                                     .name = run->curves[k].name,
                                                     .raw_name = run->curves[k].name,
                                                     .n_points = (int64_t)n};
}

void fake_curve(struct fake_run *run, const char *name, const double *y, size_t n)
{
    int64_t *step = arena_array(run->arena, n + 1, sizeof *step);

    if (!step)
        BUG("no memory for a fake curve");
    for (size_t i = 0; i < n; i++)
        step[i] = (int64_t)i + 1;
    fake_curve_at(run, name, step, y, n);
}

void fake_line(struct fake_run *run, const char *name, double first, double last, size_t n)
{
    double *y = arena_array(run->arena, n + 1, sizeof *y);

    if (!y)
        BUG("no memory for a fake curve");
    for (size_t i = 0; i < n; i++)
        y[i] = n > 1 ? first + (last - first) * (double)i / (double)(n - 1) : first;
    fake_curve(run, name, y, n);
}

struct fake_run *fake_run_with_rows(const double *loss, const double *grad, size_t n)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_curve(run, "loss", loss, n);
    if (grad)
        fake_curve(run, "grad_norm", grad, n);
    return run;
}

void fake_level(struct fake_run *run, const char *name, double value, size_t n)
{
    fake_line(run, name, value, value, n);
}

static enum value_type type_of(const char *value)
{
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return VALUE_BOOL;
    if (strcmp(value, "null") == 0)
        return VALUE_NULL;
    if (value[0] == '[')
        return VALUE_LIST;
    if (value[0] == '{')
        return VALUE_OBJECT;
    char *end = NULL;
    (void)strtod(value, &end);
    if (end == value || *end != '\0')
        return VALUE_TEXT;
    return strpbrk(value, ".eEnN") ? VALUE_FLOAT : VALUE_INT;
}

void fake_setting_on(struct fake_run *run, enum side side, const char *name, const char *value)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_settings, MAX_OF_A_KIND);
    run->settings[facts->n_settings] = (struct setting){.source_id = FAKE_LOG,
                                                        .side = side,
                                                        .raw_name = keep(run, name),
                                                        .name = keep(run, name),
                                                        .value = keep(run, value),
                                                        .type = type_of(value),
                                                        .line = (int64_t)facts->n_settings + 1};
    facts->n_settings++;
}

void fake_setting(struct fake_run *run, const char *name, const char *value)
{
    fake_setting_on(run, SIDE_TRAIN, name, value);
}

void fake_answer(struct fake_run *run, const char *name, const char *value)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_answers, sizeof run->answers / sizeof *run->answers);
    run->answers[facts->n_answers++] =
        (struct answer){.name = keep(run, name), .value = keep(run, value)};
}

struct event *fake_event(struct fake_run *run, const char *kind, const char *pattern, int64_t step,
                         const char *text)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_events, MAX_OF_A_KIND);
    int64_t k = (int64_t)facts->n_events++;
    run->events[k] = (struct event){.id = k + 1,
                                    .source_id = FAKE_LOG,
                                    .seq = k,
                                    .kind = keep(run, kind),
                                    .pattern = keep(run, pattern),
                                    .step = step,
                                    .line = 1000 + k,
                                    .byte = 80 * k,
                                    .text = keep(run, text)};
    return &run->events[k];
}

void fake_capture(struct fake_run *run, int group, const char *text)
{
    struct run_facts *facts = &run->memory.lists;

    if (facts->n_events == 0 || group < 1 || group > EVENT_MAX_CAPTURES)
        BUG("no event for capture %d", group);
    struct event *event = &run->events[facts->n_events - 1];
    for (int i = event->n_captures; i < group; i++)
        event->captures[i] = "";
    if (event->n_captures < group)
        event->n_captures = group;
    event->captures[group - 1] = keep(run, text);
}

void fake_artefact(struct fake_run *run, const char *kind, const char *path, int64_t step)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_artefacts, sizeof run->artefacts / sizeof *run->artefacts);
    run->artefacts[facts->n_artefacts] = (struct artefact){.id = (int64_t)facts->n_artefacts + 1,
                                                           .source_id = FAKE_LOG,
                                                           .kind = keep(run, kind),
                                                           .path = keep(run, path),
                                                           .size = NONE,
                                                           .step = step};
    facts->n_artefacts++;
}

void fake_tensors(struct fake_run *run, const struct tensor *tensors, size_t n)
{
    need_room(run->memory.n_tensor_sets, sizeof run->tensors / sizeof *run->tensors);
    struct tensor *copy = arena_array(run->arena, n + 1, sizeof *copy);
    if (!copy)
        BUG("no memory for fake tensors");
    memcpy(copy, tensors, n * sizeof *copy);
    run->tensors[run->memory.n_tensor_sets++] = (struct facts_tensor_set){
        .artefact_id = (int64_t)run->memory.lists.n_artefacts, .tensors = copy, .n = n};
}

struct artefact *fake_last_artefact(struct fake_run *run)
{
    if (run->memory.lists.n_artefacts == 0)
        BUG("no artefact of %s", run->memory.lists.run.name);
    return &run->artefacts[run->memory.lists.n_artefacts - 1];
}

struct eval_suite *fake_last_suite(struct fake_run *run)
{
    if (run->memory.lists.n_eval_suites == 0)
        BUG("no suite of %s", run->memory.lists.run.name);
    return &run->suites[run->memory.lists.n_eval_suites - 1];
}

struct setting *fake_last_setting(struct fake_run *run)
{
    if (run->memory.lists.n_settings == 0)
        BUG("no setting of %s", run->memory.lists.run.name);
    return &run->settings[run->memory.lists.n_settings - 1];
}

struct source *fake_last_source(struct fake_run *run)
{
    return &run->sources[run->memory.lists.n_sources - 1];
}

void fake_dataset(struct fake_run *run, const char *split, const char *form, int64_t n_rows)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_datasets, sizeof run->datasets / sizeof *run->datasets);
    run->datasets[facts->n_datasets] = (struct dataset){.id = (int64_t)facts->n_datasets + 1,
                                                        .source_id = FAKE_LOG,
                                                        .name = keep(run, split),
                                                        .split = keep(run, split),
                                                        .form = keep(run, form),
                                                        .columns = "",
                                                        .n_rows = n_rows};
    facts->n_datasets++;
}

static void sum_audit(struct audit *audit)
{
    for (int64_t i = 0; i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        for (int k = 0; k < (int)(sizeof audit->n_flagged / sizeof audit->n_flagged[0]); k++)
            audit->n_flagged[k] += (row->flags >> k) & 1;
        audit->n_tokens += row->n_tokens > 0 ? row->n_tokens : 0;
        audit->n_trained += row->n_trained > 0 ? row->n_trained : 0;
        audit->n_trained_prompt += row->n_trained_prompt > 0 ? row->n_trained_prompt : 0;
        audit->n_with_sides += (row->flags & AUDIT_HAS_SIDES) != 0;
    }
}

struct audit *fake_audit(struct fake_run *run, const char *split, enum audit_basis basis,
                         const struct audit_row *rows, size_t n)
{
    size_t at = run->memory.n_audits++;

    need_room(at, sizeof run->audits / sizeof *run->audits);
    fake_dataset(run, split, basis == AUDIT_RECORDED ? "tokens" : "messages", (int64_t)n);
    struct audit_row *copy = arena_array(run->arena, n + 1, sizeof *copy);
    if (!copy)
        BUG("no memory for a fake audit");
    memcpy(copy, rows, n * sizeof *copy);
    run->audits[at] = (struct audit){
        .basis = basis,
        .dataset = &run->datasets[run->memory.lists.n_datasets - 1],
        .policy = basis == AUDIT_RECORDED ? "recorded labels" : "a trainer",
        .n_rows = (int64_t)n,
        .n_file_rows = (int64_t)n,
        .rows = copy,
        .max_length = NONE,
        .pad_id = NONE,
        .eos_id = NONE,
        .bos_id = NONE,
        .turn_end_id = NONE,
        .last_id = NONE,
        .first_refused_row = NONE,
        .n_vocab = NONE,
        .first_new_id = NONE,
        .max_id = NONE,
        .max_id_row = NONE,
    };
    sum_audit(&run->audits[at]);
    run->audit_list[at] = &run->audits[at];
    run->memory.audits = run->audit_list;
    return &run->audits[at];
}

void fake_dataset_name(struct fake_run *run, const char *name)
{
    run->datasets[run->memory.lists.n_datasets - 1].name = keep(run, name);
}

void fake_completions(struct fake_run *run, const struct completions *completions)
{
    run->memory.completions = completions;
}

void fake_lengths(struct fake_run *run, const int32_t *tokens, size_t n)
{
    free(run->lengths);
    run->lengths = calloc(n + 1, sizeof *run->lengths);
    if (!run->lengths)
        BUG("no memory for fake lengths");
    for (size_t i = 0; i < n; i++)
        run->lengths[i] = (struct sample){
            .at = (int64_t)i, .n_tokens = tokens[i], .n_prompt_tokens = -1, .n_trained = -1};
    run->memory.lengths = run->lengths;
    run->memory.n_lengths = n;
    fake_dataset(run, "train", "lengths", (int64_t)n);
    run->memory.lengths_of = &run->datasets[run->memory.lists.n_datasets - 1];
}

void fake_samples(struct fake_run *run, const struct sample *samples, size_t n)
{
    size_t at = run->memory.n_sample_sets;

    need_room(at, sizeof run->samples / sizeof *run->samples);
    if (run->memory.lists.n_datasets == 0)
        BUG("samples belong to the dataset that was added last");
    struct sample *copy = arena_array(run->arena, n, sizeof *copy);
    if (!copy)
        BUG("no memory for fake samples");
    memcpy(copy, samples, n * sizeof *copy);
    run->samples[at] = (struct facts_sample_set){
        .dataset_id = run->datasets[run->memory.lists.n_datasets - 1].id, .samples = copy, .n = n};
    run->memory.samples = run->samples;
    run->memory.n_sample_sets = at + 1;
}

void fake_suite(struct fake_run *run, const char *model, const char *suite, int64_t correct, int64_t n)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_eval_suites, sizeof run->suites / sizeof *run->suites);
    run->suites[facts->n_eval_suites] =
        (struct eval_suite){.id = (int64_t)facts->n_eval_suites + 1,
                            .source_id = FAKE_LOG,
                            .model = keep(run, model),
                            .suite = keep(run, suite),
                            .metric = "correct",
                            .step = NONE,
                            .n = n,
                            .n_correct = (double)correct,
                            .line = (int64_t)facts->n_eval_suites + 1};
    facts->eval_suites = run->suites;
    facts->n_eval_suites++;
}

void fake_step(struct fake_run *run, int64_t step)
{
    if (run->memory.lists.n_eval_suites == 0)
        BUG("the step belongs to the suite that was added last");
    run->suites[run->memory.lists.n_eval_suites - 1].step = step;
}

void fake_items(struct fake_run *run, const struct eval_item *items, size_t n)
{
    size_t at = run->memory.n_item_sets;
    struct eval_suite *suite = &run->suites[run->memory.lists.n_eval_suites - 1];

    need_room(at, sizeof run->items / sizeof *run->items);
    struct eval_item *copy = arena_array(run->arena, n, sizeof *copy);
    if (!copy || run->memory.lists.n_eval_suites == 0)
        BUG("items belong to the suite that was added last");
    memcpy(copy, items, n * sizeof *copy);
    suite->n_items = (int64_t)n;
    suite->n = 0;
    suite->n_correct = 0.0;
    for (size_t i = 0; i < n; i++) { /* as the store counts them */
        suite->n += isfinite(items[i].score) ? 1 : 0;
        suite->n_correct += isfinite(items[i].score) ? items[i].score : 0.0;
    }
    run->items[at] = (struct facts_item_set){.suite_id = suite->id, .items = copy, .n = n};
    run->memory.items = run->items;
    run->memory.n_item_sets = at + 1;
}

void fake_judgements(struct fake_run *run, const struct judgement *judgements, size_t n)
{
    struct judgement *copy = arena_array(run->arena, n, sizeof *copy);

    if (!copy)
        BUG("no memory for %zu judgements", n);
    memcpy(copy, judgements, n * sizeof *copy);
    run->memory.judgements = copy;
    run->memory.n_judgements = n;
}

void fake_generation(struct fake_run *run, const struct generation *generation)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_generations, MAX_OF_A_KIND);
    struct generation *copy = &run->generations[facts->n_generations++];
    *copy = *generation;
    copy->model = keep(run, generation->model ? generation->model : "");
    copy->finish_reason = keep(run, generation->finish_reason);
}

void fake_note(struct fake_run *run, enum note_severity severity, const char *message)
{
    struct run_facts *facts = &run->memory.lists;

    need_room(facts->n_notes, sizeof run->notes / sizeof *run->notes);
    run->notes[facts->n_notes++] = (struct note){.source_id = FAKE_LOG,
                                                 .path = "/fake/run/train.log",
                                                 .severity = severity,
                                                 .line = NONE,
                                                 .byte = NONE,
                                                 .message = keep(run, message)};
}

const struct run_facts *fake_facts(struct fake_run *run)
{
    if (run->facts)
        return run->facts;
    struct run_facts *lists = &run->memory.lists;
    lists->sources = run->sources;
    lists->notes = run->notes;
    lists->settings = run->settings;
    lists->series = run->series;
    lists->events = run->events;
    lists->artefacts = run->artefacts;
    lists->datasets = run->datasets;
    lists->generations = run->generations;
    lists->answers = run->answers;
    run->memory.curves = run->curves;
    run->memory.tensors = run->tensors;
    struct error err = {0};
    if (run_facts_from_memory(&run->facts, &run->memory, &err) != OK)
        BUG("facts of a fake run: %s", err.message);
    return run->facts;
}

void fake_check_among(struct fake_run *run, struct fake_run *const *others, size_t n_others,
                      const struct check *check, struct check_result *out)
{
    const struct run_facts **facts = arena_array(run->arena, n_others + 1, sizeof *facts);

    if (!facts)
        BUG("no memory for the facts of %zu other runs", n_others);
    for (size_t i = 0; i < n_others; i++)
        facts[i] = fake_facts(others[i]);
    struct check_ctx ctx = {
        .facts = fake_facts(run), .others = facts, .n_others = n_others, .arena = run->arena};
    struct error err = {0};
    if (check_run_one(check, &ctx, out, &err) != OK)
        BUG("%s: %s", check->id, err.message);
}

void fake_check(struct fake_run *run, const struct check *check, struct check_result *out)
{
    fake_check_among(run, NULL, 0, check, out);
}
