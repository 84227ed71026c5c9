#include "core/mllp/hl7_head.h"

static const char msh_tag[] = "MSH";

void hl7_head_done(struct hl7_head *h)
{
    buf_done(&h->text);
}

void hl7_head_clear(struct hl7_head *h)
{
    struct buf text = h->text;

    buf_clear(&text);
    *h = (struct hl7_head){ .text = text };
}

/* VT and FS of MLLP too: a frame that was never closed has another message behind it. */
static bool ends_segment(char c)
{
    return c == '\r' || c == '\n' || c == '\x0b' || c == '\x1c';
}

/* The bytes that may stand before the first segment are not of it. */
static void keep_first_segment(struct hl7_head *h, struct str bytes)
{
    size_t at = 0, len;

    if (h->text.len == 0)
        while (at < bytes.len && edi_is_blank(EDI_HL7, bytes.ptr[at]))
            at++;
    bytes = str_from(bytes, at);
    for (len = 0; len < bytes.len && !ends_segment(bytes.ptr[len]); len++)
        ;
    size_t room = h->text.cap - h->text.len;

    h->whole = len < bytes.len || len > room;
    buf_put(&h->text, str_mem(bytes.ptr, len < room ? len : room));
}

/* A message begins with "MSH" and the separator of fields, which the first MSH says. */
static bool matches(const struct hl7_head *h, char c)
{
    if (h->matched < sizeof msh_tag - 1)
        return c == msh_tag[h->matched];
    return h->messages == 0 || c == h->separator;
}

/* Blanks, and a byte order mark before the first message. */
static bool may_precede(const struct hl7_head *h, char c)
{
    return edi_is_blank(EDI_HL7, c) || (h->messages == 0 && (unsigned char)c >= 0x80);
}

static void count_byte(struct hl7_head *h, char c)
{
    if (ends_segment(c)) {
        h->inside = false;
        h->matched = 0;
    } else if (h->inside || (h->matched == 0 && may_precede(h, c))) {
        return;
    } else if (!matches(h, c)) {
        h->inside = true;
        h->matched = 0;
    } else if (++h->matched == sizeof msh_tag) {
        h->separator = c;
        h->messages++;
        h->inside = true;
        h->matched = 0;
    }
}

void hl7_head_add(struct hl7_head *h, struct str bytes)
{
    if (!h->whole)
        keep_first_segment(h, bytes);
    for (size_t i = 0; i < bytes.len; i++)
        count_byte(h, bytes.ptr[i]);
}

bool hl7_head_msh(const struct hl7_head *h, struct edi_segment *ret, const char **ret_why)
{
    struct edi_reader r;

    edi_reader_init(&r, EDI_HL7, buf_view(&h->text));
    enum edi_found found = h->text.len > 0 ? edi_next(&r, ret) : EDI_END;

    *ret_why = found == EDI_WRONG ? r.why : "A message begins with MSH.";
    return found == EDI_SEGMENT && str_is(ret->tag, msh_tag);
}

struct str hl7_field(const struct edi_segment *msh, size_t n)
{
    struct str value;

    return edi_element(msh, n, &value) ? value : STR("");
}

struct str hl7_component(const struct edi_segment *msh, size_t field, size_t n)
{
    struct str rest = hl7_field(msh, field), piece = STR("");

    for (size_t i = 0; i < n; i++)
        if (!edi_cut(&msh->marks, msh->marks.component, &rest, &piece))
            return STR("");
    return piece;
}
