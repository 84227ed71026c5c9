/* rehearse.c - rehearsal of a proposed configuration with past documents: Query.rehearsePast; and
 * of one step with a stage of a document: Query.tryStep. */
#include <string.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/document_view.h"
#include "admin/view/payload_diff.h"
#include "admin/view/trial_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "core/problem.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/rehearse/dry.h"
#include "engine/rehearse/rehearse.h"
#include "engine/upkeep/live.h"
#include "store/store.h"

enum {
    PORTION_MOST = 5000, /* documents */
    PORTION_US = 1500 * CLOCK_MS,
    DIFFERENCES_MOST = AUDIT_APPEND_MOST,
    BYTES_MOST = 1 << 20, /* of texts in one answer; the last document may exceed it */
    LEFT_MOST = 10,
    DIFFS_MOST = 8 /* of one document */
};

struct shown_way {
    struct facts facts;
    int64_t config;
    struct str route, message, code;
    struct dry_delivery *deliveries;
    size_t delivery_count;
};

struct shown_payload {
    struct str endpoint, system, diff; /* diff: ptr NULL if there is none */
    int64_t was_size, would_size;
    bool cut;
};

struct portion;

/* Whose document it is, by its row.  A walk may find anything in its payload, as the caller wishes:
 * its result says nothing about who may see it.  With a record in it, which belongs to no system,
 * it is for those who see all. */
struct shown_owner {
    int64_t sender, receiver; /* name ids; 0: none */
};

struct shown_difference {
    struct shown_owner owner; /* the first member, as in struct shown_left */
    struct portion *portion;
    char id[40];
    int64_t config; /* the version that the document ran with */
    struct str gateway, name;
    int64_t received_us;
    unsigned kinds;
    struct shown_way was, would;
    struct shown_payload *payloads;
    size_t payload_count;
    struct str *redefined;
    size_t redefined_count;
};

struct shown_left {
    struct shown_owner owner;
    char id[40];
    struct str message;
};

struct portion {
    struct store *store;
    struct arena *arena;
    size_t from; /* bytes of the arena that were used before */
    const struct problem_list *problems, *warnings;
    int64_t looked, left_count;
    const void *differences[DIFFERENCES_MOST];
    size_t difference_count;
    bool logged; /* that the caller sees its payloads */
    const void *left[LEFT_MOST];
    size_t left_shown;
    struct str next;
};

/* ---- gathering: everything is lent and is copied ---- */

static struct str api_rehearse_copy(struct arena *a, struct str s)
{
    return s.ptr != NULL ? arena_copy(a, s) : s;
}

static struct shown_way show_way(struct arena *a, const struct rehearse_way *w)
{
    struct shown_way s = { .facts = w->facts,
                           .config = w->config,
                           .route = api_rehearse_copy(a, w->route),
                           .message = api_rehearse_copy(a, w->message),
                           .code = api_rehearse_copy(a, w->code),
                           .delivery_count = w->delivery_count };

    s.facts.sender = api_rehearse_copy(a, w->facts.sender);
    s.facts.receiver = api_rehearse_copy(a, w->facts.receiver);
    s.facts.type = api_rehearse_copy(a, w->facts.type);
    s.facts.attributes = ARENA_ARRAY(a, struct fact, w->facts.attribute_count);
    for (size_t i = 0; i < w->facts.attribute_count; i++)
        s.facts.attributes[i] = (struct fact){ api_rehearse_copy(a, w->facts.attributes[i].name),
                                               api_rehearse_copy(a, w->facts.attributes[i].value) };
    s.deliveries = ARENA_ARRAY(a, struct dry_delivery, w->delivery_count);
    for (size_t i = 0; i < w->delivery_count; i++)
        s.deliveries[i] =
            (struct dry_delivery){ .endpoint = api_rehearse_copy(a, w->deliveries[i].endpoint),
                                   .system = api_rehearse_copy(a, w->deliveries[i].system) };
    return s;
}

