/* The types of ggml's tensors, what files call their mixtures, and looking up a key. See gguf.h. */
#include <stddef.h>

#include "core/read/gguf.h"
#include "core/read/source.h"

static const struct ggml_type TYPES[] = {
    {0, "F32", 1, 4},        {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},     {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},     {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},  {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},  {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74}, {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},  {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},        {25, "I16", 1, 2},
    {26, "I32", 1, 4},       {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},  {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},  {39, "MXFP4", 32, 17},
};

const struct ggml_type *ggml_type_of(int type)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].type == type)
            return &TYPES[i];
    return NULL;
}

const char *ggml_type_name(int type)
{
    const struct ggml_type *known = ggml_type_of(type);

    return known ? known->name : NULL;
}

const char *gguf_file_type_name(int64_t type)
{
    static const char *const NAMES[] = {
        "F32",     "F16",    "Q4_0",   "Q4_1",    NULL,     NULL,     NULL,      "Q8_0",
        "Q5_0",    "Q5_1",   "Q2_K",   "Q3_K_S",  "Q3_K_M", "Q3_K_L", "Q4_K_S",  "Q4_K_M",
        "Q5_K_S",  "Q5_K_M", "Q6_K",   "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS",  "IQ3_XXS",
        "IQ1_S",   "IQ4_NL", "IQ3_S",  "IQ3_M",   "IQ2_S",  "IQ2_M",  "IQ4_XS",  "IQ1_M",
        "BF16",    NULL,     NULL,     NULL,      "TQ1_0",  "TQ2_0",  "MXFP4_MOE"};

    return type >= 0 && type < (int64_t)(sizeof NAMES / sizeof *NAMES) ? NAMES[type] : NULL;
}

/* ---- Files and keys ---- */

int gguf_read(const char *path, struct arena *arena, struct gguf *out, struct error *err)
{
    struct source_file *file = NULL;
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = gguf_read_file(file, arena, out, err);
    source_close(file);
    return rc;
}

const struct gguf_value *gguf_get(const struct gguf *gguf, const char *key)
{
    for (size_t i = 0; i < gguf->n_values; i++)
        if (str_is(gguf->values[i].key, key))
            return &gguf->values[i];
    return NULL;
}
