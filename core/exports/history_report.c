/* A configuration's history as text. See history_report.h. */
#include "core/exports/history_report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/unicode.h"

#define VALUE_BYTES 120

void history_time_text(struct buf *out, int64_t time, int offset_minutes)
{
    time_t shifted = (time_t)(time + (int64_t)offset_minutes * 60);
    int offset = offset_minutes < 0 ? -offset_minutes : offset_minutes;
    struct tm parts;
    char text[64];

    if (time > (int64_t)1 << 40 || !gmtime_r(&shifted, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) == 0) {
        buf_printf(out, "%lld", (long long)time);
        return;
    }
    buf_printf(out, "%s %c%02d%02d", text, offset_minutes < 0 ? '-' : '+', offset / 60, offset % 60);
}

static void put_value(struct buf *out, const char *value)
{
    struct str text = str_of(value);

    if (text.n == 0)
        buf_puts(out, "\"\"");
    unicode_visible(out, str_first(text, VALUE_BYTES), false);
    if (text.n > VALUE_BYTES)
        buf_puts(out, "…");
}

void history_change_text(struct buf *out, const struct config_change *change, bool ascii)
{
    if (!change->old_value || !change->new_value)
        buf_puts(out, change->new_value ? "+ " : "- ");
    unicode_visible(out, str_of(change->name), false);
    buf_puts(out, "  ");
    if (change->old_value)
        put_value(out, change->old_value);
    if (change->old_value && change->new_value)
        buf_puts(out, ascii ? " -> " : " → ");
    if (change->new_value)
        put_value(out, change->new_value);
}

void history_summary_text(struct buf *out, const struct revision *r)
{
    bool is_named = true;

    if (strcmp(r->status, "added") == 0)
        buf_puts(out, "first version");
    else if (strcmp(r->status, "deleted") == 0)
        buf_puts(out, "deleted");
    else if (r->old_path) {
        buf_printf(out, "%s from ", r->status);
        unicode_visible(out, str_of(r->old_path), false);
        buf_printf(out, " (%d%% the same)", r->similarity);
    } else
        is_named = false;
    if (strcmp(r->status, "added") == 0 && r->n_settings)
        buf_printf(out, ", %lld settings", (long long)r->n_settings);
    if (r->by_lines) {
        buf_puts(out, is_named ? "; " : "");
        unicode_visible(out, str_of(r->by_lines), false);
    } else if (!is_named && r->n_changes == 0) {
        buf_puts(out, "no setting changed");
    }
}

void history_healthy_text(struct buf *out, const struct config_history *history,
                          const struct history_healthy *healthy)
{
    buf_printf(out, "last healthy: %.7s, run ", history->revisions[healthy->at].commit);
    unicode_visible(out, str_of(healthy->run->run.name), false);
    if (healthy->is_same_commit && healthy->n_changes == 0)
        buf_puts(out, ": the same commit, its settings are not what broke");
    else if (healthy->is_same_commit)
        buf_puts(out, ": the same commit; not committed:");
    else if (healthy->n_changes == 0)
        buf_printf(out, "; %zu commit%s since", healthy->n_commits, healthy->n_commits == 1 ? "" : "s");
    else
        buf_printf(out, "; changed since, in %zu commit%s:", healthy->n_commits,
                   healthy->n_commits == 1 ? "" : "s");
}

static void put_visible_line(struct buf *out, const char *before, const char *text)
{
    buf_puts(out, before);
    unicode_visible(out, str_of(text), false);
    buf_putc(out, '\n');
}

static void put_head(struct buf *out, const struct config_history *h)
{
    unicode_visible(out, str_of(h->path ? h->path : "no file"), false);
    buf_puts(out, " in ");
    unicode_visible(out, str_of(h->repository), false);
    if (h->head_name && h->head_name[0]) {
        buf_puts(out, ", ");
        unicode_visible(out, str_of(h->head_name), false);
    }
    if (!h->problem)
        buf_printf(out, ": %lld of %lld commits changed it", (long long)h->n_all, (long long)h->n_walked);
    buf_putc(out, '\n');
    if (h->problem)
        put_visible_line(out, "  cannot be read: ", h->problem);
    for (size_t i = 0; i < h->n_notes; i++)
        put_visible_line(out, "  note: ", h->notes[i]);
}

static void put_runs(struct buf *out, size_t at, const struct history_run *runs, size_t n_runs)
{
    for (size_t i = 0; i < n_runs; i++) {
        if (runs[i].used_at != (ptrdiff_t)at)
            continue;
        buf_puts(out, "    run ");
        unicode_visible(out, str_of(runs[i].run.name), false);
        buf_printf(out, "  %s  %s\n", outcome_name(runs[i].run.outcome), history_run_word(&runs[i]));
    }
}

