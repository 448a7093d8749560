/* Where the messages of an Arrow file or stream stand. Those of a file are told by its footer; without
 * one it is read as the stream that it holds. The messages of a stream are found one after the other,
 * their bodies passed over. See arrow_parts.h. */
#include <stdlib.h>

#include "core/read/arrow_parts.h"

#define FILE_MAGIC  "ARROW1"
#define FILE_HEAD   8
#define FILE_TAIL   10
#define BLOCK_BYTES 24 /* of the footer: offset, length of the metadata, of the data */

static int wrong_message(const struct arrow_messages *messages, int64_t at, struct error *err,
                         const char *what)
{
    int rc = error_set(err, E_PARSE, "a message of an Arrow file: %s", what);

    error_at(err, source_path(messages->file), NONE, at);
    return rc;
}

static int32_t load_i32(const unsigned char *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                     (uint32_t)p[3] << 24);
}

/* The prefix of a message: where its metadata stand. *n 0: the end. */
static int read_prefix(const struct arrow_messages *messages, struct arrow_message *message,
                       struct error *err)
{
    unsigned char prefix[8];
    size_t got = 0;
    int rc = source_at(messages->file, message->at, prefix, sizeof prefix, &got, err);

    if (rc != OK)
        return rc;
    message->metadata_n = 0;
    if (got < 4 || message->at + 4 > messages->end) {
        if (got == 0 || message->at >= messages->end)
            return OK; /* a stream whose writer never said that it ended */
        return wrong_message(messages, message->at, err, "the file ends inside its length");
    }
    bool is_new = load_i32(prefix) == -1; /* before format 0.15 the length comes at once */
    if (is_new && got < sizeof prefix)
        return wrong_message(messages, message->at, err, "the file ends inside its length");
    message->metadata_at = message->at + (is_new ? 8 : 4);
    message->metadata_n = load_i32(prefix + (is_new ? 4 : 0));
    if (message->metadata_n < 0 || (size_t)message->metadata_n > ARROW_METADATA_BYTES)
        return wrong_message(messages, message->at, err, "its length cannot be");
    if (message->metadata_n > messages->end - message->metadata_at)
        return wrong_message(messages, message->at, err, "the file ends inside it");
    return OK;
}

