#include "core/pickup/pickup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/glob.h"
#include "core/pickup/pickup_run.h"
#include "core/settings.h"

enum {
    KNOWN = 1 << 15, /* slots of the cache */
    WAIT_MOST_US = 10 * CLOCK_S,
    /* With times of whole seconds a file is watched at least this long: a write after that gets
     * another second, by any clock. */
    COARSE_US = 2 * CLOCK_S
};

struct pickup_known {
    uint8_t key[16];
};

/* ---- which files ---- */

static bool has_ending(struct str s, struct str end)
{
    return end.len > 0 && s.len > end.len && str_eq(str_from(s, s.len - end.len), end);
}

static bool pickup_wants(const struct pickup *p, struct str name)
{
    if (name.len == 0 || name.ptr[0] == '.' || has_ending(name, STR(".part")) ||
        has_ending(name, STR(".tmp")) || has_ending(name, p->marker))
        return false;
    for (size_t i = 0; i < p->match_count; i++)
        if (glob_match(p->match[i], name))
            return true;
    return false;
}

static bool has_marker(const struct pickup_run *r, const char *path, bool *ret, struct err *err)
{
    char marker[PICKUP_PATH];
    struct pickup_entry e = { 0 };

    *ret = r->p->marker.len == 0;
    if (*ret || !pickup_marker(r, path, marker))
        return true;
    if (!r->src->stat(r->arg, marker, &e, err))
        return pickup_go_on(r, path, "Give the node the right to see its marker.", err);
    *ret = e.kind == PICKUP_FILE;
    return true;
}

/* ---- what the ledger is known to have ---- */

void pickup_source_of(char ret[static PICKUP_VERSION + PICKUP_PATH], const char *version,
                      const char *path)
{
    (void)snprintf(ret, PICKUP_VERSION + PICKUP_PATH, "%s\n%s", version, path);
}

static struct pickup_known *known_place(struct pickup *p, const struct sha256 *key)
{
    uint64_t at;

    if (p->known == NULL)
        p->known = xcalloc(KNOWN, sizeof *p->known);
    if (clock_mono_us() - p->known_since_us > DEPOSIT_KNOWN_US) { /* ask the ledger again */
        memset(p->known, 0, KNOWN * sizeof *p->known);
        p->known_since_us = clock_mono_us();
    }
    memcpy(&at, key->bytes + 16, sizeof at);
    return &p->known[at % KNOWN];
}

static bool is_cached(const struct pickup_run *r, const char *path, const struct pickup_entry *e)
{
    char source[PICKUP_VERSION + PICKUP_PATH];

    pickup_source_of(source, e->version, path);
    struct sha256 key = digest_of(str_of(source));

    return memcmp(known_place(r->p, &key)->key, key.bytes, sizeof r->p->known->key) == 0;
}

/* ---- is it one to take ---- */

/* The last part of a name: it is matched, and becomes the name of the document. */
static struct str own_name(const struct pickup_run *r, const struct pickup_entry *e)
{
    struct str name = e->name;

    for (size_t i = name.len; r->src->opaque && i > 0; i--)
        if (name.ptr[i - 1] == '/')
            return str_from(name, i);
    return name;
}

/* Else it is reported. */
static bool has_fit_name(const struct pickup_run *r, const char *path, const struct pickup_entry *e)
{
    struct err why = { 0 };

    if (r->src->opaque)
        return e->refused == NULL || pickup_is_fit(r, path, e);
    if (safe_name(e->name, &why) && safe_path(str_of(path), &why))
        return true;
    pickup_complain(r, path, why.text, "Rename it.");
    return false;
}

/* Whether files stay where they are while they are read. */
static bool is_unclaimed(const struct pickup_run *r)
{
    return r->p->after == PICKUP_KEEP || !r->src->claims;
}

/* Whether the file may be taken once it is ripe; *e gets what stat() knows. */
static bool consider(const struct pickup_run *r, const char *path, struct pickup_entry *e,
                     bool *ret, struct err *err)
{
    bool marked;

    *ret = false;
    if (!pickup_wants(r->p, own_name(r, e)) || !has_fit_name(r, path, e))
        return true;
    if (e->bare && !r->src->stat(r->arg, path, e, err))
        return pickup_go_on(r, path, "Give the node the right to see it.", err);
    if (e->kind == PICKUP_FOLDER)
        return true;
    /* Known already: its marker, which a server may have to be asked for, does not matter. */
    if (r->p->marker.len > 0 && is_unclaimed(r) && is_cached(r, path, e))
        return true;
    if (!has_marker(r, path, &marked, err))
        return false;
    *ret = marked && pickup_is_fit(r, path, e);
    return true;
}

/* ---- files that have settled ---- */

