/* What the machine had: installed packages (pip freeze, requirements.txt) as "package.<name>", GPUs
 * and their processes (nvidia-smi's table, its -L list, its --query-gpu rows) as "gpu.<i>.…". */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/peek.h"

#define ENVIRONMENT_LINE_BYTES ((size_t)64 << 10)
#define ENVIRONMENT_MAX_LINES  100000

static bool is_package_list(const struct peek *peek)
{
    return peek_name_starts(peek, "pip_freeze") || peek_name_starts(peek, "pip-freeze") ||
           peek_name_starts(peek, "pip_list") ||
           (peek_name_starts(peek, "requirements") && peek_name_ends(peek, ".txt"));
}

static bool is_gpu_list(const struct peek *peek)
{
    return peek_name_starts(peek, "nvidia_smi") || peek_name_starts(peek, "nvidia-smi");
}

static int probe(const struct peek *peek)
{
    if (is_package_list(peek) || is_gpu_list(peek))
        return 90;
    if (!peek_name_ends(peek, ".txt"))
        return 0;
    struct str start = str_first(peek->head, 2048);
    if (str_find(start, "| NVIDIA-SMI ") >= 0 && str_find(peek->head, "MiB /") >= 0)
        return 80;
    return str_starts(start, "GPU 0: ") && str_find(start, "(UUID: ") >= 0 ? 80 : 0;
}

static int put(struct import *import, int64_t line, enum value_type type, struct str value,
               const char *name, struct error *err)
{
    struct buf text;
    int rc = OK;

    buf_init(&text, 4096);
    buf_str(&text, value);
    import->n_rows++;
    if (!text.failed && text.n)
        rc = import_setting(import, SIDE_TRAIN, name, text.p, type, line, err);
    buf_free(&text);
    return rc;
}

/* ---- Packages ---- */

static size_t name_bytes(struct str line)
{
    size_t n = 0;

    while (n < line.n && (isalnum((unsigned char)line.p[n]) || strchr("._-", line.p[n])))
        n++;
    return n;
}

/* "torch==2.1.0+cu121", "peft>=0.10", "trl @ git+https://…@<commit>", "torch    2.1.0" (pip list).
 */
static int import_package(struct import *import, const struct source_line *line, struct error *err)
{
    struct str text = str_trim(line->text);
    size_t n = name_bytes(text);
    char name[160];
    struct str rest = str_trim(str_skip(text, n));

    if (n == 0 || n > 100 || text.p[0] == '-' || rest.n == 0)
        return OK;
    if (rest.p[0] == '[')
        for (size_t i = 0; i < rest.n; i++)
            if (rest.p[i] == ']') {
                rest = str_trim(str_skip(rest, i + 1));
                break;
            }
    if (str_starts(rest, "=="))
        rest = str_trim(str_skip(rest, 2));
    else if (!(rest.n && (isdigit((unsigned char)rest.p[0]) || strchr("<>~!@=", rest.p[0]))))
        return OK;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] == ';' || rest.p[i] == '#')
            rest.n = i;
    snprintf(name, sizeof name, "package.%.*s", (int)n, text.p);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
    return put(import, line->number, VALUE_TEXT, str_trim(rest), name, err);
}

/* ---- GPUs ---- */

struct gpus {
    int current; /* index of the GPU whose lines these are, or -1 */
    bool in_processes;
    bool is_query; /* rows of --query-gpu: the header said where things are */
    int name_at, index_at, total_at, used_at;
    int n_rows;
};

static int put_gpu(struct import *import, const struct source_line *line, int gpu, const char *what,
                   enum value_type type, struct str value, struct error *err)
{
    char name[64];

    snprintf(name, sizeof name, "gpu.%d.%s", gpu, what);
    return put(import, line->number, type, value, name, err);
}

static struct str leading_digits(struct str text)
{
    size_t n = 0;

    while (n < text.n && isdigit((unsigned char)text.p[n]))
        n++;
    return str_first(text, n);
}

/* The digits before the given offset. */
static struct str digits_before(struct str text, size_t end)
{
    size_t begin = end;

    while (begin > 0 && isdigit((unsigned char)text.p[begin - 1]))
        begin--;
    return str_from(text.p + begin, end - begin);
}

/* "512MiB / 81920MiB" */
static int import_memory(struct import *import, const struct source_line *line, int gpu,
                         struct error *err)
{
    ptrdiff_t at = str_find(line->text, "MiB /");

    if (at < 0 || gpu < 0)
        return OK;
    struct str used = digits_before(line->text, (size_t)at);
    struct str total = leading_digits(str_trim(str_skip(line->text, (size_t)at + 5)));
    int rc = used.n ? put_gpu(import, line, gpu, "memory_used_mib", VALUE_INT, used, err) : OK;
    return rc == OK && total.n
               ? put_gpu(import, line, gpu, "memory_total_mib", VALUE_INT, total, err)
               : rc;
}

/* "|   0  Tesla V100-SXM2-32GB     Off  | 0000…": the name ends at two blanks or at the bar. */
static int import_gpu_name(struct import *import, const struct source_line *line, struct gpus *gpus,
                           struct error *err)
{
    struct str text = str_trim(str_skip(line->text, 1));
    struct str digits = leading_digits(text);
    struct str name = str_trim(str_skip(text, digits.n));
    int64_t index;
    size_t n = 0;

