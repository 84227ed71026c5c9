/* registry.h - every connector of this build, in the order of connectors.def. */
#pragma once

#include <stddef.h>

#include "core/connector.h"

const struct gateway_type *registry_gateway_at(size_t i); /* NULL: no more */
const struct gateway_type *registry_gateway(const char *name);
