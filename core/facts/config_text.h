/* The settings that one text of a configuration states: YAML, JSON, TOML, or the command of a start script.
 * As importers read a file, but from a text, for the versions of a file in git. */
#ifndef CORE_FACTS_CONFIG_TEXT_H
#define CORE_FACTS_CONFIG_TEXT_H

#include "core/base/arena.h"
#include "core/model.h"

#define CONFIG_TEXT_BYTES ((size_t)8 << 20)     /* larger ones are data */

enum config_form { CONFIG_OTHER, CONFIG_YAML, CONFIG_JSON, CONFIG_TOML, CONFIG_SCRIPT };

/* By the name's end; CONFIG_OTHER: no form that is parsed. */
enum config_form config_form_of(const char *path);
const char *config_form_name(enum config_form form);

struct config_text {
    enum config_form form;
    const struct setting *settings;     /* source_id 0, SIDE_TRAIN; nested names joined by '.', values that
                                           mean the opposite turned; no secrets */
    size_t n;
};

/* E_PARSE with a line: no text of that form. E_LIMIT. Everything lives in the arena. */
MUST_CHECK int config_text_read(enum config_form form, struct str text, struct arena *arena,
                                struct config_text *out, struct error *err);
/* Settings that training frameworks know by name. */
size_t config_text_n_known(const struct config_text *text);

#endif
