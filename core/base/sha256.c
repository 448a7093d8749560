/* SHA-256. See sha256.h. */
#include "core/base/sha256.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct sha256 {
    EVP_MD_CTX *context;
};

int sha256_open(struct sha256 **out, struct error *err)
{
    struct sha256 *hash = calloc(1, sizeof *hash);

    if (hash)
        hash->context = EVP_MD_CTX_new();
    if (!hash || !hash->context || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1) {
        sha256_close(hash);
        return error_set(err, E_NOMEM, "no memory for a SHA-256");
    }
    *out = hash;
    return OK;
}

/* The library reports failures for digests that need memory or hardware; this one, once it was
 * opened, only fails when used wrongly. */
void sha256_add(struct sha256 *hash, const void *bytes, size_t n)
{
    if (n && EVP_DigestUpdate(hash->context, bytes, n) != 1)
        BUG("sha256 update");
}

void sha256_finish(struct sha256 *hash, uint8_t digest[32], char hex[65])
{
    unsigned n = 32;

    if (EVP_DigestFinal_ex(hash->context, digest, &n) != 1 || n != 32 ||
        EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1)
        BUG("sha256 final");
    for (size_t i = 0; hex && i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

void sha256_close(struct sha256 *hash)
{
    if (!hash)
        return;
    EVP_MD_CTX_free(hash->context);
    free(hash);
}
