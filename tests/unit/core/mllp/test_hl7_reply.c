#include "core/mllp/hl7_reply.h"

#include "test.h"

#define MSH "MSH|^~\\&|E|C|L|H|2026||ACK^A01^ACK|9|P|2.5\r"

TEST(an_acknowledgement_counts_for_its_own_message_only)
{
    static const struct {
        const char *what, *message, *text;
        enum hl7_reply_kind kind;
    } cases[] = {
        { "accepted", MSH "MSA|AA|42\r", "", HL7_REPLY_ACCEPTED },
        { "committed", MSH "MSA|CA|42\r", "", HL7_REPLY_ACCEPTED },
        { "an error", MSH "MSA|AE|42|busy\r", "busy", HL7_REPLY_ERROR },
        { "an error of the commit", MSH "MSA|CE|42\r", "", HL7_REPLY_ERROR },
        { "rejected", MSH "MSA|AR|42|no\r", "no", HL7_REPLY_REJECTED },
        { "rejected by the commit", MSH "MSA|CR|42\r", "", HL7_REPLY_REJECTED },
        { "with more", MSH "SFT|a\rMSA|AA|42\rQAK|1\rPID|1\r", "", HL7_REPLY_ACCEPTED },
        { "ERR says why", MSH "MSA|AE|42\rERR|||207|E||||no such ward\r", "no such ward",
          HL7_REPLY_ERROR },
        { "without a last CR", MSH "MSA|AA|42", "", HL7_REPLY_ACCEPTED },
        { "LF", "MSH|^~\\&|E\nMSA|AA|42\n", "", HL7_REPLY_ACCEPTED },
        { "other separators", "MSH#*~\\&#E\rMSA#AA#42\r", "", HL7_REPLY_ACCEPTED },
        { "of another message", MSH "MSA|AA|41\r", "", HL7_REPLY_OTHER },
        { "of one that begins like it", MSH "MSA|AA|421\r", "", HL7_REPLY_OTHER },
        { "of none", MSH "MSA|AA|\r", "", HL7_REPLY_OTHER },
        { "of none at all", MSH "MSA|AA\r", "", HL7_REPLY_OTHER },
        { "a rejection of another message", MSH "MSA|AR|41\r", "", HL7_REPLY_OTHER },
        { "ours behind another", MSH "MSA|AA|41\rMSA|AA|42\r", "", HL7_REPLY_OTHER },
        { "of a second message", MSH MSH "MSA|AA|42\r", "", HL7_REPLY_UNREADABLE },
        { "an unknown code", MSH "MSA|OK|42\r", "", HL7_REPLY_UNREADABLE },
        { "a code in small letters", MSH "MSA|aa|42\r", "", HL7_REPLY_UNREADABLE },
        { "no code", MSH "MSA||42\r", "", HL7_REPLY_UNREADABLE },
        { "no MSA", MSH "PID|1\r", "", HL7_REPLY_UNREADABLE },
        { "no MSH", "MSA|AA|42\r", "", HL7_REPLY_UNREADABLE },
        { "nothing", "", "", HL7_REPLY_UNREADABLE },
        { "no HL7", "HTTP/1.1 200 OK\r\n", "", HL7_REPLY_UNREADABLE },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hl7_reply r;

        hl7_reply_read(str_of(cases[i].message), STR("42"), &r);
        if (r.kind != cases[i].kind || !str_is(r.text, cases[i].text))
            printf("# %s: %d, %.*s\n", cases[i].what, r.kind, STR_ARG(r.text));
        CHECK(r.kind == cases[i].kind && str_is(r.text, cases[i].text));
    }
}

int main(void)
{
    return test_main();
}
