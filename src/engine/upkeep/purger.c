#include "engine/upkeep/purger.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "base/wait.h"
#include "core/civil.h"
#include "engine/dispatch/govern.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/tally/duty_count.h"
#include "engine/tally/mishaps.h"
#include "engine/upkeep/archiver.h"
#include "store/audit/audit.h"
#include "store/manual/dead.h"
#include "store/manual/operate.h"
#include "store/payload/payload_days.h"
#include "store/retention/archive.h"
#include "store/retention/kept.h"
#include "store/retention/retain.h"
#include "store/retention/retain_bytes.h"
#include "store/retention/retain_gate.h"
#include "store/store.h"

enum {
    LOOK_US = 30 * CLOCK_S, /* how often due days are counted, also during a purge */
    REST_LEAST_US = 5 * CLOCK_MS,
    REST_MOST_US = 1 * CLOCK_S,
    DAYS_BEHIND = 2, /* hurry when more days than this are due */
    ROOM_TIMES = 2,  /* hurry below this many times the disk reserve, like the disk alert */
    DEAD_AT_ONCE = 50,
    WHO_MOST = 64,
    DATE = 24,
};

/* A closed table is dropped after this: no reader uses it any more, and on PostgreSQL every node
 * knows that it is closed. */
#define DROP_AGE_US      (INT64_C(60) * CLOCK_S)
#define DROP_AGE_MANY_US (INT64_C(7200) * CLOCK_S)
#define SOON_US          (INT64_C(3) * RETAIN_DAY_US)

struct purger {
    struct purger_options o;
    struct archiver *archiver;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stopping, asked, asked_all;
    char who[WHO_MOST];
    struct purger_view view;
    struct duty_count count;
    /* Rounds that a job asks for, one at a time: the number of the last that was asked for, and of
     * the last that ended.  They are the same while nobody waits for one. */
    int64_t round_asked, round_ended;
    bool halted;
    struct purger_round round; /* of the last that ended */

    /* used by the thread only */
    struct retain_clock clock;
    bool all;   /* this round ignores the guard */
    bool hurry; /* behind, or short of disk space */
    int64_t due_seen_us;
    int64_t told_guard_us;
};

static struct metric gone_documents = { .name = "waybill_retention_documents_total",
                                        .help = "Documents that were kept long enough and went." };
static struct metric gone_bytes = { .name = "waybill_retention_bytes_total",
                                    .help = "Payload bytes of documents that went." };
static struct metric freed_bytes = { .name = "waybill_retention_freed_bytes_total",
                                     .help = "Bytes of files that were given back to the disk." };
static struct metric due_days = { .name = "waybill_retention_due_days",
                                  .help = "Days whose documents may go and are still there.",
                                  .type = METRIC_GAUGE };
static struct metric hurries = { .name = "waybill_retention_hurries",
                                 .help = "1: more than two days are due, or the disk is short of "
                                         "room; rests are shorter.",
                                 .type = METRIC_GAUGE };
static struct metric slice_time = { .name = "waybill_retention_slice_seconds",
                                    .help = "One slice of documents that go, until its commit.",
                                    .type = METRIC_HISTOGRAM };
static struct metric *const metrics[] = { &gone_documents, &gone_bytes, &freed_bytes,
                                          &due_days,       &hurries,    &slice_time };

/* ---- helpers ---- */

static bool purger_is_stopping(struct purger *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool stopping = r->stopping;

    (void)pthread_mutex_unlock(&r->mutex);
    return stopping;
}

/* The node stops, or the job that asked for this round does not wait for more. */
static bool purger_is_over(struct purger *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool over = r->stopping || r->halted;

    (void)pthread_mutex_unlock(&r->mutex);
    return over;
}

static void set_state(struct purger *r, const char *state)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->view.state = state;
    (void)pthread_mutex_unlock(&r->mutex);
}

/* Waits, until asked (if for_asked) or stopped; false: stopped. */
static bool purger_wait_us(struct purger *r, int64_t us, bool for_asked)
{
    int64_t until_us = clock_mono_us() + us;

    (void)pthread_mutex_lock(&r->mutex);
    while (!r->stopping && !(for_asked && (r->asked || r->round_asked != r->round_ended)) &&
           wait_until(&r->changed, &r->mutex, until_us)) {
    }
    bool go_on = !r->stopping;

    (void)pthread_mutex_unlock(&r->mutex);
    return go_on;
}

