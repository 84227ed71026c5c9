#include "service/script/lua_result.h"

#include <lauxlib.h>

#include "core/facts.h"
#include "service/script/lua_keys.h"
#include "service/script/lua_run.h"
#include "service/script/results.h"

/* A checked result is nil, a text, or a list of parts.  A part is a list: its bytes, the texts of
 * `heads` in their order, false where it says nothing, and the list of its attributes, each name
 * before its value. */
static const char *const heads[] = { "sender", "receiver", "type", "name", "content_type" };

enum {
    HEADS = sizeof heads / sizeof *heads,
    PART_BYTES = 1,
    PART_HEAD,
    PART_ATTRIBUTES = PART_HEAD + HEADS
};

/* ---- checking ---- */

/* The text at `index` of what a part says about itself. */
static void lua_check_fact(lua_State *L, int index, const char *what)
{
    struct str text;

    if (lua_type(L, index) == LUA_TNUMBER)
        (void)lua_tostring(L, index);
    if (lua_type(L, index) != LUA_TSTRING)
        luaL_error(L, "`%s` of a result is a %s, not a text", what, luaL_typename(L, index));
    text.ptr = lua_tolstring(L, index, &text.len);
    if (text.len > FACTS_VALUE_MOST)
        luaL_error(L, "`%s` of a result is longer than %d bytes", what, FACTS_VALUE_MOST);
    if (str_has_control(text) || !str_is_utf8(text))
        luaL_error(L, "`%s` of a result has a control character or is not UTF-8", what);
}

/* Pushes the list of the attributes of the result on top of the stack, or false. */
static void lua_check_attributes(lua_State *L)
{
    int type = lua_getfield(L, -1, "attributes"), map = lua_gettop(L);

    if (type == LUA_TNIL) {
        lua_pushboolean(L, false);
        lua_replace(L, map);
        return;
    }
    if (type != LUA_TTABLE)
        luaL_error(L, "`attributes` of a result is a %s, not a table", luaL_typename(L, map));
    lua_Integer count = lua_keys_push(L, map);

    if (count > FACTS_ATTRIBUTES_MOST)
        luaL_error(L, "a result has more than %d attributes", FACTS_ATTRIBUTES_MOST);
    lua_createtable(L, 2 * (int)count, 0);
    for (lua_Integer i = 1; i <= count; i++) {
        if (lua_rawgeti(L, map + 1, i) != LUA_TSTRING)
            luaL_error(L, "an attribute of a result has no name");
        lua_check_fact(L, -1, "attributes");
        lua_pushvalue(L, -1);
        lua_rawseti(L, map + 2, 2 * i - 1);
        (void)lua_rawget(L, map);
        lua_check_fact(L, -1, "attributes");
        lua_rawseti(L, map + 2, 2 * i);
    }
    lua_replace(L, map);
    lua_settop(L, map);
}

/* Replaces the result on top, a text or a table, by a part. */
static void lua_check_part(lua_State *L)
{
    int given = lua_gettop(L), part = given + 1;

    lua_createtable(L, PART_ATTRIBUTES, 0);
    if (lua_type(L, given) == LUA_TSTRING) {
        lua_pushvalue(L, given);
        lua_rawseti(L, part, PART_BYTES);
        lua_replace(L, given);
        return;
    }
    if (lua_type(L, given) != LUA_TTABLE)
        luaL_error(L, "a result is a %s, not a text or a table", luaL_typename(L, given));
    if (lua_getfield(L, given, "bytes") != LUA_TSTRING)
        luaL_error(L, "`bytes` of a result is a %s, not a text", luaL_typename(L, -1));
    lua_rawseti(L, part, PART_BYTES);
    for (int i = 0; i < HEADS; i++) {
        if (lua_getfield(L, given, heads[i]) == LUA_TNIL) {
            lua_pop(L, 1);
            continue;
        }
        lua_check_fact(L, -1, heads[i]);
        lua_rawseti(L, part, PART_HEAD + i);
    }
    lua_pushvalue(L, given);
    lua_check_attributes(L);
    lua_rawseti(L, part, PART_ATTRIBUTES);
    lua_settop(L, part);
    lua_replace(L, given);
}

