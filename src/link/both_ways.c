/* both_ways.c - a table that goes both ways: two links, each of which takes the changes of one side
 * to the other (replicating.h).
 *
 * Where a change came from is in the journal of the side that it was written to: the identity of
 * the other table.  A link leaves those changes out when it reads, so nothing goes back.
 *
 * What is a conflict, and which row wins, is decided at the destination (table/side_conflict.c).
 * For that it is told how far the source had taken its changes, which is the mark of the other link
 * at the source, as of the moment at which the rows were read.
 *
 * The row that loses is in the store before the one that wins is written, and in that of the other
 * location (telling.c).  A run that dies in between stores it once more, which changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "link/replication.h"
#include "store/replica/conflict.h"

#define CLOCK_MOST_US (300 * CLOCK_S) /* that a change may be ahead */

enum { LOSERS_BYTES = 16 << 20 /* that are stored in one commit, but for one that is larger */ };

bool replication_goes_back(const struct replication *p)
{
    return p->r->spec->back.link.len > 0;
}

/* ---- before ---- */

static bool both_is_version_there(const struct replication *p)
{
    const struct link_back *back = &p->r->spec->back;
    const struct fit *fit = p->dest->fit;

    for (size_t i = fit->key_count; i < fit->count; i++)
        if (str_eq(fit->columns[i].name, back->version))
            return fit->columns[i].travels != CELL_JSON;
    return back->winner != SIDE_VERSION_WINS;
}

static void both_stop(struct replication *p, enum link_reason reason, const char *why)
{
    const struct link_back *back = &p->r->spec->back;

    p->unready = true;
    link_state_stop(p->s, reason, p->r->now_us, "%s. The other direction is link %.*s%s%.*s", why,
                    STR_ARG(str_first(back->link, 100)), back->peer.len > 0 ? " of " : "",
                    STR_ARG(str_first(back->peer, 60)));
}

/* The other location has the other link: whether it says alike. */
static bool both_pair(struct replication *p, struct err *err)
{
    const struct link_back *back = &p->r->spec->back;
    const struct side_pairing pairing = { back->link, back->table, back->rule };
    struct side *there = replication_away(p);
    struct side_paired paired = { .why = "" };
    char why[LINK_MESSAGE_MOST];

    if (back->peer.len == 0 || there == NULL)
        return true;
    if (!side_pair(there, &pairing, &paired, err))
        return err_context(err, "the link of the other direction");
    if (paired.why[0] == '\0')
        return true;
    (void)snprintf(
        why, sizeof why, "the table goes both ways, and link %.*s of %.*s does not fit: %s",
        STR_ARG(str_first(back->link, 100)), STR_ARG(str_first(back->peer, 60)), paired.why);
    both_stop(p, LINK_SCHEMA_DRIFT, why);
    return true;
}

bool replication_look_there(struct replication *p, struct err *err)
{
    const struct link_spec *spec = p->r->spec;
    char why[LINK_MESSAGE_MOST];

    if (!replication_goes_back(p))
        return true;
    if (!side_look(p->dest, p->r->arena, &p->there, err))
        return err_context(err, "destination");
    p->looked_us = clock_mono_us();
    if (!both_pair(p, err) || p->unready)
        return p->unready;
    if (p->there.state != CAPTURE_IS_FINE) {
        (void)snprintf(why, sizeof why,
                       "the table goes both ways, and changes of its destination are not captured "
                       "(%s). Look at waybill repl plan %.*s%s%.*s, then install it",
                       p->there.why, STR_ARG(str_first(spec->back.link, 100)),
                       spec->back.peer.len > 0 ? " at " : "",
                       STR_ARG(str_first(spec->back.peer, 60)));
        both_stop(p, LINK_TRIGGER, why);
    } else if (p->look.identity.len == 0 || p->there.identity.len == 0) {
        both_stop(p, LINK_TRIGGER,
                  "the table goes both ways, and one side was installed by a build that does not "
                  "know that: remove both links, and install them again");
    } else if (str_eq(p->look.identity, p->there.identity)) {
        both_stop(p, LINK_TRIGGER,
                  "one of the databases is a copy of the other, with what was installed there: "
                  "remove one link, and install it again");
    } else if (!both_is_version_there(p)) {
        (void)snprintf(why, sizeof why,
                       "`conflict: version:%.*s` needs a column of that name that travels, is none "
                       "of the key and no json",
                       STR_ARG(str_first(spec->back.version, 100)));
        both_stop(p, LINK_SCHEMA_DRIFT, why);
    }
    return true;
}

/* How far the clock of a database is ahead of ours, in seconds. */
static long long both_ahead(const struct replication *p, const struct capture_look *look)
{
    return look->now_us == 0 ? 0 : (long long)((look->now_us - p->r->now_us) / CLOCK_S);
}

