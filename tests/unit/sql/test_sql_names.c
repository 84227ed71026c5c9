/* Parameters by name: what is one, and what cannot be read for certain. */
#include "base/auto.h"
#include "sql/sql_names.h"
#include "test.h"

static bool reads(const char *text, const char *out, const char *names)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_names n;
    struct err err = { 0 };
    char all[200] = "";

    if (!sql_names_parse(str_of(text), &a, &n, &err)) {
        printf("# %s\n", err.text);
        return false;
    }
    for (size_t i = 0; i < n.count; i++)
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.*s", i > 0 ? " " : "",
                       STR_ARG(n.names[i]));
    if (!str_is(n.text, out) || strcmp(all, names) != 0)
        printf("# %s, %s\n", n.text.ptr, all);
    return str_is(n.text, out) && strcmp(all, names) == 0;
}

static bool refuses(const char *text, const char *word)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_names n;
    struct err err = { 0 };

    if (sql_names_parse(str_of(text), &a, &n, &err))
        return false;
    if (strstr(err.text, word) == NULL)
        printf("# %s\n", err.text);
    return err.kind == ERR_CONFIG && strstr(err.text, word) != NULL;
}

TEST(sql_names_become_parameters)
{
    CHECK(
        reads("insert into t values (:id, :payload)", "insert into t values (?, ?)", "id payload"));
    CHECK(reads("select :a_1+:a_1", "select ?+?", "a_1 a_1"));
    CHECK(reads("select 1", "select 1", ""));
    CHECK(reads("values (:x::jsonb, y::int, 10::numeric)", "values (?::jsonb, y::int, 10::numeric)",
                "x"));
    CHECK(reads("set @a := 1, b = a[1:2]", "set @a := 1, b = a[1:2]", ""));
}

TEST(sql_names_stay_in_quotes_and_comments)
{
    CHECK(reads("select ':a ''?' , \":b\", `:c`, :d", "select ':a ''?' , \":b\", `:c`, ?", "d"));
    CHECK(reads("select 1 -- :a ' ?\n, :b", "select 1 -- :a ' ?\n, ?", "b"));
    CHECK(reads("select /* :a ' ? */ :b", "select /* :a ' ? */ ?", "b"));
    CHECK(reads("select 5 - -:b / 2", "select 5 - -? / 2", "b"));
    CHECK(reads("select '\\n', :b", "select '\\n', ?", "b"));
}

TEST(sql_names_what_is_not_certain_is_refused)
{
    CHECK(refuses("select ?", "parameters have names"));
    CHECK(refuses("select 'a", "no end"));
    CHECK(refuses("select 'a\\', :b, '", "backslash"));
    CHECK(refuses("select /* a", "comment"));
    CHECK(refuses("select /* a /* b */ :c */ 1", "comment"));
    CHECK(refuses("select $$ :a $$", "single quotes"));
    CHECK(refuses("select $x$ :a $x$", "single quotes"));
    CHECK(refuses("  ", "empty"));
    CHECK(refuses("select 1\n,\n?", "line 3"));
}

TEST(sql_names_have_limits)
{
    static char text[SQL_STATEMENT_MOST + 2];
    char many[SQL_PARAMETERS_MOST * 3 + 10] = "";

    memset(text, ' ', sizeof text - 1);
    text[0] = 'x';
    CHECK(refuses(text, "bytes"));
    for (size_t i = 0; i <= SQL_PARAMETERS_MOST; i++)
        memcpy(many + i * 3, ":a ", 4);
    CHECK(refuses(many, "too many"));
    memset(text, 'a', 100);
    text[0] = ':';
    text[100] = '\0';
    CHECK(refuses(text, "too long"));
}

int main(void)
{
    return test_main();
}