static int64_t ripe_us(const struct pickup_run *r)
{
    int64_t least_us = r->src->coarse && is_unclaimed(r) ? COARSE_US : 0;

    if (r->p->marker.len > 0)
        return 0;
    return r->p->min_age_us > least_us ? r->p->min_age_us : least_us;
}

static uint64_t version_number(const struct pickup_entry *e)
{
    struct sha256 sha = digest_of(str_of(e->version));
    uint64_t number;

    memcpy(&number, sha.bytes, sizeof number);
    return number;
}

static bool was_met(const struct pickup_run *r, const char *path, const struct pickup_entry *e)
{
    return sightings_has(&r->p->sightings, str_of(path), version_number(e), e->size, e->time_ns);
}

/* Whether the file has its version for min_age.  It is remembered, so ask only for files to take.
 */
static bool is_ripe(struct pickup_run *r, const char *path, const struct pickup_entry *e)
{
    int64_t least_us = ripe_us(r);

    if (least_us == 0)
        return true;
    int64_t age_us = sightings_age_us(&r->p->sightings, str_of(path), version_number(e), e->size,
                                      e->time_ns, clock_mono_us());

    r->unripe = r->unripe || age_us < least_us;
    r->crowded = r->crowded || age_us < 0;
    return age_us >= least_us;
}

/* ---- files that are not claimed: the ledger knows those that were taken ---- */

/* Queries the ledger when a file is new and when it is ripe, not at every poll between. */
static bool meet_unclaimed(struct pickup_run *r, const char *path, const struct pickup_entry *e,
                           struct err *err)
{
    char source[PICKUP_VERSION + PICKUP_PATH];
    bool seen = true;

    pickup_source_of(source, e->version, path);
    struct sha256 key = digest_of(str_of(source));
    struct pickup_known *k = known_place(r->p, &key);

    if (memcmp(k->key, key.bytes, sizeof k->key) == 0)
        return true;
    bool met = was_met(r, path, e);

    if (met && !is_ripe(r, path, e))
        return true;
    if (!pickup_queue_wants(&r->p->queue, e->time_ns, path)) /* a later poll takes it */
        return true;
    if (!r->port->seen(r->deposit, str_of(source), &seen, err))
        return false;
    if (seen)
        memcpy(k->key, key.bytes, sizeof k->key);
    else if (is_ripe(r, path, e))
        pickup_queue_put(&r->p->queue, e->time_ns, path, e->version);
    return true;
}

/* The marker first: one that is left would say of the next file of that name that it is whole. */
bool pickup_drop(const struct pickup_run *r, const char *path, struct str source, struct err *err)
{
    static const char hint[] = "It was taken and is not taken again. Remove it, or give the node "
                               "the right to.";
    char marker[PICKUP_PATH];
    bool marked = pickup_marker(r, path, marker);

    if (marked && !r->src->remove(r->arg, marker, err) &&
        !pickup_go_on(r, marker, "Its file was taken. Remove it.", err))
        return false;
    if (r->p->after == PICKUP_MOVE ? pickup_move_on(r, path, source, err)
                                   : r->src->remove(r->arg, path, err))
        return true;
    if (marked && err->sys != ENOENT && err->kind != ERR_PERMANENT)
        pickup_complain(r, path, err->text, hint); /* without its marker it is not seen again */
    bool refused = err->sys != ENOENT && err->kind == ERR_PERMANENT;

    if (!pickup_go_on(r, path, hint, err))
        return false;
    return !refused || r->port->note_seen(r->deposit, source, err);
}

static bool finish_unclaimed(struct pickup_run *r, const struct pickup_parcel *stored,
                             struct err *err)
{
    struct pickup_entry now = { 0 };

    if (r->p->after == PICKUP_KEEP)
        return r->port->note_seen(r->deposit, stored->source, err);
    (void)snprintf(now.version, sizeof now.version, "%s", stored->version);
    if (!r->src->stat(r->arg, stored->path, &now, err))
        return pickup_go_on(r, stored->path, "It was taken. Remove it.", err);
    if (strcmp(now.version, stored->version) != 0)
        return true; /* another version is there by now: another document */
    return pickup_drop(r, stored->path, stored->source, err);
}

static bool take_unclaimed(struct pickup_run *r, const struct pickup_item *item, struct err *err)
{
    char source[PICKUP_VERSION + PICKUP_PATH];
    struct pickup_parcel parcel = { .path = item->path,
                                    .shown = item->path,
                                    .version = item->version };

    pickup_source_of(source, item->version, item->path);
    parcel.source = str_of(source);
    return pickup_read(r, &parcel, err) != PICKUP_FAILED;
}

