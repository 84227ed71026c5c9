#include "service/step.h"

#include <stdlib.h>

#include "test.h"

struct lua_case {
    const char *script, *in, *want; /* `want` may be the start of a failure */
};

static bool is_as_wanted(const char *said, const char *want)
{
    if (strcmp(said, want) == 0 ||
        (want[0] != '\0' && strncmp(said, want, strlen(want)) == 0 && strchr(want, ' ') != NULL))
        return true;
    printf("# got  %s\n# want %s\n", said, want);
    return false;
}

static bool all_as_wanted(const struct lua_case *cases, size_t count, const char *more)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        AUTO(step_done) struct step s = { 0 };

        (void)step_make(&s, &service_lua, "script", cases[i].script, more);
        if (!is_as_wanted(step_said(&s, cases[i].in), cases[i].want)) {
            printf("# script %s\n", cases[i].script);
            ok = false;
        }
    }
    return ok;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

TEST(a_script_gets_the_document_and_returns_its_bytes)
{
    static const struct lua_case cases[] = {
        { "return doc.bytes", "abc", "abc" },
        { "return doc.bytes:upper()", "abc", "ABC" },
        { "return doc.sender .. doc.receiver .. doc.type", "", "shoperporder" },
        { "return doc.name .. '|' .. doc.gateway .. '|' .. tostring(doc.content_type)", "",
          "a.txt|in|nil" },
        { "return doc.attributes.colour .. doc.attributes['order']", "", "blue4711" },
        { "return doc.id", "", "018bcfe5-6800-7063-8000-0000001c0000" },
        { "return tostring(now() == doc.received) .. now()", "", "true1700000000000000" },
        { "return nil", "abc", "-" },
        { "return false", "abc", "-" },
        { "", "abc", "-" },
        { "return ''", "abc", "" },
        { "local t = {} for k in pairs(_G) do t[#t + 1] = k end return table.concat(t, ' ')", "",
          "_G _VERSION assert doc error getmetatable hl7 ipairs json log math next now pairs pcall "
          "print rawequal rawget rawlen rawset select setmetatable string table tonumber tostring "
          "type utf8 xml xpcall" },
        { "return 5", "abc", "service_failed lua: it returned a number, not a text" },
        { "return {'a'}", "abc",
          "service_failed lua: it returned a table, not a text; with `many" },
        { "return 'a', 'b'", "abc", "service_failed lua: it returned 2 values" },
        { "return table.concat({'a', 'b', 'c'}, '-', 2)", "", "b-c" },
        { "return utf8.char(228) .. math.type(1) .. (7 // 2)", "", "\xc3\xa4integer3" },
        { "local t = setmetatable({}, { __index = function(_, k) return k end }) return t.x", "",
          "x" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(a_script_reaches_nothing_else)
{
    static const char *const gone[] = {
        "io",        "os",         "debug",       "package",         "require",
        "coroutine", "load",       "loadfile",    "dofile",          "collectgarbage",
        "warn",      "loadstring", "string.dump", "math.randomseed",
    };
    static const struct lua_case cases[] = {
        { "return tostring(getmetatable('').__index)", "", "service_failed lua: line 1: attempt" },
        { "print('x') return doc.bytes", "a", "a" },
        { "return string.format('%p', {})", "", "service_failed lua: line 1: bad argument #1" },
        { "local s = 'x' return s:rep(1e9)", "", "budget lua: it needs more memory than" },
        { "local s = {} for i = 1, 1e9 do s[i] = {} end", "",
          "budget lua: it needs more memory than" },
        { "local function f() return 1 + f() end return f()", "",
          "service_failed lua: line 1: stack overflow" },
    };

    for (size_t i = 0; i < COUNT(gone); i++) {
        AUTO(step_done) struct step s = { 0 };
        char script[80];

        (void)snprintf(script, sizeof script, "return tostring(%s)", gone[i]);
        CHECK(step_make(&s, &service_lua, "script", script, ""));
        CHECK(is_as_wanted(step_said(&s, ""), "nil"));
    }
    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(patterns_are_regular_expressions)
{
    static const struct lua_case cases[] = {
        { "return doc.bytes:match('(\\\\d+)-(\\\\d+)')", "a 12-34", "service_failed lua: it ret" },
        { "local a, b = doc.bytes:match('(\\\\d+)-(\\\\d+)') return b .. a", "a 12-34", "3412" },
        { "return (doc.bytes:match('[a-z]+$'))", "12 xyz", "xyz" },
        { "return tostring(doc.bytes:match('z'))", "abc", "nil" },
        { "local a, b, c = doc.bytes:find('b(.)') return a .. b .. c", "abcd", "23c" },
        { "local a, b = doc.bytes:find('.', 1, true) return a .. '-' .. b", "ab.c", "3-3" },
        { "local a = doc.bytes:find('a', -2) return a", "abca", "service_failed lua: it returned" },
        { "return '' .. doc.bytes:find('a', -2)", "abca", "4" },
        { "return tostring(doc.bytes:find('a', 99))", "abca", "nil" },
        { "local t = {} for w in doc.bytes:gmatch('\\\\w+') do t[#t + 1] = w end "
          "return table.concat(t, '|')",
          "one two  three", "one|two|three" },
        { "local t = {} for k, v in doc.bytes:gmatch('(\\\\w)=(\\\\w)') do t[#t + 1] = v .. k end "
          "return table.concat(t)",
          "a=1 b=2", "1a2b" },
        { "return (doc.bytes:gsub('o', '0'))", "foo boo", "f00 b00" },
        { "return (doc.bytes:gsub('o', '0', 1))", "foo", "f0o" },
        { "return (doc.bytes:gsub('(\\\\w+) (\\\\w+)', '%2 %1%%'))", "ab cd", "cd ab%" },
        { "return (doc.bytes:gsub('\\\\w+', { a = 'x', b = false }))", "a b c", "x b c" },
        { "return (doc.bytes:gsub('\\\\w+', function(w) return w:upper() end))", "a b", "A B" },
        { "return (doc.bytes:gsub('(.)', function(c) return (c:gsub('a', 'b')) end))", "cac",
          "cbc" },
        { "local _, n = doc.bytes:gsub('a', 'b') return '' .. n", "aaa", "3" },
        { "return (doc.bytes:gsub('', '-'))", "ab", "-a-b-" },
        { "return (doc.bytes:gsub(utf8.charpattern, '<%0>'))", "a\xc3\xa4", "<a><\xc3\xa4>" },
        { "return (doc.bytes:gsub('a', '%9'))", "a", "service_failed lua: line 1: the regular" },
        { "return doc.bytes:match('(')", "a", "service_failed lua: line 1: regular expression:" },
        { "return doc.bytes:match('\xc3\xa4+')", "a\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xa4" },
        { "return (doc.bytes:match('.', 3))",
          "a\xc3\xa4"
          "b",
          "\xc3\xa4" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(a_pattern_that_takes_too_long_cannot_be_caught)
{
    AUTO(step_done) struct step s = { 0 };
    char in[3001];

    memset(in, 'a', 2999);
    in[2999] = 'b';
    in[3000] = '\0';
    CHECK(step_make(&s, &service_lua, "script",
                    "pcall(string.find, doc.bytes, '^(a|aa)+$') return 'x'", ""));
    CHECK(is_as_wanted(step_said(&s, in), "budget lua: a regular expression takes too long"));
    CHECK(is_as_wanted(step_said(&s, "ab"), "x")); /* the next document is not harmed */
}

TEST(errors_have_the_line_and_the_message)
{
    static const struct lua_case cases[] = {
        { "local a = 1\nerror('no price')", "", "service_failed lua: line 2: no price" },
        { "local a = 1\n\nreturn a.b.c", "",
          "service_failed lua: line 3: attempt to index a number" },
        { "error({ code = 1 })", "", "service_failed lua: line 1: table" },
        { "error()", "", "service_failed lua: line 1: nil (an error without a message)" },
        { "error(setmetatable({}, { __tostring = function() return 'mine' end }))", "",
          "service_failed lua: line 1: mine" },
        { "error('a\\nb\\0c', 0)", "", "service_failed lua: a b c" },
        { "assert(false, 'not so')", "", "service_failed lua: line 1: not so" },
        /* syntax: refused when the step is made */
        { "return 1 +", "", "config `script`: line 1, column 11: unexpected symbol near <eof>" },
        { "x = = 2", "", "config `script`: line 1, column 5: unexpected symbol near '='" },
        { "local a\nlocal 5 = 1", "",
          "config `script`: line 2, column 7: <name> expected near '5'" },
        { "if x then\n  y()\n", "", "config `script`: line 3, column 1: 'end' expected (to close" },
        { "return 'abc", "", "config `script`: line 1, column 12: unfinished string" },
        { "goto nowhere", "", "config `script`: line 1, column" },
        { "\x1bLua", "", "config `script`: " },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(many_results_are_parts)
{
    static const struct lua_case cases[] = {
        { "return { 'a', 'b', '' }", "", "[a][b][]" },
        { "return 'a'", "", "[a]" },
        { "return { bytes = 'a' }", "", "[a]" },
        { "return {}", "", "-" },
        { "return nil", "", "-" },
        { "return { 'a', { bytes = 'b', receiver = 'x' } }", "", "[a][b]" },
        { "return { 'a', 5 }", "", "service_failed lua: a result is a number" },
        { "return { { receiver = 'x' } }", "", "service_failed lua: `bytes` of a result is a nil" },
        { "return { { bytes = 'x', type = {} } }", "", "service_failed lua: `type` of a result" },
        { "return { { bytes = 'x', type = 'a\\nb' } }", "", "service_failed lua: `type` of a res" },
        { "return { { bytes = 'x', attributes = { [1] = 'a' } } }", "",
          "service_failed lua: an attribute" },
        { "return 'a', 'b'", "", "service_failed lua: it returned 2 values" },
        { "local t = {} for i = 1, 100001 do t[i] = '' end return t", "",
          "limit lua: there are more than 100000 results" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ", many: true"));
}

TEST(a_part_has_the_head_that_the_script_gave_it)
{
    AUTO(step_done) struct step s = { 0 };

    CHECK(step_make(&s, &service_lua, "script",
                    "return { { bytes = 'x', sender = 's', receiver = 'r', type = 't', name = 'n',"
                    " content_type = 'text/plain', attributes = { b = 2, a = 'one' } }, 'y' }",
                    ", many: true"));
    CHECK(step_run(&s, STR("")) && s.got.part_count == 2);
    const struct service_part *h = &s.got.parts[0].head;

    CHECK(str_is(h->sender, "s") && str_is(h->receiver, "r") && str_is(h->type, "t"));
    CHECK(str_is(h->name, "n") && str_is(h->ctype, "text/plain") && h->parts == 2);
    CHECK(h->attribute_count == 2 && str_is(h->attributes[0].name, "a"));
    CHECK(str_is(h->attributes[0].value, "one") && str_is(h->attributes[1].value, "2"));
    CHECK(s.got.parts[1].head.receiver.ptr == NULL && s.got.parts[1].head.attribute_count == 0);
}

TEST(json_keeps_the_text_of_numbers)
{
    static const char *const same[] = {
        "1.10",
        "{\"a\":1.10,\"b\":123456789012345678901234567890,\"c\":[1,2.50,-0,1e5,0.1]}",
        "[12345678901234567,1E400,-0.0,100000000000000000000,5,5.0,1.5]",
        "[]",
        "{}",
        "[[],{},[{}]]",
        "[null,true,false,\"\"]",
        "\"a\\u0001\\\"\\\\\"",
        "{\"a\":{\"b\":{\"c\":[1,[2,[3]]]}}}",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
    };
    static const struct lua_case cases[] = {
        { "return json.encode(json.decode(doc.bytes))", "{ \"b\" : 1,\n \"a\" : [ 2 ] }",
          "{\"a\":[2],\"b\":1}" },
        { "return json.encode(json.decode(doc.bytes))", "\"\\u00e4\\ud83d\\ude00\\n\"",
          "\"\xc3\xa4\xf0\x9f\x98\x80\\n\"" },
        { "local d = json.decode(doc.bytes) return json.encode({ d.a + 1, d.a * 2, -d.a, d.a < 2 "
          "})",
          "{\"a\":1.10}", "[2.1,2.2,-1.1,true]" },
        { "local d = json.decode(doc.bytes) return d.a .. ' ' .. tostring(d.a) .. tonumber(d.a)",
          "{\"a\":1.10}", "1.10 1.101.1" },
        { "return json.encode({ a = 10 / 2, b = 1 / 3, c = 2^53 })", "",
          "{\"a\":5,\"b\":0.3333333333333333,\"c\":9007199254740992}" },
        { "return json.encode({ a = json.null, b = json.array(), c = {}, d = json.array({ 1 }) })",
          "", "{\"a\":null,\"b\":[],\"c\":{},\"d\":[1]}" },
        { "return tostring(json.decode(doc.bytes).a == json.null)", "{\"a\":null}", "true" },
        { "return json.encode(0 / 0)", "", "service_failed lua: line 1: json: nan" },
        { "return json.encode({ 1, 2, a = 3 })", "",
          "service_failed lua: line 1: json: a table is" },
        { "return json.encode({ [1.5] = 1 })", "", "service_failed lua: line 1: json: the name" },
        { "return json.encode(print)", "", "service_failed lua: line 1: json: a function" },
        { "return json.encode('\\255')", "",
          "service_failed lua: line 1: json: a text is not UTF" },
        { "local t = {} t.t = t return json.encode(t)", "",
          "service_failed lua: line 1: json: more" },
        { "return json.decode(doc.bytes)", "{\"a\":1,\"a\":2}",
          "service_failed lua: line 1: json: the name \"a\"" },
        { "return json.decode(doc.bytes)", "{\"a\":", "service_failed lua: line 1: not JSON: " },
        { "return json.decode(doc.bytes)", "\"\\ud83d\"",
          "service_failed lua: line 1: json: half" },
    };

    for (size_t i = 0; i < COUNT(same); i++) {
        struct lua_case one = { "return json.encode(json.decode(doc.bytes))", same[i], same[i] };

        CHECK(all_as_wanted(&one, 1, ""));
    }
    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(xml_is_read_and_written)
{
    static const char *const same[] = {
        "<a/>",
        "<a x=\"1\" y=\"&lt;&amp;&quot;&#10;\">text &lt;&amp;&gt;<b/>more<c>\xc3\xa4</c></a>",
        "<s:E xmlns:s=\"urn:x\"><s:B/></s:E>",
    };
    static const struct lua_case cases[] = {
        { "local x = xml.decode(doc.bytes) return x.name .. x.attributes.k .. x[1] .. x[2].name",
          "<a k='v'>t<b/></a>", "avtb" },
        { "return xml.encode({ name = 'a', attributes = { b = 1 }, 'x', 5, { name = 'c' } })", "",
          "<a b=\"1\">x5<c/></a>" },
        { "return xml.encode(xml.decode(doc.bytes))",
          "<?xml version='1.0'?>\n<a><![CDATA[<]]>&#65;"
          "<!-- c --></a>",
          "<a>&lt;A</a>" },
        { "return xml.encode({ name = '1a' })", "", "service_failed lua: line 1: xml: an element" },
        { "return xml.encode({ name = 'a b' })", "",
          "service_failed lua: line 1: xml: an element" },
        { "return xml.encode({ name = 'a', '\\1' })", "",
          "service_failed lua: line 1: xml: a text" },
        { "local t = { name = 'a' } t[1] = t return xml.encode(t)", "",
          "service_failed lua: line 1: xml: more than" },
        { "return xml.decode(doc.bytes)", "<a>\n<b></a>",
          "service_failed lua: line 1: not XML: mismatched tag, line 2, column" },
        { "return xml.decode(doc.bytes)", "<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>",
          "service_failed lua: line 1: not XML: a document type" },
        { "return xml.decode(doc.bytes)", "", "service_failed lua: line 1: not XML: no element" },
        { "return xml.decode(('<a>'):rep(300))", "",
          "service_failed lua: line 1: not XML: there are" },
    };

    for (size_t i = 0; i < COUNT(same); i++) {
        struct lua_case one = { "return xml.encode(xml.decode(doc.bytes))", same[i], same[i] };

        CHECK(all_as_wanted(&one, 1, ""));
    }
    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(hl7_has_values_by_their_path)
{
    static const char message[] = "MSH|^~\\&|LAB|WEST|HIS|MAIN|2026||ORU^R01|77|P|2.5\r"
                                  "PID|1||4711^^^MR~99^^^SS||Doe\\T\\Sons^Ann\rOBX|1|NM|a||1\r"
                                  "OBX|2|NM|b||2\r";
    static const struct lua_case cases[] = {
        { "return hl7.get(doc.bytes, 'PID-3.1') .. hl7.get(doc.bytes, 'PID-3[2].4')", message,
          "4711SS" },
        { "return hl7.get(doc.bytes, 'PID-5.1') .. hl7.get(doc.bytes, 'OBX[2]-5')", message,
          "Doe&Sons2" },
        { "return tostring(hl7.get(doc.bytes, 'PID-40'))", message, "nil" },
        { "local m = hl7.set(doc.bytes, 'PID-5.2', 'A|B') return hl7.get(m, 'PID-5.2')", message,
          "A|B" },
        { "return (hl7.set(doc.bytes, 'MSH-3', 'X'):match('^[^\\r]*'))", message,
          "MSH|^~\\&|X|WEST|HIS|MAIN|2026||ORU^R01|77|P|2.5" },
        { "return hl7.get(doc.bytes, 'PID')", message, "service_failed lua: line 1: hl7: \"PID\"" },
        { "return hl7.get('no message', 'PID-3')", "", "service_failed lua: line 1: hl7: " },
        { "return hl7.set(doc.bytes, 'ZZZ-1', 'x')", message, "service_failed lua: line 1: hl7: " },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

/* chance comes from the document's id, order from the keys, time from accept.
 * proves: PR16 */
TEST(the_same_document_gives_the_same_bytes)
{
    static const char script[] =
        "local t, out = {}, {}\n"
        "for i = 1, 200 do t['k' .. i * 7919 % 1000] = i end\n"
        "t[3], t[1.5], t[-1], t[true] = 1, 2, 3, 4\n"
        "for k, v in pairs(t) do out[#out + 1] = tostring(k) .. '=' .. v end\n"
        "local k = nil repeat k = next(t, k) out[#out + 1] = tostring(k) until k == nil\n"
        "return table.concat(out, ' ') .. tostring({}) .. tostring(print)\n"
        "    .. string.format('%s', {}) .. math.random(1 << 40) .. now()";
    AUTO(step_done) struct step s = { 0 };
    char first[16 << 10];

    CHECK(step_make(&s, &service_lua, "script", script, ""));
    (void)snprintf(first, sizeof first, "%s", step_said(&s, ""));
    CHECK(s.ok && strncmp(first, "-1=3 1.5=2 3=1 k", 16) == 0);
    CHECK(strstr(first, "0x") == NULL && strstr(first, "true nil") != NULL);
    CHECK(strcmp(step_said(&s, ""), first) == 0);
    s.document.id = id_make(1700000000000000, 8, 99);
    CHECK(strcmp(step_said(&s, ""), first) != 0);
}

/* A list that is as hard to sort as the function can make it: Lua's own takes the clock then.
 * proves: PR16 */
TEST(a_list_is_sorted_in_the_same_way_each_time)
{
    static const char script[] =
        "local value, solid, asked, candidate, list = {}, 0, 0, 0, {}\n"
        "for i = 1, 3000 do list[i] = i end\n"
        "local function freeze(x) value[x] = solid solid = solid + 1 end\n"
        "table.sort(list, function(x, y)\n"
        "    asked = asked + 1\n"
        "    if not value[x] and not value[y] then freeze(x == candidate and x or y) end\n"
        "    if not value[x] then candidate = x elseif not value[y] then candidate = y end\n"
        "    return (value[x] or 1e9) < (value[y] or 1e9)\n"
        "end)\n"
        "return asked .. ':' .. table.concat(list, ' ')";
    AUTO(step_done) struct step s = { 0 };
    char first[32 << 10];

    CHECK(step_make(&s, &service_lua, "script", script, ""));
    (void)snprintf(first, sizeof first, "%s", step_said(&s, ""));
    CHECK(s.ok);
    for (int i = 0; i < 5; i++)
        CHECK(strcmp(step_said(&s, ""), first) == 0);
}

TEST(a_list_is_sorted)
{
    static const struct lua_case cases[] = {
        { "local t = { 5, 2, 8, 1, 9, 2, 7 } table.sort(t) return table.concat(t, ' ')", "",
          "1 2 2 5 7 8 9" },
        { "local t = { 'b', 'a', 'c' } table.sort(t, function(x, y) return x > y end) return "
          "table.concat(t)",
          "", "cba" },
        { "local t = {} for i = 1, 9 do t[i] = { i % 3, i } end table.sort(t, function(x, y) "
          "return "
          "x[1] < y[1] end) local o = {} for i, v in ipairs(t) do o[i] = v[2] end return "
          "table.concat(o)",
          "", "369147258" },
        { "local t = { 3, 1, 2 } pcall(table.sort, t, error) return table.concat(t)", "", "312" },
        { "local t = {} table.sort(t) t[1] = 1 table.sort(t) return '' .. #t", "", "1" },
        { "table.sort({ 1, 'a' }) return ''", "", "service_failed lua: attempt to compare" },
        { "table.sort({ 1, 2 }, 5) return ''", "", "service_failed lua: line 1: bad argument #2" },
        { "table.sort('x')", "", "service_failed lua: line 1: bad argument #1" },
        { "table.sort(setmetatable({}, { __len = function() return 1 << 40 end }))", "",
          "service_failed lua: line 1: bad argument #1" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(keys_without_an_order_are_an_error)
{
    static const struct lua_case cases[] = {
        { "for k in pairs({ [{}] = 1 }) do end", "",
          "service_failed lua: line 1: a table with a t" },
        { "return next({ [print] = 1 })", "", "service_failed lua: line 1: a table with a f" },
        { "return tostring(next({}))", "", "nil" },
        { "local t, n = { a = 1, b = 2, c = 3 }, 0 "
          "for k in pairs(t) do t.b = nil n = n + 1 end return '' .. n",
          "", "2" },
        { "local t = setmetatable({}, { __pairs = function() return function(_, k) "
          "if not k then return 1, 2 end end end }) for k, v in pairs(t) do return k .. v end",
          "", "12" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(nothing_stays_from_one_document_to_the_next)
{
    AUTO(step_done) struct step s = { 0 };

    CHECK(step_make(&s, &service_lua, "script",
                    "n = (n or 0) + 1 string.seen = (string.seen or 0) + 1 "
                    "return n .. string.seen .. math.random(1 << 30)",
                    ""));
    const char *said = step_said(&s, "");
    char first[100];

    (void)snprintf(first, sizeof first, "%s", said);
    CHECK(strncmp(first, "11", 2) == 0 && strcmp(step_said(&s, ""), first) == 0);
}

TEST(log_is_a_line_of_the_timeline)
{
    AUTO(step_done) struct step s = { 0 };

    CHECK(step_make(&s, &service_lua, "script",
                    "log('one') print('two', 2, nil, {}) for i = 1, 50 do log(i) end "
                    "log(('x'):rep(1000)) return ''",
                    ""));
    CHECK(step_run(&s, STR("")) && s.got.note_count == SERVICE_NOTES_MOST);
    CHECK(str_is(s.got.notes[0], "one") && str_is(s.got.notes[1], "two\t2\tnil\ttable"));
}

TEST(many_patterns_at_once_work)
{
    AUTO(step_done) struct step s = { 0 };

    CHECK(step_make(
        &s, &service_lua, "script",
        "local n = 0\n"
        "for i = 1, 300 do\n"
        "  for x in ('a' .. i):gmatch('a' .. i) do\n"
        "    for j = 1, 5 do if ('b' .. i + j):find('b' .. i + j) then n = n + 1 end end\n"
        "  end\n"
        "end\n"
        "return '' .. n",
        ""));
    CHECK(is_as_wanted(step_said(&s, ""), "1500"));
    CHECK(is_as_wanted(step_said(&s, ""), "1500"));
}

int main(void)
{
    return test_main();
}
