/* registry.h - every connector of this build, in the order of connectors.def. */
#pragma once

#include "core/connector.h"

extern const struct connectors registry;
