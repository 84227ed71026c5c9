/* Edits: a new document, its link, and the end of the original, or nothing. */
#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "core/facts.h"
#include "family.h"
#include "scene.h"
#include "store/manual/edit.h"
#include "store/payload/payload.h"
#include "store/road/done.h"
#include "store/road/link.h"
#include "store/road/order.h"
#include "store/watch/check.h"

static struct edit_order order_of(const struct id *original, bool supersede)
{
    return (struct edit_order){ .has_original = true,
                                .supersede = supersede,
                                .original = *original,
                                .who = STR("ann"),
                                .what = STR("4 -> 5 bytes"),
                                .keep_days = KEEP };
}

static enum operate_result edit_it(struct scene *c, struct accept_op doc,
                                   const struct edit_order *order)
{
    struct err err = { 0 };

    c->edit = doc;
    if (!edit(c->s, &c->edit, order, &c->answer, &err)) {
        printf("# edit: %s (%s)\n", err.text, err.where);
        return (enum operate_result) - 1;
    }
    return c->answer.result;
}

static enum operate_result supersede(struct scene *c)
{
    struct edit_order order = order_of(&c->doc.id, true);

    return edit_it(c, doc_of(STR("other")), &order);
}

static enum operate_result beside(struct scene *c)
{
    struct edit_order order = order_of(&c->doc.id, false);

    return edit_it(c, doc_of(STR("other")), &order);
}

static enum operate_result retry(struct scene *c, bool again)
{
    struct operate_target target = { .id = c->doc.id };
    struct operate_order order = {
        .who = STR("bob"), .again = again, .config = NEWEST, .keep_days = KEEP
    };
    struct err err = { 0 };

    return operate(c->s, OPERATE_RETRY, &target, 1, &order, &c->answer, &err)
               ? c->answer.result
               : (enum operate_result) - 1;
}

static struct document get(struct scene *c, const struct id *id)
{
    struct document d = { 0 };
    struct err err = { 0 };

    if (!document_get(c->s, id, &c->a, &d, &err))
        printf("# there is no document: %s\n", err.text);
    return d;
}

static bool state_is(struct scene *c, const struct id *id, enum document_state state)
{
    struct document d = get(c, id);

    if (d.is != state)
        printf("# it is %.*s\n", STR_ARG(d.state));
    return d.source.num != 0 && d.is == state;
}

static bool last_line_has(struct scene *c, const struct id *id, const char *text)
{
    struct document d = get(c, id);
    struct timeline_reader r = timeline_read(d.timeline);
    struct timeline_line line, last = { 0 };
    bool damaged;

    while (timeline_next(&r, &line, &damaged))
        last = line;
    if (!damaged && last.stage == TIMELINE_OPERATOR && str_is(last.what, "ann") &&
        strstr(arena_printf(&c->a, "%.*s", STR_ARG(last.message)), text) != NULL)
        return true;
    printf("# `%.*s`: %.*s\n", STR_ARG(last.what), STR_ARG(last.message));
    return false;
}

static bool is_linked(struct scene *c)
{
    struct link_child children[4];
    struct err err = { 0 };
    int64_t parent;
    size_t n;

    return link_parent(c->s, c->edit.num, LINK_EDIT, &parent, &err) && parent == c->doc.num &&
           link_children(c->s, c->doc.num, LINK_EDIT, (struct link_child){ 0 }, children, 4, &n,
                         &err) &&
           n == 1 && children[0].num == c->edit.num && children[0].kind == LINK_EDIT;
}

/* ---- what it makes ---- */

/* proves: ME1 ME2 ME3 */
TEST(an_edit_takes_the_place_of_a_dead_letter)
{
    struct scene c;
    struct task t[4];
    char text[ID_TEXT];

    CHECK(begin(&c) && settle_dead(&c, "no_route", false));
    CHECK(supersede(&c) == OPERATE_DONE && c.edit.result == ACCEPT_STORED && !c.edit.claimed);
    CHECK(state_is(&c, &c.doc.id, DOCUMENT_SUPERSEDED));
    CHECK(state_is(&c, &c.edit.id, DOCUMENT_RECEIVED));
    CHECK(payload_is(c.s, &c.edit, STR("other")) && payload_is(c.s, &c.doc, STR("body")));
    CHECK(is_linked(&c));
    CHECK(last_line_has(&c, &c.doc.id, id_text(&c.edit.id, text)));
    CHECK(last_line_has(&c, &c.edit.id, id_text(&c.doc.id, text)));
    CHECK(last_line_has(&c, &c.edit.id, "4 -> 5 bytes"));
    CHECK(claim(c.s, 4, t) == 1 && t[0].id == c.edit.num);
    CHECK(places(c.s).dead == 0);
    end(&c);
}

