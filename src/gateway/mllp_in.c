/* mllp_in.c - HL7 messages over MLLP, on a port of the gateway's own.
 *
 *     adt: { kind: mllp, listen: 127.0.0.1:2575, extract: hl7 }
 *
 * A frame is a document.  The messages of a connection come one by one: the next frame is read when
 * the acknowledgement of the last one is out, and that follows the commit.  What a message is, and
 * how it is acknowledged: core/mllp/hl7_ack.h.
 *
 *     stored, or known already                          AA CA
 *     paused, full, too fast, the store out of reach    AE CE    the same message may come again
 *     no MSH, two messages in a frame, too large        AR CR
 *
 * The key of a message is MSH-3, MSH-4, MSH-10 and the digest of its bytes.  The same message again
 * gets the first acknowledgement; other bytes under a known control id are another document; a
 * message without MSH-10 has no key.
 *
 * A frame is refused by its end only, when its MSH is known: until then its bytes pass by.  Two
 * things end the connection: a frame that grows over limits.size, and silence or bytes between
 * frames, both of which mean that the other side will not come to an end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/config.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/mllp/hl7_ack.h"
#include "core/mllp/hl7_head.h"
#include "core/mllp/mllp.h"
#include "core/problem.h"

enum {
    MAGIC = 0x6d6c6c70,
    LAST_CR_MS = 1000, /* how long the CR behind FS is waited for */
    SLOW_MS = 60000,   /* a frame that takes longer must come at SLOW_BYTES_S */
    SLOW_BYTES_S = 1024,
    ALLOW_MOST = 1024,
    SENDER = 3, /* fields of MSH */
    SENDER_PLACE = 4,
    CONTROL = 10,
};

/* One connection, with the message that is on its way in. */
struct mllp_talk {
    unsigned magic;
    const struct stream_door *door;
    struct stream_conn *conn;
    struct mllp_reader reader;
    struct hl7_head head;
    struct intake_table *table; /* while a message is on its way */
    const struct intake_gateway *gateway;
    struct arrival *arrival; /* NULL: refused */
    struct intake_answer refusal;
    uint64_t size, began_ms;
    bool waits; /* the connection is paused, or ends */
};

static struct mllp_talk *talk_of(void *user)
{
    struct mllp_talk *t = user;

    require(t->magic == MAGIC);
    return t;
}

static void wait_for_us(struct mllp_talk *t)
{
    t->waits = true;
    stream_deadline(t->conn, 0);
    stream_pause(t->conn);
}

static void end_talk(struct mllp_talk *t)
{
    t->waits = true;
    stream_finish(t->conn);
}

/* ---- the acknowledgement ---- */

static enum hl7_verdict verdict_of(const struct intake_answer *a)
{
    if (a->status == 202)
        return HL7_ACCEPT;
    return a->status == 429 || a->status == 503 || a->status == 507 ? HL7_ERROR : HL7_REJECT;
}

/* Time and control id of the acknowledgement come from the document, so that a repeated message
 * gets the first one again, byte for byte. */
static int64_t name_ack(const struct intake_answer *a, char ret[static HL7_CONTROL_MOST + 1])
{
    int64_t ms = 0;

    if (a->status == 202)
        for (size_t i = 0; i < 6; i++) /* the time of an id: base/id.h */
            ms = ms << 8 | a->id.bytes[i];
    else
        ms = clock_wall_us() / CLOCK_MS;
    uint64_t own = a->status == 202 ? (uint64_t)id_row(&a->id) : chance_u64();

    (void)snprintf(ret, HL7_CONTROL_MOST + 1, "%012llX%08llX",
                   (unsigned long long)ms & 0xffffffffffffU, (unsigned long long)own & 0xffffffffU);
    return ms * CLOCK_MS;
}

/* A sender that wants no acknowledgement of a refusal is told by the end of the connection. */
static void acknowledge(struct mllp_talk *t, const struct intake_answer *a)
{
    AUTO(buf_done) struct buf text = BUF_INIT(HL7_ACK_MOST), frame = BUF_INIT(HL7_ACK_MOST + 3);
    char control[HL7_CONTROL_MOST + 1];
    struct edi_segment segment;
    const char *why;
    bool has_msh = hl7_head_msh(&t->head, &segment, &why);
    const struct edi_segment *msh = has_msh ? &segment : NULL;
    struct hl7_ack ack = { .code = hl7_ack_code(msh, verdict_of(a)), .message = a->message };

    if (a->status != 202 && t->gateway != NULL)
        t->door->port->count_refusal(t->gateway, a->status);
    if (ack.code == NULL) {
        if (a->status != 202)
            end_talk(t);
        return;
    }
    ack.at_us = name_ack(a, control);
    ack.control = str_of(control);
    hl7_ack_put(&text, msh, &ack);
    mllp_put(&frame, buf_view(&text));
    stream_send(t->conn, buf_view(&frame));
}

