/* http_in_reply.c - `reply: receiver`: the sender gets the answer of the receiver.
 *
 * The document is stored before, whatever the sender is answered:
 *
 *     the receiver's status and answer      it took the document, or rejected it
 *     200 with the id                       it is delivered, and there is no status: a file
 *     202 with the id                       it ended without an answer that is known
 *     502 with the id and the reason        it is a dead letter
 *     504 with the id                       nothing of this happened within `wait`; it goes on
 */
#include "base/auto.h"
#include "base/json.h"
#include "gateway/http_in.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPLY_BODY_MOST = 4096, REPLY_FIELDS_MOST = 256 };

void http_in_wait(struct post *p, struct reply_wait *waits)
{
    p->waits = waits;
    http_in_form_free(p->form);
    p->form = NULL;
    if (p->signature != NULL) {
        signature_drop(p->signature);
        free(p->signature);
        p->signature = NULL;
    }
}

static void put_reply_fields(struct buf *to, const struct intake_reply *reply, const char *id)
{
    buf_printf(to, "Waybill-Document: %s\r\n", id);
    if (reply->repeated)
        buf_puts(to, "Idempotent-Replay: true\r\n");
    if (reply->kind == REPLY_ANSWERED && reply->came > (int64_t)reply->body.len)
        buf_printf(to, "Waybill-Answer-Cut: %lld\r\n", (long long)reply->came);
    if (reply->kind != REPLY_ANSWERED)
        buf_printf(to, "Location: /documents/%s\r\n", id);
}

/* The id, and of an error also what is wrong. */
static void put_reply_body(struct buf *to, const char *id, const char *code, const char *message)
{
    struct json_out j = { .to = to };

    json_open(&j, '{');
    json_key(&j, "document");
    json_z(&j, id);
    if (code != NULL) {
        json_key(&j, "error");
        json_open(&j, '{');
        json_key(&j, "code");
        json_z(&j, code);
        json_key(&j, "message");
        json_z(&j, message);
        json_close(&j, '}');
    }
    json_close(&j, '}');
    buf_putc(to, '\n');
}

struct said {
    int status;
    const char *code, *message; /* NULL: no error */
};

static struct said http_in_say_reply(const struct intake_reply *reply)
{
    switch (reply->kind) {
    case REPLY_ANSWERED:
        return (struct said){ .status = (int)reply->status };
    case REPLY_DELIVERED:
        return (struct said){ .status = 200 };
    case REPLY_ENDED:
        return (struct said){ .status = 202 };
    case REPLY_DEAD:
        return (struct said){ 502, reply->code, reply->message };
    case REPLY_LATE:
        return (struct said){ 504, "no_answer_yet",
                              "The document is stored and goes on. Its receiver has not answered "
                              "within the time." };
    case REPLY_STOPPING:
        break;
    }
    return (struct said){ 504, "stopping",
                          "The document is stored and goes on. This node stops before the receiver "
                          "has answered." };
}

void http_in_on_replied(void *user, const struct intake_reply *reply)
{
    struct post *p = http_in_post(user);
    struct http_request *r = p->request;
    char id[ID_TEXT];
    AUTO(buf_done) struct buf fields = BUF_INIT(REPLY_FIELDS_MOST);
    AUTO(buf_done) struct buf body = BUF_INIT(REPLY_BODY_MOST);
    struct said said = http_in_say_reply(reply);

    p->waits = NULL;
    http_in_free(p);
    put_reply_fields(&fields, reply, id_text(&reply->id, id));
    if (reply->kind == REPLY_ANSWERED) {
        struct str type = str_has_control(reply->ctype) ? STR("") : reply->ctype;

        http_answer(r, said.status, buf_view(&fields), type, reply->body);
        return;
    }
    put_reply_body(&body, id, said.code, said.message);
    http_answer(r, said.status, buf_view(&fields), STR("application/json"), buf_view(&body));
}
