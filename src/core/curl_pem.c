#include "core/curl_pem.h"

#include <stdint.h>

#include "core/config.h"

static bool curl_pem_put(CURL *e, CURLoption as_path, CURLoption as_blob, struct str value)
{
    struct curl_blob blob = { .data = (void *)(uintptr_t)value.ptr,
                              .len = value.len,
                              .flags = CURL_BLOB_COPY };

    if (value.len == 0)
        return true;
    return (config_is_pem(value.ptr) ? curl_easy_setopt(e, as_blob, &blob)
                                     : curl_easy_setopt(e, as_path, value.ptr)) == CURLE_OK;
}

bool curl_pem_set(CURL *e, struct str ca, struct str cert, struct str key)
{
    return curl_pem_put(e, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB, ca) &&
           curl_pem_put(e, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB, cert) &&
           curl_pem_put(e, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB, key);
}