/* The rest after a slice, as a multiple of the time that the slice took. */
struct limiter {
    int rest_times, hurried;
};

/* A slice delays all commits: on SQLite it uses the one writer, a tenth of it (5000 documents a
 * second are purged while 2000 arrive); on PostgreSQL the server's disk, a twentieth of it. */
static const struct limiter slice_pace[] = { [DB_SQLITE] = { 9, 3 }, [DB_POSTGRESQL] = { 19, 3 } };
static const struct limiter bytes_pace = { 9, 1 };
static const struct limiter other_pace = { 39, 3 }; /* dead letters, the audit log */

static bool purger_rest(struct purger *r, int64_t took_us, const struct limiter *limiter)
{
    int64_t us = took_us * (r->hurry ? limiter->hurried : limiter->rest_times);

    us = us < REST_LEAST_US ? REST_LEAST_US : us > REST_MOST_US ? REST_MOST_US : us;
    return purger_wait_us(r, us, false) && !purger_is_over(r);
}

static const char *day_text(int64_t day, char text[static DATE])
{
    struct civil_date d = civil_date(day);

    (void)snprintf(text, DATE, "%04d-%02d-%02d", (int)d.year, d.month, d.day);
    return text;
}

static int64_t apart_us(void)
{
    const char *ms = fault_switch("WAYBILL_TEST_RETAIN_APART_MS");
    int64_t n;

    return ms != NULL && str_to_i64(str_of(ms), &n) ? n * CLOCK_MS : RETAIN_APART_US;
}

/* ---- a day ---- */

struct day {
    int64_t day, now_us, documents, bytes, spared;
    int64_t archived_us; /* documents that ended until then are archived */
};

static void tell_guard(struct purger *r, const struct day *d)
{
    char date[DATE];

    (void)pthread_mutex_lock(&r->mutex);
    r->view.guarded = true;
    (void)pthread_mutex_unlock(&r->mutex);
    if (r->told_guard_us != 0 && clock_mono_us() - r->told_guard_us < RETAIN_DAY_US)
        return;
    r->told_guard_us = clock_mono_us();
    log_event(LOG_WARN, "retention.guard", kv_z("day", day_text(d->day, date)),
              kv_z("hint", "More may go at once than the guard lets in an hour; it goes on by "
                           "itself. If the clock is right and it shall go now: `waybill retention "
                           "run --all`."));
    mishaps_note(r->o.mishaps, "retention_guard", "retention", STR("days"),
                 "more may go than the guard lets in an hour");
}

static void purger_count(struct purger *r, struct day *d, const struct retain_slice *got)
{
    d->documents += got->documents;
    d->bytes += got->bytes;
    d->spared += got->spared;
    metric_add(&gone_documents, got->documents);
    metric_add(&gone_bytes, got->bytes);
    (void)pthread_mutex_lock(&r->mutex);
    r->view.documents += got->documents;
    r->view.bytes += got->bytes;
    (void)pthread_mutex_unlock(&r->mutex);
}

static bool see_due(struct purger *r, int64_t now_us, int64_t days[static RETAIN_DUE_MOST],
                    size_t *ret_count, struct err *err)
{
    int64_t room;

    if (!retain_due(r->o.store, retain_due_before(now_us), days, RETAIN_DUE_MOST, ret_count, err) ||
        !file_free_bytes(store_data_fd(r->o.store), &room, err))
        return false;
    r->due_seen_us = clock_mono_us();
    r->hurry = *ret_count > DAYS_BEHIND || room / ROOM_TIMES < r->o.disk_reserve_bytes;
    metric_set(&due_days, (int64_t)*ret_count);
    metric_set(&hurries, r->hurry);
    (void)pthread_mutex_lock(&r->mutex);
    r->view.due = (int64_t)*ret_count;
    (void)pthread_mutex_unlock(&r->mutex);
    return true;
}

/* A large day takes so long that others become due. */
static bool see_due_again(struct purger *r, struct err *err)
{
    int64_t days[RETAIN_DUE_MOST];
    size_t n;

    return clock_mono_us() - r->due_seen_us < LOOK_US ||
           see_due(r, govern_time(r->o.govern).early_us, days, &n, err);
}

