#include "core/sftp/sftp_line.h"

#include "base/clock.h"
#include "core/call.h"

enum { MARGIN_US = 500 * CLOCK_MS /* before the call is given up */ };

static bool sftp_line_is_given_up(const void *call)
{
    return call_is_given_up(call);
}

static bool sftp_line_is_over(const void *call)
{
    return call_is_over(call);
}

static void sftp_line_show_life(void *call)
{
    call_alive(call);
}

struct sftp_client_pace sftp_line_pace(const struct sftp_place *p, struct call *c)
{
    int64_t margin = p->timeout_us / 8;

    margin = margin < MARGIN_US ? margin : MARGIN_US;
    return (struct sftp_client_pace){ .until_us =
                                          c != NULL && c->until_us != 0 ? c->until_us - margin : 0,
                                      .silence_us = p->timeout_us - margin,
                                      .is_over =
                                          p->hurries ? sftp_line_is_over : sftp_line_is_given_up,
                                      .alive = sftp_line_show_life,
                                      .of = c };
}

static const struct sha256 *sftp_line_key(const void *self)
{
    return &((const struct sftp_place *)self)->key;
}

static bool sftp_line_open(void *self, struct call *c, void **ret_line, struct err *err)
{
    const struct sftp_place *p = self;
    struct sftp_client_pace pace = sftp_line_pace(p, c);
    struct sftp_client *s = NULL;

    if (!sftp_client_open(&p->login, c != NULL ? c->egress : NULL, &pace, &s, err))
        return false;
    *ret_line = s;
    return true;
}

static bool sftp_line_is_open(void *line)
{
    return sftp_client_is_open(line);
}

static void sftp_line_close(void *line)
{
    sftp_client_close(line);
}

const struct line_type sftp_line = { .key = sftp_line_key,
                                     .open = sftp_line_open,
                                     .is_open = sftp_line_is_open,
                                     .close = sftp_line_close };
