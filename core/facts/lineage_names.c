/* Names of models and weight files, and hashes: which of them mean the same. See lineage.h. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/str.h"
#include "core/facts/checkpoint_name.h"
#include "core/facts/lineage.h"

enum { NAME_BYTES = 160 };

/* ---- The last component ---- */

static bool is_commit(struct str text)
{
    if (text.n != 40)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!isxdigit((unsigned char)text.p[i]))
            return false;
    return true;
}

static struct str last_component(struct str path)
{
    while (path.n && strchr("/\\", path.p[path.n - 1]))
        path = str_first(path, path.n - 1);
    size_t from = path.n;
    while (from > 0 && !strchr("/\\", path.p[from - 1]))
        from--;
    return str_skip(path, from);
}

/* A snapshot of the hub's cache: ".../models--owner--name/snapshots/<commit>". */
static struct str name_in_cache(struct str path)
{
    ptrdiff_t at = str_find(path, "models--");

    if (at < 0)
        return (struct str){0};
    struct str rest = str_skip(path, (size_t)at + 8), part, name = {0};
    (void)str_split(&rest, '/', &part);
    for (ptrdiff_t dash; (dash = str_find(part, "--")) >= 0;)
        part = str_skip(part, (size_t)dash + 2);
    name = part;
    return name;
}

/* Lower case, blanks, '_' and the ':' of a tag as '-'. */
static size_t plain_name(const char *text, char out[NAME_BYTES])
{
    struct str last = last_component(str_of(text));
    size_t n = 0;

    if (is_commit(last) || str_is(last, "snapshots"))
        last = name_in_cache(str_of(text));
    for (size_t i = 0; i < last.n && n + 1 < NAME_BYTES; i++) {
        unsigned char c = (unsigned char)last.p[i];

        out[n++] = (char)(strchr("_ :", c) ? '-' : tolower(c));
    }
    out[n] = '\0';
    return n;
}

static bool drop_end(char *name, size_t *n, const char *end)
{
    size_t length = strlen(end);

    if (*n <= length || strcmp(name + *n - length, end) != 0)
        return false;
    *n -= length;
    name[*n] = '\0';
    return true;
}

/* How it was quantised or packed: the same model all the same. */
static void drop_packing(char *name, size_t *n)
{
    static const char *const ENDS[] = {
        ".gguf",     ".safetensors", ".bin",    "-unsloth-bnb-4bit", "-bnb-4bit", "-bnb-8bit",
        "-unsloth",  "-gptq-int4",   "-gptq-int8", "-gptq",          "-awq-int4", "-awq",
        "-gguf",     "-hf",          "-4bit",   "-8bit",             "-int4",     "-int8",
        "-fp8",      "-fp8-dynamic", "-nf4",    "-mlx",              "-bf16",     "-fp16",
        "-f16",      "-w4a16",       "-w8a8",   "-gptq-4bit",        "-exl2",     "-hqq",
        "-quantized", "-quantised", "-latest"};
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
            more |= drop_end(name, n, ENDS[i]);
        /* "…-q4-k-m", "….q8-0", "…-iq3-xs" */
        char *at = strrchr(name, '.'), *dash = strstr(name, "-q"), *i_dash = strstr(name, "-iq");
        char *mark = at && (at[1] == 'q' || strncmp(at + 1, "iq", 2) == 0) ? at : dash ? dash : i_dash;
        const char *digit = mark ? mark + 1 + strspn(mark + 1, "iq") : NULL;

        if (digit && mark > name && isdigit((unsigned char)*digit) &&
            strspn(digit, "0123456789-ksmlx") == strlen(digit)) {
            *n = (size_t)(mark - name);
            name[*n] = '\0';
            more = true;
        }
    }
}

/* A folder that says nothing of which model lies in it. */
static bool is_generic(const char *name)
{
    static const char *const NAMES[] = {
        "",        "base",   "base-model", "model",   "models",  "merged", "merged-model", "output",
        "outputs", "out",    "final",      "run",     "results", "hf",     "ckpt",         "checkpoint",
        "weights", "lora",   "adapter",    "adapters", "pretrained", ".",  "..",           "serve",
        "served",  "release", "deploy",    "tmp",     "cache",   "latest", "best",         "export"};
    struct checkpoint_name checkpoint;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0)
            return true;
    return checkpoint_name_read(str_of(name), &checkpoint);
}

static bool base_name(const char *text, char out[NAME_BYTES])
{
    size_t n = plain_name(text, out);

    drop_packing(out, &n);
    if (strncmp(out, "meta-", 5) == 0)
        memmove(out, out + 5, n - 4);
    return !is_generic(out);
}

/* "llama3.2:1b" and "Llama-3.2-1B" */
static bool same_but_dashes(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, "-");
        b += strspn(b, "-");
        if (*a != *b || !*a)
            return *a == *b;
        a++;
        b++;
    }
}

/* "qwen2.5:0.5b": Ollama's own names leave out that most of them are the instruction-tuned model. */
static bool is_ollama_tag(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon && colon > name && !strchr(colon, '/');
}

