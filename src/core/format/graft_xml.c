/* graft_xml.c - a place in an XML document.  See graft.h.
 *
 * The first element that the path names without its last step is the holder; the first child of
 * that name in it gives its content away.  If there is none, one is added behind the last child.
 *
 * Of namespaces two facts are followed on the way down: whether there is a default one, and whether
 * the prefix of an element that may have to be added is declared. */
#include <stdlib.h>

#include "base/alloc.h"
#include "core/format/graft.h"
#include "core/format/outlet.h"
#include "core/format/xml_tree.h"
#include "core/xml_match.h"

struct graft_spaces {
    bool has_default, has_prefix;
};

struct graft_level {
    uint64_t may;
    unsigned seen[XML_PATH_STEPS];
    struct graft_spaces spaces;
};

/* An element: its start tag and its end tag, which an empty one has not. */
struct graft_element {
    size_t depth; /* 0: not found yet */
    size_t from, to, end_from;
    bool is_open, is_closed;
    struct graft_spaces spaces; /* in it */
};

struct xml_grafting {
    const struct xml_path *path;
    struct str prefix; /* of the last name of the path; empty: none */
    struct graft_element holder, target;
    struct graft_level levels[XML_TREE_DEPTH + 1];
};

/* What a start tag declares, on top of what is in force around it. */
static struct graft_spaces graft_declares(struct graft_spaces around, struct str prefix,
                                          const char **attributes)
{
    for (const char **a = attributes; *a != NULL; a += 2) {
        struct str name = str_of(a[0]);

        if (str_is(name, "xmlns"))
            around.has_default = a[1][0] != '\0';
        else if (prefix.len > 0 && str_starts(name, STR("xmlns:")) &&
                 str_eq(str_from(name, 6), prefix))
            around.has_prefix = true;
    }
    return around;
}

static void graft_began(struct graft_element *e, const struct xml_tag *tag,
                        struct graft_spaces spaces)
{
    if (e->depth == 0)
        *e = (struct graft_element){
            .depth = tag->depth, .from = tag->from, .to = tag->to, .is_open = true, .spaces = spaces
        };
}

static void graft_ended(struct graft_element *e, const struct xml_tag *tag)
{
    if (!e->is_open || e->depth != tag->depth)
        return;
    e->is_open = false;
    e->is_closed = true;
    e->end_from = tag->from;
}

static void graft_starts(void *arg, const struct xml_tag *tag)
{
    struct xml_grafting *g = arg;
    struct graft_level *up = &g->levels[tag->depth - 1], *here = up + 1;
    size_t count = g->path->count;

    *here =
        (struct graft_level){ .may = xml_match(g->path->steps, count, up->may, up->seen, tag->name,
                                               tag->attributes),
                              .spaces = graft_declares(up->spaces, g->prefix, tag->attributes) };
    if ((here->may >> count & 1) != 0 && g->holder.is_open && tag->depth == g->holder.depth + 1)
        graft_began(&g->target, tag, here->spaces);
    if ((here->may >> (count - 1) & 1) != 0)
        graft_began(&g->holder, tag, here->spaces);
}

static void graft_ends(void *arg, const struct xml_tag *tag)
{
    struct xml_grafting *g = arg;

    graft_ended(&g->target, tag);
    graft_ended(&g->holder, tag);
}

/* Where the name in a start tag ends. */
static size_t name_end(struct str tag)
{
    size_t at = 1;

    while (at < tag.len && strchr(" \t\r\n/>", tag.ptr[at]) == NULL)
        at++;
    return at;
}

/* The name in a start tag, as it is written. */
static struct str name_in(struct str document, const struct graft_element *e)
{
    struct str tag = str_mem(document.ptr + e->from, e->to - e->from);

    return str_from(str_first(tag, name_end(tag)), 1);
}

static bool is_empty_tag(struct str document, const struct graft_element *e)
{
    return document.ptr[e->to - 2] == '/';
}

static void put_tag(struct buf *to, const char *begin, struct str name)
{
    buf_puts(to, begin);
    buf_put(to, name);
    buf_putc(to, '>');
}

/* The content of the element gives way; `<a/>` becomes `<a>..</a>`. */
static void into_element(struct str document, const struct graft_element *e,
                         struct graft_place *ret)
{
    ret->from = e->to;
    ret->to = e->end_from;
    if (!is_empty_tag(document, e))
        return;
    ret->from = e->to - 2;
    ret->to = e->to;
    buf_putc(&ret->before, '>');
    put_tag(&ret->after, "</", name_in(document, e));
}

static void behind_children(struct str document, const struct graft_element *e, struct str name,
                            struct graft_place *ret)
{
    into_element(document, e, ret);
    if (!is_empty_tag(document, e))
        ret->from = e->end_from;
    struct str end = buf_view(&ret->after);
    struct buf after = BUF_INIT(ret->after.cap);

    put_tag(&ret->before, "<", name);
    put_tag(&after, "</", name);
    buf_put(&after, end);
    buf_done(&ret->after);
    ret->after = after;
}

static struct str graft_last_name(const struct xml_path *p)
{
    return p->steps[p->count - 1].name;
}

static bool place_in(struct str document, const struct graft_path *path,
                     const struct xml_grafting *g, struct graft_place *ret, struct err *err)
{
    if (!g->holder.is_closed)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document has no element in which `%.*s` could stand",
                       STR_ARG(path->text));
    const struct graft_element *in = g->target.is_closed ? &g->target : &g->holder;

    ret->has_default = in->spaces.has_default;
    if (in == &g->target) {
        into_element(document, in, ret);
        return true;
    }
    if (g->prefix.len > 0 && !in->spaces.has_prefix)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document does not declare the namespace prefix `%.*s` where `%.*s` "
                       "would be added",
                       STR_ARG(g->prefix), STR_ARG(path->text));
    behind_children(document, in, graft_last_name(&path->xml), ret);
    return true;
}

/* `xml` is declared everywhere. */
static struct str graft_prefix(struct str name)
{
    ptrdiff_t colon = str_find(name, ':');

    return colon > 0 && !str_is(str_first(name, (size_t)colon), "xml")
               ? str_first(name, (size_t)colon)
               : STR("");
}

bool graft_find_xml(struct str document, const struct graft_path *path, struct graft_place *ret,
                    struct err *err)
{
    if (!path->is_xml)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document is XML, and `%.*s` names no element below another one, such "
                       "as `/Order/Customer`",
                       STR_ARG(path->text));
    struct xml_grafting *g = NEW(struct xml_grafting);
    struct xml_visit visit = { g, graft_starts, graft_ends };

    g->path = &path->xml;
    g->prefix = graft_prefix(graft_last_name(&path->xml));
    g->levels[0].may = 1;
    bool ok = xml_tree_read(document, &visit, err) && place_in(document, path, g, ret, err);

    free(g);
    return ok;
}

/* ---- the element ---- */

bool graft_put_element(struct str element, const struct graft_place *at, struct outlet *o,
                       struct err *err)
{
    bool own_default;

    if (!xml_tree_stands_alone(element, &own_default, err))
        return err_context(err, "what is added");
    size_t name = name_end(element);

    outlet_put(o, str_first(element, name));
    if (at->has_default && !own_default)
        outlet_put(o, STR(" xmlns=\"\""));
    outlet_put(o, str_from(element, name));
    return true;
}
