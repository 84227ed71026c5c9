/* polled.h - gateways that are polled: which of a configuration they are, what they read, and
 * whether they can be set up. */
#pragma once

#include "core/config.h"
#include "core/settings.h"
#include "engine/intake/poller.h"

struct gateway_type;

/* NULL: gateways of this kind are not polled. */
const struct gateway_type *polled_type(const struct poller_options *o, const char *kind);
/* This node polls it. */
bool polled_is_for(const struct poller_options *o, const struct config_gateway *g);
/* The settings of the gateway, without folders; they live on the arena. */
struct settings polled_settings(const struct poller_options *o, const struct gateway_type *type,
                                const struct config_gateway *g, struct arena *a);

/* Sets the gateway up and takes it down again, without effect.  A permanent error becomes a
 * problem. A folder that hangs is no problem of the configuration: its polls report it. */
void polled_try(const struct poller_options *o, struct config *config,
                const struct config_gateway *g, struct problem_list *problems);
