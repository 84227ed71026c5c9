/* areas.h - whether some node runs what is for one area only.
 *
 * A gateway, endpoint or job with `area` is run by the nodes of that area.  Without such a node
 * nobody runs it, which no node would notice by itself.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/config.h"
#include "core/problem.h"

struct store;

/* The areas that have a running node: bits of 1 << config_area. */
bool areas_served(struct store *s, unsigned *ret, struct err *err);

enum { AREAS_TEXT = 100 };
/* The area of this name; CONFIG_ANYWHERE for any other text. */
enum config_area areas_find(struct str name);

/* Why nobody runs what is for this area; NULL: somebody does. */
const char *areas_why(unsigned served, enum config_area area, char text[static AREAS_TEXT]);

/* A warning for each gateway, endpoint and job that nobody would run now; `own` is the area of this
 * node, which may just begin. */
bool areas_warn(struct store *s, enum config_area own, const struct config *c,
                struct problem_list *warnings, struct err *err);
