/* A server that answers each line with the same line, and clients of plain sockets and of TLS.
 *
 *     "hold"    is answered when the test says so: the connection is paused
 *     "part"    and other bytes without a line end: the connection is busy
 *     "bye"     is answered, and the server closes
 */
#include "base/stream_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "test.h"

enum { SECONDS = 60 };

static atomic_int opened, gone, held, expired, freed;

struct line {
    struct stream_conn *conn;
    struct loop_msg msg;
    struct buf text;
};

static _Atomic(struct line *) holding;

static void *line_open(struct stream_conn *c, void *arg)
{
    struct line *l = NEW(struct line);

    (void)arg;
    *l = (struct line){ .conn = c, .text = BUF_INIT(1 << 20) };
    atomic_fetch_add(&opened, 1);
    return l;
}

static void answer_line(struct line *l)
{
    bool bye = str_is(buf_view(&l->text), "bye\n");

    stream_deadline(l->conn, 0);
    stream_set_busy(l->conn, false);
    stream_send(l->conn, buf_view(&l->text));
    buf_clear(&l->text);
    if (bye)
        stream_finish(l->conn);
}

static void on_release(struct loop_msg *m)
{
    struct line *l = container_of(m, struct line, msg);

    answer_line(l);
    stream_resume(l->conn);
}

/* From the test: the line that is held is answered. */
static void release(void)
{
    struct line *l = atomic_exchange(&holding, NULL);

    l->msg.fn = on_release;
    loop_post(stream_loop(l->conn), &l->msg);
}

static size_t line_bytes(void *user, struct str bytes)
{
    struct line *l = user;
    ptrdiff_t end = str_find(bytes, '\n');
    size_t taken = end >= 0 ? (size_t)end + 1 : bytes.len;

    buf_put(&l->text, str_mem(bytes.ptr, taken));
    stream_set_busy(l->conn, true);
    if (end < 0) {
        stream_deadline(l->conn, 200);
    } else if (str_is(buf_view(&l->text), "hold\n")) {
        stream_deadline(l->conn, 0);
        stream_pause(l->conn);
        atomic_store(&holding, l);
        atomic_fetch_add(&held, 1);
    } else {
        answer_line(l);
    }
    return taken;
}

static void line_expired(void *user)
{
    struct line *l = user;

    atomic_fetch_add(&expired, 1);
    stream_blame(l->conn, STREAM_REFUSED_SILENT);
    stream_finish(l->conn);
}

static void line_eof(void *user)
{
    struct line *l = user;

    if (l->text.len > 0)
        answer_line(l);
}

static void line_gone(void *user)
{
    struct line *l = user;

    buf_done(&l->text);
    free(l);
    atomic_fetch_add(&gone, 1);
}

static const struct stream_handler lines = { .open = line_open,
                                             .bytes = line_bytes,
                                             .expired = line_expired,
                                             .eof = line_eof,
                                             .gone = line_gone };

/* ---- the server ---- */

struct fx {
    struct loop *loops[2];
    struct stream_server *server;
    int port;
};

static void free_arg(void *arg)
{
    (void)arg;
    atomic_fetch_add(&freed, 1);
}

static struct stream_policy *policy(struct tls_context *tls, const char *allow)
{
    struct stream_policy *p = NEW(struct stream_policy);
    struct err err;

    *p = (struct stream_policy){ .tls = tls, .free_arg = free_arg };
    atomic_init(&p->refs, 1);
    if (allow != NULL) {
        p->allow = xcalloc(1, sizeof *p->allow);
        p->allow_count = network_parse(str_of(allow), p->allow, &err);
    }
    return p;
}

static bool fx_open(struct fx *f, struct stream_policy *p, uint32_t connections)
{
    struct stream_server_options o = { .host = "127.0.0.1",
                                       .handler = &lines,
                                       .loops = f->loops,
                                       .loop_count = 2,
                                       .limits = STREAM_LIMITS_DEFAULT };
    struct err err = { 0 };

    o.limits.tick_ms = 10;
    o.limits.handshake_ms = 500;
    o.limits.connections = connections;
    if (!loop_start("one", &f->loops[0], &err) || !loop_start("two", &f->loops[1], &err) ||
        !stream_server_open(&o, p, &f->server, &err))
        return false;
    f->port = stream_server_port(f->server);
    return f->port > 0;
}

