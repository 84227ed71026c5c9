/* Documents made of documents: chunks, progress, claims, crashes, what becomes of them. */
#include <semaphore.h>
#include <stdlib.h>

#include "family.h"
#include "retain_scene.h"
#include "store/manual/operate.h"
#include "store/road/order.h"
#include "store/road/overdue.h"
#include "store/road/rescue.h"

static struct offspring_progress progress(struct store *s, int64_t doc)
{
    struct offspring_progress p = { .made = -1 };
    struct err err = { 0 };

    (void)offspring_get(s, doc, &p, &err);
    return p;
}

static bool is_progress(struct store *s, int64_t doc, int64_t made, int64_t total)
{
    struct offspring_progress p = progress(s, doc);

    return p.made == made && p.total == total && p.config == (made > 0 ? FAMILY_VERSION : 0);
}

static int64_t children(const struct home *h, int64_t doc)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM link WHERE parent = %lld",
                   (long long)doc);
    return ask(h, sql);
}

/* The parts of a document by search, page by page: their numbers must be 1 to `total`. */
static bool has_exactly(struct store *s, int64_t doc, int64_t total)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 20);
    static struct document page[DOCUMENTS_PAGE_MOST];
    struct document_filter f = { .parent = doc };
    char *seen = ARENA_ARRAY(&a, char, (size_t)total + 2);
    int64_t below = 0, found = 0;
    struct err err = { 0 };

    memset(seen, 0, (size_t)total + 2);
    do {
        size_t n;

        if (!document_list(s, &f, below, DOCUMENTS_PAGE_MOST, &a, page, &n, &below, &err))
            return false;
        for (size_t i = 0; i < n; i++) {
            struct facts facts = { 0 };
            int64_t number = 0;

            if (!facts_read(page[i].facts, &a, &facts) ||
                !str_to_i64(facts_attribute(&facts, STR("part")), &number) || number < 1 ||
                number > total || seen[number]++ != 0)
                return false;
            found++;
        }
    } while (below != 0);
    return found == total;
}

static bool over(struct store *s, const struct accept_op *doc, enum document_state state)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct document d;
    struct err err = { 0 };

    return document_get(s, &doc->id, &a, &d, &err) && d.is == state;
}

static bool is_child(struct store *s, const struct offspring_part *p,
                     const struct accept_op *parent)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf bytes = BUF_INIT(1 << 20);
    struct facts facts = { 0 };
    struct document d;
    struct err err = { 0 };
    int64_t of;

    return document_get(s, &p->id, &a, &d, &err) && d.source.num == p->num &&
           d.is == DOCUMENT_RECEIVED && d.gateway == parent->gateway &&
           d.caller == parent->caller && d.config == FAMILY_VERSION && d.sender == 11 &&
           d.receiver == 12 && d.type == 13 && str_eq(d.head, parent->head) &&
           str_is(d.name, "part.xml") && str_is(d.ctype, "application/xml") &&
           facts_read(d.facts, &a, &facts) && facts.generation == 1 &&
           read_payload(s, &d.source, &bytes, &err) && str_eq(buf_view(&bytes), p->bytes) &&
           link_parent(s, p->num, LINK_SPLIT, &of, &err) && of == parent->num;
}

/* Every child that waits ends. */
static bool run_children(struct store *s, int64_t keep_days)
{
    struct task t[TASK_CLAIM_MOST];
    static struct settle_op ops[TASK_CLAIM_MOST];

    for (int n; (n = claim(s, TASK_CLAIM_MOST, t)) != 0;) {
        for (int i = 0; i < n; i++) {
            ops[i] = settle_of(&t[i], t[i].id, SETTLE_OVER);
            ops[i].keep_days = keep_days;
        }
        if (n < 0 || !settle_ops(s, ops, (size_t)n))
            return false;
    }
    return true;
}

/* Some of the parts come claimed, as those of accept do; a chunk that is repeated, because its
 * progress is elsewhere, claims nothing. */
