#include "engine/batch/batch_build.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/log.h"
#include "core/timeline.h"
#include "core/verdict.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "store/batch/batch.h"
#include "store/batch/batch_members.h"
#include "store/payload/payload.h"
#include "store/road/accept.h"
#include "store/store.h"

enum { ARENA_MOST = 16 << 20, AROUND_MOST = 256 << 10, WAIT_MOST_S = 600 };

/* The document so far. */
struct out {
    struct store *store;
    struct buf buf;
    struct upload *upload; /* set once the body is larger than a segment entry */
    struct digest digest;
    int64_t size;
    struct payload_ref place;
    bool finished; /* the upload is complete, and `place` is set */
};

struct building {
    struct batch_parts parts;
    struct plan *plan;
    const struct plan_batch *of;
    const struct batch *batch;
    const _Atomic bool *resting;
    struct batch_common common;
    struct facts facts;
    struct fact attributes[4];
    struct arena arena;
    char count[24], bytes[24];
    struct out out;
    struct batch_member member; /* the member being read */
    bool bad;                   /* the member cannot be joined; `code` says why */
    enum dead_code code;
    int64_t seen;
};

/* ---- output ---- */

static bool batch_build_write_out(void *arg, struct str bytes, struct err *err)
{
    struct out *o = arg;

    digest_add(&o->digest, bytes);
    o->size += (int64_t)bytes.len;
    if (o->upload == NULL && o->buf.len + bytes.len <= SEGMENT_PAYLOAD_MOST)
        return buf_append(&o->buf, bytes, err);
    if (o->upload == NULL) {
        if (!upload_open(o->store, &o->upload, err) ||
            !upload_add(o->upload, buf_view(&o->buf), err))
            return false;
        buf_done(&o->buf);
    }
    return upload_add(o->upload, bytes, err);
}

static void start_out(struct out *o, struct store *s)
{
    *o = (struct out){ .store = s, .digest = digest_start() };
    o->buf = (struct buf)BUF_INIT(SEGMENT_PAYLOAD_MOST);
}

static bool finish_out(struct out *o, struct err *err)
{
    if (o->upload == NULL)
        return true;
    o->finished = upload_finish(o->upload, &o->place, err);
    return o->finished;
}

static void done_out(struct out *o)
{
    upload_close(o->upload);
    o->upload = NULL;
    digest_drop(&o->digest);
    buf_done(&o->buf);
}

/* ---- members ---- */

typedef bool take_piece(void *arg, struct str piece, struct err *err);

/* A missing or damaged payload makes the member bad; a payload that cannot be read now does not. */
static bool batch_build_read_member(struct building *k, take_piece *take, void *arg,
                                    struct err *err)
{
    struct payload_reader *reader = NULL;
    struct str piece = STR("");
    bool ok = payload_open(k->parts.store, &k->member.source, &reader, err);

    do {
        ok = ok && payload_next(reader, &piece, err);
        if (!ok) {
            k->bad = err->kind == ERR_PERMANENT;
            k->code = err->sys != 0 ? DEAD_PAYLOAD_MISSING : DEAD_PAYLOAD_CORRUPT;
        }
        ok = ok && (piece.len == 0 || take(arg, piece, err));
    } while (ok && piece.len > 0);
    payload_close(reader);
    return ok;
}

static bool add_crc(void *arg, struct str piece, struct err *err)
{
    uint32_t *crc = arg;

    (void)err;
    *crc = join_crc(*crc, piece);
    return true;
}

static bool batch_build_add_piece(void *arg, struct str piece, struct err *err)
{
    return join_add(arg, piece, err);
}

static bool add_member(struct building *k, struct joiner *j, struct err *err)
{
    char id[ID_TEXT];
    struct join_member m = { .name = k->member.name,
                             .id = str_of(id_text(&k->member.source.id, id)),
                             .size = k->member.source.size,
                             .received_us = k->member.received_us };

    if (k->of->join == JOIN_ZIP && !batch_build_read_member(k, add_crc, &m.crc, err))
        return false;
    bool ok = join_open(j, &m, err) && batch_build_read_member(k, batch_build_add_piece, j, err) &&
              join_close(j, err);

    if (!ok && err->sys == JOIN_BAD && !k->bad) {
        k->bad = true;
        k->code = DEAD_SERVICE_FAILED;
    }
    k->seen += ok;
    fault_point(BATCH_READ);
    return ok;
}

