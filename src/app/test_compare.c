#include "app/test_compare.h"

#include <stdarg.h>
#include <stdio.h>

#include "admin/view/payload_diff.h"
#include "base/auto.h"
#include "core/state.h"
#include "engine/rehearse/trial.h"

enum { LINE_MOST = 1000, SHOWN_MOST = 200 };

struct comparing {
    const struct test_case *c;
    const struct trial_way *way;
    struct buf *to;
    size_t differences;
};

/* False: there is no room for another difference. */
__attribute__((format(printf, 2, 3))) static bool differs(struct comparing *x, const char *fmt, ...)
{
    char line[LINE_MOST];
    va_list args;

    if (x->differences++ >= TEST_DIFFERENCES_MOST)
        return false;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_printf(x->to, "  %s\n", line);
    return true;
}

static struct str test_shown(struct str s)
{
    return s.ptr == NULL ? STR("none") : str_first(s, SHOWN_MOST);
}

/* ---- facts ---- */

/* A key that is not written expects nothing; one without a value expects that there is none. */
static void expect_text(struct comparing *x, const struct yaml_node *map, const char *key,
                        const char *where, struct str is)
{
    const struct yaml_node *n = yaml_get(map, key);
    struct str want = n == NULL || yaml_is_null(n) ? (struct str){ 0 } : yaml_text(n);

    if (n == NULL || ((is.ptr == NULL) == (want.ptr == NULL) && str_eq(is, want)))
        return;
    (void)differs(x, "%s%s: expected %.*s, is %.*s", where, key, STR_ARG(test_shown(want)),
                  STR_ARG(test_shown(is)));
}

static void expect_number(struct comparing *x, const char *key, size_t is)
{
    const struct yaml_node *n = yaml_get(x->c->facts, key);
    uint64_t want = 0;

    if (n == NULL)
        return;
    if (!str_to_u64(yaml_text(n), &want))
        (void)differs(x, "%s:%u: `%s` is a number", x->c->facts_file, n->place.line, key);
    else if (want != is)
        (void)differs(x, "%s: expected %llu, are %zu", key, (unsigned long long)want, is);
}

static void expect_facts(struct comparing *x, const struct yaml_node *map, const char *where,
                         const struct trial_walked *d)
{
    const struct yaml_node *attributes = yaml_get(map, "attributes");

    expect_text(x, map, "sender", where, d->facts.sender);
    expect_text(x, map, "receiver", where, d->facts.receiver);
    expect_text(x, map, "type", where, d->facts.type);
    expect_text(x, map, "route", where, d->route);
    for (const struct yaml_node *n = attributes != NULL ? attributes->first : NULL;
         n != NULL && n->key != NULL; n = n->next) {
        struct str is = facts_attribute(&d->facts, n->key->text);

        if (!str_eq(is, yaml_text(n)))
            (void)differs(x, "%sattribute %.*s: expected %.*s, is %.*s", where,
                          STR_ARG(n->key->text), STR_ARG(test_shown(yaml_text(n))),
                          STR_ARG(test_shown(is)));
    }
}

/* ---- what became of it ---- */

static bool test_is_sent(const struct trial_way *w, size_t document)
{
    for (size_t i = 0; i < w->delivery_count; i++)
        if (w->deliveries[i].document == document &&
            !str_starts(w->deliveries[i].endpoint, STR("batch ")))
            return true;
    return false;
}

static struct str state_of(const struct trial_way *w)
{
    return w->documents[0].dead ? STR("dead") : test_is_sent(w, 0) ? STR("delivered") : STR("done");
}

static void expect_state(struct comparing *x)
{
    const struct trial_walked *d = &x->way->documents[0];
    const struct yaml_node *facts = x->c->facts, *message = yaml_get(facts, "message");

    if (d->dead && !str_eq(yaml_text(yaml_get(facts, "state")), STR("dead")) &&
        yaml_get(facts, "code") == NULL)
        (void)differs(x, "it is a dead letter, %s: %.*s", dead_codes[d->code],
                      STR_ARG(test_shown(d->message)));
    expect_text(x, facts, "state", "", state_of(x->way));
    expect_text(x, facts, "code", "", d->dead ? str_of(dead_codes[d->code]) : (struct str){ 0 });
    struct str part = yaml_text(message);

    if (part.len > 0 && memmem(d->message.ptr, d->message.len, part.ptr, part.len) == NULL)
        (void)differs(x, "message: expected to contain \"%.*s\", is \"%.*s\"",
                      STR_ARG(test_shown(part)), STR_ARG(test_shown(d->message)));
}

