#include "base/sftp_exchange.h"

#include <errno.h>

#include "base/clock.h"

enum { WORDS_MOST = 80 /* of the server in a message */ };

struct dial_wait sftp_exchange_wait(const struct sftp_client_pace *p)
{
    int64_t until_us = p->until_us != 0 ? p->until_us : clock_mono_us() + p->silence_us;

    return (struct dial_wait){ .until_us = until_us, .is_over = p->is_over, .of = p->of };
}

bool sftp_exchange_flush(struct sftp_client *s, struct err *err)
{
    struct dial_wait wait = sftp_exchange_wait(&s->pace);
    bool ok = !s->lost && ssh_link_write(s->link, buf_view(&s->out), &wait, err);

    buf_clear(&s->out);
    s->lost = !ok;
    return ok || (err->kind == ERR_NONE &&
                  err_set(err, ERR_TRANSIENT, ENOTCONN, "the connection is lost"));
}

bool sftp_exchange_packet(struct sftp_client *s, struct err *err)
{
    struct dial_wait wait = sftp_exchange_wait(&s->pace);
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

bool sftp_exchange_hear(struct sftp_client *s, struct sftp_answer *ret, struct err *err)
{
    if (!sftp_exchange_packet(s, err))
        return false;
    s->lost = !sftp_read_answer(buf_view(&s->in), ret, err);
    return !s->lost;
}

bool sftp_exchange_confused(struct sftp_client *s, struct err *err)
{
    s->lost = true;
    return err_set(err, ERR_TRANSIENT, EPROTO, "the server answers what was not asked");
}

static int exchange_errno_of(uint32_t status)
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

bool sftp_exchange_refused(const struct sftp_answer *a, struct err *err)
{
    char words[WORDS_MOST + 1];
    struct str said = str_first(a->message, WORDS_MOST);

    if (said.len == 0)
        return err_set(err, ERR_TRANSIENT, exchange_errno_of(a->status),
                       "the server refuses it (%u)", (unsigned)a->status);
    for (size_t i = 0; i < said.len; i++)
        words[i] = (unsigned char)said.ptr[i] < ' ' ? '?' : said.ptr[i];
    words[said.len] = '\0';
    return err_set(err, ERR_TRANSIENT, exchange_errno_of(a->status), "the server says: %s", words);
}

bool sftp_exchange(struct sftp_client *s, enum sftp_kind kind, struct sftp_answer *ret,
                   struct err *err)
{
    if (!sftp_exchange_flush(s, err) || !sftp_exchange_hear(s, ret, err))
        return false;
    if (ret->id != s->last_id || (ret->kind != kind && ret->kind != SFTP_A_STATUS) ||
        (ret->kind == SFTP_A_STATUS && ret->status == SFTP_OK && kind != SFTP_A_STATUS))
        return sftp_exchange_confused(s, err);
    return ret->kind != SFTP_A_STATUS || ret->status == SFTP_OK || sftp_exchange_refused(ret, err);
}

bool sftp_exchange_status(struct sftp_client *s, struct err *err)
{
    struct sftp_answer a;

    return sftp_exchange(s, SFTP_A_STATUS, &a, err);
}

uint32_t sftp_exchange_id(struct sftp_client *s)
{
    if (++s->last_id == 0)
        s->last_id = 1;
    return s->last_id;
}
