/* A step makes documents out of one: chunks, what a second run leaves out, generations. */
#include "engine/walk/answer_doc.h"
#include "engine/walk/born.h"
#include "engine/walk/parts.h"

#include <dirent.h>

#include "base/auto.h"
#include "core/part.h"
#include "engine/run/send.h"
#include "engine/run/settling.h"
#include "store/govern/record_table.h"
#include "store/road/accept.h"
#include "store/road/offspring.h"
#include "store/search/document.h"
#include "walk_scene.h"

enum { SECONDS = 60 };

/* An accepted document with its claim. */
static struct accept_op accepted(struct scene *s, struct str body, bool claim)
{
    struct accept_op op = { .gateway = s->plan->gateways[0].word,
                            .config = 1,
                            .received_us = clock_wall_us(),
                            .size = (int64_t)body.len,
                            .sha256 = digest_of(body),
                            .body = body,
                            .claim_wanted = claim };
    struct err err = { 0 };

    require(writers_call(store_writers(s->store), &accept_verb, &op.op, &err));
    require(op.result == ACCEPT_STORED && op.claimed == claim);
    return op;
}

/* A flight of it, as the claimer would load it. */
static struct flight *flight_of_doc(struct scene *s, const struct accept_op *a, struct str body)
{
    struct flight *f = scene_flight(s, "", 0);
    struct err err = { 0 };

    f->settle.task = a->task;
    f->source = (struct payload_source){
        .id = a->id, .num = a->num, .size = a->size, .sha256 = a->sha256, .place = a->place
    };
    f->received.source = f->source;
    (void)id_text(&a->id, f->id);
    f->source.size = f->received.source.size = (int64_t)body.len;
    require(buf_append(&f->received.buf, body, &err));
    f->may_block = true;
    (void)atomic_fetch_add(&s->road->flights, 1);
    return f;
}

static bool road_is_left(struct scene *s)
{
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; clock_mono_us() < until;) {
        if (road_is_empty(s->road))
            return true;
        clock_sleep_us(1000);
    }
    return false;
}

static bool settles(struct scene *s, struct flight *f)
{
    {
        OUTBOX(out, s->road);

        settle_flight(f, &out);
    }
    return road_is_left(s);
}

static struct offspring_progress progress(struct scene *s, int64_t doc)
{
    struct offspring_progress p = { 0 };
    struct err err = { 0 };

    require(offspring_get(s->store, doc, &p, &err));
    return p;
}

/* How many documents are parts of this one; *ret: the last one that was made. */
static int children(struct scene *s, int64_t parent, struct document *ret, struct arena *a)
{
    struct document_filter filter = { .parent = parent };
    struct document *docs = ARENA_ARRAY(a, struct document, DOCUMENTS_PAGE_MOST);
    int64_t next = 0;
    struct err err = { 0 };
    size_t count;
    int n = 0;

    do {
        require(document_list(s->store, &filter, next, DOCUMENTS_PAGE_MOST, a, docs, &count, &next,
                              &err));
        if (n == 0 && count > 0)
            *ret = docs[0];
        n += (int)count;
    } while (next != 0);
    return n;
}

TEST(parts_are_made_in_the_commit_that_ends_their_parent)
{
    struct scene s = scene_open("{ bang: {} }, { cut: {} }, { deliver: out }");
    struct str body = STR("one\ntwo\nthree");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body);
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last = { 0 };

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && f->leg_count == 0);
    CHECK(parts_count(f) == 3 && scene_says(f, "made 3 documents of it"));
    CHECK(progress(&s, a.num).made == 0); /* nothing yet */
    CHECK(settles(&s, f));
    CHECK(progress(&s, a.num).made == 3 && progress(&s, a.num).total == 3);
    CHECK(children(&s, a.num, &last, &arena) == 3);
    CHECK(last.source.size == 6 && last.receiver != 0 && last.type != 0); /* "three!" */
    arena_done(&arena);
    scene_close(&s);
}

