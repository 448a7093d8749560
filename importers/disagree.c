/* Do the files that tell of one run's loss tell the same (FORMATS.md B0 rule 6)? What differs is a
 * note on the less trusted file; which one counts is decided later (core/facts/curves.c). */
#include <string.h>

#include "core/facts/rank_name.h"
#include "importers/plan_parts.h"

#define TELLERS_MAX 8  /* of one run: more are restarts */
#define RUNS_MAX    40 /* beyond that, nothing is compared: each file is read once more for it */

/* Smaller is more trusted; -1: tells of no loss. */
static int trust_of(const struct plan_file *file)
{
    static const struct {
        const char *importer;
        int trust;
    } TELLERS[] = {{"hf_trainer_state", 0}, {"tensorboard", 1},   {"wandb", 1},
                   {"trainer_log", 2},      {"metrics_table", 2}, {"mlflow_files", 2},
                   {"mlflow_db", 2},        {"trackio", 2}};

    for (size_t i = 0; i < sizeof TELLERS / sizeof *TELLERS; i++)
        if (strcmp(TELLERS[i].importer, file->importer->id) == 0)
            return TELLERS[i].trust;
    return -1;
}

static int64_t rank_of(const struct plan_file *file)
{
    struct rank_name name;

    return rank_name_find(file->path, 0, &name) ? name.rank : 0;
}

static bool is_better(const struct plan_file *a, const struct plan_file *b)
{
    int trust_a = trust_of(a), trust_b = trust_of(b);

    if (trust_a != trust_b)
        return trust_a < trust_b;
    int64_t rank_a = rank_of(a), rank_b = rank_of(b);
    return rank_a != rank_b ? rank_a < rank_b : a->size > b->size;
}

/* Another process of the same run sees other rows: its loss differs by nature. */
static bool are_two_ranks(const struct plan_file *a, const struct plan_file *b)
{
    return rank_of(a) != rank_of(b) && rank_names_are_beside(a->path, b->path);
}

static int rows_of(struct scene *scene, const struct plan_file *file, struct loss_rows *rows,
                   struct error *err)
{
    const struct walk_file walked = {.path = file->path,
                                     .shown = file->shown,
                                     .name = last_component(file->path),
                                     .folder = parent_folder(scene->arena, file->path),
                                     .size = file->size};
    bool is_part = file->role && strncmp(file->role, "run ", 4) == 0;
    const struct found found = {
        .file = &walked, .importer = file->importer, .part = is_part ? file->role + 4 : NULL};

    return rows_read(&found, scene->arena, rows, err);
}

static bool is_copy_in_checkpoint(const struct scene *scene, const struct plan_file *file)
{
    return folder_of_checkpoint(scene->arena, file->path, scene->argument->folder) != NULL;
}

int note_disagreements(struct scene *scene, struct plan_file *files, size_t n, size_t n_runs,
                       struct error *err)
{
    struct plan_file *tellers[TELLERS_MAX];
    struct loss_rows own, other;
    size_t n_tellers = 0, best = 0, common, differing;
    int rc = OK;

    for (size_t i = 0; i < n && n_tellers < TELLERS_MAX; i++)
        if (trust_of(&files[i]) >= 0 && !is_copy_in_checkpoint(scene, &files[i]))
            tellers[n_tellers++] = &files[i];
    if (n_tellers < 2 || n_runs > RUNS_MAX)
        return OK;
    for (size_t i = 1; i < n_tellers; i++)
        best = is_better(tellers[i], tellers[best]) ? i : best;
    rc = rows_of(scene, tellers[best], &own, err);
    for (size_t i = 0; i < n_tellers && rc == OK; i++) {
        if (i == best)
            continue;
        rc = rows_of(scene, tellers[i], &other, err);
        if (rc != OK)
            break;
        rows_compare(&own, &other, &common, &differing);
        if (differing > 0 && are_two_ranks(tellers[i], tellers[best]))
            tellers[i]->note = arena_printf(
                scene->arena, "process %lld of the same run: the rows of %s count",
                (long long)rank_of(tellers[i]), tellers[best]->shown);
        else if (differing > 0)
            tellers[i]->note = arena_printf(
                scene->arena, "the loss differs from that of %s at %zu of %zu common steps: %s counts",
                tellers[best]->shown, differing, common,
                trust_of(tellers[i]) == trust_of(tellers[best]) ? "the longer one" : "the other one");
    }
    return rc;
}
