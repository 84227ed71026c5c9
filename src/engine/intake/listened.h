/* listened.h - gateways that listen: which of a configuration they are, what they were told, and
 * what the stream server makes of it. */
#pragma once

#include "base/digest.h"
#include "base/stream_server.h"
#include "core/config.h"
#include "core/units.h"
#include "engine/intake/listeners.h"

struct gateway_type;

/* This node opens its port. */
bool listened_is_for(const struct listeners_options *o, const struct config_gateway *g);

struct listened {
    struct units_address address;
    const struct stream_handler *handler;
    struct stream_policy *policy; /* a reference; NULL: there is none */
    struct sha256 digest;         /* of everything the policy was made of */
    bool tls;
};

void listened_done(struct listened *l); /* safe on a zeroed one, and twice */

/* Reads its options and certificates.  ERR_CONFIG: they are wrong, or `node.ports` does not have
 * the port. */
bool listened_read(const struct listeners_options *o, const struct config *config,
                   const struct config_gateway *g, struct listened *ret, struct err *err);

/* Two sockets cannot have both. */
bool listened_collide(const struct units_address *a, const struct units_address *b);

/* Makes a sentence for people of the error of a socket. */
void listened_explain(const struct units_address *a, struct err *err);
