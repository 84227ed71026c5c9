/* lineage.c - documents made from documents: edits, batches and their members, splits. */
#include "admin/api/documents.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/diff.h"
#include "admin/view/document_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "store/payload/payload.h"
#include "store/road/link.h"
#include "store/road/offspring.h"

enum {
    DIFF_BYTES = 256 << 10,
    DIFF_MOST = 1 << 20,
    LOOK_MOST = 20000, /* links checked for one page; beyond that the page is short */
    LOOK_ARENA = 64 << 20,
};

static int64_t num_of(const struct graphql_call *call)
{
    return ((const struct document_view *)call->parent)->doc.source.num;
}

/* ---- where it comes from ---- */

/* *ret_found: there is a parent of that kind, it is not purged, and it is in scope. */
static bool get_parent(struct graphql_call *call, enum right right, enum link_kind kind,
                       struct document *ret, bool *ret_found, struct err *err)
{
    int64_t num;

    *ret_found = false;
    return link_parent(api_store(call), num_of(call), kind, &num, err) &&
           (num == 0 || api_get_numbered(call, right, num, ret, ret_found, err));
}

static bool parent_of(struct graphql_call *call, enum link_kind kind, struct err *err)
{
    struct document d;
    void *shown;
    bool found;

    if (!get_parent(call, RIGHT_SEE, kind, &d, &found, err))
        return false;
    if (!found)
        return graphql_set_null(call);
    return api_show_document(call, &d, false, &shown, err) && graphql_set_object(call, shown);
}

static bool doc_edit_of(struct graphql_call *call, struct err *err)
{
    return parent_of(call, LINK_EDIT, err);
}

static bool doc_batch(struct graphql_call *call, struct err *err)
{
    return parent_of(call, LINK_MEMBER, err);
}

static bool doc_parent(struct graphql_call *call, struct err *err)
{
    return parent_of(call, LINK_SPLIT, err);
}

static bool doc_copy_of(struct graphql_call *call, struct err *err)
{
    return parent_of(call, LINK_COPY, err);
}

static bool doc_answer_of(struct graphql_call *call, struct err *err)
{
    return parent_of(call, LINK_ANSWER, err);
}

/* ---- what was made of it ---- */

/* Reads the cursor, "KIND-NUM": the last child of the page before. */
static bool api_lineage_read_place(struct graphql_call *call, struct link_child *ret,
                                   struct err *err)
{
    struct str after = graphql_arg_text(call, "after"), kind, num = str_cut(after, '-', &kind);

    *ret = (struct link_child){ 0 };
    return after.len == 0 ||
           (str_to_i64(kind, &ret->kind) && str_to_i64(num, &ret->num) && ret->kind > 0 &&
            ret->num > 0) ||
           err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
}

/* A page of children in the making.  Children out of scope are neither shown nor counted, and there
 * is a next page only if another child in scope follows.  So the answer does not reveal that
 * children out of scope exist. */
struct children {
    int64_t kind; /* 0: any */
    size_t first, looked;
    struct link_child at, shown; /* the last child checked, and the last one on the page */
    bool over;                   /* the store has no further children */
    bool more;                   /* the page is full, and another child is in scope */
    struct api_page *page;
};

/* Loads the document into an arena of its own, so that a child out of scope takes no room in the
 * arena of the answer. */
static bool is_shown(struct graphql_call *call, int64_t num, bool *ret, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LOOK_ARENA);
    struct document d;

    if (!document_numbered(api_store(call), num, &a, &d, ret, err))
        return false;
    *ret = *ret && api_sees(call, RIGHT_SEE, d.sender, d.receiver);
    return true;
}

/* Adds the child, unless it is purged or out of scope. */
static bool add_child(struct graphql_call *call, struct children *c, int64_t num, struct err *err)
{
    struct document d;
    void *shown;
    bool found;

    if ((!api_sees_all(call, RIGHT_SEE) || c->page->count == c->first) &&
        (!is_shown(call, num, &found, err) || !found))
        return err->kind == ERR_NONE;
    c->more = c->page->count == c->first;
    if (c->more)
        return true;
    if (!api_get_numbered(call, RIGHT_SEE, num, &d, &found, err))
        return false;
    if (!found)
        return true;
    if (!api_show_document(call, &d, false, &shown, err))
        return false;
    c->page->items[c->page->count++] = shown;
    c->shown = c->at;
    return true;
}

static bool add_children(struct graphql_call *call, struct children *c, struct err *err)
{
    struct link_child list[LINK_PAGE_MOST];
    size_t n, limit = LINK_PAGE_MOST;

    if (api_sees_all(call, RIGHT_SEE) && c->first - c->page->count < limit)
        limit = c->first - c->page->count + 1;
    if (!link_children(api_store(call), num_of(call), c->kind, c->at, list, limit, &n, err))
        return false;
    c->over = n < limit;
    c->looked += n;
    for (size_t i = 0; i < n && !c->more; i++) {
        c->at = list[i];
        if (!add_child(call, c, list[i].num, err))
            return false;
    }
    return true;
}

