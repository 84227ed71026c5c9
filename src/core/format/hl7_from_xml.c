/* hl7_from_xml.c - the way back of hl7_xml.h, over expat. */
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "core/format/edi_text.h"
#include "core/format/hl7_xml.h"

/* Elements inside of each other.  The root may have any name. */
enum depth { NOTHING, ROOT, SEGMENT, FIELD, COMPONENT, SUB, DEPTHS };

enum as { AS_TEXT, AS_RAW, AS_HEX };

enum { NUMBER_MOST = EDI_PIECES_MOST + 2, NAME_MOST = 40 };

struct from_xml {
    XML_Parser parser;
    struct outlet out;
    struct buf text;         /* of the innermost element */
    struct buf end, own_end; /* of all segments, of this one */
    bool has_own_end;
    struct edi_marks marks;
    char msh1;

    enum depth depth;
    char names[DEPTHS][NAME_MOST];
    size_t last[DEPTHS]; /* the number of the element before at that depth, in its parent */
    bool parent[DEPTHS]; /* it has elements in it */
    enum as as;
    bool header;
    size_t segments;
    struct err *err;
    bool failed;
};

static void hl7_xml_wrong(struct from_xml *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void hl7_xml_wrong(struct from_xml *f, const char *format, ...)
{
    char why[160];
    va_list ap;

    if (f->failed)
        return;
    va_start(ap, format);
    (void)vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    f->failed = true;
    (void)err_set(f->err, ERR_PERMANENT, 0, "XML: line %lu, column %lu: %s",
                  (unsigned long)XML_GetCurrentLineNumber(f->parser),
                  (unsigned long)XML_GetCurrentColumnNumber(f->parser) + 1, why);
    (void)XML_StopParser(f->parser, XML_FALSE);
}

/* ---- elements ---- */

static const char *hl7_xml_attribute(const char **attributes, const char *name)
{
    for (; attributes[0] != NULL; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

static void set_text(struct buf *b, const char *z)
{
    buf_clear(b);
    buf_puts(b, z);
}

/* The end of the segment that was written last. */
static void write_end(struct from_xml *f, bool last)
{
    struct str own = buf_view(&f->own_end);
    bool ends = own.len > 0 && (own.ptr[0] == '\r' || own.ptr[0] == '\n');

    if (f->segments > 0)
        outlet_put(&f->out, f->has_own_end && (ends || last) ? own : buf_view(&f->end));
}

static void begin_root(struct from_xml *f, const char **attributes)
{
    const char *end = hl7_xml_attribute(attributes, "end"),
               *start = hl7_xml_attribute(attributes, "start");

    set_text(&f->end, end != NULL && end[0] != '\0' ? end : "\r");
    if (start != NULL)
        outlet_puts(&f->out, start);
}

static void hl7_xml_begin_segment(struct from_xml *f, const char *name, const char **attributes)
{
    const char *end = hl7_xml_attribute(attributes, "end");

    write_end(f, false);
    f->segments++;
    f->has_own_end = end != NULL;
    set_text(&f->own_end, end != NULL ? end : "");
    f->header = edi_tag_is_hl7_header(str_of(name));
    if (strlen(name) != EDI_TAG_MOST)
        hl7_xml_wrong(f, "`%.20s` is not the name of a segment", name);
    outlet_puts(&f->out, name);
}

/* The last number of a name that continues that of its parent: PID.3.1 in PID.3; 0: it does not. */
static size_t number_in(const char *parent, const char *name)
{
    size_t n = strlen(parent);
    uint64_t number;

    if (strncmp(name, parent, n) != 0 || name[n] != '.' ||
        !str_to_u64(str_of(name + n + 1), &number) || number > NUMBER_MOST)
        return 0;
    return (size_t)number;
}

/* Separators from the element before to this one. */
static void hl7_xml_separate(struct from_xml *f, const char *name, size_t number)
{
    const char marks[DEPTHS] = {
        [FIELD] = f->marks.element, [COMPONENT] = f->marks.component, [SUB] = f->marks.sub
    };
    size_t last = f->last[f->depth];
    char mark = marks[f->depth];
    size_t n = number - last;

    if (f->header && f->depth == FIELD && number <= 2)
        return; /* MSH-1 is the separator itself */
    if (number == last && f->depth == FIELD) {
        mark = f->marks.repetition;
        n = 1;
    } else if (number <= last) {
        hl7_xml_wrong(f, "%s stands behind a higher number", name);
        return;
    } else if (f->depth != FIELD && last == 0) {
        n = number - 1; /* the first one has none before it */
    } else if (f->header && f->depth == FIELD && last < 2) {
        hl7_xml_wrong(f, "%s without MSH.1 and MSH.2, the separators", name);
        return;
    }
    if (n > 0 && mark == '\0')
        hl7_xml_wrong(f, "%s needs a separator that the header does not name", name);
    for (size_t i = 0; i < n && !f->out.over; i++)
        outlet_putc(&f->out, mark);
}

static void begin_part(struct from_xml *f, const char *name, const char **attributes)
{
    const char *as = hl7_xml_attribute(attributes, "as");
    size_t number = number_in(f->names[f->depth - 1], name);

    f->as = as == NULL ? AS_TEXT : strcmp(as, "raw") == 0 ? AS_RAW : AS_HEX;
    if (number == 0)
        hl7_xml_wrong(f, "`%.40s` in %s: its elements are named %s.1, %s.2 and so on", name,
                      f->names[f->depth - 1], f->names[f->depth - 1], f->names[f->depth - 1]);
    else if (as != NULL && f->as == AS_HEX && strcmp(as, "hex") != 0)
        hl7_xml_wrong(f, "`as` is raw or hex");
    else
        hl7_xml_separate(f, name, number);
    f->last[f->depth] = number;
}

/* An element has text or elements, not both. */
static bool only_blanks(struct from_xml *f)
{
    for (size_t i = 0; i < f->text.len; i++)
        if (strchr(" \t\r\n", f->text.ptr[i]) == NULL) {
            hl7_xml_wrong(f, "text beside elements");
            return false;
        }
    return true;
}

static void XMLCALL hl7_xml_on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    struct from_xml *f = arg;

    if (f->failed || !only_blanks(f))
        return;
    buf_clear(&f->text);
    if (f->depth + 1 == DEPTHS || strlen(name) >= NAME_MOST) {
        hl7_xml_wrong(f, "`%.40s` is not expected here", name);
        return;
    }
    f->parent[f->depth] = true;
    f->depth++;
    f->parent[f->depth] = false;
    (void)snprintf(f->names[f->depth], NAME_MOST, "%s", name);
    if (f->depth == ROOT)
        begin_root(f, attributes);
    else if (f->depth == SEGMENT)
        hl7_xml_begin_segment(f, name, attributes);
    else
        begin_part(f, name, attributes);
    if (f->depth + 1 < DEPTHS)
        f->last[f->depth + 1] = 0;
}

/* ---- values ---- */

/* Pairs of hex digits become bytes, at the same place. */
static bool hex_to_bytes(struct from_xml *f)
{
    struct buf *t = &f->text;
    size_t n = 0;

    for (size_t i = 0; i < t->len; i += 2) {
        int high = str_hex_digit(t->ptr[i]);
        int low = i + 1 < t->len ? str_hex_digit(t->ptr[i + 1]) : -1;

        if (high < 0 || low < 0) {
            hl7_xml_wrong(f, "as=\"hex\" has something else than pairs of hex digits");
            return false;
        }
        t->ptr[n++] = (char)(high * 16 + low);
    }
    if (t->len > 0)
        t->ptr[t->len = n] = '\0';
    return true;
}

static void write_separators(struct from_xml *f, struct str value)
{
    const char *why = NULL;

    if (f->last[FIELD] == 1) {
        f->msh1 = value.len == 1 ? value.ptr[0] : '\0';
        f->marks = (struct edi_marks){ .element = f->msh1 };
    } else if (!edi_hl7_marks(str_mem(&f->msh1, f->msh1 != '\0'), value, &f->marks, &why)) {
        hl7_xml_wrong(f, "%s", why);
    }
    outlet_put(&f->out, value);
}

static void hl7_xml_value(struct from_xml *f)
{
    struct str value;
    struct err err;

    if (f->as == AS_HEX && !hex_to_bytes(f))
        return;
    value = buf_view(&f->text);
    if (f->header && f->depth == FIELD && f->last[FIELD] <= 2)
        write_separators(f, value);
    else if (f->as != AS_TEXT)
        outlet_put(&f->out, value);
    else if (!edi_encode(EDI_HL7, &f->marks, value, &f->out, &err))
        hl7_xml_wrong(f, "%s: %s", f->names[f->depth], err.text);
}

static void XMLCALL hl7_xml_on_end(void *arg, const XML_Char *name)
{
    struct from_xml *f = arg;

    (void)name;
    if (f->failed)
        return;
    if (!f->parent[f->depth] && f->depth >= FIELD)
        hl7_xml_value(f);
    else if (!only_blanks(f))
        return;
    if (f->depth == SEGMENT && f->header && f->last[FIELD] < 2)
        hl7_xml_wrong(f, "a header without its separators, fields 1 and 2");
    buf_clear(&f->text);
    f->as = AS_TEXT;
    f->depth--;
}

static void XMLCALL hl7_xml_on_text(void *arg, const XML_Char *text, int len)
{
    struct from_xml *f = arg;

    if (!f->failed)
        buf_put(&f->text, str_mem(text, (size_t)len));
}

static void XMLCALL hl7_xml_on_doctype(void *arg, const XML_Char *name, const XML_Char *system,
                                       const XML_Char *public, int internal)
{
    struct from_xml *f = arg;

    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    hl7_xml_wrong(f, "a document type declaration is not allowed");
}

/* ---- the whole ---- */

static bool hl7_xml_read(struct from_xml *f, struct str xml)
{
    XML_SetUserData(f->parser, f);
    XML_SetElementHandler(f->parser, hl7_xml_on_start, hl7_xml_on_end);
    XML_SetCharacterDataHandler(f->parser, hl7_xml_on_text);
    XML_SetStartDoctypeDeclHandler(f->parser, hl7_xml_on_doctype);
    if (XML_Parse(f->parser, xml.len > 0 ? xml.ptr : "", (int)xml.len, 1) != XML_STATUS_OK)
        hl7_xml_wrong(f, "%s", XML_ErrorString(XML_GetErrorCode(f->parser)));
    if (f->failed)
        return false;
    write_end(f, true);
    return f->out.over || edi_check(EDI_HL7, outlet_view(&f->out), f->segments, f->err);
}

bool hl7_from_xml(struct str xml, size_t most, struct buf *to, struct err *err)
{
    /* Expat decodes other character sets to UTF-8: at most three bytes for one. */
    struct from_xml f = { .text = BUF_INIT(3 * xml.len),
                          .end = BUF_INIT(3 * xml.len + 1),
                          .own_end = BUF_INIT(3 * xml.len),
                          .err = err };

    if (xml.len > EDI_BYTES_MOST)
        return err_set(err, ERR_LIMIT, 0, "XML: more than %d bytes", EDI_BYTES_MOST);
    outlet_init(&f.out, to, most);
    f.parser = XML_ParserCreate(NULL);
    if (f.parser == NULL)
        return err_set(err, ERR_TRANSIENT, 0, "no memory for an XML parser");
    bool ok = hl7_xml_read(&f, xml);

    XML_ParserFree(f.parser);
    buf_done(&f.text);
    buf_done(&f.end);
    buf_done(&f.own_end);
    return outlet_end(&f.out, ok, err);
}
