/* Parsing commits. See commit.h. */
#include "core/git/commit.h"

#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"

#define MAX_TAGS 8

static int damaged(const struct git_id *id, const char *what, struct error *err)
{
    char hex[GIT_ID_HEX + 1];

    git_id_hex(id, hex);
    return error_set(err, E_GIT, "commit %.12s: %s", hex, what);
}

/* "Name <address> 1700000000 +0100" */
static void take_person(struct str line, struct str *who, int64_t *time, int *offset)
{
    size_t close = line.n;
    struct str rest, part;
    int64_t zone = 0;

    while (close > 0 && line.p[close - 1] != '>')
        close--;
    *who = str_first(line, close);
    rest = str_trim(str_skip(line, close));
    if (!str_split(&rest, ' ', &part))
        part = rest;
    if (!number_parse_int(part, time) || *time < 0)
        *time = 0;
    rest = str_trim(rest);
    if (offset && rest.n == 5 && number_parse_int(str_skip(rest, 1), &zone))
        *offset = (int)(zone / 100 * 60 + zone % 100) * (rest.p[0] == '-' ? -1 : 1);
}

static bool take_header(struct commit *c, struct str line)
{
    if (str_starts(line, "parent ")) {
        if (c->n_parents == COMMIT_MAX_PARENTS)
            return true;
        return git_id_parse(str_skip(line, 7), &c->parents[c->n_parents++]);
    }
    if (str_starts(line, "author "))
        take_person(str_skip(line, 7), &c->author, &c->author_time, &c->author_offset);
    else if (str_starts(line, "committer ")) {
        struct str unused;

        take_person(str_skip(line, 10), &unused, &c->committer_time, NULL);
    } else if (str_starts(line, "encoding "))
        c->encoding = str_skip(line, 9);
    return true;
}

int commit_read(struct objects *objects, const struct git_id *id, struct commit *out,
                struct error *err)
{
    struct commit c = {.author_time = 0};
    struct str rest, line;
    int rc = objects_read(objects, id, OBJECT_COMMIT, COMMIT_MAX_BYTES, &c.object, err);
    bool is_sound;

    if (rc != OK)
        return rc;
    rest = c.object.bytes;
    is_sound = str_split(&rest, '\n', &line) && str_starts(line, "tree ") &&
               git_id_parse(str_skip(line, 5), &c.tree);
    while (is_sound && str_split(&rest, '\n', &line) && line.n)
        is_sound = take_header(&c, line);
    c.message = rest;
    if (!is_sound) {
        object_free(&c.object);
        return damaged(id, "its header is damaged", err);
    }
    *out = c;
    return OK;
}

void commit_free(struct commit *commit)
{
    object_free(&commit->object);
}

int commit_peel(struct objects *objects, const struct git_id *id, struct git_id *out,
                struct error *err)
{
    struct git_id at = *id;

    for (int i = 0; i < MAX_TAGS; i++) {
        struct object object;
        struct str rest, line;
        int rc = objects_read(objects, &at, OBJECT_NONE, COMMIT_MAX_BYTES, &object, err);
        bool is_commit = rc == OK && object.kind == OBJECT_COMMIT;

        if (rc != OK)
            return rc;
        rest = object.bytes;
        bool is_tag = object.kind == OBJECT_TAG && str_split(&rest, '\n', &line) &&
                      str_starts(line, "object ") && git_id_parse(str_skip(line, 7), &at);
        object_free(&object);
        if (is_commit) {
            *out = at;
            return OK;
        }
        if (!is_tag)
            return damaged(id, "no commit stands there", err);
    }
    return damaged(id, "a tag of a tag without end", err);
}

/* Valid UTF-8 whatever the encoding; Latin-1 is turned, others are shown as far as they are UTF-8. */
static void put_text(struct buf *out, struct str text, struct str encoding)
{
    bool is_latin = str_is_ignoring_case(encoding, "iso-8859-1") ||
                    str_is_ignoring_case(encoding, "iso8859-1") ||
                    str_is_ignoring_case(encoding, "latin1") || str_is_ignoring_case(encoding, "latin-1");

    if (!is_latin || unicode_is_valid(text)) {
        unicode_valid(out, text);
        return;
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c >= 0x80)
            buf_putc(out, (char)(0xC0 | c >> 6));
        buf_putc(out, (char)(c < 0x80 ? c : 0x80 | (c & 0x3F)));
    }
}

void commit_subject(const struct commit *commit, struct buf *out)
{
    struct str rest = commit->message, line;
    bool has_text = false;

    while (rest.n) {
        if (!str_split(&rest, '\n', &line))
            break;
        line = str_trim(line);
        if (line.n == 0 && has_text)
            return;
        if (line.n == 0)
            continue;
        if (has_text)
            buf_putc(out, ' ');
        put_text(out, line, commit->encoding);
        has_text = true;
    }
}

void commit_author(const struct commit *commit, struct buf *out)
{
    struct str name = commit->author;
    const char *open = name.n ? memchr(name.p, '<', name.n) : NULL;

    if (open)
        name.n = (size_t)(open - name.p);
    put_text(out, str_trim(name), commit->encoding);
}
