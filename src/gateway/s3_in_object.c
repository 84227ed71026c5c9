/* s3_in_object.c - requests about one object: what it is, its bytes, away with it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "core/s3/s3_judge.h"
#include "core/s3/s3_text.h"
#include "core/web/http_client.h"
#include "gateway/s3_in.h"

enum {
    HEAD_MOST = 64 << 10,
    TYPE_MOST = 256,
    LARGE = 1 << 20 /* an object that takes some time to read */
};

_Static_assert((int)S3_VERSION <= (int)PICKUP_VERSION, "a version of an object is one of pickup.h");

/* ---- requests ---- */

struct s3_exchange s3_in_exchange(void)
{
    return (struct s3_exchange){ .bytes = STR(""),
                                 .head = BUF_INIT(HEAD_MOST),
                                 .body = BUF_INIT(S3_ANSWER_MOST) };
}

struct s3_order s3_in_order(const struct s3_poll *p, const char *method, struct str key)
{
    return (struct s3_order){
        .method = method, .bucket = p->self->bucket, .key = key, .digest = digest_of(STR(""))
    };
}

static void s3_in_add_field(struct s3_order *order, struct str name, struct str value)
{
    order->fields[order->field_count++] = (struct http_out_field){ name, value };
}

void s3_in_ask(struct s3_poll *p, const struct s3_order *order)
{
    s3_talk_ask(&p->talk, &p->self->service, order, &p->exchange);
}

bool s3_in_has_status(const struct s3_exchange *x, int64_t least, int64_t most)
{
    return x->answer.reach == HTTP_OUT_ANSWERED && x->answer.status >= least &&
           x->answer.status <= most;
}

/* Whether what went wrong concerns this object alone: the list came with the same credential. */
static bool s3_in_is_its_own(const struct verdict *v, struct str code)
{
    return v->kind == VERDICT_REJECTED ||
           (v->status == 403 &&
            (code.len == 0 || str_is(code, "AccessDenied") || str_is(code, "InvalidObjectState")));
}

bool s3_in_fail(const struct s3_poll *p, const struct s3_exchange *x, struct str key,
                struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    const struct s3_asked asked = { .service = &p->self->service,
                                    .bucket = p->self->bucket,
                                    .key = key };
    struct verdict v;
    struct str code;

    s3_judge(&asked, &x->answer, &a, &v, &code);
    if (key.len > 0 && s3_in_has_status(x, 404, 404) && !str_is(code, "NoSuchBucket"))
        return err_set(err, ERR_TRANSIENT, ENOENT, "it is not there any more");
    if (key.len > 0 && s3_in_has_status(x, 412, 412))
        return err_set(err, ERR_TRANSIENT, ENOENT, "it was replaced");
    return err_set(err, key.len > 0 && s3_in_is_its_own(&v, code) ? ERR_PERMANENT : ERR_TRANSIENT,
                   0, "%s", v.message);
}

/* The key of a path; sys ENOENT: no object can have it. */
static bool s3_in_key(const struct s3_poll *p, const char *path, char room[static S3_KEY_MOST + 1],
                      struct str *ret, struct err *err)
{
    int n = snprintf(room, S3_KEY_MOST + 1, "%.*s%s", STR_ARG(p->self->folder), path);

    if (n > S3_KEY_MOST)
        return err_set(err, ERR_TRANSIENT, ENOENT, "no object can have so long a key");
    *ret = str_mem(room, (size_t)n);
    return true;
}

/* ---- what is there ---- */

/* What the answer to HEAD or GET says.  `listed`: the version that is looked for, or "". */
static bool s3_in_read_head(const struct s3_exchange *x, const char *listed,
                            struct pickup_entry *ret, struct err *err)
{
    struct str etag = s3_exchange_field(x, "ETag"), ctype = x->answer.ctype;
    int64_t us = 0;

    if (!http_client_date(s3_exchange_field(x, "Last-Modified"), &us) || us < 0 ||
        us > INT64_MAX / 1000)
        us = 0; /* not known */
    *ret = (struct pickup_entry){ .kind = PICKUP_FILE, .time_ns = us * 1000 };
    if (etag.len == 0 || !str_to_i64(s3_exchange_field(x, "Content-Length"), &ret->size) ||
        ret->size < 0)
        return err_set(err, ERR_TRANSIENT, 0,
                       "answered %lld without ETag or size, and so not as an S3 service does: is "
                       "`url` right, is there a proxy?",
                       (long long)x->answer.status);
    if (listed[0] != '\0' && s3_version_is(listed, etag, us / CLOCK_MS))
        (void)snprintf(ret->version, sizeof ret->version, "%s", listed);
    else
        s3_version_put(etag, us / CLOCK_MS, ret->version);
    /* Types that say nothing are what services answer if nobody has said one. */
    if (ctype.len <= TYPE_MOST && !str_has_control(ctype) && str_is_utf8(ctype) &&
        !str_is(ctype, "binary/octet-stream") && !str_is(ctype, "application/octet-stream"))
        ret->ctype = ctype;
    return true;
}

