#include "service/script/lua_json.h"

#include <lauxlib.h>

#include "base/json.h"
#include "core/json_scan.h"
#include "service/script/lua_box.h"
#include "service/script/lua_json_number.h"
#include "service/script/lua_keys.h"

enum { ESCAPE_PIECE = 4096 };

#define LUA_JSON_ARRAY "waybill.array" /* the metatable of arrays */

/* ---- reading ---- */

struct lua_json_reader {
    lua_State *L;
    struct json_scan scan;
    size_t depth;
    bool is_object[JSON_SCAN_DEPTH];
    lua_Integer count[JSON_SCAN_DEPTH]; /* of a list */
};

static void lua_json_mark(lua_State *L)
{
    (void)luaL_newmetatable(L, LUA_JSON_ARRAY);
    lua_setmetatable(L, -2);
}

static void lua_json_push_text(struct lua_json_reader *r)
{
    struct str raw = r->scan.text;
    luaL_Buffer out;

    if (!r->scan.escapes) {
        (void)lua_pushlstring(r->L, raw.ptr, raw.len);
        return;
    }
    luaL_buffinit(r->L, &out);
    for (size_t i = 0; i < raw.len;) {
        char piece[4] = { raw.ptr[i] };
        size_t len = 1;

        if (piece[0] == '\\')
            len = json_scan_unescape(raw, &i, piece);
        else
            i++;
        if (len == 0)
            luaL_error(r->L, "json: half of a pair of surrogates before byte %d",
                       (int)json_scan_at(&r->scan));
        luaL_addlstring(&out, piece, len);
    }
    luaL_pushresult(&out);
}

static void lua_json_push_scalar(struct lua_json_reader *r)
{
    struct str text = r->scan.text;

    if (str_is(text, "null"))
        lua_pushlightuserdata(r->L, NULL);
    else if (str_is(text, "true") || str_is(text, "false"))
        lua_pushboolean(r->L, text.ptr[0] == 't');
    else
        lua_json_number_push(r->L, text);
}

/* The value on top goes into what is open: a list, or an object whose name is below it. */
static void lua_json_attach(struct lua_json_reader *r)
{
    if (r->depth == 0)
        return;
    if (!r->is_object[r->depth - 1]) {
        lua_rawseti(r->L, -2, ++r->count[r->depth - 1]);
        return;
    }
    lua_pushvalue(r->L, -2);
    if (lua_rawget(r->L, -4) != LUA_TNIL)
        luaL_error(r->L, "json: the name \"%s\" is there twice, before byte %d",
                   lua_tostring(r->L, -3), (int)json_scan_at(&r->scan));
    lua_pop(r->L, 1);
    lua_rawset(r->L, -3);
}

static void lua_json_take(struct lua_json_reader *r, enum json_event e)
{
    switch (e) {
    case JSON_OPEN:
        luaL_checkstack(r->L, 8, "json");
        r->is_object[r->depth] = json_scan_in_object(&r->scan);
        r->count[r->depth] = 0;
        lua_newtable(r->L);
        if (!r->is_object[r->depth])
            lua_json_mark(r->L);
        r->depth++;
        return;
    case JSON_KEY:
        lua_json_push_text(r);
        return;
    case JSON_CLOSE:
        r->depth--;
        break;
    case JSON_TEXT:
        lua_json_push_text(r);
        break;
    default:
        lua_json_push_scalar(r);
        break;
    }
    lua_json_attach(r);
}

static int lua_json_decode(lua_State *L)
{
    struct lua_json_reader r = { .L = L };
    enum json_event e;
    struct str text;

    text.ptr = luaL_checklstring(L, 1, &text.len);
    json_scan_give(&r.scan, text, true);
    while ((e = json_scan_next(&r.scan)) > JSON_END)
        lua_json_take(&r, e);
    if (e == JSON_WRONG)
        return luaL_error(L, "not JSON: %s at byte %d", r.scan.why, (int)json_scan_at(&r.scan));
    return 1;
}

/* ---- writing ---- */

/* A table that is open: at stack place `table`, and behind it the list of its names. */
struct lua_json_level {
    int table;
    lua_Integer at, count;
    bool is_array;
};

struct lua_json_writer {
    lua_State *L;
    struct buf *to;
    struct lua_json_level levels[JSON_SCAN_DEPTH];
    size_t depth;
};

static void lua_json_put(struct lua_json_writer *w, struct str bytes)
{
    struct err err;

    if (!buf_append(w->to, bytes, &err))
        luaL_error(w->L, "json: the text is larger than %d bytes", (int)w->to->cap);
}