static bool take_all_unclaimed(struct pickup_run *r, struct err *err)
{
    struct pickup_item item;
    bool ok = true;

    r->finish = finish_unclaimed;
    while (ok && !pickup_is_over(r) && pickup_queue_take(&r->p->queue, &item)) {
        ok = take_unclaimed(r, &item, err);
        free(item.path);
    }
    return pickup_settle_rest(r, ok, err);
}

/* ---- the poll ---- */

static bool found_in_folder(struct pickup_run *r, const char *path, struct pickup_entry *e,
                            void *arg, struct err *err)
{
    bool fit;

    (void)arg;
    if (!consider(r, path, e, &fit, err))
        return false;
    if (fit && is_unclaimed(r))
        return meet_unclaimed(r, path, e, err);
    if (fit && is_ripe(r, path, e))
        pickup_queue_put(&r->p->queue, e->time_ns, path, e->version);
    return true;
}

/* Lists the folder: the oldest ripe files come into the queue. */
static bool pickup_gather(struct pickup_run *r, struct err *err)
{
    struct pickup *p = r->p;

    pickup_queue_done(&p->queue);
    bool ok = pickup_walk(r, "", p->depth, found_in_folder, NULL, NULL, err);

    pickup_queue_sort(&p->queue);
    if (ok && !pickup_is_over(r)) /* every file was seen */
        sightings_turn(&p->sightings);
    return ok;
}

static bool take_queue(struct pickup_run *r, struct err *err)
{
    return is_unclaimed(r) ? take_all_unclaimed(r, err) : pickup_claim_all(r, err);
}

static bool gather_and_take(struct pickup_run *r, struct err *err)
{
    return pickup_gather(r, err) && take_queue(r, err);
}

/* When polls are far apart, new files get their second check within this poll. */
static bool wait_to_ripen(const struct pickup_run *r)
{
    int64_t wait_us = ripe_us(r);

    if (!r->unripe || wait_us > WAIT_MOST_US || r->p->every_us <= 2 * wait_us)
        return false;
    for (; wait_us > 0 && !r->port->stopping(r->deposit); wait_us -= 50 * CLOCK_MS)
        clock_sleep_us(wait_us < 50 * CLOCK_MS ? wait_us : 50 * CLOCK_MS);
    return true;
}

static bool pickup_look_through(struct pickup_run *r, struct err *err)
{
    struct pickup *p = r->p;

    if (!is_unclaimed(r) && !pickup_take_left(r, err))
        return false;
    /* The poll before this one took as many as it may: go on where it stopped. */
    if (!pickup_queue_is_empty(&p->queue) && !take_queue(r, err))
        return false;
    if (pickup_is_over(r))
        return true;
    return gather_and_take(r, err) &&
           (pickup_is_over(r) || !wait_to_ripen(r) || gather_and_take(r, err));
}

bool pickup_look(struct pickup *p, const struct pickup_source *src, void *arg,
                 const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err)
{
    struct pickup_run r = { .p = p, .src = src, .arg = arg, .port = port, .deposit = deposit };
    bool ok = pickup_look_through(&r, err);

    if (!ok || r.taken < DEPOSIT_LOOK_MOST) /* else the next poll begins at once */
        pickup_queue_done(&p->queue);
    p->rested =
        ok && r.taken < DEPOSIT_LOOK_MOST && !r.unripe && !r.crowded && !port->stopping(deposit);
    if (r.crowded)
        port->complain(deposit, str_of(p->title),
                       "more files lie there than can be watched at once",
                       "Those left over wait until others were taken or are gone.");
    if (r.branched)
        port->complain(deposit, str_of(p->title),
                       "more sub folders are there than can be looked through",
                       "Nothing in those left over is taken. Remove empty ones, or use several "
                       "gateways.");
    *ret_taken = r.taken;
    return ok;
}

/* ---- options ---- */

bool pickup_init(struct pickup *p, const struct settings *s, struct err *err)
{
    const struct yaml_node *node = yaml_get(s->node, "after");
    struct str word;

    *p = (struct pickup){ .after = PICKUP_MOVE };
    if (node == NULL || node->kind != YAML_MAP) {
        if (!settings_text(s, "after", &word, err))
            return false;
        p->after = str_is(word, "delete") ? PICKUP_DELETE : PICKUP_KEEP;
    }
    return settings_duration(s, "every", &p->every_us, err) &&
           settings_duration(s, "min_age", &p->min_age_us, err) &&
           settings_text(s, "marker", &p->marker, err) &&
           settings_int(s, "depth", &p->depth, err) &&
           settings_texts(s, "match", &p->match, &p->match_count, err);
}

void pickup_done(struct pickup *p)
{
    sightings_done(&p->sightings);
    pickup_queue_done(&p->queue);
    free(p->known);
    p->known = NULL;
}
