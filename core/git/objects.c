/* Git's objects through libgit2. See objects.h. */
#include "core/git/objects.h"

#include <dirent.h>
#include <git2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/read/source.h"

#define WINDOW_BYTES       ((size_t)4 << 20)
#define MAPPED_BYTES       ((size_t)48 << 20)
#define PACK_PIECE_BYTES   ((size_t)256 << 10)
#define ALTERNATES_BYTES   ((size_t)64 << 10)
#define MAX_ALTERNATE_DEPTH 5
#define MAX_ALTERNATES     100           /* each is looked through; git's users have one or two */
#define MAX_FILES          2000000

struct objects {
    git_odb *odb;
};

/* ---- Ids ---- */

bool git_id_is(const struct git_id *a, const struct git_id *b)
{
    return memcmp(a->b, b->b, GIT_ID_BYTES) == 0;
}

bool git_id_is_none(const struct git_id *id)
{
    static const struct git_id none;

    return git_id_is(id, &none);
}

void git_id_hex(const struct git_id *id, char out[GIT_ID_HEX + 1])
{
    static const char DIGITS[] = "0123456789abcdef";

    for (size_t i = 0; i < GIT_ID_BYTES; i++) {
        out[2 * i] = DIGITS[id->b[i] >> 4];
        out[2 * i + 1] = DIGITS[id->b[i] & 15];
    }
    out[GIT_ID_HEX] = '\0';
}

/* 16 + the value of a hex digit, 0 for what is none: a walk turns millions of them. */
static const unsigned char DIGIT_OF[256] = {
    ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21, ['6'] = 22, ['7'] = 23,
    ['8'] = 24, ['9'] = 25, ['a'] = 26, ['b'] = 27, ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
    ['A'] = 26, ['B'] = 27, ['C'] = 28, ['D'] = 29, ['E'] = 30, ['F'] = 31,
};

static int digit_of(char c)
{
    return (int)DIGIT_OF[(unsigned char)c] - 16;
}

bool git_id_parse(struct str hex, struct git_id *out)
{
    struct git_id id;

    if (hex.n != GIT_ID_HEX)
        return false;
    for (size_t i = 0; i < GIT_ID_BYTES; i++) {
        int high = digit_of(hex.p[2 * i]), low = digit_of(hex.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        id.b[i] = (unsigned char)(high << 4 | low);
    }
    *out = id;
    return true;
}

/* ---- The library ---- */

static pthread_once_t is_started = PTHREAD_ONCE_INIT;
static int start_code;

static void start(void)
{
    static const int LEVELS[] = {GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
                                 GIT_CONFIG_LEVEL_GLOBAL, GIT_CONFIG_LEVEL_PROGRAMDATA};

    start_code = git_libgit2_init();
    if (start_code < 0)
        return;
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++)
        (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, LEVELS[i], "");
    /* A walk reads each object once; the cache of delta bases is another. */
    (void)git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0);
    (void)git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, WINDOW_BYTES);
    (void)git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, MAPPED_BYTES);
    /* As git itself: a pack's objects are not hashed anew each time they are read. */
    (void)git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
}

static int ready(struct error *err)
{
    pthread_once(&is_started, start);
    return start_code < 0 ? error_set(err, E_GIT, "libgit2 does not start") : OK;
}

/* Read right after a negative result: the library's last error may be of an older call. */
static int fail(int code, const char *what, struct error *err)
{
    const git_error *last = git_error_last();
    const char *why = last && last->message ? last->message : "unknown reason";

    if (code == GIT_ENOTFOUND)
        return error_set(err, E_NOTFOUND, "%s: not in the repository", what);
    if (last && last->klass == GIT_ERROR_NOMEMORY)
        return error_set(err, E_NOMEM, "%s", what);
    return error_set(err, E_GIT, "%s: %s", what, why);
}

void objects_library_version(char out[16])
{
    int major, minor, revision;

    git_libgit2_version(&major, &minor, &revision);
    snprintf(out, 16, "%d.%d.%d", major, minor, revision);
}

/* ---- Looking through the folder before the library does ---- */

struct look {
    const char *top;
    int64_t n_files;
    int depth, n_alternates;
};

static int look_at_objects(struct look *look, const char *folder, struct error *err);

