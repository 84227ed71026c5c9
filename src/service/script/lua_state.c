#include "service/script/lua_state.h"

#include <lualib.h>

#include <stdlib.h>

#include "service/script/lua_hl7.h"
#include "service/script/lua_json.h"
#include "service/script/lua_json_number.h"
#include "service/script/lua_keys.h"
#include "service/script/lua_patterns.h"
#include "service/script/lua_sort.h"
#include "service/script/lua_xml.h"

/* Lua gives the old size, or for a new block the kind of the object. */
static void *lua_allocate(void *arg, void *ptr, size_t old, size_t size)
{
    struct lua_run *run = arg;

    if (ptr == NULL)
        old = 0;
    if (size == 0) {
        free(ptr);
        run->used -= old;
        return NULL;
    }
    if (size > old && size - old > run->most - run->used)
        return NULL;
    void *p = realloc(ptr, size);

    if (p != NULL)
        run->used += size - old;
    return p;
}

/* ---- functions in place of Lua's own ---- */

static int lua_tostring_here(lua_State *L)
{
    luaL_checkany(L, 1);
    (void)lua_run_text(L, 1, NULL);
    return 1;
}

static int lua_log(lua_State *L)
{
    struct service_io *io = lua_run_of(L)->io;
    int count = lua_gettop(L);
    luaL_Buffer line;
    size_t len;

    luaL_buffinit(L, &line);
    for (int i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addchar(&line, '\t');
        (void)lua_run_text(L, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    const char *text = lua_tolstring(L, -1, &len);

    io->note(io, str_mem(text, len));
    return 0;
}

static int lua_now(lua_State *L)
{
    lua_pushinteger(L, lua_run_of(L)->io->document->received_us);
    return 1;
}

/* string.format; the first upvalue is Lua's own.  %p is an address, and so is a table as text. */
static int lua_format(lua_State *L)
{
    const char *format = luaL_checkstring(L, 1);
    int count = lua_gettop(L);

    for (const char *p = format; (p = strchr(p, '%')) != NULL; p += *p != '\0') {
        p += 1 + strspn(p + 1, "-+ #0123456789.");
        if (*p == 'p')
            return luaL_argerror(L, 1, "'%p' is not available: results must be repeatable");
    }
    for (int i = 2; i <= count; i++)
        if (lua_type(L, i) > LUA_TSTRING) {
            (void)lua_run_text(L, i, NULL);
            lua_replace(L, i);
        }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, 1);
    return 1;
}

/* tonumber; the first upvalue is Lua's own.  A number of JSON that kept its text is one too. */
static int lua_tonumber_here(lua_State *L)
{
    int count = lua_gettop(L);

    if (count == 1 && lua_json_number_text(L, 1) != NULL) {
        if (lua_stringtonumber(L, lua_json_number_text(L, 1)) == 0)
            luaL_pushfail(L);
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, 1);
    return 1;
}

/* ---- opening ---- */

static void lua_take_out(lua_State *L, int table, const char *const *names)
{
    for (; *names != NULL; names++) {
        lua_pushnil(L);
        lua_setfield(L, table, *names);
    }
}

/* The function of the name becomes `fn`, whose upvalue is the one that was there. */
static void lua_wrap(lua_State *L, int table, const char *name, lua_CFunction fn)
{
    lua_getfield(L, table, name);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, table, name);
}

static void lua_open_base(lua_State *L)
{
    static const char *const out[] = {
        "dofile", "loadfile", "load", "collectgarbage", "warn", NULL
    };
    static const luaL_Reg in[] = { { "pairs", lua_keys_pairs },
                                   { "next", lua_keys_next },
                                   { "tostring", lua_tostring_here },
                                   { "log", lua_log },
                                   { "print", lua_log },
                                   { "now", lua_now },
                                   { NULL, NULL } };

    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    lua_take_out(L, lua_gettop(L), out);
    luaL_setfuncs(L, in, 0);
    lua_wrap(L, lua_gettop(L), "tonumber", lua_tonumber_here);
    lua_pop(L, 1);
}

static void lua_open_string(lua_State *L)
{
    static const char *const out[] = { "dump", NULL };

    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    lua_take_out(L, lua_gettop(L), out);
    luaL_setfuncs(L, lua_patterns_functions, 0);
    lua_wrap(L, lua_gettop(L), "format", lua_format);
    /* The metatable that all texts share is not for scripts. */
    lua_pushliteral(L, "");
    (void)lua_getmetatable(L, -1);
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 3);
}

static int lua_open_math(lua_State *L)
{
    static const char *const out[] = { "randomseed", NULL };
    const struct id *id = &lua_run_of(L)->io->document->id;
    lua_Integer seed[2];

    memcpy(seed, id->bytes, sizeof seed);
    (void)luaopen_math(L);
    (void)lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, seed[0]);
    lua_pushinteger(L, seed[1]);
    lua_call(L, 2, 0);
    lua_take_out(L, lua_gettop(L), out);
    return 1;
}

static int lua_open_table(lua_State *L)
{
    (void)luaopen_table(L);
    lua_pushcfunction(L, lua_sort);
    lua_setfield(L, -2, "sort");
    return 1;
}

static int lua_open_utf8(lua_State *L)
{
    (void)luaopen_utf8(L);
    lua_pushliteral(L, "(?s)."); /* Lua's own is one of its patterns */
    lua_setfield(L, -2, "charpattern");
    return 1;
}

static const luaL_Reg modules[] = {
    { LUA_MATHLIBNAME, lua_open_math },
    { LUA_TABLIBNAME, lua_open_table },
    { LUA_UTF8LIBNAME, lua_open_utf8 },
    { "json", lua_json_open },
    { "xml", lua_xml_open },
    { "hl7", lua_hl7_open },
};

enum { LUA_MODULES = sizeof modules / sizeof *modules };

static bool lua_names(struct str script, const char *word)
{
    return memmem(script.ptr, script.len, word, strlen(word)) != NULL;
}

unsigned lua_state_modules(struct str script)
{
    bool all = lua_names(script, "_G") || lua_names(script, "_ENV");
    unsigned found = 0;

    for (unsigned i = 0; i < LUA_MODULES; i++)
        if (all || lua_names(script, modules[i].name))
            found |= 1U << i;
    return found;
}

static int lua_open_all(lua_State *L)
{
    unsigned wanted = lua_run_of(L)->modules;

    lua_open_base(L);
    lua_open_string(L);
    for (unsigned i = 0; i < LUA_MODULES; i++)
        if ((wanted >> i & 1) != 0) {
            modules[i].func(L);
            lua_setglobal(L, modules[i].name);
        }
    return 0;
}

lua_State *lua_state_new(struct lua_run *run)
{
    lua_State *L = lua_newstate(lua_allocate, run);

    if (L == NULL)
        return NULL;
    lua_run_set(L, run);
    lua_pushcfunction(L, lua_open_all);
    if (lua_pcall(L, 0, 0, 0) == LUA_OK)
        return L;
    lua_close(L);
    return NULL;
}