/* ---- a message ---- */

static void let_go(struct mllp_talk *t)
{
    if (t->arrival != NULL)
        t->door->port->abort(t->arrival);
    if (t->table != NULL)
        t->door->port->release(t->table);
    t->arrival = NULL;
    t->table = NULL;
    t->gateway = NULL;
}

/* The message is over: it is acknowledged, and the next one may come. */
static void mllp_close_message(struct mllp_talk *t, const struct intake_answer *a)
{
    acknowledge(t, a);
    let_go(t);
    hl7_head_clear(&t->head);
    stream_deadline(t->conn, 0);
    stream_set_busy(t->conn, false);
}

static void mllp_on_more(void *user)
{
    struct mllp_talk *t = talk_of(user);

    stream_deadline(t->conn, t->door->silence_ms);
    stream_resume(t->conn);
}

static void mllp_on_done(void *user, const struct intake_answer *answer)
{
    struct mllp_talk *t = talk_of(user);

    t->arrival = NULL;
    mllp_close_message(t, answer);
    stream_resume(t->conn);
}

static const struct arrival_calls arrival_calls = { .more = mllp_on_more, .done = mllp_on_done };

static struct intake_answer reject(int status, const char *code, const char *message)
{
    return (struct intake_answer){ .status = status, .code = code, .message = message };
}

static void mllp_begin_message(struct mllp_talk *t)
{
    const struct intake_port *port = t->door->port;

    t->size = 0;
    t->began_ms = stream_now_ms(t->conn);
    stream_set_busy(t->conn, true);
    t->table = port->table(t->door->intake);
    t->gateway = port->find(t->table, t->door->gateway);
    if (t->gateway == NULL || !t->gateway->here) { /* the port is about to be closed */
        t->gateway = NULL;
        t->refusal = reject(503, "closing", "This gateway is closing. Send it later.");
        return;
    }
    struct arrival_head h = { .loop = stream_loop(t->conn),
                              .table = t->table,
                              .gateway = t->gateway,
                              .caller = CALLER_NONE,
                              .content_length = -1,
                              .ctype = STR("application/hl7-v2") };

    t->arrival = port->begin(t->door->intake, &h, &arrival_calls, t, &t->refusal);
}

static void stop_arrival(struct mllp_talk *t, struct intake_answer why)
{
    if (t->arrival != NULL)
        t->door->port->abort(t->arrival);
    t->arrival = NULL;
    t->refusal = why;
}

static bool is_too_slow(const struct mllp_talk *t)
{
    uint64_t ms = stream_now_ms(t->conn) - t->began_ms;

    return ms > SLOW_MS && t->size * 1000 / ms < SLOW_BYTES_S;
}

/* The other side does not come to an end: the connection ends without an acknowledgement, and
 * nothing of the message is kept. */
static void mllp_cut_off(struct mllp_talk *t, enum stream_refusal why)
{
    if (t->gateway != NULL)
        t->door->port->count_refusal(t->gateway, 408);
    let_go(t);
    stream_blame(t->conn, why);
    end_talk(t);
}

static void take_piece(struct mllp_talk *t, struct str bytes)
{
    hl7_head_add(&t->head, bytes);
    t->size += bytes.len;
    if (t->gateway != NULL && t->size > t->gateway->config->size_bytes) {
        stop_arrival(t, reject(413, "too_large", "The message is larger than this gateway takes."));
        mllp_close_message(t, &t->refusal);
        stream_blame(t->conn, STREAM_REFUSED_BROKEN);
        end_talk(t);
    } else if (is_too_slow(t)) {
        mllp_cut_off(t, STREAM_REFUSED_SILENT);
    } else if (t->arrival != NULL && !t->door->port->add(t->arrival, bytes)) {
        wait_for_us(t);
    }
}

