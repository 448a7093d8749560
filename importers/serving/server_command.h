/* A command that starts an inference server, as settings of the serving side. What file the words stood
 * in is its caller's matter (serve_command.c, serve_config.c, server_log.c). */
#ifndef IMPORTERS_SERVING_SERVER_COMMAND_H
#define IMPORTERS_SERVING_SERVER_COMMAND_H

#include "core/read/shell_words.h"
#include "importers/importer.h"
#include "importers/serving/server_options.h"

struct server_command {
    enum server server;
    const struct shell_word *words;     /* its options, and vLLM's model without an option */
    size_t n;
};

/* The server that a text of any kind names; for probes. */
bool server_is_named(struct str text);
/* The server that a container's image is ("vllm/vllm-openai:latest"). */
enum server server_of_image(const char *image);
/* The server that the words start, also as the image of `docker run`. False: none. */
bool server_command_find(const struct shell_word *words, size_t n, struct server_command *out);

/* Its words name an adapter: of several servers in one file that is the one to look at. */
bool server_command_adapts(const struct server_command *command);
/* What of the file was not read, as the setting other_servers. */
MUST_CHECK int server_put_others(struct import *import, int64_t n, struct error *err);

/* Collects what one server is told: a command, variables and members of a config. */
struct server_settings;
MUST_CHECK int server_settings_open(struct server_settings **out, struct import *import,
                                    enum server server, struct error *err);
MUST_CHECK int server_settings_command(struct server_settings *settings,
                                       const struct server_command *command, struct error *err);
/* "NAME=value" or its two halves; one that is no option of the server is left out. */
MUST_CHECK int server_settings_variable(struct server_settings *settings, struct str name,
                                        const char *value, int64_t line, struct error *err);
/* One option by its name ("max-model-len", "max_model_len") with a value of a config or a log. */
MUST_CHECK int server_settings_member(struct server_settings *settings, const char *name,
                                      const struct json *value, struct error *err);
/* The settings that several options make together: engine, adapters. */
MUST_CHECK int server_settings_end(struct server_settings *settings, struct error *err);
void server_settings_close(struct server_settings *settings);   /* NULL allowed */

#endif
