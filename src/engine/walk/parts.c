#include "engine/walk/parts.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/digest.h"
#include "core/part.h"
#include "engine/flight/bytes.h"
#include "engine/flight/caught.h"
#include "engine/flight/step_io.h"
#include "engine/road/naming.h"
#include "engine/road/state.h"
#include "engine/walk/born.h"
#include "store/road/offspring.h"
#include "store/store.h"

/* Of a chunk: the facts of each part have a limit of their own. */
#define CHUNK_FACTS_MOST ((size_t)OFFSPRING_PARTS_MOST * 2 * FACTS_BYTES_MOST)

enum {
    ROOM_FIRST = 16,
    RIPE_PARTS = BORN_FLIGHTS_MOST / 2, /* two chunks of these are aloft at a time */
    WAIT_FOR_ROOM_US = 250 * CLOCK_MS,
};

struct chunk {
    struct offspring_op op;
    struct parts *of;
    struct offspring_part *list; /* op.count of them */
    size_t *from;                /* where the bytes of each begin */
    size_t room;
    size_t answers; /* the last so many of op.count */
    struct buf bytes;
    struct arena arena; /* facts and names */
    bool in_air;        /* it is being committed; under the mutex of the parts */
};

struct parts {
    struct flight *flight;
    struct chunk chunks[2], *now; /* now: it is being filled; the other one may be in the air */
    int64_t begun;                /* parts so far ... */
    int64_t had;                  /* ... and those that an earlier run committed */
    int64_t committed;
    int64_t total;   /* as the service says; 0: it does not know */
    struct str same; /* copies: what is not uploaded has these bytes; ptr NULL: parts */
    void (*settled)(struct store_op *op);
    bool crowded; /* parts have no room for their flights, and go to the store */

    /* The part that is being made. */
    bool open;
    int64_t size;
    struct upload *upload; /* NULL: its bytes are in the chunk */
    struct digest digest;

    pthread_mutex_t mutex;
    pthread_cond_t landed;
};

static bool leaves_out(const struct parts *p)
{
    return p->flight->dry || p->begun <= p->had;
}

/* ---- chunks ---- */

static void chunk_clear(struct chunk *c)
{
    c->op.count = 0;
    buf_clear(&c->bytes);
    arena_reset(&c->arena);
}

static struct offspring_part *chunk_add(struct chunk *c)
{
    if (c->op.count == c->room) {
        c->room = c->room == 0 ? ROOM_FIRST : 2 * c->room;
        c->list = xrealloc(c->list, c->room * sizeof *c->list);
        c->from = xrealloc(c->from, c->room * sizeof *c->from);
    }
    c->from[c->op.count] = c->bytes.len;
    return &c->list[c->op.count++];
}

/* The room for a part that fits into a segment is kept free. */
static bool chunk_is_full(const struct chunk *c)
{
    return c->op.count == OFFSPRING_PARTS_MOST ||
           c->bytes.len + SEGMENT_PAYLOAD_MOST > OFFSPRING_BYTES_MOST ||
           c->arena.used > OFFSPRING_BYTES_MOST;
}

/* Of a chunk that was not committed. */
static void chunk_drop_uploads(struct chunk *c)
{
    for (size_t i = 0; i + c->answers < c->op.count; i++)
        if (c->list[i].is_uploaded)
            upload_drop(c->of->flight->road->store, c->list[i].uploaded);
}

static void chunk_fill(struct chunk *c)
{
    const struct parts *p = c->of;
    const struct flight *f = p->flight;

    for (size_t i = 0; i < c->op.count; i++)
        if (!c->list[i].is_uploaded)
            c->list[i].bytes = p->same.ptr != NULL
                                   ? p->same
                                   : str_mem(c->bytes.ptr + c->from[i], (size_t)c->list[i].size);
    c->op = (struct offspring_op){ .op = { .verb = &offspring_verb },
                                   .task = f->settle.task,
                                   .doc = f->source.num,
                                   .config = f->config,
                                   .from = p->committed,
                                   .total = p->total,
                                   .parts = c->list,
                                   .count = c->op.count };
}

/* ---- commits ---- */

