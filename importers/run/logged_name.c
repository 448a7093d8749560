/* Takes back what the callbacks of transformers do to names before a logger gets them: they put
 * "train/" before a metric of training and turn "eval_" and "test_" into "eval/" and "test/". So
 * the same metric has the same name whoever tells of it. */
#include "importers/run/logged_name.h"

#include <stdio.h>
#include <string.h>

#include "core/facts/metric_names.h"

const char *logged_name(const char *raw_name, char out[LOGGED_NAME_BYTES])
{
    static const struct {
        const char *logged, *plain;
    } PARTS[] = {{"train/", ""}, {"eval/", "eval_"}, {"test/", "test_"}};
    const char *known = metric_name(raw_name);

    if (known != raw_name)
        return known;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        size_t n = strlen(PARTS[i].logged);

        if (strncmp(raw_name, PARTS[i].logged, n) != 0 || raw_name[n] == '\0')
            continue;
        int length = snprintf(out, LOGGED_NAME_BYTES, "%s%s", PARTS[i].plain, raw_name + n);
        if (length < LOGGED_NAME_BYTES)
            return metric_name(out);
    }
    return raw_name;
}