/* Parts and copies that are dead letters: none, unless `dead` says how many. */
static void expect_parts(struct comparing *x)
{
    const struct trial_way *w = x->way;
    size_t dead = 0;

    for (size_t i = 1; i < w->document_count; i++) {
        const struct trial_walked *d = &w->documents[i];

        dead += d->dead;
        if (d->dead && yaml_get(x->c->facts, "dead") == NULL)
            (void)differs(x, "%s %.*s is a dead letter, %s: %.*s",
                          d->is_copy ? "the copy for" : "part",
                          STR_ARG(test_shown(d->is_copy ? d->facts.receiver
                                                        : facts_attribute(&d->facts, STR("part")))),
                          dead_codes[d->code], STR_ARG(test_shown(d->message)));
    }
    expect_number(x, "parts", w->documents[0].parts);
    expect_number(x, "dead", dead);
}

/* ---- what is delivered ---- */

static size_t first_difference(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len, i = 0;

    while (i < n && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

static const char *byte_text(struct str s, size_t at, char text[static 8])
{
    if (at >= s.len)
        return "the end";
    (void)snprintf(text, 8, "0x%02x", (unsigned char)s.ptr[at]);
    return text;
}

static void expect_bytes(struct comparing *x, size_t at)
{
    AUTO(buf_done) struct buf diff = BUF_INIT(PAYLOAD_DIFF_OUT);
    const struct trial_delivery *d = &x->way->deliveries[at];
    const struct test_file *o = &x->c->outs.list[at];
    char want[8], is[8];
    bool cut = false;

    if (str_eq(d->bytes, o->bytes))
        return;
    size_t place = first_difference(o->bytes, d->bytes);

    if (!differs(x, "%s: what is delivered to %.*s differs at byte %zu: expected %s, is %s",
                 o->file, STR_ARG(test_shown(d->endpoint)), place + 1,
                 byte_text(o->bytes, place, want), byte_text(d->bytes, place, is)))
        return;
    if (!payload_diff(o->bytes, d->bytes, &diff, &cut))
        return; /* no text, or too long */
    buf_put(x->to, buf_view(&diff));
    if (diff.len > 0 && diff.ptr[diff.len - 1] != '\n')
        buf_putc(x->to, '\n');
    if (cut)
        buf_puts(x->to, "  ... the difference is longer\n");
}

/* Of a case without files and without `deliveries` nothing goes out. */
static void expect_deliveries(struct comparing *x)
{
    const struct yaml_node *list = yaml_get(x->c->facts, "deliveries");
    const struct trial_way *w = x->way;
    size_t want = x->c->outs.count > 0 ? x->c->outs.count : list != NULL ? list->count : 0, at = 0;

    if (w->delivery_count != want)
        (void)differs(x, "deliveries: expected %zu, are %zu", want, w->delivery_count);
    if (x->c->outs.count > 0 && list != NULL && list->count != x->c->outs.count)
        (void)differs(x, "%s lists %zu deliveries, and there are %zu files", x->c->facts_file,
                      list->count, x->c->outs.count);
    for (const struct yaml_node *n = list != NULL ? list->first : NULL;
         n != NULL && at < w->delivery_count; n = n->next, at++) {
        const struct trial_delivery *d = &w->deliveries[at];
        char where[64];

        (void)snprintf(where, sizeof where, "delivery %zu, ", at + 1);
        expect_text(x, n, "endpoint", where, d->endpoint);
        expect_text(x, n, "system", where, d->system);
        expect_facts(x, n, where, &w->documents[d->document]);
    }
    for (size_t i = 0; i < x->c->outs.count && i < w->delivery_count; i++)
        expect_bytes(x, i);
}

/* Every answer is needed, and every question has one. */
static void expect_questions(struct comparing *x, size_t asked)
{
    const struct test_case *c = x->c;

    if (asked > c->answers.count)
        (void)differs(x,
                      "steps ask services %zu times, and there are %zu answers: write what a "
                      "service answers to %.*s.answer.%zu.EXT",
                      asked, c->answers.count, STR_ARG(c->name), c->answers.count + 1);
    else if (asked < c->answers.count)
        (void)differs(x, "%s is never asked for: steps ask services %zu times",
                      c->answers.list[asked].file, asked);
}

bool test_compare(const struct test_case *c, const struct trial_way *w, size_t asked,
                  struct buf *to)
{
    struct comparing x = { .c = c, .way = w, .to = to };

    expect_questions(&x, asked);
    expect_state(&x);
    expect_facts(&x, c->facts, "", &w->documents[0]);
    expect_parts(&x);
    expect_deliveries(&x);
    if (c->outs.count == 0 && c->facts == NULL)
        (void)differs(&x, "nothing is expected: write %.*s.out.* or %s, or use --write",
                      STR_ARG(c->name), c->facts_file);
    if (x.differences > TEST_DIFFERENCES_MOST)
        buf_printf(to, "  ... and %zu more\n", x.differences - TEST_DIFFERENCES_MOST);
    return x.differences == 0;
}