/* What a sender gives as the name of its message. */
static void name_message(struct mllp_talk *t, const struct edi_segment *msh)
{
    static const size_t fields[] = { SENDER, SENDER_PLACE, CONTROL };
    AUTO(buf_done) struct buf key = BUF_INIT(HL7_HEAD_MOST + 8);

    if (hl7_field(msh, CONTROL).len == 0)
        return;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        buf_put(&key, hl7_field(msh, fields[i]));
        buf_putc(&key, '\r'); /* stands in no field */
    }
    t->door->port->name(t->arrival, buf_view(&key));
}

static void mllp_end_message(struct mllp_talk *t)
{
    struct edi_segment msh;
    const char *why;

    stream_deadline(t->conn, 0);
    if (t->arrival != NULL && !hl7_head_msh(&t->head, &msh, &why))
        stop_arrival(t, reject(400, "unreadable", why));
    else if (t->arrival != NULL && t->head.messages > 1)
        stop_arrival(t, reject(400, "two_messages", "There are two messages in this frame."));
    if (t->arrival == NULL) {
        mllp_close_message(t, &t->refusal);
        return;
    }
    name_message(t, &msh);
    wait_for_us(t); /* until it is committed */
    t->door->port->end(t->arrival);
}

/* ---- the connection ---- */

static void *mllp_open(struct stream_conn *c, void *arg)
{
    struct mllp_talk *t = NEW(struct mllp_talk);

    *t = (struct mllp_talk){ .magic = MAGIC, .door = arg, .conn = c, .head = HL7_HEAD_INIT };
    return t;
}

static void take_event(struct mllp_talk *t, enum mllp_event e, struct str piece)
{
    switch (e) {
    case MLLP_BEGIN:
        mllp_begin_message(t);
        break;
    case MLLP_BYTES:
        take_piece(t, piece);
        break;
    case MLLP_END:
        mllp_end_message(t);
        break;
    case MLLP_STRAY:
        mllp_cut_off(t, STREAM_REFUSED_BROKEN);
        break;
    case MLLP_MORE:
        break;
    }
}

/* At most one message: after it an acknowledgement may have to be sent. */
static size_t mllp_bytes(void *user, struct str bytes)
{
    struct mllp_talk *t = talk_of(user);
    struct str rest = bytes, piece = STR("");
    enum mllp_event e;

    t->waits = false;
    do {
        e = mllp_next(&t->reader, &rest, &piece);
        take_event(t, e, piece);
    } while (!t->waits && e != MLLP_MORE && e != MLLP_END);
    if (!t->waits && t->reader.phase != MLLP_OUTSIDE)
        stream_deadline(t->conn, mllp_is_closing(&t->reader) ? LAST_CR_MS : t->door->silence_ms);
    return bytes.len - rest.len;
}

/* A sender that leaves the last CR out has said everything. */
static void mllp_expired(void *user)
{
    struct mllp_talk *t = talk_of(user);

    if (!mllp_is_closing(&t->reader)) {
        mllp_cut_off(t, STREAM_REFUSED_SILENT);
        return;
    }
    mllp_end_now(&t->reader);
    mllp_end_message(t);
}

static void mllp_eof(void *user)
{
    struct mllp_talk *t = talk_of(user);

    if (!mllp_is_closing(&t->reader))
        return;
    mllp_end_now(&t->reader);
    mllp_end_message(t);
}

static void mllp_gone(void *user)
{
    struct mllp_talk *t = talk_of(user);

    let_go(t);
    hl7_head_done(&t->head);
    t->magic = 0;
    free(t);
}

static const struct stream_handler talks = {
    .open = mllp_open,
    .bytes = mllp_bytes,
    .expired = mllp_expired,
    .eof = mllp_eof,
    .gone = mllp_gone,
};

/* ---- options ---- */

static const struct option tls_options[] = {
    OPTION("cert", OPT_PATH, "the certificate chain", .flags = OPT_REQUIRED),
    OPTION("key", OPT_SECRET, "its private key", .flags = OPT_REQUIRED),
    OPTION("ca", OPT_PATH, "senders need a certificate from this authority"),
    { 0 },
};