/* kind 0: children of all kinds. */
static bool children_of(struct graphql_call *call, int64_t kind, struct err *err)
{
    struct children c = { .kind = kind, .page = ARENA_NEW(call->arena, struct api_page) };

    _Static_assert((int)LINK_PAGE_MOST <= (int)DOCUMENTS_PAGE_MOST, "they fit");
    if (!api_read_count(call, "first", LINK_PAGE_MOST, &c.first, err) ||
        !api_lineage_read_place(call, &c.at, err))
        return false;
    do {
        if (!add_children(call, &c, err))
            return false;
    } while (!c.over && !c.more && c.looked < LOOK_MOST &&
             clock_mono_us() < call->deadline_us - CLOCK_S);
    if (!c.over || c.more) {
        struct link_child last = c.more ? c.shown : c.at;

        c.page->next = str_of(
            arena_printf(call->arena, "%lld-%lld", (long long)last.kind, (long long)last.num));
    }
    return graphql_set_object(call, c.page);
}

static bool doc_edits(struct graphql_call *call, struct err *err)
{
    return children_of(call, LINK_EDIT, err);
}

static bool doc_members(struct graphql_call *call, struct err *err)
{
    return children_of(call, LINK_MEMBER, err);
}

/* The words of ChildKind are in the order of enum link_kind. */
static bool doc_children(struct graphql_call *call, struct err *err)
{
    const struct graphql_value *kind = graphql_arg(call, "kind");

    _Static_assert(LINK_EDIT == 1 && LINK_SPLIT == 5 && LINK_KINDS == 6, "as in schema.graphql");
    return children_of(call, kind->kind == GRAPHQL_ENUM ? kind->number + 1 : 0, err);
}

struct shown_part {
    int64_t number, of;
};

/* Of a document that came in from outside these attributes say nothing. */
static bool doc_part(struct graphql_call *call, struct err *err)
{
    const struct facts *f = &((const struct document_view *)call->parent)->facts;
    struct shown_part *p = ARENA_NEW(call->arena, struct shown_part);

    (void)err;
    if (f->generation == 0 || !str_to_i64(facts_attribute(f, STR("part")), &p->number))
        return graphql_set_null(call);
    if (!str_to_i64(facts_attribute(f, STR("parts")), &p->of))
        p->of = 0;
    return graphql_set_object(call, p);
}

/* The number counts parts out of scope too, so it is for those who see all. */
static bool doc_parts(struct graphql_call *call, struct err *err)
{
    struct offspring_progress *p = ARENA_NEW(call->arena, struct offspring_progress);

    if (!api_sees_all(call, RIGHT_SEE))
        return graphql_set_null(call);
    if (!offspring_get(api_store(call), num_of(call), p, err))
        return false;
    return p->made > 0 ? graphql_set_object(call, p) : graphql_set_null(call);
}

/* ---- what differs ---- */

/* Reads the bytes; *ret_is: they are text, and short enough for a diff. */
static bool api_lineage_read_text(struct store *s, const struct payload_source *source,
                                  struct buf *to, bool *ret_is, struct err *err)
{
    struct payload_reader *r;
    struct str piece;

    *ret_is = source->size <= DIFF_BYTES;
    if (!*ret_is)
        return true;
    if (!payload_open(s, source, &r, err))
        return false;
    bool ok;

    while ((ok = payload_next(r, &piece, err)) && piece.len > 0)
        buf_put(to, piece);
    payload_close(r);
    *ret_is = ok && str_is_utf8(buf_view(to)) && memchr(to->ptr, '\0', to->len) == NULL;
    return ok;
}

static bool set_diff(struct graphql_call *call, const struct document *from,
                     const struct document *to, struct err *err)
{
    AUTO(buf_done) struct buf old = BUF_INIT(DIFF_BYTES), new = BUF_INIT(DIFF_BYTES);
    AUTO(buf_done) struct buf text = BUF_INIT(DIFF_MOST);
    struct store *s = api_store(call);
    char from_id[ID_TEXT], to_id[ID_TEXT];
    struct err why = { 0 }; /* missing bytes are no error: there is just no diff */
    bool texts, also;

    if (!api_lineage_read_text(s, &from->source, &old, &texts, &why) ||
        !api_lineage_read_text(s, &to->source, &new, &also, &why) || !texts || !also)
        return graphql_set_null(call);
    return diff_text(buf_view(&old), buf_view(&new), id_text(&from->source.id, from_id),
                     id_text(&to->source.id, to_id), &text, err) &&
           graphql_set_text(call, buf_view(&text));
}

static bool doc_edit_diff(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;
    struct document d;
    bool found;

    if (!get_parent(call, RIGHT_PAYLOAD, LINK_EDIT, &d, &found, err))
        return false;
    return found ? set_diff(call, &d, &v->doc, err) : graphql_set_null(call);
}

const struct graphql_resolver api_lineage[] = {
    { .field = "Document.editOf", .fn = doc_edit_of },
    { .field = "Document.editDiff", .fn = doc_edit_diff },
    { .field = "Document.edits", .fn = doc_edits },
    { .field = "Document.batch", .fn = doc_batch },
    { .field = "Document.members", .fn = doc_members },
    { .field = "Document.parent", .fn = doc_parent },
    { .field = "Document.copyOf", .fn = doc_copy_of },
    { .field = "Document.answerOf", .fn = doc_answer_of },
    { .field = "Document.part", .fn = doc_part },
    GRAPHQL_MEMBER("Part.number", struct shown_part, number),
    API_NUMBER_AT("Part.of", struct shown_part, of),
    { .field = "Document.parts", .fn = doc_parts },
    GRAPHQL_MEMBER("Parts.made", struct offspring_progress, made),
    API_NUMBER_AT("Parts.total", struct offspring_progress, total),
    { .field = "Document.children", .fn = doc_children },
};
const size_t api_lineage_count = sizeof api_lineage / sizeof api_lineage[0];
