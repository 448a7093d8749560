/* Facts of preference rows, joined over the training files. See preference_facts.h. */
#include "core/facts/preference_facts.h"

#include <math.h>
#include <string.h>

#include "core/read/json.h"

static const struct dataset *dataset_of(const struct run_facts *facts, int64_t source_id)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].source_id == source_id)
            return &facts->datasets[i];
    return NULL;
}

static bool is_training(const struct dataset *dataset)
{
    return !dataset || !dataset->split ||
           (strcmp(dataset->split, "eval") != 0 && strcmp(dataset->split, "test") != 0);
}

static double number(const struct json *tree, const char *key)
{
    const struct json *value = json_get(tree, key);

    return json_is(value, JSON_NUMBER) && isfinite(value->number) ? value->number : 0.0;
}

static int64_t count(const struct json *tree, const char *key)
{
    double value = number(tree, key);

    return value > 0.0 && value < 9e15 ? (int64_t)value : 0;
}

/* Means and sample deviations of two parts as those of the whole. */
static void pool(double *mean, double *sd, double n, double more_mean, double more_sd,
                 double more_n)
{
    double all = n + more_n, d = more_mean - *mean;
    double m2 = (n > 1.0 ? *sd * *sd * (n - 1.0) : 0.0) +
                (more_n > 1.0 ? more_sd * more_sd * (more_n - 1.0) : 0.0);

    if (more_n <= 0.0)
        return;
    m2 += d * d * n * more_n / all;
    *mean += d * more_n / all;
    *sd = all > 1.0 ? sqrt(m2 / (all - 1.0)) : 0.0;
}

static void add_rows(struct preference_facts *out, const struct json *tree, int64_t source_id)
{
    const struct json *rows = json_get(tree, "rows");

    for (const struct json *row = json_is(rows, JSON_ARRAY) ? rows->child : NULL; row;
         row = row->next) {
        double values[4] = {0};
        size_t n = 0;

        for (const struct json *value = row->child; value && n < 4; value = value->next)
            values[n++] = value->number;
        if (n == 4 && out->n_rows < PREFERENCE_ROWS_SHOWN)
            out->rows[out->n_rows++] = (struct preference_row){
                source_id, (int64_t)values[0], (int64_t)values[1], values[2], values[3]};
    }
}

static void add(struct preference_facts *out, const struct json *tree, int64_t source_id,
                struct arena *arena)
{
    const struct json *score = json_get(tree, "score");
    double n = (double)out->n, more = number(tree, "pairs");

    pool(&out->mean_chosen, &out->sd_chosen, n, number(tree, "mean_chosen"),
         number(tree, "sd_chosen"), more);
    pool(&out->mean_rejected, &out->sd_rejected, n, number(tree, "mean_rejected"),
         number(tree, "sd_rejected"), more);
    out->n += count(tree, "pairs");
    out->n_longer += count(tree, "longer");
    out->n_shorter += count(tree, "shorter");
    out->n_equal += count(tree, "equal");
    out->n_scored += count(tree, "scored");
    out->n_contradicting += count(tree, "contradicting");
    out->n_labels += count(tree, "labels");
    out->n_true += count(tree, "true");
    if (out->score[0] == '\0' && json_is(score, JSON_STRING)) {
        const char *copy = arena_strndup(arena, score->text.p, score->text.n);
        out->score = copy ? copy : "";
    }
    if (out->source_id == 0)
        out->source_id = source_id;
    add_rows(out, tree, source_id);
}

bool preference_facts_read(const struct run_facts *facts, struct arena *arena,
                           struct preference_facts *out)
{
    struct error err;

    *out = (struct preference_facts){.score = ""};
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];
        const struct json *tree = NULL;

        if (!setting->raw_name || strcmp(setting->raw_name, "rows.preference") != 0 ||
            !is_training(dataset_of(facts, setting->source_id)) ||
            json_parse(str_of(setting->value), false, arena, &tree, NULL, &err) != OK)
            continue;
        add(out, tree, setting->source_id, arena);
    }
    out->ratio = out->mean_rejected > 0.0 ? out->mean_chosen / out->mean_rejected : NAN;
    double spread = sqrt((out->sd_chosen * out->sd_chosen + out->sd_rejected * out->sd_rejected) /
                         2.0);
    out->d = spread > 0.0 ? (out->mean_chosen - out->mean_rejected) / spread : NAN;
    return out->n > 0 || out->n_labels > 0;
}

/* ---- Names of reward functions ---- */

bool reward_part_name(const char *series, char *out, size_t size)
{
    static const char *const OTHERS[] = {"chosen", "rejected", "margins", "accuracies", NULL};
    struct str name = str_of(series);

    if (!str_starts(name, "rewards/"))
        return false;
    name = str_skip(name, 8);
    if (name.n > 4 && memcmp(name.p + name.n - 4, "/std", 4) == 0)
        return false;
    if (name.n > 5 && memcmp(name.p + name.n - 5, "/mean", 5) == 0)
        name.n -= 5;
    if (name.n == 0 || name.n >= size)
        return false;
    memcpy(out, name.p, name.n);
    out[name.n] = '\0';
    for (size_t i = 0; OTHERS[i]; i++)
        if (strcmp(out, OTHERS[i]) == 0)
            return false;
    return true;
}

bool reward_name_is_accuracy(const char *name)
{
    static const char *const WORDS[] = {"acc",    "correct", "exact", "match", "solve",
                                        "answer", "verif",   "test",  NULL};

    for (size_t i = 0; WORDS[i]; i++)
        if (strcasestr(name, WORDS[i]))
            return true;
    return false;
}
