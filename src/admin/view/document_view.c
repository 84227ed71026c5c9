#include "admin/view/document_view.h"

#include "admin/view/document_derive.h"
#include "base/clock.h"
#include "base/json.h"
#include "core/intake.h"
#include "core/stages.h"
#include "core/timeline.h"
#include "engine/dispatch/dispatch.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "store/road/aloft.h"
#include "store/road/order.h"
#include "store/store.h"

/* ---- facts ---- */

static struct str document_view_name_of(struct store *s, int64_t word)
{
    return word != 0 ? name_text(s, word) : (struct str){ 0 };
}

static void read_facts(struct store *s, const struct document *d, struct arena *a,
                       struct facts *ret)
{
    *ret = (struct facts){ .sender = document_view_name_of(s, d->sender),
                           .receiver = document_view_name_of(s, d->receiver),
                           .type = document_view_name_of(s, d->type) };
    if (d->facts.len > 0)
        (void)facts_read(d->facts, a, ret); /* damaged facts count as none */
}

/* ---- deliveries ---- */

/* A delivery whose retry is due counts as ready; a ready delivery counts as held if the governor or
 * its lane has a reason. */
static void derive_state(struct dispatch *dispatch, const struct delivery *d, int64_t now_us,
                         struct arena *a, struct delivery_view *v)
{
    char text[HELD_TEXT];

    v->state = d->state;
    if (d->state == DELIVERY_RETRYING && d->due_us <= now_us)
        v->state = DELIVERY_READY;
    v->due_us = v->state == DELIVERY_RETRYING ? d->due_us : 0;
    if (v->state != DELIVERY_READY)
        return;
    v->held = dispatch_held_why(dispatch, d->system, d->endpoint);
    if (d->turn == TURN_WAITS) {
        v->held |= HELD_ORDER;
        v->lane = d->lane;
        v->num = d->num;
    }
    if (v->held != 0)
        v->state = DELIVERY_HELD;
    if ((v->held & HELD_ENDPOINT) != 0) {
        dispatch_held_text(dispatch, d->system, d->endpoint, text);
        v->held_why = arena_copy(a, str_of(text));
    }
}

static struct delivery_view *find_view(struct document_view *v, struct str id)
{
    for (size_t i = 0; i < v->delivery_count; i++)
        if (str_eq(v->deliveries[i].id, id))
            return &v->deliveries[i];
    return NULL;
}

/* Deliveries that a node has in memory: of those without a row nothing else is known. */
static bool show_aloft(struct engine *e, struct arena *a, struct document_view *v, struct err *err)
{
    struct aloft *all = ARENA_ARRAY(a, struct aloft, DELIVERIES_MOST);
    struct store *s = engine_store(e);
    size_t n;

    if (!aloft_of_document(s, v->doc.source.num, a, all, DELIVERIES_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct delivery_view *to = find_view(v, all[i].id);

        if (to == NULL && v->delivery_count < DELIVERIES_MOST) {
            to = &v->deliveries[v->delivery_count++];
            *to = (struct delivery_view){ .id = all[i].id,
                                          .endpoint = document_view_name_of(s, all[i].endpoint),
                                          .system = document_view_name_of(s, all[i].system),
                                          .attempts = all[i].sending,
                                          .updated_us = all[i].since_us };
            to->state = DELIVERY_READY;
        }
        if (to == NULL || !all[i].sending)
            continue;
        to->state = DELIVERY_SENDING;
        to->held = 0;
        to->due_us = 0;
    }
    return true;
}

static bool read_stored(struct engine *e, const struct document *d, struct arena *a,
                        struct document_view *ret, struct err *err)
{
    struct store *s = engine_store(e);
    struct delivery *all = ARENA_ARRAY(a, struct delivery, DELIVERIES_MOST);
    int64_t now = clock_wall_us();
    size_t n;

    if (!delivery_of_document(s, d->source.num, a, all, &n, err))
        return false;
    ret->deliveries = ARENA_ARRAY(a, struct delivery_view, DELIVERIES_MOST);
    ret->delivery_count = n;
    for (size_t i = 0; i < n; i++) {
        struct delivery_view *v = &ret->deliveries[i];

        *v = (struct delivery_view){ .id = all[i].id,
                                     .endpoint = document_view_name_of(s, all[i].endpoint),
                                     .system = document_view_name_of(s, all[i].system),
                                     .attempts = all[i].attempts,
                                     .status = all[i].status,
                                     .updated_us = all[i].updated_us,
                                     .code = all[i].code,
                                     .message = all[i].message,
                                     .name = all[i].name };
        derive_state(road_dispatch(engine_road(e)), &all[i], now, a, v);
    }
    return show_aloft(e, a, ret, err);
}

static bool state_of_outcome(enum timeline_outcome outcome, enum delivery_state *ret)
{
    static const struct {
        enum timeline_outcome outcome;
        enum delivery_state state;
    } known[] = {
        { TIMELINE_DELIVERED, DELIVERY_DELIVERED }, { TIMELINE_RETRY, DELIVERY_RETRYING },
        { TIMELINE_DOUBT, DELIVERY_IN_DOUBT },      { TIMELINE_DEAD, DELIVERY_DEAD },
        { TIMELINE_CANCELLED, DELIVERY_CANCELLED }, { TIMELINE_WAITS, DELIVERY_READY },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].outcome == outcome) {
            *ret = known[i].state;
            return true;
        }
    return false;
}