static const struct option options[] = {
    OPTION("listen", OPT_ADDRESS, "where senders connect; `node.ports` must allow the port",
           .flags = OPT_REQUIRED),
    OPTION("tls", OPT_MAP, "answer with TLS", .keys = tls_options),
    OPTION("plaintext", OPT_BOOL, "answer without TLS on other addresses than loopback",
           .fallback = "false"),
    OPTION("allow", OPT_NETWORK, "who may connect; left out: everybody", .flags = OPT_OR_LIST),
    OPTIONS(grammar_silence),
    OPTION("idempotency", OPT_DURATION,
           "how long a message is known when it comes again, 60d at most", .fallback = "24h",
           .most = INT64_C(60) * 86400 * 1000000),
    OPTION("reply", OPT_WORD,
           "what the sender is answered; `receiver` waits for the receiver's own answer",
           .words = OPTION_WORDS("ack", "receiver"), .planned = OPTION_WORDS("receiver"),
           .fallback = "ack"),
    OPTIONS(grammar_wait),
    { 0 },
};

static bool is_clear_text(struct str host, bool tls, bool meant)
{
    return !tls && !meant && !units_is_loopback(host);
}

/* MLLP has no passwords, and HL7 is about patients. */
static void mllp_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *listen = yaml_get(map, "listen");
    struct units_address address;
    struct err err;

    if (units_address(yaml_text(listen), &address, &err) &&
        is_clear_text(str_of(address.host), yaml_get(map, "tls") != NULL,
                      str_is(yaml_text(yaml_get(map, "plaintext")), "true")))
        problem_add(problems, listen->place,
                    "add `tls: { cert: FILE, key: FILE, ca: FILE }`, listen on 127.0.0.1, or write "
                    "`plaintext: true` beside it",
                    "without `tls` anybody on the way to %s reads and changes the messages",
                    address.host);
    grammar_check_wait(map, problems);
}

struct mllp_in {
    struct listening listening;
};

static bool read_file_or_text(const struct settings *tls, const char *key, const char **ret,
                              struct err *err)
{
    struct str text;

    if (!settings_path(tls, key, &text, err))
        return false;
    *ret = text.len > 0 ? arena_text(tls->arena, text) : NULL;
    return true;
}

static bool mllp_read_tls(const struct settings *s, struct listening *l, struct err *err)
{
    struct settings tls = settings_below(s, "tls");

    if (!settings_has(s, "tls"))
        return true;
    if (!read_file_or_text(&tls, "cert", &l->cert, err) ||
        !read_file_or_text(&tls, "key", &l->key, err) ||
        !read_file_or_text(&tls, "ca", &l->ca, err))
        return err_context(err, "`tls`");
    if (l->cert == NULL || l->key == NULL)
        return err_set(err, ERR_CONFIG, 0, "`tls` needs `cert` and `key`");
    return true;
}

static bool read_allow(const struct settings *s, struct listening *l, struct err *err)
{
    const struct str *texts;
    size_t count;

    if (!settings_texts(s, "allow", &texts, &count, err))
        return false;
    if (count > ALLOW_MOST)
        return err_set(err, ERR_CONFIG, 0, "`allow` has more than %d networks", ALLOW_MOST);
    struct network *list = ARENA_ARRAY(s->arena, struct network, count);

    for (size_t i = 0; i < count; i++)
        if (!network_parse(texts[i], &list[i], err))
            return err_context(err, "`allow`");
    l->allow = list;
    l->allow_count = count;
    return true;
}

static bool mllp_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct mllp_in *m = ARENA_NEW(s->arena, struct mllp_in);
    struct listening *l = &m->listening;
    struct str address;
    bool meant = false;

    if (!settings_text(s, "listen", &address, err) || !settings_bool(s, "plaintext", &meant, err) ||
        !settings_duration(s, "timeout", &l->silence_us, err))
        return false;
    if (!units_address(address, &l->address, err))
        return err_context(err, "`listen`");
    if (!mllp_read_tls(s, l, err) || !read_allow(s, l, err))
        return false;
    if (is_clear_text(str_of(l->address.host), l->cert != NULL, meant))
        return err_set(err, ERR_CONFIG, 0, "`listen`: %s needs `tls`, or `plaintext: true`",
                       l->address.host);
    *ret_self = m;
    return true;
}

static void mllp_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

static const struct listening *mllp_listening(void *self)
{
    return &((struct mllp_in *)self)->listening;
}

const struct gateway_type gateway_mllp = {
    .kind = { .name = "mllp",
              .help = "HL7 messages over MLLP",
              .keys = options,
              .check = mllp_check },
    .make = mllp_make,
    .unmake = mllp_unmake,
    .listening = mllp_listening,
    .stream = &talks,
};