/* As on a node with routes, and no document that waits. */
static void parts_may_begin(struct scene *s)
{
    road_use(s->road, s->plan);
    atomic_store(&s->road->backlog, false);
}

/* Settles the flight of a parent, and takes the flights that began with it. */
static size_t settle_and_take(struct scene *s, struct flight *f, int64_t others,
                              struct flight **ret, size_t most)
{
    {
        OUTBOX(out, s->road);

        settle_flight(f, &out);
    }
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; clock_mono_us() < until;) {
        size_t queued = atomic_load(&s->road->queue.count);

        if (atomic_load(&s->road->flights) == others + (int64_t)queued)
            return queued > 0 ? road_take(s->road, ret, most) : 0;
        clock_sleep_us(1000);
    }
    return 0;
}

/* It is as if the claimer had loaded it from the store. */
static bool is_as_stored(struct scene *s, struct flight *f)
{
    struct document_look look = { .num = f->source.num, .arena = &f->arena };
    struct flight *loaded = flight_new(road_stock(s->road));
    const struct document *d = &look.document;
    struct err err = { 0 };

    require(document_find(s->store, &look, 1, &err) && look.found);
    loaded->plan = plan_ref(s->plan);
    flight_fill(loaded, d);
    flight_begin_run(loaded, d);
    struct variant *v = &loaded->received;
    bool same = strcmp(f->id, loaded->id) == 0 && f->has_facts && loaded->has_facts &&
                str_eq(f->facts.receiver, loaded->facts.receiver) &&
                str_eq(f->facts.type, loaded->facts.type) &&
                f->facts.generation == loaded->facts.generation &&
                f->facts.attribute_count == loaded->facts.attribute_count &&
                f->seq == loaded->seq && f->child == loaded->child && f->config == loaded->config &&
                f->gateway == loaded->gateway && f->received_us == loaded->received_us &&
                variant_load(loaded, v, &err) &&
                str_eq(buf_view(&f->received.buf), buf_view(&v->buf));

    flight_free(loaded);
    return same;
}

TEST(parts_that_have_room_are_claimed_in_the_commit_that_makes_them)
{
    struct scene s = scene_open("{ bang: {} }, { cut: {} }, { deliver: out }");
    struct str body = STR("one\ntwo\nthree");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body), *born[4];
    struct task task;
    struct err err = { 0 };
    size_t count;

    parts_may_begin(&s);
    CHECK(walk(f) == WALK_ENDS);
    CHECK(settle_and_take(&s, f, 0, born, 4) == 3 && !atomic_load(&s.road->backlog));
    CHECK(task_claim(s.store, QUEUE_INTAKE, 1, CLOCK_S, &task, &count, &err) && count == 0);
    for (size_t i = 0; i < 3; i++) {
        CHECK(born[i]->was_born && is_as_stored(&s, born[i]));
        CHECK(task_finish(s.store, &born[i]->settle.task, &(bool){ false }, &err));
        road_gone(born[i]);
    }
    CHECK(road_is_empty(s.road) && atomic_load(&s.road->bytes) == 0);
    scene_close(&s);
}

TEST(parts_without_room_wait_in_the_store)
{
    struct scene s = scene_open("{ cut: {} }");
    struct str body = STR("one\ntwo\nthree");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body), *born[4];
    struct task tasks[4];
    struct err err = { 0 };
    size_t count;
    int64_t others = BORN_FLIGHTS_MOST - 2; /* with the parent there is room for one */

    parts_may_begin(&s);
    (void)atomic_fetch_add(&s.road->flights, others);
    CHECK(walk(f) == WALK_ENDS);
    CHECK(settle_and_take(&s, f, others, born, 4) == 1 && atomic_load(&s.road->backlog));
    CHECK(task_claim(s.store, QUEUE_INTAKE, 4, CLOCK_S, tasks, &count, &err) && count == 2);
    CHECK(str_is(buf_view(&born[0]->received.buf), "one"));
    road_gone(born[0]);
    CHECK(atomic_load(&s.road->flights) == others);
    (void)atomic_fetch_sub(&s.road->flights, others);
    scene_close(&s);
}