TEST(parts_may_come_claimed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent = doc_of(STR("envelope"));
    AUTO(family_done) struct family f;

    parent.claim_wanted = true;
    CHECK(s != NULL && accept_doc(s, &parent));
    family_init(&f, &parent.task, parent.num, 0, 5, 6);
    for (int i = 0; i < 3; i++)
        f.op.parts[i].claim_wanted = true;
    struct task others[5];

    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE);
    CHECK(claim(s, 5, others) == 2); /* not those that came claimed */
    for (int i = 0; i < 3; i++) {
        const struct offspring_part *p = &f.op.parts[i];
        struct settle_op end = settle_of(&p->task, p->num, SETTLE_OVER);

        end.is_first = true;
        CHECK(p->claimed && settle_ops(s, &end, 1) && end.ours && end.over);
    }
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_ELSEWHERE);
    CHECK(children(&h, parent.num) == 5 && all_is_well(s));
    store_close(s);
}

static sem_t few_done;

static void on_few_done(struct store_op *op)
{
    (void)op;
    (void)sem_post(&few_done);
}

/* Documents with few parts end in one group; one of them has lost its claim, and stays. */
TEST(few_parts_share_a_commit)
{
    enum { PARENTS = 3 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parents[PARENTS];
    struct family f[PARENTS];

    CHECK(s != NULL && sem_init(&few_done, 0, 0) == 0);
    for (int i = 0; i < PARENTS; i++) {
        parents[i] = doc_of(STR("envelope"));
        parents[i].claim_wanted = true;
        CHECK(accept_doc(s, &parents[i]));
        family_init(&f[i], &parents[i].task, parents[i].num, 0, 2, 2);
        f[i].op.op = (struct store_op){ .verb = &offspring_few_verb, .done = on_few_done };
    }
    f[1].op.task.claim++;
    f[1].end.task.claim++;
    f[0].op.op.next = &f[1].op.op;
    f[1].op.op.next = &f[2].op.op;
    writers_submit_always(store_writers(s), &f[0].op.op, &f[2].op.op, PARENTS);
    for (int i = 0; i < PARENTS; i++)
        (void)sem_wait(&few_done);
    for (int i = 0; i < PARENTS; i++) {
        bool made = i != 1;

        CHECK(f[i].op.op.ok && f[i].op.result == (made ? OFFSPRING_MADE : OFFSPRING_LOST));
        CHECK(over(s, &parents[i], made ? DOCUMENT_DONE : DOCUMENT_RECEIVED));
        CHECK(is_progress(s, parents[i].num, made ? 2 : 0, made ? 2 : 0));
        CHECK(has_exactly(s, parents[i].num, made ? 2 : 0));
        family_done(&f[i]);
    }
    CHECK(all_is_well(s));
    store_close(s);
}

/* Who dies with claims at birth loses none: the next process finds the parts. */
TEST(parts_that_came_claimed_outlive_their_node)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent = doc_of(STR("envelope"));
    AUTO(family_done) struct family f;

    parent.claim_wanted = true;
    CHECK(s != NULL && accept_doc(s, &parent));
    family_init(&f, &parent.task, parent.num, 0, 2, 2);
    for (int i = 0; i < 2; i++)
        f.op.parts[i].claim_wanted = true;
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && all_is_well(s) && has_exactly(s, parent.num, 2));
    CHECK(run_children(s, 45) && ask(&h, "SELECT count(*) FROM doc") == 0);
    store_close(s);
}

