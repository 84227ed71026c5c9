#include "service/script/lua_xml.h"

#include <expat.h>
#include <lauxlib.h>

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "service/script/lua_box.h"
#include "service/script/lua_keys.h"
#include "service/script/lua_run.h"

enum { LUA_XML_DEPTH = 256 };

/* ---- reading ---- */

/* Expat's events in a buf, which become tables when expat has ended: an error of Lua must not jump
 * over its frames.  A record is its kind, the length of its text, and the text. */
enum { LUA_XML_RECORD = 1 + sizeof(uint32_t) };

struct lua_xml_reader {
    XML_Parser parser;
    struct buf *events;
    size_t depth, text; /* text: where the record of a text begins that may go on; 0: none */
    const char *why;    /* NULL: nothing is wrong */
};

static void lua_xml_stop(struct lua_xml_reader *r, const char *why)
{
    if (r->why == NULL)
        r->why = why;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static void lua_xml_record(struct lua_xml_reader *r, char kind, struct str text)
{
    uint32_t len = (uint32_t)text.len;
    char head[LUA_XML_RECORD] = { kind };
    struct err err;

    memcpy(head + 1, &len, sizeof len);
    if (!buf_append(r->events, str_mem(head, sizeof head), &err) ||
        !buf_append(r->events, text, &err))
        lua_xml_stop(r, "it is too large");
}

static void lua_xml_on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    struct lua_xml_reader *r = arg;

    r->text = 0;
    if (++r->depth > LUA_XML_DEPTH) {
        lua_xml_stop(r, "there are too many levels");
        return;
    }
    lua_xml_record(r, 'E', str_of(name));
    for (; *attributes != NULL; attributes += 2) {
        lua_xml_record(r, 'N', str_of(attributes[0]));
        lua_xml_record(r, 'V', str_of(attributes[1]));
    }
}

static void lua_xml_on_end(void *arg, const XML_Char *name)
{
    struct lua_xml_reader *r = arg;

    (void)name;
    r->text = 0;
    r->depth--;
    lua_xml_record(r, '/', STR(""));
}

static void lua_xml_on_text(void *arg, const XML_Char *text, int len)
{
    struct lua_xml_reader *r = arg;
    uint32_t total;
    struct err err;

    if (r->text == 0) {
        r->text = r->events->len + 1;
        lua_xml_record(r, 'T', str_mem(text, (size_t)len));
        return;
    }
    char *length = r->events->ptr + r->text;

    memcpy(&total, length, sizeof total);
    total += (uint32_t)len;
    memcpy(length, &total, sizeof total);
    if (!buf_append(r->events, str_mem(text, (size_t)len), &err))
        lua_xml_stop(r, "it is too large");
}

static void lua_xml_on_doctype(void *arg, const XML_Char *name, const XML_Char *system_id,
                               const XML_Char *public_id, int has_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    lua_xml_stop(arg, "a document type (<!DOCTYPE) is not taken");
}

/* Fills `events`; false: `ret` says what is wrong and where. */
static bool lua_xml_parse(struct str text, struct buf *events, char *ret, size_t room)
{
    struct lua_xml_reader r = { .parser = XML_ParserCreate(NULL), .events = events };

    if (r.parser == NULL) {
        (void)snprintf(ret, room, "there is not enough memory");
        return false;
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, lua_xml_on_start, lua_xml_on_end);
    XML_SetCharacterDataHandler(r.parser, lua_xml_on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, lua_xml_on_doctype);
    bool ok =
        text.len <= INT_MAX && XML_Parse(r.parser, text.ptr, (int)text.len, true) == XML_STATUS_OK;

    if (!ok)
        (void)snprintf(ret, room, "not XML: %s, line %lu, column %lu",
                       r.why != NULL ? r.why : XML_ErrorString(XML_GetErrorCode(r.parser)),
                       XML_GetCurrentLineNumber(r.parser),
                       XML_GetCurrentColumnNumber(r.parser) + 1);
    XML_ParserFree(r.parser);
    return ok;
}

