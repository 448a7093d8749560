/* The buffers of a batch: which bytes of the file belong to which field, and reading them in windows
 * or unpacked. See arrow_parts.h. */
#include <stdlib.h>

#include "core/read/arrow_parts.h"

#define MAX_VARIADIC 100000

/* ---- Reading ---- */

static int wrong_buffer(const struct arrow_buffer *buffer, const struct arrow_memory *memory,
                        struct error *err, const char *what)
{
    int rc = error_set(err, E_PARSE, "a buffer of a record batch: %s", what);

    error_at(err, source_path(memory->file), NONE, buffer->at);
    return rc;
}

static int room_for(struct arrow_buffer *buffer, struct arrow_memory *memory, size_t n,
                    struct error *err)
{
    if (buffer->bytes && n <= buffer->capacity)
        return OK;
    if (n > TABLE_MEMORY_BYTES || memory->n_bytes - buffer->capacity > TABLE_MEMORY_BYTES - n)
        return error_set(err, E_LIMIT, "a buffer of %zu bytes, too large to hold", n);
    free(buffer->bytes);
    memory->n_bytes -= buffer->capacity;
    buffer->capacity = 0;
    buffer->bytes = malloc(n + 1);
    if (!buffer->bytes)
        return error_set(err, E_NOMEM, "no memory for a buffer of %zu bytes", n);
    buffer->capacity = n;
    memory->n_bytes += n;
    return OK;
}

static int read_at(const struct arrow_buffer *buffer, const struct arrow_memory *memory,
                   int64_t at, char *out, size_t n, struct error *err)
{
    size_t got = 0;
    int rc = source_at(memory->file, buffer->at + at, out, n, &got, err);

    return rc == OK && got < n ? wrong_buffer(buffer, memory, err, "the file ends inside it") : rc;
}

/* A packed buffer begins with its length; -1 says that it is not packed after all. */
static int read_length(struct arrow_buffer *buffer, const struct arrow_memory *memory,
                       struct error *err)
{
    unsigned char head[8];
    uint64_t n = 0;

    if (buffer->n_stored < 8)
        return wrong_buffer(buffer, memory, err, "too short to be packed");
    int rc = read_at(buffer, memory, 0, (char *)head, sizeof head, err);
    if (rc != OK)
        return rc;
    for (size_t i = 8; i-- > 0;)
        n = n << 8 | head[i];
    buffer->at += 8;
    buffer->n_stored -= 8;
    if (n == UINT64_MAX) {
        buffer->is_packed = false;
        n = (uint64_t)buffer->n_stored;
    } else if (n > TABLE_MEMORY_BYTES) {
        return wrong_buffer(buffer, memory, err, "it claims to be larger than can be held");
    }
    buffer->n = (int64_t)n;
    return OK;
}

static int unpack(struct arrow_buffer *buffer, struct arrow_memory *memory, struct error *err)
{
    struct error why;
    int rc = room_for(buffer, memory, (size_t)buffer->n, err);

    if (rc != OK)
        return rc;
    char *packed = malloc((size_t)buffer->n_stored + 1);
    if (!packed)
        return error_set(err, E_NOMEM, "no memory for a packed buffer");
    rc = read_at(buffer, memory, 0, packed, (size_t)buffer->n_stored, err);
    if (rc == OK && block_unpack(buffer->codec, str_from(packed, (size_t)buffer->n_stored),
                                 buffer->bytes, (size_t)buffer->n, &why) != OK)
        rc = wrong_buffer(buffer, memory, err, why.message);
    free(packed);
    if (rc == OK) {
        buffer->window_at = 0;
        buffer->window_n = (size_t)buffer->n;
    }
    return rc;
}

int arrow_length(struct arrow_buffer *buffer, struct arrow_memory *memory, int64_t *out,
                 struct error *err)
{
    int rc = buffer->n == NONE ? read_length(buffer, memory, err) : OK;

    *out = buffer->n;
    return rc;
}

static int move_window(struct arrow_buffer *buffer, struct arrow_memory *memory, int64_t at,
                       int64_t n, struct error *err)
{
    size_t wanted = n > (int64_t)ARROW_WINDOW_BYTES ? (size_t)n : ARROW_WINDOW_BYTES;

    if ((int64_t)wanted > buffer->n - at)
        wanted = (size_t)(buffer->n - at);
    buffer->window_n = 0;
    int rc = room_for(buffer, memory, wanted, err);
    if (rc == OK)
        rc = read_at(buffer, memory, at, buffer->bytes, wanted, err);
    if (rc == OK) {
        buffer->window_at = at;
        buffer->window_n = wanted;
    }
    return rc;
}

int arrow_bytes(struct arrow_buffer *buffer, struct arrow_memory *memory, int64_t at, int64_t n,
                const unsigned char **out, struct error *err)
{
    int64_t length = buffer->n;

    if (n == 0) { /* nothing is asked of the buffer */
        *out = (const unsigned char *)"";
        return OK;
    }
    int rc = length == NONE ? arrow_length(buffer, memory, &length, err) : OK;

    if (rc != OK)
        return rc;
    if (at < 0 || n < 0 || at > length || n > length - at)
        return wrong_buffer(buffer, memory, err, "it ends before its values do");
    if (at < buffer->window_at || at - buffer->window_at > (int64_t)buffer->window_n ||
        n > (int64_t)buffer->window_n - (at - buffer->window_at) || !buffer->bytes) {
        rc = buffer->is_packed ? unpack(buffer, memory, err)
                               : move_window(buffer, memory, at, n, err);
        if (rc != OK)
            return rc;
    }
    *out = (const unsigned char *)buffer->bytes + (at - buffer->window_at);
    return OK;
}

