#include "core/mllp/hl7_reply.h"

#include "core/mllp/hl7_head.h"

enum { MSA_CODE = 1, MSA_CONTROL = 2, MSA_TEXT = 3, ERR_USER_MESSAGE = 8, SEGMENTS_READ = 64 };

static enum hl7_reply_kind kind_of_code(struct str code)
{
    static const struct {
        const char *code;
        enum hl7_reply_kind kind;
    } codes[] = {
        { "AA", HL7_REPLY_ACCEPTED }, { "CA", HL7_REPLY_ACCEPTED }, { "AE", HL7_REPLY_ERROR },
        { "CE", HL7_REPLY_ERROR },    { "AR", HL7_REPLY_REJECTED }, { "CR", HL7_REPLY_REJECTED },
    };

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (str_is(code, codes[i].code))
            return codes[i].kind;
    return HL7_REPLY_UNREADABLE;
}

void hl7_reply_read(struct str message, struct str control, struct hl7_reply *ret)
{
    struct edi_reader r;
    struct edi_segment s;
    bool msa = false;

    *ret = (struct hl7_reply){ .kind = HL7_REPLY_UNREADABLE };
    edi_reader_init(&r, EDI_HL7, message);
    for (int i = 0; i < SEGMENTS_READ && edi_next(&r, &s) == EDI_SEGMENT; i++) {
        if (i == 0 && !str_is(s.tag, "MSH"))
            return;
        if (str_is(s.tag, "MSH") && i > 0)
            break; /* another message */
        if (str_is(s.tag, "MSA") && !msa) {
            msa = true;
            ret->code = hl7_field(&s, MSA_CODE);
            ret->control = hl7_field(&s, MSA_CONTROL);
            ret->text = hl7_field(&s, MSA_TEXT);
        }
        if (str_is(s.tag, "ERR") && ret->text.len == 0)
            ret->text = hl7_field(&s, ERR_USER_MESSAGE);
    }
    if (!msa)
        return;
    ret->kind = str_eq(ret->control, control) ? kind_of_code(ret->code) : HL7_REPLY_OTHER;
}
