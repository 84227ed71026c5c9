/* desk_shared.c - what two locations know together of a table that goes both ways (desk.h): rows
 * that have lost, which both list, and whether the links of both fit together.
 *
 * A link of the peer's is none of ours, so all its names and texts are what somebody says.
 */
#include <stdio.h>

#include "base/clock.h"
#include "core/link_pair.h"
#include "link/desk_inside.h"
#include "store/replica/conflict.h"

enum { SHARED_NAME_MOST = 128 /* bytes of the name of a link, and of a table of it */ };

static bool shared_is_name(struct str name)
{
    return name.len > 0 && name.len <= SHARED_NAME_MOST && str_is_utf8(name) &&
           !str_has_control(name);
}

static bool shared_is_row(const struct side_lost *row)
{
    return row->key.len > 0 && row->key.len <= SHAPE_KEY_BYTES && row->row.len <= CONFLICT_ROW_MOST;
}

/* ---- rows that have lost ---- */

static bool desk_keep(const struct desk_visit *v, const struct message *m,
                      const struct side_keeping *k, struct arena *a, struct err *err)
{
    struct set_aside *rows = ARENA_ARRAY(a, struct set_aside, k->count + 1);
    const struct conflict_copies copies = { .peer = v->peer,
                                            .rows = rows,
                                            .count = k->count,
                                            .gone = k->gone,
                                            .gone_count = k->gone_count };
    int64_t now_us = clock_wall_us();

    for (size_t i = 0; i < k->count; i++) {
        const struct side_lost *row = &k->rows[i];

        if (!shared_is_row(row))
            return err_set(err, ERR_PERMANENT, 0, "a row cannot be kept: its size is wrong");
        rows[i] = (struct set_aside){ .link = m->link,
                                      .table = m->table,
                                      .key = row->key,
                                      .row = row->row,
                                      .why = row->why,
                                      .x = row->x,
                                      .discarded = row->discarded,
                                      .due_us = conflict_due(now_us, row->waits) };
    }
    return conflict_copy(v->store, &copies, now_us, err);
}

/* ---- links that belong together ---- */

static bool desk_pair(const struct desk_visit *v, const struct message *m,
                      const struct side_pairing *p, struct arena *a, struct side_paired *ret,
                      struct err *err)
{
    const struct link_pair pair = { .root = v->settings->node,
                                    .peer = v->peer,
                                    .database = m->database,
                                    .database_is_source = m->is_source,
                                    .link = m->link,
                                    .table = m->table,
                                    .back_text = arena_text(a, p->link),
                                    .back_table_text = arena_text(a, p->table),
                                    .rule = p->rule };
    const char *why = link_pair_differs(&pair);

    *ret = (struct side_paired){ .why = "" };
    if (!shared_is_name(p->link) || !shared_is_name(p->table))
        return err_set(err, ERR_PERMANENT, 0, "this cannot be the name of a link");
    if (why != NULL)
        (void)snprintf(ret->why, sizeof ret->why, "%s", why);
    return true;
}

bool desk_share(const struct desk_visit *v, const struct message *m, const void *question,
                struct arena *a, struct buf *to, struct err *err)
{
    struct side_paired paired = { .why = "" };
    bool ok = (shared_is_name(m->link) && shared_is_name(m->table)) ||
              err_set(err, ERR_PERMANENT, 0, "this cannot be the name of a link");

    if (ok)
        ok = m->what == SIDE_KEEP ? desk_keep(v, m, question, a, err)
                                  : desk_pair(v, m, question, a, &paired, err);
    ok = ok && answering_put_answer(m->what, &paired, to, err);
    if (!ok)
        answering_put_error(to, err);
    return ok;
}
