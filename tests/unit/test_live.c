/* A run that goes on while it is open: the whole UI on a screen of the test, which changes files
 * between two events and lets time pass by the script's clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/read/source.h"
#include "tests/harness/tempdir.h"
#include "tui/app.h"
#include "tui/keys.h"
#include "tui/options.h"
#include "tui/screen.h"

#define NOW 1800000000

struct fixture;

/* One thing that happens; then, if `shows` is set, what is on the screen. */
struct step {
    enum { DO, PRESS, SAY, WAIT, SHOWS, SHOWS_NOT, SAME } kind;
    void (*work)(struct fixture *f);
    int key;
    const char *text;
    int64_t seconds;
};

struct fixture {
    char *folder, *home;
    char run[4096], shot[4096];
    struct screen screen;
    const struct step *steps;
    size_t at;
    const struct step *expected;        /* of the screenshot that was just made */
    char seen[1 << 16], before[1 << 16];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->folder = tempdir_make();
    f->home = tempdir_make();
    assert_int_equal(setenv("XDG_STATE_HOME", f->home, 1), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", f->home, 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", f->home, 1), 0);
    snprintf(f->run, sizeof f->run, "%s", tempdir_path(f->folder, "run"));
    snprintf(f->shot, sizeof f->shot, "%s", tempdir_path(f->home, "shot"));
    clock_fix(NOW);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    clock_fix(NONE);
    tempdir_remove(f->folder);
    tempdir_remove(f->home);
    free(f);
    return 0;
}

/* ---- The run ---- */

static void date(const char *path, int64_t seconds)
{
    struct timespec times[2] = {{.tv_sec = (time_t)seconds}, {.tv_sec = (time_t)seconds}};

    assert_int_equal(utimensat(-1, path, times, 0), 0);
}

static void put_rows(struct fixture *f, const char *name, int from, int to, const char *tail)
{
    struct buf text;
    char path[200];

    buf_init(&text, 1 << 20);
    for (int i = from; i <= to; i++)
        buf_printf(&text, "{\"step\": %d, \"loss\": %g}\n", i, 2.0 - 0.01 * i);
    buf_printf(&text, "%s", tail);
    snprintf(path, sizeof path, "run/%s", name);
    tempdir_write(f->folder, path, text.p, text.n);
    date(tempdir_path(f->folder, path), clock_now());
    buf_free(&text);
}

static void begin_run(struct fixture *f)
{
    tempdir_write_text(f->folder, "run/train_config.json",
                       "{\"learning_rate\": 0.001, \"max_steps\": 40}");
    date(tempdir_path(f->folder, "run/train_config.json"), clock_now());
    put_rows(f, "metrics.jsonl", 1, 3, "");
}

static void five_rows_and_a_half(struct fixture *f)
{
    put_rows(f, "metrics.jsonl", 1, 5, "{\"step\": 6, \"lo");
}

static void six_rows(struct fixture *f)
{
    put_rows(f, "metrics.jsonl", 1, 6, "");
}

static void eight_rows(struct fixture *f)
{
    put_rows(f, "metrics.jsonl", 1, 8, "");
}

static void all_rows(struct fixture *f)
{
    put_rows(f, "metrics.jsonl", 1, 40, "");
}

static void one_row(struct fixture *f)
{
    put_rows(f, "metrics.jsonl", 1, 1, "");
}

/* As many bytes and more, of another attempt: the same file to the file system. */
static void other_rows(struct fixture *f)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 1; i <= 12; i++)
        buf_printf(&text, "{\"step\": %d, \"loss\": %g}\n", i, 7.5 - 0.01 * i);
    tempdir_write(f->folder, "run/metrics.jsonl", text.p, text.n);
    date(tempdir_path(f->folder, "run/metrics.jsonl"), clock_now());
    buf_free(&text);
}

static void remove_rows(struct fixture *f)
{
    assert_int_equal(remove(tempdir_path(f->folder, "run/metrics.jsonl")), 0);
}

