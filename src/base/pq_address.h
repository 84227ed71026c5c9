/* pq_address.h - the address of a PostgreSQL as libpq reads it, and its secrets kept out of
 * messages. */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"

/* For PQconninfoFree().  The error never quotes the address. */
bool pq_address_parse(const char *address, PQconninfoOption **ret, struct err *err);
const char *pq_address_given(const PQconninfoOption *options, const char *name); /* or "" */
/* Overwrites every occurrence of its passwords in a text with asterisks. */
void pq_address_hide(const PQconninfoOption *options, char *text);
