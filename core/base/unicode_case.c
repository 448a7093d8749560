/* Letters as Python's str sees them. See unicode_case.h. What is only about bytes and safety is
 * unicode.c.
 *
 * The tables are what Python 3.11 (Unicode 14) and utf8proc do not have in common. */
#include "core/base/unicode_case.h"

#include <stddef.h>
#include <utf8proc.h>

#include "core/base/unicode.h"

struct span {
    int32_t first, last;
};

/* assigned after Unicode 14, which Python 3.11 has */
static const struct span later[] = {
    {0xCF3, 0xCF3},     {0xECE, 0xECE},     {0x10EFD, 0x10EFF}, {0x1123F, 0x11241},
    {0x11B00, 0x11B09}, {0x11F00, 0x11F10}, {0x11F12, 0x11F3A}, {0x11F3E, 0x11F59},
    {0x1342F, 0x1342F}, {0x13439, 0x13455}, {0x1B132, 0x1B132}, {0x1B155, 0x1B155},
    {0x1D2C0, 0x1D2D3}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D}, {0x1E08F, 0x1E08F},
    {0x1E4D0, 0x1E4F9}, {0x1F6DC, 0x1F6DC}, {0x1F774, 0x1F776}, {0x1F77B, 0x1F77F},
    {0x1F7D9, 0x1F7D9}, {0x1FA75, 0x1FA77}, {0x1FA87, 0x1FA88}, {0x1FAAD, 0x1FAAF},
    {0x1FABB, 0x1FABD}, {0x1FABF, 0x1FABF}, {0x1FACE, 0x1FACF}, {0x1FADA, 0x1FADB},
    {0x1FAE8, 0x1FAE8}, {0x1FAF7, 0x1FAF8}, {0x2B739, 0x2B739}, {0x31350, 0x323AF},
};

/* isdigit, but no decimal digit */
static const struct span digits[] = {
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
};

/* isnumeric where the category says otherwise */
static const struct span numerals[] = {
    {0x3405, 0x3405},   {0x3483, 0x3483},   {0x382A, 0x382A},   {0x3B4D, 0x3B4D},
    {0x4E00, 0x4E00},   {0x4E03, 0x4E03},   {0x4E07, 0x4E07},   {0x4E09, 0x4E09},
    {0x4E5D, 0x4E5D},   {0x4E8C, 0x4E8C},   {0x4E94, 0x4E94},   {0x4E96, 0x4E96},
    {0x4EBF, 0x4EC0},   {0x4EDF, 0x4EDF},   {0x4EE8, 0x4EE8},   {0x4F0D, 0x4F0D},
    {0x4F70, 0x4F70},   {0x5104, 0x5104},   {0x5146, 0x5146},   {0x5169, 0x5169},
    {0x516B, 0x516B},   {0x516D, 0x516D},   {0x5341, 0x5341},   {0x5343, 0x5345},
    {0x534C, 0x534C},   {0x53C1, 0x53C4},   {0x56DB, 0x56DB},   {0x58F1, 0x58F1},
    {0x58F9, 0x58F9},   {0x5E7A, 0x5E7A},   {0x5EFE, 0x5EFF},   {0x5F0C, 0x5F0E},
    {0x5F10, 0x5F10},   {0x62FE, 0x62FE},   {0x634C, 0x634C},   {0x67D2, 0x67D2},
    {0x6F06, 0x6F06},   {0x7396, 0x7396},   {0x767E, 0x767E},   {0x8086, 0x8086},
    {0x842C, 0x842C},   {0x8CAE, 0x8CAE},   {0x8CB3, 0x8CB3},   {0x8D30, 0x8D30},
    {0x9621, 0x9621},   {0x9646, 0x9646},   {0x964C, 0x964C},   {0x9678, 0x9678},
    {0x96F6, 0x96F6},   {0xF96B, 0xF96B},   {0xF973, 0xF973},   {0xF978, 0xF978},
    {0xF9B2, 0xF9B2},   {0xF9D1, 0xF9D1},   {0xF9D3, 0xF9D3},   {0xF9FD, 0xF9FD},
    {0x20001, 0x20001}, {0x20064, 0x20064}, {0x200E2, 0x200E2}, {0x20121, 0x20121},
    {0x2092A, 0x2092A}, {0x20983, 0x20983}, {0x2098C, 0x2098C}, {0x2099C, 0x2099C},
    {0x20AEA, 0x20AEA}, {0x20AFD, 0x20AFD}, {0x20B19, 0x20B19}, {0x22390, 0x22390},
    {0x22998, 0x22998}, {0x23B1B, 0x23B1B}, {0x2626D, 0x2626D}, {0x2F890, 0x2F890},
};

/* lower case where the category says otherwise */
static const struct span other_lower[] = {
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},
    {0x2E0, 0x2E4},     {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},
    {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},
    {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
};

static const struct span other_upper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189},
};

/* case-ignorable where the category says otherwise */
static const struct span ignorable[] = {
    {0x27, 0x27},     {0x2E, 0x2E},     {0x3A, 0x3A},     {0xB7, 0xB7},
    {0x387, 0x387},   {0x55F, 0x55F},   {0x5F4, 0x5F4},   {0x2018, 0x2019},
    {0x2024, 0x2024}, {0x2027, 0x2027}, {0xFE13, 0xFE13}, {0xFE52, 0xFE52},
    {0xFE55, 0xFE55}, {0xFF07, 0xFF07}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1A},
};