/* proves: ME4 */
TEST(nothing_sets_the_original_going_again)
{
    struct scene c;

    CHECK(begin(&c) && settle_dead(&c, "no_route", false) && supersede(&c) == OPERATE_DONE);
    CHECK(retry(&c, false) == OPERATE_NOTHING && retry(&c, true) == OPERATE_NOTHING);
    CHECK(strstr(c.answer.text, "took its place") != NULL);
    CHECK(supersede(&c) == OPERATE_NOTHING && strstr(c.answer.text, "another edit") != NULL);
    CHECK(ask(&c.h, "SELECT count(*) FROM doc") == 1);
    CHECK(ask(&c.h, "SELECT count(*) FROM link") == 1);
    CHECK(beside(&c) == OPERATE_DONE && ask(&c.h, "SELECT count(*) FROM link") == 2);
    CHECK(state_is(&c, &c.doc.id, DOCUMENT_SUPERSEDED));
    end(&c);
}

TEST(what_is_left_of_the_original_is_cancelled)
{
    struct scene c;

    CHECK(begin(&c));
    add_part(&c, "archive", DELIVERY_DELIVERED);
    add_part(&c, "api", DELIVERY_DEAD);
    add_part(&c, "mail", DELIVERY_RETRYING);
    add_part(&c, "file", DELIVERY_READY);
    CHECK(settle_parts(&c));
    CHECK(supersede(&c) == OPERATE_DONE && strstr(c.answer.text, "archive") != NULL);
    CHECK(state_is(&c, &c.doc.id, DOCUMENT_SUPERSEDED));
    CHECK(ask(&c.h, "SELECT count(*) FROM delivery") == 0);
    CHECK(places(c.s).dead == 0 && places(c.s).later == 0 && places(c.s).ready == 1);
    end(&c);
}

/* proves: ME4 */
TEST(what_is_on_its_way_is_left_alone)
{
    struct scene c;
    struct task t;
    struct err err = { 0 };
    size_t n;

    CHECK(begin(&c) && supersede(&c) == OPERATE_BUSY);
    add_part(&c, "api", DELIVERY_READY);
    add_part(&c, "mail", DELIVERY_DEAD);
    CHECK(settle_parts(&c));
    CHECK(task_claim(c.s, c.parts[0].queue, 1, LEASE_US, &t, &n, &err) && n == 1);
    CHECK(supersede(&c) == OPERATE_BUSY && strstr(c.answer.text, "being sent") != NULL);
    CHECK(ask(&c.h, "SELECT count(*) FROM doc") == 1);
    CHECK(ask(&c.h, "SELECT count(*) FROM link") == 0);
    CHECK(beside(&c) == OPERATE_DONE && is_linked(&c));
    CHECK(last_line_has(&c, &c.doc.id, "beside"));
    CHECK(ask(&c.h, "SELECT count(*) FROM delivery") == 2);
    end(&c);
}

/* proves: ME4 */
TEST(what_is_in_doubt_needs_an_answer_first)
{
    struct scene c;

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_IN_DOUBT);
    CHECK(settle_parts(&c));
    CHECK(supersede(&c) == OPERATE_NOTHING && strstr(c.answer.text, "docs resolve") != NULL);
    CHECK(beside(&c) == OPERATE_DONE && state_is(&c, &c.doc.id, DOCUMENT_IN_DOUBT));
    end(&c);
}

