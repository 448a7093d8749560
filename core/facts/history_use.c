/* Which commit the run used, and in what its file differs from that. */
#include <ctype.h>
#include <string.h>

#include <stdlib.h>

#include "core/facts/facts_cache.h"
#include "core/facts/history_parts.h"
#include "core/facts/run_time.h"
#include "core/read/source.h"

#define MAX_COMPARED 20                 /* newest versions whose settings are compared */
#define SCRATCH_BYTES ((size_t)128 << 20)

/* ---- By a recorded hash ---- */

/* Last part of a setting's name. Those of the second list need a part before them that says git or code. */
static const char *const HASH_NAMES[] = {
    "git_hash",    "git_sha",     "git_sha1",        "git_commit",  "git_commit_hash", "git_revision",
    "git_rev",     "git_head",    "commit_sha",      "code_commit", "code_version",    "code_revision",
    "git_version", "gitcommit",   "git_commit_sha",  "git_commit_id", "source_commit",
};
static const char *const BARE_NAMES[] = {"commit", "commit_hash", "commit_id", "sha",
                                         "hash",   "revision",    "head"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static void lower(const char *name, char out[256])
{
    size_t i = 0;

    for (; i < 255 && name[i]; i++)
        out[i] = name[i] == '-' || name[i] == ' ' ? '_' : (char)tolower((unsigned char)name[i]);
    out[i] = '\0';
}

static bool names_commit(const char *raw_name)
{
    char name[256];

    lower(raw_name, name);
    char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;
    if (is_one_of(last, HASH_NAMES, sizeof HASH_NAMES / sizeof *HASH_NAMES))
        return true;
    /* `commit_hash` alone is what transformers notes of a model, not of the code. */
    if (!dot || !is_one_of(last, BARE_NAMES, sizeof BARE_NAMES / sizeof *BARE_NAMES))
        return false;
    *dot = '\0';
    return strstr(name, "git") || strstr(name, "code") || strstr(name, "repo");
}

/* 7 to 40 hex digits, at least one of them a letter or all 40. "-dirty" and the like may follow. */
static struct str hash_in(const char *value)
{
    size_t n = strspn(value, "0123456789abcdefABCDEF");
    bool has_letter = false;

    for (size_t i = 0; i < n; i++)
        has_letter |= isalpha((unsigned char)value[i]) != 0;
    if (n < 7 || n > GIT_ID_HEX || (value[n] && !strchr("-+ ", value[n])) || (!has_letter && n < GIT_ID_HEX))
        return (struct str){NULL, 0};
    return str_from(value, n);
}

static ptrdiff_t revision_of_blob(const struct config_history *h, const char *blob, int64_t not_after)
{
    for (size_t i = 0; i < h->n_revisions; i++) {
        const struct revision *r = &h->revisions[i];

        if (r->blob && strcmp(r->blob, blob) == 0 && (not_after == NONE || r->commit_time <= not_after))
            return (ptrdiff_t)i;
    }
    return -1;
}

/* The revision whose version stands in the tree of a commit. */
static ptrdiff_t revision_in(const struct history_target *target, const struct config_history *h,
                             const struct git_id *commit)
{
    struct repository *repository = target->place->repository;
    char hex[GIT_ID_HEX + 1];
    struct tree_entry entry;
    struct git_id tree;
    ptrdiff_t direct;

    git_id_hex(commit, hex);
    direct = config_history_find(h, hex);
    if (direct >= 0)
        return direct;
    if (repository_tree(repository, commit, &tree, NULL) != OK)
        return -1;
    for (size_t i = 0; i < h->n_revisions; i++) {
        const struct revision *r = &h->revisions[i];

        /* each name that the file has had is asked once */
        if (i > 0 && strcmp(r->path, h->revisions[i - 1].path) == 0)
            continue;
        if (tree_find(repository->objects, &tree, r->path, &entry, NULL) == OK && entry.mode) {
            git_id_hex(&entry.id, hex);
            return revision_of_blob(h, hex, NONE);
        }
    }
    return -1;
}

static bool find_recorded(const struct run_facts *facts, const struct history_target *target,
                          struct arena *arena, struct config_history *out)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        struct str hash = s->value && s->raw_name && names_commit(s->raw_name) ? hash_in(s->value)
                                                                             : (struct str){NULL, 0};
        char hex[GIT_ID_HEX + 1];
        struct git_id id;

        if (!hash.p)
            continue;
        if (repository_commit(target->place->repository, hash, &id, NULL) != OK) {
            out->because = arena_printf(arena, "%s records commit %.*s, which is not in the repository",
                                        facts_file_name(facts, s->source_id),
                                        (int)(hash.n < 12 ? hash.n : 12), hash.p);
            continue;
        }
        git_id_hex(&id, hex);
        out->use = HISTORY_USE_RECORDED;
        out->used = arena_strdup(arena, hex);
        out->because = arena_printf(arena, "%s records it (%s)", facts_file_name(facts, s->source_id),
                                    s->raw_name);
        out->used_at = revision_in(target, out, &id);
        return true;
    }
    return false;
}