static struct shown_payload show_payload(struct arena *a, const struct rehearse_pair *b,
                                         bool with_diff)
{
    AUTO(buf_done) struct buf diff = BUF_INIT(PAYLOAD_DIFF_OUT);
    struct shown_payload s = { .endpoint = api_rehearse_copy(a, b->was->endpoint),
                               .system = api_rehearse_copy(a, b->was->system),
                               .was_size = b->was->size,
                               .would_size = b->would->size };

    if (with_diff && payload_diff(b->was->bytes, b->would->bytes, &diff, &s.cut))
        s.diff = arena_copy(a, buf_view(&diff));
    return s;
}

static struct shown_owner owner_shown(const struct rehearse_difference *d)
{
    return d->would.reads_records
               ? (struct shown_owner){ 0 }
               : (struct shown_owner){ d->document->sender, d->document->receiver };
}

static bool found(void *arg, const struct rehearse_difference *d)
{
    struct portion *p = arg;
    struct arena *a = p->arena;
    struct shown_difference *s = ARENA_NEW(a, struct shown_difference);

    *s = (struct shown_difference){
        .owner = owner_shown(d),
        .portion = p,
        .config = d->document->config,
        .gateway = name_text(p->store, d->document->gateway),
        .name =
            d->document->name.len > 0 ? api_rehearse_copy(a, d->document->name) : (struct str){ 0 },
        .received_us = d->document->received_us,
        .kinds = d->kinds,
        .was = show_way(a, &d->was),
        .would = show_way(a, &d->would),
        .payloads = ARENA_ARRAY(a, struct shown_payload, d->pair_count),
        .redefined = ARENA_ARRAY(a, struct str, d->pair_count),
    };
    (void)id_text(&d->document->source.id, s->id);
    for (size_t i = 0; i < d->pair_count; i++) {
        const struct rehearse_pair *pair = &d->pairs[i];

        if (pair->bytes) {
            s->payloads[s->payload_count] = show_payload(a, pair, s->payload_count < DIFFS_MOST);
            s->payload_count++;
        }
        if (pair->redefined)
            s->redefined[s->redefined_count++] = api_rehearse_copy(a, pair->would->endpoint);
    }
    p->differences[p->difference_count++] = s;
    return p->difference_count < DIFFERENCES_MOST && a->used - p->from < BYTES_MOST;
}

static void left(void *arg, const struct document *d, const char *why)
{
    struct portion *p = arg;

    p->left_count++;
    if (p->left_shown == LEFT_MOST)
        return;
    struct shown_left *s = ARENA_NEW(p->arena, struct shown_left);

    s->owner = (struct shown_owner){ d->sender, d->receiver };
    s->message = arena_copy(p->arena, str_of(why));
    (void)id_text(&d->source.id, s->id);
    p->left[p->left_shown++] = s;
}

/* ---- the query ---- */

static bool read_order(struct graphql_call *call, struct rehearse_order *o, bool *ret_nothing,
                       struct err *err)
{
    struct str after = graphql_arg_text(call, "after"), gateway = graphql_arg_text(call, "gateway");
    int64_t most = 1000;

    (void)graphql_arg_int(call, "most", &most);
    (void)graphql_arg_int(call, "since", &o->filter.since_us);
    (void)graphql_arg_int(call, "until", &o->filter.until_us);
    o->against_live = str_is(graphql_arg(call, "against")->text, "live");
    *ret_nothing = gateway.ptr != NULL &&
                   !name_find(api_store(call), NAME_GATEWAY, gateway, &o->filter.gateway);
    if (most < 1 || most > PORTION_MOST)
        return err_set(err, ERR_LIMIT, 0, "most is between 1 and %d", PORTION_MOST);
    if (after.len > 0 && (!str_to_i64(after, &o->below) || o->below < 1))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a portion");
    o->most = (size_t)most;
    return true;
}

static bool api_rehearse_play(struct graphql_call *call, struct portion *p,
                              struct rehearse_order *o, struct err *err)
{
    int64_t from = clock_mono_us();
    struct rehearse_result got;