/* *ret_empty: everything that may be purged is. */
static bool slices(struct purger *r, struct day *d, bool *ret_empty, struct err *err)
{
    struct retain_order order = {
        .day = d->day, .now_us = d->now_us, .unguarded = r->all, .archived_us = d->archived_us
    };
    struct retain_slice got;
    int64_t first;

    *ret_empty = false;
    if (!retain_first(r->o.store, d->day, &first, err))
        return false;
    order.above = first - 1;
    if (first == 0) {
        *ret_empty = true;
        return true;
    }
    for (int64_t began;; order.above = got.upto) {
        began = clock_mono_us();
        if (!retain_slice(r->o.store, &order, &got, err))
            return false;
        purger_count(r, d, &got);
        if (got.guarded)
            tell_guard(r, d);
        if (got.busy || got.guarded || got.unarchived)
            return true;
        if (got.upto == 0) {
            *ret_empty = true;
            return true;
        }
        metric_observe_us(&slice_time, clock_mono_us() - began);
        if (!see_due_again(r, err))
            return false;
        if (!purger_rest(r, clock_mono_us() - began, &slice_pace[store_kind(r->o.store)]))
            return true;
    }
}

static bool archive_first(struct purger *r, struct day *d, const struct plan *plan, struct err *err)
{
    struct archive_made made;
    char date[DATE];

    if (plan->retention.archive_broken != NULL)
        return err_set(err, ERR_CONFIG, 0, "%s", plan->retention.archive_broken);
    if (plan->retention.archive.len == 0)
        return true;
    set_state(r, "archives");
    if (!archiver_copy(r->archiver, plan, d->day, &made, err))
        return err_context(err, "archive of %s", day_text(d->day, date));
    d->archived_us = made.until_us;
    if (made.documents > 0)
        log_event(LOG_INFO, "retention.archive", kv_z("day", day_text(d->day, date)),
                  kv_int("documents", made.documents), kv_int("bytes", made.bytes),
                  kv_z("name", made.name));
    return true;
}

static bool run_day(struct purger *r, struct day *d, const struct plan *plan, struct err *err)
{
    bool empty, closed = false;
    char date[DATE];

    if (!archive_first(r, d, plan, err))
        return false;
    if (plan->retention.archive.len > 0 &&
        d->archived_us == 0) /* another node archives it, or it takes long */
        return true;
    set_state(r, "lets go");
    bool ok =
        slices(r, d, &empty, err) && (!empty || retain_close(r->o.store, d->day, &closed, err));

    if (d->documents > 0)
        log_event(LOG_INFO, "retention.day", kv_z("day", day_text(d->day, date)),
                  kv_int("documents", d->documents), kv_int("bytes", d->bytes),
                  kv_int("kept", d->spared), kv_z("table", closed ? "gone" : "not empty yet"));
    return ok;
}

static bool run_days(struct purger *r, int64_t now_us, const struct plan *plan, struct err *err)
{
    int64_t days[RETAIN_DUE_MOST];
    size_t n;

    if (!see_due(r, now_us, days, &n, err))
        return false;
    (void)pthread_mutex_lock(&r->mutex);
    r->view.guarded = false;
    (void)pthread_mutex_unlock(&r->mutex);
    for (size_t i = 0; i < n && !purger_is_over(r) && !retain_is_paused(r->o.store); i++) {
        struct day d = { .day = days[i], .now_us = now_us };

        if (!run_day(r, &d, plan, err))
            return false;
    }
    return true;
}

/* ---- bytes and tables ---- */

static bool purger_clean(struct purger *r, struct err *err)
{
    struct retain_bytes got = { .more = true };
    int64_t dropped, tidied, files = 0, bytes = 0, moved = 0;
    bool many = store_kind(r->o.store) == DB_POSTGRESQL;

    set_state(r, "cleans");
    while (got.more && !purger_is_over(r)) {
        int64_t began = clock_mono_us();

        if (!retain_bytes(r->o.store, &got, err))
            return false;
        files += got.files + got.segments;
        bytes += got.bytes;
        moved += got.moved;
        metric_add(&freed_bytes, got.bytes);
        (void)pthread_mutex_lock(&r->mutex);
        r->view.freed += got.bytes;
        (void)pthread_mutex_unlock(&r->mutex);
        if (got.damaged > 0) {
            log_event(LOG_WARN, "retention.damaged",
                      kv_z("hint", "A payload segment that could go is damaged and is left alone; "
                                   "`waybill doctor` tells which documents have trouble."));
            mishaps_note(r->o.mishaps, "payload_corrupt", "retention", STR("segment"),
                         "a segment that could go is damaged");
        }
        if (!purger_rest(r, clock_mono_us() - began, &bytes_pace))
            break;
    }
    if (!payload_days_tidy(r->o.store, &tidied, err))
        return false;
    bytes += tidied;
    if (bytes > 0)
        log_event(LOG_INFO, "retention.freed", kv_int("files", files), kv_int("bytes", bytes),
                  kv_int("moved", moved));
    return retain_drop(r->o.store, many ? DROP_AGE_MANY_US : DROP_AGE_US, &dropped, err);
}

