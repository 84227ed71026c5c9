#include "delivery/s3_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"

enum {
    PARTS_MOST = 10000,
    ETAG_MOST = 128,
    PAGES_MOST = 10, /* of a list of uploads with one prefix */
    LIST_MOST = PARTS_MOST * (ETAG_MOST * 6 + 80)
};

struct part {
    struct sha256 sha256;
    int64_t size;
    char etag[ETAG_MOST];
};

/* One upload under way. */
struct work {
    struct s3_object *o;
    struct s3_uploads *uploads;
    struct s3_upload upload;
    struct part *parts;
    size_t count;
    struct verdict *verdict;
};

void s3_uploads_init(struct s3_uploads *u)
{
    *u = (struct s3_uploads){ 0 };
    require(pthread_mutex_init(&u->mutex, NULL) == 0);
}

void s3_uploads_done(struct s3_uploads *u)
{
    (void)pthread_mutex_destroy(&u->mutex);
}

static bool is_under_way(struct s3_uploads *u, struct str id)
{
    (void)pthread_mutex_lock(&u->mutex);
    const struct s3_upload *one = u->first;

    while (one != NULL && !str_eq(one->id, id))
        one = one->next;
    (void)pthread_mutex_unlock(&u->mutex);
    return one != NULL;
}

static void note_upload(struct s3_uploads *u, struct s3_upload *one)
{
    (void)pthread_mutex_lock(&u->mutex);
    one->next = u->first;
    u->first = one;
    (void)pthread_mutex_unlock(&u->mutex);
}

static void forget_upload(struct s3_uploads *u, const struct s3_upload *one)
{
    (void)pthread_mutex_lock(&u->mutex);
    struct s3_upload **at = &u->first;

    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    (void)pthread_mutex_unlock(&u->mutex);
}

/* Of the parts of a document, at most PARTS_MOST of them. */
static int64_t s3_part_size(int64_t size)
{
    int64_t least = (size + PARTS_MOST - 1) / PARTS_MOST;

    return least > S3_PART ? least : S3_PART;
}

/* ---- requests ---- */

static struct s3_order order_of(const struct s3_object *o, const char *method)
{
    return (struct s3_order){
        .method = method, .bucket = o->bucket, .key = o->key, .digest = digest_of(STR(""))
    };
}

static void s3_add_query(struct s3_order *order, const char *name, struct str value)
{
    order->query[order->query_count++] = (struct s3_query){ name, value };
}

static bool s3_parts_fail(struct work *w, enum verdict_kind kind, const struct err *err)
{
    (void)verdict_say(w->verdict, kind, "%s", err->text);
    return false;
}

static bool s3_is_answer(const struct s3_object *o, enum s3_answer_kind kind, struct arena *a,
                         struct s3_answer *ret)
{
    const struct http_out_answer *got = &o->exchange.answer;
    struct err err = { 0 };

    return got->reach == HTTP_OUT_ANSWERED && got->status == 200 &&
           s3_answer_read(got->body, a, ret, &err) && ret->kind == kind;
}

/* A failure changes nothing: the next attempt of the delivery tries again, and so does the rule for
 * incomplete uploads that a bucket may have. */
static void abort_upload(struct s3_object *o, struct str id)
{
    struct s3_order order = order_of(o, "DELETE");

    s3_add_query(&order, "uploadId", id);
    s3_object_ask(o, &order, STR(""), 0, true);
}

/* ---- uploads that a crash left behind ---- */

static bool list_uploads(struct work *w, struct arena *a, const struct s3_answer *after,
                         struct s3_answer *ret)
{
    struct s3_object *o = w->o;
    struct s3_order order = order_of(o, "GET");

    order.key = STR("");
    s3_add_query(&order, "encoding-type", STR("url"));
    if (after != NULL)
        s3_add_query(&order, "key-marker", after->next);
    s3_add_query(&order, "prefix", o->key);
    if (after != NULL)
        s3_add_query(&order, "upload-id-marker", after->next_upload);
    s3_add_query(&order, "uploads", STR(""));
    s3_object_ask(o, &order, STR(""), 0, false);
    return s3_is_answer(o, S3_ANSWER_UPLOADS, a, ret);
}

/* A list that the service refuses is no reason not to send: a key may lack the right to it. */
static void abort_broken(struct work *w)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(PAGES_MOST * S3_ANSWER_ARENA);
    struct s3_answer page = { .more = true };

    for (int i = 0; i < PAGES_MOST && page.more; i++) {
        struct s3_answer before = page;

        if (!list_uploads(w, &a, i > 0 ? &before : NULL, &page))
            return;
        for (size_t n = 0; n < page.count; n++)
            if (str_eq(page.items[n].key, w->o->key) && page.items[n].upload.len > 0 &&
                !is_under_way(w->uploads, page.items[n].upload))
                abort_upload(w->o, page.items[n].upload);
    }
}

/* ---- parts ---- */

/* The first reading: digests. */
static bool digest_part(struct work *w, struct part *p, struct err *err)
{
    struct digest d = digest_start();

    for (int64_t left = p->size; left > 0;) {
        struct str piece;

        if ((call_is_over(w->o->talk.call) &&
             !err_set(err, ERR_TRANSIENT, 0, "the node is stopping")) ||
            !s3_object_next(w->o, (size_t)left, &piece, err) ||
            (piece.len == 0 &&
             !err_set(err, ERR_PERMANENT, 0, "the document is shorter than it was"))) {
            digest_drop(&d);
            return false;
        }
        digest_add(&d, piece);
        left -= (int64_t)piece.len;
    }
    p->sha256 = digest_end(&d);
    return true;
}

