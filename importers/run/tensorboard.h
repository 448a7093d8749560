/* The parts of the reader of event files; for tensorboard*.c only.
 *
 *   tensorboard.c        the file: records, rows, series, notes
 *   tensorboard_event.c  one event: the protocol buffer taken apart
 *   tensorboard_text.c   settings: texts that hold JSON or a table, and hparams */
#ifndef IMPORTERS_RUN_TENSORBOARD_H
#define IMPORTERS_RUN_TENSORBOARD_H

#include "importers/importer.h"

#define TENSORBOARD_TAG_BYTES 256

enum tensorboard_plugin { PLUGIN_NONE, PLUGIN_SCALARS, PLUGIN_TEXT, PLUGIN_HPARAMS, PLUGIN_OTHER };

struct tensorboard_value {
    struct str tag;
    enum tensorboard_plugin plugin;
    bool has_number; /* a simple value */
    double number;
    struct str tensor;  /* a TensorProto; empty: none */
    struct str content; /* what the plugin wrote beside the value */
};

struct tensorboard_event {
    double wall;
    int64_t step;
    struct str file_version; /* of the first event */
    struct str summary;      /* values, to be walked by tensorboard_next_value */
    bool is_start;           /* a session begins here */
};

/* false: the bytes are no event. */
bool tensorboard_event_of(struct str bytes, struct tensorboard_event *out);
/* 1 a value, 0 the end, -1 the rest is damaged. *rest is the summary at first. */
int tensorboard_next_value(struct str *rest, struct tensorboard_value *out);
/* The only number of a tensor; false when it holds none, or several. */
bool tensorboard_tensor_number(struct str tensor, double *out);
/* The first text of a tensor of texts. */
bool tensorboard_tensor_text(struct str tensor, struct str *out);

MUST_CHECK int tensorboard_take_text(struct import *import, struct str tag, struct str text,
                                     struct error *err);
MUST_CHECK int tensorboard_take_hparams(struct import *import, struct str content,
                                        struct error *err);

#endif
