/* Loads what the desk holds from the store, and chooses where to stand in it. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/number.h"
#include "tui/frame.h"
#include "tui/session_file.h"

static int load_run(struct app *app, struct error *err)
{
    struct desk *desk = &app->desk;
    int rc = verdicts_load(app->reader, desk->run_id, app->desk_arena, &app->verdicts, err);

    if (app->facts && app->facts_are_stale && app->facts->run.id == desk->run_id)
        app->facts_are_stale = !run_facts_are_current(app->facts, app->reader);
    if (app->facts && (app->facts_are_stale || app->facts->run.id != desk->run_id)) {
        run_facts_close(app->facts);
        app->facts = NULL;
    }
    app->facts_are_stale = false;
    if (rc == OK && !app->facts)
        rc = run_facts_open(&app->facts, app->reader, desk->run_id, err);
    if (rc == OK)
        rc = store_remarks(app->reader, app->verdicts.run.key, app->desk_arena, &desk->remarks,
                           &desk->n_remarks, err);
    if (rc == OK)
        rc = store_user_findings(app->reader, app->verdicts.run.key, app->desk_arena,
                                 &desk->user_findings, &desk->n_user_findings, err);
    if (rc != OK)
        return rc;
    desk->verdicts = &app->verdicts;
    desk->facts = app->facts;
    return OK;
}

/* The checks have run: before that there is no likely cause to stand on. */
static bool has_results(const struct verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n_rows; i++)
        if (verdicts->rows[i].result.check_version > 0)
            return true;
    return false;
}

bool app_is_outdated(const struct app *app)
{
    int64_t version;

    return store_data_version(app->reader, &version, NULL) != OK ||
           version != app->store_version || !app->desk.verdicts || !has_results(&app->verdicts);
}

/* A run that was imported by another command has no verdicts yet; asked for once. */
static int ask_for_checks(struct app *app, struct error *err)
{
    if (app->n_imports > 0 || app->checks_asked_for == app->desk.run_id)
        return OK;
    app->checks_asked_for = app->desk.run_id;
    return worker_check(app->worker, &app->verdicts.run, err);
}

