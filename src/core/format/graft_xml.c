/* graft_xml.c - a place in an XML document.  See graft.h.
 *
 * The first element that the path names without its last step is the holder; the first child of
 * that name in it gives its content away.  If there is none, one is added behind the last child. */
#include <stdlib.h>

#include "base/alloc.h"
#include "core/format/graft.h"
#include "core/format/xml_tree.h"
#include "core/xml_match.h"

struct graft_level {
    uint64_t may;
    unsigned seen[XML_PATH_STEPS];
};

/* An element: its start tag and its end tag, which an empty one has not. */
struct graft_element {
    size_t depth; /* 0: not found yet */
    size_t from, to, end_from;
    bool is_open, is_closed;
};

struct xml_grafting {
    const struct xml_path *path;
    struct graft_element holder, target;
    struct graft_level levels[XML_TREE_DEPTH + 1];
};

static void graft_began(struct graft_element *e, const struct xml_tag *tag)
{
    if (e->depth == 0)
        *e = (struct graft_element){
            .depth = tag->depth, .from = tag->from, .to = tag->to, .is_open = true
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

    *here = (struct graft_level){ .may = xml_match(g->path->steps, count, up->may, up->seen,
                                                   tag->name, tag->attributes) };
    if ((here->may >> count & 1) != 0 && g->holder.is_open && tag->depth == g->holder.depth + 1)
        graft_began(&g->target, tag);
    if ((here->may >> (count - 1) & 1) != 0)
        graft_began(&g->holder, tag);
}

static void graft_ends(void *arg, const struct xml_tag *tag)
{
    struct xml_grafting *g = arg;

    graft_ended(&g->target, tag);
    graft_ended(&g->holder, tag);
}

/* The name in a start tag, as it is written. */
static struct str name_in(struct str document, const struct graft_element *e)
{
    size_t to = e->from + 1;

    while (to < e->to && strchr(" \t\r\n/>", document.ptr[to]) == NULL)
        to++;
    return str_mem(document.ptr + e->from + 1, to - e->from - 1);
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

static bool place_in(struct str document, const struct graft_path *path,
                     const struct xml_grafting *g, struct graft_place *ret, struct err *err)
{
    if (!g->holder.is_closed)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document has no element in which `%.*s` could stand",
                       STR_ARG(path->text));
    if (g->target.is_closed)
        into_element(document, &g->target, ret);
    else
        behind_children(document, &g->holder, path->xml.steps[path->xml.count - 1].name, ret);
    return true;
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
    g->levels[0].may = 1;
    bool ok = xml_tree_read(document, &visit, err) && place_in(document, path, g, ret, err);

    free(g);
    return ok;
}
