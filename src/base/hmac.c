#include "base/hmac.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/require.h"

void hmac_sha256(struct str key, struct str data, uint8_t out[static SHA256_SIZE])
{
    const void *bytes = key.len > 0 ? key.ptr : "";

    require(key.len <= INT_MAX);
    require(HMAC(EVP_sha256(), bytes, (int)key.len, (const unsigned char *)data.ptr, data.len, out,
                 NULL) != NULL);
}
