#include "app/demo_mock.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/http_server.h"
#include "base/require.h"

enum {
    REFUSED_EACH = 9,
    LATE_EACH = 13,
    LATE_MS = 2000,
    OUTAGE_S = 15,
    OUTAGE_EACH_S = 120,
    GRACE_MS = 1000,
    VISIT_MAGIC = 0x5b17ac02,
};

struct demo_mock {
    struct loop *loop;
    struct http_server *server;
    int64_t opened_us;
    uint64_t invoice_visits; /* used on the loop only */
    _Atomic uint64_t orders, invoices, refused;
};

/* One request, until it is answered or the client disconnects. */
struct visit {
    unsigned magic;
    struct demo_mock *mock;
    struct http_request *request;
    uv_timer_t timer; /* runs while the answer is delayed */
    bool late;
};

static void on_timer_closed(uv_handle_t *timer)
{
    free(timer->data);
}

/* Frees the visit, after its timer is closed if it has one. */
static void visit_end(struct visit *v)
{
    if (v->late)
        uv_close((uv_handle_t *)&v->timer, on_timer_closed);
    else
        free(v);
}

static void take_invoice(struct visit *v)
{
    atomic_fetch_add(&v->mock->invoices, 1);
    http_answer(v->request, 201, STR(""), STR("application/json"), STR("{\"booked\":true}\n"));
    visit_end(v);
}

static void on_late(uv_timer_t *timer)
{
    struct visit *v = timer->data;

    require(v->magic == VISIT_MAGIC);
    take_invoice(v);
}

static bool is_down(const struct demo_mock *m)
{
    int64_t second = (clock_mono_us() - m->opened_us) / CLOCK_S;

    return second % OUTAGE_EACH_S >= OUTAGE_EACH_S - OUTAGE_S;
}

static void visit_invoices(struct visit *v)
{
    struct demo_mock *m = v->mock;
    uint64_t number = ++m->invoice_visits;

    if (is_down(m) || number % REFUSED_EACH == 0) {
        atomic_fetch_add(&m->refused, 1);
        http_answer_error(v->request, 503, STR(""), "busy", "the invoice system is busy");
        visit_end(v);
    } else if (number % LATE_EACH == 0) {
        v->late = true;
        require(uv_timer_init(loop_uv(m->loop), &v->timer) == 0);
        v->timer.data = v;
        require(uv_timer_start(&v->timer, on_late, LATE_MS, 0) == 0);
    } else {
        take_invoice(v);
    }
}

static void demo_mock_on_head(struct http_request *r, void *arg)
{
    struct visit *v = NEW(struct visit);

    *v = (struct visit){ .magic = VISIT_MAGIC, .mock = arg, .request = r };
    r->user = v;
    http_read_body(r);
}

static void demo_mock_on_body(struct http_request *r, struct str bytes)
{
    (void)r;
    (void)bytes;
}

static void demo_mock_on_end(struct http_request *r)
{
    struct visit *v = r->user;

    if (str_is(r->path, "/invoices")) {
        visit_invoices(v);
        return;
    }
    if (str_is(r->path, "/orders")) {
        atomic_fetch_add(&v->mock->orders, 1);
        http_answer(r, 201, STR(""), STR("application/json"), STR("{\"ordered\":true}\n"));
    } else if (str_is(r->path, "/close")) { /* what a job asks for */
        http_answer(r, 200, STR(""), STR("application/json"),
                    STR("{\"message\":\"the tills are closed\"}\n"));
    } else {
        http_answer_error(r, 404, STR(""), "not_found", "there are /orders, /invoices and /close");
    }
    visit_end(v);
}

static void demo_mock_on_gone(struct http_request *r)
{
    visit_end(r->user);
}

static const struct http_handler handler = { .head = demo_mock_on_head,
                                             .body = demo_mock_on_body,
                                             .end = demo_mock_on_end,
                                             .gone = demo_mock_on_gone };

bool demo_mock_open(struct demo_mock **ret, struct err *err)
{
    struct demo_mock *m = NEW(struct demo_mock);
    struct http_server_options o = {
        .host = "127.0.0.1", .handler = &handler, .arg = m, .limits = HTTP_LIMITS_DEFAULT
    };

    m->opened_us = clock_mono_us();
    if (!loop_start("mock", &m->loop, err) ||
        !http_server_start(&o, &m->loop, 1, &m->server, err)) {
        demo_mock_close(m);
        return err_context(err, "mock systems");
    }
    *ret = m;
    return true;
}

void demo_mock_close(struct demo_mock *m)
{
    if (m == NULL)
        return;
    if (m->server != NULL)
        http_server_stop(m->server, GRACE_MS);
    http_server_free(m->server);
    loop_stop(m->loop);
    free(m);
}

uint16_t demo_mock_port(const struct demo_mock *m)
{
    return http_server_port(m->server);
}

void demo_mock_count(const struct demo_mock *m, struct demo_mock_counts *ret)
{
    ret->orders = atomic_load(&m->orders);
    ret->invoices = atomic_load(&m->invoices);
    ret->refused = atomic_load(&m->refused);
}
