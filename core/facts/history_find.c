/* Which repository may hold the run's configuration, and as which file. */
#include "core/facts/history_parts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/hash.h"
#include "core/facts/facts_cache.h"
#include "core/read/source.h"

#define MAX_BESIDE       2000               /* entries of a folder that are looked at */
#define MAX_TREE_FILES   20000
#define MAX_CANDIDATES   400
#define CANDIDATE_BYTES  ((size_t)256 << 10)
#define SCRATCH_BYTES    ((size_t)64 << 20)
#define MIN_SHARED       3                  /* equal settings that make a file the run's */

/* ---- Places ---- */

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "a configuration's history");
}

uint64_t history_stamp(const char *path)
{
    struct stat st;
    int64_t numbers[3] = {0, 0, 0};

    if (stat(path, &st) == 0) {
        numbers[0] = st.st_size;
        numbers[1] = st.st_mtim.tv_sec;
        numbers[2] = st.st_mtim.tv_nsec;
    }
    return hash_bytes(numbers, sizeof numbers);
}

static bool knows(const struct history_search *s, const char *path)
{
    for (size_t i = 0; i < s->n_places; i++)
        if (strcmp(s->places[i].path, path) == 0)
            return true;
    return false;
}

/* One repository that is refused is met from each file of the run. */
static bool is_told(const struct history_search *s, const char *problem)
{
    for (size_t i = 0; i < s->n_places; i++)
        if (s->places[i].problem && strcmp(s->places[i].problem, problem) == 0)
            return true;
    return false;
}

static struct history_place *new_place(struct history_search *s, const char *path)
{
    struct history_place *place = &s->places[s->n_places++];

    *place = (struct history_place){.path = arena_strdup(s->arena, path), .head_name = ""};
    return place;
}

/* HEAD of an opened repository. */
static void take_head(struct history_search *s, struct history_place *place)
{
    char name[256] = "";
    struct error why;

    if (repository_head(place->repository, &place->head, name, &why) != OK)
        place->problem = arena_strdup(s->arena, why.message);
    place->head_name = arena_strdup(s->arena, name);
    if (!place->is_bundle)
        place->stamp = hash_bytes(place->head.b, GIT_ID_BYTES);
}

static const struct repository_options *trust(const struct history_search *s)
{
    static const struct repository_options trusting = {.trusts_owner = true};
    const char *answer = s->facts ? facts_answer(s->facts, "git-owner") : NULL;

    return answer && strcmp(answer, "any") == 0 ? &trusting : s->options;
}

/* The repository around or at a path; none is no failure. */
static int add_place(struct history_search *s, const char *path, struct error *err)
{
    struct repository *repository = NULL;
    struct error why;
    int rc;

    if (s->n_places == HISTORY_MAX_PLACES)
        return OK;
    rc = repository_open(&repository, path, trust(s), &why);
    if (rc == E_NOTFOUND)
        return OK;
    if (rc == E_NOMEM)
        return no_memory(err);
    if (rc != OK) {
        const char *where = why.path[0] ? why.path : path;

        if (!knows(s, where) && !is_told(s, why.message)) {
            struct history_place *place = new_place(s, where);

            place->problem = arena_strdup(s->arena, why.message);
            place->stamp = hash_bytes(why.message, strlen(why.message));
        }
        return OK;
    }
    if (knows(s, repository->path)) {
        repository_close(repository);
        return OK;
    }
    struct history_place *place = new_place(s, repository->path);
    place->repository = repository;
    place->is_bundle = repository->is_bundle;
    take_head(s, place);
    return OK;
}

static void add_bundle(struct history_search *s, const char *path)
{
    if (s->n_places == HISTORY_MAX_PLACES || knows(s, path) || !repository_is_bundle_file(path))
        return;
    struct history_place *place = new_place(s, path);
    place->is_bundle = true;
    place->stamp = history_stamp(path);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           lstat(path, &st) == 0;
}

