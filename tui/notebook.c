/* What the user writes: findings, marks, remarks, and what is copied. All of it goes to the worker,
 * which is the only one that writes. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/read/source.h"
#include "tui/frame.h"
#include "views/verdict_words.h"

#define REMARK_MAX_BYTES (1 << 16)

const struct verdict_row *app_opened(const struct app *app)
{
    const struct desk *desk = &app->desk;

    return desk->verdicts && desk->check >= 0 ? &desk->verdicts->rows[desk->check] : NULL;
}

static const struct evidence *current_evidence(const struct app *app)
{
    const struct verdict_row *row = app_opened(app);

    return row && app->desk.evidence < row->result.n_evidence
               ? &row->result.evidence[app->desk.evidence]
               : NULL;
}

void app_make_finding(struct app *app)
{
    const struct verdict_row *row = app_opened(app);
    const struct evidence *evidence = current_evidence(app);
    struct user_finding finding = {.line = NONE, .step = NONE};
    const struct source *source;
    struct error err;

    if (!row)
        return;
    finding.check_id = row->check->id;
    finding.verdict = verdict_name(row->result.verdict);
    finding.sentence = row->result.finding ? row->result.finding : row->check->title;
    finding.made_at = 0;
    if (evidence) {
        source = evidence->source_id ? facts_source(app->facts, evidence->source_id) : NULL;
        finding.path = source ? source->path : NULL;
        finding.line = evidence->line;
        finding.step = evidence->step;
        finding.commit = evidence->commit;
    }
    if (worker_finding(app->worker, &app->verdicts.run, &finding, &err) != OK)
        app_complain(app, &err);
    else
        app_say(app, "finding saved: %s", row->check->id);
}

/* Not marked -> seen -> dismissed (asks why) -> not marked. */
void app_mark_check(struct app *app)
{
    const struct verdict_row *row = app_opened(app);
    struct error err;
    int rc = OK;

    if (!row)
        return;
    if (row->dismissed) {
        rc = worker_tick(app->worker, &app->verdicts.run, row->check->id, NULL, NULL, &err);
        app_say(app, "%s: mark taken away", row->check->id);
    } else if (row->is_seen) {
        prompt_open(&app->prompt, PROMPT_DISMISS, "");
        app_say(app, "Enter with nothing: neither seen nor dismissed");
    } else {
        rc = worker_tick(app->worker, &app->verdicts.run, row->check->id, "seen", NULL, &err);
        app_say(app, "%s: seen; v again: not a problem here", row->check->id);
    }
    if (rc != OK)
        app_complain(app, &err);
}

void app_save_remark(struct app *app, const char *text)
{
    const struct verdict_row *row = app_opened(app);
    struct arena *arena = app->desk_arena;
    const struct evidence *evidence = current_evidence(app);
    const char *place = evidence ? evidence_place(app->facts, evidence, arena) : NULL;
    struct error err;

    if (!app->desk.verdicts || !text[0])
        return;
    if (worker_remark(app->worker, &app->verdicts.run, row ? row->check->id : NULL,
                      place && place[0] ? place : NULL, text, &err) != OK)
        app_complain(app, &err);
    else
        app_say(app, "remark saved");
}

/* The user's editor by argv, not by shell text. */
static bool run_editor(const char *editor, const char *path)
{
    char command[1024], *words[32];
    struct str rest = str_of(editor), word;
    size_t n = 0, used = 0;
    int status = -1;
    pid_t child;

    while (n < 30 && str_split(&rest, ' ', &word)) {
        if (word.n == 0 || used + word.n + 1 > sizeof command)
            continue;
        memcpy(command + used, word.p, word.n);
        command[used + word.n] = '\0';
        words[n++] = command + used;
        used += word.n + 1;
    }
    if (n == 0)
        return false;
    words[n++] = (char *)(uintptr_t)path;
    words[n] = NULL;
    child = fork();
    if (child == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* Without a reason the mark goes away altogether. */
void app_dismiss(struct app *app, const char *reason)
{
    const struct verdict_row *row = app_opened(app);
    struct error err;

    if (!row)
        return;
    if (worker_tick(app->worker, &app->verdicts.run, row->check->id, reason[0] ? "dismissed" : NULL,
                    reason[0] ? reason : NULL, &err) != OK)
        app_complain(app, &err);
    else
        app_say(app, reason[0] ? "%s: dismissed; v again takes it back" : "%s: mark taken away",
                row->check->id);
}

void app_edit_remark(struct app *app)
{
    const char *editor = getenv("VISUAL"), *folder = getenv("TMPDIR");
    char path[1024], *text = NULL;
    struct error err;
    bool is_read = true;
    size_t n;
    int fd;

    if (!editor || !editor[0])
        editor = getenv("EDITOR");
    if (!editor || !editor[0]) {
        prompt_open(&app->prompt, PROMPT_REMARK, "");
        return;
    }
    snprintf(path, sizeof path, "%s/flatline-remark.XXXXXX", folder && folder[0] ? folder : "/tmp");
    fd = mkstemp(path);
    if (fd < 0) {
        prompt_open(&app->prompt, PROMPT_REMARK, "");
        return;
    }
    close(fd);
    app->screen->suspend(app->screen);
    if (!run_editor(editor, path))
        app_say(app, "%s did not end well; nothing was saved", editor);
    else if (source_slurp(path, REMARK_MAX_BYTES, &text, &n, &err) != OK) {
        app_complain(app, &err);        /* names the file, which stays for another try */
        is_read = false;
    } else if (n > 0) {
        while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
            text[--n] = '\0';
        app_save_remark(app, text);
    }
    app->screen->resume(app->screen);
    free(text);
    if (is_read)
        unlink(path);
}

void app_copy_evidence(struct app *app)
{
    const struct verdict_row *row = app_opened(app);
    const struct evidence *evidence = current_evidence(app);
    const char *text;

    if (!row)
        return;
    text = evidence ? arena_printf(app->desk_arena, "%s  %s",
                                   evidence_place(app->facts, evidence, app->desk_arena),
                                   evidence->text ? evidence->text : "")
                    : row->result.finding;
    if (!text || !app->screen->copy) {
        app_say(app, "nothing to copy, or no terminal to copy with");
        return;
    }
    app->screen->copy(app->screen, str_of(text));
    app_say(app, "sent to the terminal's clipboard (OSC 52): %s", text);
}