/* proves: PR2 */
TEST(parts_come_in_chunks_and_the_last_one_ends_their_parent)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent = doc_of(STR("envelope"));

    parent.claim_wanted = true;
    parent.caller = 5;
    parent.head = STR("a head");
    CHECK(s != NULL && accept_doc(s, &parent) && is_progress(s, parent.num, 0, 0));
    for (int64_t from = 0; from < 7; from += 3) {
        AUTO(family_done) struct family f;
        size_t count = from < 6 ? 3 : 1;

        family_init(&f, &parent.task, parent.num, from, count, 7);
        CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE);
        CHECK(f.op.progress.made == from + (int64_t)count && f.op.progress.total == 7);
        CHECK(is_progress(s, parent.num, from + (int64_t)count, 7));
        for (size_t i = 0; i < count; i++)
            CHECK(is_child(s, &f.op.parts[i], &parent));
        CHECK(over(s, &parent, from < 6 ? DOCUMENT_RECEIVED : DOCUMENT_DONE));
        CHECK(from < 6 || (f.end.ours && f.end.over));
    }
    CHECK(has_exactly(s, parent.num, 7) && all_is_well(s));
    CHECK(places(s).ready == 7 && run_children(s, 45) && all_is_well(s));
    CHECK(has_exactly(s, parent.num, 7) && ask(&h, "SELECT count(*) FROM doc") == 0);
    store_close(s);
}

TEST(how_many_parts_there_are_may_be_known_at_the_end_only)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    AUTO(family_done) struct family last;

    CHECK(s != NULL && born_docs(s, &parent, 1));
    CHECK(make_parts(s, &parent, &parent.task, 0, 2, 0) && is_progress(s, parent.num, 2, 0));
    family_init(&last, &parent.task, parent.num, 2, 2, 0);
    last.op.end = &last.end;
    CHECK(family_commit(s, &last) && last.op.result == OFFSPRING_MADE);
    CHECK(is_progress(s, parent.num, 4, 4) && has_exactly(s, parent.num, 4));
    store_close(s);
}

/* A run that does not know that its commit was done.  proves: PR2 */
TEST(a_chunk_is_made_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    AUTO(family_done) struct family again, ahead, other;

    CHECK(s != NULL && born_docs(s, &parent, 1));
    CHECK(make_parts(s, &parent, &parent.task, 0, 3, 9));
    family_init(&again, &parent.task, parent.num, 0, 3, 9);
    CHECK(family_commit(s, &again) && again.op.result == OFFSPRING_ELSEWHERE);
    CHECK(again.op.progress.made == 3 && again.op.progress.total == 9);
    family_init(&ahead, &parent.task, parent.num, 6, 3, 9); /* with its end: nothing ends */
    CHECK(family_commit(s, &ahead) && ahead.op.result == OFFSPRING_ELSEWHERE);
    family_init(&other, &parent.task, parent.num, 3, 3, 9);
    other.op.config = FAMILY_VERSION + 1; /* another version may cut differently */
    CHECK(family_commit(s, &other) && other.op.result == OFFSPRING_ELSEWHERE);
    CHECK(other.op.progress.config == FAMILY_VERSION);
    CHECK(is_progress(s, parent.num, 3, 9) && children(&h, parent.num) == 3);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 4 && all_is_well(s));
    store_close(s);
}

TEST(without_its_claim_a_run_makes_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    struct task mine = { 0 }, all[3];
    AUTO(family_done) struct family late, end;

    CHECK(s != NULL && born_docs(s, &parent, 1) && make_parts(s, &parent, &parent.task, 0, 2, 4));
    CHECK(give_back(s, &parent.task));
    family_init(&late, &parent.task, parent.num, 2, 1, 4);
    CHECK(family_commit(s, &late) && late.op.result == OFFSPRING_LOST);
    CHECK(claim(s, 3, all) == 3); /* with its parts */
    for (int i = 0; i < 3; i++)
        mine = all[i].id == parent.num ? all[i] : mine;
    family_init(&end, &parent.task, parent.num, 2, 2, 4);
    CHECK(family_commit(s, &end) && end.op.result == OFFSPRING_LOST && !end.end.ours);
    CHECK(children(&h, parent.num) == 2 && over(s, &parent, DOCUMENT_RECEIVED));
    CHECK(make_parts(s, &parent, &mine, 2, 2, 4) && over(s, &parent, DOCUMENT_DONE));
    CHECK(has_exactly(s, parent.num, 4) && all_is_well(s));
    store_close(s);
}

