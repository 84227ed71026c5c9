#include "service/script/lua_source.h"

#include <lauxlib.h>
#include <lua.h>

#include <stdlib.h>

#include "base/auto.h"
#include "core/verdict.h"
#include "service/script/results.h"

/* "script:3: WHAT": the line, and what follows.  0: the message has no line. */
static long lua_line_of(struct str message, struct str *ret_what)
{
    struct str name = STR("script:");
    char *end;

    *ret_what = message;
    if (!str_starts(message, name))
        return 0;
    long line = strtol(message.ptr + name.len, &end, 10);

    if (end[0] != ':')
        return 0;
    *ret_what = str_trim(str_from(message, (size_t)(end + 1 - message.ptr)));
    return line;
}

void lua_source_line(struct buf *to, struct str message)
{
    struct str what;
    long line = lua_line_of(message, &what);

    if (line > 0)
        buf_printf(to, "line %ld: ", line);
    script_line(to, str_first(what, to->cap - to->len));
}

/* ---- compiling ---- */

/* Gives the script byte by byte, so that what was read when Lua found a mistake is known. */
struct lua_feed {
    struct str script;
    size_t given;
};

static const char *lua_feed_byte(lua_State *L, void *arg, size_t *ret_len)
{
    struct lua_feed *f = arg;

    (void)L;
    *ret_len = f->given < f->script.len;
    return *ret_len == 0 ? NULL : f->script.ptr + f->given++;
}

static int lua_write_chunk(lua_State *L, const void *piece, size_t len, void *arg)
{
    struct err err;

    (void)L;
    return !buf_append(arg, str_mem(piece, len), &err);
}

/* Lua reads one byte behind the token near which it finds the mistake. */
static size_t lua_find_mistake(const struct lua_feed *f, struct str what)
{
    size_t end = f->given < f->script.len || f->given == 0 ? f->given : f->script.len + 1;
    const char *near = memmem(what.ptr, what.len, "near '", 6);

    end = end > 0 ? end - 1 : 0;
    if (near == NULL)
        return end;
    struct str token = str_from(what, (size_t)(near + 6 - what.ptr));

    token.len -= token.len > 0;
    for (size_t from = end < f->script.len ? end + 1 : f->script.len;;) {
        if (token.len <= from &&
            str_eq(str_mem(f->script.ptr + from - token.len, token.len), token))
            return from - token.len;
        if (from == 0 || from + 2 < end)
            return end;
        from--;
    }
}

static bool lua_say_mistake(const struct lua_feed *f, struct str message, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(VERDICT_MESSAGE_MOST);
    struct str what;
    size_t row = 1, start = 0;

    if (lua_line_of(message, &what) == 0)
        return err_set(err, ERR_CONFIG, 0, "%.*s", STR_ARG(str_first(what, 150)));
    size_t place = lua_find_mistake(f, what);

    for (size_t i = 0; i < place && i < f->script.len; i++)
        if (f->script.ptr[i] == '\n') {
            row++;
            start = i + 1;
        }
    script_line(&line, str_first(what, 140));
    return err_set(err, ERR_CONFIG, 0, "line %zu, column %zu: %s", row, place - start + 1,
                   line.ptr);
}

bool lua_source_compile(struct str script, struct buf *chunk, struct err *err)
{
    struct lua_feed feed = { .script = script };
    lua_State *L = luaL_newstate();
    struct str message = STR("there is not enough memory");
    bool ok = false;

    if (L == NULL)
        return err_set(err, ERR_CONFIG, 0, "%s", message.ptr);
    if (lua_load(L, lua_feed_byte, &feed, LUA_SOURCE_NAME, "t") == LUA_OK) {
        ok = lua_dump(L, lua_write_chunk, chunk, 0) == 0 ||
             err_set(err, ERR_CONFIG, 0, "it is larger than %d bytes", LUA_CHUNK_MOST);
    } else {
        if (lua_type(L, -1) == LUA_TSTRING)
            message.ptr = lua_tolstring(L, -1, &message.len);
        ok = lua_say_mistake(&feed, message, err);
    }
    lua_close(L);
    return ok;
}