/* The id of the delivery that a line is about; ptr NULL: the line does not have it. */
static struct str document_view_id_of(const struct document *d, const struct timeline_line *line,
                                      struct arena *a)
{
    char id[ID_TEXT];

    if (!line->has_delivery)
        return (struct str){ 0 };
    return str_of(arena_printf(a, "%s.%.*s%.*s", id_text(&d->source.id, id), STR_ARG(line->what),
                               STR_ARG(line->id_end)));
}

/* Of two ids of an endpoint: whether they are one delivery, sent again by a person or not. */
static bool is_same_delivery(struct str x, struct str y)
{
    const char *again = x.ptr != NULL ? memmem(x.ptr, x.len, ".again", 6) : NULL;
    const char *other = y.ptr != NULL ? memmem(y.ptr, y.len, ".again", 6) : NULL;

    if (x.ptr == NULL || y.ptr == NULL)
        return true;
    if (again != NULL)
        x.len = (size_t)(again - x.ptr);
    if (other != NULL)
        y.len = (size_t)(other - y.ptr);
    return str_eq(x, y);
}

static struct delivery_view *document_view_view_of(struct document_view *v, struct str endpoint,
                                                   struct str id)
{
    for (size_t i = 0; i < v->delivery_count; i++)
        if (str_eq(v->deliveries[i].endpoint, endpoint) &&
            is_same_delivery(v->deliveries[i].id, id))
            return &v->deliveries[i];
    if (v->delivery_count == DELIVERIES_MOST)
        return NULL;
    struct delivery_view *new = &v->deliveries[v->delivery_count++];

    *new = (struct delivery_view){ .endpoint = endpoint };
    return new;
}

/* Reconstructs the deliveries of a document that has ended.  A delivery that did not arrive was
 * cancelled: nothing else ends a document. */
static void tell_from_timeline(struct store *s, const struct document *d, struct arena *a,
                               struct document_view *v)
{
    struct str receiver = document_view_name_of(s, d->receiver);
    struct timeline_reader r = timeline_read(d->timeline);
    struct timeline_line line;
    bool damaged;

    v->deliveries = ARENA_ARRAY(a, struct delivery_view, DELIVERIES_MOST);
    while (timeline_next(&r, &line, &damaged)) {
        enum delivery_state state;
        struct delivery_view *to;

        if (line.stage != TIMELINE_DELIVERY || line.what.len == 0 ||
            !state_of_outcome(line.outcome, &state))
            continue;
        struct str id = document_view_id_of(d, &line, a);

        if ((to = document_view_view_of(v, line.what, id)) == NULL)
            continue;
        if (line.has_delivery) {
            to->id = id;
            to->system = line.system.len > 0 ? line.system : receiver;
        }
        to->state = state;
        to->attempts = line.attempt;
        to->status = line.status;
        to->message = line.message;
        to->updated_us = line.at_us;
    }
    for (size_t i = 0; i < v->delivery_count; i++)
        if (v->deliveries[i].state != DELIVERY_DELIVERED)
            v->deliveries[i].state = DELIVERY_CANCELLED;
}

/* Gives each delivery the last answer that was kept of it. */
static void find_answers(struct document_view *v, struct arena *a)
{
    struct timeline_reader r = timeline_read(v->doc.timeline);
    struct timeline_line line;
    bool damaged;

    while (timeline_next(&r, &line, &damaged)) {
        if (!line.is_answer)
            continue;
        struct str id = document_view_id_of(&v->doc, &line, a);

        for (size_t i = 0; i < v->delivery_count; i++) {
            struct delivery_view *d = &v->deliveries[i];

            if (!str_eq(d->endpoint, line.what) || !is_same_delivery(d->id, id))
                continue;
            d->has_answer = true;
            d->answer = line;
        }
    }
}

static bool document_view_load_stored(struct engine *e, struct document_view *v, struct arena *a,
                                      struct err *err)
{
    if (v->has_deliveries)
        return true;
    if (!read_stored(e, &v->doc, a, v, err))
        return false;
    v->has_deliveries = true;
    document_derive_view(v);
    return true;
}

