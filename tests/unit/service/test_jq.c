#include "service/step.h"

#include <stdlib.h>

#include "folder.h"
#include "service/other_program.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

struct jq_case {
    const char *filter, *in, *want;
};

static bool is_as_wanted(const char *said, const char *want, const char *filter)
{
    if (strcmp(said, want) == 0 ||
        (strchr(want, ' ') != NULL && strncmp(said, want, strlen(want)) == 0))
        return true;
    printf("# got    %s\n# want   %s\n# filter %s\n", said, want, filter);
    return false;
}

static bool all_as_wanted(const struct jq_case *cases, size_t count, const char *more)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        AUTO(step_done) struct step s = { 0 };

        (void)step_make(&s, &service_jq, "filter", cases[i].filter, more);
        ok &= is_as_wanted(step_said(&s, cases[i].in), cases[i].want, cases[i].filter);
    }
    return ok;
}

TEST(a_filter_gives_none_or_one)
{
    static const struct jq_case cases[] = {
        { ".", "{ \"a\" : [ 1, 2 ] }", "{\"a\":[1,2]}" },
        { ".a", "{\"a\":\"x\"}", "\"x\"" },
        { "{ b: .a, c: (.a | length) }", "{\"a\":[1,2,3]}", "{\"b\":[1,2,3],\"c\":3}" },
        { "empty", "{}", "-" },
        { "select(.ok)", "{\"ok\":false}", "-" },
        { ".[]", "[1]", "1" },
        { ".[]", "[1,2]", "service_failed jq: there is more than one result; with `many: true`" },
        { "range(1000000000)", "1", "service_failed jq: there is more than one result" },
        { ".a.b", "{\"a\":[]}", "service_failed jq: Cannot index array with string \"b\"" },
        { "error(\"no \" + .id)", "{\"id\":\"7\"}", "service_failed jq: no 7" },
        { "error({ a: 1 })", "1", "service_failed jq: {\"a\":1}" },
        { ".", "{\"a\":}", "service_failed jq: not JSON: " },
        { ".", "[1] [2]", "service_failed jq: not JSON: " },
        { ".", "", "service_failed jq: not JSON: " },
        { ".", "nan", "service_failed jq: not JSON: " },
        { "def f(x): x * 2; f(.)", "21", "42" },
        { "\"\xc3\xa4\"", "1", "\"\xc3\xa4\"" },
        { "# only\n.a # a\n", "{\"a\":1}", "1" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(many_results_of_a_filter_are_parts)
{
    static const struct jq_case cases[] = {
        { ".[]", "[1,{\"a\":2},null]", "[1][{\"a\":2}][null]" },
        { ".[]", "[1]", "[1]" },
        { ".[]", "[]", "-" },
        { ".[] | if . == 2 then error(\"two\") else . end", "[1,2]", "service_failed jq: two" },
        { "range(100001)", "1", "limit jq: there are more than 100000 results" },
    };
    AUTO(step_done) struct step s = { 0 };

    CHECK(all_as_wanted(cases, COUNT(cases), ", many: true"));
    CHECK(step_make(&s, &service_jq, "filter", ".[]", ", many: true"));
    CHECK(step_run(&s, STR("[1,2,3]")) && s.got.parts[2].head.parts == 3);
}

/* the clock of a filter is the time of accept.
 * proves: PR16 */
TEST(a_filter_reaches_nothing_but_its_document)
{
    static const struct jq_case cases[] = {
        { "env", "1", "{}" },
        { "env.HOME", "1", "null" },
        { "$ENV", "1", "{}" },
        { "$ENV.PATH", "1", "null" },
        { "def f: $ENV; f", "1", "{}" },
        { "input", "1", "service_failed jq: there is one document" },
        { "[inputs]", "1", "[]" },
        { "first(inputs)", "1", "-" },
        { "input_filename", "1", "null" },
        { "input_line_number", "1", "0" },
        { "stderr", "1", "1" },
        { "get_search_list", "1", "[]" },
        { "\"/etc/passwd\" | modulemeta", "1", "service_failed jq: there are no modules" },
        { "now", "1", "1700000000" },
        { "now | todate", "1", "\"2023-11-14T22:13:20Z\"" },
        { "now | localtime | mktime", "1", "1700000000" },
        { "now | strflocaltime(\"%H:%M\")", "1", "\"22:13\"" },
        { "$__loc__.line", "1", "1" },
        { "halt", "1", "-" },
        { "., halt", "1", "1" },
        { "\"bad\" | halt_error", "1", "service_failed jq: bad" },
        { "document | .sender + .receiver + .type + .name + .attributes.colour", "1",
          "\"shoperpordera.txtblue\"" },
        { "import \"a\" as a; .", "1", "config `filter`: line 1, column 1" },
        { "include \"a\"; .", "1", "config `filter`: line 1, column 1" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(a_mistake_in_a_filter_has_its_place)
{
    static const struct jq_case cases[] = {
        { ".foo bar", "1", "config `filter`: line 1, column 6: syntax error, unexpected IDENT" },
        { ".a |\n .b |\n ]", "1", "config `filter`: line 3, column 2: syntax error" },
        { "foo(1)", "1", "config `filter`: line 1, column 1: foo/1 is not defined" },
        { ".a\n| nope", "1", "config `filter`: line 2, column 3: nope/0 is not defined" },
        { ". as $x | $y", "1", "config `filter`: line 1, column 11: $y is not defined" },
        { "{ a: .b", "1", "config `filter`: line 1, column 8: syntax error" },
        { "", "1", "config `filter`: line 1, column 1: syntax error" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(a_number_that_a_double_would_change_is_refused)
{
    static const struct jq_case exact[] = {
        { ".", "[1.10, 0.1, 1e2, 123456789012345, 1.0, -0.5]",
          "[1.1,0.1,100,123456789012345,1,-0.5]" },
        { ".", "9007199254740993",
          "service_failed jq: it would change the number 9007199254740993 "
          "at byte 0, line 1; `numbers: approximate` accepts that" },
        { ".a", "{\n \"a\": 1,\n \"b\": 12345678901234567890123456789}",
          "service_failed jq: it would change the number 12345678901234567890123456789 at byte 17, "
          "line 3" },
        { ".", "1e400", "service_failed jq: it would change the number 1e400" },
        { ".", "1e-400", "service_failed jq: it would change the number 1e-400" },
        { ".", "[\"9007199254740993\"]", "[\"9007199254740993\"]" },
    };
    static const struct jq_case approximate[] = {
        { ".", "9007199254740993", "9007199254740992" },
        { ".", "1e400", "1.7976931348623157e+308" },
    };

    CHECK(all_as_wanted(exact, COUNT(exact), ""));
    CHECK(all_as_wanted(approximate, COUNT(approximate), ", numbers: approximate"));
}

TEST(a_document_that_is_too_deep_is_refused)
{
    AUTO(step_done) struct step s = { 0 };
    char in[20001];

    memset(in, '[', 10000);
    memset(in + 10000, ']', 10000);
    in[20000] = '\0';
    CHECK(step_make(&s, &service_jq, "filter", ".", ""));
    CHECK(is_as_wanted(step_said(&s, in), "service_failed jq: not JSON: ", "."));
    in[10300] = '\0';
    CHECK(is_as_wanted(step_said(&s, in + 9700), "service_failed jq: Exceeds depth", "."));
    CHECK(is_as_wanted(step_said(&s, "[[1]]"), "[[1]]", "."));
}

TEST(debug_is_a_line_of_the_timeline)
{
    AUTO(step_done) struct step s = { 0 };

    CHECK(step_make(&s, &service_jq, "filter", ".a | debug | .[0]", ""));
    CHECK(step_run(&s, STR("{\"a\":[1,\"x\"]}")) && s.got.note_count == 1);
    CHECK(str_is(s.got.notes[0], "[1,\"x\"]") && str_is(buf_view(&s.got.out), "1"));
}

/* ---- the same as the program jq ---- */

static const char sample[] =
    "{\"id\":17,\"name\":\"Ann \\u00c4 \\\"x\\\"\",\"ok\":true,\"none\":null,\"price\":12.50,"
    "\"tags\":[\"b\",\"a\",\"c\",\"a\"],\"lines\":[{\"sku\":\"A-1\",\"qty\":2,\"unit\":3.5},"
    "{\"sku\":\"B-2\",\"qty\":10,\"unit\":0.1},{\"sku\":\"C-3\",\"qty\":0,\"unit\":99}],"
    "\"at\":\"2023-11-14T22:13:20Z\",\"nested\":{\"a\":{\"b\":[1,[2,[3]]]}}}";

static const char *const filters[] = {
    ".",
    ".name",
    ".lines | map(.qty * .unit) | add",
    "[.lines[] | select(.qty > 1) | .sku]",
    ".tags | sort | unique",
    ".tags | group_by(.) | map({ key: .[0], value: length }) | from_entries",
    "to_entries | map(.key)",
    "with_entries(select(.value | type == \"number\"))",
    "[paths(scalars)] | length",
    "[.. | numbers]",
    ".nested | flatten? // \"no\"",
    ".nested.a.b | flatten",
    ".lines | map({ (.sku): .qty }) | add",
    "del(.lines, .nested)",
    ".lines[0].qty += 5 | .lines[0]",
    ".price as $p | .lines | map(.unit / $p)",
    "[.lines[].sku | capture(\"(?<a>[A-Z])-(?<n>[0-9])\")]",
    ".name | ascii_downcase | split(\" \")",
    ".tags | join(\",\")",
    ".at | fromdate",
    ".at | fromdate | todate",
    "[.lines[] | [.sku, .qty] | @csv]",
    "@base64 \"x\\(.name)\"",
    ".name | @uri",
    ".name | @html",
    "[limit(2; .lines[])] | length",
    "reduce .lines[] as $l (0; . + $l.qty)",
    "[foreach .tags[] as $t (0; . + 1; [$t, .])]",
    ".lines | max_by(.unit) | .sku",
    "if .ok then .id else .none end",
    "[.lines[] | try error(.sku) catch .]",
    ".none // \"fallback\"",
    "tojson | fromjson | .price",
    ".lines | [.[] | .unit * 3]",
    "[splits(\"a\")]? // [.name | test(\"ANN\"; \"i\")]",
};

TEST(results_are_those_of_the_program_jq)
{
    AUTO(folder_done) struct folder f = folder_make();

    CHECK(f.fd >= 0 && COUNT(filters) >= 30);
    CHECK(other_program_file(&f, "in.json", str_of(sample)));
    for (size_t i = 0; i < COUNT(filters); i++) {
        AUTO(buf_done) struct buf want = BUF_INIT(1 << 20);
        AUTO(step_done) struct step s = { 0 };

        CHECK(other_program_file(&f, "filter.jq", str_of(filters[i])));
        CHECK(other_program_run(&f, "jq -c -f filter.jq in.json", &want) == 0);
        CHECK(want.len > 0 && want.ptr[want.len - 1] == '\n');
        want.ptr[--want.len] = '\0';
        CHECK(step_make(&s, &service_jq, "filter", filters[i], ", numbers: approximate"));
        CHECK(is_as_wanted(step_said(&s, sample), want.ptr, filters[i]));
        CHECK(is_as_wanted(step_said(&s, sample), want.ptr, filters[i])); /* once more */
    }
}

int main(void)
{
    return test_main();
}