/* Unreadable facts are ignored, as everywhere. */
static void count_batches(struct building *k, struct arena *a)
{
    struct facts x = { 0 };

    if (!facts_read(k->member.facts, a, &x))
        return;
    x.batches += plan_batch_find(k->plan, k->member.gateway) != NULL; /* it was a batch */
    if (x.batches > k->facts.batches)
        k->facts.batches = x.batches;
}

static bool add_members(struct building *k, struct joiner *j, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    size_t n = BATCH_PAGE_MOST;
    int64_t after = 0;

    while (n == BATCH_PAGE_MOST) {
        arena_reset(&a);
        struct batch_member *page = ARENA_ARRAY(&a, struct batch_member, BATCH_PAGE_MOST);

        if (!batch_members(k->parts.store, k->batch->num, after, &a, page, BATCH_PAGE_MOST, &n,
                           err))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (atomic_load(k->resting))
                return err_set(err, ERR_TRANSIENT, 0, "the node stops");
            k->member = page[i];
            count_batches(k, &a);
            if (!add_member(k, j, err)) {
                k->member.name = k->member.facts = STR(""); /* these pointed into the page */
                return false;
            }
        }
        after = n > 0 ? page[n - 1].doc : 0;
    }
    return true;
}

/* ---- the document ---- */

static void batch_build_find_facts(struct building *k)
{
    const struct batch *b = k->batch;
    struct store *s = k->parts.store;
    size_t n = 0;

    (void)snprintf(k->count, sizeof k->count, "%lld", (long long)k->common.members);
    (void)snprintf(k->bytes, sizeof k->bytes, "%lld", (long long)b->bytes);
    k->facts = (struct facts){ .attributes = k->attributes };
    k->attributes[n++] = (struct fact){ STR("batch"), k->of->name };
    k->attributes[n++] = (struct fact){ STR("count"), str_of(k->count) };
    k->attributes[n++] = (struct fact){ STR("bytes"), str_of(k->bytes) };
    if (b->part.len > 0)
        k->attributes[n++] = (struct fact){ STR("part"), b->part };
    k->facts.attribute_count = n;
    if (k->common.sender != 0)
        k->facts.sender = name_text(s, k->common.sender);
    if (b->receiver != 0)
        k->facts.receiver = name_text(s, b->receiver);
    if (k->of->type.len > 0)
        k->facts.type = k->of->type;
    else if (k->common.type != 0)
        k->facts.type = name_text(s, k->common.type);
}

static bool batch_build_render(struct building *k, const struct template *t, struct str *ret,
                               struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(AROUND_MOST);
    const struct batch *b = k->batch;
    struct template_values values = { .gateway = k->of->name,
                                      .received_us = b->slot_us != 0 ? b->slot_us : b->closed_us,
                                      .facts = &k->facts };

    if (t == NULL)
        return true;
    if (!template_render(t, &values, &text, err))
        return false;
    *ret = arena_copy(&k->arena, buf_view(&text));
    return true;
}

static bool batch_build_make(struct building *k, struct err *err)
{
    struct join_rule rule = { .kind = k->of->join,
                              .has_header = k->of->header != NULL,
                              .has_footer = k->of->footer != NULL,
                              .separator = k->of->separator,
                              .root = k->of->root };

    if (!batch_common(k->parts.store, k->batch->num, &k->common, err))
        return false;
    batch_build_find_facts(k);
    if (!batch_build_render(k, k->of->header, &rule.header, err) ||
        !batch_build_render(k, k->of->footer, &rule.footer, err))
        return false;
    struct joiner *j = join_new(&rule, batch_build_write_out, &k->out);
    bool ok = join_begin(j, err) && add_members(k, j, err) && join_end(j, err);

    join_free(j);
    if (ok && k->seen != k->common.members)
        ok = err_set(err, ERR_TRANSIENT, 0, "it has %lld members, %lld were read",
                     (long long)k->common.members, (long long)k->seen);
    return ok && finish_out(&k->out, err);
}

/* ---- commit ---- */

static struct str batch_build_timeline_of(struct building *k)
{
    AUTO(buf_done) struct buf line = BUF_INIT(TIMELINE_MOST);
    char text[120];

