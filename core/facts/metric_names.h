/* One canonical name per metric: "loss", "eval_loss", "grad_norm", "learning_rate", "reward",
 * "kl", "completions/clipped_ratio" … (CHECKS.md stage P lists the synonyms).
 * Names that are not known are kept as they are. */
#ifndef CORE_FACTS_METRIC_NAMES_H
#define CORE_FACTS_METRIC_NAMES_H

#include <stdbool.h>

/* Borrowed: a constant, or raw_name itself. */
const char *metric_name(const char *raw_name);
/* "eval_loss" and "eval_<name>_loss". */
bool metric_is_eval_loss(const char *name);
/* step, global_step, current_steps, iter, iteration, _step, total_steps: not series but places. */
bool metric_is_step(const char *raw_name);

#endif