static bool upload(struct store *s, struct str bytes, struct payload_ref *ret)
{
    struct upload *u = NULL;
    struct err err = { 0 };
    bool ok = upload_open(s, &u, &err) && upload_add(u, bytes, &err) && upload_finish(u, ret, &err);

    upload_close(u);
    return ok;
}

TEST(large_parts_are_uploaded_before_and_adopted)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    AUTO(family_done) struct family f, again;
    char *zeros = calloc(1, 2 << 20);
    struct str large = str_mem(zeros, 2 << 20);

    CHECK(s != NULL && born_docs(s, &parent, 1));
    family_init(&f, &parent.task, parent.num, 0, 3, 3);
    f.op.parts[1].bytes = (struct str){ 0 };
    f.op.parts[1].is_uploaded = true;
    f.op.parts[1].size = (int64_t)large.len;
    f.op.parts[1].sha256 = digest_of(large);
    CHECK(upload(s, large, &f.op.parts[1].uploaded));
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE);
    CHECK(has_exactly(s, parent.num, 3) && all_is_well(s)); /* reads every payload */
    /* An upload belongs to one document: the chunk that wants it too fails whole. */
    struct accept_op second;

    CHECK(born_docs(s, &second, 1));
    family_init(&again, &second.task, second.num, 0, 3, 3);
    again.op.parts[1] = f.op.parts[1];
    CHECK(!family_commit(s, &again));
    CHECK(children(&h, second.num) == 0 && is_progress(s, second.num, 0, 0));
    CHECK(over(s, &second, DOCUMENT_RECEIVED) && all_is_well(s));
    free(zeros);
    store_close(s);
}

/* As many as a chunk may have, and as many bytes. */
TEST(a_chunk_of_the_largest_size)
{
    enum { EACH = OFFSPRING_BYTES_MOST / OFFSPRING_PARTS_MOST };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    AUTO(family_done) struct family f;
    char *body = calloc(1, EACH);

    CHECK(s != NULL && born_docs(s, &parent, 1));
    family_init(&f, &parent.task, parent.num, 0, OFFSPRING_PARTS_MOST, OFFSPRING_PARTS_MOST);
    for (size_t i = 0; i < OFFSPRING_PARTS_MOST; i++) {
        f.op.parts[i].bytes = str_mem(body, EACH);
        f.op.parts[i].size = EACH;
        f.op.parts[i].sha256 = digest_of(f.op.parts[i].bytes);
    }
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE);
    CHECK(has_exactly(s, parent.num, OFFSPRING_PARTS_MOST) && all_is_well(s));
    free(body);
    store_close(s);
}

/* A document that becomes none. */
TEST(a_document_may_become_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;

    CHECK(s != NULL && born_docs(s, &parent, 1) && make_parts(s, &parent, &parent.task, 0, 0, 0));
    CHECK(over(s, &parent, DOCUMENT_DONE) && is_progress(s, parent.num, 0, 0));
    CHECK(ask(&h, "SELECT count(*) FROM offspring") == 0 && all_is_well(s));
    store_close(s);
}

static int64_t linked(struct store *s, int64_t parent, enum link_kind kind)
{
    struct link_child found[LINK_PAGE_MOST];
    struct err err = { 0 };
    size_t n = 0;

    (void)link_children(s, parent, kind, (struct link_child){ 0 }, found, LINK_PAGE_MOST, &n, &err);
    return (int64_t)n;
}

/* proves: PR5 */
TEST(copies_are_made_in_the_commit_that_ends_the_document)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    AUTO(family_done) struct family f;

    CHECK(s != NULL && born_docs(s, &parent, 1));
    family_init(&f, &parent.task, parent.num, 0, 5, 5);
    for (size_t i = 0; i < 5; i++)
        f.op.parts[i].kind = LINK_COPY;
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE && f.end.over);
    CHECK(linked(s, parent.num, LINK_COPY) == 5 && linked(s, parent.num, LINK_SPLIT) == 0);
    CHECK(is_progress(s, parent.num, 0, 0) && all_is_well(s));
    store_close(s);
}