/* ---- dead letters ---- */

static bool purger_discard(struct purger *r, const struct dead_letter *letters, size_t n,
                           const struct operate_order *order, int64_t *ret_done, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    struct operate_target targets[DEAD_AT_ONCE];
    struct operate_answer answers[DEAD_AT_ONCE];
    struct kept kept;
    size_t count = 0;
    bool found;

    for (size_t i = 0; i < n; i++) {
        if (!kept_get(r->o.store, letters[i].doc, &arena, &kept, &found, err))
            return false;
        if (!found)
            targets[count++] =
                (struct operate_target){ .id = letters[i].id, .delivery = letters[i].delivery };
    }
    if (!operate(r->o.store, OPERATE_DISCARD, targets, count, order, answers, err))
        return false;
    for (size_t i = 0; i < count; i++)
        *ret_done += answers[i].result == OPERATE_DONE;
    return true;
}

static bool discard_until(struct purger *r, int64_t until_us, const struct plan *plan,
                          int64_t *ret_done, struct err *err)
{
    struct dead_filter f = { .until_us = until_us };
    struct operate_order order = { .who = STR("the retention of dead letters"),
                                   .bulk = true,
                                   .config = plan->version,
                                   .keep_days = 0 };
    int64_t above = 0;

    do {
        AUTO(arena_done) struct arena arena = ARENA_INIT(8 << 20);
        struct dead_letter *letters = ARENA_ARRAY(&arena, struct dead_letter, DEAD_AT_ONCE);
        int64_t began = clock_mono_us();
        size_t n;

        if (!dead_list(r->o.store, &f, above, DEAD_AT_ONCE, &arena, letters, &n, &above, err) ||
            !purger_discard(r, letters, n, &order, ret_done, err))
            return false;
        if (!purger_rest(r, clock_mono_us() - began, &other_pace))
            return true;
    } while (above != 0);
    return true;
}

static bool count_soon(struct purger *r, int64_t until_us, int64_t *ret, struct err *err)
{
    struct dead_filter f = { .until_us = until_us };
    int64_t above = 0, some;

    *ret = 0;
    do {
        if (!dead_count(r->o.store, &f, above, &some, &above, err))
            return false;
        *ret += some;
    } while (above != 0 && !purger_is_over(r));
    return true;
}

static void tell_soon(struct purger *r, int64_t soon)
{
    log_event(LOG_WARN, "retention.dead_soon", kv_int("count", soon),
              kv_z("hint", "Dead letters that will be discarded within three days; see "
                           "`waybill dead ls`."));
    mishaps_note(r->o.mishaps, "dead_expires", "retention", STR("dead letters"),
                 "dead letters will be discarded within three days");
}

static bool purger_look_at_dead(struct purger *r, int64_t now_us, const struct plan *plan,
                                struct err *err)
{
    int64_t keep_us = plan->retention.dead_us, done = 0, soon = 0;
    int64_t soon_us = now_us - keep_us + SOON_US;
    struct retain_announced announced;

    if (keep_us == 0)
        return true;
    /* Who dies later today was not counted, however short the rule is. */
    if (!count_soon(r, soon_us, &soon, err) ||
        !retain_announce(r->o.store, now_us, soon_us < now_us ? soon_us : now_us, &announced, err))
        return false;
    if (soon > 0 && announced.fresh)
        tell_soon(r, soon);
    int64_t due_us = now_us - keep_us;

    if (announced.told_us < due_us)
        due_us = announced.told_us;
    bool ok = due_us <= 0 || discard_until(r, due_us, plan, &done, err);

    (void)pthread_mutex_lock(&r->mutex);
    r->view.dead += done;
    r->view.dead_soon = soon - done;
    (void)pthread_mutex_unlock(&r->mutex);
    if (done > 0)
        log_event(LOG_WARN, "retention.dead", kv_int("count", done),
                  kv_z("hint", "They waited as long as `retention.dead` says and were discarded; "
                               "those that no receiver has go tomorrow."));
    return ok;
}

