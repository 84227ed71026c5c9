#include "core/format/edi_json.h"

#include "base/auto.h"
#include "core/format/edi_text.h"

const char *edi_word(enum edi_kind kind)
{
    static const char *const words[] = { "hl7", "x12", "edifact" };

    return words[kind];
}

struct to_json {
    enum edi_kind kind;
    struct outlet out;
    struct buf value;       /* one value, decoded */
    struct str end;         /* what ends most segments */
    struct edi_marks first; /* X12: the separators of the first interchange */
};

static void edi_json_value(struct to_json *t, const struct edi_marks *m, struct str text,
                           bool plain)
{
    buf_clear(&t->value);
    if (!str_is_utf8(text)) {
        outlet_puts(&t->out, "{\"hex\":\"");
        outlet_hex(&t->out, text);
        outlet_puts(&t->out, "\"}");
    } else if (plain) {
        outlet_json(&t->out, text);
    } else if (edi_decode(t->kind, m, text, &t->value)) {
        outlet_json(&t->out, buf_view(&t->value));
    } else {
        outlet_puts(&t->out, "{\"raw\":");
        outlet_json(&t->out, text);
        outlet_putc(&t->out, '}');
    }
}

/* A component: a text, or a list of subcomponents. */
static void put_component(struct to_json *t, const struct edi_marks *m, struct str text)
{
    struct str rest = text, piece;
    bool many = m->sub != '\0' && str_find(text, m->sub) >= 0;

    if (!many) {
        edi_json_value(t, m, text, false);
        return;
    }
    outlet_putc(&t->out, '[');
    for (bool first = true; edi_cut(m, m->sub, &rest, &piece); first = false) {
        if (!first)
            outlet_putc(&t->out, ',');
        edi_json_value(t, m, piece, false);
    }
    outlet_putc(&t->out, ']');
}

static void put_repetition(struct to_json *t, const struct edi_marks *m, struct str text)
{
    struct str rest = text, piece;

    outlet_putc(&t->out, '[');
    for (bool first = true; text.len > 0 && edi_cut(m, m->component, &rest, &piece);
         first = false) {
        if (!first)
            outlet_putc(&t->out, ',');
        put_component(t, m, piece);
    }
    outlet_putc(&t->out, ']');
}

static void put_element(struct to_json *t, const struct edi_marks *m, struct str text)
{
    struct str rest = text, piece;

    outlet_putc(&t->out, '[');
    for (bool first = true; text.len > 0 && edi_cut(m, m->repetition, &rest, &piece);
         first = false) {
        if (!first)
            outlet_putc(&t->out, ',');
        put_repetition(t, m, piece);
    }
    outlet_putc(&t->out, ']');
}

/* UNA has no terminator: the blanks of an end are its own. */
static struct str end_of(const struct to_json *t, const struct edi_segment *s)
{
    return str_is(s->tag, "UNA") && t->kind == EDI_EDIFACT ? str_from(t->end, 1) : t->end;
}

static void put_segment(struct to_json *t, const struct edi_segment *s)
{
    bool header = t->kind == EDI_HL7 && edi_tag_is_hl7_header(s->tag);
    bool plain = t->kind == EDI_X12 ? str_is(s->tag, "ISA") : str_is(s->tag, "UNA");
    bool una = t->kind == EDI_EDIFACT && plain;
    struct str rest = s->text, piece;

    outlet_puts(&t->out, s->number > 1 ? ",\n[" : "[");
    for (size_t i = 0; edi_cut(&s->marks, una ? '\0' : s->marks.element, &rest, &piece); i++) {
        if (i > 0)
            outlet_putc(&t->out, ',');
        if (una) {
            outlet_puts(&t->out, "\"UNA\",");
            edi_json_value(t, &s->marks, str_from(piece, 3), true);
        } else if (header && i == 0) {
            outlet_json(&t->out, piece);
            outlet_putc(&t->out, ',');
            outlet_json(&t->out, str_mem(&s->marks.element, 1));
        } else if (i == 0 || plain || (header && i == 1)) {
            edi_json_value(t, &s->marks, piece, true);
        } else {
            put_element(t, &s->marks, piece);
        }
    }
    if (!str_eq(s->end, end_of(t, s))) {
        outlet_puts(&t->out, ",{\"end\":");
        outlet_json(&t->out, s->end);
        outlet_putc(&t->out, '}');
    }
    outlet_putc(&t->out, ']');
}

/* What most segments end with: what the first one does that has an end of its own. */
static bool find_common_end(struct to_json *t, const struct edi_reader *start, struct err *err)
{
    struct edi_reader r = *start;
    struct edi_segment s;

    t->end = t->kind == EDI_HL7 ? STR("\r") : t->kind == EDI_X12 ? STR("~") : STR("'");
    do
        if (edi_next(&r, &s) != EDI_SEGMENT)
            return edi_fail(&r, err);
    while (str_is(s.tag, "UNA") && r.at < r.text.len);
    if (s.end.len > 0 && !str_is(s.tag, "UNA"))
        t->end = s.end;
    t->first = s.marks;
    return true;
}

static bool same_separators(const struct edi_marks *a, const struct edi_marks *b)
{
    return a->element == b->element && a->end == b->end;
}

static void put_start(struct to_json *t, struct str start)
{
    outlet_puts(&t->out, "{\"format\":\"");
    outlet_puts(&t->out, edi_word(t->kind));
    outlet_puts(&t->out, "\",\"end\":");
    outlet_json(&t->out, t->end);
    if (t->kind == EDI_X12) {
        outlet_puts(&t->out, ",\"separator\":");
        outlet_json(&t->out, str_mem(&t->first.element, 1));
    }
    if (start.len > 0) {
        outlet_puts(&t->out, ",\"start\":");
        outlet_json(&t->out, start);
    }
    outlet_puts(&t->out, ",\"segments\":[\n");
}

static bool put_segments(struct to_json *t, struct str text, struct err *err)
{
    struct edi_reader r;
    struct edi_segment s;
    enum edi_found found;

    edi_reader_init(&r, t->kind, text);
    if (!find_common_end(t, &r, err))
        return false;
    put_start(t, str_mem(text.ptr, r.start));
    while ((found = edi_next(&r, &s)) == EDI_SEGMENT && !t->out.over) {
        if (t->kind == EDI_X12 && !same_separators(&s.marks, &t->first))
            return err_set(err, ERR_PERMANENT, 0,
                           "X12: segment %zu, byte %zu: this interchange has other separators than "
                           "the first; split the text by interchange before",
                           s.number, s.at + 1);
        put_segment(t, &s);
    }
    outlet_puts(&t->out, "\n]}\n");
    return found != EDI_WRONG || edi_fail(&r, err);
}

bool edi_to_json(enum edi_kind kind, struct str text, size_t most, struct buf *to, struct err *err)
{
    struct to_json t = { .kind = kind, .value = BUF_INIT(EDI_BYTES_MOST) };

    outlet_init(&t.out, to, most);
    bool ok = put_segments(&t, text, err);

    buf_done(&t.value);
    return outlet_end(&t.out, ok, err);
}
