/* lua_json_number.h - numbers of JSON in Lua, with their text.
 *
 * A number that Lua writes as it was read is a number of Lua.  Any other one is a userdata with its
 * text: it calculates and compares as the nearest number of Lua, and is written as it was.
 */
#pragma once

#include <lua.h>

#include "base/str.h"

enum { LUA_JSON_NUMBER_TEXT = 40 };

/* `text` is a number of JSON. */
void lua_json_number_push(lua_State *L, struct str text);
/* Writes a number of Lua; an error for those that JSON does not have. */
void lua_json_number_write(lua_State *L, int index, char ret[static LUA_JSON_NUMBER_TEXT]);
/* The text of a number that kept it, terminated; NULL: the value is none. */
const char *lua_json_number_text(lua_State *L, int index);