/* proves: ME4 */
TEST(what_was_delivered_is_not_replaced_but_may_have_an_edit_beside_it)
{
    struct scene c;
    struct settle_op op;

    CHECK(begin(&c));
    op = settle_of(&c.doc.task, c.doc.num, SETTLE_OVER);
    op.state = DOCUMENT_DELIVERED;
    CHECK(settle_ops(c.s, &op, 1));
    CHECK(supersede(&c) == OPERATE_NOTHING && strstr(c.answer.text, "--beside") != NULL);
    CHECK(beside(&c) == OPERATE_DONE && is_linked(&c));
    CHECK(state_is(&c, &c.doc.id, DOCUMENT_DELIVERED));
    CHECK(last_line_has(&c, &c.doc.id, "beside"));
    end(&c);
}

/* Its parts go on, and those of an edit in its place would be the same again.  proves: PR2 */
TEST(what_is_half_split_is_not_replaced_but_may_have_an_edit_beside_it)
{
    struct scene c;

    CHECK(begin(&c) && make_parts(c.s, &c.doc, &c.doc.task, 0, 2, 4));
    CHECK(settle_dead(&c, "service_failed", true));
    CHECK(supersede(&c) == OPERATE_NOTHING);
    CHECK(strstr(c.answer.text, "2 documents were made of it") != NULL);
    CHECK(strstr(c.answer.text, "--beside") != NULL);
    CHECK(state_is(&c, &c.doc.id, DOCUMENT_DEAD) && ask(&c.h, "SELECT count(*) FROM doc") == 3);
    CHECK(retry(&c, false) == OPERATE_DONE); /* it starts again, and what it made still counts */
    CHECK(supersede(&c) == OPERATE_NOTHING);
    CHECK(beside(&c) == OPERATE_DONE && ask(&c.h, "SELECT count(*) FROM doc") == 4);
    end(&c);
}

TEST(what_was_cancelled_may_be_replaced)
{
    struct scene c;
    struct settle_op op;

    CHECK(begin(&c));
    op = settle_of(&c.doc.task, c.doc.num, SETTLE_OVER);
    op.state = DOCUMENT_CANCELLED;
    CHECK(settle_ops(c.s, &op, 1) && supersede(&c) == OPERATE_DONE && is_linked(&c));
    CHECK(state_is(&c, &c.doc.id, DOCUMENT_SUPERSEDED));
    CHECK(retry(&c, true) == OPERATE_NOTHING);
    end(&c);
}

TEST(facts_that_are_given_are_kept)
{
    AUTO(buf_done) struct buf facts = BUF_INIT(FACTS_BYTES_MOST);
    struct facts f = { .receiver = STR("nobody"), .receiver_unknown = true };
    struct edit_order order = { .who = STR("ann"), .has_facts = true, .keep_days = KEEP };
    struct err err = { 0 };
    struct scene c;

    CHECK(begin(&c) && name_add(c.s, NAME_SYSTEM, STR("hub"), &order.sender, &err));
    facts_write(&f, &facts);
    order.facts = buf_view(&facts);
    CHECK(edit_it(&c, doc_of(STR("new")), &order) == OPERATE_DONE);
    struct document d = get(&c, &c.edit.id);

    CHECK(d.sender == order.sender && d.receiver == 0 && str_eq(d.facts, buf_view(&facts)));
    CHECK(ask(&c.h, "SELECT count(*) FROM link") == 0);
    end(&c);
}

TEST(what_is_not_there_has_no_edit)
{
    struct scene c;
    struct edit_order order;
    struct id other;

    CHECK(begin(&c));
    other = id_make(clock_wall_us(), 4711, 1);
    order = order_of(&other, true);
    CHECK(edit_it(&c, doc_of(STR("x")), &order) == OPERATE_NONE);
    CHECK(ask(&c.h, "SELECT count(*) FROM doc") == 1);
    end(&c);
}

