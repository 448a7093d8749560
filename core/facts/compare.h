/* Two runs side by side: settings, data and curves that differ. Which verdicts differ is said where
 * verdicts are known (core/exports/compare_report.h). Nothing here judges. */
#ifndef CORE_FACTS_COMPARE_H
#define CORE_FACTS_COMPARE_H

#include "core/facts/knobs.h"
#include "core/facts/run_facts.h"

/* ---- Settings ---- */

struct compared_value {
    const struct setting *setting;  /* the most trusted statement; NULL: not stated */
    const char *text;               /* its value, or the known default; NULL: neither */
    bool is_default;                /* not stated, and the trainer takes `text` then */
};

struct compared_setting {
    enum side side;
    const char *name;               /* canonical; the raw one where there is none */
    struct compared_value a, b;
    enum knob knob;
    bool is_incidental;             /* a path, a name, logging, saving */
    bool is_one_sided;              /* one run does not state it, and no default is known */
};

/* Only those that differ: by knob (those of no knob behind), incidental ones last, then by name. Numbers
 * are compared as numbers, lists of names without regard to their order. False without memory. */
bool compare_settings(const struct run_facts *a, const struct run_facts *b, struct arena *arena,
                      const struct compared_setting **out, size_t *n);
/* The same value, written otherwise or not. NULL is equal to NULL alone. */
bool compare_values(const struct setting *a, const struct setting *b);

/* ---- Data ---- */

struct compared_data {
    const char *what;               /* "train rows", "train file", "eval form" … */
    const char *a, *b;              /* NULL: not known */
};
bool compare_data(const struct run_facts *a, const struct run_facts *b, struct arena *arena,
                  const struct compared_data **out, size_t *n);

/* ---- Curves ---- */

enum parting { PARTING_TOO_FEW, PARTING_EQUAL, PARTING_WITHIN_NOISE, PARTING_FOUND };

/* On the steps that both have, r = ln(b/a), or b - a where a value is not above 0. The noise sigma is the
 * robust one of F3, from the first differences of r, so that a lasting shift does not widen it. A window
 * is w = n/10 rows, at least 5 and at most 25. The curves part at the first window whose median is
 * further from 0 than max(3 * 1.2533 * sigma / sqrt(w), half a percent), on the same side as that of the
 * window behind it (as far as there are rows for one: w/2 at least). 1.2533 sigma / sqrt(w) is the
 * standard error of a median. The step named is the row of these two windows from which on
 * a shift by the median of the second is most likely (sum of r m - m^2/2). */
struct compared_curve {
    const char *name;
    const struct curve *a, *b;
    enum parting answer;
    size_t n_common;
    int64_t step;                   /* where they part, else NONE */
    double at_a, at_b;              /* there; else of the last common step */
    double last_a, last_b;          /* of the last common step */
    double sigma, bound;            /* of r */
    bool is_relative;               /* r is a logarithm */
    bool from_start;                /* they part at the first common step */
};

bool compare_curve(const struct curve *a, const struct curve *b, struct arena *arena,
                   struct compared_curve *out);
/* loss, eval losses, grad_norm, learning_rate first, then all others that both have. */
bool compare_curves(const struct run_facts *a, const struct run_facts *b, struct arena *arena,
                    const struct compared_curve **out, size_t *n);

#endif
