/* grammar.h - everything a configuration file may contain, as tables.
 *
 * grammar_sections is the top level; everything hangs below it.  The tables of
 * gateways, endpoints and services stand in files of their own.
 */
#pragma once

#include "core/option.h"

extern const struct option grammar_sections[];

extern const struct option grammar_node[];
extern const struct option grammar_system[];
extern const struct option grammar_type[];
extern const struct option grammar_retention[];
extern const struct option grammar_route[];
extern const struct option grammar_alerts[];
extern const struct option grammar_step; /* one step of a chain */
extern const struct option grammar_batch[];
extern const struct option grammar_auth[];
extern const struct option grammar_oidc[]; /* auth: oidc */
extern const struct option_kinds grammar_gateways;
extern const struct option_kinds grammar_endpoints;
extern const struct option_kinds grammar_services;

/* Parts that several sections share. */
extern const char *const grammar_areas[];
extern const struct option grammar_extract[]; /* sender, receiver, type, attributes */
extern const struct option grammar_headers;   /* the value of one header */
extern const struct option grammar_answer[];