/* the zeros of the decimal digits, nine more after each */
static const int32_t zeros[] = {
    0x30,    0x660,   0x6F0,   0x7C0,   0x966,   0x9E6,   0xA66,   0xAE6,   0xB66,   0xBE6,
    0xC66,   0xCE6,   0xD66,   0xDE6,   0xE50,   0xED0,   0xF20,   0x1040,  0x1090,  0x17E0,
    0x1810,  0x1946,  0x19D0,  0x1A80,  0x1A90,  0x1B50,  0x1BB0,  0x1C40,  0x1C50,  0xA620,
    0xA8D0,  0xA900,  0xA9D0,  0xA9F0,  0xAA50,  0xABF0,  0xFF10,  0x104A0, 0x10D30, 0x11066,
    0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0,
    0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2,
    0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_in(const struct span *spans, size_t n, int32_t codepoint)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (codepoint > spans[middle].last)
            low = middle + 1;
        else if (codepoint < spans[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

static utf8proc_category_t category(int32_t codepoint)
{
    if (codepoint < 0)
        return UTF8PROC_CATEGORY_CN;
    if (codepoint >= later[0].first && is_in(later, COUNT(later), codepoint))
        return UTF8PROC_CATEGORY_CN;
    return utf8proc_category(codepoint);
}

bool unicode_is_assigned(int32_t codepoint)
{
    return category(codepoint) != UTF8PROC_CATEGORY_CN;
}

bool unicode_is_space(int32_t codepoint)
{
    if (codepoint < 0x80)
        return codepoint == ' ' || (codepoint >= 9 && codepoint <= 13) ||
               (codepoint >= 0x1C && codepoint <= 0x1F);
    return codepoint == 0x85 || codepoint == 0xA0 || codepoint == 0x1680 ||
           (codepoint >= 0x2000 && codepoint <= 0x200A) || codepoint == 0x2028 ||
           codepoint == 0x2029 || codepoint == 0x202F || codepoint == 0x205F || codepoint == 0x3000;
}

bool unicode_is_alpha(int32_t codepoint)
{
    utf8proc_category_t c = category(codepoint);

    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool unicode_is_decimal(int32_t codepoint)
{
    return category(codepoint) == UTF8PROC_CATEGORY_ND;
}

bool unicode_is_digit(int32_t codepoint)
{
    return unicode_is_decimal(codepoint) || is_in(digits, COUNT(digits), codepoint);
}

bool unicode_is_numeric(int32_t codepoint)
{
    utf8proc_category_t c = category(codepoint);
    bool is_number = c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;

    return is_number != is_in(numerals, COUNT(numerals), codepoint);
}

bool unicode_is_word(int32_t codepoint)
{
    if (codepoint < 0x80)
        return (codepoint >= '0' && codepoint <= '9') ||
               ((codepoint | 0x20) >= 'a' && (codepoint | 0x20) <= 'z');
    return unicode_is_alpha(codepoint) || unicode_is_numeric(codepoint) ||
           unicode_is_digit(codepoint);
}

bool unicode_is_identifier_start(int32_t codepoint)
{
    return unicode_is_alpha(codepoint) || category(codepoint) == UTF8PROC_CATEGORY_NL;
}

bool unicode_is_printable(int32_t codepoint)
{
    if (codepoint >= 0x20 && codepoint < 0x7F)
        return true;
    switch ((int)category(codepoint)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

bool unicode_is_lower(int32_t codepoint)
{
    bool is_lower = category(codepoint) == UTF8PROC_CATEGORY_LL;

    return is_lower != is_in(other_lower, COUNT(other_lower), codepoint);
}

bool unicode_is_upper(int32_t codepoint)
{
    bool is_upper = category(codepoint) == UTF8PROC_CATEGORY_LU;

    return is_upper != is_in(other_upper, COUNT(other_upper), codepoint);
}

bool unicode_is_title(int32_t codepoint)
{
    return category(codepoint) == UTF8PROC_CATEGORY_LT;
}

bool unicode_is_cased(int32_t codepoint)
{
    return unicode_is_lower(codepoint) || unicode_is_upper(codepoint) ||
           unicode_is_title(codepoint);
}

bool unicode_is_case_ignorable(int32_t codepoint)
{
    utf8proc_category_t c = category(codepoint);
    bool is_one = c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME ||
                  c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_LM ||
                  c == UTF8PROC_CATEGORY_SK;

    return is_one != is_in(ignorable, COUNT(ignorable), codepoint);
}

int unicode_decimal_value(int32_t codepoint)
{
    if (codepoint < 0x80)
        return codepoint >= '0' && codepoint <= '9' ? codepoint - '0' : -1;
    for (size_t i = 0; i < COUNT(zeros); i++)
        if (codepoint >= zeros[i] && codepoint < zeros[i] + 10)
            return codepoint - zeros[i];
    return -1;
}

/* ---- white space at the ends ---- */

struct str unicode_strip_left(struct str text)
{
    while (text.n) {
        int32_t codepoint = (unsigned char)text.p[0];
        size_t n = 1;

        if (codepoint >= 0x80)
            n = unicode_next(text, &codepoint);
        if (!unicode_is_space(codepoint))
            break;
        text = str_skip(text, n);
    }
    return text;
}

struct str unicode_strip_right(struct str text)
{
    while (text.n) {
        size_t at = text.n - 1;
        int32_t codepoint = (unsigned char)text.p[at];

        if (codepoint >= 0x80) {
            while (at > 0 && text.n - at < 4 && ((unsigned char)text.p[at] & 0xC0) == 0x80)
                at--;
            if (unicode_next(str_skip(text, at), &codepoint) != text.n - at)
                break;
        }
        if (!unicode_is_space(codepoint))
            break;
        text.n = at;
    }
    return text;
}
