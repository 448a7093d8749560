/* Which group of knobs a setting belongs to (CHECKS.md C7.4), and which settings say nothing of what
 * was trained: paths, names of runs, logging, saving. Names are canonical (config_names.h). */
#ifndef CORE_FACTS_KNOBS_H
#define CORE_FACTS_KNOBS_H

#include <stdbool.h>

/* In the order in which they are worth trying: epochs, target modules, rank, rate. */
enum knob {
    KNOB_NONE,
    KNOB_EPOCHS,
    KNOB_TARGETS,
    KNOB_RANK,
    KNOB_RATE,
    KNOB_BATCH,
    KNOB_DATA,
    KNOB_TEMPLATE,
    KNOB_PRECISION,
    KNOB_SEED,
    N_KNOBS
};

enum knob knob_of(const char *name);
const char *knob_name(enum knob knob);  /* "epochs", "rank and alpha" …; "" for none */
/* Epochs, targets, rank, rate or batch: what one tunes. */
bool knob_is_hyperparameter(enum knob knob);
/* A path, a name, a date, or how something was logged, saved or reported. */
bool setting_is_incidental(const char *name);
/* What transformers' trainer takes where nothing is said, or NULL. */
const char *setting_default(const char *name);

#endif
