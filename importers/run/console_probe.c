/* Tells a log from other text: by what training prints, then by its name. Code, data and prose
 * are left alone even when they quote a traceback. */
#include "importers/run/console_probe.h"

#include <ctype.h>
#include <string.h>

#include "core/read/source.h"
#include "importers/run/console_loop.h"

#define ENOUGH_ROWS 3 /* lines of a training loop that prose does not have */

/* What only a process prints. */
static const char *const markers[] = {
    "Traceback (most recent call last)",
    "***** Running ",
    "trainable params: ",
    "{'loss': ",
    "{'eval_loss': ",
    "{'train_runtime': ",
    " out of memory",
    "it/s]",
    "s/it]",
    "examples/s]",
    "torch.distributed",
    "slurmstepd",
    "srun: error",
    "[WARNING|",
    "[INFO|",
    "FutureWarning: ",
    "UserWarning: ",
    "RuntimeWarning: ",
    "Loading checkpoint shards",
    "Unsloth",
    "oom-kill",
    "OOMKilled",
    "Out of memory: Killed",
    "\tTraining Loss",
    " | loss:", /* torchtune's log_<time>.txt */
    "Error: ",
};

static const char *const endings[] = {".log", ".out", ".err", ".stdout", ".stderr"};

static const char *const not_logs[] = {
    ".py",    ".sh",  ".md",    ".json", ".jsonl", ".yaml", ".yml",  ".csv",   ".tsv",
    ".toml",  ".ini", ".ipynb", ".c",    ".h",     ".cpp",  ".html", ".jinja", ".parquet",
    ".arrow", ".bin", ".pt",    ".rst",  ".js",    ".xml",  ".lock", ".cfg",   ".patch",
};

static bool ends_as(struct str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_ends(name, list[i])) {
            return true;
        }
    }
    return false;
}

static bool is_log_name(struct str name)
{
    static const char *const words[] = {"nohup",   "stdout",          "stderr",
                                        "console", "notebook_output", "output.txt",
                                        "dmesg",   "slurm-",          "log.txt"};
    if (ends_as(name, endings, sizeof endings / sizeof endings[0])) {
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (str_has_ignoring_case(name, words[i])) {
            return true;
        }
    }
    return false;
}

/* The logger's own notes beside a run: not what the training printed. */
static bool is_side_log(struct str name)
{
    return str_is(name, "debug.log") || str_is(name, "debug-internal.log") ||
           str_is(name, "debug-core.log") || str_is(name, "debug-cli.log");
}

static size_t count_markers(struct str head)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
        n += head.n > 0 && memmem(head.p, head.n, markers[i], strlen(markers[i])) != NULL;
    }
    return n;
}

/* Manuals and tests quote tracebacks, indented or behind a prompt; a process prints them from the
 * first column, perhaps behind its rank or the time. */
static bool has_own_traceback(struct str head)
{
    static const char TRACEBACK[] = "Traceback (most recent call last)";
    struct str line;
    while (str_split(&head, '\n', &line)) {
        bool is_own = line.n > 0 && (isalnum((unsigned char)line.p[0]) || line.p[0] == '[');
        if (is_own && memmem(line.p, line.n, TRACEBACK, sizeof TRACEBACK - 1)) {
            return true;
        }
    }
    return false;
}

/* What a file tells whose name does not say that it is a log. "…Error: " stands in catalogues of
 * messages too: it says nothing alone, and a quoted traceback says nothing at all. */
static size_t count_own_markers(struct str head)
{
    size_t n = count_markers(head);
    bool has_error = head.n > 0 && memmem(head.p, head.n, "Error: ", 7) != NULL;
    bool has_quote = head.n > 0 && memmem(head.p, head.n, "Traceback (", 11) != NULL &&
                     !has_own_traceback(head);
    if (has_quote && n > 0) {
        n--;
    }
    return n == 1 && has_error ? 0 : n;
}

static bool has_bar(struct str head)
{
    return head.n > 0 && memmem(head.p, head.n, "%|", 2) != NULL;
}

/* A bar that is redrawn over itself: a terminal captured into a page of notes, no prose. */
static bool has_redrawn_bar(struct str head)
{
    bool is_redrawn = false;
    for (size_t i = 0; i + 1 < head.n && !is_redrawn; i++) {
        is_redrawn = head.p[i] == '\r' && head.p[i + 1] != '\n';
    }
    return is_redrawn && has_bar(head);
}

/* JSON, one object a line or one in all. */
static bool is_json(struct str head)
{
    struct str text = str_trim(str_first(head, 4096));
    if (text.n < 2 || (text.p[0] != '{' && text.p[0] != '[')) {
        return false;
    }
    return text.p[0] == '{' ? text.p[1] == '"' || text.p[1] == '\n' || text.p[1] == '\r'
                            : text.p[1] == '{' || text.p[1] == '\n';
}

int console_probe(const struct peek *peek)
{
    struct str name = str_of(peek->name);
    enum source_oddity oddity = source_oddity(peek->head);
    bool is_named = is_log_name(name) && !is_side_log(name);
    if (oddity == ODDITY_EMPTY || oddity == ODDITY_LFS_POINTER) {
        return is_named ? 30 : 0;
    }
    bool is_capture = str_ends(name, ".md") && has_redrawn_bar(peek->head);
    if ((ends_as(name, not_logs, sizeof not_logs / sizeof not_logs[0]) && !is_capture) ||
        is_side_log(name) || is_json(peek->head)) {
        return 0;
    }
    size_t n = count_markers(peek->head) + has_bar(peek->head);
    if (oddity == ODDITY_BINARY) {
        return is_named && n > 0 ? 40 : 0;
    }
    if (is_named) {
        return n > 0 ? 90 : 55;
    }
    n = count_own_markers(peek->head) + has_bar(peek->head);
    if (n == 0 && console_loop_count(peek->head, ENOUGH_ROWS) == ENOUGH_ROWS) {
        return 60;
    }
    return n > 1 ? 75 : n == 1 ? 45 : 0;
}
