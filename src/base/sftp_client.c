#include "base/sftp_client.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/sftp_exchange.h"

enum {
    PIECE_MOST = 128 << 10, /* of a server that says what it takes ... */
    PIECE_USUAL = 32 << 10, /* ... and what every server takes */
    PENDING_MOST = 8,       /* writes under way */
    REQUEST_MOST = PIECE_MOST + (16 << 10),
};

/* ---- life ---- */

static size_t client_least(uint64_t limit, size_t most)
{
    return limit > 0 && limit < most ? (size_t)limit : most;
}

/* A server that says its limits takes pieces of that size; one that does not, those of the
 * protocol. */
static bool client_read_limits(struct sftp_client *s, struct err *err)
{
    struct sftp_answer a;
    uint64_t read, write;

    s->read_most = s->write_most = PIECE_USUAL;
    if ((s->extensions & SFTP_LIMITS) == 0)
        return true;
    sftp_put_limits(&s->out, sftp_exchange_id(s));
    if (!sftp_exchange(s, SFTP_EXTENDED_REPLY, &a, err)) {
        if (s->lost)
            return false;
        *err = (struct err){ 0 };
        return true;
    }
    if (!sftp_read_limits(a.data, &read, &write))
        return sftp_exchange_confused(s, err);
    s->read_most = client_least(read, PIECE_MOST);
    s->write_most = client_least(write, PIECE_MOST);
    return true;
}

bool sftp_client_open(const struct ssh_login *login, const struct egress *egress,
                      const struct sftp_client_pace *pace, struct sftp_client **ret,
                      struct err *err)
{
    struct sftp_client *s = NEW(struct sftp_client);
    struct dial_wait wait = sftp_exchange_wait(pace);

    s->pace = *pace;
    s->out = (struct buf)BUF_INIT(REQUEST_MOST);
    s->in = (struct buf)BUF_INIT(SFTP_ANSWER_MOST);
    sftp_put_init(&s->out);
    if (ssh_link_open(login, "sftp", egress, &wait, &s->link, err) && sftp_exchange_flush(s, err) &&
        sftp_exchange_packet(s, err) && sftp_read_version(buf_view(&s->in), &s->extensions, err) &&
        client_read_limits(s, err)) {
        *ret = s;
        return true;
    }
    sftp_client_close(s);
    return false;
}

void sftp_client_close(struct sftp_client *s)
{
    if (s == NULL)
        return;
    ssh_link_close(s->link);
    buf_done(&s->out);
    buf_done(&s->in);
    free(s);
}

const char *sftp_client_print(const struct sftp_client *s)
{
    return ssh_link_print(s->link);
}

bool sftp_client_is_open(struct sftp_client *s)
{
    return !s->lost && ssh_link_is_open(s->link);
}

void sftp_client_set_pace(struct sftp_client *s, const struct sftp_client_pace *pace)
{
    s->pace = *pace;
}

bool sftp_client_is_lost(const struct sftp_client *s)
{
    return s->lost;
}

bool sftp_client_has(const struct sftp_client *s, enum sftp_extension what)
{
    return (s->extensions & what) != 0;
}

/* ---- names ---- */

bool sftp_client_look(struct sftp_client *s, struct str path, enum sftp_found *ret,
                      uint64_t *ret_size, struct err *err)
{
    struct sftp_answer a;

    sftp_put_lstat(&s->out, sftp_exchange_id(s), path);
    if (!sftp_exchange(s, SFTP_ATTRS, &a, err)) {
        if (s->lost || err->sys != ENOENT)
            return false;
        *err = (struct err){ 0 };
        *ret = SFTP_MISSING;
        *ret_size = 0;
        return true;
    }
    *ret =
        a.attrs.has_size && (!a.attrs.has_mode || S_ISREG(a.attrs.mode)) ? SFTP_A_FILE : SFTP_OTHER;
    *ret_size = a.attrs.size;
    return true;
}

bool sftp_client_remove(struct sftp_client *s, struct str path, struct err *err)
{
    sftp_put_remove(&s->out, sftp_exchange_id(s), path);
    return sftp_exchange_status(s, err);
}

bool sftp_client_mkdir(struct sftp_client *s, struct str path, struct err *err)
{
    sftp_put_mkdir(&s->out, sftp_exchange_id(s), path);
    return sftp_exchange_status(s, err);
}

bool sftp_client_rmdir(struct sftp_client *s, struct str path, struct err *err)
{
    sftp_put_rmdir(&s->out, sftp_exchange_id(s), path);
    return sftp_exchange_status(s, err);
}

bool sftp_client_rename(struct sftp_client *s, struct str from, struct str to, struct err *err)
{
    sftp_put_rename(&s->out, sftp_exchange_id(s), from, to);
    return sftp_exchange_status(s, err);
}

bool sftp_client_rename_over(struct sftp_client *s, struct str from, struct str to, struct err *err)
{
    sftp_put_posix_rename(&s->out, sftp_exchange_id(s), from, to);
    return sftp_exchange_status(s, err);
}