    (void)snprintf(text, sizeof text, "%lld documents, closed by %s%s%.40s",
                   (long long)k->common.members, batch_whys[k->batch->why],
                   k->batch->closed_by.len > 0 ? ": " : "",
                   arena_text(&k->arena, k->batch->closed_by));
    timeline_add(&line, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                 .node = store_node(k->parts.store),
                                                 .stage = TIMELINE_DOCUMENT,
                                                 .outcome = TIMELINE_DONE,
                                                 .took_us = -1,
                                                 .config = k->plan->version,
                                                 .what = k->of->name,
                                                 .message = str_of(text) });
    return arena_copy(&k->arena, buf_view(&line));
}

static bool store_document(struct building *k, struct accept_op *a, bool *ret_ours, struct err *err)
{
    AUTO(buf_done) struct buf facts = BUF_INIT(FACTS_BYTES_MOST);
    struct batch_document d = { .accept = a,
                                .sender = k->common.sender,
                                .receiver = k->batch->receiver,
                                .timeline = batch_build_timeline_of(k) };

    if (k->facts.type.ptr != NULL && !name_find(k->parts.store, NAME_TYPE, k->facts.type, &d.type))
        k->facts.type_unknown = true;
    facts_write(&k->facts, &facts);
    d.facts = buf_view(&facts);
    fault_point(BATCH_BUILT);
    return batch_built(k->parts.store, k->batch, &d, ret_ours, err);
}

static bool batch_build_commit(struct building *k, struct err *err)
{
    char at[CLOCK_TEXT], id[ID_TEXT];
    int64_t now = road_now_us(k->parts.road);
    const struct batch *b = k->batch;
    bool ours = false;

    (void)clock_utc_text(b->slot_us != 0 ? b->slot_us : b->closed_us, at);
    struct accept_op a = {
        .gateway = b->name,
        .config = k->plan->version,
        .received_us = now,
        .size = k->out.size,
        .sha256 = digest_end(&k->out.digest),
        .body = buf_view(&k->out.buf),
        .spooled = k->out.place,
        .is_spooled = k->out.finished,
        .name = str_of(arena_printf(&k->arena, "%.*s-%.4s%.2s%.2sT%.2s%.2s%.2sZ-%lld.%s",
                                    STR_ARG(k->of->name), at, at + 5, at + 8, at + 11, at + 14,
                                    at + 17, (long long)b->num, join_suffix(k->of->join))),
        .ctype = str_of(join_content_type(k->of->join)),
    };
    bool ok = store_document(k, &a, &ours, err);

    if (k->out.finished &&
        (ok ? !ours : err->kind != ERR_UNCERTAIN)) /* uncertain: a document may name the upload */
        upload_drop(k->parts.store, k->out.place);
    if (!ok || !ours)
        return ok;
    fault_point(BATCH_CLOSED);
    log_event(LOG_INFO, "batch.built", kv_str("batch", k->of->name),
              kv_z("document", id_text(&a.id, id)), kv_int("members", k->common.members),
              kv_int("size", a.size), kv_z("why", batch_whys[b->why]));
    return true;
}

/* ---- failures ---- */

static int64_t batch_build_wait_us(const struct batch *b)
{
    int64_t s = b->tries < 10 ? INT64_C(1) << b->tries : WAIT_MOST_S;

    return (s < WAIT_MOST_S ? s : WAIT_MOST_S) * CLOCK_S;
}

/* Releases the claim and sets the time of the next attempt.  With a code the members show as dead
 * until a person acts. */
static void give_back(struct building *k, const char *code, const struct err *why)
{
    bool rests = atomic_load(k->resting);
    struct err err = { 0 };

    if (!batch_back(k->parts.store, k->batch,
                    rests ? 0 : road_now_us(k->parts.road) + batch_build_wait_us(k->batch),
                    str_of(code), rests ? STR("") : str_of(why->text), &err))
        log_event(LOG_WARN, "batch.back", kv_str("batch", k->of->name), kv_z("why", err.text));
    if (rests)
        return;
    mishaps_note(k->parts.mishaps, "batch", "batch", k->of->name, why->text);
    log_event(LOG_WARN, "batch.fail", kv_str("batch", k->of->name), kv_int("number", k->batch->num),
              kv_int("members", k->batch->members), kv_int("try", k->batch->tries),
              kv_z("why", why->text));
}

