/* Ruby's regular expressions, as Oniguruma reads them, written for PCRE2.
 *
 * The two agree on nearly everything that tokenizers use. Rewritten are: white space and words
 * (other code points), classes in classes (a union there), \h \H \v \u, {,n}, an interval followed
 * by a plus (a repetition of a repetition there), (?m:, and scripts (which PCRE2 extends). Refused
 * is what cannot be said in PCRE2, or what is rare enough that nobody has compared it. */
#include "core/base/unicode.h"
#include "core/text/tokenizer/pattern.h"

#define SPACE                                                                                      \
    "\\x09-\\x0D\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"   \
    "\\x{3000}"
#define NO_SPACE                                                                                   \
    "\\x00-\\x08\\x0E-\\x1F\\x21-\\x84\\x86-\\x9F\\xA1-\\x{167F}\\x{1681}-\\x{1FFF}"               \
    "\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}"                 \
    "\\x{3001}-\\x{D7FF}\\x{E000}-\\x{10FFFF}"
/* Letters, marks, digits, letter numbers, connectors, letters in circles. */
#define WORD_IN_CLASS                                                                              \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}"                         \
    "\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"
/* Outside of classes also the numbers of Latin-1, for which Oniguruma asks another table. */
#define WORD  WORD_IN_CLASS "\\xB2\\xB3\\xB9\\xBC-\\xBE"
#define DEPTH 64

struct rewriter {
    struct buf *out;
    struct str in;
    size_t i;
    size_t atom;                /* where the last thing that can be repeated begins in *out */
    size_t open[DEPTH], n_open; /* where the groups begin */
    struct error *err;
};

static int refuse(struct rewriter *r, const char *what)
{
    return error_set(r->err, E_UNSUPPORTED, "%s in the pattern %.*s", what,
                     (int)unicode_cut(r->in, 200).n, r->in.p);
}

static bool looks_at(const struct rewriter *r, const char *text)
{
    return str_starts(str_skip(r->in, r->i), text);
}

static char at(const struct rewriter *r, size_t i)
{
    return i < r->in.n ? r->in.p[i] : '\0';
}

static bool is_category(struct str name)
{
    static const char *const NAMES[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me",
                                        "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi",
                                        "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl",
                                        "Zp", "C",  "Cc", "Cf", "Cn", "Co", "Any"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i]))
            return true;
    return false;
}

static const char *category_of_long_name(struct str name)
{
    static const char *const NAMES[][2] = {{"Letter", "L"},
                                           {"Uppercase_Letter", "Lu"},
                                           {"Lowercase_Letter", "Ll"},
                                           {"Titlecase_Letter", "Lt"},
                                           {"Modifier_Letter", "Lm"},
                                           {"Other_Letter", "Lo"},
                                           {"Mark", "M"},
                                           {"Nonspacing_Mark", "Mn"},
                                           {"Spacing_Mark", "Mc"},
                                           {"Number", "N"},
                                           {"Decimal_Number", "Nd"},
                                           {"Letter_Number", "Nl"},
                                           {"Other_Number", "No"},
                                           {"Punctuation", "P"},
                                           {"Symbol", "S"},
                                           {"Math_Symbol", "Sm"},
                                           {"Currency_Symbol", "Sc"},
                                           {"Separator", "Z"},
                                           {"Space_Separator", "Zs"},
                                           {"Other", "C"},
                                           {"Control", "Cc"},
                                           {"Digit", "Nd"}};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is_ignoring_case(name, NAMES[i][0]))
            return NAMES[i][1];
    return NULL;
}

