#include "engine/tally/refusals.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "store/audit/audit.h"

enum { ENTRIES = 32, NAME = 128, WHY = 200 };

#define MINUTE_US (INT64_C(60) * CLOCK_S)

struct entry {
    char action[40], actor[NAME], kind[16], address[64], object[NAME], why[WHY];
    int64_t count;             /* since the last line */
    int64_t first_us, last_us; /* of these */
    int64_t noted_us;          /* monotonic: when its last line was written; 0: none yet */
};

struct refusals {
    pthread_mutex_t mutex;
    struct entry entries[ENTRIES + 1]; /* the last one: all for which there is no room */
    size_t count;
};

struct refusals *refusals_new(void)
{
    struct refusals *r = NEW(struct refusals);

    (void)pthread_mutex_init(&r->mutex, NULL);
    (void)snprintf(r->entries[ENTRIES].action, sizeof r->entries[ENTRIES].action, "refused");
    (void)snprintf(r->entries[ENTRIES].actor, sizeof r->entries[ENTRIES].actor, "others");
    (void)snprintf(r->entries[ENTRIES].why, sizeof r->entries[ENTRIES].why,
                   "more than %d kinds of refusals at once", ENTRIES);
    return r;
}

void refusals_free(struct refusals *r)
{
    free(r);
}

/* ---- counting ---- */

static void refusals_put_text(char *to, size_t room, struct str text)
{
    (void)snprintf(to, room, "%.*s", STR_ARG(str_first(text, room - 1)));
}

static struct entry entry_of(const struct refusal *one)
{
    struct entry e = { 0 };

    (void)snprintf(e.action, sizeof e.action, "%s", one->action);
    refusals_put_text(e.actor, sizeof e.actor, one->actor.len > 0 ? one->actor : STR("nobody"));
    refusals_put_text(e.kind, sizeof e.kind, one->kind.len > 0 ? one->kind : STR("none"));
    refusals_put_text(e.address, sizeof e.address, one->address);
    refusals_put_text(e.object, sizeof e.object, one->object);
    (void)snprintf(e.why, sizeof e.why, "%s", one->why);
    return e;
}

static bool is_same_entry(const struct entry *a, const struct entry *b)
{
    return str_is(str_of(a->action), b->action) && str_is(str_of(a->actor), b->actor) &&
           str_is(str_of(a->address), b->address) && str_is(str_of(a->object), b->object);
}

static struct entry *find_entry(struct refusals *r, const struct entry *like)
{
    for (size_t i = 0; i < r->count; i++)
        if (is_same_entry(&r->entries[i], like))
            return &r->entries[i];
    if (r->count == ENTRIES)
        return &r->entries[ENTRIES];
    r->entries[r->count] = *like;
    r->entries[r->count].count = 0;
    return &r->entries[r->count++];
}

static void add_to_entry(struct refusals *r, const struct entry *like)
{
    struct entry *e = find_entry(r, like);

    if (e->count == 0 || like->first_us < e->first_us)
        e->first_us = like->first_us;
    if (like->last_us > e->last_us)
        e->last_us = like->last_us;
    e->count += like->count;
}

void refusals_note(struct refusals *r, const struct refusal *one)
{
    struct entry e = entry_of(one);

    e.count = 1;
    e.first_us = e.last_us = clock_wall_us();
    (void)pthread_mutex_lock(&r->mutex);
    add_to_entry(r, &e);
    (void)pthread_mutex_unlock(&r->mutex);
}

/* ---- writing ---- */

/* Takes the entries whose line is due.  An entry that was silent for a minute goes. */
static size_t refusals_take_due(struct refusals *r, bool all, struct entry *ret)
{
    int64_t now = clock_mono_us();
    size_t n = 0, kept = 0;

    (void)pthread_mutex_lock(&r->mutex);
    for (size_t i = 0; i <= ENTRIES; i++) {
        struct entry *e = &r->entries[i];
        bool due = all || e->noted_us == 0 || now - e->noted_us >= MINUTE_US;

        if (i >= r->count && i < ENTRIES)
            continue;
        if (e->count > 0 && due) {
            ret[n++] = *e;
            e->count = 0;
            e->noted_us = now;
        } else if (e->count == 0 && due && i < ENTRIES) {
            continue;
        }
        if (i < ENTRIES)
            r->entries[kept++] = *e;
    }
    r->count = kept;
    (void)pthread_mutex_unlock(&r->mutex);
    return n;
}

static void put_times(struct buf *to, const struct entry *e)
{
    char first[CLOCK_TEXT], last[CLOCK_TEXT];
    struct json_out j = { .to = to };

    json_open(&j, '{');
    json_key(&j, "count");
    json_int(&j, e->count);
    json_key(&j, "first");
    json_z(&j, clock_utc_text(e->first_us, first));
    json_key(&j, "last");
    json_z(&j, clock_utc_text(e->last_us, last));
    json_close(&j, '}');
}

bool refusals_write(struct refusals *r, struct store *s, bool all, struct err *err)
{
    struct entry due[ENTRIES + 1];
    struct audit_entry lines[ENTRIES + 1];
    struct buf times[ENTRIES + 1];
    size_t n = refusals_take_due(r, all, due);

    _Static_assert((int)ENTRIES < (int)AUDIT_APPEND_MOST, "one commit has them all");
    for (size_t i = 0; i < n; i++) {
        times[i] = (struct buf)BUF_INIT(500);
        put_times(&times[i], &due[i]);
        lines[i] = (struct audit_entry){ .actor = str_of(due[i].actor),
                                         .kind = str_of(due[i].kind),
                                         .address = str_of(due[i].address),
                                         .action = str_of(due[i].action),
                                         .object = str_of(due[i].object),
                                         .became = buf_view(&times[i]),
                                         .reason = str_of(due[i].why) };
    }
    bool ok = audit_append_all(s, lines, n, err);

    if (!ok) {
        (void)pthread_mutex_lock(&r->mutex);
        for (size_t i = 0; i < n; i++)
            add_to_entry(r, &due[i]);
        (void)pthread_mutex_unlock(&r->mutex);
    }
    for (size_t i = 0; i < n; i++)
        buf_done(&times[i]);
    return ok;
}
