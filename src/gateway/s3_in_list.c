/* s3_in_list.c - what is in the bucket, page by page. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"
#include "core/s3/s3_answer.h"
#include "gateway/s3_in.h"

enum {
    TOKEN_MOST = 4096, /* bytes of a token by which a list goes on */
    PAGES_MOST = 10000 /* of one poll */
};

struct s3_listing {
    struct s3_poll *poll;
    struct arena arena; /* of the page */
    struct s3_answer page;
    size_t at, pages;
    char *token; /* of the next page; NULL: of the first */
    char why[sizeof((struct err *)0)->text];
};

/* Without sub folders only what lies in the folder itself is asked for.  With them the whole tree
 * is, in one list: folder by folder each would be a request. */
static bool s3_in_page(struct s3_listing *l, struct err *err)
{
    struct s3_poll *p = l->poll;
    struct s3_order order = s3_in_order(p, "GET", STR(""));
    struct err bad = { 0 };

    if (++l->pages > PAGES_MOST)
        return err_set(err, ERR_LIMIT, 0, "the bucket lists more than %d objects: say a `prefix`",
                       PAGES_MOST * S3_ITEMS_MOST);
    if (!p->port->alive(p->deposit, err))
        return false;
    if (l->token != NULL) /* by name */
        order.query[order.query_count++] =
            (struct s3_query){ "continuation-token", str_of(l->token) };
    if (p->self->pickup.depth == 0)
        order.query[order.query_count++] = (struct s3_query){ "delimiter", STR("/") };
    order.query[order.query_count++] = (struct s3_query){ "encoding-type", STR("url") };
    order.query[order.query_count++] = (struct s3_query){ "list-type", STR("2") };
    if (p->self->prefix.len > 0)
        order.query[order.query_count++] = (struct s3_query){ "prefix", p->self->prefix };
    s3_in_ask(p, &order);
    arena_reset(&l->arena);
    l->page = (struct s3_answer){ 0 };
    l->at = 0;
    if (!s3_in_has_status(&p->exchange, 200, 200) ||
        !s3_answer_read(buf_view(&p->exchange.body), &l->arena, &l->page, &bad) ||
        l->page.kind != S3_ANSWER_OBJECTS)
        return bad.kind == ERR_LIMIT ? err_set(err, ERR_TRANSIENT, 0, "%s", bad.text)
                                     : s3_in_fail(p, &p->exchange, STR(""), err);
    return true;
}

/* The page of the list behind the one that is there. */
static bool s3_in_turn(struct s3_listing *l, bool *ret_end, struct err *err)
{
    struct str next = l->page.next;

    *ret_end = l->pages > 0 && !l->page.more;
    if (*ret_end)
        return true;
    if (l->pages > 0) {
        if (next.len == 0 || next.len > TOKEN_MOST || (l->token != NULL && str_is(next, l->token)))
            return err_set(err, ERR_TRANSIENT, 0, "the service does not tell how its list goes on");
        free(l->token);
        l->token = xstrndup(next);
    }
    return s3_in_page(l, err);
}

/* Whether an object is in the folder or in a sub folder that is looked into: its path. */
static bool s3_in_is_here(const struct s3_in *self, struct str key, struct str *ret_path)
{
    struct str path = str_from(key, self->folder.len), rest = path;
    int64_t depth = 0;

    *ret_path = path;
    if (self->moved.len > 0 && str_starts(self->moved, self->folder) &&
        str_starts(key, self->moved))
        return false;
    while (str_find(rest, '/') >= 0) {
        struct str part;

        rest = str_cut(rest, '/', &part);
        if (part.len > 0 && part.ptr[0] == '.' && !str_is(part, ".") && !str_is(part, ".."))
            return false; /* hidden */
        depth++;
    }
    return rest.len > 0 && depth <= self->pickup.depth; /* without a name it stands for a folder */
}

static void s3_in_describe(struct s3_listing *l, const struct s3_item *item, struct str path,
                           struct pickup_entry *ret)
{
    struct err why = { 0 };
    int64_t ms = 0;

    if (!s3_version_time(item->time, &ms))
        ms = 0;
    *ret = (struct pickup_entry){
        .name = path, .kind = PICKUP_FILE, .size = item->size, .time_ns = ms * 1000000
    };
    s3_version_put(item->etag, ms, ret->version);
    if (!s3_key_check(item->key, &why)) {
        (void)snprintf(l->why, sizeof l->why, "%s", why.text);
        ret->refused = l->why;
        ret->hint = "Store it under another key.";
    } else if (item->etag.len == 0) {
        ret->refused = "the service lists it without an ETag";
        ret->hint = "Without one it cannot be told whether it was taken.";
    }
}

bool s3_in_list(void *arg, const char *folder, void **ret_list, struct err *err)
{
    struct s3_listing *l = NEW(struct s3_listing);

    (void)err;
    require(folder[0] == '\0'); /* the list is flat */
    *l = (struct s3_listing){ .poll = arg, .arena = ARENA_INIT(S3_ANSWER_ARENA) };
    *ret_list = l;
    return true;
}

bool s3_in_next(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err)
{
    struct s3_listing *l = list;

    *ret_end = false;
    for (;;) {
        while (l->at < l->page.count) {
            const struct s3_item *item = &l->page.items[l->at++];
            struct str path;

            if (!str_starts(item->key, l->poll->self->prefix))
                return err_set(err, ERR_TRANSIENT, 0,
                               "the service lists objects that were not asked for");
            if (s3_in_is_here(l->poll->self, item->key, &path)) {
                s3_in_describe(l, item, path, ret);
                return true;
            }
        }
        if (!s3_in_turn(l, ret_end, err))
            return false;
        if (*ret_end)
            return true;
    }
}

void s3_in_end(void *list)
{
    struct s3_listing *l = list;

    arena_done(&l->arena);
    free(l->token);
    free(l);
}