static void fx_done(struct fx *f)
{
    if (f->server != NULL) {
        stream_server_close(f->server, 0);
        stream_server_free(f->server);
    }
    for (size_t i = 0; i < 2; i++)
        loop_stop(f->loops[i]);
}

static bool await(atomic_int *what, int value)
{
    for (int i = 0; i < SECONDS * 1000 && atomic_load(what) < value; i++)
        clock_sleep_us(1000);
    return atomic_load(what) >= value;
}

static uint64_t refused(struct fx *f, enum stream_refusal why)
{
    struct stream_stats stats;

    stream_server_stats(f->server, &stats);
    return stats.refused[why];
}

static bool await_refused(struct fx *f, enum stream_refusal why, uint64_t count)
{
    for (int i = 0; i < SECONDS * 1000 && refused(f, why) < count; i++)
        clock_sleep_us(1000);
    return refused(f, why) == count;
}

/* ---- clients ---- */

static int dial(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval t = { .tv_sec = SECONDS };
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool say(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

/* Exactly this comes; "": the other side closes. */
static bool hears(int fd, const char *text)
{
    char got[256];
    size_t len = strlen(text), at = 0;

    while (at < (len > 0 ? len : 1)) {
        ssize_t n = recv(fd, got + at, len > 0 ? len - at : sizeof got, 0);

        if (n <= 0)
            return len == 0 && (n == 0 || errno == ECONNRESET);
        at += (size_t)n;
    }
    return len > 0 && memcmp(got, text, len) == 0;
}

/* The port is closed, or will be in a moment. */
static bool is_refused(int port)
{
    for (int i = 0; i < SECONDS * 1000; i++) {
        AUTO_FD fd = dial(port);

        if (fd < 0)
            return true;
        clock_sleep_us(1000);
    }
    return false;
}

/* ---- tests ---- */

TEST(lines_are_answered_on_both_loops)
{
    AUTO(fx_done) struct fx f = { 0 };
    int fds[4];

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    for (size_t i = 0; i < 4; i++) {
        fds[i] = dial(f.port);
        CHECK(say(fds[i], "hello\nagain\n") && hears(fds[i], "hello\nagain\n"));
    }
    struct stream_stats stats;

    stream_server_stats(f.server, &stats);
    CHECK(stats.open == 4 && stats.accepted == 4 && stats.refused_all == 0);
    int before = atomic_load(&gone);

    for (size_t i = 0; i < 4; i++)
        (void)close(fds[i]);
    CHECK(await(&gone, before + 4));
}

/* What comes behind a line that waits is given when it has been answered. */
TEST(a_paused_connection_keeps_what_came)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD fd = dial(f.port);
    int before = atomic_load(&held);

    CHECK(say(fd, "hold\nnext\nmore\n") && await(&held, before + 1));
    CHECK(say(fd, "late\n"));
    release();
    CHECK(hears(fd, "hold\nnext\nmore\nlate\n"));
}

TEST(a_client_that_closed_its_side_is_answered)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD fd = dial(f.port);
    int before = atomic_load(&held);

    CHECK(say(fd, "hold\nwhole\npart") && shutdown(fd, SHUT_WR) == 0 && await(&held, before + 1));
    release();
    CHECK(hears(fd, "hold\nwhole\npart") && hears(fd, ""));
}

TEST(the_handler_ends_a_connection_and_its_answer_arrives)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD fd = dial(f.port);

    CHECK(say(fd, "bye\nignored\n") && hears(fd, "bye\n") && hears(fd, ""));
}

TEST(silence_within_a_message_is_noticed)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD idle = dial(f.port);
    AUTO_FD fd = dial(f.port);

    CHECK(say(idle, "a\n") && hears(idle, "a\n"));
    CHECK(say(fd, "part") && hears(fd, ""));
    CHECK(await_refused(&f, STREAM_REFUSED_SILENT, 1));
    CHECK(say(idle, "b\n") && hears(idle, "b\n"));
}

TEST(only_allowed_addresses_get_in)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_open(&f, policy(NULL, "10.0.0.0/8"), 100));
    AUTO_FD fd = dial(f.port);

    CHECK(hears(fd, "") && await_refused(&f, STREAM_REFUSED_NETWORK, 1));
}