static void hide_run(struct fixture *f)
{
    assert_int_equal(rename(f->run, tempdir_path(f->folder, "elsewhere")), 0);
}

static void bring_run_back(struct fixture *f)
{
    assert_int_equal(rename(tempdir_path(f->folder, "elsewhere"), f->run), 0);
}

static void add_checkpoint(struct fixture *f)
{
    tempdir_write_text(f->folder, "run/checkpoint-9/trainer_state.json",
                       "{\"global_step\": 9, \"max_steps\": 40, \"log_history\": ["
                       "{\"step\": 9, \"loss\": 1.91}]}");
}

static void turn_clock_back(struct fixture *f)
{
    (void)f;
    clock_fix(NOW - 100000);
}

/* ---- The screen ---- */

static void read_screenshot(struct fixture *f)
{
    struct error err;
    char *text;
    size_t n;

    memcpy(f->before, f->seen, sizeof f->seen);
    if (source_slurp(f->shot, sizeof f->seen - 1, &text, &n, &err) != OK)
        fail_msg("%s", err.message);
    memcpy(f->seen, text, n + 1);
    free(text);
    assert_int_equal(remove(f->shot), 0);
}

static void check_screenshot(struct fixture *f)
{
    const struct step *step = f->expected;
    bool is_there;

    if (!step)
        return;
    f->expected = NULL;
    read_screenshot(f);
    if (step->kind == SAME) {
        if (strcmp(f->seen, f->before) != 0)
            fail_msg("the screen changed:\n%s\nbefore:\n%s", f->seen, f->before);
        return;
    }
    is_there = strstr(f->seen, step->text) != NULL;
    if (is_there != (step->kind == SHOWS))
        fail_msg("%s: %s\n%s", step->text, is_there ? "still there" : "not there", f->seen);
}

static int next_event(struct screen *screen, int job_fd, struct screen_event *event,
                      struct error *err)
{
    struct fixture *f = screen->state;
    const struct step *step;

    (void)job_fd;
    (void)err;
    check_screenshot(f);
    while ((step = &f->steps[f->at++])->kind == DO && step->work)
        step->work(f);
    switch (step->kind) {
    case PRESS:
        *event = (struct screen_event){.kind = EVENT_KEY, .key = step->key};
        return OK;
    case SAY:
        *event = (struct screen_event){.kind = EVENT_COMMAND, .text = str_of(step->text)};
        return OK;
    case WAIT:
        *event = (struct screen_event){.kind = EVENT_WAIT, .seconds = step->seconds};
        return OK;
    case SHOWS:
    case SHOWS_NOT:
    case SAME:
        f->expected = step;
        *event = (struct screen_event){.kind = EVENT_SCREENSHOT, .text = str_of(f->shot)};
        return OK;
    case DO:
        break;
    }
    f->at--;
    *event = (struct screen_event){.kind = EVENT_END};
    return OK;
}

static void present(struct screen *screen, const struct canvas *canvas)
{
    (void)screen;
    (void)canvas;
}

static void do_nothing(struct screen *screen)
{
    (void)screen;
}

static void play_with(struct fixture *f, const struct step *steps, bool no_follow)
{
    const char *path = f->run;
    char db[4200];
    const struct options options = {.paths = &path, .n_paths = 1, .db = db, .ascii = true,
                                    .no_follow = no_follow};

    snprintf(db, sizeof db, "%s/cache.db", f->home);
    f->steps = steps;
    f->at = 0;
    f->screen = (struct screen){.rows = 24, .columns = 100, .ascii = true, .is_scripted = true,
                                .wait_ms = -1, .next_event = next_event, .present = present,
                                .redraw_all = do_nothing, .suspend = do_nothing,
                                .resume = do_nothing, .close = do_nothing, .state = f};
    assert_int_equal(app_run_on(&options, &f->screen), 0);
}

static void play(struct fixture *f, const struct step *steps)
{
    play_with(f, steps, false);
}

