#include "base/sftp_client.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    PIECE_MOST = 128 << 10, /* of a server that says what it takes ... */
    PIECE_USUAL = 32 << 10, /* ... and what every server takes */
    PENDING_MOST = 8,       /* writes under way */
    REQUEST_MOST = PIECE_MOST + (16 << 10),
    WORDS_MOST = 80, /* of the server in a message */
};

struct sftp_client {
    struct ssh_link *link;
    struct sftp_client_pace pace;
    struct buf out, in;
    uint32_t last_id;
    unsigned extensions;
    size_t read_most, write_most;
    bool lost;
};

/* ---- one request, one answer ---- */

static struct dial_wait client_wait_of(const struct sftp_client_pace *p)
{
    int64_t until_us = p->until_us != 0 ? p->until_us : clock_mono_us() + p->silence_us;

    return (struct dial_wait){ .until_us = until_us, .is_over = p->is_over, .of = p->of };
}

static bool client_flush(struct sftp_client *s, struct err *err)
{
    struct dial_wait wait = client_wait_of(&s->pace);
    bool ok = !s->lost && ssh_link_write(s->link, buf_view(&s->out), &wait, err);

    buf_clear(&s->out);
    s->lost = !ok;
    return ok || (err->kind == ERR_NONE &&
                  err_set(err, ERR_TRANSIENT, ENOTCONN, "the connection is lost"));
}

static bool client_read_packet(struct sftp_client *s, struct err *err)
{
    struct dial_wait wait = client_wait_of(&s->pace);
    uint8_t head[SFTP_LENGTH];
    size_t len;

    buf_clear(&s->in);
    if (s->lost)
        return err_set(err, ERR_TRANSIENT, ENOTCONN, "the connection is lost");
    s->lost = !ssh_link_read(s->link, head, sizeof head, &wait, err) ||
              !sftp_read_length(head, &len, err) || !buf_reserve(&s->in, len, err) ||
              !ssh_link_read(s->link, s->in.ptr, len, &wait, err);
    if (s->lost)
        return false;
    buf_added(&s->in, len);
    if (s->pace.alive != NULL)
        s->pace.alive(s->pace.of);
    return true;
}

static bool client_read_answer(struct sftp_client *s, struct sftp_answer *ret, struct err *err)
{
    if (!client_read_packet(s, err))
        return false;
    s->lost = !sftp_read_answer(buf_view(&s->in), ret, err);
    return !s->lost;
}

static bool client_say_confused(struct sftp_client *s, struct err *err)
{
    s->lost = true;
    return err_set(err, ERR_TRANSIENT, EPROTO, "the server answers what was not asked");
}

static int client_errno_of(uint32_t status)
{
    switch (status) {
    case SFTP_NO_SUCH_FILE:
        return ENOENT;
    case SFTP_PERMISSION_DENIED:
        return EACCES;
    case SFTP_UNSUPPORTED:
        return ENOTSUP;
    default:
        return EREMOTEIO;
    }
}

/* The words of a server for people: one line. */
static bool client_say_status(const struct sftp_answer *a, struct err *err)
{
    char words[WORDS_MOST + 1];
    struct str said = str_first(a->message, WORDS_MOST);

    if (said.len == 0)
        return err_set(err, ERR_TRANSIENT, client_errno_of(a->status), "the server refuses it (%u)",
                       (unsigned)a->status);
    for (size_t i = 0; i < said.len; i++)
        words[i] = (unsigned char)said.ptr[i] < ' ' ? '?' : said.ptr[i];
    words[said.len] = '\0';
    return err_set(err, ERR_TRANSIENT, client_errno_of(a->status), "the server says: %s", words);
}

/* Sends what stands in `out` under the last id, and reads its answer: of this kind, or a status
 * that is not OK, which is the error. */
static bool client_exchange(struct sftp_client *s, enum sftp_kind kind, struct sftp_answer *ret,
                            struct err *err)
{
    if (!client_flush(s, err) || !client_read_answer(s, ret, err))
        return false;
    if (ret->id != s->last_id || (ret->kind != kind && ret->kind != SFTP_A_STATUS) ||
        (ret->kind == SFTP_A_STATUS && ret->status == SFTP_OK && kind != SFTP_A_STATUS))
        return client_say_confused(s, err);
    return ret->kind != SFTP_A_STATUS || ret->status == SFTP_OK || client_say_status(ret, err);
}

static bool client_exchange_status(struct sftp_client *s, struct err *err)
{
    struct sftp_answer a;

    return client_exchange(s, SFTP_A_STATUS, &a, err);
}