int app_load_desk(struct app *app, struct error *err)
{
    struct desk *desk = &app->desk;
    int rc;

    if (store_data_version(app->reader, &app->store_version, err) != OK)
        app->store_version = NONE;      /* the first read tells why */
    desk->verdicts = NULL;
    desk->facts = NULL;
    desk->n_remarks = desk->n_user_findings = desk->n_runs = 0;
    arena_reset(app->desk_arena);
    rc = store_runs(app->reader, app->desk_arena, &desk->runs, &desk->n_runs, err);
    if (rc == OK && (desk->run_id == 0 || (!app->has_acted && app->live.n_looks == 0)))
        app_choose_first_run(app);
    if (rc == OK && desk->run_id != 0)
        rc = load_run(app, err);
    if (rc == E_NOTFOUND) {             /* forgotten by another flatline */
        desk->run_id = 0;
        rc = OK;
    }
    if (rc == OK && !app->opened_at_start && desk->verdicts && has_results(&app->verdicts))
        app_place_cursor(app);
    if (rc == OK && desk->verdicts && !has_results(&app->verdicts))
        rc = ask_for_checks(app, err);
    if (rc == OK) {
        app_suit_views(app);
        app_live_decide(app);
    }
    return rc;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static int64_t last_time(const struct run *run)
{
    return run->ended_at > run->started_at ? run->ended_at : run->started_at;
}

/* The latest run below the opened path (or around it: a file of it was named). */
void app_choose_first_run(struct app *app)
{
    const struct desk *desk = &app->desk;
    const struct run *best = NULL;

    for (size_t i = 0; app->folder_key[0] && i < desk->n_runs; i++) {
        const struct run *run = &desk->runs[i];

        if (!is_below(run->folder, app->folder_key) && !is_below(app->folder_key, run->folder))
            continue;
        if (!best || last_time(run) > last_time(best))
            best = run;
    }
    if (best && best->id != desk->run_id) {
        desk_choose_run(&app->desk, best->id);
        app->desk.changed &= ~(unsigned)DESK_RUN;
        app->opened_at_start = false;
    }
}

static ptrdiff_t find_check(const struct verdicts *verdicts, const char *id, size_t n)
{
    for (size_t i = 0; i < verdicts->n_rows; i++)
        if (strlen(verdicts->rows[i].check->id) == n &&
            strncmp(verdicts->rows[i].check->id, id, n) == 0)
            return (ptrdiff_t)i;
    return -1;
}

static void go_to_stage(struct app *app, struct str name)
{
    for (int i = 0; i < N_STAGES; i++)
        if (str_is(name, stage_key((enum stage)i)) && app->verdicts.stages[i].n) {
            app->desk.check = (ptrdiff_t)app->verdicts.stages[i].first;
            return;
        }
    app_say(app, "--at stage=%.*s: expected 0 to 7 or P", (int)name.n, name.p);
}

/* --at stage=3,check=ID,step=N,row=N */
static void go_at(struct app *app, const char *at)
{
    struct str rest = str_of(at), part, name;
    int64_t number;

    while (str_split(&rest, ',', &part)) {
        struct str value = part;

        (void)str_split(&value, '=', &name);
        if (!value.p) {
            app_say(app, "--at %.*s: expected stage=, check=, step= or row=", (int)part.n, part.p);
        } else if (str_is(name, "check")) {
            ptrdiff_t check = find_check(&app->verdicts, value.p, value.n);

            if (check >= 0)
                app->desk.check = check;
            else
                app_say(app, "--at: there is no check %.*s", (int)value.n, value.p);
        } else if (str_is(name, "step") && number_parse_int(value, &number)) {
            app->desk.step = number;
        } else if (str_is(name, "stage")) {
            go_to_stage(app, value);
        } else if (str_is(name, "row") && number_parse_int(value, &number)) {
            app->desk.row = number;
            app_show_view(app, &view_labels);
        } else {
            app_say(app, "--at %.*s: expected stage=, check=, step= or row= and a number",
                    (int)part.n, part.p);
        }
    }
}

static void say_restored(struct app *app, int64_t saved_at)
{
    int64_t minutes = (clock_now() - saved_at) / 60;

    if (minutes < 1)
        app_say(app, "restored your place of just now; Ctrl-R forgets it");
    else if (minutes < 120)
        app_say(app, "restored your place from %lld minutes ago; Ctrl-R forgets it",
                (long long)minutes);
    else if (minutes < 48 * 60)
        app_say(app, "restored your place from %lld hours ago; Ctrl-R forgets it",
                (long long)(minutes / 60));
    else
        app_say(app, "restored your place from %lld days ago; Ctrl-R forgets it",
                (long long)(minutes / 1440));
}

/* Only a place that differs from where everybody starts is worth a word. */
static void restore_place(struct app *app)
{
    const struct view_ops *view;
    struct session_place place;
    ptrdiff_t check;
    bool differs;

    if (!session_file_load(app->verdicts.run.key, &place))
        return;
    check = find_check(&app->verdicts, place.check_id, strlen(place.check_id));
    if (check < 0)
        return;
    view = place.view[0] ? view_by_id(place.view) : NULL;
    differs = app->desk.check != check || app->desk.step != place.step || view;
    app->desk.check = check;
    app->desk.step = place.step;
    if (view) {
        app->main_view = view;
        app->main_is_chosen = true;
    }
    if (differs)
        say_restored(app, place.saved_at);
}

void app_place_cursor(struct app *app)
{
    const struct verdicts *verdicts = &app->verdicts;
    const struct check_result *result;

    app->opened_at_start = true;
    app->desk.check = verdicts->headline >= 0 ? verdicts->headline : 0;
    app->desk.evidence = 0;
    app->desk.step = NONE;
    app->desk.row = NONE;
    result = &verdicts->rows[app->desk.check].result;
    for (size_t i = 0; i < result->n_evidence && app->desk.step == NONE; i++)
        app->desk.step = result->evidence[i].step;
    if (app->options->at)
        go_at(app, app->options->at);
    else
        restore_place(app);
}

/* The pane is kept only where it was the user's own choice. */
void app_save_place(const struct app *app)
{
    struct session_place place = {.step = app->desk.step, .saved_at = clock_now()};
    const struct desk *desk = &app->desk;

    if (!desk->verdicts || desk->check < 0)
        return;
    snprintf(place.check_id, sizeof place.check_id, "%s",
             desk->verdicts->rows[desk->check].check->id);
    if (app->main_is_chosen && app->main_view != &view_help)
        snprintf(place.view, sizeof place.view, "%s", app->main_view->id);
    snprintf(place.focus, sizeof place.focus, "%d", (int)app->focus);
    session_file_save(desk->verdicts->run.key, &place);
}