/* On a writer's thread. */
static void chunk_landed(struct store_op *op)
{
    struct chunk *c = container_of(op, struct chunk, op.op);
    struct parts *p = c->of;

    born_begin(p->flight, &c->op);
    (void)pthread_mutex_lock(&p->mutex);
    c->in_air = false;
    (void)pthread_cond_signal(&p->landed);
    (void)pthread_mutex_unlock(&p->mutex);
}

static struct chunk *other_chunk(struct parts *p)
{
    return p->now == &p->chunks[0] ? &p->chunks[1] : &p->chunks[0];
}

static bool chunk_is_made(struct parts *p, struct chunk *c, struct err *err)
{
    if (!c->op.op.ok) {
        *err = c->op.op.err;
        if (err->kind == ERR_PERMANENT) /* of the store, not of its payload */
            err->kind = ERR_TRANSIENT;
        return false;
    }
    if (c->op.result != OFFSPRING_MADE)
        return err_set(err, ERR_TRANSIENT, 0, "its claim was lost while parts were made of it");
    p->committed += (int64_t)c->op.count;
    return true;
}

/* Waits for the chunk in the air, and empties it.  False: it was not committed. */
static bool land(struct parts *p, struct err *err)
{
    struct chunk *c = other_chunk(p);

    (void)pthread_mutex_lock(&p->mutex);
    while (c->in_air)
        (void)pthread_cond_wait(&p->landed, &p->mutex);
    (void)pthread_mutex_unlock(&p->mutex);
    bool ok = c->op.count == 0 || chunk_is_made(p, c, err);

    if (!ok)
        chunk_drop_uploads(c);
    chunk_clear(c);
    return ok;
}

/* A chunk that can be on its way at once need not be larger.  A chunk with more room is for when
 * all parts wait in the store. */
static bool chunk_is_ripe(const struct parts *p)
{
    const struct flight *f = p->flight;

    return p->now->op.count >= RIPE_PARTS && !p->crowded && f->settle.record_count == 0 &&
           !variants_may_differ(f);
}

/* Parts that are made faster than they run would all wait in the store, in front of every document
 * that comes in meanwhile, to be claimed and read from there.  So a chunk waits a moment until its
 * flights have room.  If nothing moves it is not for the parts to wait: they are stored, and no
 * chunk waits until there is room again. */
static void wait_for_room(struct parts *p)
{
    const struct chunk *c = p->now;
    size_t count = c->op.count < RIPE_PARTS ? c->op.count : RIPE_PARTS;

    p->crowded = !born_wait_for_room(p->flight->road, count, c->bytes.len,
                                     p->crowded ? 0 : WAIT_FOR_ROOM_US);
}

static bool take_off(struct parts *p, struct err *err)
{
    struct chunk *c = p->now;

    if (!land(p, err))
        return false;
    wait_for_room(p);
    chunk_fill(c);
    born_reserve(p->flight, c->list, c->op.count);
    c->op.op.done = chunk_landed;
    c->in_air = true;
    p->now = other_chunk(p);
    writers_submit_always(store_writers(p->flight->road->store), &c->op.op, &c->op.op, 1);
    return true;
}

/* ---- one part ---- */

static bool parts_failed(struct step_io *x, struct service_failure *ret_failure)
{
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", x->err.text);
}

static bool part_spill(struct parts *p, struct step_io *x, struct str bytes,
                       struct service_failure *ret_failure)
{
    if (p->upload == NULL) {
        if (!upload_open(p->flight->road->store, &p->upload, &x->err))
            return parts_failed(x, ret_failure);
        p->digest = digest_start();
    }
    if (!upload_add(p->upload, bytes, &x->err))
        return parts_failed(x, ret_failure);
    digest_add(&p->digest, bytes);
    return true;
}

/* What the chunk has of the part goes to its upload. */
static bool part_flush(struct parts *p, struct step_io *x, struct service_failure *ret_failure)
{
    struct chunk *c = p->now;
    size_t from = c->from[c->op.count - 1];
    struct str bytes = str_from(buf_view(&c->bytes), from);

    if (bytes.len > 0 && !part_spill(p, x, bytes, ret_failure))
        return false;
    buf_cut(&c->bytes, from);
    return true;
}

