/* curl_pem.h - certificates and keys of a connection of libcurl: files, or what they hold. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#include "base/str.h"

/* Empty ones are left as they are; texts are terminated, and what they hold is copied. */
bool curl_pem_set(CURL *e, struct str ca, struct str cert, struct str key);