TEST(a_key_makes_one_edit)
{
    struct scene c;
    struct edit_order order;
    struct id first;
    struct err err = { 0 };

    CHECK(begin(&c) && accept_keep_tables(c.s, INT64_C(3600) * CLOCK_S, &err) &&
          settle_dead(&c, "no_route", false));
    order = order_of(&c.doc.id, true);
    CHECK(edit_it(&c, keyed_doc(STR("other"), "k", 60 * CLOCK_S), &order) == OPERATE_DONE);
    CHECK(c.edit.result == ACCEPT_STORED);
    first = c.edit.id;
    CHECK(edit_it(&c, keyed_doc(STR("other"), "k", 60 * CLOCK_S), &order) == OPERATE_DONE);
    CHECK(c.edit.result == ACCEPT_REPEATED && id_eq(&c.edit.id, &first));
    CHECK(edit_it(&c, keyed_doc(STR("else"), "k", 60 * CLOCK_S), &order) == OPERATE_DONE);
    CHECK(c.edit.result == ACCEPT_KEY_DIFFERS);
    CHECK(ask(&c.h, "SELECT count(*) FROM doc") == 1);
    end(&c);
}

TEST(the_edit_keeps_the_place_in_the_order)
{
    struct scene c;
    struct accept_op later;

    c = (struct scene){ .h = fresh_home(), .a = ARENA_INIT(8 << 20) };
    c.s = open_store(&c.h);
    CHECK(c.s != NULL);
    order_number(c.s, true);
    c.doc = doc_of(STR("body"));
    c.doc.claim_wanted = true;
    later = doc_of(STR("later"));
    CHECK(accept_doc(c.s, &c.doc) && accept_doc(c.s, &later) && settle_dead(&c, "no_route", false));
    CHECK(c.doc.seq != 0 && later.seq > c.doc.seq);
    CHECK(supersede(&c) == OPERATE_DONE && c.edit.seq == c.doc.seq);
    CHECK(ask(&c.h, "SELECT count(*) FROM order_open") == 2);
    end(&c);
}

TEST(children_come_in_pages)
{
    struct link_child list[LINK_PAGE_MOST], after = { 0 };
    struct err err = { 0 };
    int64_t seen = 0;
    struct scene c;
    size_t n;

    CHECK(begin(&c));
    for (int i = 0; i < 3; i++)
        CHECK(beside(&c) == OPERATE_DONE);
    CHECK(tell(&c.h, "INSERT INTO link(parent, kind, child) SELECT parent, 5, child FROM link"));
    for (;;) {
        CHECK(link_children(c.s, c.doc.num, 0, after, list, 4, &n, &err));
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i++) {
            CHECK(list[i].kind > after.kind ||
                  (list[i].kind == after.kind && list[i].num > after.num));
            after = list[i];
            seen++;
        }
    }
    CHECK(seen == 6 && after.kind == LINK_SPLIT);
    CHECK(link_children(c.s, c.doc.num, LINK_SPLIT, (struct link_child){ 0 }, list, 4, &n, &err));
    CHECK(n == 3 && list[0].kind == LINK_SPLIT);
    CHECK(link_children(c.s, c.doc.num, LINK_MEMBER, (struct link_child){ 0 }, list, 4, &n, &err));
    CHECK(n == 0);
    end(&c);
}

/* ---- races ---- */

struct racer {
    struct scene *c;
    struct store *s;
    struct accept_op doc;
    struct operate_answer answer;
    bool ok;
};

static void *race_edit(void *arg)
{
    struct racer *r = arg;
    struct edit_order order = order_of(&r->c->doc.id, true);
    struct err err = { 0 };

    r->doc = doc_of(STR("other"));
    r->ok = edit(r->s, &r->doc, &order, &r->answer, &err);
    return NULL;
}

static void *race_retry(void *arg)
{
    struct racer *r = arg;
    struct operate_target target = { .id = r->c->doc.id };
    struct operate_order order = { .who = STR("bob"), .config = NEWEST, .keep_days = KEEP };
    struct err err = { 0 };
    struct task t;
    size_t n;

    r->ok = operate(r->s, OPERATE_RETRY, &target, 1, &order, &r->answer, &err) &&
            task_claim(r->s, QUEUE_INTAKE, 1, LEASE_US, &t, &n, &err);
    return NULL;
}

enum { RACE_EDITS = 2 };

/* Edits and a retry at the same time; `other` is the store of another node, or the same.  Counts
 * who came first. */
