/* Metrics, parameters and tags of MLflow, from whichever store. See mlflow.h. */
#include "importers/run/mlflow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "importers/run/logged_name.h"

#define NAME_BYTES    600
#define SEGMENT_SHIFT 44 /* rows of a later segment come after all rows of an earlier one */

/* ---- Metrics ---- */

int mlflow_metric_begin(struct mlflow_metric *metric, struct import *import, const char *key,
                        bool has_steps, struct error *err)
{
    char name[LOGGED_NAME_BYTES];

    *metric = (struct mlflow_metric){
        .import = import, .handle = -1, .has_steps = has_steps, .last_step = NONE};
    if (!*key || strlen(key) >= LOGGED_NAME_BYTES || !unicode_is_valid(str_of(key)))
        return sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                         "a metric whose name is no text of at most %d bytes was left out",
                         LOGGED_NAME_BYTES - 1);
    return sink_series(import->sink, key, logged_name(key, name), &metric->handle, err);
}

int mlflow_metric_add(struct mlflow_metric *metric, int64_t milliseconds, double value,
                      int64_t step, struct error *err)
{
    bool is_step = metric->has_steps && step >= 0 && step < (INT64_C(1) << SEGMENT_SHIFT);

    if (metric->handle < 0)
        return OK;
    if (is_step && step < metric->last_step && metric->segment < (1 << 18))
        metric->segment++;
    metric->last_step = is_step ? step : metric->last_step;
    const struct point point = {
        .seq = ((int64_t)metric->segment << SEGMENT_SHIFT) + (is_step ? step : metric->n),
        .segment = metric->segment,
        .step = is_step ? step : NONE,
        .value = value,
        .line = NONE,
        .wall = milliseconds > 0 ? (double)milliseconds / 1000 : (double)NAN};
    metric->n++;
    metric->import->n_rows++;
    return sink_point(metric->import->sink, metric->handle, &point, err);
}

/* ---- Parameters and tags ---- */

int mlflow_param(struct import *import, const char *key, const char *value, struct error *err)
{
    struct str text = str_trim(str_of(value));
    double number;

    if (str_is(text, "None"))
        return import_setting(import, SIDE_TRAIN, key, "null", VALUE_NULL, NONE, err);
    if (str_is(text, "True") || str_is(text, "False"))
        return import_setting(import, SIDE_TRAIN, key, str_is(text, "True") ? "true" : "false",
                              VALUE_BOOL, NONE, err);
    bool is_number = text.n == strlen(value) && number_parse_any(text, &number);
    bool is_whole = is_number && strspn(value, "-0123456789") == text.n;
    enum value_type type = is_whole ? VALUE_INT : is_number ? VALUE_FLOAT : VALUE_TEXT;
    return import_setting(import, SIDE_TRAIN, key, value, type, NONE, err);
}

static bool is_of_a_person(const char *key)
{
    static const char *const KEYS[] = {"mlflow.user", "user_id", "mlflow.log-model.history"};

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(key, KEYS[i]) == 0)
            return true;
    return false;
}

int mlflow_tag(struct import *import, const char *key, const char *value, struct error *err)
{
    char name[NAME_BYTES];
    bool is_own = strncmp(key, "mlflow.", 7) == 0;
    int n = snprintf(name, sizeof name, "mlflow.%s", is_own ? key + 7 : key);

    if (n >= (int)sizeof name || !*value || is_of_a_person(key))
        return OK;
    return import_setting(import, SIDE_TRAIN, name, value, VALUE_TEXT, NONE, err);
}

int mlflow_status(struct import *import, const char *status, struct error *err)
{
    char text[64];

    snprintf(text, sizeof text, "MLflow: the run is %.40s", status);
    if (strcmp(status, "RUNNING") == 0)
        return OK;
    const struct event event = {.kind = "logger-exit",
                                .pattern = "mlflow-status",
                                .step = NONE,
                                .line = NONE,
                                .byte = NONE,
                                .text = text,
                                .n_captures = 1,
                                .captures = {status}};

    import->is_over = true;
    return sink_event(import->sink, &event, err);
}
