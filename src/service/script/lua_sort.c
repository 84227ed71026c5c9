#include "service/script/lua_sort.h"

#include <lauxlib.h>

#include <limits.h>
#include <stdbool.h>

/* Where things are on the stack of lua_sort(). */
enum { SORT_LIST = 1, SORT_BEFORE = 2, SORT_FROM = 3, SORT_TO = 4 };

/* Whether the element `right` stands before `left`, which is on its left now. */
static bool lua_sort_swaps(lua_State *L, int from, lua_Integer left, lua_Integer right)
{
    bool before;

    if (lua_isnil(L, SORT_BEFORE)) {
        (void)lua_rawgeti(L, from, right);
        (void)lua_rawgeti(L, from, left);
        before = lua_compare(L, -2, -1, LUA_OPLT);
        lua_pop(L, 2);
        return before;
    }
    lua_pushvalue(L, SORT_BEFORE);
    (void)lua_rawgeti(L, from, right);
    (void)lua_rawgeti(L, from, left);
    lua_call(L, 2, 1);
    before = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return before;
}

/* The runs [low, middle) and [middle, high) of one list become one of the other. */
static void lua_sort_merge(lua_State *L, int from, int to, lua_Integer low, lua_Integer middle,
                           lua_Integer high)
{
    lua_Integer left = low, right = middle;

    for (lua_Integer at = low; at < high; at++) {
        bool swaps = left == middle || (right < high && lua_sort_swaps(L, from, left, right));

        (void)lua_rawgeti(L, from, swaps ? right++ : left++);
        lua_rawseti(L, to, at);
    }
}

static lua_Integer lua_sort_least(lua_Integer a, lua_Integer b)
{
    return a < b ? a : b;
}

/* The list is changed at the end: an error of the function leaves it as it was. */
int lua_sort(lua_State *L)
{
    int from = SORT_FROM, to = SORT_TO;

    luaL_checktype(L, SORT_LIST, LUA_TTABLE);
    lua_Integer count = luaL_len(L, SORT_LIST);

    luaL_argcheck(L, count < INT_MAX, SORT_LIST, "the list is too long");
    if (!lua_isnoneornil(L, SORT_BEFORE))
        luaL_checktype(L, SORT_BEFORE, LUA_TFUNCTION);
    if (count < 2)
        return 0;
    lua_settop(L, SORT_BEFORE);
    lua_createtable(L, (int)count, 0);
    lua_createtable(L, (int)count, 0);
    for (lua_Integer i = 1; i <= count; i++) {
        (void)lua_geti(L, SORT_LIST, i);
        lua_rawseti(L, from, i);
    }
    for (lua_Integer width = 1; width < count; width *= 2) {
        for (lua_Integer low = 1; low <= count; low += 2 * width)
            lua_sort_merge(L, from, to, low, lua_sort_least(low + width, count + 1),
                           lua_sort_least(low + 2 * width, count + 1));
        int other = from;

        from = to;
        to = other;
    }
    for (lua_Integer i = 1; i <= count; i++) {
        (void)lua_rawgeti(L, from, i);
        lua_seti(L, SORT_LIST, i);
    }
    return 0;
}