static bool parts_put(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    struct step_io *x = container_of(io, struct step_io, io);
    struct parts *p = x->flight->parts;

    if ((int64_t)piece.len > x->most - p->size)
        return service_fail(ret_failure, DEAD_LIMIT, "part %lld is larger than %lld bytes",
                            (long long)p->begun, (long long)x->most);
    p->size += (int64_t)piece.len;
    if (x->flight->caught != NULL)
        return caught_put(x->flight->caught, piece, ret_failure);
    if (leaves_out(p))
        return true;
    struct chunk *c = p->now;
    size_t has = c->bytes.len - c->from[c->op.count - 1];

    if (has + piece.len > SEGMENT_PAYLOAD_MOST && !part_flush(p, x, ret_failure))
        return false;
    return piece.len > SEGMENT_PAYLOAD_MOST
               ? part_spill(p, x, piece, ret_failure)
               : buf_append(&c->bytes, piece, &x->err) || parts_failed(x, ret_failure);
}

static bool part_close(struct parts *p, struct step_io *x, struct service_failure *ret_failure)
{
    if (!p->open)
        return true;
    p->open = false;
    if (leaves_out(p))
        return true;
    struct chunk *c = p->now;
    struct offspring_part *part = &c->list[c->op.count - 1];

    part->size = p->size;
    if (p->upload == NULL) {
        part->sha256 = digest_of(str_from(buf_view(&c->bytes), c->from[c->op.count - 1]));
        return true;
    }
    if (!part_flush(p, x, ret_failure))
        return false;
    if (!upload_finish(p->upload, &part->uploaded, &x->err))
        return parts_failed(x, ret_failure);
    part->is_uploaded = true;
    part->sha256 = digest_end(&p->digest);
    upload_close(p->upload);
    p->upload = NULL;
    return true;
}

static struct str own_or(struct arena *a, struct str own, struct str parents)
{
    return own.ptr != NULL ? arena_copy(a, own) : parents;
}

/* A name that no system has stays as it is: the part is refused for it, not its parent. */
static void look_up(const struct flight *f, struct str *name, bool *unknown)
{
    struct str system =
        name->ptr != NULL ? router_system(f->plan->router, *name) : (struct str){ 0 };

    if (system.ptr != NULL)
        *name = system;
    *unknown = name->ptr != NULL && system.ptr == NULL;
}

/* It has nothing of its parent, so that it is not taken for something that it is not. */
static struct facts failed_facts(struct arena *a, unsigned generation,
                                 const struct service_part *head, int64_t number)
{
    const struct facts nobody = { .generation = generation };
    struct facts facts = part_facts(a, &nobody, head, number, head->parts);
    struct fact *all = ARENA_ARRAY(a, struct fact, facts.attribute_count + 1);

    all[0] =
        (struct fact){ PARTS_FAILED,
                       arena_copy(a, str_first(str_of(head->failure->message), FACTS_VALUE_MOST)) };
    for (size_t i = 0; i < facts.attribute_count; i++)
        all[i + 1] = facts.attributes[i];
    facts.attributes = all;
    facts.attribute_count += facts.attribute_count < FACTS_ATTRIBUTES_MOST;
    return facts;
}

static struct facts facts_of_part(const struct parts *p, const struct service_part *head,
                                  struct arena *a)
{
    const struct flight *f = p->flight;
    struct facts facts = head->failure != NULL
                             ? failed_facts(a, f->facts.generation, head, p->begun)
                             : part_facts(a, &f->facts, head, p->begun, head->parts);

    look_up(f, &facts.sender, &facts.sender_unknown);
    look_up(f, &facts.receiver, &facts.receiver_unknown);
    return facts;
}

/* Its head is lent, and the flight of its parent ends before the part is looked at. */
static bool part_catch(const struct parts *p, const struct service_part *head,
                       struct service_failure *ret_failure)
{
    const struct flight *f = p->flight;
    struct arena *a = &f->caught->arena;
    const struct facts facts = facts_of_part(p, head, a);
    const struct caught_part part = {
        .facts = facts_copy(a, &facts),
        .name = arena_copy(a, head->name.ptr != NULL ? head->name : f->name),
        .ctype = arena_copy(a, head->ctype.ptr != NULL ? head->ctype : f->ctype),
    };

    return caught_begin(f->caught, &part, ret_failure);
}

