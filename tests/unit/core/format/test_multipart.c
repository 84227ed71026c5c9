#include "core/format/multipart.h"

#include "base/auto.h"
#include "base/buf.h"
#include "test.h"

#define TYPE "multipart/form-data; boundary=AaB03x"

/* What a form says, as a text: name[file|type]=bytes; for each part; or ! and what is wrong. */
static void read_form(struct str type, struct str form, size_t piece, struct buf *to)
{
    struct multipart m;
    const char *wrong = multipart_begin(&m, type);

    while (wrong == NULL && form.len > 0) {
        struct str one = str_mem(form.ptr, piece < form.len ? piece : form.len);
        enum multipart_event e;

        form = str_from(form, one.len);
        multipart_give(&m, one);
        while (wrong == NULL && (e = multipart_next(&m)) != MULTIPART_MORE) {
            if (e == MULTIPART_WRONG)
                wrong = m.why;
            else if (e == MULTIPART_PART)
                buf_printf(to, "%.*s[%.*s|%.*s]=", STR_ARG(m.name), STR_ARG(m.file),
                           STR_ARG(m.ctype));
            else if (e == MULTIPART_BYTES)
                buf_put(to, m.bytes);
            else
                buf_putc(to, ';');
        }
    }
    if (wrong != NULL)
        buf_printf(to, "!%s", wrong);
    else if (!multipart_is_whole(&m))
        buf_put(to, STR("!cut"));
}

static const struct {
    const char *form, *says;
} forms[] = {
    { "--AaB03x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--AaB03x--\r\n",
      "a[|]=one;" },
    { "skipped\r\n--AaB03x  \t\r\ncontent-disposition:form-data;name=a\r\n\r\n\r\n--AaB03x\r\n"
      "Content-Disposition: form-data; filename=\"x.txt\"; name=\"f\"\r\nContent-Type: "
      "text/plain\r\n"
      "\r\n1\r\n2\r\n--AaB03\r\n--AaB03xy\r\n--AaB03x--epilogue\r\n--AaB03x\r\n",
      "a[|]=;f[x.txt|text/plain]=1\r\n2\r\n--AaB03;!A boundary does not stand on a line of its "
      "own." },
    { "--AaB03x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\r\n\r\r\n--AaB03x--",
      "a[|]=\r\r\n\r;" },
    { "--AaB03x\r\nContent-Disposition: form-data; name=\"q\\\"q\"; filename=\"C:\\dir\\a.txt\"\r\n"
      "\r\nx\r\n--AaB03x--",
      "q\"q[C:\\dir\\a.txt|]=x;" },
    { "--AaB03x\r\nContent-Disposition: form-data; name=f; filename=\"a\"; "
      "filename*=UTF-8''%c3%BC.x"
      "\r\n\r\nx\r\n--AaB03x--",
      "f[\xc3\xbc.x|]=x;" },
    { "--AaB03x\r\nContent-Disposition: form-data; name=f; filename=\"\"\r\n\r\n\r\n--AaB03x--",
      "f[|]=;" },
    { "--AaB03x--\r\n", "" },
    { "", "!cut" },
    { "--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\nno end", "a[|]=no end!cut" },
    { "--AaB03x\r\n\r\nx\r\n--AaB03x--", "!A part has no name." },
    { "--AaB03x\r\nContent-Type: a/b\r\n\r\nx", "!A part has no name." },
    { "--AaB03x\r\nContent-Disposition: attachment; name=a\r\n\r\nx",
      "!The Content-Disposition of a part is not readable." },
    { "--AaB03x\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx",
      "!The Content-Disposition of a part is not readable." },
    { "--AaB03x\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; "
      "name=b\r\n\r\nx",
      "!The Content-Disposition of a part is not readable." },
    { "--AaB03x\r\nno colon\r\n\r\nx", "!The head of a part is not readable." },
    { "--AaB03x\r\nA: b\nc: d\r\n\r\nx", "!The head of a part is not readable." },
    { "--AaB03x\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n"
      "\r\nx",
      "!A part has a transfer encoding: send it as it is." },
    { "--AaB03xx\r\n", "!A boundary does not stand on a line of its own." },
    { "--AaB03x-x", "!A boundary does not stand on a line of its own." },
    { "--AaB03x\rx", "!A boundary does not stand on a line of its own." },
};

TEST(multipart_reads_forms_in_pieces_of_any_size)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        for (size_t piece = 1; piece <= strlen(forms[i].form) + 1; piece++) {
            AUTO(buf_done) struct buf b = BUF_INIT(4096);

            read_form(STR(TYPE), str_of(forms[i].form), piece, &b);
            CHECK(str_is(buf_view(&b), forms[i].says));
        }
}

TEST(multipart_knows_its_content_type)
{
    static const struct {
        const char *type;
        bool form, good;
    } cases[] = {
        { "multipart/form-data; boundary=a", true, true },
        { "Multipart/Form-Data ; charset=utf-8; Boundary=\"a b:c\"", true, true },
        { "multipart/form-data", true, false },
        { "multipart/form-data; boundary=", true, false },
        { "multipart/form-data; boundary=\"a", true, false },
        { "multipart/form-data; boundary=a; boundary=b", true, false },
        { "multipart/form-data; boundary=\"a\r\nb\"", true, false },
        { "multipart/form-data; boundary=\"a \"", true, false },
        { "multipart/form-data; boundary=a; x", true, false },
        { "multipart/form-data; boundary="
          "12345678901234567890123456789012345678901234567890123456789012345678901",
          true, false },
        { "multipart/form-data; boundary="
          "1234567890123456789012345678901234567890123456789012345678901234567890",
          true, true },
        { "multipart/mixed; boundary=a", false, true },
        { "application/json", false, false },
        { "", false, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct multipart m;

        CHECK(multipart_is_form(str_of(cases[i].type)) == cases[i].form);
        CHECK((multipart_begin(&m, str_of(cases[i].type)) == NULL) == cases[i].good);
    }
}

TEST(multipart_has_limits)
{
    AUTO(buf_done) struct buf form = BUF_INIT(1 << 20);
    AUTO(buf_done) struct buf says = BUF_INIT(1 << 20);

    for (int i = 0; i < MULTIPART_SKIP; i++)
        buf_putc(&form, 'x');
    read_form(STR(TYPE), buf_view(&form), 1000, &says);
    CHECK(strstr(says.ptr, "does not begin with its boundary") != NULL);

    buf_clear(&form), buf_clear(&says);
    buf_put(&form, STR("--AaB03x\r\nA: "));
    for (int i = 0; i < MULTIPART_HEAD; i++)
        buf_putc(&form, 'x');
    read_form(STR(TYPE), buf_view(&form), 1000, &says);
    CHECK(strstr(says.ptr, "larger than 4 KiB") != NULL);

    buf_clear(&form), buf_clear(&says);
    for (int i = 0; i <= MULTIPART_PARTS; i++)
        buf_put(&form, STR("--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n"));
    read_form(STR(TYPE), buf_view(&form), 1000, &says);
    CHECK(strstr(says.ptr, "more than 100 parts") != NULL);

    buf_clear(&form), buf_clear(&says);
    buf_put(&form, STR("--AaB03x"));
    for (int i = 0; i < MULTIPART_SKIP + 10; i++)
        buf_putc(&form, ' ');
    read_form(STR(TYPE), buf_view(&form), 1000, &says);
    CHECK(strstr(says.ptr, "line of its own") != NULL);
}

int main(void)
{
    return test_main();
}
