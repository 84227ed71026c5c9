#include "service/script/lua_patterns.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "core/regex.h"
#include "service/script/lua_run.h"

#define LUA_SEARCH "waybill.search" /* the metatable of a search */

enum { LUA_PATTERNS_KEPT = 64 };

struct lua_pattern {
    struct str text; /* owned */
    struct regex *regex;
    unsigned searches; /* that are open */
    bool is_kept;
};

struct lua_patterns {
    struct lua_pattern *slots[LUA_PATTERNS_KEPT];
};

/* ---- compiled expressions ---- */

static void lua_pattern_free(struct lua_pattern *p)
{
    if (p == NULL)
        return;
    regex_free(p->regex);
    free((void *)(uintptr_t)p->text.ptr);
    free(p);
}

struct lua_patterns *lua_patterns_new(void)
{
    return NEW(struct lua_patterns);
}

void lua_patterns_free(struct lua_patterns *p)
{
    for (size_t i = 0; p != NULL && i < LUA_PATTERNS_KEPT; i++)
        lua_pattern_free(p->slots[i]);
    free(p);
}

static size_t lua_pattern_slot(struct str text)
{
    uint32_t h = 2166136261; /* FNV-1a */

    for (size_t i = 0; i < text.len; i++)
        h = (h ^ (unsigned char)text.ptr[i]) * 16777619;
    return h % LUA_PATTERNS_KEPT;
}

/* The expression, compiled once.  One whose place is in use is freed with its search. */
static struct lua_pattern *lua_pattern_get(lua_State *L, struct str text)
{
    struct lua_pattern **slot = &lua_run_of(L)->patterns->slots[lua_pattern_slot(text)], *p;
    struct regex *regex;
    struct err err;

    if (*slot != NULL && str_eq((*slot)->text, text))
        return *slot;
    if (!regex_compile(text.len > 0 ? text : STR("(?:)"), &regex, &err))
        luaL_error(L, "regular expression: %s", err.text);
    p = NEW(struct lua_pattern);
    p->text = str_mem(xstrndup(text), text.len);
    p->regex = regex;
    p->is_kept = *slot == NULL || (*slot)->searches == 0;
    if (p->is_kept) {
        lua_pattern_free(*slot);
        *slot = p;
    }
    return p;
}

/* ---- searches ---- */

/* A userdata, so that an error of Lua frees it too. */
struct lua_search {
    struct regex_search search;
    struct lua_pattern *pattern; /* NULL: closed */
};

static void lua_search_end(struct lua_search *s)
{
    struct lua_pattern *p = s->pattern;

    if (p == NULL)
        return;
    s->pattern = NULL;
    regex_search_done(&s->search);
    if (--p->searches == 0 && !p->is_kept)
        lua_pattern_free(p);
}

static int lua_search_collect(lua_State *L)
{
    lua_search_end(lua_touserdata(L, 1));
    return 0;
}

/* Pushes a search over the text at stack place 1 with the pattern at place 2. */
static struct lua_search *lua_search_begin(lua_State *L, size_t from)
{
    struct lua_search *s = lua_newuserdatauv(L, sizeof *s, 0);
    struct str text, pattern;

