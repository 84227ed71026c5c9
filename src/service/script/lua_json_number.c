#include "service/script/lua_json_number.h"

#include <lauxlib.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LUA_JSON_NUMBER "waybill.number" /* the metatable */

const char *lua_json_number_text(lua_State *L, int index)
{
    return luaL_testudata(L, index, LUA_JSON_NUMBER);
}

/* ---- calculating ---- */

/* Pushes the operand as Lua knows it. */
static void lua_push_operand(lua_State *L, int index)
{
    const char *text = lua_json_number_text(L, index);

    if (text == NULL)
        lua_pushvalue(L, index);
    else if (lua_stringtonumber(L, text) == 0)
        luaL_error(L, "the number %s is too large for Lua", text);
}

/* The upvalue is the operator. */
static int lua_number_calculate(lua_State *L)
{
    int op = (int)lua_tointeger(L, lua_upvalueindex(1));

    lua_push_operand(L, 1);
    if (op != LUA_OPUNM)
        lua_push_operand(L, 2);
    lua_arith(L, op);
    return 1;
}

static int lua_number_compare(lua_State *L)
{
    int op = (int)lua_tointeger(L, lua_upvalueindex(1));

    lua_push_operand(L, 1);
    lua_push_operand(L, 2);
    lua_pushboolean(L, lua_compare(L, -2, -1, op));
    return 1;
}

static int lua_number_tostring(lua_State *L)
{
    lua_pushstring(L, luaL_checkudata(L, 1, LUA_JSON_NUMBER));
    return 1;
}

static int lua_number_concat(lua_State *L)
{
    for (int i = 1; i <= 2; i++) {
        const char *text = lua_json_number_text(L, i);

        if (text != NULL)
            lua_pushstring(L, text);
        else
            lua_pushvalue(L, i);
    }
    lua_concat(L, 2);
    return 1;
}

static void lua_number_set(lua_State *L, const char *name, lua_CFunction fn, int op)
{
    lua_pushinteger(L, op);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, -2, name);
}

static void lua_number_metatable(lua_State *L)
{
    static const struct {
        const char *name;
        int op;
    } calculations[] = { { "__add", LUA_OPADD }, { "__sub", LUA_OPSUB },  { "__mul", LUA_OPMUL },
                         { "__div", LUA_OPDIV }, { "__mod", LUA_OPMOD },  { "__pow", LUA_OPPOW },
                         { "__unm", LUA_OPUNM }, { "__idiv", LUA_OPIDIV } },
      comparisons[] = { { "__eq", LUA_OPEQ }, { "__lt", LUA_OPLT }, { "__le", LUA_OPLE } };

    if (luaL_newmetatable(L, LUA_JSON_NUMBER) == 0)
        return;
    for (size_t i = 0; i < sizeof calculations / sizeof *calculations; i++)
        lua_number_set(L, calculations[i].name, lua_number_calculate, calculations[i].op);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        lua_number_set(L, comparisons[i].name, lua_number_compare, comparisons[i].op);
    lua_number_set(L, "__tostring", lua_number_tostring, 0);
    lua_number_set(L, "__concat", lua_number_concat, 0);
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
}

/* ---- texts ---- */

/* A float with the value of an integer is written as one: 10 / 2 is 5. */
static void lua_number_format(double v, char ret[static LUA_JSON_NUMBER_TEXT])
{
    if (v == floor(v) && fabs(v) < 1e15) {
        (void)snprintf(ret, LUA_JSON_NUMBER_TEXT, "%.0f", v);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(ret, LUA_JSON_NUMBER_TEXT, "%.*g", digits, v);
        if (strtod(ret, NULL) == v)
            return;
    }
}

void lua_json_number_write(lua_State *L, int index, char ret[static LUA_JSON_NUMBER_TEXT])
{
    if (lua_isinteger(L, index)) {
        (void)snprintf(ret, LUA_JSON_NUMBER_TEXT, "%lld", (long long)lua_tointeger(L, index));
        return;
    }
    double v = lua_tonumber(L, index);

    if (!isfinite(v))
        luaL_error(L, "json: %s is not a number of JSON", isnan(v) ? "nan" : "infinity");
    lua_number_format(v, ret);
}

/* Pushes the number of Lua when it is written with the same text; else nothing. */
static bool lua_number_push_plain(lua_State *L, struct str text)
{
    char copy[LUA_JSON_NUMBER_TEXT], again[LUA_JSON_NUMBER_TEXT];

    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (lua_stringtonumber(L, copy) == 0)
        return false;
    if (lua_isinteger(L, -1) || isfinite(lua_tonumber(L, -1))) {
        lua_json_number_write(L, -1, again);
        if (str_is(text, again))
            return true;
    }
    lua_pop(L, 1);
    return false;
}

void lua_json_number_push(lua_State *L, struct str text)
{
    if (lua_number_push_plain(L, text))
        return;
    char *kept = lua_newuserdatauv(L, text.len + 1, 0);

    memcpy(kept, text.ptr, text.len);
    kept[text.len] = '\0';
    lua_number_metatable(L);
    lua_setmetatable(L, -2);
}