/* The claim of the parent was lost: nothing is made, and the room for flights is free again. */
TEST(parts_that_are_not_made_leave_their_room)
{
    struct scene s = scene_open("{ cut: {} }");
    struct str body = STR("one\ntwo");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body);

    parts_may_begin(&s);
    f->settle.task.claim++;
    CHECK(walk(f) == WALK_ENDS && settles(&s, f));
    CHECK(atomic_load(&s.road->bytes) == 0 && progress(&s, a.num).made == 0);
    scene_close(&s);
}

TEST(a_second_run_leaves_out_what_is_committed)
{
    enum { LINES = 2500, FAILS_AT = 2300 };
    struct scene s = scene_open("{ cut: {} }");
    struct buf text = BUF_INIT(1 << 20);
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last;

    for (int i = 1; i <= LINES; i++)
        buf_printf(&text, i < LINES ? "line %d\n" : "line %d", i);
    struct accept_op a = accepted(&s, buf_view(&text), true);
    struct flight *f = flight_of_doc(&s, &a, buf_view(&text));

    cut_fails_at = FAILS_AT;
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_DEAD && f->parts == NULL);
    CHECK(progress(&s, a.num).made == 2 * OFFSPRING_PARTS_MOST);
    scene_end(f);
    (void)atomic_fetch_sub(&s.road->flights, 1);
    cut_fails_at = 0;
    f = flight_of_doc(&s, &a, buf_view(&text)); /* the claim is as it was: nothing was settled */
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && parts_count(f) == LINES);
    CHECK(settles(&s, f));
    CHECK(progress(&s, a.num).made == LINES && progress(&s, a.num).total == LINES);
    CHECK(children(&s, a.num, &last, &arena) == LINES);
    arena_done(&arena);
    buf_done(&text);
    scene_close(&s);
}

static void import_record(struct scene *s, const char *key, const char *value)
{
    const struct record_put one = { str_of(key), str_of(value) };
    struct err err = { 0 };
    int64_t set, changed;

    require(record_set_id(s->store, STR("codes"), &set, &err) &&
            records_import(s->store, set, &one, 1, &changed, &err) && changed == 1);
}

#define ENRICH "{ enrich: { set: codes, key: \"json:/by\", into: /code, missing: pass } }"

/* One line more than a commit has. */
static void put_long_document(struct buf *to)
{
    buf_puts(to, "{\"by\":\"a\",\"all\":[");
    for (int i = 0; i < OFFSPRING_PARTS_MOST; i++)
        buf_puts(to, "1,\n");
    buf_puts(to, "1]}");
}

/* The next run could read another record, and make other parts than those that exist.
 * proves: PR16 */
TEST(what_was_read_is_kept_before_the_first_parts_are_committed)
{
    struct scene s = scene_open(ENRICH ", { cut: {} }");
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

    put_long_document(&text);
    import_record(&s, "a", "\"old\"");
    struct accept_op a = accepted(&s, buf_view(&text), true);
    struct flight *f = flight_of_doc(&s, &a, buf_view(&text));
    struct err err = { 0 };

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_AGAIN && f->delayed && f->parts == NULL);
    CHECK(f->made_count == 1 && f->made[0]->is_of_record && f->made[0]->is_kept);
    CHECK(progress(&s, a.num).made == 0);
    CHECK(variants_seal(f, &err));
    CHECK(str_is(f->made[0]->line.message, "the bytes from here on, in the next run too"));
    scene_end(f);
    (void)atomic_fetch_sub(&s.road->flights, 1);
    scene_close(&s);
}

