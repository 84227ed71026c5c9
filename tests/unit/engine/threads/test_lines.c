/* Connections that are kept between calls, with lines that are counters. */
#include "engine/threads/lines.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "core/call.h"
#include "core/line/line.h"
#include "test.h"

struct server {
    struct sha256 key;
    int opened, closed;
    bool refuses;
};

struct wire {
    struct server *server;
    bool hung_up; /* the other side has closed it */
};

static const struct sha256 *wire_key(const void *self)
{
    return &((const struct server *)self)->key;
}

static bool wire_open(void *self, struct call *c, void **ret_line, struct err *err)
{
    struct server *s = self;
    struct wire *w;

    (void)c;
    if (s->refuses)
        return err_set(err, ERR_TRANSIENT, 0, "refused");
    w = NEW(struct wire);
    w->server = s;
    s->opened++;
    *ret_line = w;
    return true;
}

static bool wire_is_open(void *line)
{
    return !((struct wire *)line)->hung_up;
}

static void wire_close(void *line)
{
    ((struct wire *)line)->server->closed++;
    free(line);
}

static const struct line_type wires = {
    .key = wire_key, .open = wire_open, .is_open = wire_is_open, .close = wire_close
};

static struct server server_of(const char *password)
{
    return (struct server){ .key = digest_of(str_of(password)) };
}

static struct wire *take(struct call *c, struct server *s, bool *kept)
{
    struct err err = { 0 };
    void *line = NULL;

    return line_take(c, &wires, s, &line, kept, &err) ? line : NULL;
}

static void give(struct call *c, struct server *s, struct wire *w)
{
    line_give(c, &wires, s, w, true);
}

TEST(a_line_is_used_again)
{
    struct lines *l = lines_new();
    struct call c = { .lines = lines_port(l) };
    struct server a = server_of("a"), b = server_of("b");
    const struct sha256 keys[] = { a.key, b.key };
    bool kept;

    lines_use(l, keys, 2);
    struct wire *w = take(&c, &a, &kept);

    CHECK(w != NULL && !kept && a.opened == 1);
    give(&c, &a, w);
    struct wire *other = take(&c, &b, &kept);

    CHECK(other != w && !kept); /* not with other settings */
    CHECK(take(&c, &a, &kept) == w && kept && a.opened == 1);
    struct wire *second = take(&c, &a, &kept); /* one call has the first */

    CHECK(second != w && !kept && a.opened == 2);
    give(&c, &a, w);
    line_give(&c, &wires, &a, second, false); /* it failed */
    CHECK(a.closed == 1);
    CHECK(take(&c, &a, &kept) == w && kept);
    give(&c, &a, w);
    give(&c, &b, other);
    lines_unref(l);
    CHECK(a.opened == a.closed && b.opened == b.closed);
}

TEST(a_line_that_the_other_side_closed_is_replaced)
{
    struct lines *l = lines_new();
    struct call c = { .lines = lines_port(l) };
    struct server a = server_of("a");
    bool kept;

    lines_use(l, &a.key, 1);
    struct wire *w[2] = { take(&c, &a, &kept), take(&c, &a, &kept) };

    for (int i = 0; i < 2; i++) {
        w[i]->hung_up = true;
        give(&c, &a, w[i]);
    }
    struct wire *fresh = take(&c, &a, &kept);

    CHECK(fresh != NULL && !kept && a.closed == 2 && a.opened == 3);
    a.refuses = true;
    CHECK(take(&c, &a, &kept) == NULL);
    give(&c, &a, fresh);
    lines_unref(l);
    CHECK(a.closed == 3);
}

