/* s3_out.c - stores each document as an object in a bucket.
 *
 *     archive: { kind: s3, url: "https://s3.eu-central-1.amazonaws.com", region: eu-central-1,
 *                bucket: orders, name: "${date}/${id}.xml", access_key: secret:key,
 *                secret_key: secret:secret }
 *
 * An attempt has the same key as the one before.  Unless it is told to, it replaces nothing: the
 * service is asked to store the object only if there is none (If-None-Match: *).  Not all know
 * that: some refuse it (501), some ignore it.  So it is looked first whether there is one (HEAD),
 * until the service has shown that it knows the condition.  What is there already and has our
 * delivery's id and the digest was stored by an earlier attempt: the delivery is done.
 *
 * Small documents are one request, large ones are uploaded in parts (s3_parts.h).
 */
#include <stdatomic.h>

#include "base/auto.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "core/s3/s3_line.h"
#include "core/s3/s3_probe.h"
#include "core/s3/s3_request.h"
#include "core/template.h"
#include "core/yaml.h"
#include "delivery/s3_object.h"
#include "delivery/s3_parts.h"

/* What is known of the service about If-None-Match. */
enum condition { CONDITION_UNPROVEN, CONDITION_KNOWN, CONDITION_REFUSED };

struct s3_out {
    struct s3_service service;
    struct s3_lines lines;
    struct s3_uploads uploads;
    const struct template *bucket, *name;
    bool bucket_is_chosen; /* it depends on the document ... */
    struct str fixed;      /* ... else this is its name */
    bool replaces;
    _Atomic int condition;
};

/* ---- one request ---- */

static void put_object(struct s3_object *o, bool only_if_none)
{
    const struct sending *s = o->sending;
    struct s3_order order = {
        .method = "PUT", .bucket = o->bucket, .key = o->key, .digest = o->sha256
    };

    s3_object_put_fields(o, &order);
    if (only_if_none)
        order.fields[order.field_count++] =
            (struct http_out_field){ STR("If-None-Match"), STR("*") };
    s3_object_ask(o, &order, s->next == NULL && s->bytes.ptr == NULL ? STR("") : s->bytes, s->size,
                  true);
}

static void s3_say_taken(const struct s3_object *o, struct verdict *v)
{
    (void)verdict_say(v, VERDICT_RETRY, "%.*s is there already and is not replaced",
                      STR_ARG(o->key));
}

static void say_ours(const struct s3_object *o, struct verdict *v)
{
    (void)verdict_say(v, VERDICT_DELIVERED, "%.*s/%.*s is there already, of this delivery",
                      STR_ARG(o->bucket), STR_ARG(o->key));
}

/* Looks whether the key is free.  False: the verdict is known. */
static bool look_first(const struct s3_out *self, struct s3_object *o, struct verdict *v)
{
    switch (s3_object_find(o, v)) {
    case S3_FOUND_NOTHING:
        return true;
    case S3_FOUND_OURS:
        say_ours(o, v);
        return false;
    case S3_FOUND_OTHER:
        s3_say_taken(o, v);
        return false;
    case S3_FOUND_UNKNOWN:
        break;
    }
    /* A key that may only write cannot look: the condition protects what is there, if it is known.
     */
    return atomic_load(&self->condition) != CONDITION_REFUSED && v->status == 403;
}

/* The service has something under the key: is it ours? */
static void s3_meet(struct s3_object *o, struct verdict *v)
{
    switch (s3_object_find(o, v)) {
    case S3_FOUND_NOTHING:
        (void)verdict_say(v, VERDICT_RETRY, "%.*s is gone again", STR_ARG(o->key));
        return;
    case S3_FOUND_OURS:
        say_ours(o, v);
        return;
    case S3_FOUND_OTHER:
        s3_say_taken(o, v);
        return;
    case S3_FOUND_UNKNOWN:
        return;
    }
}

static bool is_unknown_condition(const struct s3_object *o)
{
    return o->exchange.answer.reach == HTTP_OUT_ANSWERED &&
           (o->exchange.answer.status == 501 || str_is(o->code, "NotImplemented"));
}

static bool meets_another(const struct s3_object *o)
{
    return o->exchange.answer.reach == HTTP_OUT_ANSWERED &&
           (o->exchange.answer.status == 412 || str_is(o->code, "PreconditionFailed"));
}

/* One try.  False: the service has just refused the condition, and was not looked at before. */
static bool try_object(struct s3_out *self, struct s3_object *o, struct verdict *v)
{
    int condition = atomic_load(&self->condition);
    bool only_if_none = !self->replaces && condition != CONDITION_REFUSED;

    if (!self->replaces && condition != CONDITION_KNOWN && !look_first(self, o, v))
        return true;
    if (!call_commit(o->talk.call)) {
        (void)verdict_say(v, VERDICT_RETRY, "the call was given up");
        return true;
    }
    put_object(o, only_if_none);
    if (o->exchange.answer.reach == HTTP_OUT_ANSWERED &&
        s3_is_stored(&o->exchange.answer, s3_exchange_field(&o->exchange, "ETag"))) {
        *v = (struct verdict){ .status = o->exchange.answer.status };
        (void)verdict_say(v, VERDICT_DELIVERED, "stored as %.*s/%.*s", STR_ARG(o->bucket),
                          STR_ARG(o->key));
        return true;
    }
    s3_object_judge(o, true, v);
    if (only_if_none && meets_another(o)) {
        atomic_store(&self->condition, CONDITION_KNOWN);
        s3_meet(o, v);
    } else if (only_if_none && is_unknown_condition(o)) {
        atomic_store(&self->condition, CONDITION_REFUSED);
        return false;
    }
    return true;
}

