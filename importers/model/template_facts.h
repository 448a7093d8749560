/* The two facts about a chat template that need no rendering. */
#ifndef IMPORTERS_MODEL_TEMPLATE_FACTS_H
#define IMPORTERS_MODEL_TEMPLATE_FACTS_H

#include "importers/importer.h"

/* has_chat_template and chat_template_has_generation on SIDE_TOKENIZER. */
MUST_CHECK int template_import(struct import *import, struct str text, int64_t line,
                               struct error *err);

#endif
