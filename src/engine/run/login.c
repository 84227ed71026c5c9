#include "engine/run/login.h"

#include "base/container_of.h"
#include "engine/flight/flight.h"
#include "engine/road/state.h"

static const struct oauth2 *login_rule(const struct leg *p)
{
    const struct endpoint_http *http = p->endpoint->type->http;

    return http->oauth2 != NULL ? http->oauth2(p->endpoint->self) : NULL;
}

static struct token_order login_order(const struct leg *p, const struct oauth2 *o)
{
    return (struct token_order){ .endpoint = p->endpoint->name,
                                 .oauth2 = o,
                                 .options = p->endpoint->type->http->options(p->endpoint->self) };
}

static void login_on_ready(struct token_wait *w, const struct verdict *failed)
{
    struct leg *p = container_of(w, struct leg, login.wait);

    p->login.go_on(p, failed);
}

enum tokens_answer login_take(struct leg *p, login_go_on *go_on)
{
    const struct oauth2 *o = login_rule(p);

    if (o == NULL)
        return TOKEN_HERE;
    struct token_order order = login_order(p, o);
    struct token_lent lent = { 0 };

    p->direct = false; /* it may go on elsewhere */
    p->login.wait.ready = login_on_ready;
    p->login.go_on = go_on;
    enum tokens_answer answer =
        tokens_take(p->flight->road->tokens, &order, &p->own, &p->login.wait, &lent, &p->verdict);

    if (answer == TOKEN_HERE) { /* otherwise another thread may have it by now */
        p->sending.token = lent.text;
        p->login.number = lent.number;
    }
    return answer;
}

bool login_refused(struct leg *p, const struct http_out_answer *answer)
{
    const struct oauth2 *o = login_rule(p);

    if (o == NULL || p->login.renewed || answer->reach != HTTP_OUT_ANSWERED ||
        answer->status != 401 || p->verdict.kind != VERDICT_CREDENTIAL)
        return false;
    struct token_order order = login_order(p, o);

    tokens_refuse(p->flight->road->tokens, &order, p->login.number);
    p->login.renewed = true;
    return true;
}