/* 0 is no id. */
static uint32_t client_next_id(struct sftp_client *s)
{
    if (++s->last_id == 0)
        s->last_id = 1;
    return s->last_id;
}

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
    sftp_put_limits(&s->out, client_next_id(s));
    if (!client_exchange(s, SFTP_EXTENDED_REPLY, &a, err)) {
        if (s->lost)
            return false;
        *err = (struct err){ 0 };
        return true;
    }
    if (!sftp_read_limits(a.data, &read, &write))
        return client_say_confused(s, err);
    s->read_most = client_least(read, PIECE_MOST);
    s->write_most = client_least(write, PIECE_MOST);
    return true;
}

bool sftp_client_open(const struct ssh_login *login, const struct egress *egress,
                      const struct sftp_client_pace *pace, struct sftp_client **ret,
                      struct err *err)
{
    struct sftp_client *s = NEW(struct sftp_client);
    struct dial_wait wait = client_wait_of(pace);

    s->pace = *pace;
    s->out = (struct buf)BUF_INIT(REQUEST_MOST);
    s->in = (struct buf)BUF_INIT(SFTP_ANSWER_MOST);
    sftp_put_init(&s->out);
    if (ssh_link_open(login, "sftp", egress, &wait, &s->link, err) && client_flush(s, err) &&
        client_read_packet(s, err) && sftp_read_version(buf_view(&s->in), &s->extensions, err) &&
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

    sftp_put_lstat(&s->out, client_next_id(s), path);
    if (!client_exchange(s, SFTP_ATTRS, &a, err)) {
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
    sftp_put_remove(&s->out, client_next_id(s), path);
    return client_exchange_status(s, err);
}

bool sftp_client_mkdir(struct sftp_client *s, struct str path, struct err *err)
{
    sftp_put_mkdir(&s->out, client_next_id(s), path);
    return client_exchange_status(s, err);
}

bool sftp_client_rename(struct sftp_client *s, struct str from, struct str to, struct err *err)
{
    sftp_put_rename(&s->out, client_next_id(s), from, to);
    return client_exchange_status(s, err);
}

bool sftp_client_rename_over(struct sftp_client *s, struct str from, struct str to, struct err *err)
{
    sftp_put_posix_rename(&s->out, client_next_id(s), from, to);
    return client_exchange_status(s, err);
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
    sftp_put_open(&s->out, client_next_id(s), path, flags);
    if (!client_exchange(s, SFTP_A_HANDLE, &a, err))
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

    sftp_put_read(&s->out, client_next_id(s), client_handle_of(f), f->offset,
                  (uint32_t)s->read_most);
    if (!client_exchange(s, SFTP_A_DATA, &a, err)) {
        if (s->lost || a.status != SFTP_EOF)
            return false;
        *err = (struct err){ 0 };
        *ret = STR("");
        return true;
    }
    if (a.data.len == 0 || a.data.len > s->read_most)
        return client_say_confused(s, err);
    f->offset += a.data.len;
    *ret = a.data;
    return true;
}

/* The answer to one of the requests under way.  A refusal is kept: the others are still to come. */
static bool file_hear(struct sftp_client *s, struct sftp_client_file *f, struct err *err)
{
    struct sftp_answer a;

    if (!client_read_answer(s, &a, err))
        return false;
    if (a.kind != SFTP_A_STATUS || a.id - f->first >= f->end - f->first)
        return client_say_confused(s, err);
    f->pending--;
    bool unable = a.id == f->sync && a.status == SFTP_UNSUPPORTED;

    if (a.status != SFTP_OK && !unable && f->refused.kind == ERR_NONE)
        (void)client_say_status(&a, &f->refused);
    return true;
}

/* What stands in `out` is one more request of the file. */
static bool file_ask(struct sftp_client *s, struct sftp_client_file *f, struct err *err)
{
    f->end = s->last_id + 1;
    f->pending++;
    return client_flush(s, err);
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
        sftp_put_write(&s->out, client_next_id(s), client_handle_of(f), f->offset, piece);
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
        sftp_put_cut(&s->out, client_next_id(s), client_handle_of(f), f->offset);
        if (!file_ask(s, f, err))
            return false;
    }
    if (sftp_client_has(s, SFTP_FSYNC)) {
        f->sync = client_next_id(s);
        sftp_put_fsync(&s->out, f->sync, client_handle_of(f));
        if (!file_ask(s, f, err))
            return false;
    }
    sftp_put_close(&s->out, client_next_id(s), client_handle_of(f));
    f->handle_len = 0;
    return file_ask(s, f, err) && file_settle(s, f, 0, err);
}

void sftp_client_leave(struct sftp_client *s, struct sftp_client_file *f)
{
    struct err err = { 0 };

    if (f->handle_len > 0) {
        sftp_put_close(&s->out, client_next_id(s), client_handle_of(f));
        f->handle_len = 0;
        (void)file_ask(s, f, &err);
    }
    while (f->pending > 0 && !s->lost)
        (void)file_hear(s, f, &err);
}
