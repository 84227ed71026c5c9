/* lua_box.h - a buf that Lua's collector frees, so that an error of Lua leaks nothing. */
#pragma once

#include <lua.h>

#include "base/buf.h"

/* Pushes a userdata with an empty buf of at most SERVICE_BYTES_MOST bytes. */
struct buf *lua_box_push(lua_State *L);
void lua_box_done(struct buf *b); /* frees its bytes at once */