/* ---- files ---- */

static struct str client_handle_of(const struct sftp_client_file *f)
{
    return str_mem(f->handle, f->handle_len);
}

static bool client_file_begin(struct sftp_client *s, struct str path, uint32_t flags,
                              struct sftp_client_file *f, struct err *err)
{
    struct sftp_answer a;

    *f = (struct sftp_client_file){ 0 };
    sftp_put_open(&s->out, sftp_exchange_id(s), path, flags);
    if (!sftp_exchange(s, SFTP_A_HANDLE, &a, err))
        return false;
    memcpy(f->handle, a.data.ptr, a.data.len);
    f->handle_len = a.data.len;
    f->first = f->end = s->last_id + 1;
    return true;
}

bool sftp_client_create(struct sftp_client *s, struct str path, struct sftp_client_file *ret,
                        struct err *err)
{
    return client_file_begin(s, path, SFTP_WRITE | SFTP_CREATE, ret, err);
}

bool sftp_client_read_begin(struct sftp_client *s, struct str path, struct sftp_client_file *ret,
                            struct err *err)
{
    return client_file_begin(s, path, SFTP_READ, ret, err);
}

bool sftp_client_read(struct sftp_client *s, struct sftp_client_file *f, struct str *ret,
                      struct err *err)
{
    struct sftp_answer a;

    sftp_put_read(&s->out, sftp_exchange_id(s), client_handle_of(f), f->offset,
                  (uint32_t)s->read_most);
    if (!sftp_exchange(s, SFTP_A_DATA, &a, err)) {
        if (s->lost || a.status != SFTP_EOF)
            return false;
        *err = (struct err){ 0 };
        *ret = STR("");
        return true;
    }
    if (a.data.len == 0 || a.data.len > s->read_most)
        return sftp_exchange_confused(s, err);
    f->offset += a.data.len;
    *ret = a.data;
    return true;
}

/* The answer to one of the requests under way.  A refusal is kept: the others are still to come. */
static bool file_hear(struct sftp_client *s, struct sftp_client_file *f, struct err *err)
{
    struct sftp_answer a;

    if (!sftp_exchange_hear(s, &a, err))
        return false;
    if (a.kind != SFTP_A_STATUS || a.id - f->first >= f->end - f->first)
        return sftp_exchange_confused(s, err);
    f->pending--;
    bool unable = a.id == f->sync && a.status == SFTP_UNSUPPORTED;

    if (a.status != SFTP_OK && !unable && f->refused.kind == ERR_NONE)
        (void)sftp_exchange_refused(&a, &f->refused);
    return true;
}

/* What stands in `out` is one more request of the file. */
static bool file_ask(struct sftp_client *s, struct sftp_client_file *f, struct err *err)
{
    f->end = s->last_id + 1;
    f->pending++;
    return sftp_exchange_flush(s, err);
}

static bool file_settle(struct sftp_client *s, struct sftp_client_file *f, unsigned most,
                        struct err *err)
{
    while (f->pending > most)
        if (!file_hear(s, f, err))
            return false;
    if (f->refused.kind == ERR_NONE)
        return true;
    *err = f->refused;
    return false;
}

bool sftp_client_write(struct sftp_client *s, struct sftp_client_file *f, struct str bytes,
                       struct err *err)
{
    while (bytes.len > 0) {
        struct str piece = { bytes.ptr, bytes.len < s->write_most ? bytes.len : s->write_most };

        if (!file_settle(s, f, PENDING_MOST - 1, err))
            return false;
        sftp_put_write(&s->out, sftp_exchange_id(s), client_handle_of(f), f->offset, piece);
        if (!file_ask(s, f, err))
            return false;
        f->offset += piece.len;
        bytes = str_from(bytes, piece.len);
    }
    return true;
}

bool sftp_client_finish(struct sftp_client *s, struct sftp_client_file *f, bool cut,
                        struct err *err)
{
    if (cut) {
        sftp_put_cut(&s->out, sftp_exchange_id(s), client_handle_of(f), f->offset);
        if (!file_ask(s, f, err))
            return false;
    }
    if (sftp_client_has(s, SFTP_FSYNC)) {
        f->sync = sftp_exchange_id(s);
        sftp_put_fsync(&s->out, f->sync, client_handle_of(f));
        if (!file_ask(s, f, err))
            return false;
    }
    sftp_put_close(&s->out, sftp_exchange_id(s), client_handle_of(f));
    f->handle_len = 0;
    return file_ask(s, f, err) && file_settle(s, f, 0, err);
}

void sftp_client_leave(struct sftp_client *s, struct sftp_client_file *f)
{
    struct err err = { 0 };

    if (f->handle_len > 0) {
        sftp_put_close(&s->out, sftp_exchange_id(s), client_handle_of(f));
        f->handle_len = 0;
        (void)file_ask(s, f, &err);
    }
    while (f->pending > 0 && !s->lost)
        (void)file_hear(s, f, &err);
}
