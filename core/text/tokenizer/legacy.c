/* Files of older layouts, turned into a tokenizer.json. None is read yet: each is refused by name. */
#include "core/text/tokenizer/tokenizer_parts.h"
int legacy_to_json(const char *path, const struct json *config, struct buf *out, struct error *err)
{
    (void)config;
    (void)out;
    return error_set(err, E_UNSUPPORTED, "%s is no tokenizer.json", path);
}
