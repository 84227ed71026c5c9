#include "core/expr.h"

#include "core/regex.h"
#include "core/xml_path.h"

const char *const expr_sources[] = { "value", "header", "query", "name",    "regex", "json",
                                     "xml",   "hl7",    "x12",   "edifact", "csv",   NULL };

const char *const expr_examples[] = {
    "value:order",           "header:X-Sender",   "query:from",
    "name:^([a-z]+)-",       "regex:id=([0-9]+)", "json:/order/buyer",
    "xml:/Order/ShipTo/@id", "hl7:MSH-4",         "x12:ISA06",
    "edifact:UNB-2",         "csv:buyer"
};

static bool expr_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool expr_bad(struct err *err, const char *why)
{
    return err_set(err, ERR_CONFIG, 0, "%s", why);
}

static bool check_some(struct str s, struct err *err)
{
    return s.len > 0 || expr_bad(err, "something is expected after the colon");
}

static bool check_header(struct str s, struct err *err)
{
    if (!check_some(s, err))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || (unsigned char)s.ptr[i] >= 0x7f || s.ptr[i] == ':')
            return expr_bad(err, "this is not the name of a header");
    return true;
}

static bool check_json(struct str s, struct err *err)
{
    if (s.len > 0 && s.ptr[0] != '/')
        return expr_bad(err, "a JSON Pointer starts with `/`, such as json:/order/buyer");
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '~' && (i + 1 == s.len || (s.ptr[i + 1] != '0' && s.ptr[i + 1] != '1')))
            return expr_bad(err, "in a JSON Pointer `~` is written ~0 and `/` in a name ~1");
    return true;
}

static bool check_xml(struct str s, bool relative, struct err *err)
{
    struct xml_path path;

    return xml_path_parse(s, relative, &path, err);
}

static bool check_regex(struct str s, struct err *err)
{
    struct regex *r;

    if (!check_some(s, err) || !regex_compile(s, &r, err))
        return false;
    regex_free(r);
    return true;
}

/* A number of one to four digits at *at, without a leading 0. */
static bool expr_take_number(struct str s, size_t *at)
{
    size_t from = *at;

    while (*at < s.len && expr_is_digit(s.ptr[*at]))
        (*at)++;
    return *at > from && *at - from <= 4 && s.ptr[from] != '0';
}

static bool expr_take(struct str s, size_t *at, char c)
{
    if (*at >= s.len || s.ptr[*at] != c)
        return false;
    (*at)++;
    return true;
}

/* An optional repetition in brackets. */
static bool take_index(struct str s, size_t *at)
{
    return !expr_take(s, at, '[') || (expr_take_number(s, at) && expr_take(s, at, ']'));
}

/* PID-3, PID-3.1, PID-3[2].1.2, OBX[2]-5 */
static bool check_hl7(struct str s, struct err *err)
{
    size_t at = 3;
    bool ok = s.len > 3 && is_upper(s.ptr[0]) && (is_upper(s.ptr[1]) || expr_is_digit(s.ptr[1])) &&
              (is_upper(s.ptr[2]) || expr_is_digit(s.ptr[2]));

    ok = ok && take_index(s, &at) && expr_take(s, &at, '-') && expr_take_number(s, &at) &&
         take_index(s, &at);
    for (int part = 0; ok && part < 2 && expr_take(s, &at, '.'); part++)
        ok = expr_take_number(s, &at);
    if (!ok || at != s.len)
        return expr_bad(err, "an HL7 field is written like hl7:MSH-4 or hl7:PID-3.1");
    return true;
}

/* ISA06, GS02, N104, with an optional component: SVC01-2 */
static bool check_x12(struct str s, struct err *err)
{
    ptrdiff_t dash = str_find(s, '-');
    struct str element = dash < 0 ? s : str_mem(s.ptr, (size_t)dash);
    size_t at = (size_t)(dash + 1);
    bool ok = element.len >= 4 && element.len <= 5 && is_upper(element.ptr[0]);

    for (size_t i = 1; ok && i < element.len; i++)
        ok = i >= element.len - 2 ? expr_is_digit(element.ptr[i])
                                  : is_upper(element.ptr[i]) || expr_is_digit(element.ptr[i]);
    if (ok && dash >= 0)
        ok = expr_take_number(s, &at) && at == s.len;
    if (!ok)
        return expr_bad(err, "an X12 element is written like x12:ISA06");
    return true;
}

/* UNB-2, UNB-2.1, NAD[2]-3 */
static bool check_edifact(struct str s, struct err *err)
{
    size_t at = 3;
    bool ok = s.len > 3 && is_upper(s.ptr[0]) && is_upper(s.ptr[1]) && is_upper(s.ptr[2]);

    ok = ok && take_index(s, &at) && expr_take(s, &at, '-') && expr_take_number(s, &at);
    if (ok && expr_take(s, &at, '.'))
        ok = expr_take_number(s, &at);
    if (!ok || at != s.len)
        return expr_bad(err, "an EDIFACT element is written like edifact:UNB-2 or edifact:UNB-2.1");
    return true;
}

bool expr_check(enum expr_source source, struct str rest, bool relative, struct err *err)
{
    switch (source) {
    case EXPR_HEADER:
        return check_header(rest, err);
    case EXPR_JSON:
        return check_json(rest, err);
    case EXPR_XML:
        return check_xml(rest, relative, err);
    case EXPR_HL7:
        return check_hl7(rest, err);
    case EXPR_X12:
        return check_x12(rest, err);
    case EXPR_EDIFACT:
        return check_edifact(rest, err);
    case EXPR_NAME:
    case EXPR_REGEX:
        return check_regex(rest, err);
    case EXPR_VALUE:
    case EXPR_QUERY:
    case EXPR_CSV:
        break;
    }
    return check_some(rest, err);
}

bool expr_parse(struct str text, bool relative, struct expr *ret, struct err *err)
{
    bool colon = str_find(text, ':') >= 0;
    struct str word, rest = str_cut(text, ':', &word);

    for (int i = 0; expr_sources[i] != NULL; i++) {
        enum expr_source source = (enum expr_source)i;

        if (!str_is(word, expr_sources[i]))
            continue;
        if (!colon && source != EXPR_HL7 && source != EXPR_X12 && source != EXPR_EDIFACT)
            return expr_bad(err, "a colon and more are expected after this word");
        if (colon && !expr_check(source, rest, relative, err))
            return false;
        *ret = (struct expr){ .source = source, .bare = !colon, .rest = rest };
        return true;
    }
    return expr_bad(err, "it is not known where to look");
}