/* Bundles, bare repositories and clones that stand in a folder. */
static int look_beside(struct history_search *s, const char *folder, struct error *err)
{
    struct dirent **names = NULL;
    char path[4096];
    int rc = OK, n = folder && is_folder(folder) ? scandir(folder, &names, NULL, alphasort) : 0;

    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;

        if (rc == OK && i < MAX_BESIDE && name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path) {
            if (str_ends(str_of(name), ".bundle"))
                add_bundle(s, path);
            else if (is_folder(path) && (str_ends(str_of(name), ".git") || is_there(path, ".git")))
                rc = add_place(s, path, err);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

static bool is_config_source(const struct source *source)
{
    return source->state != SOURCE_GONE && source->role && config_form_of(source->path) != CONFIG_OTHER &&
           (strcmp(source->role, "config") == 0 || strcmp(source->role, "args") == 0);
}

static void find_files(struct history_search *s)
{
    for (size_t i = 0; i < s->facts->n_sources && s->n_files < HISTORY_MAX_TARGETS; i++) {
        const struct source *source = &s->facts->sources[i];

        if (is_config_source(source) && facts_checkpoint_step(s->facts, source->path) == NONE)
            s->files[s->n_files++] = source->path;
    }
}

int history_search_places(struct history_search *search, struct error *err)
{
    const struct run *run = &search->facts->run;
    int rc = OK;

    find_files(search);
    for (size_t i = 0; rc == OK && i < search->n_files; i++)
        rc = add_place(search, search->files[i], err);
    if (rc == OK && run->folder && is_folder(run->folder))
        rc = add_place(search, run->folder, err);
    if (rc == OK)
        rc = look_beside(search, run->folder, err);
    if (rc == OK && run->project && (!run->folder || strcmp(run->project, run->folder) != 0))
        rc = look_beside(search, run->project, err);
    return rc;
}

/* ---- Files ---- */

struct candidates {
    struct history_search *search;
    struct repository *repository;
    struct arena *scratch;
    /* What is looked for. */
    struct git_id blob;                 /* none: no file of the run */
    const char *base_name;              /* or NULL */
    const struct config_text *settings; /* or NULL: the run's own, from the facts */
    /* What was found. */
    const char *path;
    int64_t score;
    size_t n_looked;
};

static const char *base_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const struct setting *setting_named(const struct config_text *text, const struct setting *like)
{
    for (size_t i = 0; i < text->n; i++) {
        const struct setting *s = &text->settings[i];

        if (like->name ? s->name && strcmp(s->name, like->name) == 0
                       : strcmp(s->raw_name, like->raw_name) == 0)
            return s;
    }
    return NULL;
}

/* Equal settings count twice, those that are only named as well once. */
static int64_t shared_with_file(const struct config_text *a, const struct config_text *b)
{
    int64_t score = 0, n_named = 0;

    for (size_t i = 0; i < a->n && i < 500; i++) {
        const struct setting *other = setting_named(b, &a->settings[i]);

        n_named += other != NULL;
        score += other && config_values_are_equal(other->value, a->settings[i].value);
    }
    return n_named >= MIN_SHARED && n_named * 2 >= (int64_t)(a->n < 500 ? a->n : 500) ? n_named + score : 0;
}

static int64_t shared_with_run(const struct run_facts *facts, const struct config_text *text)
{
    int64_t n = 0;

    for (size_t i = 0; facts && i < text->n; i++) {
        const struct setting *own = text->settings[i].name ? facts_setting(facts, text->settings[i].name)
                                                           : NULL;

        n += own && own->value && config_values_are_equal(own->value, text->settings[i].value);
    }
    return n >= MIN_SHARED ? n : 0;
}

static int64_t score_of(struct candidates *c, const struct tree_file *file)
{
    struct config_text text;
    struct object object;
    int64_t score = 0;

    if (objects_read(c->repository->objects, &file->entry.id, OBJECT_BLOB, CANDIDATE_BYTES, &object,
                     NULL) != OK)
        return 0;
    arena_reset(c->scratch);
    if (config_text_read(config_form_of(file->path), object.bytes, c->scratch, &text, NULL) == OK)
        score = c->settings ? shared_with_file(c->settings, &text)
                            : shared_with_run(c->search->facts, &text);
    object_free(&object);
    return score;
}

static int look_at_file(void *ctx, const struct tree_file *file, struct error *err)
{
    struct candidates *c = ctx;
    int64_t score = 0;

    (void)err;
    if ((file->entry.mode & MODE_KIND) != MODE_FILE || c->score == INT64_MAX)
        return OK;
    if (!git_id_is_none(&c->blob) && git_id_is(&c->blob, &file->entry.id))
        score = INT64_MAX;
    else if (config_form_of(file->path) != CONFIG_OTHER && c->n_looked++ < MAX_CANDIDATES) {
        score = score_of(c, file);
        /* A name says little where the content shares nothing. */
        if (c->base_name && strcmp(base_name_of(file->path), c->base_name) == 0)
            score = score * 2 + 2;
    }
    if (score > c->score) {
        c->score = score;
        c->path = arena_strdup(c->search->arena, file->path);
    }
    return OK;
}

/* The tracked file that is most like the run's: NULL when none is. */
static int match(struct history_search *s, struct history_place *place, const char *run_file,
                 const char **path, struct error *err)
{
    struct candidates c = {.search = s, .repository = place->repository,
                           .scratch = arena_open(SCRATCH_BYTES)};
    struct arena *own = arena_open(SCRATCH_BYTES);
    struct config_text settings;
    struct git_id tree;
    char *text = NULL;
    size_t n = 0;
    int rc = c.scratch && own ? OK : no_memory(err);

    *path = NULL;
    if (rc == OK && run_file && source_slurp(run_file, CONFIG_TEXT_BYTES, &text, &n, NULL) == OK) {
        c.base_name = base_name_of(run_file);
        rc = objects_blob_id(str_from(text, n), &c.blob, err);
        if (rc == OK &&
            config_text_read(config_form_of(run_file), str_from(text, n), own, &settings, NULL) == OK)
            c.settings = &settings;
    }
    if (rc == OK)
        rc = repository_tree(place->repository, &place->head, &tree, err);
    if (rc == OK)
        rc = tree_files(place->repository->objects, &tree, MAX_TREE_FILES, look_at_file, &c, err);
    place->is_bounded |= rc == E_LIMIT || rc == E_NOTFOUND || rc == E_GIT || c.n_looked > MAX_CANDIDATES;
    if (rc == E_LIMIT || rc == E_NOTFOUND || rc == E_GIT)
        rc = OK;                        /* what was seen until then decides */
    if (rc == OK)
        *path = c.path;
    free(text);
    arena_close(own);
    arena_close(c.scratch);
    return rc;
}

static void add_target(struct history_search *s, struct history_place *place, const char *path,
                       const char *run_file, const char *working_file)
{
    for (size_t i = 0; i < s->n_targets; i++)
        if (s->targets[i].place == place && path && s->targets[i].path &&
            strcmp(s->targets[i].path, path) == 0)
            return;
    if (s->n_targets == HISTORY_MAX_TARGETS)
        return;
    s->targets[s->n_targets++] = (struct history_target){
        .place = place, .path = path, .run_file = run_file, .working_file = working_file,
        .problem = place->problem};
}

static bool is_tracked(const struct history_place *place, const char *path)
{
    struct tree_entry entry;
    struct git_id tree;

    return repository_tree(place->repository, &place->head, &tree, NULL) == OK &&
           tree_find(place->repository->objects, &tree, path, &entry, NULL) == OK && entry.mode;
}

static void unpack(struct history_search *s, struct history_place *place)
{
    struct error why;

    if (!place->is_bundle || place->repository || place->problem)
        return;
    if (repository_open(&place->repository, place->path, NULL, &why) == OK)
        take_head(s, place);
    else
        place->problem = arena_strdup(s->arena, why.message);
}

/* The file of the work tree that a path of the repository is, NULL when none is there. */
static const char *working_file_of(struct history_search *s, const struct history_place *place,
                                   const char *path)
{
    struct stat st;
    const char *file = place->repository->work_folder
                           ? arena_printf(s->arena, "%s/%s", place->repository->work_folder, path)
                           : NULL;

    return file && lstat(file, &st) == 0 && S_ISREG(st.st_mode) ? file : NULL;
}

/* What a run keeps of its configuration says what it used; the file of the work tree, what is there now. */
static int add_own_copies(struct history_search *s, struct history_place *place, size_t from,
                          struct error *err)
{
    const char *path;
    int rc = OK;

    for (size_t i = 0; rc == OK && s->n_targets > from && i < s->n_files; i++) {
        const char *inside = repository_path_of(place->repository, s->files[i]);

        if (inside && is_tracked(place, inside))
            continue;
        rc = match(s, place, s->files[i], &path, err);
        for (size_t k = from; rc == OK && path && k < s->n_targets; k++) {
            struct history_target *target = &s->targets[k];

            if (strcmp(target->path, path) == 0 && target->run_file == target->working_file)
                target->run_file = s->files[i];
        }
    }
    return rc;
}

static int targets_in(struct history_search *s, struct history_place *place, struct error *err)
{
    size_t before = s->n_targets;
    const char *path = NULL;
    int rc = OK;

    unpack(s, place);
    if (place->problem) {
        add_target(s, place, NULL, NULL, NULL);
        return OK;
    }
    for (size_t i = 0; i < s->n_files; i++) {
        path = repository_path_of(place->repository, s->files[i]);
        if (path && is_tracked(place, path))
            add_target(s, place, path, s->files[i], s->files[i]);
    }
    rc = add_own_copies(s, place, before, err);
    for (size_t i = 0; rc == OK && s->n_targets == before && i < s->n_files; i++) {
        rc = match(s, place, s->files[i], &path, err);
        if (rc == OK && path)
            add_target(s, place, path, s->files[i], working_file_of(s, place, path));
    }
    if (rc == OK && s->n_targets == before && s->facts) {
        rc = match(s, place, NULL, &path, err);
        const char *working = rc == OK && path ? working_file_of(s, place, path) : NULL;
        if (rc == OK && path)
            add_target(s, place, path, working, working);
    }
    if (rc == OK && s->n_targets == before && place->is_bounded) {
        place->problem = HISTORY_BOUNDED;
        add_target(s, place, NULL, NULL, NULL);
    }
    return rc;
}

int history_search_targets(struct history_search *search, struct error *err)
{
    int rc = OK;

    for (size_t i = 0; rc == OK && i < search->n_places; i++)
        rc = targets_in(search, &search->places[i], err);
    return rc;
}

/* ---- What the user named ---- */

struct named {
    struct history_search *search;
    struct history_place *place;
    struct arena *scratch;
};

/* Without a run: files of a repository that state at least two known settings. */
static int look_for_config(void *ctx, const struct tree_file *file, struct error *err)
{
    struct named *named = ctx;
    struct history_search *s = named->search;
    struct config_text text;
    struct object object;

    (void)err;
    if ((file->entry.mode & MODE_KIND) != MODE_FILE || config_form_of(file->path) == CONFIG_OTHER ||
        s->n_targets == HISTORY_MAX_TARGETS ||
        objects_read(named->place->repository->objects, &file->entry.id, OBJECT_BLOB, CANDIDATE_BYTES,
                     &object, NULL) != OK)
        return OK;
    arena_reset(named->scratch);
    if (config_text_read(config_form_of(file->path), object.bytes, named->scratch, &text, NULL) == OK &&
        config_text_n_known(&text) >= 2)
        add_target(s, named->place, arena_strdup(s->arena, file->path), NULL, NULL);
    object_free(&object);
    return OK;
}

static int targets_of_repository(struct history_search *s, struct history_place *place, struct error *err)
{
    struct named named = {s, place, arena_open(SCRATCH_BYTES)};
    struct git_id tree;
    int rc = named.scratch ? repository_tree(place->repository, &place->head, &tree, err)
                           : no_memory(err);

    if (rc == OK)
        rc = tree_files(place->repository->objects, &tree, MAX_TREE_FILES, look_for_config, &named, err);
    arena_close(named.scratch);
    place->is_bounded |= rc == E_LIMIT || s->n_targets == HISTORY_MAX_TARGETS;
    return rc == E_LIMIT ? OK : rc;
}

/* The real path of a file that need not be there any more. */
static const char *real_path(struct arena *arena, const char *path)
{
    char *real = realpath(path, NULL);
    const char *slash = strrchr(path, '/');
    const char *out = NULL;

    if (!real) {
        char *folder = slash == path ? strdup("/")
                       : slash       ? strndup(path, (size_t)(slash - path))
                                     : strdup(".");
        char *above = folder ? realpath(folder, NULL) : NULL;

        if (above)
            out = arena_printf(arena, "%s/%s", above, slash ? slash + 1 : path);
        free(above);
        free(folder);
        return out;
    }
    out = arena_strdup(arena, real);
    free(real);
    return out;
}

static const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash != path ? arena_strndup(arena, path, (size_t)(slash - path)) : "/";
}

int history_search_path(struct history_search *search, const char *path, struct error *err)
{
    struct history_search *s = search;
    const char *real = real_path(s->arena, path), *inside = NULL;
    struct stat st;
    int rc;

    if (!real)
        return error_set(err, E_NOTFOUND, "%s: no such path", path);
    bool is_file = stat(real, &st) != 0 || S_ISREG(st.st_mode);
    struct repository *repository = NULL;
    bool is_bundle = is_file && repository_is_bundle_file(real);
    rc = repository_open(&repository, is_file && !is_bundle ? folder_of(s->arena, real) : real,
                         trust(s), err);
    if (rc != OK)
        return rc;
    struct history_place *place = new_place(s, repository->path);
    place->repository = repository;
    place->is_bundle = is_bundle;
    take_head(s, place);
    if (place->problem)
        return error_set(err, E_NOTFOUND, "%s", place->problem);
    if (is_file && !is_bundle)
        inside = repository_path_of(repository, real);
    if (!inside)
        return targets_of_repository(s, place, err);
    if (stat(real, &st) != 0)
        real = NULL;
    add_target(s, place, inside, real, real);
    return OK;
}

void history_search_close(struct history_search *search)
{
    for (size_t i = 0; i < search->n_places; i++)
        repository_close(search->places[i].repository);
    search->n_places = 0;
}