int base_names_agree(const char *a, const char *b)
{
    char x[NAME_BYTES], y[NAME_BYTES];

    if (!a || !b || !*a || !*b || strchr(a, '$') || strchr(b, '$'))
        return -1;
    if ((is_ollama_tag(a) || is_ollama_tag(b)) && base_names_differ_in_tuning(a, b))
        return -1;
    bool is_name = base_name(a, x), other_is_name = base_name(b, y);
    if (!is_name || !other_is_name)
        return is_name == other_is_name && strcasecmp(a, b) == 0 && x[0] ? 1 : -1;
    return same_but_dashes(x, y);
}

/* Without the words for its tuning. */
static void drop_tuning(char *name)
{
    static const char *const WORDS[] = {"instruct", "it", "chat", "instruction"};
    static const char *const PLAIN[] = {"base", "pt", "pretrained"};
    char kept[NAME_BYTES] = "";
    size_t n = 0;
    struct str rest = str_of(name), part;

    while (str_split(&rest, '-', &part)) {
        bool drops = false;

        for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
            drops |= str_is(part, WORDS[i]);
        for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
            drops |= str_is(part, PLAIN[i]);
        if (drops || n + part.n + 2 > sizeof kept)
            continue;
        kept[n++] = '-';
        memcpy(kept + n, part.p, part.n);
        n += part.n;
    }
    memcpy(name, kept, n);
    name[n] = '\0';
}

bool base_names_differ_in_tuning(const char *a, const char *b)
{
    char x[NAME_BYTES], y[NAME_BYTES];

    if (!a || !b || !base_name(a, x) || !base_name(b, y) || same_but_dashes(x, y))
        return false;
    drop_tuning(x);
    drop_tuning(y);
    return x[0] && same_but_dashes(x, y);
}

/* ---- Hashes ---- */

static struct str hash_digits(const char *text)
{
    struct str hash = str_trim(str_of(text));
    size_t n = 0;

    if (hash.n > 7 && str_is_ignoring_case(str_first(hash, 7), "sha256:"))
        hash = str_skip(hash, 7);
    while (n < hash.n && isxdigit((unsigned char)hash.p[n]))
        n++;
    return str_first(hash, n);
}

int lineage_hashes_agree(const char *a, const char *b)
{
    struct str x = hash_digits(a), y = hash_digits(b);
    size_t n = x.n < y.n ? x.n : y.n;

    if (n < 6)
        return -1;
    return strncasecmp(x.p, y.p, n) == 0;
}

/* ---- Kinds of files ---- */

static bool has_word(struct str text, const char *const *words)
{
    for (; *words; words++)
        if (str_has_ignoring_case(text, *words))
            return true;
    return false;
}

/* "q4_k_m", "Q8_0", "iq3_xs" */
static bool has_gguf_type(struct str text)
{
    for (size_t i = 0; i + 3 < text.n; i++) {
        bool begins = i == 0 || !isalnum((unsigned char)text.p[i - 1]);
        size_t at = i + (tolower((unsigned char)text.p[i]) == 'i');

        if (begins && at + 2 < text.n && tolower((unsigned char)text.p[at]) == 'q' &&
            isdigit((unsigned char)text.p[at + 1]) && text.p[at + 2] == '_')
            return true;
    }
    return false;
}

enum lineage_form lineage_form_of(const char *name)
{
    static const char *const ADAPTER[] = {"adapter", "lora", "peft", NULL};
    static const char *const QUANTISED[] = {"gptq", "awq",  "bnb",  "4bit", "8bit", "4-bit", "8-bit",
                                            "int4", "int8", "nf4",  "exl2", "hqq",  NULL};
    struct str text = str_of(name);

    if (text.n == 0)
        return FORM_UNKNOWN;
    if (str_has_ignoring_case(text, "gguf") || has_gguf_type(text))
        return FORM_GGUF;
    bool is_merged =
        str_has_ignoring_case(text, "merge") && !str_has_ignoring_case(text, "unmerge");
    if (has_word(text, ADAPTER) && !is_merged)
        return FORM_ADAPTER;
    if (has_word(text, QUANTISED))
        return FORM_QUANTISED;
    if (is_merged)
        return FORM_MERGED;
    struct str last = last_component(text);
    return str_starts(last, "model") && str_ends(last, ".safetensors") ? FORM_FULL : FORM_UNKNOWN;
}

const char *lineage_form_name(enum lineage_form form)
{
    switch (form) {
    case FORM_UNKNOWN:
        return "a file of unknown kind";
    case FORM_ADAPTER:
        return "an adapter on its base";
    case FORM_FULL:
        return "a whole model";
    case FORM_MERGED:
        return "a merged model";
    case FORM_QUANTISED:
        return "a quantised model";
    case FORM_GGUF:
        return "a GGUF file";
    }
    return "?";
}

const char *lineage_role_name(enum lineage_role role)
{
    static const char *const NAMES[LINEAGE_ROLES] = {"base", "trained", "evaluated", "merged",
                                                     "served"};

    return (size_t)role < LINEAGE_ROLES ? NAMES[role] : "?";
}
