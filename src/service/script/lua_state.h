/* lua_state.h - a Lua state for one document: what a script can reach.
 *
 * The libraries base, string, table, math and utf8 without what loads code, controls the collector
 * or writes; beside them json, xml, hl7, log() and now().  What a script computes depends on its
 * document only, so that a replay gives the same bytes: chance is seeded by the document's id,
 * pairs() and next() go through a table in the order of its keys, and no address of memory becomes
 * text.
 *
 * Memory is limited by the allocator.  Time is not: whoever runs the script ends its process.
 */
#pragma once

#include <lua.h>

#include "service/script/lua_run.h"

/* The libraries that a script may use, for lua_run.modules: those whose names stand in it, because
 * opening them takes as long as a small script; all if it uses its globals as a table. */
unsigned lua_state_modules(struct str script);

/* NULL: no memory.  The run is lent until lua_close(). */
lua_State *lua_state_new(struct lua_run *run);
