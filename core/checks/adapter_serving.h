/* What the way of serving says of the adapter, for C1.1 and C1.4. */
#ifndef CORE_CHECKS_ADAPTER_SERVING_H
#define CORE_CHECKS_ADAPTER_SERVING_H

#include "core/checks/check.h"

/* Warns where the server has, or applies, no adapter although the run made one. */
void serving_leaves_adapter_out(struct check_ctx *ctx);
/* A limit on the modules that the server adapts, which the adapter goes beyond. */
void serving_limits_targets(struct check_ctx *ctx);
/* The merged model with its adapter on top; several adapters that are all applied at once. */
void serving_applies_several(struct check_ctx *ctx);

#endif
