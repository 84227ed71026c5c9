#include "core/format/soap.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

#include "base/require.h"

#define NS_1_1 "http://schemas.xmlsoap.org/soap/envelope/"
#define NS_1_2 "http://www.w3.org/2003/05/soap-envelope"
#define HEAD   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

/* ---- reading ---- */

/* Where a text is read into; NULL: it is not wanted. */
enum place { IN_NOTHING, IN_CODE, IN_REASON };

struct soap_reading {
    XML_Parser parser;
    struct err *err; /* NULL: nobody wants to know */
    bool failed, stopped;
    size_t depth;

    bool whole;                /* of a document: all of it is read */
    enum soap_version version; /* of the outermost element */
    size_t from;

    bool in_body, has_body; /* of an answer */
    size_t fault_depth;     /* 0: in none */
    bool is_fault, has_code, has_reason;
    enum place place;
    size_t place_depth;
    struct soap_fault *fault;
    size_t len;
};

static void soap_refuse(struct soap_reading *r, const char *why)
{
    if (r->failed)
        return;
    r->failed = true;
    if (r->err != NULL)
        (void)err_set(r->err, ERR_PERMANENT, 0, "%s", why);
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static void soap_stop(struct soap_reading *r)
{
    r->stopped = true;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

/* A name as expat gives it: NAMESPACE, a blank, and the local name; or the local name alone. */
static struct str local_name(const char *name)
{
    const char *blank = strrchr(name, ' ');

    return str_of(blank != NULL ? blank + 1 : name);
}

static bool is_of(const char *name, enum soap_version version, const char *local)
{
    struct str ns = version == SOAP_1_2 ? STR(NS_1_2) : STR(NS_1_1);
    struct str all = str_of(name);

    return str_starts(all, ns) && all.len > ns.len && all.ptr[ns.len] == ' ' &&
           str_is(str_from(all, ns.len + 1), local);
}

static enum soap_version envelope_of(const char *name)
{
    return is_of(name, SOAP_1_1, "Envelope")   ? SOAP_1_1
           : is_of(name, SOAP_1_2, "Envelope") ? SOAP_1_2
                                               : SOAP_NONE;
}

static void soap_on_doctype(void *user, const char *name, const char *sysid, const char *pubid,
                            int internal)
{
    (void)name, (void)sysid, (void)pubid, (void)internal;
    soap_refuse(user, "it has a document type declaration (DOCTYPE), which SOAP forbids");
}

static void soap_on_declaration(void *user, const char *version, const char *encoding, int alone)
{
    struct str name = encoding != NULL ? str_of(encoding) : STR("UTF-8");

    (void)version, (void)alone;
    if (!str_eq_nocase(name, STR("UTF-8")) && !str_eq_nocase(name, STR("US-ASCII")))
        soap_refuse(user, "it is not in UTF-8; put the step `charset` before it");
}

static bool soap_enter(struct soap_reading *r)
{
    if (r->failed || r->stopped)
        return false; /* expat may call once more after the stop */
    if (++r->depth > SOAP_DEPTH) {
        soap_refuse(r, "its elements stand too deep in each other");
        return false;
    }
    return true;
}

/* ---- documents ---- */

static void look_on_start(void *user, const char *name, const char **attributes)
{
    struct soap_reading *r = user;

    (void)attributes;
    if (!soap_enter(r) || r->depth > 1)
        return;
    XML_Index at = XML_GetCurrentByteIndex(r->parser);

    r->version = envelope_of(name);
    r->from = at > 0 ? (size_t)at : 0;
    if (!r->whole)
        soap_stop(r);
}

static void look_on_end(void *user, const char *name)
{
    struct soap_reading *r = user;

    (void)name;
    r->depth--;
}

static XML_Parser start_parser(struct soap_reading *r, XML_StartElementHandler starts,
                               XML_EndElementHandler ends)
{
    XML_Parser p = XML_ParserCreateNS(NULL, ' ');

    require(p != NULL);
    XML_SetUserData(p, r);
    XML_SetElementHandler(p, starts, ends);
    XML_SetStartDoctypeDeclHandler(p, soap_on_doctype);
    XML_SetXmlDeclHandler(p, soap_on_declaration);
    XML_SetParamEntityParsing(p, XML_PARAM_ENTITY_PARSING_NEVER);
    return p;
}

bool soap_look(struct str bytes, bool whole, struct soap_document *ret, struct err *err)
{
    struct soap_reading r = { .err = err, .whole = whole };

    require(bytes.len <= INT_MAX);
    if (bytes.len > 1 && (bytes.ptr[0] == '\0' || bytes.ptr[1] == '\0'))
        return err_set(err, ERR_PERMANENT, 0, "it is UTF-16; put `charset: UTF-16` before it");
    r.parser = start_parser(&r, look_on_start, look_on_end);
    bool ok = XML_Parse(r.parser, bytes.ptr, (int)bytes.len, whole) == XML_STATUS_OK;
    enum XML_Error wrong = XML_GetErrorCode(r.parser);

    XML_ParserFree(r.parser);
    if (r.failed)
        return false;
    if (!ok && !r.stopped)
        return err_set(err, ERR_PERMANENT, 0, "it is not XML: %s", XML_ErrorString(wrong));
    if (!whole && !r.stopped)
        return err_set(err, ERR_PERMANENT, 0, "no element begins in its first %zu bytes",
                       bytes.len);
    *ret = (struct soap_document){ .envelope = r.version, .from = r.from };
    return true;
}

/* ---- answers ---- */

/* In a fault, which texts are wanted: of 1.1 faultcode and faultstring, of 1.2 Code/Value and
 * Reason/Text. */
static void place_text(struct soap_reading *r, const char *name)
{
    size_t below = r->depth - r->fault_depth;
    struct str local = local_name(name);

    if (r->version == SOAP_1_1 && below == 1 && str_is(local, "faultcode"))
        r->place = IN_CODE;
    else if (r->version == SOAP_1_1 && below == 1 && str_is(local, "faultstring"))
        r->place = IN_REASON;
    else if (r->version == SOAP_1_2 && below == 2 && is_of(name, SOAP_1_2, "Value"))
        r->place = IN_CODE;
    else if (r->version == SOAP_1_2 && below == 2 && is_of(name, SOAP_1_2, "Text"))
        r->place = IN_REASON;
    else
        return;
    if ((r->place == IN_CODE && r->has_code) || (r->place == IN_REASON && r->has_reason)) {
        r->place = IN_NOTHING; /* the first one counts */
        return;
    }
    r->place_depth = r->depth;
    r->len = 0;
}

static void read_on_start(void *user, const char *name, const char **attributes)
{
    struct soap_reading *r = user;

    (void)attributes;
    if (!soap_enter(r))
        return;
    if (r->depth == 1) {
        r->version = envelope_of(name);
        if (r->version == SOAP_NONE)
            soap_stop(r);
    } else if (r->depth == 2) {
        r->in_body = is_of(name, r->version, "Body");
        r->has_body = r->has_body || r->in_body;
    } else if (r->depth == 3 && r->in_body && is_of(name, r->version, "Fault")) {
        r->is_fault = true;
        r->fault_depth = 3;
    } else if (r->fault_depth > 0 && r->place == IN_NOTHING) {
        place_text(r, name);
    }
}

static void end_text(struct soap_reading *r)
{
    char *text = r->place == IN_CODE ? r->fault->code : r->fault->reason;

    text[r->len] = '\0';
    if (r->place == IN_CODE)
        r->has_code = true;
    else
        r->has_reason = true;
    r->place = IN_NOTHING;
    if (r->has_code && r->has_reason)
        soap_stop(r);
}

static void read_on_end(void *user, const char *name)
{
    struct soap_reading *r = user;

    (void)name;
    if (r->failed || r->stopped)
        return;
    if (r->place != IN_NOTHING && r->depth == r->place_depth)
        end_text(r);
    if (r->depth == r->fault_depth)
        r->fault_depth = 0;
    r->depth--;
}

static void read_on_text(void *user, const char *text, int len)
{
    struct soap_reading *r = user;

    if (r->place == IN_NOTHING || r->failed || r->stopped || r->depth != r->place_depth)
        return;
    char *to = r->place == IN_CODE ? r->fault->code : r->fault->reason;

    for (int i = 0; i < len && r->len < SOAP_TEXT; i++)
        to[r->len++] = text[i];
}

/* Without blanks around it, and without a character that was cut. */
static void trim_text(char text[static SOAP_TEXT + 1])
{
    struct str s = str_first(str_of(text), SOAP_TEXT - 4);
    size_t from = 0, to = strlen(text) > SOAP_TEXT - 4 ? s.len : strlen(text);

    while (to > 0 && (unsigned char)text[to - 1] <= ' ')
        to--;
    while (from < to && (unsigned char)text[from] <= ' ')
        from++;
    memmove(text, text + from, to - from);
    text[to - from] = '\0';
}

static enum soap_side side_of(char code[static SOAP_TEXT + 1])
{
    static const struct {
        const char *code;
        enum soap_side side;
    } known[] = { { "Client", SOAP_SENDER },
                  { "Sender", SOAP_SENDER },
                  { "MustUnderstand", SOAP_SENDER },
                  { "VersionMismatch", SOAP_SENDER },
                  { "DataEncodingUnknown", SOAP_SENDER },
                  { "Server", SOAP_RECEIVER },
                  { "Receiver", SOAP_RECEIVER } };
    char *colon = strrchr(code, ':');
    struct str first;

    if (colon != NULL)
        memmove(code, colon + 1, strlen(colon + 1) + 1);
    (void)str_cut(str_of(code), '.', &first); /* 1.1 allows Client.Authentication */
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_is(first, known[i].code))
            return known[i].side;
    return SOAP_OTHER_SIDE;
}

enum soap_said soap_read(struct str answer, struct soap_fault *ret)
{
    struct soap_fault fault = { 0 };
    struct soap_reading r = { .fault = &fault };

    require(answer.len <= INT_MAX);
    r.parser = start_parser(&r, read_on_start, read_on_end);
    XML_SetCharacterDataHandler(r.parser, read_on_text);
    /* The answer may be cut: what was read before the end counts. */
    (void)XML_Parse(r.parser, answer.ptr, (int)answer.len, 0);
    XML_ParserFree(r.parser);
    if (r.failed || r.version == SOAP_NONE || !r.has_body)
        return SOAP_NO_ENVELOPE;
    if (!r.is_fault)
        return SOAP_ANSWER;
    trim_text(fault.code);
    trim_text(fault.reason);
    fault.side = r.has_code ? side_of(fault.code) : SOAP_OTHER_SIDE;
    *ret = fault;
    return SOAP_FAULT;
}

/* ---- writing ---- */

struct str soap_before(enum soap_version version)
{
    return version == SOAP_1_2 ? STR(HEAD "<soap:Envelope xmlns:soap=\"" NS_1_2 "\"><soap:Body>")
                               : STR(HEAD "<soap:Envelope xmlns:soap=\"" NS_1_1 "\"><soap:Body>");
}

struct str soap_after(enum soap_version version)
{
    (void)version;
    return STR("</soap:Body></soap:Envelope>\n");
}

struct str soap_content_type(enum soap_version version)
{
    return version == SOAP_1_2 ? STR("application/soap+xml; charset=utf-8")
                               : STR("text/xml; charset=utf-8");
}

static void soap_put_escaped(struct buf *to, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<')
            buf_put(to, STR("&lt;"));
        else if (*text == '>')
            buf_put(to, STR("&gt;"));
        else if (*text == '&')
            buf_put(to, STR("&amp;"));
        else if (*text == '"')
            buf_put(to, STR("&quot;"));
        else
            buf_putc(to, *text);
}

static void put_detail(struct buf *to, const char *code)
{
    buf_put(to, STR("<error xmlns=\"urn:waybill:error\" code=\""));
    soap_put_escaped(to, code);
    buf_put(to, STR("\"/>"));
}

void soap_put_fault(struct buf *to, enum soap_version version, enum soap_side side,
                    const char *code, const char *message)
{
    bool sender = side == SOAP_SENDER;

    buf_put(to, soap_before(version));
    if (version == SOAP_1_2) {
        buf_put(to, STR("<soap:Fault><soap:Code><soap:Value>"));
        buf_put(to, sender ? STR("soap:Sender") : STR("soap:Receiver"));
        buf_put(to, STR("</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang=\"en\">"));
        soap_put_escaped(to, message);
        buf_put(to, STR("</soap:Text></soap:Reason><soap:Detail>"));
        put_detail(to, code);
        buf_put(to, STR("</soap:Detail></soap:Fault>"));
    } else {
        buf_put(to, STR("<soap:Fault><faultcode>"));
        buf_put(to, sender ? STR("soap:Client") : STR("soap:Server"));
        buf_put(to, STR("</faultcode><faultstring>"));
        soap_put_escaped(to, message);
        buf_put(to, STR("</faultstring><detail>"));
        put_detail(to, code);
        buf_put(to, STR("</detail></soap:Fault>"));
    }
    buf_put(to, soap_after(version));
}
