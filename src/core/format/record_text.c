#include "core/format/record_text.h"

#include "base/require.h"
#include "core/format/outlet.h"
#include "core/format/xml_tree.h"
#include "core/json_scan.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct str without_blanks(struct str s)
{
    if (str_starts(s, STR("\xef\xbb\xbf")))
        s = str_from(s, 3);
    while (s.len > 0 && is_space(s.ptr[0]))
        s = str_from(s, 1);
    while (s.len > 0 && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

/* ---- XML ---- */

struct outermost {
    size_t from, to;
};

static void outermost_starts(void *arg, const struct xml_tag *tag)
{
    if (tag->depth == 1)
        ((struct outermost *)arg)->from = tag->from;
}

static void outermost_ends(void *arg, const struct xml_tag *tag)
{
    if (tag->depth == 1)
        ((struct outermost *)arg)->to = tag->to;
}

static bool read_xml(struct str s, struct record_text *ret, struct err *err)
{
    struct outermost o = { 0 };
    struct xml_visit visit = { &o, outermost_starts, outermost_ends };

    if (!xml_tree_read(s, &visit, err))
        return false;
    require(o.from < o.to && o.to <= s.len);
    *ret =
        (struct record_text){ .form = RECORD_XML, .text = str_mem(s.ptr + o.from, o.to - o.from) };
    return true;
}

/* ---- both ---- */

bool record_text_read(struct str document, struct record_text *ret, struct err *err)
{
    struct str s = without_blanks(document);
    struct json_scan scan = { 0 };

    if (s.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "the document is empty");
    if (s.ptr[0] == '<' || s.ptr[0] == '\0' || (s.len > 1 && s.ptr[1] == '\0'))
        return read_xml(s, ret, err);
    if (!json_scan_check(&scan, s, err) || !json_scan_check_end(&scan, err))
        return err_context(err, "neither XML nor JSON; `convert` makes JSON of other formats");
    *ret = (struct record_text){ .form = RECORD_JSON, .text = s };
    return true;
}

bool record_text_pair(const struct record_text *previous, const struct record_text *now,
                      struct buf *to, struct err *err)
{
    static const struct {
        const char *begin, *middle, *end, *none;
    } frames[] = {
        [RECORD_JSON] = { "{\"previous\":", ",\"new\":", "}", "null" },
        [RECORD_XML] = { "<record><previous>", "</previous><new>", "</new></record>", "" },
    };
    enum record_form form = now->form;
    struct outlet o;

    require(previous == NULL || previous->form == form);
    outlet_init(&o, to, to->cap);
    outlet_puts(&o, frames[form].begin);
    outlet_put(&o, previous != NULL ? previous->text : str_of(frames[form].none));
    outlet_puts(&o, frames[form].middle);
    outlet_put(&o, now->text);
    outlet_puts(&o, frames[form].end);
    return outlet_end(&o, true, err);
}