void replication_check_clock(struct replication *p, int64_t newest_us)
{
    int64_t there_us = p->there.now_us + clock_mono_us() - p->looked_us;

    if (p->r->spec->back.winner != SIDE_LAST_WINS || p->there.now_us == 0 ||
        newest_us <= there_us + CLOCK_MOST_US || p->s->clock_allowed != 0)
        return;
    link_state_stop(p->s, LINK_CLOCK, p->r->now_us,
                    "a change of the source is %lld s ahead of the clock of the destination, and "
                    "`conflict: last` goes by the clocks of both. Beside the clock of this node "
                    "that of the source is %+lld s, that of the destination %+lld s: set the one "
                    "that is wrong. It goes on when that time has come, or with waybill repl go-on "
                    "%.*s/%.*s, which takes these changes as they are",
                    (long long)((newest_us - there_us) / CLOCK_S), both_ahead(p, &p->look),
                    both_ahead(p, &p->there), STR_ARG(str_first(p->r->spec->link, 100)),
                    STR_ARG(str_first(p->r->spec->table, 100)));
}

struct side_back replication_back(const struct replication *p)
{
    const struct link_back *back = &p->r->spec->back;

    return (struct side_back){ .link = back->link,
                               .table = back->table,
                               .origin = replication_goes_back(p) ? p->there.identity : STR("") };
}

void replication_rule(struct replication *p, bool has_seen, const struct mark *seen)
{
    const struct link_back *back = &p->r->spec->back;

    p->rule =
        (struct side_rule){ .winner = back->winner,
                            .version = back->version,
                            .source = p->look.identity,
                            .dest = p->there.identity,
                            .doubt = p->has_mark && p->mark.phase == MARK_FOLLOW ? SIDE_KNOWN
                                                                                 : SIDE_FIRST };
    if (!has_seen || !str_eq(seen->epoch, p->there.epoch))
        return; /* numbers of another history say nothing */
    p->rule.has_seen = true;
    p->rule.seen = *seen;
}

bool replication_see(struct replication *p, struct err *err)
{
    const struct link_back *back = &p->r->spec->back;
    struct side other = *p->source;
    struct err why = { 0 };
    struct mark seen;
    bool has = false;

    if (!replication_goes_back(p))
        return true;
    other.link = back->link;
    other.table = back->table;
    if (!side_mark(&other, &p->turn, &has, &seen, &why)) {
        if (why.kind != ERR_CONFIG) {
            *err = why;
            return err_context(err, "source");
        }
        has = false; /* it is not installed yet */
    }
    replication_rule(p, has, &seen);
    return true;
}

/* ---- what has lost ---- */

static int losers_by_key(const void *a, const void *b)
{
    return str_cmp(((const struct side_decided *)a)->key, ((const struct side_decided *)b)->key);
}

/* They are decided from now on; a key that was decided before was changed since. */
static void losers_decide(struct replication *p, const struct side_applied *a)
{
    struct side_rule *rule = &p->rule;
    struct side_decided *all =
        ARENA_ARRAY(&p->turn, struct side_decided, rule->decided_count + a->conflict_count);
    size_t n = 0;

    for (size_t i = 0; i < a->conflict_count; i++)
        all[n++] = a->conflicts[i].of;
    qsort(all, n, sizeof *all, losers_by_key);
    for (size_t i = 0; i < rule->decided_count; i++)
        if (bsearch(&rule->decided[i], all, a->conflict_count, sizeof *all, losers_by_key) == NULL)
            all[n++] = rule->decided[i];
    qsort(all, n, sizeof *all, losers_by_key);
    rule->decided = all;
    rule->decided_count = n;
}

static struct set_aside loser_of(struct replication *p, const struct side_conflict *c)
{
    const struct link_spec *spec = p->r->spec;
    bool gone = c->source_wins ? c->there_gone : c->came_gone;
    bool winner_gone = c->source_wins ? c->came_gone : c->there_gone;
    struct str mine = spec->dest.address.name, theirs = spec->source.address.name;
    char *why = arena_printf(&p->turn, "%s of %.*s has lost: %s of %.*s stands",
                             gone ? "the deletion" : "the row",
                             STR_ARG(str_first(c->source_wins ? mine : theirs, 100)),
                             winner_gone ? "the deletion" : "the row",
                             STR_ARG(str_first(c->source_wins ? theirs : mine, 100)));

    return (struct set_aside){ .link = spec->link,
                               .table = spec->table,
                               .key = c->of.key,
                               .row = c->source_wins ? c->there : c->came,
                               .why = str_of(why),
                               .x = c->of.x,
                               .due_us = conflict_due(p->r->now_us, spec->back.waits) };
}

bool replication_keep_losers(struct replication *p, const struct side_applied *a, struct err *err)
{
    struct set_aside *rows = ARENA_ARRAY(&p->turn, struct set_aside, a->conflict_count + 1);
    size_t bytes = 0, from = 0;

    for (size_t i = 0; i < a->conflict_count; i++) {
        rows[i] = loser_of(p, &a->conflicts[i]);
        if (rows[i].row.len <= CONFLICT_ROW_MOST)
            continue;
        link_state_stop(p->s, LINK_QUARANTINE, p->r->now_us,
                        "a row was changed on both sides, and the one that loses has %zu bytes, "
                        "more than can be kept. Make the row the same on both sides",
                        rows[i].row.len);
        return true;
    }
    for (size_t i = 0; i < a->conflict_count; i++) {
        bytes += rows[i].row.len;
        if (bytes < LOSERS_BYTES && i + 1 < a->conflict_count)
            continue;
        if (!replication_keep(p, &rows[from], i + 1 - from, err))
            return false;
        from = i + 1;
        bytes = 0;
    }
    p->s->conflicts += (int64_t)a->conflict_count;
    losers_decide(p, a);
    return true;
}
