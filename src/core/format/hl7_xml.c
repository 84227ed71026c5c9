#include "core/format/hl7_xml.h"

#include <stdio.h>

#include "core/format/edi_text.h"

struct to_xml {
    struct outlet out;
    struct buf value; /* one value, decoded */
    struct str end;   /* of most segments */
};

/* Every character may stand in XML. */
static bool is_xml(struct str text)
{
    if (!str_is_utf8(text))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c < ' ' && c != '\t' && c != '\n' && c != '\r')
            return false;
        if (c == 0xef && memcmp(text.ptr + i, "\xef\xbf", 2) == 0 &&
            (unsigned char)text.ptr[i + 2] >= 0xbe)
            return false; /* U+FFFE, U+FFFF */
    }
    return true;
}

/* "PID.3.1"; a number that is 0 is left out. */
struct hl7_name {
    char text[40];
};

static struct hl7_name name_of(struct str tag, size_t field, size_t component, size_t sub)
{
    struct hl7_name name;
    int n = snprintf(name.text, sizeof name.text, "%.*s.%zu", STR_ARG(tag), field);

    if (component > 0)
        n += snprintf(name.text + n, sizeof name.text - (size_t)n, ".%zu", component);
    if (sub > 0)
        (void)snprintf(name.text + n, sizeof name.text - (size_t)n, ".%zu", sub);
    return name;
}

static void xml_open(struct to_xml *t, const struct hl7_name *name, const char *as)
{
    outlet_putc(&t->out, '<');
    outlet_puts(&t->out, name->text);
    outlet_puts(&t->out, as);
    outlet_putc(&t->out, '>');
}

static void xml_close(struct to_xml *t, const struct hl7_name *name)
{
    outlet_puts(&t->out, "</");
    outlet_puts(&t->out, name->text);
    outlet_putc(&t->out, '>');
}

static void xml_leaf(struct to_xml *t, const struct edi_marks *m, const struct hl7_name *name,
                     struct str text, bool plain)
{
    bool decoded = false;

    buf_clear(&t->value);
    if (text.len == 0) {
        xml_open(t, name, "/");
        return;
    }
    if (!is_xml(text)) {
        xml_open(t, name, " as=\"hex\"");
        outlet_hex(&t->out, text);
    } else {
        decoded = plain || (edi_decode(EDI_HL7, m, text, &t->value) && is_xml(buf_view(&t->value)));
        xml_open(t, name, decoded ? "" : " as=\"raw\"");
        outlet_xml(&t->out, decoded && !plain ? buf_view(&t->value) : text);
    }
    xml_close(t, name);
}

static void xml_component(struct to_xml *t, const struct edi_segment *s, size_t field,
                          size_t component, struct str text)
{
    struct hl7_name name = name_of(s->tag, field, component, 0);
    struct str rest = text, piece;

    if (s->marks.sub == '\0' || text.len == 0 || str_find(text, s->marks.sub) < 0) {
        xml_leaf(t, &s->marks, &name, text, false);
        return;
    }
    xml_open(t, &name, "");
    for (size_t i = 1; edi_cut(&s->marks, s->marks.sub, &rest, &piece); i++) {
        struct hl7_name sub = name_of(s->tag, field, component, i);

        xml_leaf(t, &s->marks, &sub, piece, false);
    }
    xml_close(t, &name);
}

static void xml_field(struct to_xml *t, const struct edi_segment *s, size_t field, struct str text)
{
    struct hl7_name name = name_of(s->tag, field, 0, 0);
    struct str reps = text, rep, rest, piece;

    while (edi_cut(&s->marks, s->marks.repetition, &reps, &rep)) {
        if (rep.len == 0) {
            xml_open(t, &name, "/");
            continue;
        }
        xml_open(t, &name, "");
        rest = rep;
        for (size_t i = 1; edi_cut(&s->marks, s->marks.component, &rest, &piece); i++)
            xml_component(t, s, field, i, piece);
        xml_close(t, &name);
    }
}

static void xml_end_attribute(struct to_xml *t, const char *name, struct str value)
{
    outlet_putc(&t->out, ' ');
    outlet_puts(&t->out, name);
    outlet_puts(&t->out, "=\"");
    outlet_xml(&t->out, value);
    outlet_putc(&t->out, '"');
}

static void xml_segment(struct to_xml *t, const struct edi_segment *s)
{
    bool header = edi_tag_is_hl7_header(s->tag);
    struct str rest = s->text, piece;

    outlet_putc(&t->out, '<');
    outlet_put(&t->out, s->tag);
    if (!str_eq(s->end, t->end))
        xml_end_attribute(t, "end", s->end);
    outlet_putc(&t->out, '>');
    (void)edi_cut(&s->marks, s->marks.element, &rest, &piece);
    if (header) {
        struct hl7_name one = name_of(s->tag, 1, 0, 0), two = name_of(s->tag, 2, 0, 0);

        xml_leaf(t, &s->marks, &one, str_mem(&s->marks.element, 1), true);
        if (edi_cut(&s->marks, s->marks.element, &rest, &piece))
            xml_leaf(t, &s->marks, &two, piece, true);
    }
    for (size_t i = header ? 3 : 1; edi_cut(&s->marks, s->marks.element, &rest, &piece); i++)
        xml_field(t, s, i, piece);
    outlet_puts(&t->out, "</");
    outlet_put(&t->out, s->tag);
    outlet_puts(&t->out, ">\n");
}

static bool xml_segments(struct to_xml *t, struct str text, struct err *err)
{
    struct edi_reader r;
    struct edi_segment s;
    enum edi_found found;

    edi_reader_init(&r, EDI_HL7, text);
    found = edi_next(&r, &s);
    t->end = found == EDI_SEGMENT && is_xml(s.end) && s.end.len > 0 ? s.end : STR("\r");
    outlet_puts(&t->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HL7Message");
    xml_end_attribute(t, "end", t->end);
    if (r.start > 0 && is_xml(str_mem(text.ptr, r.start)))
        xml_end_attribute(t, "start", str_mem(text.ptr, r.start));
    else if (r.start > 0)
        return err_set(err, ERR_PERMANENT, 0,
                       "HL7: byte 1: XML cannot hold what stands before the "
                       "first segment; remove its frame (MLLP) before");
    outlet_puts(&t->out, ">\n");
    for (; found == EDI_SEGMENT && !t->out.over; found = edi_next(&r, &s)) {
        if (!is_xml(s.end))
            return err_set(err, ERR_PERMANENT, 0,
                           "HL7: segment %zu, byte %zu: XML cannot hold what stands behind this "
                           "segment; remove its frame (MLLP) before",
                           s.number, s.at + 1);
        xml_segment(t, &s);
    }
    outlet_puts(&t->out, "</HL7Message>\n");
    return found != EDI_WRONG || edi_fail(&r, err);
}

bool hl7_to_xml(struct str text, size_t most, struct buf *to, struct err *err)
{
    struct to_xml t = { .value = BUF_INIT(EDI_BYTES_MOST) };

    outlet_init(&t.out, to, most);
    bool ok = xml_segments(&t, text, err);

    buf_done(&t.value);
    return outlet_end(&t.out, ok, err);
}
