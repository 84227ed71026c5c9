#include "service/script/lua_hl7.h"

#include <lauxlib.h>

#include "core/format/edi_path.h"
#include "core/format/outlet.h"
#include "core/service.h"
#include "service/script/lua_box.h"

static struct str lua_hl7_message(lua_State *L)
{
    struct str text;

    text.ptr = luaL_checklstring(L, 1, &text.len);
    return text;
}

static struct edi_path lua_hl7_path(lua_State *L)
{
    struct edi_path path;
    struct str text;

    text.ptr = luaL_checklstring(L, 2, &text.len);
    if (!edi_path_parse(EDI_HL7, text, &path))
        luaL_error(L, "hl7: \"%s\" is not a path such as PID-3.1", text.ptr);
    return path;
}

/* get(message, path): the value; nil: it is not there. */
static int lua_hl7_get(lua_State *L)
{
    struct str message = lua_hl7_message(L);
    struct edi_path path = lua_hl7_path(L);
    struct buf *value = lua_box_push(L);
    struct err err = { 0 };

    if (edi_path_get(EDI_HL7, &path, message, value, &err))
        (void)lua_pushlstring(L, value->ptr, value->len);
    else if (err.kind == ERR_NONE)
        lua_pushnil(L);
    else
        return luaL_error(L, "hl7: %s", err.text);
    lua_box_done(value);
    return 1;
}

/* set(message, path, value): the new message. */
static int lua_hl7_set(lua_State *L)
{
    struct str message = lua_hl7_message(L), value;
    struct edi_path path = lua_hl7_path(L);
    struct buf *made;
    struct outlet out;
    struct err err = { 0 };

    value.ptr = luaL_checklstring(L, 3, &value.len);
    made = lua_box_push(L);
    outlet_init(&out, made, SERVICE_BYTES_MOST);
    if (!outlet_end(&out, edi_path_set(EDI_HL7, &path, message, value, &out, &err), &err))
        return luaL_error(L, "hl7: %s", err.text);
    (void)lua_pushlstring(L, made->ptr, made->len);
    lua_box_done(made);
    return 1;
}

int lua_hl7_open(lua_State *L)
{
    static const luaL_Reg functions[] = { { "get", lua_hl7_get },
                                          { "set", lua_hl7_set },
                                          { NULL, NULL } };

    luaL_newlib(L, functions);
    return 1;
}