    o->until_us = from + PORTION_US;
    if (!rehearse(engine_road(api_engine(call)), o, &got, err))
        return false;
    graphql_lend(call, clock_mono_us() - from); /* one large document may exceed the time limit */
    p->looked = got.looked;
    if (got.next != 0)
        p->next = str_of(arena_printf(call->arena, "%lld", (long long)got.next));
    return true;
}

static bool rehearse_past(struct graphql_call *call, struct err *err)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct portion *p = ARENA_NEW(call->arena, struct portion);
    struct rehearse_order o = { .found = found, .left = left, .arg = p };
    struct config_files files;
    bool nothing, ok = true;

    *p = (struct portion){ .store = api_store(call),
                           .arena = call->arena,
                           .from = call->arena->used };
    if (!read_order(call, &o, &nothing, err))
        return false;
    if (!api_config_files(call, &files, err))
        return false;
    const struct live_change change = { .text = graphql_arg_text(call, "text"),
                                        .force = true,
                                        .files = &files };

    if (live_propose(engine_live(api_engine(call)), &change, &report, &o.proposed, err)) {
        ok = nothing || api_rehearse_play(call, p, &o, err);
        plan_unref(o.proposed);
    } else {
        ok = report.problems.count > 0;
    }
    p->problems = api_keep_problems(call->arena, &report.problems);
    p->warnings = api_keep_problems(call->arena, &report.warnings);
    return ok && graphql_set_object(call, p);
}

/* ---- fields ---- */

static bool past_problems(struct graphql_call *call, struct err *err)
{
    (void)err;
    return api_set_problems(call, ((const struct portion *)call->parent)->problems);
}

static bool past_warnings(struct graphql_call *call, struct err *err)
{
    (void)err;
    return api_set_problems(call, ((const struct portion *)call->parent)->warnings);
}

static bool document_id(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, ((const struct shown_difference *)call->parent)->id);
}

static bool left_id(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, ((const struct shown_left *)call->parent)->id);
}

static bool document_kinds(struct graphql_call *call, struct err *err)
{
    const struct shown_difference *d = call->parent;
    struct str words[REHEARSE_KINDS];
    size_t count = 0;

    (void)err;
    for (unsigned k = 0; k < REHEARSE_KINDS; k++)
        if ((d->kinds >> k & 1) != 0)
            words[count++] = str_of(rehearse_kinds[k]);
    struct str *list = ARENA_ARRAY(call->arena, struct str, count);

    memcpy(list, words, count * sizeof *list);
    return graphql_set_texts(call, list, count);
}

static bool covers_owner(const struct graphql_call *call, const struct shown_owner *o,
                         enum right right)
{
    return api_sees(call, right, o->sender, o->receiver);
}

bool api_covers_rehearsed(const struct graphql_call *call, enum right right)
{
    return covers_owner(call, call->parent, right);
}

/* A walk with the version that the document ran with shows what its row has.  Any other version was
 * chosen by somebody and may find other parts of the payload. */
static bool document_was(struct graphql_call *call, struct err *err)
{
    const struct shown_difference *d = call->parent;

    (void)err;
    if (d->was.config != d->config && !covers_owner(call, &d->owner, RIGHT_PAYLOAD))
        return graphql_set_null(call);
    return graphql_set_object(call, &d->was);
}

bool api_log_rehearsed(struct graphql_call *call, enum right right, struct err *err)
{
    struct portion *p = ((const struct shown_difference *)call->parent)->portion;
    size_t count = 0;

    if (p->logged)
        return true;
    struct audit_entry *entries = ARENA_ARRAY(call->arena, struct audit_entry, p->difference_count);

    for (size_t i = 0; i < p->difference_count; i++) {
        const struct shown_difference *d = p->differences[i];

        if (d->payload_count > 0 && covers_owner(call, &d->owner, right))
            entries[count++] =
                api_audit_entry(api_principal(call), STR("payloadView"), str_of(d->id));
    }
    p->logged = audit_append_all(api_store(call), entries, count, err);
    return p->logged || err_context(err, "the audit log");
}

static bool way_attributes(struct graphql_call *call, struct err *err)
{
    (void)err;
    return api_set_attributes(call, &((const struct shown_way *)call->parent)->facts);
}