static void lua_check_list(lua_State *L, int given, enum dead_code *ret_code)
{
    lua_Integer count = (lua_Integer)lua_rawlen(L, given);

    if (count > SCRIPT_RESULTS_MOST) {
        *ret_code = DEAD_LIMIT;
        luaL_error(L, "there are more than %d results", SCRIPT_RESULTS_MOST);
    }
    lua_createtable(L, (int)count, 0);
    for (lua_Integer i = 1; i <= count; i++) {
        (void)lua_geti(L, given, i);
        lua_check_part(L);
        lua_rawseti(L, given + 1, i);
    }
    lua_replace(L, given);
}

/* The result is a list: it has no bytes of its own. */
static bool lua_is_list(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TTABLE)
        return false;
    bool is_part = lua_getfield(L, index, "bytes") != LUA_TNIL;

    lua_pop(L, 1);
    return !is_part;
}

void lua_result_check(lua_State *L, int first, bool many, enum dead_code *ret_code)
{
    int count = lua_gettop(L) - first + 1;

    luaL_checkstack(L, 12, NULL);
    if (count > 1)
        luaL_error(L,
                   many ? "it returned %d values: several results are one list of them"
                        : "it returned %d values; with `many: true` a list of results becomes "
                          "a document each",
                   count);
    if (count == 0 || !lua_toboolean(L, first)) {
        lua_settop(L, first - 1);
        lua_pushnil(L);
        return;
    }
    if (!many) {
        if (lua_type(L, first) != LUA_TSTRING)
            luaL_error(L, "it returned a %s, not a text%s", luaL_typename(L, first),
                       lua_type(L, first) == LUA_TTABLE
                           ? "; with `many: true` a list of results becomes a document each"
                           : "");
        return;
    }
    if (!lua_is_list(L, first)) { /* one result is a list of one */
        lua_createtable(L, 1, 0);
        lua_insert(L, first);
        lua_rawseti(L, first, 1);
    }
    lua_check_list(L, first, ret_code);
}

/* ---- giving on: nothing here raises an error ---- */

/* Lends the text of a list at a place; ptr NULL: there is none. */
static struct str lua_lend(lua_State *L, int list, lua_Integer place)
{
    struct str text = { 0 };

    if (lua_rawgeti(L, list, place) == LUA_TSTRING)
        text.ptr = lua_tolstring(L, -1, &text.len);
    lua_pop(L, 1);
    return text;
}

/* The attributes of the list on top. */
static size_t lua_lend_attributes(lua_State *L, struct fact to[static FACTS_ATTRIBUTES_MOST])
{
    int list = lua_gettop(L);
    size_t count = 0;

    if (lua_type(L, list) != LUA_TTABLE)
        return 0;
    for (lua_Integer i = 1; count < FACTS_ATTRIBUTES_MOST; i += 2) {
        struct fact f = { lua_lend(L, list, i), lua_lend(L, list, i + 1) };

        if (f.name.ptr == NULL)
            break;
        to[count++] = f;
    }
    return count;
}

/* The part on top. */
static bool lua_give_part(lua_State *L, int64_t parts, struct service_io *io,
                          struct service_failure *ret_failure)
{
    int part = lua_gettop(L);
    struct fact attributes[FACTS_ATTRIBUTES_MOST];

    (void)lua_rawgeti(L, part, PART_ATTRIBUTES);
    struct service_part head = {
        .sender = lua_lend(L, part, PART_HEAD),
        .receiver = lua_lend(L, part, PART_HEAD + 1),
        .type = lua_lend(L, part, PART_HEAD + 2),
        .name = lua_lend(L, part, PART_HEAD + 3),
        .ctype = lua_lend(L, part, PART_HEAD + 4),
        .attributes = attributes,
        .attribute_count = lua_lend_attributes(L, attributes),
        .parts = parts,
    };

    lua_pop(L, 1);
    return io->part(io, &head, ret_failure) &&
           io->put(io, lua_lend(L, part, PART_BYTES), ret_failure);
}

bool lua_result_give(lua_State *L, struct service_io *io, struct service_failure *ret_failure)
{
    int result = lua_gettop(L);
    lua_Integer count = (lua_Integer)lua_rawlen(L, result);
    bool ok = true;

    if (lua_type(L, result) == LUA_TSTRING) {
        struct str bytes;

        bytes.ptr = lua_tolstring(L, result, &bytes.len);
        return io->put(io, bytes, ret_failure);
    }
    if (lua_type(L, result) != LUA_TTABLE || count == 0)
        return io->none(io, ret_failure);
    for (lua_Integer i = 1; ok && i <= count; i++) {
        (void)lua_rawgeti(L, result, i);
        ok = lua_give_part(L, count, io, ret_failure);
        lua_pop(L, 1);
    }
    return ok;
}
