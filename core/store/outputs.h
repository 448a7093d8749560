/* Rows of what models wrote and reached, into the open batch of a sink. Private to core/store. */
#ifndef CORE_STORE_OUTPUTS_H
#define CORE_STORE_OUTPUTS_H

#include "core/store/db.h"

MUST_CHECK int output_put_generation(struct store *store, int64_t source_id,
                                     const struct generation *made, struct error *err);
MUST_CHECK int output_put_suite(struct store *store, int64_t source_id,
                                const struct eval_suite *suite, int64_t *id, struct error *err);
MUST_CHECK int output_put_item(struct store *store, int64_t suite_id, const struct eval_item *item,
                               struct error *err);
MUST_CHECK int output_put_judgement(struct store *store, int64_t source_id,
                                    const struct judgement *said, struct error *err);

#endif