static void part_open(struct parts *p, const struct service_part *head)
{
    const struct flight *f = p->flight;
    struct arena *a = &p->now->arena;
    struct facts facts = facts_of_part(p, head, a);
    struct settle_op named = { 0 };

    naming_fill(f->road, &facts, NULL, a, &named);
    *chunk_add(p->now) = (struct offspring_part){ .kind = LINK_SPLIT,
                                                  .sender = named.sender,
                                                  .receiver = named.receiver,
                                                  .type = named.type,
                                                  .facts = named.facts,
                                                  .name = own_or(a, head->name, f->name),
                                                  .ctype = own_or(a, head->ctype, f->ctype) };
}

/* ---- the parts of a flight ---- */

/* What an earlier run has committed must be from the same version, and of the same bytes. */
static bool ask_progress(struct parts *p, struct step_io *x, struct service_failure *ret_failure)
{
    struct flight *f = p->flight;
    struct offspring_progress now;

    if (f->dry || f->was_born)
        return true;
    if (!offspring_get(f->road->store, f->source.num, &now, &x->err))
        return parts_failed(x, ret_failure);
    p->had = p->committed = now.made;
    if (now.made > 0 && variants_may_differ(f)) /* it was started again in between */
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "%lld parts of it exist, made of what was answered or read before; "
                            "`docs retry ID --again` makes all of them anew",
                            (long long)now.made);
    return now.made == 0 || now.config == f->config ||
           service_fail(ret_failure, DEAD_SERVICE_FAILED,
                        "version %lld has made %lld parts of it, and the others are not made with "
                        "version %lld",
                        (long long)now.config, (long long)now.made, (long long)f->config);
}

static void parts_make(struct flight *f)
{
    struct parts *p = NEW(struct parts);

    p->flight = f;
    p->now = &p->chunks[0];
    p->crowded = !born_has_room(f->road, 1, 0);
    for (size_t i = 0; i < 2; i++) {
        p->chunks[i].of = p;
        p->chunks[i].bytes = (struct buf)BUF_INIT(OFFSPRING_BYTES_MOST);
        p->chunks[i].arena = (struct arena)ARENA_INIT(CHUNK_FACTS_MOST);
    }
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->landed, NULL);
    f->parts = p;
}

static bool parts_start(struct step_io *x, const struct service_part *head,
                        struct service_failure *ret_failure)
{
    struct flight *f = x->flight;

    if (x->size > 0)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "a result that becomes several documents is none itself");
    if (!f->dry && !f->may_block) {
        x->wants_thread = true;
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "it has to run on another thread");
    }
    parts_make(f);
    if (f->caught != NULL)
        caught_clear(f->caught); /* of a process that ended before its time */
    f->parts->total = head->parts;
    x->io.put = parts_put;
    return ask_progress(f->parts, x, ret_failure);
}

bool parts_begin(struct service_io *io, const struct service_part *head,
                 struct service_failure *ret_failure)
{
    struct step_io *x = container_of(io, struct step_io, io);

    if (x->flight->parts == NULL && !parts_start(x, head, ret_failure))
        return false;
    struct parts *p = x->flight->parts;

    if (!part_close(p, x, ret_failure))
        return false;
    p->begun++;
    p->open = true;
    p->size = 0;
    if (x->flight->caught != NULL)
        return part_catch(p, head, ret_failure);
    if (leaves_out(p))
        return true;
    if (chunk_is_full(p->now) && x->flight->settle.record_count > 0)
        return service_fail(ret_failure, DEAD_LIMIT,
                            "more than %d parts of it, or %d bytes of parts, and its run keeps a "
                            "record: both are one commit; split it first",
                            OFFSPRING_PARTS_MOST, OFFSPRING_BYTES_MOST);
    /* The parts that the next run makes have to fit to these. */
    x->wants_kept = chunk_is_full(p->now) && variants_may_differ(x->flight);
    if (x->wants_kept)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "what it is made of is stored first");
    if ((chunk_is_full(p->now) || chunk_is_ripe(p)) && !take_off(p, &x->err))
        return parts_failed(x, ret_failure);
    part_open(p, head);
    return true;
}

bool parts_end(struct flight *f, struct service_io *io, struct service_failure *ret_failure)
{
    struct step_io *x = container_of(io, struct step_io, io);

    if (!part_close(f->parts, x, ret_failure))
        return false;
    return f->dry || land(f->parts, &x->err) || parts_failed(x, ret_failure);
}

int64_t parts_count(const struct flight *f)
{
    return f->parts->begun;
}