static bool race(struct scene *c, struct store *other, int *io_retried, int *io_edited)
{
    struct racer racers[RACE_EDITS + 1];
    pthread_t threads[RACE_EDITS + 1];
    int made = 0;

    for (int k = 0; k <= RACE_EDITS; k++) {
        racers[k] = (struct racer){ .c = c, .s = k == 0 ? c->s : other };
        if (pthread_create(&threads[k], NULL, k < RACE_EDITS ? race_edit : race_retry,
                           &racers[k]) != 0)
            return false;
    }
    for (int k = 0; k <= RACE_EDITS; k++)
        if (pthread_join(threads[k], NULL) != 0 || !racers[k].ok)
            return false;
    for (int k = 0; k < RACE_EDITS; k++)
        made += racers[k].answer.result == OPERATE_DONE;
    bool retried = racers[RACE_EDITS].answer.result == OPERATE_DONE;

    *io_retried += retried;
    *io_edited += made;
    /* One of the original and its edits lives, and what was superseded is over. */
    return made <= 1 && ask(&c->h, "SELECT count(*) FROM link") == made &&
           ask(&c->h, "SELECT count(*) FROM doc") == 1 &&
           (made == 0 ? retried : state_is(c, &c->doc.id, DOCUMENT_SUPERSEDED));
}

/* proves: ME4 */
TEST(edits_and_a_retry_at_once)
{
    int retried = 0, edited = 0;

    for (int i = 0; i < 25; i++) {
        struct scene c;

        CHECK(begin(&c) && settle_dead(&c, "no_route", false) && race(&c, c.s, &retried, &edited));
        end(&c);
    }
    printf("# %d retried, %d edited\n", retried, edited);
}

/* proves: ME4 */
TEST(postgres_edits_and_a_retry_on_two_nodes)
{
    int retried = 0, edited = 0;

    for (int i = 0; i < 12; i++) {
        struct scene c;

        CHECK(begin(&c) && settle_dead(&c, "no_route", false));
        struct home beside_it = home_beside(&c.h);
        struct store *other = open_store(&beside_it);

        CHECK(other != NULL && race(&c, other, &retried, &edited));
        store_close(other);
        end(&c);
    }
    printf("# %d retried, %d edited\n", retried, edited);
}

/* What was cancelled is revived and replaced at the same time: one of the two is refused. */
static void *race_revive(void *arg)
{
    struct racer *r = arg;
    struct operate_target target = { .id = r->c->doc.id };
    struct operate_order order = {
        .who = STR("bob"), .again = true, .config = NEWEST, .keep_days = KEEP
    };
    struct err err = { 0 };

    r->ok = operate(r->s, OPERATE_RETRY, &target, 1, &order, &r->answer, &err);
    return NULL;
}

/* proves: ME4 */
TEST(an_edit_of_what_is_revived)
{
    int revived = 0, made = 0;

    for (int i = 0; i < 15; i++) {
        struct racer edits, revives;
        pthread_t threads[2];
        struct settle_op op;
        struct scene c;

        CHECK(begin(&c));
        op = settle_of(&c.doc.task, c.doc.num, SETTLE_OVER);
        op.state = DOCUMENT_CANCELLED;
        CHECK(settle_ops(c.s, &op, 1));
        edits = revives = (struct racer){ .c = &c, .s = c.s };
        CHECK(pthread_create(&threads[0], NULL, race_edit, &edits) == 0);
        CHECK(pthread_create(&threads[1], NULL, race_revive, &revives) == 0);
        CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
        CHECK(edits.ok && revives.ok);
        made += edits.answer.result == OPERATE_DONE;
        revived += revives.answer.result == OPERATE_DONE;
        CHECK(ask(&c.h, "SELECT count(*) FROM doc") == 1);
        CHECK(edits.answer.result != OPERATE_DONE || state_is(&c, &c.doc.id, DOCUMENT_SUPERSEDED));
        end(&c);
    }
    printf("# %d revived, %d edited\n", revived, made);
    CHECK(made + revived >= 15);
}

/* ---- killed ---- */

