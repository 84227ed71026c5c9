#include "core/join.h"

#include "base/auto.h"
#include "base/buf.h"
#include "test.h"

static bool to_buf(void *arg, struct str bytes, struct err *err)
{
    return buf_append(arg, bytes, err);
}

/* Members one after the other, each in pieces of `piece` bytes. */
static bool join(const struct join_rule *rule, const char *const *members, size_t piece,
                 struct buf *to, struct err *err)
{
    struct joiner *j = join_new(rule, to_buf, to);
    bool ok = join_begin(j, err);

    for (size_t i = 0; ok && members[i] != NULL; i++) {
        struct str all = str_of(members[i]);
        struct join_member m = { .name = STR("a/b c.txt"),
                                 .id = STR("id"),
                                 .size = (int64_t)all.len,
                                 .crc = join_crc(0, all) };

        ok = join_open(j, &m, err);
        for (; ok && all.len > 0; all = str_from(all, piece < all.len ? piece : all.len))
            ok = join_add(j, str_mem(all.ptr, piece < all.len ? piece : all.len), err);
        ok = ok && join_close(j, err);
    }
    ok = ok && join_end(j, err);
    join_free(j);
    return ok;
}

TEST(join_makes_one_of_many)
{
    static const struct {
        const char *what;
        struct join_rule rule;
        const char *members[4], *want;
    } cases[] = {
        { "texts", { .kind = JOIN_TEXT }, { "a", "b", "", NULL }, "ab" },
        { "texts with everything",
          { .kind = JOIN_TEXT,
            .has_header = true,
            .has_footer = true,
            .header = { "<", 1 },
            .separator = { ", ", 2 },
            .footer = { ">", 1 } },
          { "a", "b", NULL },
          "<a, b>" },
        { "nothing", { .kind = JOIN_TEXT }, { NULL }, "" },
        { "JSON",
          { .kind = JOIN_JSON },
          { "\xef\xbb\xbf{\"a\":1}", " 2 ", NULL },
          "[\n{\"a\":1},\n 2 \n]\n" },
        { "JSON in an object",
          { .kind = JOIN_JSON, .root = { "all", 3 } },
          { "[]", NULL },
          "{\"all\":[\n[]\n]}\n" },
        { "no JSON", { .kind = JOIN_JSON }, { NULL }, "[\n\n]\n" },
        { "JSON with a frame of its own",
          { .kind = JOIN_JSON,
            .has_header = true,
            .has_footer = true,
            .header = { "{\"x\":[", 6 },
            .footer = { "]}", 2 } },
          { "1", "2", NULL },
          "{\"x\":[1,\n2]}" },
        { "XML",
          { .kind = JOIN_XML },
          { "<?xml version=\"1.0\"?>\n<!-- c -->\n<a x='1'>t<b/></a>\n<!-- after -->\n", "<c/>",
            NULL },
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<batch>\n<a "
          "x='1'>t<b/></a>\n<c/>\n</batch>\n" },
        { "XML with a mark",
          { .kind = JOIN_XML, .root = { "r", 1 } },
          { "\xef\xbb\xbf<a/>", NULL },
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<r>\n<a/>\n</r>\n" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t piece = 1; piece < 100; piece += 7) {
            AUTO(buf_done) struct buf out = BUF_INIT(1 << 16);
            struct err err = { 0 };

            CHECK(join(&cases[i].rule, cases[i].members, piece, &out, &err));
            if (!str_is(buf_view(&out), cases[i].want))
                printf("# %s, %zu: %s\n", cases[i].what, piece, out.ptr);
            CHECK(str_is(buf_view(&out), cases[i].want));
        }
}

TEST(join_refuses_what_would_spoil_the_others)
{
    static const struct {
        enum join_kind kind;
        const char *member, *why;
    } cases[] = {
        { JOIN_JSON, "{\"a\":1", "too early" },
        { JOIN_JSON, "{} {}", "behind the end" },
        { JOIN_JSON, "", "too early" },
        { JOIN_XML, "<a>", "not XML" },
        { JOIN_XML, "", "not XML" },
        { JOIN_XML, "text", "not XML" },
        { JOIN_XML, "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "DOCTYPE" },
        { JOIN_XML, "<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "UTF-8" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };

        CHECK(!join_check(cases[i].kind, str_of(cases[i].member), &err));
        CHECK(err.kind == ERR_PERMANENT && err.sys == JOIN_BAD);
        if (strstr(err.text, cases[i].why) == NULL)
            printf("# %s: %s\n", cases[i].member, err.text);
        CHECK(strstr(err.text, cases[i].why) != NULL);
    }
    struct err err = { 0 };
    const struct str wide[] = { STR("\xff\xfe<\0a\0/\0>\0"), STR("\xfe\xff\0<\0a\0/\0>"),
                                STR("<\0a\0/\0>\0"), STR("\0<\0a\0/\0>") };

    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        err = (struct err){ 0 };
        CHECK(!join_check(JOIN_XML, wide[i], &err) && err.sys == JOIN_BAD);
        CHECK(strstr(err.text, "UTF-8") != NULL);
    }
    err = (struct err){ 0 };
    CHECK(join_check(JOIN_XML, STR("\xef\xbb\xbf<a/>"), &err));
    CHECK(join_check(JOIN_TEXT, STR("\x01"), &err) && join_check(JOIN_ZIP, STR(""), &err));
}

TEST(join_writes_a_zip_file)
{
    static const char *const members[] = { "first", "", NULL };
    struct join_rule rule = { .kind = JOIN_ZIP };
    AUTO(buf_done) struct buf out = BUF_INIT(1 << 16);
    struct err err = { 0 };

    CHECK(join_crc(0, STR("123456789")) == 0xcbf43926u);
    CHECK(join_crc(join_crc(0, STR("1234")), STR("56789")) == 0xcbf43926u);
    CHECK(join(&rule, members, 2, &out, &err) && out.len > 100);
    CHECK(memcmp(out.ptr, "PK\003\004", 4) == 0);
    CHECK(memmem(out.ptr, out.len, "00001-b_c.txtfirst", 18) != NULL);
    CHECK(memmem(out.ptr, out.len, "PK\005\006", 4) != NULL);
    CHECK(strcmp(join_suffix(JOIN_ZIP), "zip") == 0);
    CHECK(strcmp(join_content_type(JOIN_JSON), "application/json") == 0);
}

static bool refuse(void *arg, struct str bytes, struct err *err)
{
    (void)arg;
    (void)bytes;
    return err_set(err, ERR_TRANSIENT, 0, "full");
}

TEST(join_tells_what_its_writer_says)
{
    struct join_rule rule = { .kind = JOIN_JSON };
    struct joiner *j = join_new(&rule, refuse, NULL);
    struct err err = { 0 };

    CHECK(!join_begin(j, &err) && err.kind == ERR_TRANSIENT);
    join_free(j);
    join_free(NULL);
}

int main(void)
{
    return test_main();
}