int arrow_metadata(const struct arrow_messages *messages, const struct arrow_message *message,
                   char **bytes, struct flat_table *out, struct error *err)
{
    size_t n = (size_t)message->metadata_n, got = 0;

    *bytes = malloc(n + 1);
    if (!*bytes)
        return error_set(err, E_NOMEM, "no memory for the metadata of a batch");
    int rc = source_at(messages->file, message->metadata_at, *bytes, n, &got, err);
    if (rc == OK && (got < n || !flat_root(str_from(*bytes, n), out)))
        rc = wrong_message(messages, message->at, err, "its metadata cannot be read");
    if (rc != OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return rc;
}

static int remember(struct arrow_messages *messages, const struct arrow_message *message,
                    struct error *err)
{
    if (messages->n == messages->capacity) {
        size_t capacity = messages->capacity ? messages->capacity * 2 : 64;
        void *list = realloc(messages->list, capacity * sizeof *messages->list);

        if (!list)
            return error_set(err, E_NOMEM, "no memory for the places of record batches");
        messages->list = list;
        messages->capacity = capacity;
    }
    messages->list[messages->n++] = *message;
    return OK;
}

/* Reads what stands at next_at; 1 a message, 0 the end. */
static int read_message(struct arrow_messages *messages, struct arrow_message *message,
                        char **bytes, struct flat_table *metadata, struct error *err)
{
    if (messages->blocks && messages->block < messages->n_blocks)
        messages->next_at = messages->blocks[messages->block++];
    else if (messages->blocks)
        messages->is_at_end = true;
    *message = (struct arrow_message){.at = messages->next_at};
    int rc = messages->is_at_end ? OK : read_prefix(messages, message, err);

    if (rc == OK && message->metadata_n == 0 && messages->blocks && !messages->is_at_end)
        return wrong_message(messages, message->at, err, "the footer names one that is not there");
    if (rc == OK && message->metadata_n == 0) {
        messages->is_at_end = true;
        return 0;
    }
    if (rc == OK)
        rc = arrow_metadata(messages, message, bytes, metadata, err);
    if (rc != OK)
        return rc;
    message->kind = (int)flat_number(metadata, 6, 1, 0);
    message->body_at = message->metadata_at + message->metadata_n;
    message->body_n = flat_signed(metadata, 10, 8, 0);
    if (message->body_n < 0 || message->body_n > messages->end - message->body_at) {
        free(*bytes);
        *bytes = NULL;
        return wrong_message(messages, message->at, err, "the file ends inside its data");
    }
    messages->next_at = message->body_at + message->body_n;
    return 1;
}

/* A file's footer tells where the messages end; without one they end with the file. */
static int find_end(struct arrow_messages *messages, struct error *err)
{
    unsigned char tail[FILE_TAIL];
    size_t got = 0;
    int64_t size = source_size(messages->file);

    messages->end = size;
    if (!messages->is_file || size < FILE_HEAD + FILE_TAIL)
        return OK;
    int rc = source_at(messages->file, size - FILE_TAIL, tail, sizeof tail, &got, err);
    if (rc != OK || got < sizeof tail || memcmp(tail + 4, FILE_MAGIC, 6) != 0)
        return rc;
    int64_t n = load_i32(tail);
    if (n > 0 && n <= size - FILE_HEAD - FILE_TAIL)
        messages->end = size - FILE_TAIL - n;
    return OK;
}

/* The places of dictionaries, then of batches. */
static int read_blocks(struct arrow_messages *messages, const struct flat_table *footer,
                       struct error *err)
{
    struct flat_vector lists[] = {flat_vector(footer, 8, BLOCK_BYTES),
                                  flat_vector(footer, 10, BLOCK_BYTES)};

    messages->blocks = malloc((lists[0].n + lists[1].n + 1) * sizeof *messages->blocks);
    if (!messages->blocks)
        return error_set(err, E_NOMEM, "no memory for the places of record batches");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k].n; i++) {
            int64_t at = flat_item_number(&lists[k], i, BLOCK_BYTES, 0);

            if (at < FILE_HEAD || at >= messages->end)
                return wrong_message(messages, messages->end, err,
                                     "the footer names one outside the file");
            messages->blocks[messages->n_blocks++] = at;
        }
    return OK;
}

static int read_footer(struct arrow_messages *messages, char **bytes, struct flat_table *schema,
                       struct error *err)
{
    const struct arrow_message footer = {.at = messages->end,
                                         .metadata_at = messages->end,
                                         .metadata_n = source_size(messages->file) - FILE_TAIL -
                                                       messages->end};
    struct flat_table table;

    if (footer.metadata_n <= 0 || (size_t)footer.metadata_n > ARROW_METADATA_BYTES)
        return wrong_message(messages, messages->end, err, "the footer's length");
    int rc = arrow_metadata(messages, &footer, bytes, &table, err);
    if (rc == OK && !flat_child(&table, 6, schema))
        rc = wrong_message(messages, messages->end, err, "the footer has no schema");
    return rc == OK ? read_blocks(messages, &table, err) : rc;
}

static int read_first(struct arrow_messages *messages, char **bytes, struct flat_table *schema,
                      struct error *err)
{
    struct arrow_message message;
    struct flat_table metadata;
    int rc = read_message(messages, &message, bytes, &metadata, err);

    if (rc < 0)
        return rc;
    if (rc == 1 && message.kind == MESSAGE_SCHEMA && flat_child(&metadata, 8, schema))
        return OK;
    return wrong_message(messages, message.at, err, "it should be a schema");
}

int arrow_messages_begin(struct arrow_messages *messages, char **bytes, struct flat_table *schema,
                         struct error *err)
{
    char head[6];
    size_t got = 0;
    int rc = source_at(messages->file, 0, head, sizeof head, &got, err);

