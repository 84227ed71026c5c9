/* telling.c - rows that have lost are known at both locations of a link (both_ways.c).
 *
 * A row is in our store first, marked as one that the other location does not know; then it is told
 * there; then the mark goes.  Only then the row that wins is written.  What people say of it later,
 * and that it was written after all, goes the same way: whatever dies in between, it is told again,
 * and both lists become alike.
 */
#include "core/call.h"
#include "link/replication.h"
#include "store/replica/conflict.h"

enum { TELL_PORTION = 8 /* rows, each of up to CONFLICT_ROW_MOST, in memory at the same time */ };

struct side *replication_away(const struct replication *p)
{
    return p->source->away != NULL ? p->source : p->dest->away != NULL ? p->dest : NULL;
}

static bool tell_some(struct replication *p, const struct set_aside *rows, size_t count,
                      struct err *err)
{
    struct side_lost *lost = ARENA_ARRAY(&p->turn, struct side_lost, count + 1);
    struct sha256 *gone = ARENA_ARRAY(&p->turn, struct sha256, count + 1);
    struct side_keeping k = { .rows = lost, .gone = gone };

    for (size_t i = 0; i < count; i++) {
        const struct set_aside *row = &rows[i];

        if (row->gone)
            gone[k.gone_count++] = conflict_digest(row);
        else
            lost[k.count++] = (struct side_lost){ .key = row->key,
                                                  .row = row->row,
                                                  .why = row->why,
                                                  .x = row->x,
                                                  .waits = conflict_waits(row),
                                                  .discarded = row->discarded };
    }
    return side_keep(replication_away(p), &k, err) && conflict_told(p->r->store, rows, count, err);
}

static bool tell_rows(struct replication *p, const struct set_aside *rows, size_t count,
                      struct err *err)
{
    size_t bytes = 0, from = 0;

    for (size_t i = 0; i < count; i++) {
        size_t next = i + 1 < count ? rows[i + 1].row.len + rows[i + 1].key.len : 0;

        bytes += rows[i].row.len + rows[i].key.len;
        if (i + 1 < count && i + 1 - from < SIDE_BAD_MOST && bytes + next < p->r->spec->batch_bytes)
            continue;
        if (!tell_some(p, &rows[from], i + 1 - from, err))
            return err_context(err, "rows that have lost, at the other location");
        from = i + 1;
        bytes = 0;
    }
    return true;
}

bool replication_keep(struct replication *p, const struct set_aside *rows, size_t count,
                      struct err *err)
{
    bool away = replication_away(p) != NULL;

    if (!conflict_put(p->r->store, rows, count, p->r->now_us, away, err))
        return err_context(err, "rows that have lost");
    return !away || tell_rows(p, rows, count, err);
}

bool replication_tell(struct replication *p, struct err *err)
{
    const struct link_spec *spec = p->r->spec;
    struct set_aside rows[TELL_PORTION];
    size_t n = TELL_PORTION;

    if (!replication_goes_back(p) || replication_away(p) == NULL)
        return true;
    while (n == TELL_PORTION && !call_is_over(p->r->call)) {
        arena_reset(&p->turn);
        if (!conflict_untold(p->r->store, spec->link, spec->table, TELL_PORTION, &p->turn, rows, &n,
                             err) ||
            !tell_rows(p, rows, n, err))
            return false;
    }
    return true;
}
