/* Numbers and texts in fields, for format.c and format_percent.c. Not for others. */
#ifndef CORE_TEXT_JINJA_FORMAT_H
#define CORE_TEXT_JINJA_FORMAT_H

#include "core/text/jinja/jinja_parts.h"

#define MOST_WIDTH 100000

struct spec {
    struct str fill;
    char align; /* '\0': as the type wants it */
    char sign;
    bool is_alternate, has_zero, has_comma, has_underscore;
    int64_t width, precision; /* -1: not given */
    char type;
};

void jinja_format_int_digits(struct text *out, struct value v, char type); /* without a sign */
bool jinja_format_is_negative(struct value v);
void jinja_format_put_padded(struct text *out, const struct spec *spec, struct str sign,
                             struct str body, char align);
void jinja_format_put_number(struct text *out, struct value v, const struct spec *spec);
void jinja_format_put_text(struct text *out, struct str s, const struct spec *spec);
int64_t jinja_format_take_number(struct vm *vm, struct str *s);
bool jinja_format_take_char(struct str *s, char c);

#endif