bool s3_in_stat(void *arg, const char *path, struct pickup_entry *ret, struct err *err)
{
    struct s3_poll *p = arg;
    char room[S3_KEY_MOST + 1], listed[PICKUP_VERSION];
    struct str key;

    p->path[0] = '\0';
    (void)snprintf(listed, sizeof listed, "%s", ret->version);
    if (!s3_in_key(p, path, room, &key, err))
        return false;
    struct s3_order order = s3_in_order(p, "HEAD", key);

    s3_in_ask(p, &order);
    if (!s3_in_has_status(&p->exchange, 200, 200))
        return s3_in_fail(p, &p->exchange, key, err);
    if (!s3_in_read_head(&p->exchange, listed, ret, err))
        return false;
    ret->ctype = STR("");
    (void)snprintf(p->path, sizeof p->path, "%s", path);
    (void)snprintf(p->version, sizeof p->version, "%s", ret->version);
    p->size = ret->size;
    return true;
}

/* ---- what is in it ---- */

struct s3_file {
    struct s3_poll *poll;
    struct s3_exchange exchange;
    char path[PICKUP_PATH];
    int64_t size;
};

void s3_in_close(void *file)
{
    struct s3_file *f = file;

    s3_talk_close(&f->poll->talk, &f->exchange);
    s3_exchange_done(&f->exchange);
    free(f);
}

/* The object has another version than the one that was listed: the next poll lists that.  One that
 * is listed so again and again would never be taken, so it is reported. */
static bool s3_in_is_stale(struct s3_in *self, struct str key, const char *listed, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(S3_VERSION + S3_KEY_MOST + 8);
    uint64_t hash, *slot;

    buf_printf(&text, "%s\n", listed);
    buf_put(&text, key);
    struct sha256 sha = digest_of(buf_view(&text));

    memcpy(&hash, sha.bytes, sizeof hash);
    slot = &self->stale[hash % S3_IN_STALE];
    if (*slot == hash)
        return err_set(err, ERR_PERMANENT, 0, "the service lists another version than it has");
    *slot = hash;
    return err_set(err, ERR_TRANSIENT, ENOENT, "it was replaced");
}

static bool s3_in_begin(struct s3_file *f, struct str key, const char *listed,
                        struct pickup_entry *ret, struct err *err)
{
    struct s3_poll *p = f->poll;
    struct s3_order order = s3_in_order(p, "GET", key);
    char condition[S3_VERSION];

    if (s3_version_condition(listed, condition))
        s3_in_add_field(&order, STR("If-Match"), str_of(condition));
    if (!s3_talk_open(&p->talk, &p->self->service, &order, &f->exchange))
        return s3_in_has_status(&f->exchange, 412, 412) ? s3_in_is_stale(p->self, key, listed, err)
                                                        : s3_in_fail(p, &f->exchange, key, err);
    if (!s3_in_read_head(&f->exchange, listed, ret, err))
        return false;
    return listed[0] == '\0' || strcmp(ret->version, listed) == 0 ||
           s3_in_is_stale(p->self, key, listed, err);
}

bool s3_in_open(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                struct err *err)
{
    char room[S3_KEY_MOST + 1], listed[PICKUP_VERSION];
    struct str key;

    *ret_file = NULL;
    (void)snprintf(listed, sizeof listed, "%s", ret->version);
    if (!s3_in_key(arg, path, room, &key, err))
        return false;
    struct s3_file *f = NEW(struct s3_file);

    *f = (struct s3_file){ .poll = arg, .exchange = s3_in_exchange() };
    (void)snprintf(f->path, sizeof f->path, "%s", path);
    if (!s3_in_begin(f, key, listed, ret, err)) {
        s3_in_close(f);
        return false;
    }
    f->size = ret->size;
    *ret_file = f;
    return true;
}

bool s3_in_read(void *file, char *to, size_t room, size_t *ret_len, struct err *err)
{
    struct s3_file *f = file;

    return s3_talk_read(&f->poll->talk, &f->exchange, to, room, ret_len, err);
}

/* The answer to one GET is one version, on services that keep to the rule.  Not all do: so a large
 * object, which may be replaced while it is read, is looked at again. */
bool s3_in_same(void *file, const char *version, bool *ret, struct err *err)
{
    const struct s3_file *f = file;
    struct pickup_entry now = { 0 };

    *ret = true;
    if (f->size <= LARGE)
        return true;
    (void)snprintf(now.version, sizeof now.version, "%s", version);
    if (s3_in_stat(f->poll, f->path, &now, err)) {
        *ret = strcmp(now.version, version) == 0;
        return true;
    }
    if (err->sys != ENOENT)
        return false;
    *err = (struct err){ 0 }; /* it was deleted after it had come */
    return true;
}

/* ---- away ---- */

/* The condition under which what stat() has found is changed. */
static bool s3_in_condition(const struct s3_poll *p, const char *path, char to[static S3_VERSION])
{
    return strcmp(p->path, path) == 0 && s3_version_condition(p->version, to);
}

