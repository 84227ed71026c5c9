#include "core/format/graft.h"

#include "base/auto.h"
#include "core/format/outlet.h"
#include "core/format/xml_tree.h"
#include "core/json_text.h"

enum { FRAME_MOST = 4096 }; /* names around a value */

/* ---- the path ---- */

/* A path of XML names elements one below the other: the last one is made if it is missing. */
static bool graft_is_plain(const struct xml_path *p)
{
    if (p->end != XML_END_ELEMENT || p->count < 2)
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (p->steps[i].deep)
            return false;
    const struct xml_step *last = &p->steps[p->count - 1];

    return last->nth == 0 && last->test_count == 0 && xml_tree_is_name(last->name);
}

static void read_xml_path(struct graft_path *p, struct str text)
{
    struct err ignored = { 0 };

    p->is_xml = xml_path_parse(text, false, &p->xml, &ignored) && graft_is_plain(&p->xml);
}

static bool read_tokens(struct graft_path *p, struct str text, struct arena *a, struct err *err)
{
    const char *end = text.ptr + text.len;

    for (const char *at = text.ptr; at < end; p->count++) {
        const char *next = memchr(at + 1, '/', (size_t)(end - at) - 1);
        struct str token = str_mem(at + 1, (size_t)((next != NULL ? next : end) - at) - 1);

        if (p->count == GRAFT_TOKENS_MOST)
            return err_set(err, ERR_CONFIG, 0, "more than %d steps", GRAFT_TOKENS_MOST);
        p->tokens[p->count] = json_pointer_token(token, a);
        p->indexes[p->count] = json_pointer_index(p->tokens[p->count]);
        at = next != NULL ? next : end;
    }
    return true;
}

bool graft_path_read(struct str text, struct arena *a, struct graft_path *ret, struct err *err)
{
    *ret = (struct graft_path){ .text = text };
    if (text.len < 2 || text.len > FRAME_MOST / 8 || text.ptr[0] != '/')
        return err_set(err, ERR_CONFIG, 0,
                       "it begins with a slash and names a place: a JSON Pointer such as "
                       "`/customer`, or the path of an element such as `/Order/Customer`");
    read_xml_path(ret, text);
    return read_tokens(ret, text, a, err);
}

bool graft_path_of_name(struct str name, struct arena *a, struct graft_path *ret, struct err *err)
{
    struct str pointer = str_of(arena_printf(a, "/%.*s", STR_ARG(name)));

    if (!graft_path_read(pointer, a, ret, err))
        return false;
    read_xml_path(ret, str_of(arena_printf(a, "/*/%.*s", STR_ARG(name))));
    return true;
}

/* ---- the document ---- */

static bool graft_put_value(const struct record_text *document, const struct graft_place *at,
                            const struct record_text *value, struct outlet *o, struct err *err)
{
    if (document->form == RECORD_XML)
        return value->form == RECORD_XML ? graft_put_element(value->text, at, o, err)
                                         : graft_elements(value->text, o, err);
    if (value->form == RECORD_XML)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document is JSON, and what is added is XML: it does not go into it");
    outlet_put(o, value->text);
    return true;
}

static bool graft_at(struct str document, const struct graft_place *at,
                     const struct record_text *form, const struct record_text *value,
                     struct buf *to, struct err *err)
{
    struct outlet o;

    outlet_init(&o, to, to->cap);
    outlet_put(&o, str_mem(document.ptr, at->from));
    outlet_put(&o, buf_view(&at->before));
    bool ok = graft_put_value(form, at, value, &o, err);

    outlet_put(&o, buf_view(&at->after));
    outlet_put(&o, str_from(document, at->to));
    return outlet_end(&o, ok, err);
}

bool graft(struct str document, const struct graft_path *path, const struct record_text *value,
           struct buf *to, struct err *err)
{
    struct graft_place at = { .before = BUF_INIT(FRAME_MOST), .after = BUF_INIT(FRAME_MOST) };
    struct record_text form;

    if (!record_text_read(document, &form, err))
        return false;
    bool ok = form.form == RECORD_XML ? graft_find_xml(document, path, &at, err)
                                      : graft_find_json(document, path, &at, err);

    ok = ok && graft_at(document, &at, &form, value, to, err);
    buf_done(&at.before);
    buf_done(&at.after);
    return ok;
}