static void put_revision(struct buf *out, const struct config_history *h, size_t i,
                         const struct history_report_options *options)
{
    const struct revision *r = &h->revisions[i];
    size_t before;

    buf_printf(out, "%c %.12s  ", h->used_at == (ptrdiff_t)i ? '*' : ' ', r->commit);
    history_time_text(out, r->author_time, r->author_offset);
    buf_puts(out, "  ");
    unicode_visible(out, str_of(r->subject), false);
    buf_putc(out, '\n');
    before = out->n;
    buf_puts(out, "    ");
    history_summary_text(out, r);
    if (out->n == before + 4)
        out->n = before;                /* it has nothing to say */
    else
        buf_putc(out, '\n');
    for (size_t k = 0; k < r->n_changes; k++) {
        buf_puts(out, "    ");
        history_change_text(out, &r->changes[k], options->ascii);
        buf_putc(out, '\n');
    }
    if (r->n_more)
        buf_printf(out, "    and %lld more\n", (long long)r->n_more);
}

static void put_dirty(struct buf *out, const struct config_history *h,
                      const struct history_report_options *options)
{
    if (!h->dirty_from || !h->is_dirty)
        return;
    unicode_visible(out, str_of(h->run_file), false);
    buf_printf(out, " differs from %s%s\n", h->dirty_from,
               h->n_dirty ? " (not committed)" : ", though no setting does");
    for (size_t i = 0; i < h->n_dirty; i++) {
        buf_puts(out, "  ~ ");
        history_change_text(out, &h->dirty[i], options->ascii);
        buf_putc(out, '\n');
    }
}

static void put_uncommitted(struct buf *out, const struct config_history *h,
                            const struct history_report_options *options)
{
    if (!h->is_uncommitted)
        return;
    unicode_visible(out, str_of(h->path), false);
    buf_printf(out, " of the work tree differs from HEAD%s\n",
               h->n_uncommitted ? " (not committed)" : ", though no setting does");
    for (size_t i = 0; i < h->n_uncommitted; i++) {
        buf_puts(out, "  ~ ");
        history_change_text(out, &h->uncommitted[i], options->ascii);
        buf_putc(out, '\n');
    }
}

static void put_healthy(struct buf *out, const struct config_history *h, const struct history_run *runs,
                        size_t n_runs, const struct history_report_options *options)
{
    struct arena *arena = arena_open((size_t)1 << 20);
    struct history_healthy healthy;

    if (arena && history_last_healthy(h, runs, n_runs, options->run_id, arena, &healthy) &&
        healthy.at >= 0) {
        history_healthy_text(out, h, &healthy);
        buf_putc(out, '\n');
        for (size_t i = 0; i < healthy.n_changes; i++) {
            buf_puts(out, "    ");
            history_change_text(out, &healthy.changes[i], options->ascii);
            buf_putc(out, '\n');
        }
        if (healthy.is_rough)
            buf_puts(out, "    (on more than one branch, or by lines: see each commit)\n");
    }
    arena_close(arena);
}

static void put_use(struct buf *out, const struct config_history *h)
{
    if (h->used)
        buf_printf(out, "the run used %.12s%s, %s: ", h->used, h->is_dirty ? " + dirty" : "",
                   history_use_name(h->use));
    else
        buf_puts(out, "which commit the run used is not known: ");
    unicode_visible(out, str_of(h->because), false);
    buf_putc(out, '\n');
    if (h->used && h->used_at >= 0 && strcmp(h->used, h->revisions[h->used_at].commit) != 0)
        buf_printf(out, "  its configuration is that of %.12s\n", h->revisions[h->used_at].commit);
}

void history_report(struct buf *out, const struct config_history *history,
                    const struct history_run *runs, size_t n_runs,
                    const struct history_report_options *options)
{
    put_head(out, history);
    if (history->problem)
        return;
    buf_putc(out, '\n');
    for (size_t i = 0; i < history->n_revisions; i++) {
        put_revision(out, history, i, options);
        put_runs(out, i, runs, n_runs);
    }
    if (history->n_revisions == 0)
        buf_puts(out, "  no commit that can be read changed it\n");
    if (history->n_all > (int64_t)history->n_revisions)
        buf_printf(out, "  and %lld older ones\n",
                   (long long)(history->n_all - (int64_t)history->n_revisions));
    buf_putc(out, '\n');
    put_dirty(out, history, options);
    put_uncommitted(out, history, options);
    if (history->because)
        put_use(out, history);
    put_healthy(out, history, runs, n_runs, options);
}
