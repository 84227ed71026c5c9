/* pickup_take.c - one file becomes a document. */
#include <errno.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/fault.h"
#include "core/pickup_run.h"

enum {
    KEY_MOST = PICKUP_PATH + PICKUP_VERSION + SHA256_TEXT,
    READ_PIECE = 64 << 10,
    MOVED_ENDING = 17
};

static const char stays[] = "It stays where it is and is tried again at every look.";

bool pickup_is_over(const struct pickup_run *r)
{
    return r->taken >= DEPOSIT_LOOK_MOST || r->port->stopping(r->deposit);
}

void pickup_complain(const struct pickup_run *r, const char *path, const char *why,
                     const char *hint)
{
    r->port->complain(r->deposit, str_of(path), why, hint);
}

bool pickup_go_on(const struct pickup_run *r, const char *path, const char *hint, struct err *err)
{
    if (err->sys != ENOENT && err->kind != ERR_PERMANENT)
        return false;
    if (err->sys != ENOENT)
        pickup_complain(r, path, err->text, hint);
    *err = (struct err){ 0 };
    return true;
}

bool pickup_is_fit(const struct pickup_run *r, const char *path, const struct pickup_entry *e)
{
    if (e->refused != NULL)
        pickup_complain(r, path, e->refused, e->hint);
    else if (e->size > r->port->size_most(r->deposit))
        pickup_complain(r, path, "it is larger than limits.size of the gateway",
                        "Raise limits.size, or remove it.");
    else
        return e->kind == PICKUP_FILE;
    return false;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool pickup_marker(const struct pickup_run *r, const char *path, char ret[static PICKUP_PATH])
{
    struct str end = r->p->marker;

    return end.len > 0 && strlen(last_name(path)) + end.len <= SAFE_NAME_MOST &&
           snprintf(ret, PICKUP_PATH, "%s%.*s", path, STR_ARG(end)) < PICKUP_PATH;
}

bool pickup_move_on(const struct pickup_run *r, const char *path, struct str source,
                    struct err *err)
{
    const char *name = last_name(path);
    struct str first = str_first(str_of(name), SAFE_NAME_MOST - MOVED_ENDING);
    struct sha256 sha = digest_of(source);
    char text[SHA256_TEXT], other[SAFE_NAME_MOST + 1];

    if (r->src->move(r->arg, path, name, err))
        return true;
    if (err->sys != EEXIST)
        return false;
    *err = (struct err){ 0 }; /* the name is taken: keep both files */
    (void)snprintf(other, sizeof other, "%.*s.%.16s", STR_ARG(first), digest_text(&sha, text));
    return r->src->move(r->arg, path, other, err);
}

static bool pickup_copy(const struct pickup_run *r, void *file, struct deposit *d,
                        struct sha256 *ret_sha, struct err *err)
{
    struct digest digest = digest_start();
    char piece[READ_PIECE];
    size_t n = 0;

    do {
        if (!r->src->read(file, piece, sizeof piece, &n, err)) {
            digest_drop(&digest);
            return false;
        }
        digest_add(&digest, str_mem(piece, n));
        if (n > 0 && !r->port->put(d, str_mem(piece, n), err)) {
            digest_drop(&digest);
            return false;
        }
    } while (n > 0);
    *ret_sha = digest_end(&digest);
    return true;
}

static enum pickup_end pickup_refuse(const struct pickup_run *r, const char *path, struct err *err)
{
    return pickup_go_on(r, path, stays, err) ? PICKUP_GONE : PICKUP_FAILED;
}

/* The file is open; its size and version are those of `e`. */
static enum pickup_end store_open(struct pickup_run *r, const struct pickup_parcel *parcel,
                                  const struct pickup_entry *e, void *file, struct err *err)
{
    AUTO(buf_done) struct buf key = BUF_INIT(KEY_MOST);
    struct str name = str_of(last_name(parcel->shown));
    char text[SHA256_TEXT];
    bool same = false, repeated;
    struct deposit *d;
    struct sha256 sha;
    struct id id;

    if (!r->port->open(r->deposit, name, STR(""), &d, err))
        return pickup_refuse(r, parcel->shown, err);
    if (!pickup_copy(r, file, d, &sha, err) || !r->src->same(file, e->version, &same, err)) {
        r->port->abandon(d);
        return pickup_refuse(r, parcel->shown, err);
    }
    if (!same) {
        r->port->abandon(d);
        return PICKUP_CHANGED;
    }
    fault_point_on(FILE_READ, name);
    buf_put(&key, parcel->source);
    buf_printf(&key, "\n%s", digest_text(&sha, text));
    if (!r->port->commit(d, buf_view(&key), &id, &repeated, err))
        return pickup_refuse(r, parcel->shown, err);
    fault_point(FILE_TAKEN);
    r->taken++;
    return PICKUP_STORED;
}

enum pickup_end pickup_store(struct pickup_run *r, const struct pickup_parcel *parcel,
                             struct pickup_entry *ret, void **ret_file, struct err *err)
{
    enum pickup_end end = PICKUP_UNFIT;
    void *file = NULL;

    *ret = (struct pickup_entry){ 0 };
    if (!r->src->open(r->arg, parcel->path, ret, &file, err))
        return pickup_refuse(r, parcel->shown, err);
    if ((parcel->version == NULL || strcmp(parcel->version, ret->version) == 0) &&
        pickup_is_fit(r, parcel->shown, ret) && file != NULL)
        end = store_open(r, parcel, ret, file, err);
    if (end == PICKUP_STORED)
        *ret_file = file;
    else if (file != NULL)
        r->src->close(file);
    return end;
}
