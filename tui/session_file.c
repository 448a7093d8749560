/* Where the user was, per run. See session_file.h. */
#include "tui/session_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/number.h"
#include "core/read/source.h"

#define SESSION_BYTES ((size_t)1 << 20)

static bool session_path(char *out, size_t n)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int used;

    if (state && state[0] == '/')
        used = snprintf(out, n, "%s/flatline", state);
    else if (home && home[0] == '/')
        used = snprintf(out, n, "%s/.local/state/flatline", home);
    else
        return false;
    if (used < 0 || (size_t)used + 16 >= n)
        return false;
    mkdir(out, 0700);           /* the store makes it with its parents; else nothing is kept */
    snprintf(out + used, n - (size_t)used, "/session");
    return true;
}

static void copy_field(struct str field, char *out, size_t n)
{
    snprintf(out, n, "%.*s", (int)(field.n < n ? field.n : n - 1), field.n ? field.p : "");
}

/* key \t saved_at \t check \t step \t view \t focus */
static bool parse_line(struct str line, struct str *key, struct session_place *out)
{
    struct str fields[6];
    size_t n = 0;

    while (n < 6 && str_split(&line, '\t', &fields[n]))
        n++;
    if (n < 6 || !number_parse_int(fields[1], &out->saved_at) ||
        !number_parse_int(fields[3], &out->step))
        return false;
    *key = fields[0];
    copy_field(fields[2], out->check_id, sizeof out->check_id);
    copy_field(fields[4], out->view, sizeof out->view);
    copy_field(fields[5], out->focus, sizeof out->focus);
    return true;
}

bool session_file_load(const char *run_key, struct session_place *out)
{
    char path[4096], *bytes = NULL;
    struct session_place place;
    struct str rest, line, key;
    bool found = false;
    size_t n;

    if (!session_path(path, sizeof path) ||
        source_slurp(path, SESSION_BYTES, &bytes, &n, NULL) != OK)
        return false;
    rest = str_from(bytes, n);
    while (str_split(&rest, '\n', &line))
        if (parse_line(line, &key, &place) && str_is(key, run_key)) {
            *out = place;
            found = true;
        }
    free(bytes);
    return found;
}

static FILE *open_private(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (fd >= 0 && !file)
        close(fd);
    return file;
}

void session_file_save(const char *run_key, const struct session_place *place)
{
    char path[4096], temporary[4200], *bytes = NULL;
    struct session_place old;
    struct str rest, line, key;
    size_t n = 0, n_lines = 0, skip;
    FILE *file;

    if (!session_path(path, sizeof path))
        return;
    if (source_slurp(path, SESSION_BYTES, &bytes, &n, NULL) != OK)
        bytes = NULL;
    rest = str_from(bytes, bytes ? n : 0);
    while (str_split(&rest, '\n', &line))
        n_lines += parse_line(line, &key, &old) && !str_is(key, run_key);
    skip = n_lines >= SESSION_RUNS ? n_lines - SESSION_RUNS + 1 : 0;
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    file = open_private(temporary);
    rest = str_from(bytes, bytes ? n : 0);
    while (file && str_split(&rest, '\n', &line)) {
        if (!parse_line(line, &key, &old) || str_is(key, run_key))
            continue;
        if (skip > 0)
            skip--;
        else
            fprintf(file, "%.*s\n", (int)line.n, line.p);
    }
    if (file && place)
        fprintf(file, "%s\t%lld\t%s\t%lld\t%s\t%s\n", run_key, (long long)place->saved_at,
                place->check_id, (long long)place->step, place->view, place->focus);
    free(bytes);
    if (!file)
        return;
    if (fclose(file) != 0 || rename(temporary, path) != 0)
        unlink(temporary);
}
