/* lua_hl7.h - HL7 for Lua scripts: hl7.get, hl7.set.
 *
 * One value of a message by its path, as in extraction: "PID-3.1", "OBX[2]-5".  A message stays a
 * text, so that all that a script does not set stays byte for byte.
 */
#pragma once

#include <lua.h>

int lua_hl7_open(lua_State *L);
