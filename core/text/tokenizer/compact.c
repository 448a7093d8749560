/* Models on disk as they lie in memory. See tokenizer_parts.h.
 *
 * A file: the header, the settings, struct tok_model with its pointers as places, then each table at
 * a multiple of 64. The hash is of all that follows the header. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/text/tokenizer/models.h"

#define FORMAT      1           /* raise it with every change of a table or of struct tok_model */
#define ALIGNMENT   64
#define MOST_FILES  4096        /* of the folder that are looked at */

struct header {
    char magic[8];
    uint32_t format, model_bytes;
    uint64_t n_bytes, hash;     /* of what follows */
    uint64_t text_n;            /* of the tokenizer.json */
    uint64_t settings_n;
};

static const char magic[8] = "fltokc\n";

/* The tables of a model, in the order in which they are kept. */
struct table {
    void **place;
    size_t n_bytes;
};

#define TABLES 8

static void list_tables(struct tok_model *model, struct table tables[TABLES])
{
    struct unigram *unigram = &model->unigram;
    bool has_scores = model->kind == MODEL_UNIGRAM;

    tables[0] = (struct table){(void **)&model->vocab.bytes, model->vocab.n_bytes};
    tables[1] = (struct table){(void **)&model->vocab.entries,
                               model->vocab.n_entries * sizeof *model->vocab.entries};
    tables[2] = (struct table){(void **)&model->vocab.slots,
                               model->vocab.n_slots * sizeof *model->vocab.slots};
    tables[3] = (struct table){(void **)&model->bpe.merges,
                               model->bpe.n_merges * sizeof *model->bpe.merges};
    tables[4] = (struct table){(void **)&unigram->trie.nodes,
                               unigram->trie.n_nodes * sizeof *unigram->trie.nodes};
    tables[5] = (struct table){(void **)&unigram->scores,
                               has_scores ? model->vocab.n_entries * sizeof *unigram->scores : 0};
    tables[6] =
        (struct table){(void **)&model->wordpiece.trie.nodes,
                       model->wordpiece.trie.n_nodes * sizeof *model->wordpiece.trie.nodes};
    tables[7] = (struct table){(void **)&model->strings, model->strings_n};
}

/* ---- names ---- */

static bool folder_of(char out[4096], const char *cache_folder)
{
    int n = snprintf(out, 4096, "%s/tokenizers", cache_folder);

    return n > 0 && n < 4096;
}

static bool file_of(char out[4096], const char *folder, struct str text)
{
    int n = snprintf(out, 4096, "%s/%016llx-%d", folder,
                     (unsigned long long)hash_bytes(text.p, text.n), FORMAT);

    return n > 0 && n < 4096;
}

/* 16 hexadecimal digits, a dash and a number: ours, of this format or another one. */
static bool is_our_name(const char *name)
{
    size_t n = strspn(name, "0123456789abcdef");

    return n == 16 && name[n] == '-' && name[n + 1] && strlen(name) < 40 &&
           name[n + 1 + strspn(name + n + 1, "0123456789")] == '\0';
}

/* ---- reading ---- */