/* On each loop the longest idle one goes; one that is busy stays. */
TEST(there_is_a_limit_of_connections)
{
    AUTO(fx_done) struct fx f = { 0 };
    int before = atomic_load(&held);

    CHECK(fx_open(&f, policy(NULL, NULL), 2));
    AUTO_FD first = dial(f.port);

    CHECK(say(first, "hold\n") && await(&held, before + 1)); /* loop one */
    AUTO_FD second = dial(f.port);

    CHECK(say(second, "a\n") && hears(second, "a\n")); /* loop two */
    AUTO_FD third = dial(f.port);

    CHECK(hears(third, "")); /* loop one: the only one there is busy */
    CHECK(await_refused(&f, STREAM_REFUSED_OVERLOAD, 1));
    AUTO_FD fourth = dial(f.port);

    CHECK(say(fourth, "b\n") && hears(fourth, "b\n") && hears(second, "")); /* loop two */
    release();
    CHECK(hears(first, "hold\n"));
}

/* Connections of the old policy end when they are idle; its memory goes with the last of them. */
TEST(a_new_policy_is_for_new_connections)
{
    AUTO(fx_done) struct fx f = { 0 };
    int before = atomic_load(&held), frees = atomic_load(&freed);

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD idle = dial(f.port);
    AUTO_FD busy = dial(f.port);

    CHECK(say(idle, "a\n") && hears(idle, "a\n"));
    CHECK(say(busy, "hold\n") && await(&held, before + 1));
    stream_server_use(f.server, policy(NULL, NULL));
    CHECK(hears(idle, ""));
    CHECK(atomic_load(&freed) == frees);
    AUTO_FD fresh = dial(f.port);

    CHECK(say(fresh, "b\n") && hears(fresh, "b\n"));
    release();
    CHECK(hears(busy, "hold\n") && hears(busy, "") && await(&freed, frees + 1));
    CHECK(say(fresh, "c\n") && hears(fresh, "c\n"));
}

TEST(the_end_waits_for_who_is_busy)
{
    AUTO(fx_done) struct fx f = { 0 };
    int before = atomic_load(&held);

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD idle = dial(f.port);
    AUTO_FD busy = dial(f.port);

    CHECK(say(idle, "a\n") && hears(idle, "a\n"));
    CHECK(say(busy, "hold\n") && await(&held, before + 1));
    stream_server_close(f.server, SECONDS * 1000);
    CHECK(hears(idle, "") && !stream_server_is_closed(f.server));
    CHECK(is_refused(f.port));
    release();
    CHECK(hears(busy, "hold\n") && hears(busy, ""));
    stream_server_free(f.server);
    f.server = NULL;
}

TEST(the_end_cuts_off_who_is_busy_for_too_long)
{
    AUTO(fx_done) struct fx f = { 0 };
    int before = atomic_load(&held);

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    AUTO_FD busy = dial(f.port);

    CHECK(say(busy, "hold\n") && await(&held, before + 1));
    stream_server_close(f.server, 20);
    CHECK(hears(busy, ""));
    stream_server_free(f.server);
    f.server = NULL;
    atomic_store(&holding, NULL);
}

TEST(a_taken_port_is_an_error)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct stream_server *second;
    struct err err = { 0 };

    CHECK(fx_open(&f, policy(NULL, NULL), 100));
    struct stream_server_options o = { .host = "127.0.0.1",
                                       .port = (uint16_t)f.port,
                                       .handler = &lines,
                                       .loops = f.loops,
                                       .loop_count = 2,
                                       .limits = STREAM_LIMITS_DEFAULT };
    int frees = atomic_load(&freed);

    CHECK(!stream_server_try("127.0.0.1", (uint16_t)f.port, &err) && err.sys == EADDRINUSE);
    err = (struct err){ 0 };
    CHECK(!stream_server_open(&o, policy(NULL, NULL), &second, &err));
    CHECK(err.kind == ERR_CONFIG && err.sys == EADDRINUSE && atomic_load(&freed) == frees + 1);
    err = (struct err){ 0 };
    CHECK(!stream_server_try("192.0.2.1", 0, &err) || err.kind == ERR_NONE);
    CHECK(stream_server_try("127.0.0.1", 0, &err));
}

/* ---- TLS ---- */

static char server_cert[4096], server_key[4096], client_cert[4096], client_key[4096];

