#include "core/join.h"

#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/json_scan.h"

enum {
    HELD_MOST = 16 << 20,
    DIRECTORY_MOST = 64 << 20,
    NAME_MOST = 100,
    LOCAL = 30,
    CENTRAL = 46,
    END = 22
};

#define NOT_UTF8 "not XML in UTF-8: a step `charset` before the batch can change that"

struct joiner {
    struct join_rule rule;
    join_write *write;
    void *arg;
    size_t members;
    size_t taken, mark; /* bytes of this member; how many of them are a BOM */

    struct json_scan json;

    XML_Parser xml;
    struct buf held;       /* bytes that were parsed and are not written yet */
    int64_t from, to, fed; /* offsets of the outermost element, -1: unknown; bytes parsed so far */
    size_t depth;
    struct err bad; /* set in a handler of the parser */

    struct buf directory; /* zip: the central directory */
    uint64_t offset;
};

/* ---- out ---- */

static bool join_put(struct joiner *j, struct str bytes, struct err *err)
{
    j->offset += bytes.len;
    return bytes.len == 0 || j->write(j->arg, bytes, err);
}

static bool put_z(struct joiner *j, const char *z, struct err *err)
{
    return join_put(j, str_of(z), err);
}

static bool join_bad(struct err *err, const char *why)
{
    return err_set(err, ERR_PERMANENT, JOIN_BAD, "%s", why);
}

static struct str root_of(const struct joiner *j)
{
    return j->rule.root.len > 0 ? j->rule.root : STR("batch");
}

/* ---- XML ---- */

static void join_refuse(struct joiner *j, const char *why)
{
    if (j->bad.kind == ERR_NONE)
        (void)join_bad(&j->bad, why);
    (void)XML_StopParser(j->xml, XML_FALSE);
}

static void on_decl(void *arg, const XML_Char *version, const XML_Char *encoding, int standalone)
{
    (void)version;
    (void)standalone;
    if (encoding != NULL && strcasecmp(encoding, "utf-8") != 0 &&
        strcasecmp(encoding, "us-ascii") != 0)
        join_refuse(arg, NOT_UTF8);
}

static void join_on_doctype(void *arg, const XML_Char *name, const XML_Char *system,
                            const XML_Char *public, int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    join_refuse(arg, "an XML document with a DOCTYPE cannot stand in another one");
}

static void join_on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    struct joiner *j = arg;

    (void)name;
    (void)attributes;
    if (j->depth++ == 0)
        j->from = XML_GetCurrentByteIndex(j->xml);
    if (j->depth > JOIN_DEPTH_MOST)
        join_refuse(j, "elements stand too deep in each other");
}

static void join_on_end(void *arg, const XML_Char *name)
{
    struct joiner *j = arg;

    (void)name;
    if (--j->depth == 0)
        j->to = XML_GetCurrentByteIndex(j->xml) + XML_GetCurrentByteCount(j->xml);
}

static bool open_xml(struct joiner *j, struct err *err)
{
    if (j->xml == NULL)
        j->xml = XML_ParserCreate(NULL);
    else
        (void)XML_ParserReset(j->xml, NULL);
    if (j->xml == NULL)
        return err_set(err, ERR_TRANSIENT, 0, "no memory for an XML parser");
    XML_SetUserData(j->xml, j);
    XML_SetXmlDeclHandler(j->xml, on_decl);
    XML_SetStartDoctypeDeclHandler(j->xml, join_on_doctype);
    XML_SetElementHandler(j->xml, join_on_start, join_on_end);
    buf_clear(&j->held);
    j->from = j->to = -1;
    j->fed = 0;
    j->depth = 0;
    j->bad = (struct err){ 0 };
    return true;
}