bool document_view_make(struct engine *e, const struct document *d, bool listed, struct arena *a,
                        struct document_view *ret, struct err *err)
{
    *ret = (struct document_view){ .doc = *d, .state = d->is, .has_timeline = !listed };
    read_facts(engine_store(e), d, a, &ret->facts);
    /* Only these two states may turn out to be held; of the others deliveries are loaded later. */
    return (d->is != DOCUMENT_ACTIVE && d->is != DOCUMENT_RETRYING) ||
           document_view_load_stored(e, ret, a, err);
}

bool document_view_load(struct engine *e, struct document_view *v, struct arena *a, struct err *err)
{
    struct document now;

    if (!v->has_timeline && document_get(engine_store(e), &v->doc.source.id, a, &now, err))
        v->doc.timeline = now.timeline;
    if (err->kind != ERR_NONE)
        return false;
    v->has_timeline = true;
    if (!document_is_over(v->doc.is)) {
        if (!document_view_load_stored(e, v, a, err))
            return false;
    } else if (!v->has_deliveries) {
        tell_from_timeline(engine_store(e), &v->doc, a, v);
        v->has_deliveries = true;
    }
    if (!v->has_answers)
        find_answers(v, a);
    v->has_answers = true;
    return true;
}

/* ---- as JSON ---- */

static void document_view_text_or_null(struct json_out *j, const char *key, struct str value)
{
    json_key(j, key);
    if (value.len > 0)
        json_str(j, value);
    else
        json_none(j);
}

static void put_error(struct json_out *j, const struct document *d)
{
    json_key(j, "error");
    if (d->code.len == 0) {
        json_none(j);
        return;
    }
    json_open(j, '{');
    json_key(j, "code");
    json_str(j, d->code);
    json_key(j, "message");
    json_str(j, d->message);
    json_close(j, '}');
}

void document_view_json(struct store *s, const struct document_view *v, struct buf *to)
{
    const struct document *d = &v->doc;
    struct json_out j = { .to = to };
    char id[ID_TEXT], sha[SHA256_TEXT], when[CLOCK_TEXT];

    json_open(&j, '{');
    json_key(&j, "id");
    json_z(&j, id_text(&d->source.id, id));
    json_key(&j, "gateway");
    json_str(&j, name_text(s, d->gateway));
    document_view_text_or_null(&j, "sender", v->facts.sender);
    document_view_text_or_null(&j, "receiver", v->facts.receiver);
    document_view_text_or_null(&j, "type", v->facts.type);
    json_key(&j, "state");
    json_z(&j, document_states[v->state]);
    json_key(&j, "size");
    json_int(&j, d->source.size);
    json_key(&j, "sha256");
    json_z(&j, digest_text(&d->source.sha256, sha));
    document_view_text_or_null(&j, "name", d->name);
    document_view_text_or_null(&j, "contentType", d->ctype);
    json_key(&j, "received");
    json_z(&j, clock_utc_text(d->received_us, when));
    json_key(&j, "updated");
    json_z(&j, clock_utc_text(d->updated_us, when));
    put_error(&j, d);
    json_close(&j, '}');
    buf_putc(to, '\n');
}

struct str document_view_caller(const struct document *d, struct arena *a)
{
    if (d->caller == CALLER_ADMIN)
        return STR("admin");
    if (d->caller == CALLER_BASIC)
        return STR("basic");
    return d->caller == CALLER_NONE ? STR("")
                                    : str_of(arena_printf(a, "key %lld", (long long)d->caller));
}

static struct payload_source source_of_line(const struct document *d,
                                            const struct timeline_line *line)
{
    return (struct payload_source){ .id = d->source.id,
                                    .num = line->num,
                                    .size = line->size,
                                    .sha256 = line->sha256,
                                    .place = { .seg = line->seg, .pos = line->pos } };
}

bool document_view_answer(const struct document_view *v, struct str delivery,
                          struct payload_source *ret)
{
    for (size_t i = 0; i < v->delivery_count; i++) {
        const struct delivery_view *d = &v->deliveries[i];

        if (!d->has_answer || (!str_eq(d->endpoint, delivery) && !str_eq(d->id, delivery)))
            continue;
        *ret = source_of_line(&v->doc, &d->answer);
        return true;
    }
    return false;
}

const struct stage *document_view_stage(const struct document *d, int64_t n, struct arena *a,
                                        struct payload_source *ret)
{
    size_t count;
    const struct stage *all = stages_read(d->timeline, a, &count);

    if (n < 1 || n > (int64_t)count)
        return NULL;
    if (all[n - 1].is_stored)
        *ret = source_of_line(d, &all[n - 1].bytes);
    return &all[n - 1];
}