static bool way_message(struct graphql_call *call, struct err *err)
{
    const struct shown_way *w = call->parent;

    (void)err;
    return w->code.ptr == NULL ? graphql_set_text(call, w->message) : graphql_set_null(call);
}

static bool way_error(struct graphql_call *call, struct err *err)
{
    const struct shown_way *w = call->parent;
    struct api_error *e = ARENA_NEW(call->arena, struct api_error);

    (void)err;
    if (w->code.ptr == NULL)
        return graphql_set_null(call);
    *e = (struct api_error){ .code = w->code,
                             .message = w->message.ptr != NULL ? w->message : STR("") };
    return graphql_set_object(call, e);
}

/* ---- one step on a stage of a document ---- */

/* A document whose payload the caller may not see is answered as one that does not exist. */
static bool tried_document(struct graphql_call *call, struct document_view *ret, bool *ret_found,
                           struct err *err)
{
    struct document doc;
    struct id id;

    *ret_found = false;
    if (!id_parse(graphql_arg_text(call, "document"), &id))
        return true;
    if (!api_get_document(call, RIGHT_PAYLOAD, &id, &doc, ret_found, err))
        return false;
    return !*ret_found || document_view_make(api_engine(call), &doc, false, call->arena, ret, err);
}

static bool try_step(struct graphql_call *call, struct err *err)
{
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(buf_done) struct buf bytes = BUF_INIT(TRIAL_VIEW_IN);
    struct trial_view *t = ARENA_NEW(call->arena, struct trial_view);
    int64_t stage = 0, from = clock_mono_us();
    struct document_view v;
    bool found;

    *t = (struct trial_view){ .duration = -1 };
    (void)graphql_arg_int(call, "stage", &stage);
    if (!tried_document(call, &v, &found, err) ||
        (found && !api_read_stage(call, &v, stage, &bytes, &found, err)))
        return false;
    if (!found)
        return graphql_set_null(call);
    const struct trial_view_order order = { .document = &v,
                                            .bytes = buf_view(&bytes),
                                            .step = graphql_arg_text(call, "step"),
                                            .sees_records = api_sees_all(call, RIGHT_PAYLOAD) };
    bool ok = trial_view_make(api_engine(call), &order, call->arena, &problems, t, err);

    graphql_lend(call, clock_mono_us() - from); /* its limit of time is that of the step */
    t->problems = api_keep_problems(call->arena, &problems);
    return (ok || problems.count > 0) && graphql_set_object(call, t);
}

static bool trial_problems(struct graphql_call *call, struct err *err)
{
    (void)err;
    return api_set_problems(call, ((const struct trial_view *)call->parent)->problems);
}

static bool trial_results(struct graphql_call *call, struct err *err)
{
    const struct trial_view *t = call->parent;

    (void)err;
    return graphql_set_structs(call, t->results, t->shown, sizeof t->results[0]);
}

static bool trial_notes(struct graphql_call *call, struct err *err)
{
    const struct trial_view *t = call->parent;

    (void)err;
    return graphql_set_texts(call, t->notes, t->note_count);
}

static bool trial_duration(struct graphql_call *call, struct err *err)
{
    const struct trial_view *t = call->parent;

    (void)err;
    return t->duration >= 0 ? graphql_set_int(call, t->duration) : graphql_set_null(call);
}

static bool trial_error(struct graphql_call *call, struct err *err)
{
    const struct trial_view *t = call->parent;
    struct api_error *e = ARENA_NEW(call->arena, struct api_error);

    (void)err;
    if (t->code.ptr == NULL)
        return graphql_set_null(call);
    *e = (struct api_error){ .code = t->code, .message = t->message };
    return graphql_set_object(call, e);
}

