/* Packets of SFTP, as the draft writes them and as a hostile server would. */
#include "base/sftp_wire.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "test.h"

static bool is_bytes(const struct buf *b, const char *want, size_t len)
{
    return b->len == len && memcmp(b->ptr, want, len) == 0;
}

#define IS(b, literal) is_bytes((b), (literal), sizeof(literal) - 1)

TEST(requests_are_whole_packets)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);

    sftp_put_init(&b);
    CHECK(IS(&b, "\0\0\0\x05\x01\0\0\0\x03"));
    buf_clear(&b);
    sftp_put_open(&b, 7, STR("/a"), SFTP_WRITE | SFTP_CREATE);
    CHECK(IS(&b, "\0\0\0\x13\x03\0\0\0\x07\0\0\0\x02/a\0\0\0\x0a\0\0\0\0"));
    buf_clear(&b);
    sftp_put_close(&b, 0x01020304, STR("h"));
    CHECK(IS(&b, "\0\0\0\x0a\x04\x01\x02\x03\x04\0\0\0\x01h"));
    buf_clear(&b);
    sftp_put_write(&b, 2, STR("h"), UINT64_C(0x100000002), STR("xyz"));
    CHECK(IS(&b, "\0\0\0\x19\x06\0\0\0\x02\0\0\0\x01h\0\0\0\x01\0\0\0\x02\0\0\0\x03xyz"));
    buf_clear(&b);
    sftp_put_read(&b, 2, STR("h"), 1, 0x8000);
    CHECK(IS(&b, "\0\0\0\x16\x05\0\0\0\x02\0\0\0\x01h\0\0\0\0\0\0\0\x01\0\0\x80\0"));
    buf_clear(&b);
    sftp_put_lstat(&b, 2, STR("n"));
    sftp_put_remove(&b, 3, STR("n"));
    CHECK(IS(&b, "\0\0\0\x0a\x07\0\0\0\x02\0\0\0\x01n\0\0\0\x0a\x0d\0\0\0\x03\0\0\0\x01n"));
    buf_clear(&b);
    sftp_put_stat(&b, 2, STR("n"));
    sftp_put_fstat(&b, 3, STR("h"));
    CHECK(IS(&b, "\0\0\0\x0a\x11\0\0\0\x02\0\0\0\x01n\0\0\0\x0a\x08\0\0\0\x03\0\0\0\x01h"));
    buf_clear(&b);
    sftp_put_opendir(&b, 2, STR("d"));
    sftp_put_readdir(&b, 3, STR("h"));
    CHECK(IS(&b, "\0\0\0\x0a\x0b\0\0\0\x02\0\0\0\x01"
                 "d\0\0\0\x0a\x0c\0\0\0\x03\0\0\0\x01h"));
    buf_clear(&b);
    sftp_put_realpath(&b, 2, STR("."));
    sftp_put_rmdir(&b, 3, STR("n"));
    CHECK(IS(&b, "\0\0\0\x0a\x10\0\0\0\x02\0\0\0\x01.\0\0\0\x0a\x0f\0\0\0\x03\0\0\0\x01n"));
    buf_clear(&b);
    sftp_put_cut(&b, 2, STR("h"), 5);
    CHECK(IS(&b, "\0\0\0\x16\x0a\0\0\0\x02\0\0\0\x01h\0\0\0\x01\0\0\0\0\0\0\0\x05"));
    buf_clear(&b);
    sftp_put_mkdir(&b, 2, STR("d"));
    CHECK(IS(&b, "\0\0\0\x0e\x0e\0\0\0\x02\0\0\0\x01"
                 "d\0\0\0\0"));
    buf_clear(&b);
    sftp_put_rename(&b, 2, STR("x"), STR("yy"));
    CHECK(IS(&b, "\0\0\0\x10\x12\0\0\0\x02\0\0\0\x01x\0\0\0\x02yy"));
    buf_clear(&b);
    sftp_put_posix_rename(&b, 2, STR("x"), STR("y"));
    CHECK(
        IS(&b, "\0\0\0\x2b\xc8\0\0\0\x02\0\0\0\x18posix-rename@openssh.com\0\0\0\x01x\0\0\0\x01y"));
    buf_clear(&b);
    sftp_put_fsync(&b, 2, STR("h"));
    CHECK(IS(&b, "\0\0\0\x1f\xc8\0\0\0\x02\0\0\0\x11"
                 "fsync@openssh.com\0\0\0\x01h"));
    buf_clear(&b);
    sftp_put_limits(&b, 2);
    CHECK(IS(&b, "\0\0\0\x1b\xc8\0\0\0\x02\0\0\0\x12limits@openssh.com"));
}

