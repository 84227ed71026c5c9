/* retention.c - how long documents are stored, and legal holds: retention, kept, keep, unkeep,
 * retentionRun. */
#include <stdio.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/document_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/civil.h"
#include "engine/engine.h"
#include "engine/upkeep/purger.h"
#include "store/manual/operate.h"
#include "store/retention/archive.h"
#include "store/retention/kept.h"
#include "store/retention/retain.h"
#include "store/retention/retain_bytes.h"
#include "store/store.h"

/* ---- looking ---- */

struct shown {
    struct purger_view view;
    struct str trouble;
    int64_t documents, kept, waiting;
};

static bool api_retention_show(struct graphql_call *call, struct err *err)
{
    struct shown *v = ARENA_NEW(call->arena, struct shown);
    struct store *s = api_store(call);

    *v = (struct shown){ 0 };
    purger_look(engine_purger(api_engine(call)), &v->view);
    v->trouble = str_of(v->view.trouble);
    return retain_present(s, &v->documents, err) && kept_count(s, &v->kept, err) &&
           retain_waiting(s, &v->waiting, err) && graphql_set_object(call, v);
}

static bool run_now(struct graphql_call *call, struct err *err)
{
    bool all = false;

    (void)graphql_arg_bool(call, "all", &all);
    if (!api_audit_now(call, err))
        return false;
    purger_ask(engine_purger(api_engine(call)), api_name(call), all);
    return api_retention_show(call, err);
}

struct shown_archive {
    struct archive_look look;
    const char *day, *sha256;
};

static bool archives(struct graphql_call *call, struct err *err)
{
    struct archive_look *all = ARENA_ARRAY(call->arena, struct archive_look, ARCHIVES_MOST);
    int64_t first = 50;
    size_t n;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > ARCHIVES_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", ARCHIVES_MOST);
    if (!archive_list(api_store(call), (size_t)first, call->arena, all, &n, err))
        return false;
    struct shown_archive *shown = ARENA_ARRAY(call->arena, struct shown_archive, n);

    for (size_t i = 0; i < n; i++) {
        struct civil_date d = civil_date(all[i].day);
        char *sha = ARENA_ARRAY(call->arena, char, SHA256_TEXT);

        shown[i] = (struct shown_archive){ .look = all[i],
                                           .day = arena_printf(call->arena, "%04d-%02d-%02d",
                                                               (int)d.year, d.month, d.day),
                                           .sha256 = digest_text(&all[i].sha256, sha) };
    }
    return graphql_set_structs(call, shown, n, sizeof *shown);
}

struct shown_kept {
    struct kept kept;
    char id[ID_TEXT];
    struct str id_text;
};

static const struct shown_kept *show_kept(struct graphql_call *call, const struct kept *k)
{
    struct shown_kept *v = ARENA_NEW(call->arena, struct shown_kept);

    v->kept = *k;
    v->id_text = str_of(id_text(&k->id, v->id));
    return v;
}

_Static_assert((int)KEPT_PAGE_MOST <= (int)API_PAGE_MOST, "a page holds them");

static bool add_kept(struct graphql_call *call, const struct kept *all, size_t n,
                     struct api_page *page, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        bool there = true;

        if (!api_sees_all(call, RIGHT_SEE) &&
            !api_is_there(call, RIGHT_SEE, &all[i].id, &there, err))
            return false;
        if (there)
            page->items[page->count++] = show_kept(call, &all[i]);
    }
    return true;
}

static bool kept_page(struct graphql_call *call, struct err *err)
{
    struct api_page *page = ARENA_NEW(call->arena, struct api_page);
    struct kept *all = ARENA_ARRAY(call->arena, struct kept, KEPT_PAGE_MOST);
    int64_t first, above, next;

    *page = (struct api_page){ 0 };
    if (!api_read_page(call, KEPT_PAGE_MOST, &first, &above, err))
        return false;
    do { /* documents out of scope are skipped until the page is full */
        size_t n;

        if (!kept_list(api_store(call), above, (size_t)first - page->count, call->arena, all, &n,
                       &next, err) ||
            !add_kept(call, all, n, page, err))
            return false;
        above = next;
    } while (next != 0 && page->count < (size_t)first &&
             clock_mono_us() < call->deadline_us - CLOCK_S);
    api_page_goes_on(call, page, next);
    return graphql_set_object(call, page);
}

static bool document_kept(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;
    struct kept k;
    bool found;

    if (!kept_get(api_store(call), v->doc.source.num, call->arena, &k, &found, err))
        return false;
    return found ? graphql_set_object(call, show_kept(call, &k)) : graphql_set_null(call);
}

/* ---- changing ---- */