static bool is_script(struct str name)
{
    static const char *const NAMES[] = {
        "Arabic",   "Armenian",  "Bengali",   "Bopomofo", "Common",   "Cyrillic", "Devanagari",
        "Ethiopic", "Georgian",  "Greek",     "Gujarati", "Gurmukhi", "Han",      "Hangul",
        "Hebrew",   "Hiragana",  "Inherited", "Kannada",  "Katakana", "Khmer",    "Lao",
        "Latin",    "Malayalam", "Mongolian", "Myanmar",  "Oriya",    "Sinhala",  "Syriac",
        "Tamil",    "Telugu",    "Thaana",    "Thai",     "Tibetan"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is_ignoring_case(name, NAMES[i]))
            return true;
    return false;
}

/* At "\p" or "\P". */
static int property(struct rewriter *r)
{
    bool negated = at(r, r->i + 1) == 'P';
    ptrdiff_t close = str_find(str_skip(r->in, r->i), "}");

    if (at(r, r->i + 2) != '{' || close < 0)
        return refuse(r, "a property without braces");

    struct str name = str_from(r->in.p + r->i + 3, (size_t)close - 3);

    r->i += (size_t)close + 1;
    if (str_starts(name, "^")) {
        negated = !negated;
        name = str_skip(name, 1);
    }

    const char *category = category_of_long_name(name);

    buf_puts(r->out, negated ? "\\P{" : "\\p{");
    if (category)
        buf_puts(r->out, category);
    else if (is_category(name))
        buf_str(r->out, name);
    else if (is_script(name))
        buf_printf(r->out, "sc:%.*s", (int)name.n, name.p);
    else
        return refuse(r, "a property that is no category and no common script");
    buf_putc(r->out, '}');
    return OK;
}

/* At "\u" or "\x". */
static int code_point(struct rewriter *r)
{
    struct str rest = str_skip(r->in, r->i + 2);
    bool is_u = at(r, r->i + 1) == 'u';
    size_t n = 0;

    if (!is_u && str_starts(rest, "{")) {
        ptrdiff_t close = str_find(rest, "}");

        if (close < 2 || close > 9)
            return refuse(r, "\\x");
        buf_puts(r->out, "\\x");
        buf_add(r->out, rest.p, (size_t)close + 1);
        r->i += 2 + (size_t)close + 1;
        return OK;
    }
    while (n < (is_u ? 4u : 2u) && n < rest.n && strchr("0123456789abcdefABCDEF", rest.p[n]) &&
           rest.p[n])
        n++;
    if (n == 0 || (is_u && n != 4) || (!is_u && n == 2 && rest.p[0] >= '8'))
        return refuse(r, is_u ? "\\u" : "\\x of a byte");
    buf_printf(r->out, "\\x{%.*s}", (int)n, rest.p);
    r->i += 2 + n;
    return OK;
}

static int put(struct rewriter *r, size_t used, const char *text)
{
    buf_puts(r->out, text);
    r->i += used;
    return OK;
}

/* At a backslash; the cases that mean the same in and out of a class. */
static int escape_anywhere(struct rewriter *r)
{
    char c = at(r, r->i + 1);
    int32_t codepoint;

    switch (c) {
    case '\0':
        return refuse(r, "a backslash at the end");
    case 'p':
    case 'P':
        return property(r);
    case 'u':
    case 'x':
        return code_point(r);
    case 'v':
        return put(r, 2, "\\x0B");
    case 'd':
    case 'n':
    case 'r':
    case 't':
    case 'f':
    case 'a':
    case 'e':
        buf_add(r->out, r->in.p + r->i, 2);
        r->i += 2;
        return OK;
    default:
        break;
    }
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return refuse(r, "an escape");

    size_t n = 1 + unicode_next(str_skip(r->in, r->i + 1), &codepoint);

    buf_add(r->out, r->in.p + r->i, n);
    r->i += n;
    return OK;
}

static int escape_in_class(struct rewriter *r)
{
    switch (at(r, r->i + 1)) {
    case 's':
        return put(r, 2, SPACE);
    case 'S':
        return put(r, 2, NO_SPACE);
    case 'w':
        return put(r, 2, WORD_IN_CLASS);
    case 'h':
        return put(r, 2, "0-9a-fA-F");
    case 'D':
        return put(r, 2, "\\D");
    case 'b':
        return put(r, 2, "\\x08");
    default:
        return escape_anywhere(r);
    }
}

