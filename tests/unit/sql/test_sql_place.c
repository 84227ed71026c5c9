/* The key `dsn`: what is passed on, and what is not.  proves: S6 */
#include "base/auto.h"
#include "sql/sql_place.h"
#include "test.h"

static bool parses(const char *dsn, struct arena *a, struct sql_place *ret)
{
    struct err err = { 0 };
    bool ok = sql_place_parse(str_of(dsn), a, ret, &err);

    if (!ok)
        printf("# %s\n", err.text);
    return ok;
}

static bool refuses(const char *dsn, const char *word)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place p;
    struct err err = { 0 };

    if (sql_place_parse(str_of(dsn), &a, &p, &err))
        return false;
    if (strstr(err.text, word) == NULL || strstr(err.text, "hunter2") != NULL)
        printf("# %s\n", err.text);
    return err.kind == ERR_CONFIG && strstr(err.text, word) != NULL &&
           strstr(err.text, "hunter2") == NULL;
}

TEST(sql_place_is_written_anew)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place p;

    CHECK(parses(" driver = { PostgreSQL Unicode } ; SERVER=db ;port=5433; ; Database=o;UID=u; "
                 "pwd={a;b}}c= }",
                 &a, &p));
    CHECK(str_is(p.driver, "PostgreSQL Unicode"));
    CHECK(p.port == 5433 && str_is(p.server, "db") && p.file.len == 0);
    CHECK(strstr(p.connect.ptr, "Server=db;Port=5433;Database=o;UID=u;PWD={a;b}}c= };") != NULL);
    CHECK(strstr(p.connect.ptr, "UseDeclareFetch=1;") != NULL);
    CHECK(parses("Driver=MariaDB Unicode;Server=db;Charset=utf8", &a, &p));
    CHECK(p.port == 3306 && strstr(p.connect.ptr, "Charset=utf8;") != NULL);
    CHECK(strstr(p.connect.ptr, "utf8mb4") == NULL);
    CHECK(parses("Driver=SQLite3;Database=/srv/a b.db", &a, &p));
    CHECK(str_is(p.file, "/srv/a b.db") && p.port == 0);
    CHECK(parses("Driver=PostgreSQL Unicode;Server=db;SSLrootcert=/etc/ca.pem", &a, &p));
    CHECK(str_is(p.ca, "/etc/ca.pem") && strstr(p.connect.ptr, "ca.pem") == NULL);
}

TEST(sql_place_keys_differ_by_all_that_a_connection_has)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place p, q;

    CHECK(parses("Driver=X;Server=db;PWD=a", &a, &p) && parses("Driver=X;Server=db;PWD=b", &a, &q));
    CHECK(memcmp(&p.key, &q.key, sizeof p.key) != 0);
    CHECK(parses("driver=X; server=db; PWD={a}", &a, &q));
    CHECK(memcmp(&p.key, &q.key, sizeof p.key) == 0);
}

TEST(sql_place_knows_who_wants_tls)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place p;

    CHECK(parses("Driver=PostgreSQL Unicode;Server=db;SSLmode=verify-full", &a, &p) && p.tls);
    CHECK(parses("Driver=PostgreSQL Unicode;Server=db;SSLmode=prefer", &a, &p) && !p.tls);
    CHECK(parses("Driver=MariaDB Unicode;Server=db;ForceTLS=1", &a, &p) && p.tls);
    CHECK(parses("Driver=MariaDB Unicode;Server=db;ForceTLS=0;SSLVerify=0", &a, &p) && !p.tls);
    CHECK(parses("Driver=MariaDB Unicode;Server=db;SSLCA=/etc/ca.pem", &a, &p) && p.tls);
    CHECK(parses("Driver=FreeTDS;Server=db;Encryption=require", &a, &p) && p.tls);
}

TEST(sql_place_names_no_library)
{
    CHECK(refuses("Driver=/usr/lib/x.so", "never a path"));
    CHECK(refuses("Driver={/usr/lib/x.so};Server=a", "never a path"));
    CHECK(refuses("Driver=libx.so;Server=a", "never a path"));
    CHECK(refuses("Driver=libx.so.2;Server=a", "never a path"));
    CHECK(refuses("Driver=..\\x;Server=a", "never a path"));
    CHECK(refuses("Driver=;Server=a", "never a path"));
    CHECK(refuses("Driver=a]b;Server=a", "never a path"));
    CHECK(refuses("Driver=X;Server=a;Driver=Y", "twice"));
    CHECK(refuses("Driver=SQLite3;Database=/a;LoadExt=/x.so", "LoadExt"));
    CHECK(refuses("Driver=MariaDB;Server=a;PLUGIN_DIR=/x", "PLUGIN_DIR"));
    CHECK(refuses("DSN=orders", "kept elsewhere"));
    CHECK(refuses("FILEDSN=/a", "kept elsewhere"));
    CHECK(refuses("Driver=X;SAVEFILE=/a", "SAVEFILE"));
}

TEST(sql_place_mistakes_are_told_without_secrets)
{
    CHECK(refuses("nonsense", "KEY=VALUE"));
    CHECK(refuses("=x", "KEY=VALUE"));
    CHECK(refuses("Server=a;UID=b", "no driver"));
    CHECK(refuses("Driver=X;PWD={hunter2", "no }"));
    CHECK(refuses("Driver=X;PWD={hunter2}x;UID=a", "no }"));
    CHECK(refuses("Driver=X;PWD=ab;hunter2 cd=5", "not passed on"));
    CHECK(refuses("Driver=X;Password=ab;hunter2=5", "not passed on"));
    CHECK(refuses("Driver=X;Port=0", "65535"));
    CHECK(refuses("Driver=X;Port=70000", "65535"));
    CHECK(refuses("Driver=SQLite3;Database=a.db", "begins with /"));
    CHECK(refuses("Driver=SQLite3", "begins with /"));
    CHECK(refuses("Driver=SQLite3;Database={/a;b}", "SQLite"));
    CHECK(refuses("Driver=X;UID=a\nb", "control"));
    CHECK(refuses("Driver=X;SSLCA=ca.pem", "begins with /"));
}

int main(void)
{
    return test_main();
}
