/* Tells a log from other text: by what training prints, then by its name. Code, data and prose
 * are left alone even when they quote a traceback. */
#include "importers/run/console_probe.h"

#include <ctype.h>
#include <string.h>

#include "core/read/source.h"
#include "importers/run/console_loop.h"
#include "importers/run/console_wrap.h"

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

static int probe_text(struct str name, struct str head)
{
    bool is_named = is_log_name(name) && !is_side_log(name);
    bool is_capture = str_ends(name, ".md") && has_redrawn_bar(head);
    if ((ends_as(name, not_logs, sizeof not_logs / sizeof not_logs[0]) && !is_capture) ||
        is_side_log(name) || is_json(head)) {
        return 0;
    }
    size_t n = count_markers(head) + has_bar(head);
    if (is_named) {
        return n > 0 ? 90 : 55;
    }
    n = count_own_markers(head) + has_bar(head);
    if (n == 0 && console_loop_count(head, ENOUGH_ROWS) == ENOUGH_ROWS) {
        return 60;
    }
    return n > 1 ? 75 : n == 1 ? 45 : 0;
}

/* The head without what a logger of the machine put around its lines. */
static int probe_wrapped(const struct peek *peek, const struct console_wrap *wrap)
{
    struct buf text, scratch;
    struct str rest = peek->head, line;
    buf_init(&text, 2 * WRAP_HEAD_BYTES);
    buf_init(&scratch, WRAP_HEAD_BYTES);
    while (str_split(&rest, '\n', &line)) {
        buf_str(&text, console_wrap_open(wrap, line, &scratch));
        buf_puts(&text, "\n");
    }
    int score = probe_text(str_of(peek->name), buf_view(&text));
    buf_free(&text);
    buf_free(&scratch);
    return score;
}

int console_probe(const struct peek *peek)
{
    struct str name = str_of(peek->name);
    enum source_oddity oddity = source_oddity(peek->head);
    struct console_wrap wrap;
    bool is_named = is_log_name(name) && !is_side_log(name);
    if (oddity == ODDITY_EMPTY || oddity == ODDITY_LFS_POINTER) {
        return is_named ? 30 : 0;
    }
    console_wrap_find(&wrap, str_first(peek->head, WRAP_HEAD_BYTES));
    bool is_docker = wrap.kind == WRAP_DOCKER;
    if (wrap.kind == WRAP_UTF16 || is_docker) {
        int score = probe_wrapped(peek, &wrap);
        return is_docker && score > 0 && score < 85 ? 85 : score;
    }
    if (oddity == ODDITY_BINARY) {
        return is_named && count_markers(peek->head) + has_bar(peek->head) > 0 ? 40 : 0;
    }
    return wrap.kind == WRAP_NONE ? probe_text(name, peek->head) : probe_wrapped(peek, &wrap);
}

/* UTF-16 is no reason to leave a log alone: PowerShell redirects into it. */
int console_look_whether_odd(struct import *import, bool *is_odd, struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    char head[512];
    size_t n = 0;
    int rc = source_open(&file, import->path, &why);
    rc = rc == OK ? source_at(file, 0, head, sizeof head, &n, &why) : rc;
    source_close(file);
    *is_odd = false;
    return rc == OK && console_wrap_is_utf16(str_from(head, n))
               ? OK
               : import_oddity(import, is_odd, err);
}
