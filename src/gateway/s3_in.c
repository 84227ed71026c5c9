/* s3_in.c - polls a bucket; each object becomes a document.
 *
 *     orders: { kind: s3, url: "https://s3.eu-central-1.amazonaws.com", region: eu-central-1,
 *               bucket: acme-orders, prefix: in/, after: delete, access_key: secret:key,
 *               secret_key: secret:secret }
 *
 * What is taken, when, and what becomes of it is decided by core/pickup/pickup.h; this is its
 * source of objects.  The folder is `prefix` up to its last `/`; what follows in a key is the path
 * of an object.  Keys are names and no paths of a file system (pickup_source.opaque): `x/../y` is
 * an object like any other.
 *
 * A poll lists the bucket in pages of S3_ITEMS_MOST keys, one request each.  Nothing can be
 * claimed in a bucket, so objects are known by their key and version (core/s3/s3_version.h): each
 * is asked for on the condition that it still has the version that was listed, and is removed only
 * if it still has the version that was stored. */
#include "gateway/s3_in.h"

#include "base/clock.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/s3/s3_probe.h"

#define CONNECT_MOST_US (INT64_C(10) * CLOCK_S)

static const struct pickup_source s3_objects = {
    .opaque = true,
    .list = s3_in_list,
    .next = s3_in_next,
    .end = s3_in_end,
    .stat = s3_in_stat,
    .open = s3_in_open,
    .read = s3_in_read,
    .same = s3_in_same,
    .close = s3_in_close,
    .remove = s3_in_remove,
    .move = s3_in_move,
};

/* ---- the poll ---- */

static bool look(void *arg, const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err)
{
    struct s3_in *self = arg;
    struct s3_poll p = { .self = self,
                         .port = port,
                         .deposit = deposit,
                         .talk = { .lines = &self->lines,
                                   .call = port->call != NULL ? port->call(deposit) : NULL },
                         .exchange = s3_in_exchange() };
    bool ok = pickup_look(&self->pickup, &s3_objects, &p, port, deposit, ret_taken, err);

    s3_exchange_done(&p.exchange);
    return ok;
}

/* ---- options ---- */

static const struct option options[] = {
    OPTIONS(grammar_s3),
    OPTION("bucket", OPT_TEXT, "the bucket", .flags = OPT_REQUIRED),
    OPTION("prefix", OPT_TEXT,
           "only objects whose key starts like this; up to its last `/` it is the folder to look "
           "in. `after: { move: PREFIX }` copies them to another folder of the bucket"),
    OPTIONS(grammar_every),
    OPTIONS(grammar_files),
    OPTIONS(grammar_silence),
    OPTIONS(grammar_tls),
    { 0 },
};

static bool s3_in_read_place(struct s3_in *self, const struct settings *s, struct err *err)
{
    if (!settings_text(s, "bucket", &self->bucket, err) ||
        !settings_text(s, "prefix", &self->prefix, err))
        return false;
    if (!s3_bucket_check(&self->service, self->bucket, err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "`bucket`");
    }
    if (self->prefix.len > 0 && !s3_key_check(self->prefix, err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "`prefix`");
    }
    self->folder = self->prefix;
    while (self->folder.len > 0 && self->folder.ptr[self->folder.len - 1] != '/')
        self->folder.len--;
    return true;
}

static bool s3_in_read_moved(struct s3_in *self, const struct settings *s, struct err *err)
{
    struct settings below = settings_below(s, "after");
    struct str move;

    if (self->pickup.after != PICKUP_MOVE)
        return true;
    if (!settings_text(&below, "move", &move, err))
        return false;
    while (move.len > 0 && move.ptr[move.len - 1] == '/')
        move.len--;
    if (move.len == 0 || move.ptr[0] == '/')
        return err_set(err, ERR_CONFIG, 0,
                       "`after.move` is what keys begin with, as `taken/`: neither empty nor with "
                       "a `/` in front");
    if (!s3_key_check(move, err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "`after.move`");
    }
    self->moved = str_of(arena_printf(s->arena, "%.*s/", STR_ARG(move)));
    if (str_eq(self->moved, self->folder))
        return err_set(err, ERR_CONFIG, 0, "the folder of `after: move` is the one to look in");
    return true;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct s3_in *self = ARENA_NEW(s->arena, struct s3_in);

    if (!s3_service_read(s, &self->service, err) || !s3_in_read_place(self, s, err) ||
        !pickup_init(&self->pickup, s, err) || !s3_in_read_moved(self, s, err))
        return false;
    self->service.http.connect_timeout_us = self->service.http.timeout_us < CONNECT_MOST_US
                                                ? self->service.http.timeout_us
                                                : CONNECT_MOST_US;
    self->pickup.title =
        arena_printf(s->arena, "%.*s/%.*s", STR_ARG(self->bucket), STR_ARG(self->prefix));
    s3_lines_init(&self->lines, &self->service.http);
    *ret_self = self;
    return true;
}

static void unmake(void *arg)
{
    struct s3_in *self = arg;

    pickup_done(&self->pickup);
    s3_lines_done(&self->lines);
}

static void s3_in_probe(void *arg, struct call *c, struct probing *p)
{
    const struct s3_in *self = arg;

    (void)s3_probe(&self->service, self->bucket, c, p);
}

const struct gateway_type gateway_s3 = {
    .kind = { .name = "s3", .help = "objects in a bucket", .keys = options },
    .make = make,
    .look = look,
    .unmake = unmake,
    .probe = s3_in_probe,
};