void arrow_buffer_free(struct arrow_buffer *buffer, struct arrow_memory *memory)
{
    memory->n_bytes -= buffer->capacity;
    free(buffer->bytes);
    *buffer = (struct arrow_buffer){0};
}

void arrow_field_free_buffers(struct arrow_field *field, struct arrow_memory *memory)
{
    for (size_t i = 0; i < ARROW_BUFFERS; i++)
        arrow_buffer_free(&field->buffers[i], memory);
    for (size_t i = 0; i < field->n_variadic; i++)
        arrow_buffer_free(&field->variadic[i], memory);
    free(field->variadic);
    field->variadic = NULL;
    field->n_variadic = 0;
    for (struct arrow_field *child = field->child; child; child = child->next)
        arrow_field_free_buffers(child, memory);
}

/* ---- Which buffer is whose ---- */

struct assigning {
    const struct arrow_message *message;
    struct flat_vector nodes, buffers, variadic;
    size_t node, buffer, view;
    bool is_packed;
    enum block_codec codec;
    const char *wrong;
};

static void take_buffer(struct assigning *assigning, struct arrow_buffer *out)
{
    int64_t at = flat_item_number(&assigning->buffers, assigning->buffer, 16, 0);
    int64_t n = flat_item_number(&assigning->buffers, assigning->buffer, 16, 8);

    if (assigning->buffer++ >= assigning->buffers.n)
        assigning->wrong = "it has fewer buffers than its columns need";
    else if (at < 0 || n < 0 || at > assigning->message->body_n ||
             n > assigning->message->body_n - at)
        assigning->wrong = "a buffer that lies outside of it";
    if (assigning->wrong)
        return;
    *out = (struct arrow_buffer){.at = assigning->message->body_at + at,
                                 .n_stored = n,
                                 .n = assigning->is_packed && n ? NONE : n,
                                 .is_packed = assigning->is_packed && n,
                                 .codec = assigning->codec};
}

static void take_variadic(struct assigning *assigning, struct arrow_field *field)
{
    int64_t n = flat_item_number(&assigning->variadic, assigning->view++, 8, 0);

    if (n < 0 || n > MAX_VARIADIC ||
        (size_t)n > assigning->buffers.n - assigning->buffer) {
        assigning->wrong = "it has fewer buffers than its columns need";
        return;
    }
    field->variadic = calloc((size_t)n + 1, sizeof *field->variadic);
    for (; field->variadic && field->n_variadic < (size_t)n; field->n_variadic++)
        take_buffer(assigning, &field->variadic[field->n_variadic]);
}

static void take_field(struct assigning *assigning, struct arrow_field *field)
{
    struct arrow_buffer other;

    field->length = flat_item_number(&assigning->nodes, assigning->node, 16, 0);
    field->is_checked = false;
    if (assigning->node++ >= assigning->nodes.n || field->length < 0)
        assigning->wrong = "it has fewer columns than the schema";
    if (field->kind == ARROW_OTHER)
        for (unsigned i = 0; i < field->n_plain && !assigning->wrong; i++)
            take_buffer(assigning, &other);
    else if (field->kind != ARROW_NULL && !assigning->wrong)
        take_buffer(assigning, &field->buffers[BUFFER_VALIDITY]);
    if (!assigning->wrong && (field->kind == ARROW_VARYING || field->kind == ARROW_LIST ||
                              field->kind == ARROW_MAP))
        take_buffer(assigning, &field->buffers[BUFFER_OFFSETS]);
    if (!assigning->wrong && (field->kind == ARROW_BOOL || field->kind == ARROW_FIXED ||
                              field->kind == ARROW_VARYING || field->kind == ARROW_VIEW))
        take_buffer(assigning, &field->buffers[BUFFER_DATA]);
    if (!assigning->wrong && field->kind == ARROW_VIEW)
        take_variadic(assigning, field);
    for (struct arrow_field *child = field->child; child && !assigning->wrong; child = child->next)
        take_field(assigning, child);
}

int arrow_batch_assign(const struct flat_table *batch, const struct arrow_message *message,
                       struct arrow_memory *memory, struct arrow_field *fields, struct error *err)
{
    struct assigning assigning = {.message = message,
                                  .nodes = flat_vector(batch, 6, 16),
                                  .buffers = flat_vector(batch, 8, 16),
                                  .variadic = flat_vector(batch, 12, 8)};
    struct flat_table compression;

    if (flat_child(batch, 10, &compression)) {
        assigning.is_packed = true;
        assigning.codec =
            flat_number(&compression, 4, 1, 0) == 1 ? BLOCK_ZSTD : BLOCK_LZ4_FRAME;
        if (flat_number(&compression, 4, 1, 0) > 1)
            assigning.wrong = "packed by a codec that is not supported";
    }
    for (struct arrow_field *field = fields; field; field = field->next)
        arrow_field_free_buffers(field, memory);
    for (struct arrow_field *field = fields; field && !assigning.wrong; field = field->next)
        take_field(&assigning, field);
    if (!assigning.wrong)
        return OK;
    int rc = error_set(err, E_PARSE, "a record batch: %s", assigning.wrong);
    error_at(err, source_path(memory->file), NONE, message->at);
    return rc;
}