    if (digits.n == 0 || digits.n > 3 || !number_parse_int(digits, &index) || name.n == 0 ||
        !isalpha((unsigned char)name.p[0]))
        return OK;
    while (n < name.n && name.p[n] != '|' &&
           !(name.p[n] == ' ' && n + 1 < name.n && name.p[n + 1] == ' '))
        n++;
    name = str_trim(str_first(name, n));
    if (str_ends(name, " On") || str_ends(name, " Off"))
        name = str_trim(str_first(name, name.n - 3));
    gpus->current = (int)index;
    return put_gpu(import, line, gpus->current, "name", VALUE_TEXT, name, err);
}

/* "|    0   N/A  N/A      1234      C   python                 10240MiB |" */
static int import_process(struct import *import, const struct source_line *line, struct error *err)
{
    ptrdiff_t unit = str_find(line->text, "MiB");
    struct str rest = str_skip(line->text, 1), word, pid = {0};
    char name[64];
    size_t n_numbers = 0;

    if (unit < 0)
        return OK;
    while (str_split(&rest, ' ', &word)) {
        struct str digits = leading_digits(word);

        if (digits.n && digits.n == word.n && digits.n < 20 && ++n_numbers == 2)
            pid = word;
    }
    struct str used = digits_before(line->text, (size_t)unit);
    if (!pid.n || !used.n)
        return OK;
    snprintf(name, sizeof name, "gpu.process.%.*s", (int)pid.n, pid.p);
    return put(import, line->number, VALUE_INT, used, name, err);
}

/* "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-…)" */
static int import_listed(struct import *import, const struct source_line *line, struct error *err)
{
    struct str text = str_trim(line->text);
    struct str digits = leading_digits(str_skip(text, 4));
    struct str name = str_skip(text, 4 + digits.n + 1);
    ptrdiff_t end = str_find(name, " (");
    int64_t index;

    if (!number_parse_int(digits, &index) || index > 1000)
        return OK;
    return put_gpu(import, line, (int)index, "name", VALUE_TEXT,
                   str_trim(end >= 0 ? str_first(name, (size_t)end) : name), err);
}

static bool read_query_header(struct str line, struct gpus *gpus)
{
    struct str cell;

    gpus->name_at = gpus->index_at = gpus->total_at = gpus->used_at = -1;
    for (int i = 0; str_split(&line, ',', &cell); i++) {
        cell = str_trim(cell);
        if (str_is(cell, "name") || str_is(cell, "gpu_name"))
            gpus->name_at = i;
        else if (str_is(cell, "index"))
            gpus->index_at = i;
        else if (str_starts(cell, "memory.total"))
            gpus->total_at = i;
        else if (str_starts(cell, "memory.used"))
            gpus->used_at = i;
    }
    return gpus->total_at >= 0 || (gpus->name_at >= 0 && gpus->index_at >= 0);
}

static int import_query_row(struct import *import, const struct source_line *line,
                            struct gpus *gpus, struct error *err)
{
    struct str rest = line->text, cell;
    int gpu = gpus->n_rows++, rc = OK;
    int64_t index;

    for (int i = 0; rc == OK && str_split(&rest, ',', &cell); i++) {
        cell = str_trim(cell);
        if (i == gpus->index_at && number_parse_int(cell, &index) && index >= 0 && index < 1000)
            gpu = (int)index;
        else if (i == gpus->name_at)
            rc = put_gpu(import, line, gpu, "name", VALUE_TEXT, cell, err);
        else if (i == gpus->total_at)
            rc = put_gpu(import, line, gpu, "memory_total_mib", VALUE_INT, leading_digits(cell),
                         err);
        else if (i == gpus->used_at)
            rc =
                put_gpu(import, line, gpu, "memory_used_mib", VALUE_INT, leading_digits(cell), err);
    }
    return rc;
}

static int import_gpu_line(struct import *import, const struct source_line *line, struct gpus *gpus,
                           struct error *err)
{
    struct str text = str_trim(line->text);

    if (text.n == 0)
        return OK;
    if (gpus->is_query)
        return import_query_row(import, line, gpus, err);
    if (line->number == 1 && read_query_header(text, gpus)) {
        gpus->is_query = true;
        return OK;
    }
    if (str_starts(text, "GPU ") && text.n > 4 && isdigit((unsigned char)text.p[4]))
        return import_listed(import, line, err);
    if (str_find(text, "Processes:") >= 0)
        gpus->in_processes = true;
    if (text.p[0] != '|')
        return OK;
    if (gpus->in_processes)
        return import_process(import, line, err);
    int rc = import_gpu_name(import, line, gpus, err);
    return rc == OK ? import_memory(import, line, gpus->current, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct source_file *file = NULL;
    struct source_line line;
    struct error why = {0};
    struct gpus gpus = {.current = -1};
    const char *slash = strrchr(import->path, '/');
    struct peek peek = {.name = slash ? slash + 1 : import->path};
    bool is_odd, is_packages = is_package_list(&peek);
    int got, rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = is_packages ? "packages" : "facts of GPUs";
    if (rc != OK || is_odd)
        return rc;
    rc = source_open(&file, import->path, &why);
    while (rc == OK && (got = source_next_line(file, ENVIRONMENT_LINE_BYTES, &line, &why)) != 0) {
        if (got < 0) {
            rc = got;
            break;
        }
        if (line.number > ENVIRONMENT_MAX_LINES)
            break;
        rc = is_packages ? import_package(import, &line, &why)
                         : import_gpu_line(import, &line, &gpus, &why);
    }
    source_close(file);
    return rc == OK ? OK : import_note_error(import, &why, err);
}

const struct importer importer_environment = {
    .id = "environment",
    .title = "installed packages and GPUs",
    .hint = "pip_freeze.txt, nvidia_smi.txt",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "environment",
    .probe = probe,
    .run = run,
};