static int refuse_file(const char *path, struct error *err)
{
    int rc = error_set(err, E_UNSUPPORTED, "not a regular file, expected an object of git");

    error_at(err, path, NONE, NONE);
    return rc;
}

/* All files of one folder are regular. A folder that is not there has none. */
static int look_at_files(struct look *look, const char *folder, struct error *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char path[4096];
    struct stat st;
    int rc = OK;

    while (dir && rc == OK && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (n < 0 || (size_t)n >= sizeof path || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
            rc = refuse_file(folder, err);
        if (++look->n_files > MAX_FILES)
            rc = error_set(err, E_LIMIT, "more than %d odd files under objects", MAX_FILES);
    }
    if (dir)
        closedir(dir);
    return rc;
}

static bool is_fan_out(const char *name)
{
    return digit_of(name[0]) >= 0 && digit_of(name[1]) >= 0 && !name[2];
}

static int look_at_alternates(struct look *look, const char *folder, struct error *err)
{
    char path[4096], other[4096];
    char *text = NULL;
    size_t n = 0;
    struct stat st;
    struct str rest, line;
    int rc = OK;

    snprintf(path, sizeof path, "%s/info/alternates", folder);
    if (stat(path, &st) != 0)
        return OK;
    if (!S_ISREG(st.st_mode))
        return refuse_file(path, err);
    rc = source_slurp(path, ALTERNATES_BYTES, &text, &n, err);
    if (rc == OK && look->depth >= MAX_ALTERNATE_DEPTH)
        rc = error_set(err, E_UNSUPPORTED, "alternates of alternates, more than %d deep",
                       MAX_ALTERNATE_DEPTH);
    look->depth++;
    for (rest = str_from(text, n); rc == OK && str_split(&rest, '\n', &line);) {
        line = str_trim(line);
        if (line.n == 0 || line.p[0] == '#' || line.n > 2000)
            continue;
        if (line.p[0] == '/')
            snprintf(other, sizeof other, "%.*s", (int)line.n, line.p);
        else
            snprintf(other, sizeof other, "%s/%.*s", folder, (int)line.n, line.p);
        rc = ++look->n_alternates > MAX_ALTERNATES
                 ? error_set(err, E_UNSUPPORTED, "more than %d alternates", MAX_ALTERNATES)
                 : look_at_objects(look, other, err);
    }
    look->depth--;
    free(text);
    return rc;
}

static int look_at_objects(struct look *look, const char *folder, struct error *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char path[4096];
    int rc = OK;

    while (dir && rc == OK && (entry = readdir(dir))) {
        if (!is_fan_out(entry->d_name) && strcmp(entry->d_name, "pack") != 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            rc = look_at_files(look, path, err);
    }
    if (dir)
        closedir(dir);
    return rc == OK ? look_at_alternates(look, folder, err) : rc;
}

/* ---- Reading ---- */

int objects_open(struct objects **out, const char *folder, struct error *err)
{
    struct look look = {.top = folder};
    struct objects *objects;
    int rc = ready(err);

    if (rc == OK)
        rc = look_at_objects(&look, folder, err);
    if (rc != OK)
        return rc;
    objects = calloc(1, sizeof *objects);
    if (!objects)
        return error_set(err, E_NOMEM, "a repository");
    int code = git_odb_open(&objects->odb, folder);
    if (code < 0) {
        free(objects);
        return fail(code, "objects", err);
    }
    *out = objects;
    return OK;
}

void objects_close(struct objects *objects)
{
    if (!objects)
        return;
    git_odb_free(objects->odb);
    free(objects);
}

static git_oid oid_of(const struct git_id *id)
{
    git_oid oid = {{0}};

    memcpy(oid.id, id->b, GIT_ID_BYTES);
    return oid;
}

static const char *kind_name(enum object_kind kind)
{
    static const char *const NAMES[] = {"object", "commit", "tree", "blob", "tag"};

    return NAMES[kind];
}

static int describe(int code, const struct git_id *id, enum object_kind kind, struct error *err)
{
    char hex[GIT_ID_HEX + 1], what[64];

    git_id_hex(id, hex);
    snprintf(what, sizeof what, "%s %.12s", kind_name(kind), hex);
    return fail(code, what, err);
}

int objects_size(struct objects *objects, const struct git_id *id, size_t *n, struct error *err)
{
    git_oid oid = oid_of(id);
    git_object_t type;
    int code = git_odb_read_header(n, &type, objects->odb, &oid);

    return code < 0 ? describe(code, id, OBJECT_NONE, err) : OK;
}

int objects_read(struct objects *objects, const struct git_id *id, enum object_kind kind,
                 size_t limit, struct object *out, struct error *err)
{
    char hex[GIT_ID_HEX + 1];
    git_oid oid = oid_of(id);
    git_odb_object *object = NULL;
    git_object_t type;
    size_t n;
    int code = git_odb_read_header(&n, &type, objects->odb, &oid);

    if (code >= 0 && n > limit) {
        git_id_hex(id, hex);
        return error_set(err, E_LIMIT, "%s %.12s has %zu bytes, at most %zu are read",
                         kind_name(kind), hex, n, limit);
    }
    if (code >= 0)
        code = git_odb_read(&object, objects->odb, &oid);
    if (code < 0)
        return describe(code, id, kind, err);
    type = git_odb_object_type(object);
    if (kind != OBJECT_NONE && (int)type != (int)kind) {
        git_odb_object_free(object);
        git_id_hex(id, hex);
        return error_set(err, E_GIT, "%.12s is a %s, expected a %s", hex,
                         git_object_type2string(type), kind_name(kind));
    }
    *out = (struct object){(enum object_kind)type,
                           str_from(git_odb_object_data(object), git_odb_object_size(object)),
                           object};
    return OK;
}

int objects_expand(struct objects *objects, struct str hex, struct git_id *out, struct error *err)
{
    char padded[GIT_ID_HEX + 1];
    struct git_id id;
    git_oid oid, found;

    memset(padded, '0', GIT_ID_HEX);
    if (hex.n < 7 || hex.n > GIT_ID_HEX)
        return error_set(err, E_NOTFOUND, "a hash of %zu digits, expected 7 to %d", hex.n, GIT_ID_HEX);
    memcpy(padded, hex.p, hex.n);
    if (!git_id_parse(str_from(padded, GIT_ID_HEX), &id))
        return error_set(err, E_NOTFOUND, "no hash of a commit");
    oid = oid_of(&id);
    int code = git_odb_exists_prefix(&found, objects->odb, &oid, hex.n);
    if (code < 0)
        return error_set(err, E_NOTFOUND, "commit %.*s is not in the repository", (int)hex.n, hex.p);
    memcpy(out->b, found.id, GIT_ID_BYTES);
    return OK;
}

void object_free(struct object *object)
{
    if (object->handle)
        git_odb_object_free(object->handle);
    *object = (struct object){OBJECT_NONE, {NULL, 0}, NULL};
}

int objects_blob_id(struct str bytes, struct git_id *out, struct error *err)
{
    git_oid oid;
    int rc = ready(err);

    if (rc != OK)
        return rc;
    int code = git_odb_hash(&oid, bytes.p ? bytes.p : "", bytes.n, GIT_OBJECT_BLOB);
    if (code < 0)
        return fail(code, "a file's id", err);
    memcpy(out->b, oid.id, GIT_ID_BYTES);
    return OK;
}

/* ---- Packs ---- */

int objects_index_pack(const char *folder, const struct pack_source *source, struct error *err)
{
    git_indexer *indexer = NULL;
    git_indexer_progress progress = {0};
    char *piece = NULL;
    size_t got = 1;
    int rc = ready(err), code = 0;

    if (rc != OK)
        return rc;
    piece = malloc(PACK_PIECE_BYTES);
    if (!piece)
        return error_set(err, E_NOMEM, "a pack");
    code = git_indexer_new(&indexer, folder, 0600, NULL, NULL);
    while (code >= 0 && rc == OK && got) {
        rc = source->read(source->ctx, piece, PACK_PIECE_BYTES, &got, err);
        if (rc == OK && got)
            code = git_indexer_append(indexer, piece, got, &progress);
    }
    if (code >= 0 && rc == OK)
        code = git_indexer_commit(indexer, &progress);
    if (rc == OK && code < 0)
        rc = fail(code == GIT_ENOTFOUND ? GIT_ERROR : code, "pack", err);
    git_indexer_free(indexer);
    free(piece);
    return rc;
}