#define LOOK {.kind = WAIT, .seconds = 15}
#define END  {.kind = DO}

/* ---- What is seen ---- */

static void new_rows_appear_and_half_a_row_waits_for_its_end(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "3/40 stopped  live on"},
        LOOK,
        {.kind = SAME},
        {.kind = DO, .work = five_rows_and_a_half},
        {.kind = SAME},                 /* nobody looked yet */
        LOOK,
        {.kind = SHOWS, .text = "5/40 running  live on"},
        LOOK,
        {.kind = SAME},
        {.kind = DO, .work = six_rows},
        LOOK,
        {.kind = SHOWS, .text = "6/40 running  live on"},
        {.kind = DO, .work = all_rows},
        LOOK,
        {.kind = SHOWS, .text = "40/40 finished  live on"},
        {.kind = WAIT, .seconds = 700},
        {.kind = SHOWS, .text = "40/40 finished  sft"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void the_cursor_goes_along_only_from_the_last_point(void **state)
{
    static const struct step steps[] = {
        {.kind = SAY, .text = "curves"},
        {.kind = PRESS, .key = 'G'},
        {.kind = SHOWS, .text = "cursor step 3 "},
        {.kind = DO, .work = six_rows},
        LOOK,
        {.kind = SHOWS, .text = "cursor step 6 "},
        {.kind = PRESS, .key = KEYCODE_LEFT},
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS, .text = "8/40 running"},
        {.kind = SHOWS, .text = "cursor step 5 "},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void a_checkpoint_that_appears_is_read(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "3/40 stopped  live on"},
        {.kind = DO, .work = add_checkpoint},
        LOOK,
        {.kind = SHOWS, .text = "9/40"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void silence_is_said_once_and_a_row_ends_it(void **state)
{
    static const struct step steps[] = {
        {.kind = DO, .work = six_rows},
        LOOK,
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS, .text = "8/40 running  live on"},
        {.kind = WAIT, .seconds = 590},
        {.kind = SHOWS, .text = "8/40 running  live on"},
        {.kind = WAIT, .seconds = 15},
        {.kind = SHOWS, .text = "8/40 stopped  live silent for 10 min"},
        {.kind = SHOWS, .text = "no new row for 10 min, rows came every"},
        LOOK,
        {.kind = SAME},
        {.kind = DO, .work = all_rows},
        LOOK,
        {.kind = SHOWS, .text = "40/40 finished  live on"},
        {.kind = SHOWS_NOT, .text = "no new row"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void a_file_that_was_cut_loses_nothing(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "3/40 stopped  live on"},
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS, .text = "8/40 running"},
        {.kind = DO, .work = one_row},
        LOOK,
        {.kind = SAME},                 /* it may be on its way to be written */
        LOOK,
        {.kind = SHOWS, .text = "metrics.jsonl was cut: what was read of it stays"},
        {.kind = SHOWS, .text = "8/40"},
        {.kind = SAY, .text = "import"},
        {.kind = SHOWS, .text = "gone"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void a_file_that_was_cut_and_grew_again_is_noticed(void **state)
{
    static const struct step steps[] = {
        {.kind = DO, .work = six_rows},
        LOOK,
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS_NOT, .text = "was cut"},
        {.kind = DO, .work = other_rows},
        LOOK,
        {.kind = SHOWS, .text = "metrics.jsonl was cut: what was read of it stays"},
        {.kind = SHOWS, .text = "12/40"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void records_of_the_last_minutes_are_of_a_run_that_goes_on(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "2/40 running  live on"},
        {.kind = WAIT, .seconds = 615},
        {.kind = SHOWS, .text = "2/40 stopped  live silent for 1"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    tempdir_write_text(f->folder, "run/metrics.jsonl",
                       "{\"step\": 1, \"loss\": 2.0, \"timestamp\": 1799999900}\n"
                       "{\"step\": 2, \"loss\": 1.9, \"timestamp\": 1799999960}\n");
    date(tempdir_path(f->folder, "run/metrics.jsonl"), NOW - 40);
    play(f, steps);
}

static void a_file_that_is_gone_loses_nothing(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "3/40 stopped  live on"},
        {.kind = DO, .work = remove_rows},
        LOOK,
        {.kind = SHOWS, .text = "metrics.jsonl is gone: what was read of it stays"},
        {.kind = SHOWS, .text = "3/40"},
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS, .text = "8/40"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void a_folder_that_vanishes_is_lost_until_it_is_back(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "3/40 stopped  live on"},
        LOOK,
        {.kind = DO, .work = hide_run},
        LOOK,
        {.kind = SHOWS, .text = "3/40 stopped  live lost"},
        {.kind = SHOWS, .text = "run cannot be seen any more: what was read of it stays"},
        LOOK,
        {.kind = SAME},
        {.kind = DO, .work = bring_run_back},
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS, .text = "8/40 running  live on"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void a_clock_that_goes_back_calls_nobody_dead(void **state)
{
    static const struct step steps[] = {
        {.kind = DO, .work = eight_rows},
        LOOK,
        {.kind = SHOWS, .text = "8/40 running  live on"},
        {.kind = DO, .work = turn_clock_back},
        LOOK,
        {.kind = SHOWS, .text = "8/40 running  live on"},
        {.kind = SHOWS_NOT, .text = "no new row"},
        {.kind = DO, .work = all_rows},
        LOOK,
        {.kind = SHOWS, .text = "40/40 finished"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void following_is_the_users_choice(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "live on"},
        {.kind = PRESS, .key = 'F'},
        {.kind = SHOWS, .text = "3/40 stopped  live off"},
        {.kind = DO, .work = six_rows},
        LOOK,
        {.kind = SAME},
        {.kind = SAY, .text = "refresh"},
        {.kind = SHOWS, .text = "6/40 running  live off"},
        {.kind = SHOWS, .text = "new rows were read"},
        {.kind = SAY, .text = "refresh"},
        {.kind = SHOWS, .text = "nothing has changed"},
        {.kind = DO, .work = eight_rows},
        {.kind = PRESS, .key = 'F'},
        {.kind = SHOWS, .text = "8/40 running  live on"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play(f, steps);
}

static void no_follow_looks_at_nothing_until_told(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS_NOT, .text = "live"},
        {.kind = DO, .work = six_rows},
        {.kind = WAIT, .seconds = 300},
        {.kind = SAME},
        {.kind = PRESS, .key = 'F'},
        {.kind = SHOWS, .text = "6/40 running  live on"},
        END};
    struct fixture *f = *state;

    begin_run(f);
    play_with(f, steps, true);
}

static void an_old_run_is_not_followed(void **state)
{
    static const struct step steps[] = {
        {.kind = SHOWS, .text = "3/40 stopped  sft"},
        {.kind = DO, .work = six_rows},
        {.kind = WAIT, .seconds = 600},
        {.kind = SAME},
        END};
    struct fixture *f = *state;

    begin_run(f);
    date(tempdir_path(f->folder, "run/metrics.jsonl"), NOW - 7200);
    play(f, steps);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(new_rows_appear_and_half_a_row_waits_for_its_end),
        CASE(the_cursor_goes_along_only_from_the_last_point),
        CASE(a_checkpoint_that_appears_is_read),
        CASE(silence_is_said_once_and_a_row_ends_it),
        CASE(a_file_that_was_cut_loses_nothing),
        CASE(a_file_that_was_cut_and_grew_again_is_noticed),
        CASE(records_of_the_last_minutes_are_of_a_run_that_goes_on),
        CASE(a_file_that_is_gone_loses_nothing),
        CASE(a_folder_that_vanishes_is_lost_until_it_is_back),
        CASE(a_clock_that_goes_back_calls_nobody_dead),
        CASE(following_is_the_users_choice),
        CASE(no_follow_looks_at_nothing_until_told),
        CASE(an_old_run_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