/* True: the bad member has left, and the build starts again. */
static bool set_aside(struct building *k, const struct err *why)
{
    const char *code = dead_codes[k->code];
    char id[ID_TEXT], text[VERDICT_MESSAGE_MOST];
    struct err err = { 0 }, all = { 0 };
    bool ours = false;

    (void)id_text(&k->member.source.id, id);
    if (k->of->bad_all) {
        (void)err_set(&all, ERR_PERMANENT, 0, "document %s cannot be joined: %.120s", id,
                      why->text);
        give_back(k, code, &all);
        return false;
    }
    (void)snprintf(text, sizeof text, "it cannot join batch %.*s: %s", STR_ARG(k->of->name),
                   why->text);
    if (!batch_aside(k->parts.store, k->batch, &k->member, str_of(code), str_of(text), &ours,
                     &err)) {
        give_back(k, "", &err);
        return false;
    }
    if (ours) {
        mishaps_note(k->parts.mishaps, code, "batch", k->of->name, text);
        log_event(LOG_WARN, "batch.aside", kv_str("batch", k->of->name), kv_z("document", id),
                  kv_z("code", code), kv_z("why", text));
    }
    return ours;
}

/* ---- join: each ---- */

/* The members run the steps of the batch one by one (`join: each`).  Also ends a batch that has no
 * members left. */
static bool batch_build_let_go(struct building *k)
{
    struct batch_going g = { .batch = k->batch, .config = k->plan->version };
    struct err err = { 0 };
    bool any = false;

    if (!batch_who_goes(k->parts.store, &k->arena, &g, &err)) {
        give_back(k, "", &err);
        return false;
    }
    do {
        if (atomic_load(k->resting) || !batch_let_go(k->parts.store, &g, &err)) {
            give_back(k, "", &err);
            return any;
        }
        any = true;
    } while (g.ours && g.gone < g.count);
    if (g.ours)
        log_event(LOG_INFO, "batch.go", kv_str("batch", k->of->name),
                  kv_int("members", k->batch->members), kv_z("why", batch_whys[k->batch->why]));
    return any;
}

/* ---- the build ---- */

enum result { RESULT_MADE, RESULT_AGAIN, RESULT_NOTHING, RESULT_GIVEN_BACK };

static enum result try_once(struct building *k)
{
    struct err err = { 0 };
    enum result result = RESULT_MADE;

    k->bad = false;
    k->seen = 0;
    start_out(&k->out, k->parts.store);
    if (!batch_build_make(k, &err)) {
        if (k->bad)
            result = set_aside(k, &err) ? RESULT_AGAIN : RESULT_GIVEN_BACK;
        else
            give_back(k, err.kind == ERR_PERMANENT ? dead_codes[DEAD_SERVICE_FAILED] : "", &err);
        if (!k->bad)
            result = RESULT_GIVEN_BACK;
    } else if (k->common.members == 0 && !k->of->empty_send) {
        if (k->out.finished)
            upload_drop(k->parts.store, k->out.place);
        result = RESULT_NOTHING;
    } else if (!batch_build_commit(k, &err)) {
        give_back(k, "", &err);
        result = RESULT_GIVEN_BACK;
    }
    done_out(&k->out);
    return result;
}

bool batch_build(const struct batch_parts *parts, struct plan *p, const struct batch *b,
                 const _Atomic bool *resting)
{
    struct building k = { .parts = *parts, .plan = p, .batch = b, .resting = resting };
    enum result result = RESULT_AGAIN;

    k.of = plan_batch_find(p, b->name);
    k.arena = (struct arena)ARENA_INIT(ARENA_MOST);
    if (k.of == NULL) { /* cannot happen: the version of the last member names the batch */
        struct plan_batch unknown = { .name = name_text(parts->store, b->name) };
        struct err err = { 0 };

        k.of = &unknown;
        (void)err_set(&err, ERR_CONFIG, 0, "no configuration knows this batch any more");
        give_back(&k, dead_codes[DEAD_SERVICE_FAILED], &err);
        arena_done(&k.arena);
        return false;
    }
    bool made = false;

    if (k.of->join == JOIN_EACH)
        made = batch_build_let_go(&k);
    while (k.of->join != JOIN_EACH && result == RESULT_AGAIN) {
        arena_reset(&k.arena);
        result = try_once(&k);
    }
    if (result == RESULT_NOTHING)
        (void)batch_build_let_go(&k);
    arena_done(&k.arena);
    return made || result == RESULT_MADE;
}
