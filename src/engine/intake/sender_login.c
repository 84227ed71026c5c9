#include "engine/intake/sender_login.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/intake/arrival.h"
#include "engine/intake/login_limit.h"
#include "engine/intake/password.h"

enum { USER_MOST = 1024, ACCOUNT_MOST = 2048 };

/* One attempt; its texts are copies, because the sender may be gone before the hash is computed. */
struct attempt {
    struct intake *intake;
    char *gateway, *address;
    struct buf account; /* GATEWAY/USER */
    void (*verified)(void *arg, bool ok);
    void *arg;
};

static void attempt_free(struct attempt *t)
{
    free(t->gateway);
    free(t->address);
    buf_done(&t->account);
    free(t);
}

static void sender_login_done(void *arg, bool ok)
{
    struct attempt *t = arg;
    void (*verified)(void *, bool) = t->verified;
    void *user = t->arg;

    if (ok)
        login_limit_worked(t->intake->logins, buf_view(&t->account), str_of(t->address),
                           clock_mono_us());
    else
        log_event(LOG_WARN, "sender.refuse", kv_z("gateway", t->gateway),
                  kv_str("user", str_from(buf_view(&t->account), strlen(t->gateway) + 1)),
                  kv_z("address", t->address), kv_z("why", "the user or the password is wrong"));
    attempt_free(t);
    verified(user, ok);
}

static struct attempt *attempt_new(struct intake *in, const struct sender_login *l)
{
    struct attempt *t = NEW(struct attempt);

    *t = (struct attempt){ .intake = in,
                           .gateway = xstrdup(l->gateway->config->name),
                           .account = BUF_INIT(ACCOUNT_MOST),
                           .address = xstrndup(l->address),
                           .verified = l->verified,
                           .arg = l->arg };
    buf_puts(&t->account, t->gateway);
    buf_putc(&t->account, '/');
    buf_put(&t->account, str_first(l->user, USER_MOST));
    return t;
}

static bool sender_login_begin(struct attempt *t, const struct sender_login *l)
{
    return password_verify(&(struct password_check){ .queue = PASSWORD_OF_SENDERS,
                                                     .background = t->intake->options.background,
                                                     .loop = l->loop,
                                                     .user = l->user,
                                                     .password = l->password,
                                                     .hash = l->hash,
                                                     .verified = sender_login_done,
                                                     .arg = t });
}

bool sender_login_verify(struct intake *in, const struct sender_login *l, struct intake_answer *ret)
{
    if (password_is_remembered(l->user, l->password, l->hash)) {
        l->verified(l->arg, true);
        return true;
    }
    struct attempt *t = attempt_new(in, l);
    int64_t wait_us =
        login_limit_try(in->logins, buf_view(&t->account), l->address, clock_mono_us());

    if (wait_us > 0) {
        *ret = (struct intake_answer){ .status = 429,
                                       .code = "too_often",
                                       .message = "Too many wrong passwords from your address.",
                                       .retry_after_s = (int)((wait_us + CLOCK_S - 1) / CLOCK_S) };
    } else if (sender_login_begin(t, l)) {
        return true;
    } else {
        login_limit_undo(in->logins, buf_view(&t->account), l->address);
        *ret = (struct intake_answer){ .status = 503,
                                       .code = "busy",
                                       .message = "Too many logins at once. Try again.",
                                       .retry_after_s = 1 };
    }
    attempt_free(t);
    return false;
}