static int escape_outside(struct rewriter *r)
{
    static const char WORD_END[] =
        "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))";
    static const char NO_WORD_END[] =
        "(?:(?<=[" WORD "])(?=[" WORD "])|(?<![" WORD "])(?![" WORD "]))";
    char c = at(r, r->i + 1);

    switch (c) {
    case 's':
        return put(r, 2, "[" SPACE "]");
    case 'S':
        return put(r, 2, "[^" SPACE "]");
    case 'w':
        return put(r, 2, "[" WORD "]");
    case 'W':
        return put(r, 2, "[^" WORD "]");
    case 'h':
        return put(r, 2, "[0-9a-fA-F]");
    case 'H':
        return put(r, 2, "[^0-9a-fA-F]");
    case 'b':
        return put(r, 2, WORD_END);
    case 'B':
        return put(r, 2, NO_WORD_END);
    case 'A':
    case 'Z':
    case 'z':
    case 'D':
        buf_add(r->out, r->in.p + r->i, 2);
        r->i += 2;
        return OK;
    default:
        break;
    }
    if (c >= '1' && c <= '9') {
        buf_add(r->out, r->in.p + r->i, 2);
        r->i += 2;
        return OK;
    }
    return escape_anywhere(r);
}

/* At '['. A class in a class adds its members. */
static int class(struct rewriter *r, int depth)
{
    if (depth == 0)
        buf_putc(r->out, '[');
    r->i++;
    if (at(r, r->i) == '^') {
        if (depth > 0)
            return refuse(r, "a negated class in a class");
        buf_putc(r->out, '^');
        r->i++;
    }
    if (at(r, r->i) == ']') { /* an empty class is no class: the bracket stands for itself */
        buf_puts(r->out, "\\]");
        r->i++;
    }
    while (r->i < r->in.n) {
        char c = at(r, r->i);
        int rc = OK;

        if (c == ']') {
            r->i++;
            if (depth == 0)
                buf_putc(r->out, ']');
            return OK;
        }
        if (looks_at(r, "&&"))
            return refuse(r, "&& in a class");
        if (looks_at(r, "[:"))
            return refuse(r, "a POSIX bracket");
        if (c == '[') {
            if (depth == 8)
                return refuse(r, "deep classes");
            if (r->i && at(r, r->i - 1) == '-')
                return refuse(r, "a range up to a class");
            rc = class(r, depth + 1);
            if (rc == OK && at(r, r->i) == '-')
                return refuse(r, "a range from a class");
        } else if (c == '\\') {
            rc = escape_in_class(r);
        } else {
            buf_putc(r->out, c);
            r->i++;
        }
        if (rc != OK)
            return rc;
    }
    return error_set(r->err, E_PARSE, "pattern %.*s: a class without its end",
                     (int)unicode_cut(r->in, 200).n, r->in.p);
}

