/* Two versions of a configuration, setting by setting: what was added, removed, changed. Not line by line:
 * another order, other comments, another spelling of a number or of a framework's key are no change. A text
 * that cannot be parsed is compared by lines, and that is said. */
#ifndef CORE_FACTS_CONFIG_DIFF_H
#define CORE_FACTS_CONFIG_DIFF_H

#include "core/facts/config_text.h"

#define CONFIG_DIFF_MAX 500             /* changes of one commit that are kept */

struct config_diff {
    const struct config_change *changes;
    size_t n;
    size_t n_more;                      /* changes that were left out */
    size_t n_settings;                  /* of the new text */
    const char *by_lines;               /* why it was compared by lines; NULL: by settings */
};

/* `path` gives the form. Either text may have p NULL: there was no file. In the arena. */
MUST_CHECK int config_diff_texts(const char *path, struct str old, struct str new, struct arena *arena,
                                 struct config_diff *out, struct error *err);
/* Two lists of settings. */
MUST_CHECK int config_diff_settings(const struct config_text *old, const struct config_text *new,
                                    struct arena *arena, struct config_diff *out, struct error *err);
/* Equal as a program reads them: 1e-5 and 0.00001, True and true. */
bool config_values_are_equal(const char *a, const char *b);

#endif