TEST(an_answer_is_a_document_from_the_commit_of_its_attempt)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    struct settle_delivery p;
    struct task t;
    struct err err = { 0 };
    size_t n = 0;
    int64_t queue;
    AUTO(family_done) struct family f, split;

    CHECK(s != NULL && born_docs(s, &parent, 1) && queue_for(s, 32, 31, &queue, &err));
    p = part_of(STR("d"), queue, DELIVERY_READY);
    family_init(&split, &parent.task, parent.num, 0, 2, 2); /* it is sent and split, too */
    split.end = settle_of(&parent.task, parent.num, SETTLE_DELIVERIES);
    split.end.parts = &p;
    split.end.part_count = 1;
    CHECK(family_commit(s, &split) && split.op.result == OFFSPRING_MADE);
    CHECK(task_claim(s, queue, 1, LEASE_US, &t, &n, &err) && n == 1);
    family_init(&f, &t, parent.num, 0, 1, 1);
    f.op.parts[0].kind = LINK_ANSWER;
    p = part_of(STR("d"), queue, DELIVERY_DELIVERED);
    p.num = t.id;
    f.end = settle_of(&t, parent.num, SETTLE_DELIVERIES);
    f.end.parts = &p;
    f.end.part_count = 1;
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE && f.end.over);
    CHECK(linked(s, parent.num, LINK_ANSWER) == 1 && over(s, &parent, DOCUMENT_DELIVERED));
    CHECK(is_progress(s, parent.num, 2, 2) && places(s).ready == 3 && all_is_well(s));
    store_close(s);
}

/* ---- starting again ---- */

static bool retry(struct store *s, const struct id *id, int64_t version, bool again,
                  enum retry_from from)
{
    struct operate_order order = {
        .who = STR("test"), .keep_days = 45, .config = version, .again = again, .from = from
    };
    struct operate_target target = { .id = *id };
    struct operate_answer answer;
    struct err err = { 0 };

    return operate(s, OPERATE_RETRY, &target, 1, &order, &answer, &err) &&
           answer.result == OPERATE_DONE;
}

/* With the version that made the first parts: another one might cut it otherwise. */
TEST(a_dead_parent_goes_on_where_it_was)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent = doc_of(STR("whole"));
    struct settle_op dead;
    struct task t, parts[3];

    parent.config = FAMILY_VERSION;
    parent.claim_wanted = true;
    CHECK(s != NULL && accept_doc(s, &parent) && make_parts(s, &parent, &parent.task, 0, 3, 5));
    CHECK(claim(s, 3, parts) == 3);
    dead = settle_of(&parent.task, parent.num, SETTLE_DEAD);
    dead.code = STR("limit");
    dead.message = STR("too large");
    CHECK(settle_ops(s, &dead, 1));
    CHECK(retry(s, &parent.id, FAMILY_VERSION + 2, false, RETRY_ROUTE));
    CHECK(ask(&h, "SELECT min(config) FROM doc") == FAMILY_VERSION);
    CHECK(claim(s, 1, &t) == 1 && t.id == parent.num && make_parts(s, &parent, &t, 3, 2, 5));
    CHECK(has_exactly(s, parent.num, 5) && all_is_well(s));
    store_close(s);
}

TEST(a_document_that_starts_again_makes_its_parts_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    struct task t;

    CHECK(s != NULL);
    order_number(s, true);
    CHECK(born_docs(s, &parent, 1) && make_parts(s, &parent, &parent.task, 0, 3, 3));
    CHECK(run_children(s, 45) && retry(s, &parent.id, FAMILY_VERSION, true, RETRY_ROUTE));
    CHECK(is_progress(s, parent.num, 0, 0) && claim(s, 1, &t) == 1 && t.id == parent.num);
    CHECK(make_parts(s, &parent, &t, 0, 2, 4) && make_parts(s, &parent, &t, 2, 2, 4));
    CHECK(is_progress(s, parent.num, 4, 4) && children(&h, parent.num) == 7 && all_is_well(s));
    store_close(s);
}