static bool parse_xml(struct joiner *j, struct str bytes, bool last, struct err *err)
{
    if (XML_Parse(j->xml, bytes.ptr != NULL ? bytes.ptr : "", (int)bytes.len, last) ==
        XML_STATUS_OK)
        return true;
    if (j->bad.kind != ERR_NONE) {
        *err = j->bad;
        return false;
    }
    return err_set(err, ERR_PERMANENT, JOIN_BAD, "not XML: %s in line %lu",
                   XML_ErrorString(XML_GetErrorCode(j->xml)), XML_GetCurrentLineNumber(j->xml));
}

/* Writes the bytes of the outermost element out of `held`, up to the position of the parser.  The
 * parser may defer the last token to a later call, so the rest stays in `held`. */
static bool join_put_element(struct joiner *j, struct err *err)
{
    int64_t at = j->fed - (int64_t)j->held.len, seen = XML_GetCurrentByteIndex(j->xml);
    int64_t from = j->from > at ? j->from : at, to = j->to >= 0 ? j->to : seen;

    if (j->from < 0 || to <= at)
        return true;
    if (to > j->fed)
        to = j->fed;
    if (to > from && !join_put(j, str_mem(j->held.ptr + (from - at), (size_t)(to - from)), err))
        return false;
    memmove(j->held.ptr, j->held.ptr + (to - at), (size_t)(j->fed - to));
    j->held.len = (size_t)(j->fed - to);
    j->held.ptr[j->held.len] = '\0';
    return true;
}

/* expat detects UTF-16 by itself, even without a declaration, so it must be refused here.  UTF-16
 * shows in the first two bytes: a BOM, or a NUL beside the "<".  XML in UTF-8 has neither. */
static bool is_utf16(struct str bytes)
{
    for (size_t i = 0; i < bytes.len && i < 2; i++)
        if (strchr("\xfe\xff", bytes.ptr[i]) != NULL) /* of a BOM, or NUL */
            return true;
    return false;
}

static bool add_xml(struct joiner *j, struct str bytes, struct err *err)
{
    struct err full = { 0 };

    if (j->fed < 2 && is_utf16(bytes))
        return join_bad(err, NOT_UTF8);

    if (!buf_append(&j->held, bytes, &full))
        return join_bad(
            err,
            "not XML that can be read: a tag, or what stands before the first one, is too long");
    if (!parse_xml(j, bytes, false, err))
        return false;
    j->fed += (int64_t)bytes.len;
    if (j->to >= 0 && j->fed - (int64_t)j->held.len >= j->to) {
        buf_clear(&j->held); /* what follows the outermost element is dropped */
        return true;
    }
    return join_put_element(j, err);
}

static bool close_xml(struct joiner *j, struct err *err)
{
    return parse_xml(j, STR(""), true, err) && join_put_element(j, err) && put_z(j, "\n", err);
}

/* ---- zip ---- */

static const uint32_t *crc_table(void)
{
    static _Thread_local uint32_t table[256];

    for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
        uint32_t v = i;

        for (int k = 0; k < 8; k++)
            v = (v & 1) != 0 ? 0xedb88320u ^ v >> 1 : v >> 1;
        table[i] = v;
    }
    return table;
}