/* ---- the audit log ---- */

/* Purge a day at once: each purge itself adds an audit line. */
static bool look_at_audit(struct purger *r, int64_t now_us, const struct plan *plan,
                          struct err *err)
{
    int64_t keep_us = plan->retention.audit_us, slack_us = RETAIN_DAY_US, all = 0, some;

    if (keep_us == 0)
        return true;
    do {
        int64_t began = clock_mono_us();

        if (!audit_trim(r->o.store, now_us - keep_us, slack_us, &some, err))
            return false;
        all += some;
        slack_us = 0;
        if (!purger_rest(r, clock_mono_us() - began, &other_pace))
            break;
    } while (some > 0);
    if (all > 0)
        log_event(LOG_INFO, "retention.audit", kv_int("lines", all));
    return true;
}

/* ---- the thread ---- */

/* Records which day it is.  Only a person who vouches for the clock may move the day back. */
static bool purger_believe(struct purger *r, const struct govern_time *now, bool steady,
                           struct err *err)
{
    int64_t today = now->early_us / RETAIN_DAY_US;

    if (r->all && !now->frozen)
        return retain_believe_anew(r->o.store, today, err);
    return !steady || retain_believe(r->o.store, today, err);
}

/* True: purge now, because the clock is steady or a person asked. */
static bool look_at_clock(struct purger *r, struct govern_time *ret, bool *ret_asked,
                          struct err *err)
{
    *ret = govern_time(r->o.govern);
    bool steady =
        retain_clock_look(&r->clock, ret->early_us, clock_mono_us(), apart_us()) && !ret->frozen;

    (void)pthread_mutex_lock(&r->mutex);
    *ret_asked = r->asked;
    r->all = r->asked && r->asked_all;
    if (r->asked)
        log_event(LOG_INFO, "retention.ask", kv_z("by", r->who), kv_bool("all", r->all));
    r->asked = r->asked_all = false;
    r->view.steady = steady;
    (void)pthread_mutex_unlock(&r->mutex);
    return purger_believe(r, ret, steady, err) && (steady || *ret_asked);
}

/* A request that a pause interrupted is repeated after it. */
static void purger_ask_again(struct purger *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->asked = true;
    r->asked_all = r->asked_all || r->all;
    (void)pthread_mutex_unlock(&r->mutex);
}

/* The round of a job that begins now; 0: none asked for one. */
static int64_t purger_round_begin(struct purger *r, struct purger_view *ret_before)
{
    (void)pthread_mutex_lock(&r->mutex);
    int64_t number = r->round_asked != r->round_ended ? r->round_asked : 0;

    *ret_before = r->view;
    (void)pthread_mutex_unlock(&r->mutex);
    return number;
}

static void purger_round_end(struct purger *r, int64_t number, const struct purger_view *before,
                             bool ok, bool worked, bool interrupted, const struct err *err)
{
    if (number == 0)
        return;
    (void)pthread_mutex_lock(&r->mutex);
    r->round = (struct purger_round){ .over = true,
                                      .ok = ok,
                                      .unsteady = ok && !worked,
                                      .halted = r->halted || interrupted,
                                      .guarded = worked && r->view.guarded,
                                      .documents = r->view.documents - before->documents,
                                      .dead = r->view.dead - before->dead };
    (void)snprintf(r->round.trouble, sizeof r->round.trouble, "%s", ok ? "" : err->text);
    r->round_ended = number;
    r->halted = false;
    (void)pthread_mutex_unlock(&r->mutex);
}

/* With a job that purges, what is due is only counted. */
static bool purger_work(struct purger *r, int64_t now_us, bool asked, struct err *err)
{
    struct plan *plan = road_plan(r->o.road);
    int64_t days[RETAIN_DUE_MOST];
    size_t due;
    bool ok;

    if (plan != NULL && plan->retention.by_job && !asked) {
        ok = see_due(r, now_us, days, &due, err);
        plan_unref(plan);
        return ok;
    }
    ok = plan != NULL && purger_look_at_dead(r, now_us, plan, err) &&
         look_at_audit(r, now_us, plan, err) && run_days(r, now_us, plan, err);
    plan_unref(plan);
    return purger_clean(r, err) && ok;
}

