/* Dictionaries of Arrow: which messages hold the values that a batch refers to, and their buffers. See
 * arrow_parts.h. */
#include <stdlib.h>

#include "core/read/arrow_parts.h"

/* A copy of a type, to have the buffers of one part. */
static struct arrow_field *copy_of(const struct arrow_field *type, struct arena *arena)
{
    struct arrow_field *copy = arena_alloc(arena, sizeof *copy);
    struct arrow_field **last = copy ? &copy->child : NULL;

    if (!copy)
        return NULL;
    *copy = *type;
    copy->child = copy->next = NULL;
    memset(copy->buffers, 0, sizeof copy->buffers);
    copy->variadic = NULL;
    copy->n_variadic = 0;
    for (const struct arrow_field *child = type->child; child; child = child->next) {
        *last = copy_of(child, arena);
        if (!*last)
            return NULL;
        last = &(*last)->next;
    }
    return copy;
}

static void forget_parts(struct arrow_dictionary *dictionary, struct arrow_memory *memory)
{
    for (size_t i = 0; i < dictionary->n_parts; i++)
        arrow_field_free_buffers(dictionary->parts[i].values, memory);
    dictionary->n_parts = 0;
    dictionary->is_loaded = false;
}

static int load_part(struct arrow_dictionary *dictionary, const struct arrow_messages *messages,
                     size_t index, struct arrow_memory *memory, struct error *why)
{
    struct arrow_part *part = &dictionary->parts[dictionary->n_parts];
    const struct arrow_message *message;
    struct flat_table metadata, inner, batch;
    char *bytes = NULL;

    if (dictionary->messages[index] >= messages->n)
        return error_set(why, E_PARSE, "a dictionary that is not there");
    message = &messages->list[dictionary->messages[index]];
    if (!part->values)
        part->values = copy_of(dictionary->type, memory->arena);
    if (!part->values)
        return error_set(why, E_NOMEM, "no memory for a dictionary");
    int rc = arrow_metadata(messages, message, &bytes, &metadata, why);
    if (rc == OK && (!flat_child(&metadata, 8, &inner) || !flat_child(&inner, 6, &batch)))
        rc = error_set(why, E_PARSE, "a dictionary without values");
    if (rc == OK)
        rc = arrow_batch_assign(&batch, message, memory, part->values, why);
    if (rc == OK)
        part->length = part->values->length;
    dictionary->n_parts++; /* also a bad one has buffers to be freed */
    free(bytes);
    return rc;
}

/* The messages that hold for the batch: from the last whole one before it on, in a file all. */
static void parts_for(const struct arrow_dictionary *dictionary,
                      const struct arrow_messages *messages, size_t batch, size_t *first, size_t *end)
{
    const struct arrow_message *list = messages->list;

    *end = 0;
    while (*end < dictionary->n_messages &&
           (messages->is_file || dictionary->messages[*end] < batch))
        ++*end;
    *first = *end;
    while (*first > 0 && dictionary->messages[*first - 1] < messages->n &&
           list[dictionary->messages[--*first]].is_delta)
        continue;
}

int arrow_dictionary_load(struct arrow_dictionary *dictionary,
                          const struct arrow_messages *messages, size_t batch,
                          struct arrow_memory *memory, struct error *why)
{
    size_t first, end;

    parts_for(dictionary, messages, batch, &first, &end);
    if (dictionary->is_loaded && dictionary->first_message == first &&
        dictionary->end_message == end)
        return OK;
    forget_parts(dictionary, memory);
    if (end - first > TABLE_MAX_COLUMNS)
        return error_set(why, E_LIMIT, "a dictionary of %zu parts", end - first);
    size_t before = dictionary->parts ? dictionary->end_message - dictionary->first_message : 0;
    if (end - first > before || !dictionary->parts) {
        dictionary->parts =
            arena_array(memory->arena, end - first + 1, sizeof *dictionary->parts);
        if (!dictionary->parts)
            return error_set(why, E_NOMEM, "no memory for a dictionary");
    }
    dictionary->first_message = first;
    dictionary->end_message = end;
    int rc = OK;
    for (size_t i = first; i < end && rc == OK; i++)
        rc = load_part(dictionary, messages, i, memory, why);
    dictionary->is_loaded = rc == OK;
    return rc;
}

void arrow_dictionary_free(struct arrow_dictionary *dictionary, struct arrow_memory *memory)
{
    forget_parts(dictionary, memory);
    free(dictionary->messages);
    dictionary->messages = NULL;
}