static bool make_copies(struct store *s, const struct accept_op *parent, const struct task *t,
                        size_t count)
{
    AUTO(family_done) struct family f;

    family_init(&f, t, parent->num, 0, count, (int64_t)count);
    f.end.gateway = parent->gateway;
    f.end.seq = parent->seq;
    for (size_t i = 0; i < count; i++)
        f.op.parts[i].kind = LINK_COPY;
    return family_commit(s, &f) && f.op.result == OFFSPRING_MADE && f.end.over;
}

/* The first copies may not be routed yet: the places of an ordered document are theirs. */
TEST(a_document_that_starts_again_is_copied_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    struct task t[4];

    CHECK(s != NULL);
    order_number(s, true);
    CHECK(born_docs(s, &parent, 1) && make_copies(s, &parent, &parent.task, 3));
    CHECK(ask(&h, "SELECT count(*) FROM order_open") == 3);
    CHECK(retry(s, &parent.id, FAMILY_VERSION, true, RETRY_ROUTE));
    CHECK(claim(s, 4, t) == 4 && t[3].id == parent.num && make_copies(s, &parent, &t[3], 3));
    CHECK(linked(s, parent.num, LINK_COPY) == 6);
    CHECK(ask(&h, "SELECT count(*) FROM doc WHERE seq = 0 AND child IS NULL") == 3);
    store_close(s);
}

/* Its gateway never saw it: there is nothing to extract again. */
TEST(a_part_keeps_its_facts_when_it_starts_again)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    struct settle_op dead;
    struct task t;
    AUTO(family_done) struct family f;

    CHECK(s != NULL && born_docs(s, &parent, 1));
    family_init(&f, &parent.task, parent.num, 0, 1, 1);
    CHECK(family_commit(s, &f) && claim(s, 1, &t) == 1);
    dead = settle_of(&t, t.id, SETTLE_DEAD);
    dead.code = STR("no_route");
    dead.message = STR("nobody");
    CHECK(settle_ops(s, &dead, 1));
    CHECK(retry(s, &f.op.parts[0].id, FAMILY_VERSION, false, RETRY_EXTRACT));
    CHECK(ask(&h, "SELECT sender FROM doc") == 11 && ask(&h, "SELECT receiver FROM doc") == 12);
    CHECK(ask(&h, "SELECT count(*) FROM doc WHERE facts IS NOT NULL") == 1);
    store_close(s);
}

/* ---- search ---- */

