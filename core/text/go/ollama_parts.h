/* What the files of Ollama's prompt share: messages as the server holds them, and values of its
 * types. Nobody else includes this. */
#ifndef CORE_TEXT_GO_OLLAMA_PARTS_H
#define CORE_TEXT_GO_OLLAMA_PARTS_H

#include "core/text/go/ollama_prompt.h"

struct ollama_message {
    struct str role, content, thinking, tool_name, tool_call_id;
    const struct json *tool_calls;      /* a list, or NULL */
    size_t n_images;
};

struct ollama_messages {
    struct arena *arena;
    struct ollama_message *items;
    size_t n, capacity;
    struct go_failure *failure;         /* why a message cannot be taken */
};

/* Appends; false with the failure filled (or the arena failed). */
bool ollama_read_messages(struct ollama_messages *messages, const struct json *list);
/* Tags of images into the texts, then neighbours of one role become one (but tools' answers). */
bool ollama_collate(struct ollama_messages *messages);

/* Any JSON as Go decodes it: numbers are float64. */
struct go_value ollama_any(struct arena *arena, const struct json *value);
struct go_value ollama_message_values(const struct ollama_messages *messages);
bool ollama_tool_values(struct arena *arena, const struct json *tools, struct go_value *out,
                        struct go_failure *failure);
/* false always. */
bool ollama_refuse(struct go_failure *failure, enum go_fault kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

#endif
