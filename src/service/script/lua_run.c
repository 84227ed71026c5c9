#include "service/script/lua_run.h"

#include <lauxlib.h>

struct lua_run *lua_run_of(lua_State *L)
{
    return *(struct lua_run **)lua_getextraspace(L);
}

void lua_run_set(lua_State *L, struct lua_run *run)
{
    *(struct lua_run **)lua_getextraspace(L) = run;
}

static bool lua_has_text(lua_State *L, int index)
{
    if (luaL_getmetafield(L, index, "__tostring") == LUA_TNIL)
        return false;
    lua_pop(L, 1);
    return true;
}

const char *lua_run_text(lua_State *L, int index, size_t *ret_len)
{
    int type = lua_type(L, index);
    bool is_plain =
        type == LUA_TNIL || type == LUA_TBOOLEAN || type == LUA_TNUMBER || type == LUA_TSTRING;

    if (is_plain || lua_has_text(L, index))
        return luaL_tolstring(L, index, ret_len);
    lua_pushstring(L, lua_typename(L, type));
    return lua_tolstring(L, -1, ret_len);
}
