/* Reads console_patterns.tsv, which is compiled in, and says what each row is for.
 *
 * Columns: name, pattern, frameworks, failure or event, groups, basis, examples. The fourth column
 * decides the use: check ids and words in parentheses become kinds of events, "(metric line)" rows
 * that are not dicts are read by their regex, dicts and bars by hand (console_row.c,
 * console_bar.c). */
#include "importers/run/console_patterns.h"

#include <stdlib.h>
#include <string.h>

#define N_COLUMNS 7

extern const unsigned char embedded_console_patterns[];
extern const size_t embedded_console_patterns_bytes;

/* The groups column's words for the metrics of a row, and how a series of it is called. */
static const struct {
    const char *word, *field;
} fields[] = {
    {"step", "step"},
    {"iter", "step"},
    {"batch", "batch"},
    {"total", "total"},
    {"epoch", "epoch"},
    {"loss", "loss"},
    {"train", "loss"},
    {"val", "eval_loss"},
    {"val loss", "eval_loss"},
    {"lr", "learning_rate"},
    {"grad norm", "grad_norm"},
    {"scale", "loss_scale"},
    {"skipped", "skipped_iterations"},
    {"nan", "nan_iterations"},
    {"samples", "consumed_samples"},
};

static const char *field_of_word(struct str word)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (str_is(word, fields[i].word)) {
            return fields[i].field;
        }
    }
    return NULL;
}

/* "1 iter; 2 loss; 3 lr": which metric each group is. */
static void read_fields(struct console_pattern *pattern)
{
    struct str rest = pattern->groups, part;
    while (str_split(&rest, ';', &part)) {
        part = str_trim(part);
        size_t digits = 0, number = 0;
        while (digits < part.n && digits < 2 && part.p[digits] >= '0' && part.p[digits] <= '9') {
            number = number * 10 + (size_t)(part.p[digits++] - '0');
        }
        if (digits > 0 && number > 0 && number < REGEX_MAX_GROUPS) {
            pattern->fields[number] = field_of_word(str_trim(str_skip(part, digits)));
        }
    }
}

/* One alternative of the fourth column as a kind: "flat-x (when 1 = 0)" gives "flat-x",
 * "(eval marker: …)" gives "eval-marker", "(info mask markers)" gives "info". */
static const char *kind_of(struct str text, struct arena *arena)
{
    text = str_trim(text);
    bool is_word = text.n > 0 && text.p[0] == '(';
    if (is_word) {
        text = str_skip(text, 1);
    }
    static const char *const info[] = {"info", "benign", "progress", "prefix", "metric"};
    for (size_t i = 0; is_word && i < sizeof info / sizeof info[0]; i++) {
        if (str_starts(text, info[i])) {
            return info[i];
        }
    }
    size_t n = 0;
    while (n < text.n && strchr(is_word ? ":;,)" : " (", text.p[n]) == NULL) {
        n++;
    }
    char *kind = arena_alloc(arena, n + 1);
    if (kind == NULL) {
        return "";
    }
    for (size_t i = 0; i < n; i++) {
        kind[i] = text.p[i] == ' ' ? '-' : text.p[i];
    }
    return kind;
}

static bool is_no_event(const char *kind)
{
    return strcmp(kind, "benign") == 0 || strcmp(kind, "prefix") == 0 ||
           strcmp(kind, "progress") == 0 || strcmp(kind, "metric") == 0 || kind[0] == '\0';
}

