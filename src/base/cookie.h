/* cookie.h - the cookies of a request (RFC 6265, section 5.4). */
#pragma once

#include "base/str.h"

/* The value of that name in a Cookie field, a part of it; ptr NULL: it is not there, or empty. */
struct str cookie_value(struct str field, const char *name);