TEST(a_new_configuration_closes_what_it_does_not_have)
{
    struct lines *l = lines_new();
    struct call c = { .lines = lines_port(l) };
    struct server before = server_of("old"), same = server_of("same"), after = server_of("new");
    const struct sha256 first[] = { before.key, same.key }, second[] = { same.key, after.key };
    bool kept;

    lines_use(l, first, 2);
    struct wire *idle = take(&c, &before, &kept), *busy = take(&c, &before, &kept),
                *stays = take(&c, &same, &kept);

    give(&c, &before, idle);
    give(&c, &same, stays);
    lines_use(l, second, 2);
    CHECK(before.closed == 1 && same.closed == 0);
    give(&c, &before, busy); /* when its call has ended */
    CHECK(before.closed == 2);
    CHECK(take(&c, &same, &kept) == stays && kept);
    give(&c, &same, stays);
    lines_stop(l);
    CHECK(same.closed == 1);
    give(&c, &same, take(&c, &same, &kept));
    CHECK(same.closed == 2);
    lines_unref(l);
}

TEST(lines_of_polls_are_kept_until_their_settings_are_gone)
{
    struct lines *l = lines_new();
    struct call c = { .lines = lines_port(l) };
    struct server a = server_of("a"), b = server_of("b");
    bool kept;

    lines_use_any(l);
    struct wire *of_a = take(&c, &a, &kept), *of_b = take(&c, &b, &kept);

    give(&c, &a, of_a);
    give(&c, &b, of_b);
    lines_drop(l, &a.key);
    CHECK(a.closed == 1 && b.closed == 0);
    CHECK(take(&c, &b, &kept) == of_b && kept);
    give(&c, &b, of_b);
    lines_sweep(l, clock_mono_us() + LINES_IDLE_US + 1);
    CHECK(b.closed == 1);
    lines_stop(l);
    give(&c, &b, take(&c, &b, &kept));
    CHECK(b.closed == 2);
    lines_unref(l);
}

TEST(a_line_that_nobody_uses_is_closed)
{
    struct lines *l = lines_new();
    struct call c = { .lines = lines_port(l) };
    struct server a = server_of("a");
    int64_t now = clock_mono_us();
    bool kept;

    lines_use(l, &a.key, 1);
    give(&c, &a, take(&c, &a, &kept));
    lines_sweep(l, now + LINES_IDLE_US / 2);
    CHECK(a.closed == 0);
    lines_sweep(l, clock_mono_us() + LINES_IDLE_US + 1);
    CHECK(a.closed == 1);
    lines_unref(l);
}

TEST(their_number_has_a_bound)
{
    enum { MORE = 10 };
    struct lines *l = lines_new();
    struct call c = { .lines = lines_port(l) };
    struct server a = server_of("a");
    struct wire *all[LINES_MOST + MORE];
    bool kept;

    lines_use(l, &a.key, 1);
    for (size_t i = 0; i < LINES_MOST + MORE; i++)
        all[i] = take(&c, &a, &kept);
    for (size_t i = 0; i < LINES_MOST + MORE; i++)
        give(&c, &a, all[i]);
    CHECK(a.closed == MORE);
    CHECK(take(&c, &a, &kept) == all[LINES_MOST + MORE - 1]); /* the longest idle ones went */
    give(&c, &a, all[LINES_MOST + MORE - 1]);
    lines_unref(l);
    CHECK(a.opened == a.closed);
}

/* A call that hung may come back when everybody else is gone. */
TEST(a_call_that_was_given_up_keeps_nothing)
{
    struct lines *l = lines_new(), *mine = lines_ref(l);
    struct call c = { .lines = lines_port(l) };
    struct server a = server_of("a");
    bool kept;

    lines_use(l, &a.key, 1);
    struct wire *w = take(&c, &a, &kept);

    (void)call_give_up(&c);
    lines_stop(l);
    lines_unref(l);
    give(&c, &a, w);
    CHECK(a.closed == 1);
    lines_unref(mine);
}

TEST(without_a_port_each_call_has_its_own)
{
    struct server a = server_of("a");
    struct call c = { 0 };
    bool kept;

    give(&c, &a, take(&c, &a, &kept));
    give(NULL, &a, take(NULL, &a, &kept));
    CHECK(!kept && a.opened == 2 && a.closed == 2);
}

int main(void)
{
    return test_main();
}
