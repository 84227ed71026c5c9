/* lua_sort.h - table.sort with the same result each time.
 *
 * Lua's own chooses pivots by the clock when a list is hard to sort, and elements that are equal
 * then stand in another order each time.  This one merges: equal elements keep their order.
 */
#pragma once

#include <lua.h>

int lua_sort(lua_State *L);
