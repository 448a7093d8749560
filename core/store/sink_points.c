/* See sink_points.h. */
#include "core/store/sink_points.h"

#include <stdlib.h>
#include <string.h>

#include "core/store/sink_backend.h"

struct points_sink {
    const char *name;
    int handle; /* of the first series of that name; -1: none yet */
    int (*point)(void *ctx, const struct point *point, struct error *err);
    void *ctx;
};

static int series(void *self, int handle, const char *raw_name, const char *name, struct error *err)
{
    struct points_sink *sink = self;

    (void)raw_name, (void)err;
    if (sink->handle < 0 && name && strcmp(name, sink->name) == 0)
        sink->handle = handle;
    return OK;
}

static int point(void *self, int handle, const struct point *point, struct error *err)
{
    struct points_sink *sink = self;

    return handle == sink->handle ? sink->point(sink->ctx, point, err) : OK;
}

int sink_open_points(struct sink **out, const char *name,
                     int (*take)(void *ctx, const struct point *point, struct error *err),
                     void *ctx, struct error *err)
{
    static const struct sink_backend BACKEND = {.series = series, .point = point, .close = free};
    struct points_sink *sink = malloc(sizeof *sink);

    if (!sink)
        return error_set(err, E_NOMEM, "no memory for a sink");
    *sink = (struct points_sink){.name = name, .handle = -1, .point = take, .ctx = ctx};
    return sink_open_backend(out, &BACKEND, sink, err);
}