TEST(lengths_have_bounds)
{
    static const struct {
        uint8_t head[SFTP_LENGTH];
        bool ok;
    } cases[] = { { { 0, 0, 0, 5 }, true },
                  { { 0, 4, 0, 0 }, true },
                  { { 0, 4, 0, 1 }, false },
                  { { 0, 0, 0, 0 }, false },
                  { { 0xff, 0xff, 0xff, 0xff }, false } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        size_t len = 0;

        CHECK(sftp_read_length(cases[i].head, &len, &err) == cases[i].ok);
        CHECK(cases[i].ok ? len > 0 && len <= SFTP_ANSWER_MOST : err.kind == ERR_TRANSIENT);
    }
}

TEST(answers_are_read)
{
    struct sftp_answer a = { 0 };
    struct err err = { 0 };

    CHECK(sftp_read_answer(STR("\x65\0\0\0\x09\0\0\0\x04\0\0\0\x02no\0\0\0\0"), &a, &err));
    CHECK(a.kind == SFTP_A_STATUS && a.id == 9 && a.status == SFTP_FAILURE);
    CHECK(str_is(a.message, "no"));
    CHECK(sftp_read_answer(STR("\x65\0\0\0\x09\0\0\0\0"), &a, &err)); /* without words */
    CHECK(a.status == SFTP_OK && a.message.len == 0);
    CHECK(sftp_read_answer(STR("\x66\0\0\0\x01\0\0\0\x02h\0"), &a, &err));
    CHECK(a.kind == SFTP_A_HANDLE && a.data.len == 2);
    CHECK(sftp_read_answer(STR("\x67\0\0\0\x01\0\0\0\x03"
                               "abc"),
                           &a, &err));
    CHECK(a.kind == SFTP_A_DATA && str_is(a.data, "abc"));
    CHECK(sftp_read_answer(STR("\x69\0\0\0\x01\0\0\0\x0f\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\x02"
                               "\0\0\x81\xa4\0\0\0\x03\0\0\0\x04"),
                           &a, &err));
    CHECK(a.kind == SFTP_ATTRS && a.attrs.has_size && a.attrs.has_mode);
    CHECK(a.attrs.size == UINT64_C(0x100000000) && S_ISREG(a.attrs.mode));
    CHECK(a.attrs.has_times && a.attrs.mtime == 4);
    CHECK(sftp_read_answer(STR("\x69\0\0\0\x01\0\0\0\0"), &a, &err));
    CHECK(!a.attrs.has_size && !a.attrs.has_mode && !a.attrs.has_times);
    CHECK(sftp_read_answer(STR("\xc9\0\0\0\x01xyz"), &a, &err));
    CHECK(a.kind == SFTP_EXTENDED_REPLY && str_is(a.data, "xyz"));
}

/* Two names; the first one has everything that can be said of a file. */
#define NAMES                                                            \
    "\0\0\0\x02"                                                         \
    "a\n\0\0\0\x03-rw\x80\0\0\x0f\0\0\0\0\0\0\0\x07\0\0\0\x01\0\0\0\x02" \
    "\0\0\x81\xa4\0\0\0\x03\0\0\0\x04\0\0\0\x01\0\0\0\x01k\0\0\0\x02vv"  \
    "\0\0\0\x02..\0\0\0\0\0\0\0\0"

TEST(names_are_read_one_by_one)
{
    struct sftp_answer a = { 0 };
    struct sftp_attrs attrs;
    struct err err = { 0 };
    struct str name;

    CHECK(sftp_read_answer(STR("\x68\0\0\0\x01\0\0\0\x02" NAMES), &a, &err));
    CHECK(a.kind == SFTP_A_NAME && a.count == 2);
    CHECK(sftp_take_name(&a.data, &name, &attrs, &err) && str_is(name, "a\n"));
    CHECK(attrs.size == 7 && S_ISREG(attrs.mode) && attrs.mtime == 4);
    CHECK(sftp_take_name(&a.data, &name, &attrs, &err) && str_is(name, ".."));
    CHECK(!attrs.has_size && !attrs.has_mode && !attrs.has_times && a.data.len == 0);
    CHECK(!sftp_take_name(&a.data, &name, &attrs, &err) && err.kind == ERR_TRANSIENT);
}

