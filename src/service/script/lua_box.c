#include "service/script/lua_box.h"

#include <lauxlib.h>

#include "core/service.h"

#define LUA_BOX "waybill.box" /* the metatable */

static int lua_box_collect(lua_State *L)
{
    buf_done(lua_touserdata(L, 1));
    return 0;
}

struct buf *lua_box_push(lua_State *L)
{
    struct buf *b = lua_newuserdatauv(L, sizeof *b, 0);

    *b = (struct buf)BUF_INIT(SERVICE_BYTES_MOST);
    if (luaL_newmetatable(L, LUA_BOX) != 0) {
        lua_pushcfunction(L, lua_box_collect);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return b;
}

void lua_box_done(struct buf *b)
{
    buf_done(b);
}
