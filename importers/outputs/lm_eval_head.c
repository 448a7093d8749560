/* The head of lm-evaluation-harness' results. See lm_eval_head.h. */
#include "importers/outputs/lm_eval_head.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/facts/checkpoint_name.h"
#include "importers/outputs/item_results.h"

/* ---- Which model ---- */

static const struct json *model_args_of(const struct json *top)
{
    return json_get(json_get(top, "config"), "model_args");
}

/* The value of a key in "pretrained=a,peft=b" or in an object. */
static bool model_arg(const struct json *args, const char *key, char out[LM_EVAL_NAME_BYTES])
{
    const struct json *member = json_is(args, JSON_OBJECT) ? json_get(args, key) : NULL;
    size_t n = strlen(key);

    out[0] = '\0';
    if (json_is(member, JSON_TRUE) || json_is(member, JSON_FALSE))
        return snprintf(out, LM_EVAL_NAME_BYTES, member->type == JSON_TRUE ? "True" : "False") > 0;
    if (result_text(member, out, LM_EVAL_NAME_BYTES))
        return true;
    struct str rest = json_is(args, JSON_STRING) ? args->text : str_of(""), part;
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n <= n + 1 || !str_starts(part, key) || part.p[n] != '=')
            continue;
        part = str_skip(part, n + 1);
        snprintf(out, LM_EVAL_NAME_BYTES, "%.*s", (int)(part.n < 255 ? part.n : 255), part.p);
        return true;
    }
    return false;
}

/* ".../checkpoint-500", or a revision of that name. */
static int64_t step_of(const char *name)
{
    struct str text = str_of(name);
    struct checkpoint_name checkpoint;

    while (text.n > 0 && text.p[text.n - 1] == '/')
        text = str_first(text, text.n - 1);
    size_t from = text.n;
    while (from > 0 && text.p[from - 1] != '/' && text.p[from - 1] != '@')
        from--;
    return checkpoint_name_read(str_skip(text, from), &checkpoint) ? checkpoint.step : NONE;
}

/* An adapter is what was evaluated; without one the model itself, at its revision. */
void lm_eval_head_read(const struct json *top, struct lm_eval_head *out)
{
    const struct json *args = model_args_of(top);
    char revision[LM_EVAL_NAME_BYTES];

    *out = (struct lm_eval_head){.top = top, .step = NONE};
    if (model_arg(args, "peft", out->artefact) || model_arg(args, "lora_local_path", out->artefact)) {
        snprintf(out->model, sizeof out->model, "%s", out->artefact);
    } else if (model_arg(args, "pretrained", out->artefact) || model_arg(args, "model", out->artefact)) {
        size_t n = strlen(out->artefact);
        if (model_arg(args, "revision", revision) && strcmp(revision, "main") != 0)
            snprintf(out->artefact + n, sizeof out->artefact - n, "@%s", revision);
        snprintf(out->model, sizeof out->model, "%s", out->artefact);
    } else {
        (void)result_text(json_get(top, "model_name"), out->model, sizeof out->model);
    }
    out->step = step_of(out->model);
}

int lm_eval_head_settings(struct import *import, const struct json *top, struct error *err)
{
    static const char *const KEYS[] = {"pretrained", "peft", "lora_local_path", "delta", "revision",
                                       "dtype", "load_in_4bit", "load_in_8bit", "autogptq", "gguf_file",
                                       "max_length", "add_bos_token"};
    const struct json *args = model_args_of(top), *config = json_get(top, "config");
    char name[64], value[LM_EVAL_NAME_BYTES];
    int rc = OK;

    for (size_t i = 0; args && i < sizeof KEYS / sizeof *KEYS && rc == OK; i++) {
        if (!model_arg(args, KEYS[i], value))
            continue;
        snprintf(name, sizeof name, "lm_eval.%s", KEYS[i]);
        const struct json said = {.type = JSON_STRING, .text = str_of(value), .line = args->line};
        rc = import_own_setting(import, SIDE_EVAL, name, &said, err);
    }
    if (rc == OK)
        rc = import_own_setting(import, SIDE_EVAL, "lm_eval.limit", json_get(config, "limit"), err);
    if (rc == OK)
        rc = import_own_setting(import, SIDE_EVAL, "lm_eval.gen_kwargs", json_get(config, "gen_kwargs"),
                                err);
    return rc;
}

