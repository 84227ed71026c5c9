/* pickup_take.c - files become documents, several with one commit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fault.h"
#include "core/pickup/pickup_run.h"

enum {
    KEY_MOST = PICKUP_PATH + PICKUP_VERSION + SHA256_TEXT,
    READ_PIECE = 64 << 10,
    MOVED_ENDING = 17,
    /* Files wait for each other, up to this many bytes and this long. */
    HELD_BYTES = 2 << 20,
    HELD_US = 200 * CLOCK_MS,
    LARGE = 1 << 20
};

static const char stays[] = "It stays where it is and is tried again at every look.";

bool pickup_is_over(const struct pickup_run *r)
{
    return r->taken + (int64_t)r->held_count >= DEPOSIT_LOOK_MOST || r->port->stopping(r->deposit);
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
    size_t most = r->src->opaque ? SAFE_PATH_MOST : SAFE_NAME_MOST;

    return end.len > 0 && strlen(last_name(path)) + end.len <= most &&
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

/* ---- many files, one commit ---- */

static void hold_parcel(struct pickup_run *r, const struct pickup_parcel *parcel,
                        const struct pickup_entry *e, struct deposit *d, const struct sha256 *sha)
{
    AUTO(buf_done) struct buf key = BUF_INIT(KEY_MOST);
    char digest[SHA256_TEXT];

    buf_put(&key, parcel->source);
    buf_printf(&key, "\n%s", digest_text(sha, digest));
    struct pickup_held *h = &r->held[r->held_count++];

    *h = (struct pickup_held){ .deposit = d,
                               .path = xstrdup(parcel->path),
                               .shown = xstrdup(parcel->shown),
                               .version = xstrdup(e->version),
                               .key = xstrndup(buf_view(&key)),
                               .source_len = parcel->source.len };
    r->held_bytes += e->size;
    if (r->held_count == 1)
        r->held_since_us = clock_mono_us();
}

static struct pickup_parcel parcel_of(const struct pickup_held *h)
{
    return (struct pickup_parcel){ .path = h->path,
                                   .shown = h->shown,
                                   .source = str_mem(h->key, h->source_len),
                                   .version = h->version };
}

static void held_done(struct pickup_held *h)
{
    free(h->path);
    free(h->shown);
    free(h->version);
    free(h->key);
}

/* Commits what is held, and finishes what was stored.  What is not finished, because that has
 * failed, is met by the next poll, which finds its key. */
static bool pickup_settle(struct pickup_run *r, struct err *err)
{
    struct deposit_commit list[DEPOSIT_COMMIT_MOST];
    size_t count = r->held_count;
    bool ok = true;

    for (size_t i = 0; i < count; i++)
        list[i] =
            (struct deposit_commit){ .deposit = r->held[i].deposit, .key = str_of(r->held[i].key) };
    r->held_count = 0;
    r->held_bytes = 0;
    if (count > 0)
        r->port->commit_all(list, count);
    for (size_t i = 0; i < count; i++) {
        struct pickup_parcel parcel = parcel_of(&r->held[i]);

        if (list[i].ok) {
            fault_point(FILE_TAKEN);
            r->taken++;
            ok = ok && r->finish(r, &parcel, err);
        } else if (ok && !pickup_go_on(r, parcel.shown, stays, &list[i].err)) {
            *err = list[i].err;
            ok = false;
        }
        held_done(&r->held[i]);
    }
    return ok;
}

bool pickup_settle_rest(struct pickup_run *r, bool ok, struct err *err)
{
    struct err second = { 0 };

    return pickup_settle(r, ok ? err : &second) && ok;
}

/* ---- one file ---- */

/* The file is open; its size and version are those of `e`. */
static enum pickup_end read_open(struct pickup_run *r, const struct pickup_parcel *parcel,
                                 const struct pickup_entry *e, void *file, struct err *err)
{
    struct str name = str_of(last_name(parcel->shown));
    struct deposit *d;
    struct sha256 sha;
    bool same = false;

    if (!r->port->open(r->deposit, name, e->ctype, &d, err))
        return pickup_refuse(r, parcel->shown, err);
    if (!pickup_copy(r, file, d, &sha, err) || !r->src->same(file, e->version, &same, err)) {
        bool closed = err->kind == ERR_PERMANENT && err->sys == EACCES;
        enum pickup_end end;

        r->port->abandon(d);
        end = pickup_refuse(r, parcel->shown, err);
        return closed && end == PICKUP_GONE ? PICKUP_UNFIT : end;
    }
    if (!same) {
        r->port->abandon(d);
        return PICKUP_CHANGED;
    }
    fault_point_on(FILE_READ, name);
    hold_parcel(r, parcel, e, d, &sha);
    return PICKUP_READ;
}

static bool is_held_long(const struct pickup_run *r)
{
    return r->held_count > 0 && clock_mono_us() - r->held_since_us > HELD_US;
}

enum pickup_end pickup_read(struct pickup_run *r, const struct pickup_parcel *parcel,
                            struct err *err)
{
    struct pickup_entry e = { 0 };
    enum pickup_end end = PICKUP_UNFIT;
    void *file = NULL;

    if (is_held_long(r) && !pickup_settle(r, err))
        return PICKUP_FAILED;
    if (parcel->version != NULL)
        (void)snprintf(e.version, sizeof e.version, "%s", parcel->version);
    if (!r->src->open(r->arg, parcel->path, &e, &file, err))
        return pickup_refuse(r, parcel->shown, err);
    if ((parcel->version == NULL || strcmp(parcel->version, e.version) == 0) &&
        pickup_is_fit(r, parcel->shown, &e) && file != NULL) {
        /* Small ones do not wait until a large one is read. */
        if (e.size > LARGE && !pickup_settle(r, err))
            end = PICKUP_FAILED;
        else
            end = read_open(r, parcel, &e, file, err);
    }
    if (file != NULL)
        r->src->close(file);
    if ((r->held_count == DEPOSIT_COMMIT_MOST || r->held_bytes >= HELD_BYTES) &&
        !pickup_settle_rest(r, end != PICKUP_FAILED, err))
        return PICKUP_FAILED;
    return end;
}