/* Alternatives are divided by '|' outside parentheses. */
static void read_kinds(struct console_pattern *pattern, struct str column, struct arena *arena)
{
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= column.n; i++) {
        char c = i < column.n ? column.p[i] : '|';
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c != '|' || depth > 0) {
            continue;
        }
        const char *kind = kind_of(str_from(column.p + begin, i - begin), arena);
        if (!is_no_event(kind) && pattern->n_kinds < CONSOLE_MAX_KINDS) {
            pattern->kinds[pattern->n_kinds++] = kind;
        }
        begin = i + 1;
    }
    bool is_line = str_starts(column, "(metric line");
    bool is_dict = memchr(pattern->regex_text.p, '\'', pattern->regex_text.n) != NULL ||
                   str_starts(pattern->regex_text, "\\{");
    bool is_free_text = str_find(pattern->regex_text, "[^'\"{}]") >= 0;
    pattern->use = pattern->n_kinds > 0 ? CONSOLE_EVENT : CONSOLE_SKIP;
    if (is_line && (!is_dict || is_free_text)) {
        pattern->use = CONSOLE_ROW;
        read_fields(pattern);
    }
}

static void read_row(struct console_pattern *pattern, struct str line, struct arena *arena)
{
    struct str columns[N_COLUMNS] = {{0}};
    size_t n = 0;
    struct str rest = line, part;
    while (n < N_COLUMNS && str_split(&rest, '\t', &part)) {
        columns[n++] = part;
    }
    *pattern = (struct console_pattern){.name = arena_str(arena, columns[0]).p,
                                        .regex_text = columns[1],
                                        .groups = columns[4],
                                        .examples = columns[6]};
    read_kinds(pattern, columns[3], arena);
    console_literals(columns[1], arena, pattern->literals, &pattern->n_literals);
}

static int read_table(struct console_patterns *patterns, struct str table, struct error *err)
{
    bool has_header = false;
    struct str line;
    while (str_split(&table, '\n', &line)) {
        if (line.n == 0 || line.p[0] == '#') {
            continue;
        }
        if (!has_header) {
            has_header = true;
            continue;
        }
        if (patterns->n == CONSOLE_MAX_PATTERNS) {
            return error_set(err, E_LIMIT, "more than %d console patterns", CONSOLE_MAX_PATTERNS);
        }
        read_row(&patterns->all[patterns->n++], line, patterns->arena);
    }
    return OK;
}

int console_patterns_parse(struct console_patterns **out, struct str table, struct error *err)
{
    struct console_patterns *patterns = calloc(1, sizeof *patterns);
    if (patterns == NULL) {
        return error_set(err, E_NOMEM, "no memory for the console patterns");
    }
    int rc = E_NOMEM;
    patterns->arena = arena_open(4u << 20);
    patterns->all = calloc(CONSOLE_MAX_PATTERNS, sizeof patterns->all[0]);
    if (patterns->arena == NULL || patterns->all == NULL) {
        error_set(err, rc, "no memory for the console patterns");
        goto out;
    }
    rc = read_table(patterns, table, err);
    if (rc == OK && arena_failed(patterns->arena)) {
        rc = error_set(err, E_NOMEM, "no memory for the console patterns");
    }
    if (rc == OK) {
        rc = console_filter_open(&patterns->filter, patterns->all, patterns->n, err);
    }
out:
    if (rc != OK) {
        console_patterns_close(patterns);
        return rc;
    }
    *out = patterns;
    return OK;
}

int console_patterns_open(struct console_patterns **out, struct error *err)
{
    const void *bytes = embedded_console_patterns;
    return console_patterns_parse(out, str_from(bytes, embedded_console_patterns_bytes), err);
}

void console_patterns_close(struct console_patterns *patterns)
{
    if (patterns == NULL) {
        return;
    }
    for (size_t i = 0; patterns->all != NULL && i < patterns->n; i++) {
        regex_close(patterns->all[i].regex);
    }
    console_filter_close(patterns->filter);
    free(patterns->all);
    arena_close(patterns->arena);
    free(patterns);
}

int console_pattern_match(struct console_pattern *pattern, struct str line,
                          struct regex_match *match)
{
    if (pattern->regex == NULL && !pattern->is_broken) {
        pattern->is_broken = regex_compile(&pattern->regex, pattern->regex_text, NULL) != OK;
    }
    if (pattern->is_broken) {
        return 0;
    }
    return regex_search(pattern->regex, line, match) == 1;
}