static void lua_json_put_text(struct lua_json_writer *w, int index)
{
    struct str text;
    struct err err;

    text.ptr = lua_tolstring(w->L, index, &text.len);
    if (!str_is_utf8(text))
        luaL_error(w->L, "json: a text is not UTF-8");
    lua_json_put(w, STR("\""));
    for (struct str first; text.len > 0; text = str_from(text, first.len)) {
        first = str_first(text, ESCAPE_PIECE);
        if (!buf_reserve(w->to, 6 * first.len, &err))
            luaL_error(w->L, "json: the text is larger than %d bytes", (int)w->to->cap);
        json_escape(w->to, first);
    }
    lua_json_put(w, STR("\""));
}

/* A list: marked, or with values at 1 to n and nothing else. */
static bool lua_json_is_array(lua_State *L, int table)
{
    bool is = false;

    if (lua_getmetatable(L, table)) {
        luaL_getmetatable(L, LUA_JSON_ARRAY);
        is = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    return is || lua_rawlen(L, table) > 0;
}

static void lua_json_open_table(struct lua_json_writer *w)
{
    lua_State *L = w->L;

    if (w->depth == JSON_SCAN_DEPTH)
        luaL_error(L, "json: more than %d levels, or a table in itself", JSON_SCAN_DEPTH);
    struct lua_json_level *l = &w->levels[w->depth++];

    luaL_checkstack(L, 8, "json");
    *l = (struct lua_json_level){ .table = lua_gettop(L) };
    l->is_array = lua_json_is_array(L, l->table);
    l->count = lua_keys_push(L, l->table);
    if (l->is_array && l->count != (lua_Integer)lua_rawlen(L, l->table))
        luaL_error(L, "json: a table is neither a list nor an object");
    lua_json_put(w, l->is_array ? STR("[") : STR("{"));
}

/* Writes the value on top and removes it; of a table its begin, and leaves it. */
static void lua_json_put_value(struct lua_json_writer *w)
{
    lua_State *L = w->L;

    switch (lua_type(L, -1)) {
    case LUA_TTABLE:
        lua_json_open_table(w);
        return;
    case LUA_TSTRING:
        lua_json_put_text(w, -1);
        break;
    case LUA_TBOOLEAN:
        lua_json_put(w, lua_toboolean(L, -1) ? STR("true") : STR("false"));
        break;
    case LUA_TNUMBER: {
        char text[LUA_JSON_NUMBER_TEXT];

        lua_json_number_write(L, -1, text);
        lua_json_put(w, str_of(text));
        break;
    }
    case LUA_TLIGHTUSERDATA:
        lua_json_put(w, STR("null"));
        break;
    default:
        if (lua_json_number_text(L, -1) == NULL)
            luaL_error(L, "json: a %s has no JSON", luaL_typename(L, -1));
        lua_json_put(w, str_of(lua_json_number_text(L, -1)));
    }
    lua_pop(L, 1);
}

/* The next entry of the innermost table, or its end. */
static void lua_json_step(struct lua_json_writer *w)
{
    lua_State *L = w->L;
    struct lua_json_level *l = &w->levels[w->depth - 1];

    if (l->at == l->count) {
        lua_json_put(w, l->is_array ? STR("]") : STR("}"));
        lua_settop(L, l->table - 1);
        w->depth--;
        return;
    }
    if (l->at++ > 0)
        lua_json_put(w, STR(","));
    lua_rawgeti(L, l->table + 1, l->at);
    if (!l->is_array) {
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "json: the name of a value is a %s, not a text", luaL_typename(L, -1));
        lua_json_put_text(w, -1);
        lua_json_put(w, STR(":"));
    }
    lua_rawget(L, l->table);
    lua_json_put_value(w);
}

static int lua_json_encode(lua_State *L)
{
    luaL_checkany(L, 1);
    struct lua_json_writer *w = lua_newuserdatauv(L, sizeof *w, 0);

    *w = (struct lua_json_writer){ .L = L, .to = lua_box_push(L) };
    lua_pushvalue(L, 1);
    lua_json_put_value(w);
    while (w->depth > 0)
        lua_json_step(w);
    (void)lua_pushlstring(L, w->to->ptr, w->to->len);
    lua_box_done(w->to);
    return 1;
}

/* ---- the module ---- */

/* Marks a table as an array, also when it is empty. */
static int lua_json_array(lua_State *L)
{
    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        lua_newtable(L);
        lua_replace(L, 1);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_json_mark(L);
    return 1;
}

int lua_json_open(lua_State *L)
{
    static const luaL_Reg functions[] = { { "decode", lua_json_decode },
                                          { "encode", lua_json_encode },
                                          { "array", lua_json_array },
                                          { NULL, NULL } };

    luaL_newlib(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    return 1;
}
