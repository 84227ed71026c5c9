#include "core/ftp/ftp_list.h"

#include "test.h"

enum { NOW = 1794999542 }; /* 2026-11-18 10:59:02 */

struct list_case {
    const char *line;
    enum ftp_list_line is;
    const char *name;
    enum ftp_list_kind kind;
    int64_t size, time_s;
};

#define FILE_OF(line, name, size, time)                       \
    {                                                         \
        line, FTP_LIST_ENTRY, name, FTP_LIST_FILE, size, time \
    }
#define FOLDER_OF(line, name, size, time)                       \
    {                                                           \
        line, FTP_LIST_ENTRY, name, FTP_LIST_FOLDER, size, time \
    }
#define NO(line)                                         \
    {                                                    \
        line, FTP_LIST_UNREAD, NULL, FTP_LIST_FILE, 0, 0 \
    }
#define NONE(line)                                     \
    {                                                  \
        line, FTP_LIST_NONE, NULL, FTP_LIST_FILE, 0, 0 \
    }

static bool list_case_holds(const struct list_case *c, enum ftp_list_line is,
                            const struct ftp_list_entry *e)
{
    bool ok =
        is == c->is && (is != FTP_LIST_ENTRY || (str_is(e->name, c->name) && e->kind == c->kind &&
                                                 e->size == c->size && e->time_s == c->time_s));

    struct str name = is == FTP_LIST_ENTRY ? e->name : STR("");

    if (!ok)
        printf("# %s: %d <%.*s> kind %d size %lld time %lld\n", c->line, (int)is, STR_ARG(name),
               (int)e->kind, (long long)e->size, (long long)e->time_s);
    return ok;
}

TEST(facts_of_mlsd)
{
    static const struct list_case cases[] = {
        FILE_OF("type=file;size=12;modify=20261118105902; a.xml", "a.xml", 12, NOW),
        FILE_OF("Size=12;Modify=20261118105902.123;Type=FILE;Unique=x; a b ", "a b ", 12, NOW),
        FILE_OF("type=file;size=0;modify=19700101000001;  lead", " lead", 0, 1),
        FILE_OF("type=file;size=9223372036854775807; a", "a", INT64_MAX, 0),
        FILE_OF(" bare", "bare", -1, 0),
        FILE_OF("type=file a; b", "a; b", -1, 0), /* without the last `;` */
        FILE_OF("type=file;size=1;modify=20261118; a", "a", 1, 0),
        FILE_OF("type=file;size=1;modify=20261332105902; a", "a", 1, 0),
        FILE_OF("type=file;size=1;modify=191001118105902; a", "a", 1, 0),
        FILE_OF("type=file;x=y=z;=;;size=1; a", "a", 1, 0),
        FILE_OF("type=file;size=1; a\r", "a", 1, 0),
        FILE_OF("type=file;size=1; \xff\x01\x1b", "\xff\x01\x1b", 1, 0),
        FILE_OF("type=file;size=1; ...", "...", 1, 0),
        FOLDER_OF("type=dir;modify=20240229000000; sub", "sub", -1, 1709164800),
        { "type=OS.unix=slink:/etc/passwd; l", FTP_LIST_ENTRY, "l", FTP_LIST_LINK, -1, 0 },
        { "type=OS.unix=chr-1/3;size=0; null", FTP_LIST_ENTRY, "null", FTP_LIST_OTHER, 0, 0 },
        NONE("type=cdir;modify=20240229000000; ."),
        NONE("type=pdir; .."),
        NONE("type=pdir; /"),
        NONE("type=dir; .."),
        NO(""),
        NO("\r"),
        NO("type=file;size=1;"),
        NO("type=file;size=1; "),
        NO("type=file;size=-1; a"),
        NO("type=file;size=99999999999999999999; a"),
        NO("type=file;size=1; ../../etc/passwd"),
        NO("type=file;size=1; /etc/passwd"),
        NO("type=file;size=1; a\rb"),
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ftp_list_entry e;
        enum ftp_list_line is = ftp_list_facts(str_of(cases[i].line), &e);

        CHECK(list_case_holds(&cases[i], is, &e));
    }
}

TEST(a_nul_is_in_no_name)
{
    struct ftp_list_entry e;

    CHECK(ftp_list_facts(STR("type=file;size=1; a\0b"), &e) == FTP_LIST_UNREAD);
    CHECK(ftp_list_text(STR("-rw-r--r-- 1 a b 1 Nov 18  2024 a\0b"), NOW, &e) == FTP_LIST_UNREAD);
    CHECK(ftp_list_text(STR("\0rw-r--r-- 1 a b 1 Nov 18  2024 a"), NOW, &e) == FTP_LIST_UNREAD);
    CHECK(ftp_list_text(STR("-\0w-r--r-- 1 a b 1 Nov 18  2024 a"), NOW, &e) == FTP_LIST_UNREAD);
}

