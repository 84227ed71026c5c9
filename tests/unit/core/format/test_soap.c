#include "core/format/soap.h"

#include "base/auto.h"
#include "test.h"

#define E11 "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\">"
#define E12 "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\">"
#define END "</s:Envelope>"

/* ---- documents ---- */

TEST(soap_looks_at_documents)
{
    static const struct {
        const char *bytes;
        enum soap_version envelope;
        size_t from;
    } cases[] = {
        { "<a/>", SOAP_NONE, 0 },
        { "  <!-- x --><a xmlns=\"urn:x\">1</a>", SOAP_NONE, 12 },
        { "<?xml version=\"1.0\"?>\n<a/>\n", SOAP_NONE, 22 },
        { "<?xml version=\"1.0\" encoding='utf-8'?><a/>", SOAP_NONE, 38 },
        { "\xef\xbb\xbf<a/>", SOAP_NONE, 3 },
        { E11 "<s:Body/>" END, SOAP_1_1, 0 },
        { E12 "<s:Body/>" END, SOAP_1_2, 0 },
        { "<Envelope xmlns=\"http://www.w3.org/2003/05/soap-envelope\"/>", SOAP_1_2, 0 },
        { "<Envelope/>", SOAP_NONE, 0 },
        { "<x:Envelope xmlns:x=\"http://schemas.xmlsoap.org/soap/envelope/x\"/>", SOAP_NONE, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int whole = 0; whole <= 1; whole++) {
            struct soap_document d;
            struct err err = { 0 };

            CHECK(soap_look(str_of(cases[i].bytes), whole, &d, &err));
            CHECK(d.envelope == cases[i].envelope && d.from == cases[i].from);
        }
}

TEST(soap_takes_no_other_documents)
{
    static const struct {
        const char *bytes, *says;
    } cases[] = {
        { "", "not XML" },
        { "order", "not XML" },
        { "<a>", "not XML" },
        { "<a/><b/>", "not XML" },
        { "<a>&x;</a>", "not XML" },
        { "<a:b/>", "not XML" },
        { "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "DOCTYPE" },
        { "<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "charset" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct soap_document d;
        struct err err = { 0 };

        CHECK(!soap_look(str_of(cases[i].bytes), true, &d, &err));
        CHECK(err.kind == ERR_PERMANENT && strstr(err.text, cases[i].says) != NULL);
    }
    struct soap_document d;
    struct err err = { 0 };

    CHECK(!soap_look(STR("<\0a\0/\0>\0"), true, &d, &err) && strstr(err.text, "UTF-16") != NULL);
    CHECK(!soap_look(STR("<!-- no element yet"), false, &d, &err));
    CHECK(soap_look(STR("<a><b>cut"), false, &d, &err));
}

TEST(soap_documents_are_not_too_deep)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct soap_document d;
    struct err err = { 0 };

    for (int i = 0; i < 100000; i++)
        buf_put(&b, STR("<a>"));
    CHECK(!soap_look(buf_view(&b), true, &d, &err) && strstr(err.text, "deep") != NULL);
}

TEST(soap_envelopes_hold_documents)
{
    for (enum soap_version v = SOAP_1_1; v <= SOAP_1_2; v++) {
        AUTO(buf_done) struct buf b = BUF_INIT(4096);
        struct soap_document d;
        struct soap_fault fault;
        struct err err = { 0 };

        buf_put(&b, soap_before(v));
        buf_put(&b, STR("<a xmlns=\"urn:x\">1</a>"));
        buf_put(&b, soap_after(v));
        CHECK(soap_look(buf_view(&b), true, &d, &err) && d.envelope == v);
        CHECK(soap_read(buf_view(&b), &fault) == SOAP_ANSWER);
    }
}

/* ---- answers ---- */

TEST(soap_reads_faults)
{
    static const struct {
        const char *answer;
        enum soap_side side;
        const char *code, *reason;
    } cases[] = {
        { E11 "<s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>no &lt;such&gt; order"
              "</faultstring></s:Fault></s:Body>" END,
          SOAP_SENDER, "Client", "no <such> order" },
        { E11 "<s:Header><x/></s:Header><s:Body><s:Fault><faultcode>\n s:Server.Busy \n</faultcode>"
              "<faultstring xml:lang='en'> later </faultstring><detail><faultcode>s:Client"
              "</faultcode></detail></s:Fault></s:Body>" END,
          SOAP_RECEIVER, "Server.Busy", "later" },
        { E11 "<s:Body><s:Fault><faultstring>first</faultstring><faultcode>Client.Auth</faultcode>"
              "</s:Fault></s:Body>" END,
          SOAP_SENDER, "Client.Auth", "first" },
        { E11 "<s:Body><s:Fault><faultcode>app:E1001</faultcode></s:Fault></s:Body>" END,
          SOAP_OTHER_SIDE, "E1001", "" },
        { E11 "<s:Body><s:Fault/></s:Body>" END, SOAP_OTHER_SIDE, "", "" },
        { E12 "<s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>s:Receiver"
              "</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang='en'>no</s:Text>"
              "<s:Text xml:lang='de'>nein</s:Text></s:Reason></s:Fault></s:Body>" END,
          SOAP_SENDER, "Sender", "no" },
        { E12 "<s:Body><s:Fault><s:Code><s:Value>s:Receiver</s:Value></s:Code><s:Reason><s:Text>x"
              "</s:Text></s:Reason></s:Fault></s:Body>" END,
          SOAP_RECEIVER, "Receiver", "x" },
        { E12 "<s:Body><s:Fault><s:Code><s:Value>s:MustUnderstand</s:Value></s:Code></s:Fault>"
              "</s:Body>" END,
          SOAP_SENDER, "MustUnderstand", "" },
        /* one that was cut */
        { E11 "<s:Body><s:Fault><faultcode>s:Server</faultcode><faultstring>full</faultstring>"
              "<detail>long",
          SOAP_RECEIVER, "Server", "full" },
        { E11 "<s:Body><s:Fault><faultcode>s:Server</faultcode><faultstr", SOAP_RECEIVER, "Server",
          "" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct soap_fault f = { 0 };

        CHECK(soap_read(str_of(cases[i].answer), &f) == SOAP_FAULT);
        CHECK(f.side == cases[i].side);
        CHECK(strcmp(f.code, cases[i].code) == 0 && strcmp(f.reason, cases[i].reason) == 0);
    }
}

TEST(soap_reads_what_is_no_fault)
{
    static const struct {
        const char *answer;
        enum soap_said said;
    } cases[] = {
        { E11 "<s:Body><ok/></s:Body>" END, SOAP_ANSWER },
        { E12 "<s:Body/>" END, SOAP_ANSWER },
        { E11 "<s:Body><x><s:Fault/></x></s:Body>" END, SOAP_ANSWER },
        { E11 "<s:Body><Fault/></s:Body>" END, SOAP_ANSWER },
        { E11 "<s:Header><s:Fault/></s:Header><s:Body/>" END, SOAP_ANSWER },
        { E11 END, SOAP_NO_ENVELOPE },
        { "<html><body>please log in</body></html>", SOAP_NO_ENVELOPE },
        { "<!DOCTYPE html><html/>", SOAP_NO_ENVELOPE },
        { "{}", SOAP_NO_ENVELOPE },
        { "", SOAP_NO_ENVELOPE },
        { "<Envelope><Body/></Envelope>", SOAP_NO_ENVELOPE },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct soap_fault f;

        CHECK(soap_read(str_of(cases[i].answer), &f) == cases[i].said);
    }
}

TEST(soap_texts_have_a_limit)
{
    AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct soap_fault f;

    buf_put(&b, STR(E11 "<s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>"));
    for (int i = 0; i < 20000; i++)
        buf_put(&b, STR("\xe2\x82\xac"));
    buf_put(&b, STR("</faultstring></s:Fault></s:Body>" END));
    CHECK(soap_read(buf_view(&b), &f) == SOAP_FAULT);
    CHECK(strlen(f.reason) <= SOAP_TEXT && strlen(f.reason) > SOAP_TEXT / 2);
    CHECK(str_is_utf8(str_of(f.reason)));
}

TEST(soap_writes_faults_that_it_reads)
{
    for (enum soap_version v = SOAP_1_1; v <= SOAP_1_2; v++)
        for (enum soap_side side = SOAP_SENDER; side <= SOAP_RECEIVER; side++) {
            AUTO(buf_done) struct buf b = BUF_INIT(4096);
            struct soap_fault f;
            struct soap_document d;
            struct err err = { 0 };

            soap_put_fault(&b, v, side, "too_large", "Not <more> & \"less\".");
            CHECK(soap_look(buf_view(&b), true, &d, &err) && d.envelope == v);
            CHECK(soap_read(buf_view(&b), &f) == SOAP_FAULT);
            CHECK(f.side == side);
            CHECK(strcmp(f.reason, "Not <more> & \"less\".") == 0);
            CHECK(memmem(b.ptr, b.len, "code=\"too_large\"", 16) != NULL);
        }
}

int main(void)
{
    return test_main();
}
