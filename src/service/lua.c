/* lua.c - changes a document with a program in Lua 5.4.
 *
 *     - lua: return doc.bytes:upper()
 *     - lua:
 *         script: |
 *           local order = json.decode(doc.bytes)
 *           ...
 *           return results
 *         many: true
 *
 * The global `doc` has bytes, id, sender, receiver, type, name, content_type, gateway, received
 * (microseconds) and attributes.  The program returns a text, the new bytes, or nil: nothing comes
 * out.  With `many` it may return a list of texts and of tables with bytes, sender, receiver, type,
 * name, content_type and attributes; each becomes a document.  lua_state.h says what it can reach.
 *
 * Each document has a state of its own: nothing of one is seen by the next.
 */
#include <lauxlib.h>
#include <lua.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "service/script/lua_patterns.h"
#include "service/script/lua_result.h"
#include "service/script/lua_source.h"
#include "service/script/lua_state.h"
#include "service/script/results.h"

enum { LUA_MEMORY_MOST = 256 << 20 }; /* outside of a process with a limit of its own */

struct lua_step {
    struct buf chunk; /* compiled */
    struct lua_patterns *patterns;
    unsigned modules;
    size_t memory_most;
    bool many;
};

static const struct option options[] = {
    OPTION("script", OPT_TEXT, "the program; it returns the new bytes", .flags = OPT_ONE_OF),
    OPTION("file", OPT_FILE, "a file with it", .flags = OPT_ONE_OF),
    OPTION("many", OPT_BOOL,
           "it may return a list, each item becomes a document of its own, and the chain ends",
           .fallback = "false"),
    OPTIONS(grammar_limits),
    { 0 },
};

/* ---- making ---- */

static void unmake(void *self)
{
    struct lua_step *l = self;

    buf_done(&l->chunk);
    lua_patterns_free(l->patterns);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct lua_step *l = ARENA_NEW(s->arena, struct lua_step);
    struct str script;

    if (!script_text(s, "script", &script, err) || !settings_bool(s, "many", &l->many, err))
        return false;
    l->chunk = (struct buf)BUF_INIT(LUA_CHUNK_MOST);
    if (!lua_source_compile(script, &l->chunk, err)) {
        buf_done(&l->chunk);
        return err_context(err, settings_has(s, "file") ? "`file`" : "`script`");
    }
    l->patterns = lua_patterns_new();
    l->modules = lua_state_modules(script);
    l->memory_most = s->literal ? SIZE_MAX : LUA_MEMORY_MOST; /* literal: in its own process */
    *ret_self = l;
    return true;
}

/* ---- running ---- */

/* What the protected part of a run is given. */
struct lua_job {
    const struct lua_step *step;
    struct str in;
    enum dead_code code; /* of an error */
};

static void lua_set_text(lua_State *L, const char *key, struct str value)
{
    if (value.ptr == NULL)
        return;
    (void)lua_pushlstring(L, value.ptr, value.len);
    lua_setfield(L, -2, key);
}

static void lua_set_facts(lua_State *L, const struct facts *f)
{
    lua_newtable(L);
    for (size_t i = 0; f != NULL && i < f->attribute_count; i++) {
        (void)lua_pushlstring(L, f->attributes[i].name.ptr, f->attributes[i].name.len);
        (void)lua_pushlstring(L, f->attributes[i].value.ptr, f->attributes[i].value.len);
        lua_rawset(L, -3);
    }
    lua_setfield(L, -2, "attributes");
    if (f == NULL)
        return;
    lua_set_text(L, "sender", f->sender);
    lua_set_text(L, "receiver", f->receiver);
    lua_set_text(L, "type", f->type);
}

static void lua_set_doc(lua_State *L, struct str bytes)
{
    const struct service_document *d = lua_run_of(L)->io->document;
    char id[ID_TEXT];

    lua_createtable(L, 0, 10);
    lua_set_text(L, "bytes", bytes);
    lua_set_text(L, "id", str_of(id_text(&d->id, id)));
    lua_set_text(L, "name", d->name);
    lua_set_text(L, "content_type", d->ctype);
    lua_set_text(L, "gateway", d->gateway);
    lua_pushinteger(L, d->received_us);
    lua_setfield(L, -2, "received");
    lua_set_facts(L, d->facts);
    lua_setglobal(L, "doc");
}

/* Everything that may raise an error.  Leaves one value, the checked result. */
static int lua_run_job(lua_State *L)
{
    struct lua_job *job = lua_touserdata(L, 1);

    lua_settop(L, 0);
    lua_set_doc(L, job->in);
    if (luaL_loadbufferx(L, job->step->chunk.ptr, job->step->chunk.len, LUA_SOURCE_NAME, "b") !=
        LUA_OK)
        return lua_error(L);
    lua_call(L, 0, LUA_MULTRET);
    lua_result_check(L, 1, job->step->many, &job->code);
    return 1;
}

/* An error that is not a text becomes one, while the place of the error is still known. */
static int lua_explain(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TSTRING)
        return 1;
    luaL_where(L, 2);
    (void)lua_run_text(L, 1, NULL);
    if (lua_isnil(L, 1))
        lua_pushliteral(L, " (an error without a message)");
    else
        lua_pushliteral(L, "");
    lua_concat(L, 3);
    return 1;
}

static bool lua_say_failure(lua_State *L, int status, const struct lua_job *job,
                            struct service_failure *ret_failure)
{
    const struct lua_run *run = lua_run_of(L);
    AUTO(buf_done) struct buf line = BUF_INIT(VERDICT_MESSAGE_MOST);
    struct str message = STR("");

    if (status == LUA_ERRMEM)
        return service_fail(ret_failure, DEAD_BUDGET,
                            "lua: it needs more memory than it may use (`limits: memory`)");
    if (lua_type(L, -1) == LUA_TSTRING)
        message.ptr = lua_tolstring(L, -1, &message.len);
    lua_source_line(&line, message);
    return service_fail(ret_failure, run->is_over ? DEAD_BUDGET : job->code, "lua: %s", line.ptr);
}

static bool lua_run_document(struct lua_step *l, lua_State *L, struct str in, struct service_io *io,
                             struct service_failure *ret_failure)
{
    struct lua_job job = { .step = l, .in = in, .code = DEAD_SERVICE_FAILED };

    lua_pushcfunction(L, lua_explain);
    lua_pushcfunction(L, lua_run_job);
    lua_pushlightuserdata(L, &job);
    int status = lua_pcall(L, 1, 1, 1);

    if (status != LUA_OK)
        return lua_say_failure(L, status, &job, ret_failure);
    if (lua_run_of(L)->is_over)
        return service_fail(ret_failure, DEAD_BUDGET,
                            "lua: a regular expression takes too long on this document");
    return lua_result_give(L, io, ret_failure);
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    struct lua_step *l = self;
    struct lua_run run = {
        .io = io, .patterns = l->patterns, .modules = l->modules, .most = l->memory_most
    };
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);

    if (!service_gather(io, &in, ret_failure))
        return false;
    lua_State *L = lua_state_new(&run);

    if (L == NULL)
        return service_fail(ret_failure, DEAD_BUDGET, "lua: there is not enough memory to begin");
    bool ok = lua_run_document(l, L, buf_view(&in), io, ret_failure);

    lua_close(L);
    return ok;
}

const struct service_type service_lua = {
    .kind = { .name = "lua",
              .help = "change it with a program",
              .keys = options,
              .example = "- lua: 'return hl7.set(doc.bytes, \"MSH-6\", doc.receiver)'" },
    .caged = true,
    .copied = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