TEST(text_of_unix_servers)
{
    static const struct list_case cases[] = {
        FILE_OF("-rw-r--r--    1 ftp      ftp            12 Nov 18 10:59 a.xml", "a.xml", 12,
                NOW - 2),
        FILE_OF("-rw-r--r--    1 ftp      ftp            12 Nov 19 10:59 soon", "soon", 12,
                NOW - 2 + 86400),
        FILE_OF("-rw-r--r--    1 ftp      ftp            12 Nov 19 11:00 last year", "last year",
                12, NOW - 2 + 86400 + 60 - 365 * 86400),
        FILE_OF("-rw-r--r--    1 ftp      ftp            12 Feb 29 00:00 leap", "leap", 12,
                1709164800),
        FILE_OF("-rw-r--r--    1 ftp      ftp            12 Nov 18  2024 old", "old", 12,
                1731888000),
        FILE_OF("-rw-r--r--    1 ftp      ftp            12 Nov  8  2024   lead", "  lead", 12,
                1731024000),
        FILE_OF("-rw-r--r--+   1 ftp      Domain Users   12 Nov 18  2024 a -> b", "a -> b", 12,
                1731888000),
        FILE_OF("-rw-r--r--@ 1 ftp 12 18 Nov 2024 day first ", "day first ", 12, 1731888000),
        FILE_OF("-rw-r--r-- 12 2024-11-18 00:00 no owner", "no owner", 12, 1731888000),
        FILE_OF("-rw-r--r-- 1 a b 12 2024-11-18 00:00:01.000000000 +0100 full", "full", 12,
                1731888001),
        FILE_OF("-rw-r--r-- 1 a b 12 Nov 18  2024 5 Nov 18  2023 x", "5 Nov 18  2023 x", 12,
                1731888000),
        FILE_OF("-rw-r--r-- 1 a b 12 Nov 18  2024 a\r", "a", 12, 1731888000),
        FILE_OF("-rw-r--r-- 1 a b 12 Nov 18  2024  ", " ", 12, 1731888000),
        FOLDER_OF("drwxr-xr-t   2 0        0            4096 Nov 18  2024 sub", "sub", 4096,
                  1731888000),
        { "lrwxrwxrwx 1 a b 5 Nov 18  2024 l -> /etc/passwd", FTP_LIST_ENTRY, "l", FTP_LIST_LINK, 5,
          1731888000 },
        { "crw-rw-rw- 1 root root 1, 3 Nov 18  2024 null", FTP_LIST_ENTRY, "null", FTP_LIST_OTHER,
          3, 1731888000 },
        NONE(""),
        NONE("\r"),
        NONE("total 12"),
        NONE("insgesamt 0"),
        NONE("drwxr-xr-x 2 a b 4096 Nov 18  2024 ."),
        NONE("drwxr-xr-x 2 a b 4096 Nov 18  2024 .."),
        NO("total recall"),
        NO("-rw-r--r-- 1 a b 12 Nov 18  2024"),
        NO("-rw-r--r-- 1 a b 12 Nov 18  2024 "),
        NO("-rw-r--r-- 1 a b 12 Nov 31  2024 a"),
        NO("-rw-r--r-- 1 a b 12 Nov 18 24:00 a"),
        NO("-rw-r--r-- 1 a b 12 Nov 18 1:2 a"),
        NO("-rw-r--r-- 1 a b 99999999999999999999 Nov 18  2024 a"),
        NO("-rw-r--r-- 1 a b 12 Nov 18  2024 ../a"),
        NO("-rw-r--r-- 1 a b 12 Nov 18  2024 a/b"),
        NO("-rw-r--r-- 1 a b -12 Nov 18  2024 a"),
        NO("-rw-r--r-- 1 a b 12 Nix 18  2024 a"),
        NO("-rw-r--r--"),
        NO("xrw-r--r-- 1 a b 12 Nov 18  2024 a"),
        NO(" -rw-r--r-- 1 a b 12 Nov 18  2024 a"),
        NO("-rw 1 a b 12 Nov 18  2024 a"),
        NO("<html>"),
        NO("+i8388621.29609,m824255902,/,\tdev"),
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ftp_list_entry e;
        enum ftp_list_line is = ftp_list_text(str_of(cases[i].line), NOW, &e);

        CHECK(list_case_holds(&cases[i], is, &e));
    }
}

TEST(text_of_windows_servers)
{
    static const struct list_case cases[] = {
        FILE_OF("11-18-26  10:59AM                   12 a b.xml", "a b.xml", 12, NOW - 2),
        FILE_OF("11-18-2026  10:59PM                   12  lead", " lead", 12, NOW - 2 + 43200),
        FILE_OF("11-18-26  12:00AM                   12 midnight", "midnight", 12, 1794960000),
        FILE_OF("11/18/2026  12:00PM                   12 noon", "noon", 12, 1795003200),
        FILE_OF("2026-11-18  22:59                   12 a\r", "a", 12, NOW - 2 + 43200),
        FILE_OF("01-01-70  12:00AM                   12 first", "first", 12, 0),
        FOLDER_OF("11-18-26  10:59AM       <DIR>          sub folder", "sub folder", -1, NOW - 2),
        FOLDER_OF("11-18-26  10:59AM       <DIR>           lead", " lead", -1, NOW - 2),
        { "11-18-26  10:59AM       <JUNCTION>     j [c:\\x]", FTP_LIST_ENTRY, "j [c:\\x]",
          FTP_LIST_LINK, -1, NOW - 2 },
        NONE("11-18-26  10:59AM       <DIR>          .."),
        NO("11-18-26  10:59AM                   12"),
        NO("11-18-26  10:59AM                   12 "),
        NO("11-18-26  10:59AM       <DIR>          "),
        NO("11-18-26  13:59AM                   12 a"),
        NO("11-18-26  00:59PM                   12 a"),
        NO("13-18-26  10:59AM                   12 a"),
        NO("11-18-26  10:59AM                   -1 a"),
        NO("11-18-26  10:59AM                   12 ..\\..\\a/b"),
        NO("11-18-26"),
        NO("1"),
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ftp_list_entry e;
        enum ftp_list_line is = ftp_list_text(str_of(cases[i].line), NOW, &e);

        CHECK(list_case_holds(&cases[i], is, &e));
    }
}

int main(void)
{
    return test_main();
}
