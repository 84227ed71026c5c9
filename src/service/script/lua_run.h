/* lua_run.h - one document in Lua: what the functions of a script need to know. */
#pragma once

#include <lua.h>

#include <stdbool.h>
#include <stddef.h>

#include "core/service.h"

struct lua_patterns;

/* One document, as long as its state. */
struct lua_run {
    struct service_io *io;
    struct lua_patterns *patterns; /* of the step */
    unsigned modules;              /* lua_state.h */
    size_t used, most;             /* bytes */
    bool is_over;                  /* a pattern took too long; a script cannot catch that */
};

struct lua_run *lua_run_of(lua_State *L);
void lua_run_set(lua_State *L, struct lua_run *run);

/* Like luaL_tolstring(), but never with an address in the text. */
const char *lua_run_text(lua_State *L, int index, size_t *ret_len);
