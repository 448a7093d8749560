/* A sink that keeps nothing and hands on the points of one metric: for those who ask a file about
 * its loss before it is imported. */
#ifndef CORE_STORE_SINK_POINTS_H
#define CORE_STORE_SINK_POINTS_H

#include "core/store/sink.h"

/* `name` is canonical. What `point` returns, if not OK, comes out of the call that brought the
 * point, and of all later ones. */
MUST_CHECK int sink_open_points(struct sink **out, const char *name,
                                int (*point)(void *ctx, const struct point *point,
                                             struct error *err),
                                void *ctx, struct error *err);

#endif
