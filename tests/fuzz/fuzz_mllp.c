/* Whatever the stream: its frames do not depend on the pieces it comes in, and the acknowledgement
 * of each message is two segments in the message's own separators, without control characters. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/mllp/hl7_ack.h"
#include "core/mllp/hl7_head.h"
#include "core/mllp/hl7_reply.h"
#include "core/mllp/mllp.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST = 64 << 20 };

/* Two segments, MSH and MSA, and the control id that they answer. */
static void check_ack(const struct edi_segment *msh, struct str ack, const char *code)
{
    AUTO(buf_done) struct buf theirs = BUF_INIT(HL7_HEAD_MOST);
    struct edi_reader r;
    struct edi_segment first, second, none;
    struct str control = msh != NULL ? hl7_field(msh, 10) : STR("");

    for (size_t i = 0; i < ack.len; i++)
        require(((unsigned char)ack.ptr[i] >= 0x20 && ack.ptr[i] != 0x7f) || ack.ptr[i] == '\r');
    for (size_t i = 0; i < control.len; i++)
        if ((unsigned char)control.ptr[i] >= 0x20 && control.ptr[i] != 0x7f)
            buf_putc(&theirs, control.ptr[i]);
    edi_reader_init(&r, EDI_HL7, ack);
    require(edi_next(&r, &first) == EDI_SEGMENT && str_is(first.tag, "MSH"));
    require(edi_next(&r, &second) == EDI_SEGMENT && str_is(second.tag, "MSA"));
    require(edi_next(&r, &none) == EDI_END);
    require(str_is(hl7_field(&first, 10), "CONTROL"));
    require(str_is(hl7_field(&second, 1), code));
    require(str_eq(hl7_field(&second, 2), buf_view(&theirs)));
    struct hl7_reply reply;

    hl7_reply_read(ack, buf_view(&theirs), &reply);
    require(reply.kind <= HL7_REPLY_REJECTED && str_is(reply.code, code));
    hl7_reply_read(ack, STR("another\r"), &reply);
    require(reply.kind == HL7_REPLY_OTHER);
}

static void acknowledge(const struct hl7_head *h, struct buf *ret)
{
    struct edi_segment segment;
    const char *why;
    bool readable = hl7_head_msh(h, &segment, &why);
    const struct edi_segment *msh = readable ? &segment : NULL;

    require(readable || (why != NULL && why[0] != '\0'));
    for (enum hl7_verdict v = HL7_ACCEPT; v <= HL7_REJECT; v++) {
        AUTO(buf_done) struct buf ack = BUF_INIT(HL7_ACK_MOST);
        const char *code = hl7_ack_code(msh, v);

        if (code == NULL)
            continue;
        hl7_ack_put(&ack, msh,
                    &(struct hl7_ack){ .code = code,
                                       .control = STR("CONTROL"),
                                       .at_us = INT64_C(1794988800000000),
                                       .message = readable ? NULL : why });
        check_ack(msh, buf_view(&ack), code);
        buf_put(ret, buf_view(&ack));
    }
}

/* All that comes out of the stream, in `ret`. */
static void read_stream(struct str stream, size_t piece, struct buf *ret)
{
    AUTO(hl7_head_done) struct hl7_head head = HL7_HEAD_INIT;
    struct mllp_reader r = { 0 };
    enum mllp_event e = MLLP_MORE;

    for (size_t at = 0; at < stream.len && e != MLLP_STRAY; at += piece) {
        struct str rest =
            str_mem(stream.ptr + at, stream.len - at < piece ? stream.len - at : piece);
        struct str bytes = STR("");

        while ((e = mllp_next(&r, &rest, &bytes)) != MLLP_MORE && e != MLLP_STRAY) {
            if (e == MLLP_BYTES) {
                buf_put(ret, bytes);
                hl7_head_add(&head, bytes);
                continue;
            }
            buf_putc(ret, e == MLLP_BEGIN ? '<' : '>');
            if (e == MLLP_END) {
                buf_putc(ret, (char)('0' + head.messages % 10));
                acknowledge(&head, ret);
            }
            hl7_head_clear(&head);
        }
        require(e != MLLP_MORE || rest.len == 0);
    }
    buf_putc(ret, e == MLLP_STRAY ? '!' : mllp_is_closing(&r) ? '|' : '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_done) struct buf one = BUF_INIT(MOST);
    AUTO(buf_done) struct buf many = BUF_INIT(MOST);

    if (size < 2 || size > 1 << 15)
        return 0;
    struct str stream = str_mem(bytes + 1, size - 1);

    read_stream(stream, stream.len, &one);
    read_stream(stream, 1 + bytes[0] % 17, &many);
    require(str_eq(buf_view(&one), buf_view(&many)));
    return 0;
}
