/* json_in.h - parses untrusted JSON with jansson: an object, nested no deeper than json_scan.h
 * allows, without duplicate keys. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* ERR_PERMANENT: the bytes are not such an object. */
bool json_in_object(struct str bytes, json_t **ret, struct err *err);
void json_in_drop(json_t **json); /* for AUTO() */

/* A member that is text; an empty view with a NULL pointer when it is missing or something else.
 * Lent by the object. */
struct str json_in_text(const json_t *object, const char *key);
