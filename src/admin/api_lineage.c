/* Documents that come from documents: edits, batches and their members, parts. */
#include "admin/api_documents.h"
#include "admin/api_parts.h"
#include "admin/api_scope.h"
#include "admin/diff.h"
#include "admin/document_view.h"
#include "base/auto.h"
#include "engine/engine.h"
#include "store/link.h"
#include "store/payload.h"

enum { DIFF_BYTES = 256 << 10, DIFF_MOST = 1 << 20 };

static int64_t num_of(const struct graphql_call *call)
{
    return ((const struct document_view *)call->parent)->doc.source.num;
}

/* ---- where it comes from --------------------------------------------------------------------- */

/* *ret_found: there is one, it is still kept, and it is in scope. */
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

/* ---- what was made of it --------------------------------------------------------------------- */

/* "KIND-NUM": the last one of the page before. */
static bool read_place(struct graphql_call *call, struct link_child *ret, struct err *err)
{
    struct str after = graphql_arg_text(call, "after"), kind, num = str_cut(after, '-', &kind);

    *ret = (struct link_child){ 0 };
    return after.len == 0 ||
           (str_to_i64(kind, &ret->kind) && str_to_i64(num, &ret->num) && ret->kind > 0 &&
            ret->num > 0) ||
           err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
}

/* One that is not kept any more, or out of scope, is left out. */
static bool add_child(struct graphql_call *call, int64_t num, struct api_page *page,
                      struct err *err)
{
    struct document d;
    void *shown;
    bool found;

    if (!api_get_numbered(call, RIGHT_SEE, num, &d, &found, err))
        return false;
    if (!found)
        return true;
    if (!api_show_document(call, &d, false, &shown, err))
        return false;
    page->items[page->count++] = shown;
    return true;
}

/* kind 0: of any. */
static bool children_of(struct graphql_call *call, int64_t kind, struct err *err)
{
    struct api_page *page = ARENA_NEW(call->arena, struct api_page);
    struct link_child list[LINK_PAGE_MOST], after;
    size_t first, n;

    _Static_assert((int)LINK_PAGE_MOST <= (int)DOCUMENTS_PAGE_MOST, "they fit");
    if (!api_read_count(call, "first", LINK_PAGE_MOST, &first, err) ||
        !read_place(call, &after, err) ||
        !link_children(api_store(call), num_of(call), kind, after, list, first, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!add_child(call, list[i].num, page, err))
            return false;
    if (n == first)
        page->next = str_of(arena_printf(call->arena, "%lld-%lld", (long long)list[n - 1].kind,
                                         (long long)list[n - 1].num));
    return graphql_set_object(call, page);
}

static bool doc_edits(struct graphql_call *call, struct err *err)
{
    return children_of(call, LINK_EDIT, err);
}

static bool doc_members(struct graphql_call *call, struct err *err)
{
    return children_of(call, LINK_MEMBER, err);
}

static bool doc_children(struct graphql_call *call, struct err *err)
{
    return children_of(call, 0, err);
}

/* ---- what differs ---------------------------------------------------------------------------- */

/* *ret_is: they are a text that is worth showing. */
static bool read_text(struct store *s, const struct payload_source *source, struct buf *to,
                      bool *ret_is, struct err *err)
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
    struct err why = { 0 }; /* bytes that are gone are no error of this question */
    bool texts, also;

    if (!read_text(s, &from->source, &old, &texts, &why) ||
        !read_text(s, &to->source, &new, &also, &why) || !texts || !also)
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
    { .field = "Document.children", .fn = doc_children },
};
const size_t api_lineage_count = sizeof api_lineage / sizeof api_lineage[0];
