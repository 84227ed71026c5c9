/* http_origin.h - which page a browser sends a request from.
 *
 * Every current browser sends Origin or Sec-Fetch-Site with a cross-site request that changes
 * something; other programs send neither, and what they ask is their own.
 */
#pragma once

#include <stdbool.h>

#include "base/http_server.h"

/* Whether Sec-Fetch-Site or Origin names another site.  False if both are missing. */
bool http_origin_is_foreign(const struct http_request *r);
/* Whether one of these fields is there, and none names another site. */
bool http_origin_is_own(const struct http_request *r);
/* Whether a page of another site may be behind the request, even one whose name was made to mean
 * this machine (DNS rebinding): a browser that asks for us by a name, and not by an address or
 * localhost, is not believed that the page is ours. */
bool http_origin_is_doubtful(const struct http_request *r);
