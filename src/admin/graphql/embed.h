/* embed.h - files that are part of the binary. */
#pragma once

#include "base/str.h"

struct str embed_schema(void);  /* schema.graphql: the admin API */
struct str embed_prelude(void); /* prelude.graphql: built-in types and directives */
