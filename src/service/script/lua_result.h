/* lua_result.h - what a Lua script returned, checked and given on.
 *
 * Checking may raise errors of Lua, giving on raises none: so that the script's failure comes
 * before the first byte, and none of ours jumps over the caller.
 */
#pragma once

#include <lua.h>

#include <stdbool.h>

#include "core/service.h"

/* Replaces the values from stack place `first` to the top by one that lua_result_give() knows.  An
 * error that is not the script's fault alone sets *ret_code. */
void lua_result_check(lua_State *L, int first, bool many, enum dead_code *ret_code);
/* Gives on the value on top. */
bool lua_result_give(lua_State *L, struct service_io *io, struct service_failure *ret_failure);