/* At "(?": what it opens. */
static int special_group(struct rewriter *r)
{
    static const char *const SAME[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"};

    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        if (looks_at(r, SAME[i]))
            return put(r, strlen(SAME[i]), SAME[i]);
    if (looks_at(r, "(?m:"))
        return put(r, 4, "(?s:");
    if (looks_at(r, "(?mi:") || looks_at(r, "(?im:"))
        return put(r, 5, "(?si:");
    if (looks_at(r, "(?i)") && r->i == 0)
        return put(r, 4, "(?i)");
    if (looks_at(r, "(?<")) {
        ptrdiff_t close = str_find(str_skip(r->in, r->i), ">");

        if (close < 0)
            return refuse(r, "a group without a name");
        r->i += (size_t)close + 1;
        buf_putc(r->out, '(');
        return OK;
    }
    return refuse(r, "a kind of group");
}

static int group(struct rewriter *r)
{
    bool is_option = looks_at(r, "(?i)");
    size_t begin = r->out->n;
    int rc = at(r, r->i + 1) == '?' ? special_group(r) : put(r, 1, "(");

    if (rc != OK || is_option)
        return rc;
    if (r->n_open == DEPTH)
        return refuse(r, "deep groups");
    r->open[r->n_open++] = begin;
    return OK;
}

/* At '{': the bytes of an interval, 0 when it is a brace; *has_comma. */
static size_t interval(const struct rewriter *r, bool *is_open, bool *has_comma)
{
    size_t i = r->i + 1, n_digits = 0;

    *is_open = at(r, i) == ',';
    *has_comma = false;
    for (; (at(r, i) >= '0' && at(r, i) <= '9') || (at(r, i) == ',' && !*has_comma); i++) {
        *has_comma |= at(r, i) == ',';
        n_digits += at(r, i) != ',';
    }
    return at(r, i) == '}' && n_digits > 0 ? i + 1 - r->i : 0;
}

/* At '{' after something that can be repeated. */
static int repeat(struct rewriter *r)
{
    bool is_open, has_comma;
    size_t n = interval(r, &is_open, &has_comma);

    if (n == 0) {
        r->atom = r->out->n;
        return put(r, 1, "\\{");
    }
    buf_puts(r->out, is_open ? "{0" : "{");
    buf_add(r->out, r->in.p + r->i + 1, n - 1);
    r->i += n;
    if (at(r, r->i) == '?') {
        if (!has_comma)
            return refuse(r, "{n}?");
        return put(r, 1, "?");
    }
    if (at(r, r->i) != '+')
        return OK;

    /* A repetition of the repetition. */
    struct buf again;

    buf_init(&again, r->out->limit);
    buf_add(&again, r->out->p + r->atom, r->out->n - r->atom);
    r->out->n = r->atom;
    buf_puts(r->out, "(?:");
    buf_str(r->out, buf_view(&again));
    buf_puts(r->out, ")+");
    if (again.failed)
        r->out->failed = true;
    buf_free(&again);
    r->i++;
    return OK;
}

static int one(struct rewriter *r)
{
    char c = at(r, r->i);
    int32_t codepoint;

    if (c == '{')
        return repeat(r);
    if (c == '*' || c == '+' || c == '?') {
        buf_putc(r->out, c);
        r->i++;
        if (at(r, r->i) == '?' || at(r, r->i) == '+') {
            buf_putc(r->out, at(r, r->i));
            r->i++;
        }
        return OK;
    }
    if (c == ')') {
        if (r->n_open == 0)
            return error_set(r->err, E_PARSE, "pattern %.*s: a bracket that closes nothing",
                             (int)unicode_cut(r->in, 200).n, r->in.p);
        r->atom = r->open[--r->n_open];
        return put(r, 1, ")");
    }
    r->atom = r->out->n;
    if (c == '\\')
        return escape_outside(r);
    if (c == '[')
        return class(r, 0);
    if (c == '(')
        return group(r);

    size_t n = unicode_next(str_skip(r->in, r->i), &codepoint);

    buf_add(r->out, r->in.p + r->i, n);
    r->i += n;
    return OK;
}

int pattern_rewrite(struct buf *out, struct str source, struct error *err)
{
    struct rewriter r = {.out = out, .in = source, .atom = out->n, .err = err};

    while (r.i < source.n) {
        int rc = one(&r);

        if (rc != OK)
            return rc;
        if (out->failed)
            return error_set(err, E_LIMIT, "a pattern that grows too long");
    }
    if (r.n_open > 0)
        return error_set(err, E_PARSE, "pattern %.*s: a bracket that is not closed",
                         (int)unicode_cut(source, 200).n, source.p);
    return OK;
}