TEST(parts_are_found_by_their_parent_page_by_page)
{
    enum { MANY = 700 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parents[2];

    CHECK(s != NULL && born_docs(s, parents, 2));
    for (int i = 0; i < 2; i++)
        CHECK(make_parts(s, &parents[i], &parents[i].task, 0, MANY, MANY));
    CHECK(has_exactly(s, parents[0].num, MANY) && has_exactly(s, parents[1].num, MANY));
    CHECK(listed(s, (struct document_filter){ .parent = parents[0].num, .sender = 11 }) ==
          DOCUMENTS_PAGE_MOST);
    CHECK(listed(s, (struct document_filter){ .parent = parents[0].num, .sender = 9 }) == 0);
    CHECK(run_children(s, 45) && has_exactly(s, parents[1].num, MANY));
    store_close(s);
}

/* ---- retention ---- */

TEST(parents_and_parts_are_purged_by_themselves)
{
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct accept_op parents[2];
    struct family f[2];

    CHECK(s != NULL && born_docs(s, parents, 2));
    for (int i = 0; i < 2; i++) {
        family_init(&f[i], &parents[i].task, parents[i].num, 0, 4, 4);
        f[i].end.keep_days = i == 0 ? OLD : 45; /* the first one goes before its parts */
        CHECK(family_commit(s, &f[i]) && f[i].op.result == OFFSPRING_MADE);
    }
    CHECK(purge(s, today() + OLD) == 1 && !is_there(s, &parents[0]));
    CHECK(ask(&h, "SELECT count(*) FROM offspring") == 1 && all_is_well(s));
    struct task t[8];
    struct settle_op ops[8];

    CHECK(claim(s, 8, t) == 8);
    for (int i = 0; i < 8; i++) { /* of each parent two parts go */
        ops[i] = settle_of(&t[i], t[i].id, SETTLE_OVER);
        ops[i].keep_days = i % 2 == 0 ? OLD : 45;
    }
    CHECK(settle_ops(s, ops, 8) && purge(s, today() + OLD) == 4 && all_is_well(s));
    CHECK(children(&h, parents[1].num) == 2 && is_progress(s, parents[1].num, 4, 4));
    CHECK(ask(&h, "SELECT gone FROM offspring") == 2);
    CHECK(listed(s, (struct document_filter){ .parent = parents[1].num }) == 2);
    CHECK(purge(s, today() + 45) == 5 && all_is_well(s)); /* four parts, one parent */
    CHECK(ask(&h, "SELECT count(*) FROM link") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM offspring") == 0);
    struct retain_bytes sum;

    CHECK(clean(s, &sum) && sum.damaged == 0);
    for (int i = 0; i < 2; i++)
        family_done(&f[i]);
    store_close(s);
}

/* ---- the doctor ---- */

static int64_t wrong_parts(struct store *s)
{
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r;
        struct err err = { 0 };

        if (strcmp(check_name(i), "parts") == 0)
            return check_run(s, i, false, &r, &err) ? r.bad : -1;
    }
    return -1;
}

TEST(the_doctor_compares_parts_with_the_progress)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parents[3];

    CHECK(s != NULL && born_docs(s, parents, 3));
    for (int i = 0; i < 3; i++)
        CHECK(make_parts(s, &parents[i], &parents[i].task, 0, 2, 3));
    CHECK(wrong_parts(s) == 0);
    CHECK(tell(&h, "DELETE FROM link WHERE child = (SELECT min(child) FROM link)"));
    CHECK(wrong_parts(s) == 1); /* one is missing */
    CHECK(tell(&h, "INSERT INTO link(parent, kind, child) SELECT max(parent), 5, 1 FROM link"));
    CHECK(wrong_parts(s) == 2); /* one too many */
    CHECK(tell(&h, "UPDATE offspring SET made = 4, gone = 2 WHERE total = 3"));
    CHECK(wrong_parts(s) == 3); /* more than there are */
    store_close(s);
}

/* ---- crashes ---- */

enum { PARENTS = 6, PARTS = 10, CHUNK = 4 };

/* One run of a parent: goes on where the store is. */
static bool split_whole(struct store *s, const struct task *t, bool tells)
{
    struct offspring_progress p;
    struct err err = { 0 };
    struct accept_op parent = { .num = t->id, .gateway = 1 };

    if (!offspring_get(s, t->id, &p, &err))
        return false;
    while (p.made < PARTS) {
        size_t n = PARTS - p.made < CHUNK ? (size_t)(PARTS - p.made) : CHUNK;

        if (!make_parts(s, &parent, t, p.made, n, PARTS))
            return false;
        p.made += (int64_t)n;
        if (tells)
            printf("told %lld %lld\n", (long long)t->id, (long long)p.made);
    }
    return true;
}

static bool split_all(struct store *s, bool tells)
{
    static struct settle_op done[PARENTS * PARTS];
    struct task t[TASK_CLAIM_MOST];
    int n;

    while ((n = claim(s, PARENTS, t)) > 0)
        for (int i = 0; i < n; i++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
            struct document d;
            struct err err = { 0 };
            bool found;

            if (!document_numbered(s, t[i].id, &a, &d, &found, &err) || !found)
                return false;
            done[0] = settle_of(&t[i], t[i].id, SETTLE_OVER);
            if (d.facts.len > 0 ? !settle_ops(s, done, 1) : !split_whole(s, &t[i], tells))
                return false;
        }
    return n == 0;
}

CHILD(split_and_tell)
{
    struct store *s = open_store(h);

    (void)arg;
    if (s == NULL || !split_all(s, true))
        return 1;
    store_close(s);
    return 0;
}

