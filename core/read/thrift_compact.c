/* Varints, field headers, lists. See thrift_compact.h. */
#include "core/read/thrift_compact.h"

struct thrift thrift_of(struct str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;

    return (struct thrift){.begin = p, .p = p, .end = p + bytes.n};
}

static void fail(struct thrift *in, const char *what)
{
    if (!in->wrong)
        in->wrong = what;
}

static void fail_cut(struct thrift *in)
{
    if (!in->wrong)
        in->is_cut = true;
    fail(in, "it breaks off");
}

static size_t left(const struct thrift *in)
{
    return in->wrong ? 0 : (size_t)(in->end - in->p);
}

static unsigned take_byte(struct thrift *in)
{
    if (left(in) == 0) {
        fail_cut(in);
        return 0;
    }
    return *in->p++;
}

static uint64_t take_varint(struct thrift *in)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        unsigned byte = take_byte(in);

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return in->wrong ? 0 : value;
    }
    fail(in, "a number of more than ten bytes");
    return 0;
}

static int64_t take_zigzag(struct thrift *in)
{
    uint64_t value = take_varint(in);

    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static struct str take_bytes(struct thrift *in, uint64_t n)
{
    if (n > left(in)) {
        fail_cut(in);
        return str_of(NULL);
    }
    struct str out = str_from((const char *)in->p, (size_t)n);
    in->p += n;
    return out;
}

bool thrift_next(struct thrift *in, struct thrift_field *field)
{
    unsigned header = take_byte(in);
    int64_t id = field->id + (int64_t)(header >> 4);

    if (in->wrong || (header & 15) == THRIFT_STOP)
        return false;
    if (header >> 4 == 0)
        id = take_zigzag(in);
    if ((header & 15) > THRIFT_UUID || id < INT16_MIN || id > INT16_MAX)
        fail(in, "a field of no type that is known");
    field->id = (int32_t)id;
    field->type = (enum thrift_type)(header & 15);
    return !in->wrong;
}

/* An element takes a byte at least, so that the walk ends with the bytes. */
static size_t take_list(struct thrift *in, enum thrift_type *element)
{
    unsigned header = take_byte(in);
    uint64_t n = header >> 4 == 15 ? take_varint(in) : header >> 4;

    *element = (enum thrift_type)(header & 15);
    if ((header & 15) > THRIFT_UUID || (n && *element == THRIFT_STOP))
        fail(in, "a list of no type that is known");
    if (n > left(in))
        fail_cut(in);
    return in->wrong ? 0 : (size_t)n;
}

static void skip(struct thrift *in, enum thrift_type type, int depth);

static void skip_map(struct thrift *in, int depth)
{
    uint64_t n = take_varint(in);
    unsigned types = n ? take_byte(in) : 0;

    if (n > left(in))
        fail_cut(in);
    for (uint64_t i = 0; i < n && !in->wrong; i++) {
        skip(in, (enum thrift_type)(types >> 4), depth + 1);
        skip(in, (enum thrift_type)(types & 15), depth + 1);
    }
}

static void skip_list(struct thrift *in, int depth)
{
    enum thrift_type element;
    size_t n = take_list(in, &element);

    for (size_t i = 0; i < n && !in->wrong; i++) {
        if (element == THRIFT_TRUE || element == THRIFT_FALSE)
            (void)take_byte(in);
        else
            skip(in, element, depth + 1);
    }
}

static void skip_struct(struct thrift *in, int depth)
{
    struct thrift_field field = {0};

    while (thrift_next(in, &field))
        skip(in, field.type, depth + 1);
}

static void skip(struct thrift *in, enum thrift_type type, int depth)
{
    if (depth > THRIFT_MAX_DEPTH) {
        fail(in, "it is nested too deep");
        return;
    }
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        break;
    case THRIFT_I8:
        (void)take_byte(in);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        (void)take_varint(in);
        break;
    case THRIFT_DOUBLE:
        (void)take_bytes(in, 8);
        break;
    case THRIFT_UUID:
        (void)take_bytes(in, 16);
        break;
    case THRIFT_BINARY:
        (void)take_bytes(in, take_varint(in));
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        skip_list(in, depth);
        break;
    case THRIFT_MAP:
        skip_map(in, depth);
        break;
    case THRIFT_STRUCT:
        skip_struct(in, depth);
        break;
    case THRIFT_STOP:
    default:
        fail(in, "a value of no type that is known");
    }
}

void thrift_skip(struct thrift *in, const struct thrift_field *field)
{
    skip(in, field->type, 0);
}

int64_t thrift_int(struct thrift *in, const struct thrift_field *field)
{
    if (field->type == THRIFT_I8)
        return (signed char)take_byte(in);
    if (field->type != THRIFT_I16 && field->type != THRIFT_I32 && field->type != THRIFT_I64) {
        fail(in, "a number was expected");
        return 0;
    }
    return take_zigzag(in);
}

bool thrift_bool(struct thrift *in, const struct thrift_field *field)
{
    if (field->type != THRIFT_TRUE && field->type != THRIFT_FALSE)
        fail(in, "true or false was expected");
    return field->type == THRIFT_TRUE;
}

struct str thrift_bytes(struct thrift *in, const struct thrift_field *field)
{
    if (field->type != THRIFT_BINARY) {
        fail(in, "a text was expected");
        return str_of(NULL);
    }
    return take_bytes(in, take_varint(in));
}

size_t thrift_list(struct thrift *in, const struct thrift_field *field, enum thrift_type element)
{
    enum thrift_type found;

    if (field->type != THRIFT_LIST) {
        fail(in, "a list was expected");
        return 0;
    }
    size_t n = take_list(in, &found);
    if (n && found != element) {
        fail(in, "a list of another type was expected");
        return 0;
    }
    return n;
}

bool thrift_struct(struct thrift *in, const struct thrift_field *field)
{
    if (field->type != THRIFT_STRUCT)
        fail(in, "a struct was expected");
    return !in->wrong;
}
