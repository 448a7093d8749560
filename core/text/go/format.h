/* How Go's fmt writes one value under the flags of a verb. format.c: numbers and texts. print.c:
 * values of any kind. printf.c: format strings. */
#ifndef CORE_TEXT_GO_FORMAT_H
#define CORE_TEXT_GO_FORMAT_H

#include "core/text/go/go_parts.h"

#define GO_WIDTH_MOST 1000000 /* one that begins larger than this is none */
#define GO_TEXT_MOST  ((size_t)11 * GO_WIDTH_MOST)

struct go_format {
    struct go_run *run;
    struct buf *out;
    int width, precision;
    bool has_width, has_precision;
    bool minus, plus, sharp, space, zero;
    bool plus_v, sharp_v;       /* %+v: names of fields; %#v: Go's syntax */
    bool is_complaining;        /* inside of %!v(…): no String methods */
};

void go_format_pad(struct go_format *f, struct str text);
/* false: the verb does not fit; nothing was written. */
bool go_format_int(struct go_format *f, const struct go_value *value, int32_t verb);
bool go_format_float(struct go_format *f, double value, int32_t verb);
bool go_format_text(struct go_format *f, struct str text, int32_t verb);
/* An argument of Printf, Print; and a value inside of one. false: refused. */
bool go_format_argument(struct go_format *f, const struct go_value *value, int32_t verb);

#endif