/* proves: PR16 */
TEST(what_was_not_there_is_not_looked_for_again)
{
    struct scene s = scene_open(ENRICH ", { cut: {} }");
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

    put_long_document(&text);
    struct accept_op a = accepted(&s, buf_view(&text), true);
    struct flight *f = flight_of_doc(&s, &a, buf_view(&text));

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_AGAIN && f->parts == NULL);
    CHECK(progress(&s, a.num).made == 0);
    import_record(&s, "a", "\"new\"");
    struct flight *next = flight_of_doc(&s, &a, buf_view(&text));

    next->past = buf_view(&f->timeline);
    CHECK(walk(next) == WALK_ENDS && next->settle.end == SETTLE_OVER && next->made_count == 0);
    CHECK(scene_says(next, "not read again") && next->reads_records);
    CHECK(parts_count(next) == OFFSPRING_PARTS_MOST + 1);
    (void)atomic_fetch_sub(&s.road->flights, 1); /* the first one */
    CHECK(settles(&s, next) && progress(&s, a.num).made == OFFSPRING_PARTS_MOST + 1);
    scene_end(f);
    scene_close(&s);
}

/* A person has started it again, so nothing that was kept counts: the others would not fit. */
TEST(parts_of_another_record_are_not_mixed)
{
    struct scene s = scene_open(ENRICH ", { cut: {} }");
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last;

    put_long_document(&text);
    struct accept_op a = accepted(&s, buf_view(&text), true);
    struct flight *f = flight_of_doc(&s, &a, buf_view(&text)), *next;

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_AGAIN);
    next = flight_of_doc(&s, &a, buf_view(&text));
    next->past = buf_view(&f->timeline);
    CHECK(walk(next) == WALK_ENDS && progress(&s, a.num).made == OFFSPRING_PARTS_MOST);
    parts_drop(next);
    scene_end(next);
    import_record(&s, "a", "\"new\"");
    next = flight_of_doc(&s, &a, buf_view(&text)); /* without its past */
    CHECK(walk(next) == WALK_ENDS && next->dead == DEAD_SERVICE_FAILED);
    CHECK(strstr(next->message, "1000 parts of it exist") != NULL);
    CHECK(children(&s, a.num, &last, &arena) == OFFSPRING_PARTS_MOST);
    scene_end(next);
    scene_end(f);
    (void)atomic_fetch_sub(&s.road->flights, 3);
    arena_done(&arena);
    scene_close(&s);
}

/* One commit has all of them: nothing has to be kept for it. */
TEST(parts_of_one_commit_are_made_at_once)
{
    struct scene s = scene_open(ENRICH ", { cut: {} }");
    struct str body = STR("{\"by\":\"a\",\n\"all\":[\n1]}");

    import_record(&s, "a", "\"old\"");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body);

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && parts_count(f) == 3);
    CHECK(!f->made[0]->is_kept && settles(&s, f));
    scene_close(&s);
}

TEST(parts_of_another_version_are_not_mixed)
{
    struct scene s = scene_open("{ cut: {} }");
    struct buf text = BUF_INIT(1 << 20);

    for (int i = 0; i < 1500; i++)
        buf_printf(&text, "line %d\n", i);
    struct accept_op a = accepted(&s, buf_view(&text), true);
    struct flight *f = flight_of_doc(&s, &a, buf_view(&text));

    cut_fails_at = 1400;
    CHECK(walk(f) == WALK_ENDS && progress(&s, a.num).made == OFFSPRING_PARTS_MOST);
    scene_end(f);
    cut_fails_at = 0;
    f = flight_of_doc(&s, &a, buf_view(&text));
    f->config = 2;
    CHECK(walk(f) == WALK_ENDS && f->dead == DEAD_SERVICE_FAILED);
    CHECK(strstr(f->message, "version 1 has made 1000 parts") != NULL);
    scene_end(f);
    (void)atomic_fetch_sub(&s.road->flights, 2);
    buf_done(&text);
    scene_close(&s);
}