static void s3_send_one(struct s3_out *self, struct s3_object *o, struct verdict *v)
{
    struct err err = { 0 };

    if (try_object(self, o, v))
        return;
    if (!s3_object_rewind(o, &err))
        (void)verdict_say(v, VERDICT_RETRY, "%s", err.text);
    else if (!try_object(self, o, v))
        (void)verdict_say(v, VERDICT_RETRY, "the service does not know what it is asked");
}

/* ---- the endpoint ---- */

static bool s3_out_begin(struct s3_out *self, struct s3_object *o, struct verdict *v)
{
    struct err err = { 0 };

    o->bucket_is_chosen = self->bucket_is_chosen;
    if (s3_object_name(o, self->bucket, self->name, &err))
        return true;
    (void)verdict_say(v, VERDICT_FAILED, "%s", err.text);
    v->code = dead_codes[DEAD_REJECTED];
    return false;
}

static void s3_send(void *arg, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct s3_out *self = arg;
    AUTO(s3_object_done) struct s3_object o;

    s3_object_init(&o, &self->service, &self->lines, s, c);
    *ret = (struct verdict){ 0 };
    if (!s3_out_begin(self, &o, ret))
        return;
    if (s->size >= S3_PARTS_FROM)
        s3_parts_send(&o, &self->uploads, self->replaces, ret);
    else
        s3_send_one(self, &o, ret);
}

static void s3_ask(void *arg, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct s3_out *self = arg;
    AUTO(s3_object_done) struct s3_object o;

    s3_object_init(&o, &self->service, &self->lines, s, c);
    *ret = (struct verdict){ 0 };
    if (!s3_out_begin(self, &o, ret))
        return;
    switch (s3_object_find(&o, ret)) {
    case S3_FOUND_OURS:
        (void)verdict_say(ret, VERDICT_DELIVERED, "asked: %.*s/%.*s is there, of this delivery",
                          STR_ARG(o.bucket), STR_ARG(o.key));
        return;
    case S3_FOUND_NOTHING:
        (void)verdict_say(ret, VERDICT_RETRY, "asked: %.*s/%.*s is not there; it is sent again",
                          STR_ARG(o.bucket), STR_ARG(o.key));
        return;
    case S3_FOUND_OTHER:
        /* Where objects are replaced, a later delivery may have replaced this one. */
        (void)verdict_say(ret, self->replaces ? VERDICT_DOUBT : VERDICT_RETRY,
                          "asked: %.*s/%.*s is there, of another delivery or sender",
                          STR_ARG(o.bucket), STR_ARG(o.key));
        return;
    case S3_FOUND_UNKNOWN:
        if (ret->kind == VERDICT_RETRY || ret->kind == VERDICT_REJECTED)
            ret->kind = VERDICT_DOUBT; /* the question failed, and says nothing of the document */
        return;
    }
}

/* ---- options ---- */

static const struct option options[] = {
    OPTIONS(grammar_s3),
    OPTION("bucket", OPT_TEMPLATE, "the bucket", .flags = OPT_REQUIRED),
    OPTION("name", OPT_TEMPLATE,
           "the key of the object; a value of the document that has a `/` or begins with a dot is "
           "refused",
           .fallback = "${id}"),
    OPTION("exists", OPT_WORD,
           "what happens when there is an object of that name: the delivery waits until there is "
           "none, or the object is replaced",
           .words = OPTION_WORDS("wait", "replace"), .fallback = "wait"),
    OPTIONS(grammar_tls),
    { 0 },
};

static bool s3_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct s3_out *self = ARENA_NEW(s->arena, struct s3_out);
    struct str bucket, name, exists;

    if (!s3_service_read(s, &self->service, err) || !settings_text(s, "bucket", &bucket, err) ||
        !settings_text(s, "name", &name, err) || !settings_text(s, "exists", &exists, err) ||
        !template_compile(bucket, s->arena, &self->bucket, err) ||
        !template_compile(name, s->arena, &self->name, err))
        return false;
    self->bucket_is_chosen = str_find(bucket, '$') >= 0;
    if (!self->bucket_is_chosen && !s3_bucket_check(&self->service, bucket, err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "`bucket`");
    }
    self->fixed = self->bucket_is_chosen ? STR("") : bucket;
    self->replaces = str_is(exists, "replace");
    s3_lines_init(&self->lines, &self->service.http);
    s3_uploads_init(&self->uploads);
    *ret_self = self;
    return true;
}

static void s3_unmake(void *arg)
{
    struct s3_out *self = arg;

    s3_lines_done(&self->lines);
    s3_uploads_done(&self->uploads);
}

static void s3_out_probe(void *arg, struct call *c, struct probing *p)
{
    const struct s3_out *self = arg;

    (void)s3_probe(&self->service, self->fixed, c, p);
}

const struct endpoint_type endpoint_s3 = {
    .kind = { .name = "s3", .help = "each document as an object in a bucket", .keys = options },
    .make = s3_make,
    .unmake = s3_unmake,
    .send = s3_send,
    .ask = s3_ask,
    .probe = s3_out_probe,
};