/* ---- copies ---- */

/* The receiver is a name that the store knows, and these are not among the bytes of the facts: all
 * copies have the same. */
void parts_copy(struct flight *f, const struct parts_copies *c)
{
    struct settle_op named = { 0 };

    parts_make(f);
    struct facts facts = part_copy_facts(&f->parts->now->arena, &f->facts, c->receivers[0]);

    f->parts->same = c->bytes;
    naming_fill(f->road, &facts, NULL, &f->parts->now->arena, &named);
    for (size_t i = 0; i < c->count; i++) {
        struct offspring_part *copy = chunk_add(f->parts->now);

        *copy = (struct offspring_part){ .kind = LINK_COPY,
                                         .size = c->size,
                                         .sha256 = c->sha256,
                                         .sender = named.sender,
                                         .type = named.type,
                                         .facts = named.facts,
                                         .name = f->name,
                                         .ctype = f->ctype };
        (void)name_find(f->road->store, NAME_SYSTEM, c->receivers[i], &copy->receiver);
        copy->is_uploaded = i + c->upload_count >= c->count;
        if (copy->is_uploaded)
            copy->uploaded = c->uploads[i + c->upload_count - c->count];
    }
}

static void chunk_drop(struct chunk *c)
{
    chunk_drop_uploads(c);
    free(c->list);
    free(c->from);
    buf_done(&c->bytes);
    arena_done(&c->arena);
}

void parts_drop(struct flight *f)
{
    struct parts *p = f->parts;
    struct err ignored;

    if (p == NULL)
        return;
    (void)land(p, &ignored);
    for (size_t i = 0; i < 2; i++)
        chunk_drop(&p->chunks[i]);
    upload_close(p->upload);
    digest_drop(&p->digest);
    (void)pthread_cond_destroy(&p->landed);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p);
    f->parts = NULL;
}

/* ---- the settlement ---- */

/* On a writer's thread.  A chunk that does not fit behind the others settles nothing: it is
 * repeated, and then given back. */
static void parts_settled(struct store_op *op)
{
    struct chunk *c = container_of(op, struct chunk, op.op);
    struct flight *f = c->of->flight;
    struct store_op *of = &f->settle.op;

    born_begin(f, &c->op);
    of->ok = op->ok;
    of->err = op->err;
    if (op->ok && c->op.result != OFFSPRING_MADE)
        f->settle.ours = false;
    if (op->ok && c->op.result == OFFSPRING_ELSEWHERE)
        of->ok = c->of->same.ptr != NULL
                     ? err_set(&of->err, ERR_LIMIT, 0,
                               "another version has made parts of it, and it is not copied as well")
                     : err_set(&of->err, ERR_PERMANENT, 0, "its parts are not where they were");
    if (of->ok && c->op.result != OFFSPRING_OVERTAKEN)
        c->op.count = c->answers = 0; /* adopted, or swept */
    c->of->settled(of);
}

/* Answers come last; their uploads are not those of the chunk (answer_doc.h). */
static void add_answers(struct chunk *c)
{
    const struct flight *f = c->of->flight;

    for (size_t i = 0; i < f->answer_count; i++)
        *chunk_add(c) = f->answer_parts[i];
    c->answers = f->answer_count;
    c->op.parts = c->list;
}

/* Small enough to be in one commit with others.  On PostgreSQL each takes several trips, for which
 * others would wait; there several writers commit at a time. */
static bool chunk_is_few(const struct chunk *c)
{
    size_t bytes = c->bytes.len + c->of->same.len * c->op.count;

    return store_kind(c->of->flight->road->store) == DB_SQLITE &&
           c->op.count <= OFFSPRING_FEW_PARTS && bytes <= OFFSPRING_FEW_BYTES;
}

struct store_op *parts_settlement(struct flight *f, void (*settled)(struct store_op *op))
{
    struct parts *p = f->parts;
    struct chunk *c = p->now;

    p->settled = settled;
    if (c->answers > 0) /* of an earlier try */
        c->op.count -= c->answers;
    chunk_fill(c);
    add_answers(c);
    born_reserve(f, c->list, c->op.count);
    c->op.end = &f->settle;
    if (chunk_is_few(c))
        c->op.op.verb = &offspring_few_verb;
    c->op.op.done = parts_settled;
    return &c->op.op;
}