TEST(a_large_part_is_in_the_store_before_its_row)
{
    struct scene s = scene_open("{ wide: {} }, { cut: {} }");
    char body[30001] = { 0 };
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last = { 0 };

    memset(body, 'x', sizeof body - 1);
    struct accept_op a = accepted(&s, str_of(body), true);
    struct flight *f = flight_of_doc(&s, &a, str_of(body));

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && settles(&s, f));
    CHECK(children(&s, a.num, &last, &arena) == 1);
    CHECK(last.source.size == (int64_t)(sizeof body - 1) * WIDE);
    arena_done(&arena);
    scene_close(&s);
}

/* Files of payloads that are not in segments. */
static int large_files(const struct scene *s)
{
    char path[300];
    int count = 0;

    (void)snprintf(path, sizeof path, "%s/large", s->folder.path);
    DIR *folder = opendir(path);

    require(folder != NULL);
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        count += e->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

/* A chunk with a large part is in the air, and is refused: its bytes would have no row.
 * proves: PR2 */
TEST(a_chunk_that_is_refused_leaves_no_bytes_behind)
{
    enum { LARGE = SEGMENT_PAYLOAD_MOST + 1, LINES = OFFSPRING_PARTS_MOST + 500 };
    struct scene s = scene_open("{ cut: {} }");
    struct buf text = BUF_INIT(4 << 20);
    struct accept_op a = accepted(&s, STR("small"), true);
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last;

    for (int i = 0; i < LARGE; i++)
        buf_putc(&text, 'x');
    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "\nline %d", i);
    struct flight *f = flight_of_doc(&s, &a, buf_view(&text));

    f->settle.task.claim++; /* as if another node had taken it over */
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_AGAIN && f->parts == NULL);
    CHECK(strstr(f->message, "claim was lost") != NULL);
    CHECK(large_files(&s) == 0 && children(&s, a.num, &last, &arena) == 0);
    scene_end(f);
    (void)atomic_fetch_sub(&s.road->flights, 1);
    f = flight_of_doc(&s, &a, buf_view(&text)); /* with the claim, the same bytes are kept */
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && settles(&s, f));
    CHECK(large_files(&s) == 1 && children(&s, a.num, &last, &arena) == LINES + 1);
    arena_done(&arena);
    buf_done(&text);
    scene_close(&s);
}

/* A step that was answered, before the step that made the parts. */
TEST(answers_are_made_with_the_last_parts_or_alone)
{
    static const char *const chains[] = { "{ cut: {} }", "{ bang: {} }" };

    for (int i = 0; i < 2; i++) {
        struct scene s = scene_open(chains[i]);
        struct str body = STR("one\ntwo");
        struct accept_op a = accepted(&s, body, true);
        struct flight *f = flight_of_doc(&s, &a, body);
        struct arena arena = ARENA_INIT(64 << 20);
        struct plan_answer rule = { .name = STR("orders:1"), .type = STR("reply") };
        struct answer_doc doc = {
            .rule = &rule, .config = 1, .came = ANSWER_CAME, .bytes = STR("yes, certainly")
        };
        struct document last = { 0 };

        CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER);
        answer_doc_add(f, &doc);
        CHECK(settles(&s, f));
        CHECK(children(&s, a.num, &last, &arena) == (i == 0 ? 3 : 1));
        CHECK(last.source.size == 14); /* it is the last one that was made */
        CHECK(progress(&s, a.num).made == (i == 0 ? 2 : 0));
        arena_done(&arena);
        scene_close(&s);
    }
}

/* A run that is repeated makes its answers then. */
TEST(a_dead_document_makes_no_answers)
{
    struct scene s = scene_open("{ cut: {} }");
    struct str body = STR("one\ntwo");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body);
    struct arena arena = ARENA_INIT(64 << 20);
    struct plan_answer rule = { .name = STR("orders:1") };
    struct answer_doc doc = { .rule = &rule, .came = ANSWER_CAME, .bytes = STR("yes") };
    struct document last = { 0 };

    road_use(s.road, s.plan); /* asked whether it has an answer for a dead letter */
    cut_fails_at = 1;
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_DEAD);
    cut_fails_at = 0;
    answer_doc_add(f, &doc);
    CHECK(settles(&s, f) && children(&s, a.num, &last, &arena) == 0);
    arena_done(&arena);
    scene_close(&s);
}