/* Nothing that was told is missing. */
static bool kept_told(struct store *s, struct str said)
{
    struct str line;

    while (said.len > 0) {
        said = str_cut(said, '\n', &line);
        long long doc = 0, made = 0;
        char text[80];

        (void)snprintf(text, sizeof text, "%.*s", STR_ARG(line));
        if (sscanf(text, "told %lld %lld", &doc, &made) == 2 && progress(s, doc).made < made)
            return false;
    }
    return true;
}

/* proves: PR2 PR13 */
TEST(killed_anywhere_every_parent_has_exactly_its_parts)
{
    static const char *const points[] = { "parts.written",   "parts.counted", "parts.committed",
                                          "group.committed", "group.commit",  "settle.written" };

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        for (int pass = 1; pass <= 3; pass++) {
            AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
            struct home h = fresh_home();
            struct store *s = open_store(&h);
            struct accept_op parents[PARENTS];
            char fault[80];

            for (int k = 0; k < PARENTS; k++)
                parents[k] = doc_of(STR("whole"));
            CHECK(s != NULL && accept_docs(s, parents, PARENTS));
            store_close(s);
            (void)snprintf(fault, sizeof fault, "%s:kill:%d", points[i], pass);
            CHECK(was_killed(run_child("split_and_tell", &h, fault, "", &said)));
            s = open_store(&h);
            CHECK(s != NULL && kept_told(s, buf_view(&said)) && all_is_well(s));
            CHECK(split_all(s, false));
            for (int k = 0; k < PARENTS; k++)
                CHECK(has_exactly(s, parents[k].num, PARTS) && over(s, &parents[k], DOCUMENT_DONE));
            CHECK(ask(&h, "SELECT count(*) FROM doc") == 0 && all_is_well(s));
            store_close(s);
        }
}

/* A document that is being made into parts is claimed like any other: who holds it too long is
 * reported, and what a dead node held goes on elsewhere.  proves: QC5 */
TEST(a_parent_that_is_stuck_is_reported_and_goes_on)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct overdue late[OVERDUE_MOST];
    struct accept_op parent = doc_of(STR("whole"));
    struct err err = { 0 };
    struct task t;
    size_t n = 0;

    CHECK(s != NULL && accept_doc(s, &parent));
    CHECK(task_claim(s, QUEUE_INTAKE, 1, 1, &t, &n, &err) && n == 1);
    CHECK(make_parts(s, &parent, &t, 0, CHUNK, PARTS));
    clock_sleep_us(2);
    CHECK(overdue_claims(s, late, &n, &err) && n == 1 && late[0].doc == parent.num);
    store_close(s);
    s = open_store(&h); /* the next process in its folder takes over */
    CHECK(s != NULL && claim(s, 1, &t) == 1 && t.id == parent.num);
    CHECK(split_whole(s, &t, false) && has_exactly(s, parent.num, PARTS));
    CHECK(overdue_claims(s, late, &n, &err) && n == 0 && all_is_well(s));
    store_close(s);
}

TEST(postgres_the_parts_of_a_dead_node_go_on_at_another)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct accept_op parent;
    struct err err = { 0 };
    struct task t;
    int64_t moved;
    AUTO(family_done) struct family f;

    CHECK(a != NULL && b != NULL && born_docs(a, &parent, 1));
    CHECK(make_parts(a, &parent, &parent.task, 0, CHUNK, PARTS));
    CHECK(tell(&h, "UPDATE node SET alive_until_us = 0 WHERE node_id = (SELECT min(node_id) FROM "
                   "task_lease)"));
    CHECK(rescue_dead_nodes(b, &moved, &err) && moved == 1);
    CHECK(claim(b, 1, &t) == 1 && t.id == parent.num);
    family_init(&f, &parent.task, parent.num, CHUNK, CHUNK, PARTS);
    CHECK(!family_commit(a, &f) || f.op.result == OFFSPRING_LOST);
    CHECK(split_whole(b, &t, false) && has_exactly(b, parent.num, PARTS) && all_is_well(b));
    store_close(a);
    store_close(b);
}

STORE_TEST_MAIN