bool s3_in_remove(void *arg, const char *path, struct err *err)
{
    struct s3_poll *p = arg;
    struct s3_exchange *x = &p->exchange;
    char room[S3_KEY_MOST + 1], condition[S3_VERSION];
    struct str key;

    if (!s3_in_key(p, path, room, &key, err))
        return false;
    struct s3_order order = s3_in_order(p, "DELETE", key);

    if (!p->self->unconditional && s3_in_condition(p, path, condition))
        s3_in_add_field(&order, STR("If-Match"), str_of(condition));
    s3_in_ask(p, &order);
    if (order.field_count > 0 && s3_in_has_status(x, 501, 501)) {
        p->self->unconditional = true;
        order.field_count = 0;
        s3_in_ask(p, &order);
    }
    return (s3_in_has_status(x, 200, 299) && str_trim(buf_view(&x->body)).len == 0) ||
           s3_in_fail(p, x, key, err);
}

/* What stands under a key of `after: move`. */
enum s3_taken { S3_TAKEN_FREE, S3_TAKEN_OURS, S3_TAKEN_OTHER, S3_TAKEN_UNKNOWN };

/* A copy has the ETag and the size of the object, and was stored after it: a poll before this one
 * has copied it and was killed. */
static enum s3_taken s3_in_look_at(struct s3_poll *p, struct str to, struct err *err)
{
    struct s3_order order = s3_in_order(p, "HEAD", to);
    struct pickup_entry e = { 0 };
    struct str etag;

    s3_in_ask(p, &order);
    if (s3_in_has_status(&p->exchange, 404, 404))
        return S3_TAKEN_FREE;
    if (!s3_in_has_status(&p->exchange, 200, 200)) {
        (void)s3_in_fail(p, &p->exchange, to, err);
        return S3_TAKEN_UNKNOWN;
    }
    if (!s3_in_read_head(&p->exchange, "", &e, err))
        return S3_TAKEN_UNKNOWN;
    etag = s3_exchange_field(&p->exchange, "ETag");
    return e.size == p->size && s3_version_is(p->version, etag, 0) &&
                   e.time_ns / 1000000 + S3_VERSION_APART_MS >= s3_version_ms(p->version)
               ? S3_TAKEN_OURS
               : S3_TAKEN_OTHER;
}

static bool s3_in_copy(struct s3_poll *p, struct str from, struct str to, const char *condition,
                       struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    AUTO(buf_done) struct buf source = BUF_INIT(4 * S3_KEY_MOST);
    struct s3_order order = s3_in_order(p, "PUT", to);
    struct s3_answer answer = { 0 };
    struct err bad = { 0 };

    buf_printf(&source, "/%.*s/", STR_ARG(p->self->bucket));
    if (!s3_encode(from, true, &source, err))
        return false;
    s3_in_add_field(&order, STR("x-amz-copy-source"), buf_view(&source));
    if (condition != NULL)
        s3_in_add_field(&order, STR("x-amz-copy-source-if-match"), str_of(condition));
    s3_in_ask(p, &order);
    return (s3_in_has_status(&p->exchange, 200, 200) &&
            s3_answer_read(buf_view(&p->exchange.body), &a, &answer, &bad) &&
            answer.kind == S3_ANSWER_COPIED) ||
           s3_in_fail(p, &p->exchange, from, err);
}

/* Copying took its time, and not every service knows conditions. */
static bool s3_in_is_as_found(struct s3_poll *p, const char *path, struct err *err)
{
    struct pickup_entry now = { 0 };
    char version[S3_VERSION];

    (void)snprintf(version, sizeof version, "%s", p->version);
    (void)snprintf(now.version, sizeof now.version, "%s", version);
    return s3_in_stat(p, path, &now, err) &&
           (strcmp(now.version, version) == 0 ||
            err_set(err, ERR_TRANSIENT, ENOENT, "it was replaced"));
}

/* stat() has just found the object. */
bool s3_in_move(void *arg, const char *path, const char *name, struct err *err)
{
    struct s3_poll *p = arg;
    char room[S3_KEY_MOST + 1], to_room[S3_KEY_MOST + 1], condition[S3_VERSION];
    const char *only_if = s3_in_condition(p, path, condition) ? condition : NULL;
    int n = snprintf(to_room, sizeof to_room, "%.*s%s", STR_ARG(p->self->moved), name);
    struct str from, to = str_mem(to_room, (size_t)n);

    if (n > S3_KEY_MOST)
        return err_set(err, ERR_PERMANENT, 0, "its key would be too long below `after.move`");
    if (!s3_in_key(p, path, room, &from, err))
        return false;
    switch (s3_in_look_at(p, to, err)) {
    case S3_TAKEN_UNKNOWN:
        return false;
    case S3_TAKEN_OTHER:
        return err_set(err, ERR_TRANSIENT, EEXIST, "there is another object of that name");
    case S3_TAKEN_FREE:
        if (!s3_in_copy(p, from, to, only_if, err))
            return false;
        fault_point(S3_COPIED);
        break;
    case S3_TAKEN_OURS:
        break;
    }
    return s3_in_is_as_found(p, path, err) && s3_in_remove(p, path, err);
}