static bool plan_parts(struct work *w)
{
    int64_t size = w->o->sending->size, each = s3_part_size(size);
    struct err err = { 0 };

    w->count = (size_t)((size + each - 1) / each);
    w->parts = xcalloc(w->count, sizeof *w->parts);
    for (size_t i = 0; i < w->count; i++) {
        w->parts[i].size = i + 1 < w->count ? each : size - each * (int64_t)i;
        if (!digest_part(w, &w->parts[i], &err))
            return s3_parts_fail(w, VERDICT_RETRY, &err);
    }
    return s3_object_rewind(w->o, &err) || s3_parts_fail(w, VERDICT_RETRY, &err);
}

static bool begin_upload(struct work *w)
{
    struct s3_object *o = w->o;
    struct s3_order order = order_of(o, "POST");
    struct s3_answer said;

    s3_add_query(&order, "uploads", STR(""));
    s3_object_put_fields(o, &order);
    s3_object_ask(o, &order, STR(""), 0, false);
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);

    if (s3_is_answer(o, S3_ANSWER_BEGUN, &a, &said) && said.upload.len > 0 &&
        said.upload.len <= S3_KEY_MOST) {
        w->upload.id = arena_copy(&o->arena, said.upload);
        note_upload(w->uploads, &w->upload);
        return true;
    }
    s3_object_judge(o, false, w->verdict);
    return false;
}

static bool s3_send_part(struct work *w, size_t at)
{
    struct s3_object *o = w->o;
    struct part *p = &w->parts[at];
    struct s3_order order = order_of(o, "PUT");
    char number[16];

    (void)snprintf(number, sizeof number, "%zu", at + 1);
    s3_add_query(&order, "partNumber", str_of(number));
    s3_add_query(&order, "uploadId", w->upload.id);
    order.digest = p->sha256;
    s3_object_ask(o, &order, (struct str){ 0 }, p->size, false);
    struct str etag = s3_exchange_field(&o->exchange, "ETag");

    if (o->exchange.answer.reach == HTTP_OUT_ANSWERED && s3_is_stored(&o->exchange.answer, etag) &&
        etag.len < ETAG_MOST) {
        (void)snprintf(p->etag, sizeof p->etag, "%.*s", STR_ARG(etag));
        return true;
    }
    s3_object_judge(o, false, w->verdict);
    return false;
}

/* ---- the end ---- */

static void s3_put_text(struct buf *to, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '"')
            buf_puts(to, "&quot;");
        else if (*text == '&')
            buf_puts(to, "&amp;");
        else if (*text == '<')
            buf_puts(to, "&lt;");
        else
            buf_putc(to, *text);
}

static void s3_put_list(const struct work *w, struct buf *to)
{
    buf_puts(to, "<CompleteMultipartUpload>");
    for (size_t i = 0; i < w->count; i++) {
        buf_printf(to, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        s3_put_text(to, w->parts[i].etag);
        buf_puts(to, "</ETag></Part>");
    }
    buf_puts(to, "</CompleteMultipartUpload>");
}

static bool complete_upload(struct work *w)
{
    AUTO(buf_done) struct buf list = BUF_INIT(LIST_MOST);
    struct s3_object *o = w->o;
    struct s3_order order = order_of(o, "POST");
    struct s3_answer said;

    s3_put_list(w, &list);
    order.digest = digest_of(buf_view(&list));
    order.fields[order.field_count++] =
        (struct http_out_field){ STR("Content-Type"), STR("application/xml") };
    s3_add_query(&order, "uploadId", w->upload.id);
    if (!call_commit(o->talk.call)) {
        (void)verdict_say(w->verdict, VERDICT_RETRY, "the call was given up");
        return false;
    }
    s3_object_ask(o, &order, buf_view(&list), (int64_t)list.len, true);
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);

    if (s3_is_answer(o, S3_ANSWER_COMPLETED, &a, &said))
        return true;
    s3_object_judge(o, true, w->verdict);
    return false;
}

static bool s3_is_free(struct work *w, bool replaces, bool *ret_ours)
{
    enum s3_found found = replaces ? S3_FOUND_NOTHING : s3_object_find(w->o, w->verdict);

    *ret_ours = found == S3_FOUND_OURS;
    if (found == S3_FOUND_OTHER)
        (void)verdict_say(w->verdict, VERDICT_RETRY, "%.*s is there already and is not replaced",
                          STR_ARG(w->o->key));
    return found == S3_FOUND_NOTHING;
}

static bool s3_send_parts(struct work *w, bool replaces, bool *ret_ours)
{
    if (!s3_is_free(w, replaces, ret_ours) || !plan_parts(w) || !begin_upload(w))
        return false;
    bool ok = true;

    for (size_t i = 0; ok && i < w->count; i++)
        ok = s3_send_part(w, i);
    /* It took a while: somebody else may have been there. */
    ok = ok && s3_is_free(w, replaces, ret_ours) && complete_upload(w);
    if (!ok && w->verdict->kind != VERDICT_DOUBT)
        abort_upload(w->o, w->upload.id);
    forget_upload(w->uploads, &w->upload);
    return ok;
}

void s3_parts_send(struct s3_object *o, struct s3_uploads *u, bool replaces, struct verdict *ret)
{
    struct work w = { .o = o, .uploads = u, .verdict = ret };
    bool ours = false;

    abort_broken(&w);
    bool ok = s3_send_parts(&w, replaces, &ours);

    if (ok)
        (void)verdict_say(ret, VERDICT_DELIVERED, "stored as %.*s/%.*s, in %zu parts",
                          STR_ARG(o->bucket), STR_ARG(o->key), w.count);
    else if (ours)
        (void)verdict_say(ret, VERDICT_DELIVERED, "%.*s/%.*s is there already, of this delivery",
                          STR_ARG(o->bucket), STR_ARG(o->key));
    free(w.parts);
}