static bool to_text(BIO *bio, char text[static 4096])
{
    char *p;
    long n = BIO_get_mem_data(bio, &p);

    if (n <= 0 || n >= 4096)
        return false;
    memcpy(text, p, (size_t)n);
    text[n] = '\0';
    return BIO_free(bio) == 1;
}

/* A self-signed certificate, which is its own authority. */
static bool make_certificate(const char *name, char cert[static 4096], char key[static 4096])
{
    EVP_PKEY *k = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
    bool ok = k != NULL && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(x), -60) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(x), 3600) != NULL && X509_set_pubkey(x, k) == 1 &&
              X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
                                         -1, -1, 0) == 1 &&
              X509_set_issuer_name(x, subject) == 1 && X509_sign(x, k, EVP_sha256()) > 0 &&
              PEM_write_bio_X509(cert_bio, x) == 1 &&
              PEM_write_bio_PrivateKey(key_bio, k, NULL, NULL, 0, NULL, NULL) == 1;

    X509_free(x);
    EVP_PKEY_free(k);
    return ok && to_text(cert_bio, cert) && to_text(key_bio, key);
}

/* Says a line over TLS, with the client's certificate or without; true: it was answered. */
static bool is_let_in(int port, bool certified, int version)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    AUTO_FD fd = dial(port);
    char got[16];
    size_t n = 0;

    (void)SSL_CTX_set_min_proto_version(ctx, version);
    (void)SSL_CTX_set_max_proto_version(ctx, version);
    if (certified) {
        BIO *c = BIO_new_mem_buf(client_cert, -1), *k = BIO_new_mem_buf(client_key, -1);
        X509 *x = PEM_read_bio_X509(c, NULL, NULL, NULL);
        EVP_PKEY *key = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL);

        (void)SSL_CTX_use_certificate(ctx, x);
        (void)SSL_CTX_use_PrivateKey(ctx, key);
        X509_free(x);
        EVP_PKEY_free(key);
        BIO_free(c);
        BIO_free(k);
    }
    SSL *ssl = SSL_new(ctx);

    (void)SSL_set_fd(ssl, fd);
    bool ok = SSL_connect(ssl) == 1 && SSL_write_ex(ssl, "bye\n", 4, &n) == 1 &&
              SSL_read_ex(ssl, got, sizeof got, &n) == 1 && n == 4 && memcmp(got, "bye\n", 4) == 0;

    SSL_free(ssl);
    SSL_CTX_free(ctx);
    ERR_clear_error();
    return ok;
}

TEST(tls_asks_for_certificates_of_clients)
{
    static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    struct tls_context *open, *closed;
    struct err err = { 0 };

    CHECK(make_certificate("server", server_cert, server_key));
    CHECK(make_certificate("client", client_cert, client_key));
    for (size_t i = 0; i < 2; i++) {
        AUTO(fx_done) struct fx f = { 0 };

        CHECK(tls_context_open_for(server_cert, server_key, NULL, &open, &err));
        CHECK(fx_open(&f, policy(open, NULL), 100));
        CHECK(is_let_in(f.port, false, versions[i]) && is_let_in(f.port, true, versions[i]));
        CHECK(tls_context_open_for(server_cert, server_key, client_cert, &closed, &err));
        stream_server_use(f.server, policy(closed, NULL));
        CHECK(!is_let_in(f.port, false, versions[i]));
        CHECK(await_refused(&f, STREAM_REFUSED_HANDSHAKE, 1));
        CHECK(is_let_in(f.port, true, versions[i]));
        CHECK(tls_context_open_for(server_cert, server_key, server_cert, &closed, &err));
        stream_server_use(f.server, policy(closed, NULL));
        CHECK(!is_let_in(f.port, true, versions[i])); /* of another authority */
    }
    CHECK(!tls_context_open_for(server_cert, server_key, server_key, &closed, &err));
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "authority") != NULL);
}

TEST(a_handshake_has_its_time)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct tls_context *tls;
    struct err err = { 0 };

    CHECK(make_certificate("server", server_cert, server_key));
    CHECK(tls_context_open_for(server_cert, server_key, NULL, &tls, &err));
    CHECK(fx_open(&f, policy(tls, NULL), 100));
    AUTO_FD silent = dial(f.port);
    AUTO_FD plain = dial(f.port);

    CHECK(say(plain, "hello\n"));
    CHECK(hears(silent, "") && await_refused(&f, STREAM_REFUSED_HANDSHAKE, 2));
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return test_main();
}
