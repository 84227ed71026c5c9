/* api_parts.h - the resolver tables of the admin API, one per subject.  The principal of
 * every call is the engine. */
#pragma once

#include <stddef.h>

#include "admin/graphql.h"

extern const struct graphql_resolver api_documents[], api_config[], api_node[], api_secret[];
extern const size_t api_documents_count, api_config_count, api_node_count, api_secret_count;