static struct str lua_xml_take(struct str *rest, char *ret_kind)
{
    uint32_t len;

    *ret_kind = rest->ptr[0];
    memcpy(&len, rest->ptr + 1, sizeof len);
    struct str text = str_mem(rest->ptr + LUA_XML_RECORD, len);

    *rest = str_from(*rest, LUA_XML_RECORD + len);
    return text;
}

/* The value on top becomes a child of the element below it. */
static void lua_xml_attach(lua_State *L)
{
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void lua_xml_push_element(lua_State *L, struct str name)
{
    luaL_checkstack(L, 8, "xml");
    lua_createtable(L, 0, 2);
    (void)lua_pushlstring(L, name.ptr, name.len);
    lua_setfield(L, -2, "name");
    lua_newtable(L);
    lua_setfield(L, -2, "attributes");
}

/* Leaves the root element on top.  The stack has the elements that are open. */
static void lua_xml_build(lua_State *L, struct str events)
{
    size_t depth = 0;
    char kind;

    while (events.len > 0) {
        struct str text = lua_xml_take(&events, &kind);

        switch (kind) {
        case 'E':
            lua_xml_push_element(L, text);
            depth++;
            break;
        case 'N': {
            struct str value = lua_xml_take(&events, &kind);

            (void)lua_getfield(L, -1, "attributes");
            (void)lua_pushlstring(L, text.ptr, text.len);
            (void)lua_pushlstring(L, value.ptr, value.len);
            lua_rawset(L, -3);
            lua_pop(L, 1);
            break;
        }
        case 'T':
            (void)lua_pushlstring(L, text.ptr, text.len);
            lua_xml_attach(L);
            break;
        default:
            if (--depth > 0)
                lua_xml_attach(L);
        }
    }
}

static int lua_xml_decode(lua_State *L)
{
    struct str text;
    char why[200];

    text.ptr = luaL_checklstring(L, 1, &text.len);
    struct buf *events = lua_box_push(L);

    if (!lua_xml_parse(text, events, why, sizeof why))
        return luaL_error(L, "%s", why);
    lua_xml_build(L, buf_view(events));
    lua_box_done(events);
    return 1;
}

/* ---- writing ---- */

/* An element that is open, at this place of the stack. */
struct lua_xml_level {
    int element;
    lua_Integer at, count; /* of its children */
};

struct lua_xml_writer {
    lua_State *L;
    struct buf *to;
    struct lua_xml_level levels[LUA_XML_DEPTH];
    size_t depth;
};

static void lua_xml_put(struct lua_xml_writer *w, struct str bytes)
{
    struct err err;

    if (!buf_append(w->to, bytes, &err))
        luaL_error(w->L, "xml: the text is larger than %d bytes", (int)w->to->cap);
}

static struct str lua_xml_escape_of(char c, bool in_attribute)
{
    switch (c) {
    case '&':
        return STR("&amp;");
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '\r':
        return STR("&#13;");
    case '"':
        return in_attribute ? STR("&quot;") : (struct str){ 0 };
    case '\n':
        return in_attribute ? STR("&#10;") : (struct str){ 0 };
    case '\t':
        return in_attribute ? STR("&#9;") : (struct str){ 0 };
    default:
        return (struct str){ 0 };
    }
}

/* The text on top of the stack, escaped; removes it. */
static void lua_xml_put_text(struct lua_xml_writer *w, bool in_attribute)
{
    struct str text;
    size_t done = 0;

    text.ptr = lua_tolstring(w->L, -1, &text.len);
    if (!str_is_utf8(text))
        luaL_error(w->L, "xml: a text is not UTF-8");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        struct str escape = lua_xml_escape_of(text.ptr[i], in_attribute);

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            luaL_error(w->L, "xml: a text has the control character %d", c);
        if (escape.ptr == NULL)
            continue;
        lua_xml_put(w, str_mem(text.ptr + done, i - done));
        lua_xml_put(w, escape);
        done = i + 1;
    }
    lua_xml_put(w, str_from(text, done));
    lua_pop(w->L, 1);
}

