/* The lists of names. See column_kinds.h. */
#include "core/facts/column_kinds.h"

#include <string.h>

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_is_ignoring_case(name, *names))
            return true;
    return false;
}

bool column_is_content(struct str name)
{
    static const char *const NAMES[] = {
        "messages",  "conversations", "conversation", "prompt",      "completion",
        "chosen",    "rejected",      "label",        "labels",      "class",
        "target",    "targets",       "text",         "content",     "input",
        "inputs",    "output",        "outputs",      "instruction", "system",
        "history",   "question",      "answer",       "answers",     "query",
        "response",  "context",       "passage",      "sentence",    "sentence1",
        "sentence2", "premise",       "hypothesis",   "assistant",   "expected",
        "reference", "solution",      "summary",      "tools",       "tool_calls",
        "images",    "label_text",    "label_name",   "score",       NULL};

    return is_one_of(name, NAMES);
}

bool column_is_meant_to_recur(struct str name)
{
    static const char *const NAMES[] = {
        "language", "lang",   "locale",  "category", "subcategory", "topic", "task",   "task_name",
        "type",     "kind",   "tag",     "tags",     "domain",      "split", "level",  "difficulty",
        "model",    "date",   "year",    "month",    "day",         "time",  "source", "dataset",
        "license",  "format", "version", "status",   "country",     "role",  "style",  NULL};
    const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;

    return is_one_of(dot ? str_skip(name, (size_t)(dot - name.p) + 1) : name, NAMES);
}

bool column_is_key_name(struct str name)
{
    static const char *const WORDS[] = {
        "user",         "author",  "customer", "doc",   "page",     "session",
        "conversation", "thread",  "url",      "host",  "template", "source_id",
        "sourceid",     "patient", "case",     "group", NULL};

    for (const char *const *word = WORDS; *word; word++)
        if (str_has_ignoring_case(name, *word))
            return true;
    return false;
}
