/* The byte alphabet of byte-level tokenizers: every byte as one printable letter. Bytes that print
 * stand for themselves, the other 68 are U+0100 and on, in order. */
#ifndef CORE_TEXT_TOKENIZER_BYTE_LETTERS_H
#define CORE_TEXT_TOKENIZER_BYTE_LETTERS_H

#include <stdint.h>

static inline int32_t byte_letter(unsigned char byte)
{
    if ((byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE)
        return byte;
    if (byte <= 0x20)
        return 0x100 + byte;
    if (byte <= 0xA0)
        return 0x121 + (byte - 0x7F);
    return 0x143;               /* 0xAD */
}

#endif
