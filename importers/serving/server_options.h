/* The options of inference servers that say what is served and how, one line an option. Options that
 * are not listed keep their own name. Knows no files and no command lines. */
#ifndef IMPORTERS_SERVING_SERVER_OPTIONS_H
#define IMPORTERS_SERVING_SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

/* Bits, since servers share options. */
enum server { SERVER_NONE = 0, SERVER_VLLM = 1, SERVER_SGLANG = 2, SERVER_TGI = 4, SERVER_LLAMA_CPP = 8,
              SERVER_OLLAMA = 16 };

enum option_kind {
    OPTION_VALUE,
    OPTION_SWITCH,      /* takes no value: true */
    OPTION_OFF,         /* takes no value: false */
    OPTION_LIST,        /* every word up to the next option */
    OPTION_LENGTH,      /* a number, "16k" = 16000, "16K" = 16384 */
    OPTION_ADAPTERS,    /* name=path, path, or JSON; several words or parts between commas */
    OPTION_SCALED,      /* FILE:SCALE, or two words */
    OPTION_OVERRIDE     /* llama.cpp: KEY=TYPE:VALUE of the GGUF's metadata */
};

struct server_option {
    unsigned servers;
    const char *words;  /* long and short forms between blanks, without dashes, '-' for '_' */
    const char *name;   /* of the setting; its canonical name is core/facts/config_names.c's */
    enum option_kind kind;
};

/* As the setting `engine` says it: "vllm", "llama.cpp". */
const char *server_engine(enum server server);
/* `word`: the option without its dashes and value; '_' and '-' alike. NULL: not listed. */
const struct server_option *server_option_find(enum server server, struct str word);
/* The option that an environment variable stands for (TGI's MODEL_ID, LLAMA_ARG_MODEL). */
const struct server_option *server_option_of_variable(enum server server, struct str variable);

#endif
