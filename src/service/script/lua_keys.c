#include "service/script/lua_keys.h"

#include <lauxlib.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { LUA_KEYS_HERE = 64 }; /* so many are sorted on the stack of C */

/* A key, comparable without Lua; texts are lent by the table. */
struct lua_key {
    int type;
    lua_Number number;
    lua_Integer integer;
    bool is_integer, truth;
    struct str text;
};

static void lua_key_read(lua_State *L, int index, struct lua_key *ret)
{
    *ret = (struct lua_key){ .type = lua_type(L, index) };
    switch (ret->type) {
    case LUA_TNUMBER:
        ret->is_integer = lua_isinteger(L, index);
        ret->integer = ret->is_integer ? lua_tointeger(L, index) : 0;
        ret->number = lua_tonumber(L, index);
        break;
    case LUA_TSTRING:
        ret->text.ptr = lua_tolstring(L, index, &ret->text.len);
        break;
    case LUA_TBOOLEAN:
        ret->truth = lua_toboolean(L, index);
        break;
    default:
        luaL_error(L, "a table with a %s as a key has no order", luaL_typename(L, index));
    }
}

static void lua_key_push(lua_State *L, const struct lua_key *k)
{
    if (k->type == LUA_TSTRING)
        (void)lua_pushlstring(L, k->text.ptr, k->text.len);
    else if (k->type == LUA_TBOOLEAN)
        lua_pushboolean(L, k->truth);
    else if (k->is_integer)
        lua_pushinteger(L, k->integer);
    else
        lua_pushnumber(L, k->number);
}

static int lua_key_rank(int type)
{
    return type == LUA_TNUMBER ? 0 : type == LUA_TSTRING ? 1 : 2;
}

/* No two keys of a table are the same number: a float with the value of an integer is stored as the
 * integer.  Large integers can be equal as floats, and are then compared as integers. */
static int lua_key_cmp_numbers(const struct lua_key *a, const struct lua_key *b)
{
    if (a->is_integer && b->is_integer)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->is_integer - b->is_integer;
}

static int lua_key_cmp(const void *left, const void *right)
{
    const struct lua_key *a = left, *b = right;

    if (a->type != b->type)
        return lua_key_rank(a->type) - lua_key_rank(b->type);
    if (a->type == LUA_TSTRING)
        return str_cmp(a->text, b->text);
    return a->type == LUA_TNUMBER ? lua_key_cmp_numbers(a, b) : a->truth - b->truth;
}

static size_t lua_keys_count(lua_State *L, int table)
{
    size_t n = 0;

    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1))
        n++;
    return n;
}

lua_Integer lua_keys_push(lua_State *L, int index)
{
    int table = lua_absindex(L, index);
    size_t count = lua_keys_count(L, table), n = 0;
    struct lua_key here[LUA_KEYS_HERE], *keys = here;

    luaL_checkstack(L, 5, NULL);
    lua_createtable(L, (int)count, 0);
    if (count > LUA_KEYS_HERE)
        keys = lua_newuserdatauv(L, count * sizeof *keys, 0);
    else
        lua_pushnil(L);
    for (lua_pushnil(L); lua_next(L, table) != 0 && n < count; lua_pop(L, 1))
        lua_key_read(L, -2, &keys[n++]);
    qsort(keys, n, sizeof *keys, lua_key_cmp);
    for (size_t i = 0; i < n; i++) {
        lua_key_push(L, &keys[i]);
        lua_rawseti(L, -3, (lua_Integer)i + 1);
    }
    lua_pop(L, 1);
    return (lua_Integer)n;
}

/* Upvalues: the list of keys, and how many were given.  A key that was removed since is left out.
 */
static int lua_keys_step(lua_State *L)
{
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(2));

    for (;;) {
        lua_rawgeti(L, lua_upvalueindex(1), ++at);
        if (lua_isnil(L, -1))
            return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) != LUA_TNIL)
            break;
        lua_pop(L, 2);
    }
    lua_pushinteger(L, at);
    lua_replace(L, lua_upvalueindex(2));
    return 2;
}

int lua_keys_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    (void)lua_keys_push(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, lua_keys_step, 2);
    lua_pushvalue(L, 1);
    return 2;
}

/* The smallest key behind the given one: takes the time of the whole table, unlike pairs(). */
int lua_keys_next(lua_State *L)
{
    struct lua_key after, best, k;
    bool is_first, found = false;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    is_first = lua_isnil(L, 2);
    if (!is_first)
        lua_key_read(L, 2, &after);
    for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
        lua_key_read(L, -2, &k);
        if ((is_first || lua_key_cmp(&k, &after) > 0) && (!found || lua_key_cmp(&k, &best) < 0)) {
            best = k;
            found = true;
        }
    }
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    lua_key_push(L, &best);
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}