static bool upkeep_purger_look(struct purger *r, struct err *err)
{
    int64_t pauses = retain_pauses(r->o.store);
    struct purger_view before;
    struct govern_time now;
    bool asked;

    if (retain_is_paused(r->o.store)) /* a backup copies files */
        return true;
    int64_t round = purger_round_begin(r, &before);
    bool worked = look_at_clock(r, &now, &asked, err);
    bool ok =
        worked ? purger_work(r, now.early_us, asked || round != 0, err) : err->kind == ERR_NONE;
    bool interrupted = retain_pauses(r->o.store) != pauses;

    purger_round_end(r, round, &before, ok, worked, interrupted, err);
    if (worked && asked && interrupted)
        purger_ask_again(r);
    return ok;
}

static void *purger_main(void *arg)
{
    struct purger *r = arg;
    bool failing = false;

    for (bool paused = false; purger_wait_us(r, paused ? REST_MOST_US : LOOK_US, !paused);
         paused = retain_is_paused(r->o.store)) {
        struct err err = { 0 };
        int64_t began_us = clock_mono_us();
        bool ok = upkeep_purger_look(r, &err);

        if (!ok && !failing && !purger_is_stopping(r)) {
            log_event(LOG_WARN, "retention.fail", kv_z("why", err.text));
            mishaps_note(r->o.mishaps, "retention", "retention", STR("node"), err.text);
        }
        failing = !ok;
        (void)pthread_mutex_lock(&r->mutex);
        r->view.state = "rests";
        r->view.looked_us = clock_wall_us();
        duty_count_note(&r->count, clock_mono_us() - began_us, ok ? NULL : err.text);
        (void)snprintf(r->view.trouble, sizeof r->view.trouble, "%s", ok ? "" : err.text);
        (void)pthread_mutex_unlock(&r->mutex);
    }
    return NULL;
}

struct purger *purger_start(const struct purger_options *options)
{
    struct purger *r = NEW(struct purger);

    r->o = *options;
    r->view.state = "rests";
    (void)pthread_mutex_init(&r->mutex, NULL);
    (void)pthread_cond_init(&r->changed, NULL);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_register(metrics[i]);
    r->archiver = archiver_new(r->o.store);
    thread_start(&r->thread, "purger", purger_main, r);
    return r;
}

void purger_hurry(struct purger *r)
{
    if (r == NULL)
        return;
    (void)pthread_mutex_lock(&r->mutex);
    r->stopping = true;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->mutex);
    archiver_rest(r->archiver);
}

size_t purger_stop(struct purger *r)
{
    if (r == NULL)
        return 0;
    purger_hurry(r);
    (void)pthread_join(r->thread, NULL);
    size_t lost = archiver_free(r->archiver);

    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_forget(metrics[i]);
    free(r);
    return lost;
}

void purger_ask(struct purger *r, struct str who, bool all)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->asked = true;
    r->asked_all = r->asked_all || all;
    (void)snprintf(r->who, sizeof r->who, "%.*s", STR_ARG(who));
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->mutex);
}

int64_t purger_begin(struct purger *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    if (r->round_asked == r->round_ended)
        r->round_asked++;
    int64_t number = r->round_asked;

    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->mutex);
    return number;
}

void purger_halt(struct purger *r, int64_t number)
{
    (void)pthread_mutex_lock(&r->mutex);
    if (number == r->round_asked && number != r->round_ended)
        r->halted = true;
    (void)pthread_mutex_unlock(&r->mutex);
}

void purger_look_at_round(struct purger *r, int64_t number, struct purger_round *ret)
{
    (void)pthread_mutex_lock(&r->mutex);
    *ret = number <= r->round_ended ? r->round : (struct purger_round){ 0 };
    (void)pthread_mutex_unlock(&r->mutex);
}

void purger_duty(struct purger *r, int64_t *ret_every_us, struct duty_count *ret)
{
    *ret_every_us = LOOK_US;
    (void)pthread_mutex_lock(&r->mutex);
    *ret = r->count;
    (void)pthread_mutex_unlock(&r->mutex);
}

void purger_look(struct purger *r, struct purger_view *ret)
{
    (void)pthread_mutex_lock(&r->mutex);
    *ret = r->view;
    (void)pthread_mutex_unlock(&r->mutex);
    if (retain_is_paused(r->o.store))
        ret->state = "paused";
}