/* ---- By content and settings ---- */

static const char *name_of_file(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void use_revision(struct config_history *out, ptrdiff_t i, enum history_use use,
                         const char *because)
{
    out->use = use;
    out->used_at = i;
    out->used = out->revisions[i].commit;
    out->because = because;
}

/* Without the CR of a file that was checked out for Windows. */
static struct str without_cr(struct str text, struct arena *arena)
{
    char *out = arena_alloc(arena, text.n + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < text.n; i++)
        if (text.p[i] != '\r' || i + 1 == text.n || text.p[i + 1] != '\n')
            out[n++] = text.p[i];
    return str_from(out ? out : "", n);
}

static ptrdiff_t equal_revision(struct str text, const struct config_history *h, int64_t not_after,
                                struct arena *arena)
{
    char hex[GIT_ID_HEX + 1];
    struct git_id id;
    ptrdiff_t at = -1;

    for (int i = 0; at < 0 && i < 2; i++) {
        if (objects_blob_id(i ? without_cr(text, arena) : text, &id, NULL) != OK)
            return -1;
        git_id_hex(&id, hex);
        at = revision_of_blob(h, hex, not_after);
        if (at < 0)
            at = revision_of_blob(h, hex, NONE);
    }
    return at;
}

/* The version with the fewest other settings; of equal ones the newest. */
static ptrdiff_t nearest(const struct history_target *target, struct str text,
                         const struct config_history *h, struct arena *scratch, size_t *n_other)
{
    ptrdiff_t best = -1;

    for (size_t i = 0; i < h->n_revisions && i < MAX_COMPARED; i++) {
        const struct revision *r = &h->revisions[i];
        struct config_diff diff;
        struct str version;

        arena_reset(scratch);
        if (r->blob && history_text(target->place->repository, r->blob, scratch, &version, NULL) == OK &&
            config_diff_texts(r->path, version, text, scratch, &diff, NULL) == OK && !diff.by_lines &&
            diff.n * 2 < diff.n_settings && (best < 0 || diff.n < *n_other)) {
            best = (ptrdiff_t)i;
            *n_other = diff.n;
        }
    }
    return best;
}

static bool is_own_copy(const struct history_target *target)
{
    return target->run_file && target->run_file != target->working_file;
}

static bool find_equal(const struct history_target *target, struct str text, int64_t started,
                       struct arena *arena, struct arena *scratch, struct config_history *out)
{
    ptrdiff_t at = equal_revision(text, out, started, scratch);

    if (at >= 0)
        use_revision(out, at, HISTORY_USE_CONTENT,
                     arena_printf(arena, "%s%s is equal to it", name_of_file(target->run_file),
                                  is_own_copy(target) ? "" : " of the work tree"));
    return at >= 0;
}

/* `is_near`: a version that states other settings as well is taken. */
static bool find_like(const struct history_target *target, struct str text, bool is_near,
                      struct arena *arena, struct arena *scratch, struct config_history *out)
{
    const char *name = name_of_file(target->run_file);
    size_t n_other = 0;
    ptrdiff_t at = nearest(target, text, out, scratch, &n_other);

    if (at < 0 || (n_other && !is_near))
        return false;
    use_revision(out, at, HISTORY_USE_SETTINGS,
                 n_other ? arena_printf(arena, "%s is nearest to it, %zu %s", name, n_other,
                                        n_other == 1 ? "setting is another" : "settings are others")
                         : arena_printf(arena, "%s states the same settings", name));
    return true;
}

/* ---- By the arguments that the run noted ---- */

#define MIN_AGREED 3

/* Not what the file of the work tree says, nor one outside the run's folder: that is no note of the run. */
static bool is_noted_by_run(const struct run_facts *facts, const struct history_target *target,
                            const struct setting *s)
{
    const struct source *source = NULL;
    size_t n = facts->run.folder ? strlen(facts->run.folder) : 0;

    if (s->side != SIDE_TRAIN || !s->name || !s->value)
        return false;
    for (size_t i = 0; !source && i < facts->n_sources; i++)
        if (facts->sources[i].id == s->source_id)
            source = &facts->sources[i];
    if (!source || !source->role || strcmp(source->role, "config") != 0)
        return source != NULL;
    return n && strncmp(source->path, facts->run.folder, n) == 0 && source->path[n] == '/' &&
           (!target->working_file || strcmp(source->path, target->working_file) != 0);
}

/* 1: noted with that value, -1: with others only, 0: not noted. */
static int agrees(const struct run_facts *facts, const struct history_target *target,
                  const struct setting *of_version)
{
    int answer = 0;

    for (size_t i = 0; of_version->name && of_version->value && i < facts->n_settings; i++) {
        const struct setting *own = &facts->settings[i];

        if (!own->name || strcmp(own->name, of_version->name) != 0 ||
            !is_noted_by_run(facts, target, own))
            continue;
        if (config_values_are_equal(own->value, of_version->value))
            return 1;
        answer = -1;
    }
    return answer;
}

/* Of the newest versions that the run's notes contradict in nothing, the last one before it began. */
static bool find_by_arguments(const struct run_facts *facts, const struct history_target *target,
                              int64_t started, struct arena *scratch, struct config_history *out)
{
    ptrdiff_t best = -1;

    for (size_t i = 0; i < out->n_revisions && i < MAX_COMPARED; i++) {
        const struct revision *r = &out->revisions[i];
        struct config_text text;
        struct str version;
        size_t n_same = 0, n_other = 0;

        arena_reset(scratch);
        if ((started != NONE && r->commit_time > started) || !r->blob ||
            history_text(target->place->repository, r->blob, scratch, &version, NULL) != OK ||
            config_text_read(config_form_of(r->path), version, scratch, &text, NULL) != OK)
            continue;
        for (size_t k = 0; k < text.n; k++) {
            int answer = agrees(facts, target, &text.settings[k]);

            n_same += answer > 0;
            n_other += answer < 0;
        }
        if (n_same >= MIN_AGREED && n_other == 0) {
            best = (ptrdiff_t)i;
            break;
        }
    }
    if (best >= 0)
        use_revision(out, best, HISTORY_USE_SETTINGS,
                     "the newest one that the run's own arguments agree with");
    return best >= 0;
}

/* ---- By time ---- */

static bool find_by_time(int64_t started, struct config_history *out)
{
    if (started == NONE)
        return false;
    for (size_t i = 0; i < out->n_revisions; i++)
        if (out->revisions[i].commit_time <= started && out->revisions[i].blob) {
            use_revision(out, (ptrdiff_t)i, HISTORY_USE_TIME, "the last one before the run began");
            return true;
        }
    out->because = "every commit is younger than the run";
    return false;
}

/* ---- What is not committed ---- */

struct difference {
    const struct config_change *changes;
    size_t n;
    bool is_there;                      /* the texts are not equal, if only in comments */
    bool is_known;
};

static struct difference differs_from(const struct history_target *target, const char *blob,
                                      const char *path, struct str text, struct arena *arena)
{
    struct difference out = {.n = 0};
    struct config_diff diff;
    struct str version;

    if (!blob || history_text(target->place->repository, blob, arena, &version, NULL) != OK)
        return out;
    out.is_known = true;
    out.is_there = !str_eq(version, text) && !str_eq(without_cr(version, arena), without_cr(text, arena));
    if (out.is_there && config_diff_texts(path, version, text, arena, &diff, NULL) == OK) {
        out.changes = diff.changes;
        out.n = diff.n;
    }
    return out;
}

/* HEAD's own version: the newest revision may stand on a branch whose change a merge did not take. */
static struct difference differs_from_head(const struct history_target *target, struct str text,
                                           struct arena *arena)
{
    struct tree_entry entry;
    struct git_id tree;
    char hex[GIT_ID_HEX + 1];

    if (repository_tree(target->place->repository, &target->place->head, &tree, NULL) != OK ||
        tree_find(target->place->repository->objects, &tree, target->path, &entry, NULL) != OK ||
        !entry.mode)
        return (struct difference){.n = 0};
    git_id_hex(&entry.id, hex);
    return differs_from(target, hex, target->path, text, arena);
}

static void take_dirty(struct config_history *out, const struct difference *d, const char *from)
{
    out->dirty_from = d->is_known ? from : NULL;
    out->is_dirty = d->is_there;
    out->dirty = d->changes;
    out->n_dirty = d->n;
}

static void find_dirty(const struct history_target *target, struct str text, struct arena *arena,
                       struct config_history *out)
{
    struct difference d;

    if (!is_own_copy(target)) {
        d = differs_from_head(target, text, arena);
        take_dirty(out, &d, "HEAD");
    } else if (out->used_at >= 0) {
        const struct revision *r = &out->revisions[out->used_at];

        d = differs_from(target, r->blob, r->path, text, arena);
        take_dirty(out, &d, arena_strndup(arena, r->commit, 7));
    }
}

/* What will be used next: the work tree has gone on since the run made its copy. */
static void find_uncommitted(const struct history_target *target, struct arena *arena,
                             struct config_history *out)
{
    char *text = NULL;
    size_t n = 0;

    if (!is_own_copy(target) || !target->working_file ||
        source_slurp(target->working_file, CONFIG_TEXT_BYTES, &text, &n, NULL) != OK)
        return;
    struct difference d = differs_from_head(target, str_from(text, n), arena);
    out->uncommitted = d.changes;
    out->n_uncommitted = d.n;
    out->is_uncommitted = d.is_there;
    free(text);
}

/* ---- All of it ---- */

static bool find_use(const struct run_facts *facts, const struct history_target *target,
                     const struct str *content, struct arena *arena, struct arena *scratch,
                     struct config_history *out)
{
    int64_t started = run_began(facts);
    const struct str *copy = is_own_copy(target) ? content : NULL;

    if (find_recorded(facts, target, arena, out))
        return true;
    if (copy && (find_equal(target, *copy, started, arena, scratch, out) ||
                 find_like(target, *copy, false, arena, scratch, out)))
        return true;
    if (find_by_arguments(facts, target, started, scratch, out) || find_by_time(started, out))
        return true;
    if (copy)
        return find_like(target, *copy, true, arena, scratch, out);
    return content && started == NONE && find_equal(target, *content, NONE, arena, scratch, out);
}

int history_use_find(const struct run_facts *facts, const struct history_target *target,
                     struct arena *arena, struct config_history *out, struct error *err)
{
    struct arena *scratch = arena_open(SCRATCH_BYTES);
    char *text = NULL;
    size_t n = 0;

    if (!scratch)
        return error_set(err, E_NOMEM, "a file's history");
    out->run_file = target->run_file;
    out->working_file = target->working_file;
    out->used_at = -1;
    bool has_text = target->run_file &&
                    source_slurp(target->run_file, CONFIG_TEXT_BYTES, &text, &n, NULL) == OK;
    struct str content = str_from(text, n);
    bool is_found = facts && find_use(facts, target, has_text ? &content : NULL, arena, scratch, out);
    if (facts && !is_found && !out->because)
        out->because = "no hash was recorded, no version is equal to the run's file, and its start is not "
                       "known";
    if (has_text)
        find_dirty(target, content, arena, out);
    find_uncommitted(target, arena, out);
    free(text);
    arena_close(scratch);
    return arena_failed(arena) ? error_set(err, E_NOMEM, "a file's history") : OK;
}