    s->pattern = NULL;
    if (luaL_newmetatable(L, LUA_SEARCH) != 0) {
        lua_pushcfunction(L, lua_search_collect);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    text.ptr = luaL_checklstring(L, 1, &text.len);
    pattern.ptr = luaL_checklstring(L, 2, &pattern.len);
    struct lua_pattern *p = lua_pattern_get(L, pattern);

    p->searches++;
    regex_search_init(&s->search, p->regex, text);
    s->search.at = from;
    s->pattern = p;
    return s;
}

static bool lua_search_next(lua_State *L, struct lua_search *s)
{
    enum regex_found found = regex_next(&s->search);

    if (found == REGEX_OVER) {
        lua_run_of(L)->is_over = true;
        luaL_error(L, "the regular expression takes too long on this text");
    }
    return found == REGEX_FOUND;
}

static void lua_push_group(lua_State *L, const struct lua_search *s, unsigned n)
{
    struct str group = regex_group(&s->search, n);

    if (group.ptr == NULL)
        lua_pushnil(L);
    else
        (void)lua_pushlstring(L, group.ptr, group.len);
}

/* The groups, or all of the match when there are none; returns how many. */
static int lua_push_groups(lua_State *L, const struct lua_search *s)
{
    unsigned count = regex_groups(s->search.regex);

    luaL_checkstack(L, (int)count + 1, "too many groups");
    if (count == 0) {
        lua_push_group(L, s, 0);
        return 1;
    }
    for (unsigned i = 1; i <= count; i++)
        lua_push_group(L, s, i);
    return (int)count;
}

/* ---- find and match ---- */

/* The place where a search starts, from 0; in the middle of a character of UTF-8, its start. */
static size_t lua_start_of(struct str text, lua_Integer init)
{
    size_t at;

    if (init > 0)
        at = (size_t)init - 1;
    else if (init == 0 || (size_t)-init >= text.len)
        at = 0;
    else
        at = text.len - (size_t)-init;
    while (at > 0 && at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static int lua_find_plain(lua_State *L, struct str text, size_t from)
{
    struct str what;

    what.ptr = luaL_checklstring(L, 2, &what.len);
    const char *found = memmem(text.ptr + from, text.len - from, what.ptr, what.len);

    if (found == NULL) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, found - text.ptr + 1);
    lua_pushinteger(L, found - text.ptr + (lua_Integer)what.len);
    return 2;
}

static int lua_find_or_match(lua_State *L, bool find)
{
    struct str text;

    text.ptr = luaL_checklstring(L, 1, &text.len);
    size_t from = lua_start_of(text, luaL_optinteger(L, 3, 1));

    if (from > text.len) {
        luaL_pushfail(L);
        return 1;
    }
    if (find && lua_toboolean(L, 4))
        return lua_find_plain(L, text, from);
    struct lua_search *s = lua_search_begin(L, from);

    if (!lua_search_next(L, s)) {
        lua_search_end(s);
        luaL_pushfail(L);
        return 1;
    }
    int count = 0;

    if (find) {
        struct str match = regex_group(&s->search, 0);

        lua_pushinteger(L, match.ptr - text.ptr + 1);
        lua_pushinteger(L, match.ptr - text.ptr + (lua_Integer)match.len);
        count = 2;
    }
    if (!find || regex_groups(s->search.regex) > 0)
        count += lua_push_groups(L, s);
    lua_search_end(s);
    return count;
}

static int lua_find(lua_State *L)
{
    return lua_find_or_match(L, true);
}

static int lua_match(lua_State *L)
{
    return lua_find_or_match(L, false);
}

/* ---- gmatch ---- */

/* Upvalues: the search, and the text that it looks at. */
static int lua_gmatch_step(lua_State *L)
{
    struct lua_search *s = lua_touserdata(L, lua_upvalueindex(1));

    if (s->pattern == NULL)
        return 0;
    if (lua_search_next(L, s))
        return lua_push_groups(L, s);
    lua_search_end(s);
    return 0;
}

static int lua_gmatch(lua_State *L)
{
    struct str text;

    text.ptr = luaL_checklstring(L, 1, &text.len);
    (void)lua_search_begin(L, lua_start_of(text, luaL_optinteger(L, 3, 1)));
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, lua_gmatch_step, 2);
    return 1;
}

/* ---- gsub ---- */

/* The replacement is a text: %0 to %9 are groups, %% is a percent sign. */
static void lua_add_text(lua_State *L, luaL_Buffer *to, const struct lua_search *s)
{
    struct str with;

    with.ptr = lua_tolstring(L, 3, &with.len);
    for (size_t i = 0; i < with.len; i++) {
        char c = with.ptr[i];

        if (c != '%') {
            luaL_addchar(to, c);
            continue;
        }
        c = ++i < with.len ? with.ptr[i] : '\0';
        if (c != '%' && (c < '0' || c > '9'))
            luaL_error(L, "invalid use of '%%' in replacement string");
        if (c == '%') {
            luaL_addchar(to, c);
            continue;
        }
        unsigned group = (unsigned)(c - '0');
        unsigned count = regex_groups(s->search.regex);

        if (group > (count == 0 ? 1 : count))
            luaL_error(L, "the regular expression has no group %%%d", (int)group);
        struct str bytes = regex_group(&s->search, group == 1 && count == 0 ? 0 : group);

        if (bytes.ptr != NULL)
            luaL_addlstring(to, bytes.ptr, bytes.len);
    }
}

/* The replacement is what a table or a function has for the match; nil and false keep it. */
static void lua_add_value(lua_State *L, luaL_Buffer *to, const struct lua_search *s)
{
    struct str match = regex_group(&s->search, 0);

    if (lua_type(L, 3) == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, lua_push_groups(L, s), 1);
    } else {
        lua_push_group(L, s, regex_groups(s->search.regex) == 0 ? 0 : 1);
        (void)lua_gettable(L, 3);
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        (void)lua_pushlstring(L, match.ptr, match.len);
    } else if (!lua_isstring(L, -1)) {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
    luaL_addvalue(to);
}

static int lua_gsub(lua_State *L)
{
    struct str text;
    int type = lua_type(L, 3);
    lua_Integer most, count = 0;
    size_t done = 0;
    luaL_Buffer out;

    text.ptr = luaL_checklstring(L, 1, &text.len);
    most = luaL_optinteger(L, 4, LUA_MAXINTEGER);
    luaL_argexpected(L,
                     type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
                         type == LUA_TTABLE,
                     3, "string/function/table");
    struct lua_search *s = lua_search_begin(L, 0);

    luaL_buffinit(L, &out);
    while (count < most && lua_search_next(L, s)) {
        struct str match = regex_group(&s->search, 0);
        size_t start = (size_t)(match.ptr - text.ptr);

        if (start < done) /* \K can move the start of a match back */
            continue;
        luaL_addlstring(&out, text.ptr + done, start - done);
        if (type == LUA_TNUMBER || type == LUA_TSTRING)
            lua_add_text(L, &out, s);
        else
            lua_add_value(L, &out, s);
        done = start + match.len;
        count++;
    }
    lua_search_end(s);
    luaL_addlstring(&out, text.ptr + done, text.len - done);
    luaL_pushresult(&out);
    lua_pushinteger(L, count);
    return 2;
}

const luaL_Reg lua_patterns_functions[] = { { "find", lua_find },
                                            { "match", lua_match },
                                            { "gmatch", lua_gmatch },
                                            { "gsub", lua_gsub },
                                            { NULL, NULL } };
