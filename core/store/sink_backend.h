/* What stands behind a sink: private to core/store/sink*.c.
 *
 * The front (sink.c) keeps the protocol, the handles of series and the sticky failure; a backend
 * only stores. A NULL member means "nothing to do". */
#ifndef CORE_STORE_SINK_BACKEND_H
#define CORE_STORE_SINK_BACKEND_H

#include "core/store/sink.h"

struct sink_backend {
    int (*begin)(void *self, const struct run *run, const struct source *source,
                 struct error *err);
    int (*setting)(void *self, const struct setting *setting, struct error *err);
    /* Called once for each raw_name, with handles 0, 1, 2 … */
    int (*series)(void *self, int handle, const char *raw_name, const char *name,
                  struct error *err);
    int (*point)(void *self, int handle, const struct point *point, struct error *err);
    int (*event)(void *self, const struct event *event, struct error *err);
    int (*artefact)(void *self, const struct artefact *artefact, int64_t *id, struct error *err);
    int (*tensor)(void *self, int64_t artefact_id, const struct tensor *tensor,
                  struct error *err);
    int (*dataset)(void *self, const struct dataset *dataset, int64_t *id, struct error *err);
    int (*sample)(void *self, int64_t dataset_id, const struct sample *sample,
                  struct error *err);
    int (*dataset_done)(void *self, int64_t dataset_id, const struct dataset *done,
                        struct error *err);
    int (*generation)(void *self, const struct generation *generation, struct error *err);
    int (*eval_suite)(void *self, const struct eval_suite *suite, int64_t *id, struct error *err);
    int (*eval_item)(void *self, int64_t suite_id, const struct eval_item *item,
                     struct error *err);
    int (*judgement)(void *self, const struct judgement *judgement, struct error *err);
    int (*note)(void *self, const struct note *note, struct error *err);
    int (*mark)(void *self, const struct source *marks, struct error *err);
    int (*end)(void *self, int64_t read_to, enum source_state state, struct error *err);
    void (*abort)(void *self);
    bool (*is_current)(void *self, const struct run *run, const struct source *source);
    int (*keep_only)(void *self, const struct run *run, const struct source *keep, size_t n,
                     struct error *err);
    void (*close)(void *self);
};

/* Takes `self` in any case: it is closed when no sink can be made. */
MUST_CHECK int sink_open_backend(struct sink **out, const struct sink_backend *backend,
                                 void *self, struct error *err);

#endif