static void lua_xml_put_name(struct lua_xml_writer *w, int index)
{
    struct str name = { 0 };

    if (lua_type(w->L, index) == LUA_TSTRING)
        name.ptr = lua_tolstring(w->L, index, &name.len);
    if (name.len == 0 || name.len != strcspn(name.ptr, " \t\r\n<>&\"'/=!?;,()[]{}@#$%^*+|\\~`") ||
        strchr("0123456789-.", name.ptr[0]) != NULL || str_has_control(name) || !str_is_utf8(name))
        luaL_error(w->L, "xml: an element or attribute has no name of XML");
    lua_xml_put(w, name);
}

static void lua_xml_put_attributes(struct lua_xml_writer *w, int element)
{
    lua_State *L = w->L;

    if (lua_getfield(L, element, "attributes") != LUA_TTABLE) {
        lua_pop(L, 1);
        return;
    }
    int map = lua_gettop(L);
    lua_Integer count = lua_keys_push(L, map);

    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, map + 1, i);
        lua_xml_put(w, STR(" "));
        lua_xml_put_name(w, -1);
        lua_xml_put(w, STR("=\""));
        lua_rawget(L, map);
        (void)lua_run_text(L, -1, NULL);
        lua_xml_put_text(w, true);
        lua_pop(L, 1);
        lua_xml_put(w, STR("\""));
    }
    lua_settop(L, map - 1);
}

/* Begins the element on top of the stack, which stays there. */
static void lua_xml_open_element(struct lua_xml_writer *w)
{
    lua_State *L = w->L;

    if (w->depth == LUA_XML_DEPTH)
        luaL_error(L, "xml: more than %d levels, or an element in itself", LUA_XML_DEPTH);
    struct lua_xml_level *l = &w->levels[w->depth++];

    luaL_checkstack(L, 12, "xml");
    *l = (struct lua_xml_level){ .element = lua_gettop(L) };
    l->count = (lua_Integer)lua_rawlen(L, l->element);
    lua_xml_put(w, STR("<"));
    (void)lua_getfield(L, l->element, "name");
    lua_xml_put_name(w, -1);
    lua_pop(L, 1);
    lua_xml_put_attributes(w, l->element);
    lua_xml_put(w, l->count > 0 ? STR(">") : STR("/>"));
}

static void lua_xml_close_element(struct lua_xml_writer *w)
{
    struct lua_xml_level *l = &w->levels[--w->depth];

    if (l->count > 0) {
        lua_xml_put(w, STR("</"));
        (void)lua_getfield(w->L, l->element, "name");
        lua_xml_put_name(w, -1);
        lua_xml_put(w, STR(">"));
    }
    lua_settop(w->L, l->element - 1);
}

static void lua_xml_step(struct lua_xml_writer *w)
{
    struct lua_xml_level *l = &w->levels[w->depth - 1];

    if (l->at == l->count) {
        lua_xml_close_element(w);
        return;
    }
    if (lua_rawgeti(w->L, l->element, ++l->at) == LUA_TTABLE) {
        lua_xml_open_element(w);
        return;
    }
    (void)lua_run_text(w->L, -1, NULL);
    lua_xml_put_text(w, false);
    lua_pop(w->L, 1);
}

static int lua_xml_encode(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    struct lua_xml_writer *w = lua_newuserdatauv(L, sizeof *w, 0);

    *w = (struct lua_xml_writer){ .L = L, .to = lua_box_push(L) };
    lua_pushvalue(L, 1);
    lua_xml_open_element(w);
    while (w->depth > 0)
        lua_xml_step(w);
    (void)lua_pushlstring(L, w->to->ptr, w->to->len);
    lua_box_done(w->to);
    return 1;
}

int lua_xml_open(lua_State *L)
{
    static const luaL_Reg functions[] = { { "decode", lua_xml_decode },
                                          { "encode", lua_xml_encode },
                                          { NULL, NULL } };

    luaL_newlib(L, functions);
    return 1;
}