TEST(names_that_are_cut_are_refused)
{
    const struct str whole = STR(NAMES);

    for (size_t len = 0; len < whole.len; len++) {
        char *exact = malloc(len + 1); /* so that a sanitizer sees the end */
        struct str rest = str_mem(exact, len), name;
        struct sftp_attrs attrs;
        struct err err = { 0 };

        memcpy(exact, whole.ptr, len);
        (void)(sftp_take_name(&rest, &name, &attrs, &err) &&
               sftp_take_name(&rest, &name, &attrs, &err));
        free(exact);
        CHECK(err.kind == ERR_TRANSIENT);
    }
}

/* Every answer, cut at every byte: an error or a shorter text, never a byte behind the end. */
TEST(answers_that_are_cut_are_refused)
{
    static const struct {
        struct str whole;
        size_t least; /* from here on it makes sense */
    } cases[] = {
        { { "\x66\0\0\0\x01\0\0\0\x02h\0", 11 }, 11 },
        { { "\x67\0\0\0\x01\0\0\0\x03"
            "abc",
            12 },
          12 },
        { { "\x69\0\0\0\x01\0\0\0\x05\0\0\0\x01\0\0\0\0\0\0\x81\xa4", 21 }, 21 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t len = 0; len <= cases[i].whole.len; len++) {
            char *exact = malloc(len + 1); /* so that a sanitizer sees the end */
            struct sftp_answer a = { 0 };
            struct err err = { 0 };

            memcpy(exact, cases[i].whole.ptr, len);
            bool ok = sftp_read_answer(str_mem(exact, len), &a, &err);

            free(exact);
            CHECK(ok == (len >= cases[i].least));
        }
}

TEST(answers_without_sense_are_refused)
{
    const struct str cases[] = {
        STR(""),
        STR("\x65"),
        STR("\x01\0\0\0\x01"),         /* a request */
        STR("\x68\0\0\0\x01\0\0\0"),   /* names without their number */
        STR("\x66\0\0\0\x01\0\0\0\0"), /* an empty handle */
        STR("\x65\0\0\0\x01\0\0\0\x04\xff\xff\xff\xff"
            "x"), /* words without end */
    };
    char long_handle[9 + SFTP_HANDLE_MOST + 1] = "\x66\0\0\0\x01\0\0\x01\x01";
    struct sftp_answer a;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };

        CHECK(!sftp_read_answer(cases[i], &a, &err) && err.kind == ERR_TRANSIENT);
    }
    struct err err = { 0 };

    CHECK(!sftp_read_answer(str_mem(long_handle, sizeof long_handle), &a, &err));
}

TEST(the_version_tells_what_the_server_can)
{
    unsigned has = 99;
    struct err err = { 0 };

    CHECK(sftp_read_version(STR("\x02\0\0\0\x03"), &has, &err) && has == 0);
    CHECK(sftp_read_version(STR("\x02\0\0\0\x03\0\0\0\x11"
                                "fsync@openssh.com\0\0\0\x01"
                                "1\0\0\0\x01x\0\0\0\0\0\0\0\x18posix-rename@openssh.com\0\0\0\x01"
                                "1"),
                            &has, &err));
    CHECK(has == (SFTP_FSYNC | SFTP_POSIX_RENAME));
    CHECK(sftp_read_version(STR("\x02\0\0\0\x03\0\0\0\x11"
                                "fsync@openssh.com\0\0\0\x01"
                                "2"),
                            &has, &err) &&
          has == 0); /* another version of it */
    CHECK(!sftp_read_version(STR("\x02\0\0\0\x02"), &has, &err));
    CHECK(!sftp_read_version(STR("\x02\0\0\0\x04"), &has, &err));
    CHECK(!sftp_read_version(STR("\x02\0\0\0\x03\0\0\0\x11"
                                 "fsync"),
                             &has, &err));
    CHECK(!sftp_read_version(STR("HTTP/1.1 400 Bad Request\r\n"), &has, &err));
}

TEST(limits_are_read)
{
    uint64_t longest_read = 0, longest_write = 0;

    CHECK(
        sftp_read_limits(STR("\0\0\0\0\0\x04\0\0\0\0\0\0\0\x03\xfc\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0"
                             "\0\0"),
                         &longest_read, &longest_write));
    CHECK(longest_read == 261120 && longest_write == 131072);
    CHECK(!sftp_read_limits(STR("\0\0\0\0\0\x04\0\0"), &longest_read, &longest_write));
}

int main(void)
{
    return test_main();
}
