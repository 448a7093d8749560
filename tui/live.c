/* Following the run that is open: when to look, what a look means for the screen. The look itself is
 * the worker's. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "tui/frame.h"
#include "tui/follow.h"

#define NS_PER_S       1000000000LL
#define RECENT_S       3600     /* a run whose files are older is followed when told so */
#define FINISHED_S     600      /* what comes after the end: evaluations, a merge */
#define AHEAD_S        300      /* clocks of file servers go a little before ours */

/* ---- Is it followed? ---- */

static bool has_rows(const struct run_facts *facts, const struct source *source)
{
    for (size_t i = 0; i < facts->n_series; i++)
        if (facts->series[i].source_id == source->id)
            return true;
    return importer_is_log(source->importer);
}

/* Seconds since the newest file with rows was written; of a run that has none yet, any file. */
static int64_t age_of(const struct run_facts *facts)
{
    int64_t newest = NONE, newest_of_any = NONE;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        if (source->mtime_ns > newest_of_any)
            newest_of_any = source->mtime_ns;
        if (source->mtime_ns > newest && has_rows(facts, source))
            newest = source->mtime_ns;
    }
    if (newest == NONE)
        newest = newest_of_any;
    return newest == NONE ? INT64_MAX : clock_now() - newest / NS_PER_S;
}

/* A date alone proves nothing, but looking costs little where the files leave the end open. */
static bool may_go_on(const struct app *app)
{
    const struct run_facts *facts = app->facts;
    int64_t age, bound = RECENT_S;

    if (facts->run.outcome == OUTCOME_RUNNING)
        return true;
    age = age_of(facts);
    if (facts->run.outcome == OUTCOME_CRASHED && !app->live.is_on)
        return false;           /* seen to crash: a resume may come */
    if (facts->run.outcome == OUTCOME_FINISHED)
        bound = app->live.is_on ? FINISHED_S : NONE;
    return age >= -AHEAD_S && age <= bound;
}

void app_live_decide(struct app *app)
{
    struct live *live = &app->live;

    if (live->run_id != app->desk.run_id) {
        live->run_id = app->desk.run_id;
        live->is_on = false;
        live->found = 0;
        live->next_at = 0;
    }
    if (!app->facts || !app->desk.verdicts)
        live->is_on = false;
    else
        live->is_on = live->choice == LIVE_ON || (live->choice == LIVE_AUTO && may_go_on(app));
}

void app_live_toggle(struct app *app)
{
    struct live *live = &app->live;

    live->choice = live->is_on ? LIVE_OFF : LIVE_ON;
    live->next_at = 0;
    app_live_decide(app);
    if (live->is_on)
        app_live_look(app, false);
}

static const char *silent_word(struct live *live)
{
    int64_t minutes = live->silent_minutes;

    if (minutes < 120)
        snprintf(live->word, sizeof live->word, "live silent for %d min", (int)minutes);
    else
        snprintf(live->word, sizeof live->word, "live silent for %lld h", (long long)(minutes / 60));
    return live->word;
}

const char *app_live_word(struct app *app)
{
    struct live *live = &app->live;
    bool has_ended = app->facts && (app->facts->run.outcome == OUTCOME_FINISHED ||
                                    app->facts->run.outcome == OUTCOME_CRASHED);

    if (!live->is_on)
        return live->choice == LIVE_OFF && !app->options->no_follow ? "live off" : "";
    if (live->found & LOOK_LOST)
        return "live lost";
    return (live->found & LOOK_SILENT) && !has_ended ? silent_word(live) : "live on";
}

/* ---- Looks ---- */

void app_live_look(struct app *app, bool is_asked)
{
    struct live *live = &app->live;
    struct error err;

    if (!app->desk.verdicts || live->is_looking)
        return;
    if (worker_look(app->worker, &app->verdicts.run, app->paths, app->n_paths,
                    app->options->answers, app->options->n_answers, &err) != OK) {
        app_complain(app, &err);
        return;
    }
    live->is_looking = true;
    live->was_asked = is_asked;
    live->began_at = clock_ticks_ns();
}

static void schedule(struct live *live)
{
    int64_t now = clock_ticks_ns(), took = FOLLOW_SHARE * (now - live->began_at);
    int64_t pause = FOLLOW_LOOK_S * NS_PER_S;

    live->next_at = now + (took > pause ? took : pause);
}

void app_live_wait(struct app *app)
{
    struct live *live = &app->live;
    int64_t left;

    app->screen->wait_ms = -1;
    if (!live->is_on || live->is_looking || app->n_imports > 0)
        return;
    if (live->next_at == 0)     /* what was just read is not looked at at once */
        live->next_at = clock_ticks_ns() + FOLLOW_LOOK_S * NS_PER_S;
    left = (live->next_at - clock_ticks_ns()) / 1000000 + 1;
    app->screen->wait_ms = left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

void app_live_time(struct app *app)
{
    const struct live *live = &app->live;

    if (live->is_on && !live->is_looking && app->n_imports == 0 && live->next_at != 0 &&
        !app->screen->is_scripted && clock_ticks_ns() >= live->next_at)
        app_live_look(app, false);
}

void app_live_pass(struct app *app, int64_t seconds)
{
    clock_fix(clock_now() + seconds);
    if (app->live.is_on && seconds >= FOLLOW_LOOK_S)
        app_live_look(app, false);
}

/* The batch tells what was found, the end of the request that it is all there. */
void app_live_take(struct app *app, const struct job_message *message)
{
    struct live *live = &app->live;

    if (message->kind != JOB_BATCH) {
        live->is_looking = false;
        live->holds_paint = live->found & LOOK_CHANGED;
        live->n_looks++;
        schedule(live);
        app_live_decide(app);
        return;
    }
    live->found = (unsigned)message->b & ((1u << LOOK_MINUTES_SHIFT) - 1);
    live->silent_minutes = message->b >> LOOK_MINUTES_SHIFT;
    if (live->found & LOOK_MOVED && message->a != app->desk.run_id) {
        live->run_id = message->a;      /* the same run by another name: it stays followed */
        app->desk.run_id = message->a;
        app->needs_reload = true;
    }
    if (live->found & LOOK_CHANGED) {
        app->facts_are_stale = true;
        app->may_be_outdated = true;
    }
    if (message->text[0]) {
        snprintf(live->said, sizeof live->said, "%.199s", message->text);
        app_say(app, "%s", message->text);
        return;
    }
    if (live->said[0] && (live->found & LOOK_CHANGED)) {
        if (strncmp(app->message, live->said, sizeof live->said - 1) == 0)
            app->message[0] = '\0';
        live->said[0] = '\0';
    }
    if (live->was_asked)
        app_say(app, live->found & LOOK_CHANGED ? "new rows were read" : "nothing has changed");
}
