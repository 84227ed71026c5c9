/* mail_address.h - one mailbox: "orders@example.org" or "Order desk <orders@example.org>".
 *
 * Texts come from a configuration and from documents.  What passes has no control characters,
 * blanks, commas or brackets in its address, so it can stand in a command of SMTP, in a header and
 * in a list.  Addresses are ASCII: a domain with other letters is written as xn--..., quoted local
 * parts are refused.
 *
 * Pure; the error says what is wrong and never quotes the text.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { MAIL_ADDRESS_MOST = 254, MAIL_LOCAL_MOST = 64, MAIL_NAME_MOST = 200 };

/* Views of the text that was read. */
struct mail_address {
    struct str name;    /* for people, UTF-8; empty: none */
    struct str address; /* local@domain */
};

bool mail_address_parse(struct str text, struct mail_address *ret, struct err *err);

/* What follows the @. */
struct str mail_address_domain(const struct mail_address *a);

/* A character of an atom (RFC 5322, 3.2.3). */
bool mail_is_atext(char c);