static bool api_retention_change_one(struct graphql_call *call, struct str text, bool drop,
                                     struct api_result *r, struct err *err)
{
    struct store *s = api_store(call);
    enum operate_result result = OPERATE_NONE;
    struct id id;
    bool found = false, there;

    *r = (struct api_result){ .id = text, .message = "there is no such document" };
    there = id_parse(text, &id);
    if (there && !api_sees_all(call, RIGHT_SEE) && !api_is_there(call, RIGHT_SEE, &id, &there, err))
        return false;
    if (there) {
        if (!(drop ? kept_drop(s, &id, api_name(call), &found, err)
                   : kept_put(s, &id, graphql_arg_text(call, "reason"), api_name(call), &found,
                              err)))
            return false;
        if (found) {
            result = OPERATE_DONE;
            r->message = drop ? "it may go again" : "it is kept";
        } else if (drop) {
            result = OPERATE_NOTHING;
            r->message = "it is not kept";
        }
    }
    r->result = operate_results[result];
    return true;
}

static bool api_retention_change(struct graphql_call *call, bool drop, struct err *err)
{
    const struct graphql_value *ids = graphql_arg(call, "ids");
    struct api_result *shown = ARENA_ARRAY(call->arena, struct api_result, ids->count);

    if (ids->count > OPERATE_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d ids", OPERATE_MOST);
    for (size_t i = 0; i < ids->count; i++) {
        if (!api_retention_change_one(call, ids->items[i].text, drop, &shown[i], err))
            return false;
    }
    log_event(LOG_INFO, "document.keep", kv_z("action", drop ? "unkeep" : "keep"),
              kv_int("count", (int64_t)ids->count), kv_str("by", api_name(call)));
    return graphql_set_structs(call, shown, ids->count, sizeof *shown);
}

static bool api_retention_keep(struct graphql_call *call, struct err *err)
{
    return api_retention_change(call, false, err);
}

static bool unkeep(struct graphql_call *call, struct err *err)
{
    return api_retention_change(call, true, err);
}

const struct graphql_resolver api_retention[] = {
    { .field = "Query.retention", .fn = api_retention_show },
    { .field = "Query.kept", .fn = kept_page },
    { .field = "Mutation.keep", .fn = api_retention_keep },
    { .field = "Mutation.unkeep", .fn = unkeep },
    { .field = "Mutation.retentionRun", .fn = run_now },
    { .field = "Document.kept", .fn = document_kept },
    GRAPHQL_MEMBER("Retention.state", struct shown, view.state),
    GRAPHQL_MEMBER("Retention.documents", struct shown, documents),
    GRAPHQL_MEMBER("Retention.kept", struct shown, kept),
    GRAPHQL_MEMBER("Retention.dueDays", struct shown, view.due),
    GRAPHQL_MEMBER("Retention.gone", struct shown, view.documents),
    GRAPHQL_MEMBER("Retention.goneBytes", struct shown, view.bytes),
    GRAPHQL_MEMBER("Retention.freedBytes", struct shown, view.freed),
    GRAPHQL_MEMBER("Retention.waiting", struct shown, waiting),
    GRAPHQL_MEMBER("Retention.deadDiscarded", struct shown, view.dead),
    GRAPHQL_MEMBER("Retention.deadSoon", struct shown, view.dead_soon),
    GRAPHQL_MEMBER("Retention.steady", struct shown, view.steady),
    GRAPHQL_MEMBER("Retention.guarded", struct shown, view.guarded),
    API_NUMBER_AT("Retention.lastLook", struct shown, view.looked_us),
    API_TEXT_AT("Retention.trouble", struct shown, trouble),
    { .field = "Retention.archives", .fn = archives },
    GRAPHQL_MEMBER("Archive.day", struct shown_archive, day),
    GRAPHQL_MEMBER("Archive.folder", struct shown_archive, look.folder),
    GRAPHQL_MEMBER("Archive.name", struct shown_archive, look.name),
    GRAPHQL_MEMBER("Archive.documents", struct shown_archive, look.documents),
    GRAPHQL_MEMBER("Archive.bytes", struct shown_archive, look.bytes),
    GRAPHQL_MEMBER("Archive.made", struct shown_archive, look.made_us),
    GRAPHQL_MEMBER("Archive.sha256", struct shown_archive, sha256),
    { .field = "KeptPage.items", .fn = api_page_items },
    API_TEXT_AT("KeptPage.next", struct api_page, next),
    GRAPHQL_MEMBER("Kept.id", struct shown_kept, id_text),
    GRAPHQL_MEMBER("Kept.reason", struct shown_kept, kept.reason),
    GRAPHQL_MEMBER("Kept.by", struct shown_kept, kept.by),
    GRAPHQL_MEMBER("Kept.made", struct shown_kept, kept.made_us),
};
const size_t api_retention_count = sizeof api_retention / sizeof api_retention[0];
