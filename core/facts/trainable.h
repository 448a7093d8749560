/* How much of the model trains: the banners of the log, the tensors of the adapter, and formula F10
 * for what LoRA should have. Readings, no verdicts. */
#ifndef CORE_FACTS_TRAINABLE_H
#define CORE_FACTS_TRAINABLE_H

#include "core/base/arena.h"
#include "core/facts/run_facts.h"

/* A banner "trainable params: 4,194,304 || all params: …" in any form. */
struct trainable_banner {
    const struct event *event;  /* NULL: none */
    double trainable, all;      /* all: NaN when not stated */
};
/* The last banner before training ended; later ones belong to something else. */
void trainable_banner(const struct run_facts *facts, struct trainable_banner *out);

/* The adapter weights of the run itself (role trained or none), newest checkpoint or root; NULL:
 * not imported. */
const struct artefact *trained_adapter(const struct run_facts *facts);

/* lora_B tensors of an adapter: how many, how many are all zero, how many were measured. */
struct lora_b {
    size_t n, n_measured, n_zero;
    const char *first_zero;     /* its name */
};
void lora_b_count(const struct run_facts *facts, const struct artefact *adapter,
                  struct lora_b *out);

/* Names of the modules that the base has: a list of named_modules, the tensors of the base, or the
 * built-in table by model_type. */
struct module_names {
    const char *const *names;   /* whole paths, or bare last parts from the table */
    size_t n;
    int64_t source_id;          /* 0: the built-in table */
    const char *from;           /* "module_names.txt", "the built-in table for chatglm" */
};
bool module_names_read(const struct run_facts *facts, struct arena *arena,
                       struct module_names *out);
/* The table by the name of the base model, where neither its config nor its files are there: good
 * enough to say that no target fits, not that all do. */
bool module_names_by_base(const struct run_facts *facts, struct arena *arena,
                          struct module_names *out);
/* PEFT's rule for one name of a list: equal, or the end of a path behind a '.'. */
size_t module_matches(const struct module_names *modules, const char *target);
/* PEFT's rule for a regex: whole paths have to match. -1: not a regex that can be run. */
ptrdiff_t module_regex_matches(const struct module_names *modules, const char *regex,
                               struct arena *arena);
/* The nearest real last part by edit distance, or NULL. */
const char *module_nearest(const struct module_names *modules, const char *target,
                           struct arena *arena);

/* The targets that were asked for. */
enum target_form { TARGETS_UNKNOWN, TARGETS_LIST, TARGETS_ALL, TARGETS_REGEX };
struct targets {
    enum target_form form;
    const struct setting *setting;
    const char *const *names;   /* TARGETS_LIST */
    size_t n;
};
void targets_read(const struct run_facts *facts, struct arena *arena, struct targets *out);

/* F10: LoRA parameters that the targets should give on this base; 0 when a number is missing. */
double lora_expected(const struct run_facts *facts, const struct targets *targets);
/* Layers of the base with an adapted module, by the adapter's tensor names; NaN: not known. */
double layer_coverage(const struct run_facts *facts, const struct artefact *adapter,
                      struct arena *arena, size_t *n_layers);

#endif