/* proves: RO9 */
TEST(documents_that_make_each_other_end)
{
    struct scene s = scene_open("{ cut: {} }");
    struct arena arena = ARENA_INIT(64 << 20);
    struct document doc = { 0 };
    int64_t num = accepted(&s, STR("round"), false).num;
    int generations = 0;
    bool loop = false;

    road_use(s.road, s.plan);
    road_run(s.road);
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; !loop && clock_mono_us() < until;) {
        arena_reset(&arena);
        clock_sleep_us(1000);
        if (children(&s, num, &doc, &arena) != 1)
            continue;
        if (generations == PART_GENERATION_MOST - 1) {
            loop = str_is(doc.code, "loop");
        } else {
            num = doc.source.num;
            generations++;
        }
    }
    CHECK(generations == PART_GENERATION_MOST - 1 && loop);
    arena_done(&arena);
    scene_close(&s);
}

/* ---- copies ---- */

TEST(each_subscriber_gets_one_copy_in_the_commit_that_ends_the_document)
{
    struct scene s = scene_open("{ bang: {} }, { subscribe: [ all, others, notes ] }");
    struct str body = STR("one");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body);
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last = { 0 };

    f->may_block = false; /* small bytes need no such thread */
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && f->leg_count == 0);
    CHECK(scene_says(f, "a copy for each of 3 subscribers"));
    CHECK(children(&s, a.num, &last, &arena) == 0); /* nothing yet */
    CHECK(settles(&s, f));
    CHECK(children(&s, a.num, &last, &arena) == 3 && progress(&s, a.num).made == 0);
    CHECK(last.source.size == 4);                              /* "one!" */
    CHECK(str_is(name_text(s.store, last.receiver), "south")); /* the last by name */
    arena_done(&arena);
    scene_close(&s);
}

TEST(without_a_subscriber_the_document_is_done)
{
    struct scene s = scene_open("{ subscribe: others }");
    struct str body = STR("one");
    struct accept_op a = accepted(&s, body, true);
    struct flight *f = flight_of_doc(&s, &a, body);

    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && f->parts == NULL);
    CHECK(scene_says(f, "nobody gets a copy"));
    CHECK(settles(&s, f));
    scene_close(&s);
}

/* What does not fit into the commit is uploaded before, on a thread that may block. */
TEST(copies_of_large_bytes_have_uploads_of_their_own)
{
    struct scene s = scene_open("{ wide: {} }, { subscribe: all }");
    char body[30001] = { 0 };
    struct arena arena = ARENA_INIT(64 << 20);
    struct document last = { 0 };

    memset(body, 'x', sizeof body - 1);
    struct accept_op a = accepted(&s, str_of(body), true);
    struct flight *f = flight_of_doc(&s, &a, str_of(body));

    f->may_block = false;
    CHECK(walk(f) == WALK_WAITS && f->walk.need == WALK_NEEDS_THREAD);
    f->may_block = true;
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && settles(&s, f));
    CHECK(children(&s, a.num, &last, &arena) == 2);
    CHECK(last.source.size == (int64_t)(sizeof body - 1) * WIDE);
    CHECK(last.source.place.seg == PAYLOAD_IN_FILE);
    arena_done(&arena);
    scene_close(&s);
}

TEST(a_dry_walk_says_who_would_get_a_copy)
{
    struct scene s = scene_open("{ bang: {} }, { subscribe: [ notes, all ] }");
    struct flight *f = scene_flight(&s, "one", 0);

    f->dry = true;
    CHECK(walk(f) == WALK_ENDS && f->parts == NULL && f->copies.count == 3);
    CHECK(str_is(f->copies.receivers[0], "hub") && str_is(f->copies.receivers[2], "south"));
    CHECK(str_is(buf_view(&f->copies.bytes->buf), "one!"));
    scene_end(f);
    scene_close(&s);
}

int main(void)
{
    return test_main();
}
