/* Steps, metrics, and columns that only data sets and recorded outputs have. */
#include "importers/run/metric_columns.h"

#include <string.h>

#include "core/facts/metric_names.h"
#include "importers/run/exported_table.h"

static bool is_metric(const char *name)
{
    static const char *const names[] = {
        "loss",
        "train_loss",
        "eval_loss",
        "learning_rate",
        "grad_norm",
        "reward",
        "kl",
        "objective/kl",
        "perplexity",
        "ppl",
        "train_accuracy",
        "eval_accuracy",
        "val_accuracy",
        "mean_token_accuracy",
        "rewards/margins",
        "rewards/chosen",
        "train_loss_epoch",
    };
    const char *canonical = metric_name(name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(canonical, names[i]) == 0) {
            return true;
        }
    }
    return metric_is_eval_loss(canonical);
}

/* Columns of datasets, recorded outputs, evaluation items and side tables. */
static bool is_foreign(const char *name)
{
    static const char *const names[] = {
        "messages",    "conversations", "prompt",   "prompts",   "completion", "completions",
        "instruction", "input",         "output",   "outputs",   "text",       "chosen",
        "rejected",    "input_ids",     "labels",   "question",  "answer",     "response",
        "label",       "query",         "content",  "item_id",   "suite",      "finetuned",
        "expected",    "winner",        "sentence", "sentence1", "target",     "document",
        "tokens_ids",  "finish_reason", "doc_id",   "doc",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool metric_columns_see(void *ctx, const char *name)
{
    struct metric_columns *columns = ctx;
    columns->n++;
    columns->has_step |= metric_is_step(name);
    columns->has_epoch |= strcmp(metric_name(name), "epoch") == 0;
    columns->has_metric |= is_metric(name);
    columns->has_loss |= strcmp(metric_name(name), "loss") == 0;
    columns->has_text |= is_foreign(name);
    return !columns->has_text;
}

static struct str unquoted(struct str cell)
{
    cell = str_trim(cell);
    bool is_quoted = cell.n > 1 && cell.p[0] == '"' && cell.p[cell.n - 1] == '"';
    return is_quoted ? str_from(cell.p + 1, cell.n - 2) : cell;
}

/* TensorBoard's three columns: the third has the file's name. */
static bool see_scalar(struct str line, const char *file_name, struct metric_columns *columns)
{
    struct str cells[4];
    size_t n = 0;
    while (n < 4 && str_split(&line, ',', &cells[n])) {
        cells[n] = unquoted(cells[n]);
        n++;
    }
    const char *tag = exported_is_scalar(cells, n) ? exported_tag(file_name) : NULL;
    if (tag != NULL) {
        metric_columns_see(columns, "step");
        metric_columns_see(columns, tag);
    }
    return tag != NULL;
}

/* A CSV header: names between commas or tabs, perhaps quoted. */
static void names_of_header(struct str line, struct metric_columns *columns)
{
    char separator = memchr(line.p, '\t', line.n) != NULL ? '\t' : ',';
    struct str cell;
    while (columns->n < METRIC_COLUMNS && str_split(&line, separator, &cell)) {
        char name[METRIC_COLUMN_BYTES], plain[METRIC_COLUMN_BYTES];
        cell = exported_column(unquoted(cell));
        if (cell.n >= sizeof name) {
            columns->has_text = true;
            continue;
        }
        cell = exported_plain(cell, plain, sizeof plain);
        memcpy(name, cell.p, cell.n);
        name[cell.n] = '\0';
        metric_columns_see(columns, name);
    }
}

void metric_columns_header(struct str line, const char *file_name, struct metric_columns *columns)
{
    if (!see_scalar(line, file_name, columns)) {
        names_of_header(line, columns);
    }
}