const struct graphql_resolver api_rehearse[] = {
    { .field = "Query.rehearsePast", .fn = rehearse_past },
    { .field = "RehearsedPast.problems", .fn = past_problems },
    { .field = "RehearsedPast.warnings", .fn = past_warnings },
    GRAPHQL_MEMBER("RehearsedPast.looked", struct portion, looked),
    GRAPHQL_LIST_OF("RehearsedPast.differences", struct portion, differences, difference_count),
    GRAPHQL_MEMBER("RehearsedPast.left", struct portion, left_count),
    GRAPHQL_LIST_OF("RehearsedPast.leftSome", struct portion, left, left_shown),
    GRAPHQL_MEMBER("RehearsedPast.next", struct portion, next),
    { .field = "RehearsedDocument.id", .fn = document_id },
    GRAPHQL_MEMBER("RehearsedDocument.gateway", struct shown_difference, gateway),
    GRAPHQL_MEMBER("RehearsedDocument.name", struct shown_difference, name),
    GRAPHQL_MEMBER("RehearsedDocument.received", struct shown_difference, received_us),
    { .field = "RehearsedDocument.kinds", .fn = document_kinds },
    { .field = "RehearsedDocument.was", .fn = document_was },
    GRAPHQL_INSIDE("RehearsedDocument.would", struct shown_difference, would),
    GRAPHQL_LIST_OF("RehearsedDocument.payloads", struct shown_difference, payloads, payload_count),
    GRAPHQL_LIST_OF("RehearsedDocument.redefined", struct shown_difference, redefined,
                    redefined_count),
    API_NUMBER_AT("RehearsedWay.config", struct shown_way, config),
    GRAPHQL_MEMBER("RehearsedWay.sender", struct shown_way, facts.sender),
    GRAPHQL_MEMBER("RehearsedWay.receiver", struct shown_way, facts.receiver),
    GRAPHQL_MEMBER("RehearsedWay.type", struct shown_way, facts.type),
    { .field = "RehearsedWay.attributes", .fn = way_attributes },
    GRAPHQL_MEMBER("RehearsedWay.route", struct shown_way, route),
    GRAPHQL_LIST_OF("RehearsedWay.deliveries", struct shown_way, deliveries, delivery_count),
    { .field = "RehearsedWay.message", .fn = way_message },
    { .field = "RehearsedWay.error", .fn = way_error },
    GRAPHQL_MEMBER("RehearsedPayload.endpoint", struct shown_payload, endpoint),
    GRAPHQL_MEMBER("RehearsedPayload.system", struct shown_payload, system),
    GRAPHQL_MEMBER("RehearsedPayload.wasSize", struct shown_payload, was_size),
    GRAPHQL_MEMBER("RehearsedPayload.wouldSize", struct shown_payload, would_size),
    GRAPHQL_MEMBER("RehearsedPayload.diff", struct shown_payload, diff),
    GRAPHQL_MEMBER("RehearsedPayload.cut", struct shown_payload, cut),
    { .field = "RehearsedLeft.id", .fn = left_id },
    GRAPHQL_MEMBER("RehearsedLeft.message", struct shown_left, message),
    { .field = "Query.tryStep", .fn = try_step },
    { .field = "Trial.problems", .fn = trial_problems },
    GRAPHQL_MEMBER("Trial.end", struct trial_view, end),
    { .field = "Trial.results", .fn = trial_results },
    GRAPHQL_MEMBER("Trial.count", struct trial_view, count),
    { .field = "Trial.notes", .fn = trial_notes },
    { .field = "Trial.duration", .fn = trial_duration },
    API_NUMBER_AT("Trial.memory", struct trial_view, memory),
    { .field = "Trial.error", .fn = trial_error },
    GRAPHQL_MEMBER("TrialResult.sender", struct trial_result_view, facts.sender),
    GRAPHQL_MEMBER("TrialResult.receiver", struct trial_result_view, facts.receiver),
    GRAPHQL_MEMBER("TrialResult.type", struct trial_result_view, facts.type),
    GRAPHQL_MEMBER("TrialResult.size", struct trial_result_view, size),
    GRAPHQL_MEMBER("TrialResult.text", struct trial_result_view, text),
    GRAPHQL_MEMBER("TrialResult.truncated", struct trial_result_view, truncated),
    GRAPHQL_MEMBER("TrialResult.isText", struct trial_result_view, is_text),
};
const size_t api_rehearse_count = sizeof api_rehearse / sizeof api_rehearse[0];
