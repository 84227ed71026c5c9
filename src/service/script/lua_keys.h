/* lua_keys.h - the keys of a Lua table in an order that is always the same.
 *
 * Lua's own order depends on addresses and on a seed of the process.  Here numbers come first, by
 * size, then texts, by their bytes, then false and true.  Other keys have no order: they are an
 * error.
 */
#pragma once

#include <lua.h>

/* Pushes a list of the keys of the table at `index`; returns how many. */
lua_Integer lua_keys_push(lua_State *L, int index);

int lua_keys_pairs(lua_State *L);
int lua_keys_next(lua_State *L);
