/* Prompts in the log of an inference server. */
#ifndef IMPORTERS_SERVING_SERVER_PROMPTS_H
#define IMPORTERS_SERVING_SERVER_PROMPTS_H

#include "importers/importer.h"

/* States the prompt of a request that the line shows as `logged_prompt` of SIDE_SERVE and sets *is_known;
 * nothing once it is known. The arena holds one line's texts. */
MUST_CHECK int server_prompt_take(struct import *import, struct arena *arena, struct str line,
                                  int64_t number, bool *is_known, struct error *err);

#endif