/* Makes dead letters and edits them; says "edit ORIGINAL EDIT" for those it was told of. */
CHILD(edit_and_tell)
{
    enum { DOCS = 12 };
    static struct accept_op docs[DOCS];
    static struct settle_op ops[DOCS];
    struct store *s = open_store(h);
    struct err err = { 0 };

    (void)arg;
    if (s == NULL || !born_docs(s, docs, DOCS))
        return 1;
    for (int i = 0; i < DOCS; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_DEAD);
        ops[i].code = ops[i].message = STR("no_route");
    }
    if (!settle_ops(s, ops, DOCS))
        return 1;
    for (int i = 0; i < DOCS; i++) {
        struct edit_order order = order_of(&docs[i].id, i % 3 != 0);
        struct accept_op doc = doc_of(STR("an edit"));
        struct operate_answer answer;

        if (!edit(s, &doc, &order, &answer, &err) || answer.result != OPERATE_DONE)
            return 1;
        printf("edit %lld %lld\n", (long long)docs[i].num, (long long)doc.num);
    }
    store_close(s);
    return 0;
}

static int64_t count_of(const struct home *h, const char *fmt, int64_t a, int64_t b)
    __attribute__((format(printf, 2, 0)));

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static int64_t count_of(const struct home *h, const char *fmt, int64_t a, int64_t b)
{
    char sql[400];

    (void)snprintf(sql, sizeof sql, fmt, (long long)a, (long long)b);
    return ask(h, sql);
}
#pragma GCC diagnostic pop

static bool told_are_there(const struct home *h, struct str said)
{
    while (said.len > 0) {
        struct str line, word, from;
        int64_t parent, child;
        bool whole = memchr(said.ptr, '\n', said.len) != NULL;

        said = str_cut(said, '\n', &line);
        line = str_cut(line, ' ', &word);
        line = str_cut(line, ' ', &from);
        if (!whole || !str_is(word, "edit") || !str_to_i64(from, &parent) ||
            !str_to_i64(line, &child))
            continue;
        if (count_of(h, "SELECT count(*) FROM link WHERE parent = %lld AND child = %lld", parent,
                     child) != 1 ||
            count_of(h, "SELECT count(*) FROM doc WHERE num = %lld AND num <> %lld", child, 0) != 1)
            return false;
    }
    return true;
}

/* An edit is there with its link, its task and its bytes, and what it supersedes is over; or
 * there is nothing of it. */
static bool edits_are_whole(const struct home *h, struct store *s)
{
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r = { 0 };
        struct err err = { 0 };

        if (!check_run(s, i, true, &r, &err) || r.bad > 0) {
            printf("# %s: %s %s\n", check_name(i), r.message, err.text);
            return false;
        }
    }
    int64_t edits = ask(h, "SELECT count(*) FROM doc WHERE size = 7");
    int64_t links = ask(h, "SELECT count(*) FROM link");
    int64_t day = done_day(KEEP), over = 0;

    if (ask(h, "SELECT count(*) FROM part WHERE family = 2") > 0)
        over =
            count_of(h, "SELECT count(*) FROM done_%lld WHERE state = 9 AND num <> %lld", day, 0);
    if (edits != links ||
        ask(h, "SELECT count(*) FROM link WHERE child NOT IN (SELECT num FROM doc)") != 0 ||
        ask(h, "SELECT count(*) FROM doc WHERE size = 7 AND trail IS NULL") != 0) {
        printf("# %lld edits, %lld links\n", (long long)edits, (long long)links);
        return false;
    }
    /* Two of three supersede: their originals are over, the others live. */
    return over == ask(h, "SELECT count(*) FROM link WHERE parent NOT IN (SELECT num FROM doc)");
}

static bool edit_is_whole(const struct home *h, struct store *s, struct str said)
{
    return told_are_there(h, said) && edits_are_whole(h, s);
}

/* proves: ME1 ME2 ME3 */
TEST(killed_anywhere_an_edit_is_whole_or_not_there)
{
    static const char *const points[] = { "edit.ended",    "edit.stored",     "edit.written",
                                          "group.written", "group.committed", "group.acked" };
    static const int passes[] = { 1, 4, 9 };

    CHECK(kill_everywhere(&(struct kill_scene){ .child = "edit_and_tell",
                                                .points = points,
                                                .point_count = sizeof points / sizeof points[0],
                                                .passes = passes,
                                                .pass_count = sizeof passes / sizeof passes[0],
                                                .whole = edit_is_whole }) >= 12);
}

STORE_TEST_MAIN