static bool read_all(int file, char *p, size_t n)
{
    while (n) {
        ssize_t got = read(file, p, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static bool is_whole(const char *data, size_t n, size_t text_n)
{
    struct header header;

    if (n < sizeof header + sizeof(struct tok_model) || n % ALIGNMENT)
        return false;
    memcpy(&header, data, sizeof header);
    return memcmp(header.magic, magic, sizeof magic) == 0 && header.format == FORMAT &&
           header.model_bytes == sizeof(struct tok_model) && header.text_n == text_n &&
           header.n_bytes == n - sizeof header && header.settings_n < header.n_bytes &&
           header.hash == hash_bytes(data + sizeof header, n - sizeof header);
}

static int read_file(struct compact *out, int file, size_t text_n, struct error *err)
{
    struct stat st;
    struct header header;
    char *data = NULL;

    if (fstat(file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof header ||
        st.st_size > COMPACT_BYTES)
        return 0;

    size_t n = (size_t)st.st_size;

    data = aligned_alloc(ALIGNMENT, (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!data)
        return error_set(err, E_NOMEM, "a tokenizer of %zu bytes", n);
    if (!read_all(file, data, n) || !is_whole(data, n, text_n)) {
        free(data);
        return 0;
    }
    memcpy(&header, data, sizeof header);
    *out = (struct compact){data, n, str_from(data + sizeof header, header.settings_n)};
    return 1;
}

int compact_find(struct compact *out, const char *cache_folder, struct str text, struct error *err)
{
    char folder[4096], path[4096];

    if (!folder_of(folder, cache_folder) || !file_of(path, folder, text))
        return 0;

    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (file < 0)
        return 0;

    int rc = read_file(out, file, text.n, err);

    if (rc == 1)
        (void)futimens(file, NULL);     /* used now: goes last */
    close(file);
    return rc;
}

static size_t aligned(size_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* So that no size overflows. */
static bool counts_fit(const struct tok_model *model, size_t n)
{
    return model->kind <= MODEL_WORDLEVEL && model->vocab.n_bytes <= n &&
           model->vocab.n_entries <= n && model->vocab.n_slots <= n && model->bpe.n_merges <= n &&
           model->unigram.trie.n_nodes <= n && model->wordpiece.trie.n_nodes <= n &&
           model->strings_n <= n;
}

int model_open_compact(struct tok_model **out, struct compact *compact, struct error *err)
{
    struct tok_model *model = malloc(sizeof *model);
    struct table tables[TABLES];
    struct str *texts[MODEL_TEXTS];
    size_t at = aligned(sizeof(struct header) + compact->settings.n);

    if (!model)
        return error_set(err, E_NOMEM, "a tokenizer's model");
    if (aligned(at + sizeof *model) > compact->n_bytes)
        goto damaged;
    memcpy(model, compact->data + at, sizeof *model);
    at = aligned(at + sizeof *model);
    if (!counts_fit(model, compact->n_bytes))
        goto damaged;
    list_tables(model, tables);
    for (int i = 0; i < TABLES; i++) {
        char *place = tables[i].n_bytes ? compact->data + at : NULL;

        if (tables[i].n_bytes > compact->n_bytes - at)
            goto damaged;
        memcpy(tables[i].place, &place, sizeof place);
        at = aligned(at + tables[i].n_bytes);
    }
    model_texts(model, texts);
    for (int i = 0; i < MODEL_TEXTS; i++) {
        size_t place = (size_t)(uintptr_t)texts[i]->p;

        if (place > model->strings_n || texts[i]->n > model->strings_n - place)
            goto damaged;
        texts[i]->p = place ? model->strings + place - 1 : NULL;
    }
    model->storage = compact->data;
    model->serial = model_next_serial();
    *compact = (struct compact){0};
    *out = model;
    return OK;
damaged:
    free(model);
    return error_set(err, E_PARSE, "a compact tokenizer whose tables do not fit it");
}

/* ---- writing ---- */

static void pad(struct buf *out)
{
    buf_repeat(out, '\0', aligned(out->n) - out->n);
}

static void put_model(struct buf *out, const struct tok_model *model)
{
    struct tok_model copy = *model;
    struct table tables[TABLES];
    struct str *texts[MODEL_TEXTS];
    void *sources[TABLES];

    list_tables(&copy, tables);
    model_texts(&copy, texts);
    for (int i = 0; i < MODEL_TEXTS; i++)       /* places from 1, 0 for none */
        texts[i]->p = (const char *)(uintptr_t)(texts[i]->p ? texts[i]->p - copy.strings + 1 : 0);
    for (int i = 0; i < TABLES; i++) {
        memcpy(&sources[i], tables[i].place, sizeof sources[i]);
        memset(tables[i].place, 0, sizeof sources[i]);
    }
    copy.serial = 0;
    copy.storage = NULL;
    buf_add(out, &copy, sizeof copy);
    pad(out);
    for (int i = 0; i < TABLES; i++) {
        if (tables[i].n_bytes)
            buf_add(out, sources[i], tables[i].n_bytes);
        pad(out);
    }
}

static void put_file(struct buf *out, struct str text, struct str settings,
                     const struct tok_model *model)
{
    struct header header = {.format = FORMAT, .model_bytes = sizeof *model, .text_n = text.n,
                            .settings_n = settings.n};

    memcpy(header.magic, magic, sizeof magic);
    buf_add(out, &header, sizeof header);
    buf_str(out, settings);
    pad(out);
    put_model(out, model);
    if (out->failed)
        return;
    header.n_bytes = out->n - sizeof header;
    header.hash = hash_bytes(out->p + sizeof header, header.n_bytes);
    memcpy(out->p, &header, sizeof header);
}

static bool write_all(int file, const char *p, size_t n)
{
    while (n) {
        ssize_t put = write(file, p, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

struct kept {
    char name[64];
    int64_t size, used_ns;
};

static int by_use(const void *a, const void *b)
{
    const struct kept *left = a, *right = b;

    return (left->used_ns > right->used_ns) - (left->used_ns < right->used_ns);
}

static size_t list_kept(DIR *folder, struct kept *list, int64_t *total)
{
    size_t n = 0;

    for (const struct dirent *entry; n < MOST_FILES && (entry = readdir(folder));) {
        struct stat st;

        if (!is_our_name(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        snprintf(list[n].name, sizeof list[n].name, "%.63s", entry->d_name);
        list[n].size = st.st_size;
        list[n].used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        *total += list[n++].size;
    }
    return n;
}

/* Until `coming` more bytes have room. */
static void make_room(const char *path, int64_t coming)
{
    struct kept *list = malloc(MOST_FILES * sizeof *list);
    DIR *folder = list ? opendir(path) : NULL;
    int64_t total = coming;
    size_t n = folder ? list_kept(folder, list, &total) : 0;

    if (n)
        qsort(list, n, sizeof *list, by_use);
    for (size_t i = 0; i < n && total > COMPACT_BYTES; i++)
        if (unlinkat(dirfd(folder), list[i].name, 0) == 0)
            total -= list[i].size;
    if (folder)
        closedir(folder);
    free(list);
}

static void write_file(const char *folder, const char *path, struct str bytes)
{
    char beside[4096];
    int n = snprintf(beside, sizeof beside, "%s/new.%ld", folder, (long)getpid());

    if (n <= 0 || (size_t)n >= sizeof beside)
        return;
    make_room(folder, (int64_t)bytes.n);

    int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (file < 0)
        return;

    bool whole = write_all(file, bytes.p, bytes.n);

    if (close(file) != 0 || !whole || rename(beside, path) != 0)
        (void)unlink(beside);
}

void compact_keep(const char *cache_folder, struct str text, struct str settings,
                  const struct tok_model *model)
{
    char folder[4096], path[4096];
    struct buf out;

    if (model->storage || !folder_of(folder, cache_folder) || !file_of(path, folder, text))
        return;
    (void)mkdir(cache_folder, 0700);
    (void)mkdir(folder, 0700);
    buf_init(&out, (size_t)COMPACT_BYTES / 4);
    put_file(&out, text, settings, model);
    if (!out.failed)
        write_file(folder, path, buf_view(&out));
    buf_free(&out);
}