/* ---- How a task was asked ---- */

static bool is_truth(const struct json *value)
{
    return json_is(value, JSON_TRUE) ||
           (json_is(value, JSON_STRING) && str_is_ignoring_case(value->text, "true"));
}

/* Of generation arguments as an object or as "temperature=0.7,do_sample=True". */
static double temperature_in(const struct json *args)
{
    char sampled[LM_EVAL_NAME_BYTES], text[LM_EVAL_NAME_BYTES];

    if (!args || json_is(args, JSON_NULL))
        return NAN;
    bool is_off = model_arg(args, "do_sample", sampled) && strcmp(sampled, "True") != 0 &&
                  strcmp(sampled, "true") != 0;
    if (is_off)
        return 0.0;
    const struct json said = {.type = JSON_STRING,
                              .text = str_of(model_arg(args, "temperature", text) ? text : "")};
    double temperature = result_value(&said);
    return isnan(temperature) && is_truth(json_get(args, "do_sample")) ? 1.0 : temperature;
}

static double temperature_of(const struct json *top, const struct json *task)
{
    double by_task = temperature_in(json_get(task, "generation_kwargs"));
    double by_call = temperature_in(json_get(json_get(top, "config"), "gen_kwargs"));

    return isnan(by_call) ? by_task : by_call;
}

static void append(char *out, const char *key, const char *value)
{
    size_t n = strlen(out);

    snprintf(out + n, LM_EVAL_FROZEN_BYTES - n, "%s%s=%s", n ? " " : "", key, value);
}

void lm_eval_frozen(const struct json *top, const char *task, const char *metric, const char *filter,
                    char out[LM_EVAL_FROZEN_BYTES])
{
    const struct json *shots = json_get(json_get(top, "n-shot"), task);
    const struct json *version = json_get(json_get(top, "versions"), task);
    const struct json *config = json_get(json_get(top, "configs"), task);
    const struct json *seed = json_get(json_get(top, "config"), "random_seed");
    double temperature = temperature_of(top, config);
    char text[64];

    out[0] = '\0';
    append(out, "metric", metric);
    append(out, "filter", filter);
    if (!shots)
        shots = json_get(config, "num_fewshot");
    if (result_text(shots, text, sizeof text))
        append(out, "shots", text);
    if (result_text(version, text, sizeof text))
        append(out, "version", text);
    if (isfinite(temperature)) {
        snprintf(text, sizeof text, "%g", temperature);
        append(out, "temperature", text);
        if (temperature > 0.0 && result_text(seed, text, sizeof text))
            append(out, "seed", text);
    }
}

bool lm_eval_is_group(const struct json *top, const char *task)
{
    const struct json *parts = json_get(json_get(top, "group_subtasks"), task);

    return (json_is(parts, JSON_ARRAY) && parts->child) || json_get(json_get(top, "groups"), task);
}

int64_t lm_eval_items(const struct json *top, const char *task)
{
    const struct json *n = json_get(json_get(json_get(top, "n-samples"), task), "effective");

    return json_is(n, JSON_NUMBER) && n->number >= 1.0 && n->number < 9e15 ? (int64_t)n->number : NONE;
}

bool lm_eval_less_is_better(const struct json *top, const char *task, const char *metric)
{
    const struct json *said = json_get(json_get(json_get(top, "higher_is_better"), task), metric);

    return json_is(said, JSON_FALSE) || (!json_is(said, JSON_TRUE) && result_less_is_better(metric));
}

void lm_eval_filter(const struct json *top, const char *task, size_t i, char out[LM_EVAL_NAME_BYTES])
{
    const struct json *list = json_get(json_get(json_get(top, "configs"), task), "filter_list");
    const struct json *filter = json_is(list, JSON_ARRAY) ? list->child : NULL;

    for (; filter && i > 0; i--)
        filter = filter->next;
    (void)result_text(json_get(filter, "name"), out, LM_EVAL_NAME_BYTES);
}
