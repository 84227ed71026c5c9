/* lua_json.h - JSON for Lua scripts: json.decode, json.encode, json.array, json.null.
 *
 * Numbers keep their text: one whose text Lua would not write in the same way (1.10, 30 digits) is
 * a value of its own that calculates like a number and is encoded as it was.  Arrays are marked, so
 * that an empty one stays an array; null is json.null.  Names of an object are encoded in order.
 */
#pragma once

#include <lua.h>

int lua_json_open(lua_State *L);
