#include "core/mllp/hl7_ack.h"

#include "base/clock.h"
#include "base/require.h"
#include "core/civil.h"
#include "core/mllp/hl7_head.h"

/* Fields of MSH. */
enum {
    FIELD_MARKS = 2,
    FIELD_SENDER = 3,
    FIELD_SENDER_PLACE,
    FIELD_RECEIVER,
    FIELD_RECEIVER_PLACE,
    FIELD_TYPE = 9,
    FIELD_CONTROL = 10,
    FIELD_PROCESSING = 11,
    FIELD_VERSION = 12,
    FIELD_ACCEPT_ACK = 15,
    FIELD_APPLICATION_ACK = 16,
    FIELD_CHARSET = 18
};

static const struct edi_marks usual_marks = {
    .element = '|', .component = '^', .repetition = '~', .sub = '&', .escape = '\\'
};

/* ---- whether, and which ---- */

static bool hl7_is_wanted(struct str condition, enum hl7_verdict verdict)
{
    if (str_is(condition, "NE"))
        return false;
    if (str_is(condition, "ER"))
        return verdict != HL7_ACCEPT;
    if (str_is(condition, "SU"))
        return verdict == HL7_ACCEPT;
    return true;
}

const char *hl7_ack_code(const struct edi_segment *msh, enum hl7_verdict verdict)
{
    static const char *const original[] = { "AA", "AE", "AR" }, *const enhanced[] = { "CA", "CE",
                                                                                      "CR" };
    struct str accept = msh != NULL ? str_trim(hl7_field(msh, FIELD_ACCEPT_ACK)) : STR("");
    struct str application =
        msh != NULL ? str_trim(hl7_field(msh, FIELD_APPLICATION_ACK)) : STR("");

    require(verdict <= HL7_REJECT);
    if (accept.len > 0 && !str_is(accept, "NE"))
        return hl7_is_wanted(accept, verdict) ? enhanced[verdict] : NULL;
    if (application.len > 0)
        return hl7_is_wanted(application, verdict) ? original[verdict] : NULL;
    return accept.len == 0 ? original[verdict] : NULL;
}

/* ---- the text ---- */

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* What the sender wrote, in its own separators and character set. */
static void put_copied(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_control(text.ptr[i]))
            buf_putc(to, text.ptr[i]);
}

/* What we say: ASCII, in which a separator of the message would be taken for one. */
static void put_said(struct buf *to, const struct edi_marks *m, const char *text)
{
    for (; *text != '\0'; text++) {
        char c = *text;
        bool mark = c == m->element || c == m->component || c == m->repetition || c == m->sub ||
                    c == m->escape;

        buf_putc(to, mark || is_control(c) ? ' ' : c);
    }
}

static void put_time(struct buf *to, int64_t at_us)
{
    int64_t at_s = civil_floor(at_us, CLOCK_S), day = civil_floor(at_s, CIVIL_DAY_S);
    struct civil_date d = civil_date(day);
    int second = (int)(at_s - day * CIVIL_DAY_S);

    buf_printf(to, "%04lld%02d%02d%02d%02d%02d+0000", (long long)d.year, d.month, d.day,
               second / 3600, second / 60 % 60, second % 60);
}

/* Since 2.3.1 the event stands behind the type, since 2.4 the structure behind both. */
static void put_type(struct buf *to, const struct edi_segment *msh, const struct edi_marks *m)
{
    struct str event = msh != NULL ? hl7_component(msh, FIELD_TYPE, 2) : STR("");
    struct str version = msh != NULL ? hl7_component(msh, FIELD_VERSION, 1) : STR("");
    bool old = str_is(version, "2.1") || str_is(version, "2.2");

    buf_puts(to, "ACK");
    if (event.len == 0 || old || m->component == '\0')
        return;
    buf_putc(to, m->component);
    put_copied(to, event);
    if (str_starts(version, STR("2.3")))
        return;
    buf_putc(to, m->component);
    buf_puts(to, "ACK");
}

static void put_field(struct buf *to, const struct edi_segment *msh, size_t n, const char *fallback)
{
    struct str value = msh != NULL ? hl7_field(msh, n) : STR("");

    if (value.len > 0)
        put_copied(to, value);
    else
        buf_puts(to, fallback);
}

static void put_header(struct buf *to, const struct edi_segment *msh, const struct edi_marks *m,
                       const struct hl7_ack *ack)
{
    static const size_t parties[] = { FIELD_RECEIVER, FIELD_RECEIVER_PLACE, FIELD_SENDER,
                                      FIELD_SENDER_PLACE };
    char sep = m->element;

    buf_puts(to, "MSH");
    buf_putc(to, sep);
    put_field(to, msh, FIELD_MARKS, "^~\\&");
    for (size_t i = 0; i < sizeof parties / sizeof parties[0]; i++) {
        buf_putc(to, sep);
        put_field(to, msh, parties[i], "");
    }
    buf_putc(to, sep);
    put_time(to, ack->at_us);
    buf_putc(to, sep);
    buf_putc(to, sep);
    put_type(to, msh, m);
    buf_putc(to, sep);
    buf_put(to, ack->control);
    buf_putc(to, sep);
    put_field(to, msh, FIELD_PROCESSING, "P");
    buf_putc(to, sep);
    put_field(to, msh, FIELD_VERSION, "2.5");
    if (msh != NULL && hl7_field(msh, FIELD_CHARSET).len > 0) {
        for (int i = FIELD_VERSION; i < FIELD_CHARSET; i++)
            buf_putc(to, sep);
        put_field(to, msh, FIELD_CHARSET, "");
    }
    buf_putc(to, '\r');
}

void hl7_ack_put(struct buf *to, const struct edi_segment *msh, const struct hl7_ack *ack)
{
    const struct edi_marks *m = msh != NULL ? &msh->marks : &usual_marks;

    require(ack->code != NULL && ack->control.len <= HL7_CONTROL_MOST);
    put_header(to, msh, m, ack);
    buf_puts(to, "MSA");
    buf_putc(to, m->element);
    buf_puts(to, ack->code);
    buf_putc(to, m->element);
    put_field(to, msh, FIELD_CONTROL, "");
    if (ack->message != NULL) {
        buf_putc(to, m->element);
        put_said(to, m, ack->message);
    }
    buf_putc(to, '\r');
}