    *bytes = NULL;
    messages->is_file = rc == OK && got == sizeof head && memcmp(head, FILE_MAGIC, 6) == 0;
    messages->next_at = messages->is_file ? FILE_HEAD : 0;
    if (rc == OK)
        rc = find_end(messages, err);
    if (rc == OK && messages->end < source_size(messages->file))
        rc = read_footer(messages, bytes, schema, err);
    else if (rc == OK)
        rc = read_first(messages, bytes, schema, err);
    if (rc != OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return rc;
}

void arrow_messages_free(struct arrow_messages *messages)
{
    free(messages->list);
    free(messages->blocks);
}

/* ---- Batches and dictionaries ---- */

static int add_batch(struct arrow_messages *messages, struct arrow_message *message,
                     const struct flat_table *batch, struct error *err)
{
    int64_t size = source_size(messages->file);
    int64_t most = TABLE_FREE_ROWS + size * TABLE_ROWS_PER_BYTE;

    message->first_row = messages->n_rows;
    message->n_rows = flat_signed(batch, 4, 8, 0);
    if (message->n_rows < 0 || message->n_rows > most - messages->n_rows)
        return error_set(err, E_LIMIT,
                         "an Arrow file of %lld bytes that claims %lld rows in a record batch",
                         (long long)size, (long long)message->n_rows);
    messages->n_rows += message->n_rows;
    return remember(messages, message, err);
}

static int add_dictionary(struct arrow_messages *messages, struct arrow_message *message,
                          const struct flat_table *batch, struct arrow_schema *schema,
                          struct error *err)
{
    struct arrow_dictionary *dictionary = schema->dictionaries;
    int64_t id = flat_signed(batch, 4, 8, 0);

    message->is_delta = flat_number(batch, 8, 1, 0) != 0;
    message->first_row = messages->n_rows; /* as of the batch behind it */
    while (dictionary && dictionary->id != id)
        dictionary = dictionary->next;
    if (!dictionary)
        return OK; /* of no column */
    if (dictionary->n_messages == dictionary->capacity) {
        size_t capacity = dictionary->capacity ? dictionary->capacity * 2 : 8;
        void *list = realloc(dictionary->messages, capacity * sizeof *dictionary->messages);

        if (!list)
            return error_set(err, E_NOMEM, "no memory for the places of dictionaries");
        dictionary->messages = list;
        dictionary->capacity = capacity;
    }
    dictionary->messages[dictionary->n_messages++] = messages->n;
    return remember(messages, message, err);
}

static int add_message(struct arrow_messages *messages, struct arrow_schema *schema,
                       struct error *err)
{
    struct arrow_message message;
    struct flat_table metadata, inner;
    char *bytes = NULL;
    int rc = read_message(messages, &message, &bytes, &metadata, err);

    if (rc == 0 && messages->is_file && !messages->blocks)
        return wrong_message(messages, message.at, err, "the file ends without its footer");
    if (rc != 1)
        return rc;
    if (!flat_child(&metadata, 8, &inner))
        rc = wrong_message(messages, message.at, err, "it has no content");
    else if (message.kind == MESSAGE_BATCH)
        rc = add_batch(messages, &message, &inner, err);
    else if (message.kind == MESSAGE_DICTIONARY)
        rc = add_dictionary(messages, &message, &inner, schema, err);
    else
        rc = OK; /* tensors and what is yet to come */
    free(bytes);
    return rc < 0 ? rc : 1;
}

/* What was wrong once is wrong whenever it is asked. */
int arrow_messages_next(struct arrow_messages *messages, struct arrow_schema *schema,
                        struct error *err)
{
    int rc = messages->is_failed ? messages->failure.status
                                 : add_message(messages, schema, &messages->failure);

    if (rc < 0) {
        messages->is_failed = true;
        *err = messages->failure;
    }
    return rc;
}
