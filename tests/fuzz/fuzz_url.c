/* fuzz_url.c - an address that a configuration may have, and what libcurl takes it for: never
 * another scheme than the allowed ones. */
#include <curl/curl.h>
#include <stdint.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const web[] = { "http", "https", NULL };
    struct str text = str_mem(bytes, size);
    struct err err;

    if (memchr(bytes, '\0', size) != NULL || !units_url(text, web, &err))
        return 0;
    AUTO_TEXT url = xstrndup(text);
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL;

    require(parsed != NULL);
    if (curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK) {
        require(curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK);
        require(strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0);
        require(curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK && host[0] != '\0');
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(parsed);
    return 0;
}