uint32_t join_crc(uint32_t crc, struct str bytes)
{
    const uint32_t *table = crc_table();

    crc = ~crc;
    for (size_t i = 0; i < bytes.len; i++)
        crc = table[(crc ^ (unsigned char)bytes.ptr[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static void put16(char *to, uint32_t v)
{
    to[0] = (char)(v & 0xff);
    to[1] = (char)(v >> 8 & 0xff);
}

static void put32(char *to, uint32_t v)
{
    put16(to, v & 0xffff);
    put16(to + 2, v >> 16);
}

/* MS-DOS date and time: a resolution of two seconds, from 1980; in UTC. */
static void dos_time(int64_t us, uint32_t *ret_time, uint32_t *ret_date)
{
    char text[CLOCK_TEXT];
    int y = 1980, mo = 1, d = 1, h = 0, mi = 0, s = 0;

    (void)clock_utc_text(us, text);
    (void)sscanf(text, "%d-%d-%dT%d:%d:%d", &y, &mo, &d, &h, &mi, &s);
    if (y < 1980 || y > 2107)
        y = 1980;
    *ret_time = (uint32_t)(h << 11 | mi << 5 | s / 2);
    *ret_date = (uint32_t)((y - 1980) << 9 | mo << 5 | d);
}

/* The number of the member and the last part of its path, with unsafe characters replaced. */
static size_t entry_name(const struct joiner *j, const struct join_member *m,
                         char to[static NAME_MOST + 32])
{
    struct str name = m->name.len > 0 ? m->name : m->id;
    int n = snprintf(to, 32, "%05zu-", j->members);
    size_t len = (size_t)n;

    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '/' || name.ptr[i - 1] == '\\') {
            name = str_from(name, i);
            break;
        }
    for (size_t i = 0; i < name.len && i < NAME_MOST; i++) {
        char c = name.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '-' || c == '_';

        to[len++] = plain ? c : '_';
    }
    return len;
}

static bool open_zip(struct joiner *j, const struct join_member *m, struct err *err)
{
    char name[NAME_MOST + 32], head[LOCAL] = "PK\003\004", entry[CENTRAL] = "PK\001\002";
    size_t len = entry_name(j, m, name);
    uint32_t size = (uint32_t)m->size, time, date;

    if (j->members > 65000 || j->offset + (uint64_t)m->size > UINT32_MAX - DIRECTORY_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than a zip file holds");
    dos_time(m->received_us, &time, &date);
    put16(head + 4, 10);
    put16(head + 10, time);
    put16(head + 12, date);
    put32(head + 14, m->crc);
    put32(head + 18, size);
    put32(head + 22, size);
    put16(head + 26, (uint32_t)len);
    put16(entry + 4, 20);
    put16(entry + 6, 10);
    memcpy(entry + 12, head + 10, 18); /* from the time to the lengths */
    put32(entry + 42, (uint32_t)j->offset);
    return buf_append(&j->directory, str_mem(entry, CENTRAL), err) &&
           buf_append(&j->directory, str_mem(name, len), err) &&
           join_put(j, str_mem(head, LOCAL), err) && join_put(j, str_mem(name, len), err);
}

static bool end_zip(struct joiner *j, struct err *err)
{
    char end[END] = "PK\005\006";

    put16(end + 8, (uint32_t)j->members);
    put16(end + 10, (uint32_t)j->members);
    put32(end + 12, (uint32_t)j->directory.len);
    put32(end + 16, (uint32_t)j->offset);
    return join_put(j, buf_view(&j->directory), err) && join_put(j, str_mem(end, END), err);
}

/* ---- all formats ---- */

struct joiner *join_new(const struct join_rule *rule, join_write *write, void *arg)
{
    struct joiner *j = NEW(struct joiner);

    require(rule->kind != JOIN_EACH);
    *j = (struct joiner){ .rule = *rule, .write = write, .arg = arg };
    j->held = (struct buf)BUF_INIT(HELD_MOST);
    j->directory = (struct buf)BUF_INIT(DIRECTORY_MOST);
    return j;
}

void join_free(struct joiner *j)
{
    if (j == NULL)
        return;
    if (j->xml != NULL)
        XML_ParserFree(j->xml);
    buf_done(&j->held);
    buf_done(&j->directory);
    free(j);
}

bool join_begin(struct joiner *j, struct err *err)
{
    const struct join_rule *r = &j->rule;

    if (r->has_header)
        return join_put(j, r->header, err);
    if (r->kind == JOIN_JSON && r->root.len > 0)
        return put_z(j, "{\"", err) && join_put(j, r->root, err) && put_z(j, "\":[\n", err);
    if (r->kind == JOIN_JSON)
        return put_z(j, "[\n", err);
    return r->kind != JOIN_XML || (put_z(j, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<", err) &&
                                   join_put(j, root_of(j), err) && put_z(j, ">\n", err));
}

bool join_open(struct joiner *j, const struct join_member *m, struct err *err)
{
    bool first = j->members++ == 0;

    j->taken = j->mark = 0;
    switch (j->rule.kind) {
    case JOIN_TEXT:
        return first || join_put(j, j->rule.separator, err);
    case JOIN_JSON:
        j->json = (struct json_scan){ 0 };
        return first || put_z(j, ",\n", err);
    case JOIN_XML:
        return open_xml(j, err);
    case JOIN_ZIP:
        return open_zip(j, m, err);
    case JOIN_EACH:
        break;
    }
    unreachable("what goes one by one is not joined");
}

/* Skip a leading UTF-8 BOM. */
static bool skip_mark(struct joiner *j, struct str *in, struct err *err)
{
    static const char mark[] = "\xef\xbb\xbf";

    while (in->len > 0 && j->taken == j->mark && j->mark < 3 && in->ptr[0] == mark[j->mark]) {
        j->mark++;
        j->taken++;
        *in = str_from(*in, 1);
    }
    if (in->len > 0 && (j->mark == 1 || j->mark == 2))
        return join_bad(err, "not JSON: it is not UTF-8");
    j->taken += in->len;
    return true;
}

bool join_add(struct joiner *j, struct str bytes, struct err *err)
{
    struct str in = bytes;

    switch (j->rule.kind) {
    case JOIN_JSON:
        if (!skip_mark(j, &in, err))
            return false;
        if (!json_scan_check(&j->json, in, err)) {
            err->sys = JOIN_BAD;
            return false;
        }
        break;
    case JOIN_XML:
        return add_xml(j, bytes, err);
    default:
        break;
    }
    return join_put(j, in, err);
}

bool join_close(struct joiner *j, struct err *err)
{
    if (j->rule.kind == JOIN_JSON && !json_scan_check_end(&j->json, err)) {
        err->sys = JOIN_BAD;
        return false;
    }
    return j->rule.kind != JOIN_XML || close_xml(j, err);
}

bool join_end(struct joiner *j, struct err *err)
{
    const struct join_rule *r = &j->rule;

    if (r->has_footer)
        return join_put(j, r->footer, err);
    if (r->kind == JOIN_JSON)
        return put_z(j, r->root.len > 0 && !r->has_header ? "\n]}\n" : "\n]\n", err);
    if (r->kind == JOIN_XML)
        return put_z(j, "</", err) && join_put(j, root_of(j), err) && put_z(j, ">\n", err);
    return r->kind != JOIN_ZIP || end_zip(j, err);
}

static bool write_nothing(void *arg, struct str bytes, struct err *err)
{
    (void)arg;
    (void)bytes;
    (void)err;
    return true;
}

bool join_check(enum join_kind kind, struct str bytes, struct err *err)
{
    struct join_rule rule = { .kind = kind };

    if (kind != JOIN_JSON && kind != JOIN_XML)
        return true;
    struct joiner *j = join_new(&rule, write_nothing, NULL);
    bool ok = join_open(j, &(struct join_member){ 0 }, err);

    while (ok && bytes.len > 0) {
        size_t n = bytes.len < 1 << 20 ? bytes.len : 1 << 20;

        ok = join_add(j, str_mem(bytes.ptr, n), err);
        bytes = str_from(bytes, n);
    }
    ok = ok && join_close(j, err);
    join_free(j);
    return ok;
}

const char *join_content_type(enum join_kind kind)
{
    static const char *const types[] = { "text/plain", "application/json", "application/xml",
                                         "application/zip", NULL };

    return types[kind];
}

const char *join_suffix(enum join_kind kind)
{
    static const char *const suffixes[] = { "txt", "json", "xml", "zip", NULL };

    return suffixes[kind];
}
