/* pruning.c - what was removed long ago goes out of the journals (table/tombstone.h). */
#include "link/pruning.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "link/replication.h"
#include "table/tombstone.h"

/* ---- of a link ---- */

void replication_prune(struct replication *p)
{
    struct link_state *s = p->s;
    struct err why = { 0 };
    bool over = true;

    if (!p->has_mark || p->mark.phase != MARK_FOLLOW || p->source->away != NULL ||
        p->source->capture.kind != CAPTURE_JOURNAL ||
        (p->r->now_us >= s->pruned_us && p->r->now_us < s->pruned_us + tombstone_wait_us()))
        return;
    bool ok = side_prune(p->source, p->mark.place.x, &over, &why);

    if (ok || why.kind == ERR_CONFIG || why.kind == ERR_PERMANENT)
        s->prune_denied = !ok;
    if (over || !ok)
        s->pruned_us = p->r->now_us;
}

/* ---- of a location, for those that ask it ---- */

enum { PRUNINGS = 512 };

struct prunings {
    pthread_mutex_t mutex;
    struct pruning_of {
        struct sha256 table;
        int64_t at_us; /* monotonic; 0: never */
    } of[PRUNINGS];
};

struct prunings *prunings_new(void)
{
    struct prunings *p = NEW(struct prunings);

    pthread_mutex_init(&p->mutex, NULL);
    return p;
}

void prunings_free(struct prunings *p)
{
    if (p == NULL)
        return;
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

static struct pruning_of *prunings_of(struct prunings *p, struct str database, struct str table,
                                      struct sha256 *ret)
{
    struct digest d = digest_start();

    digest_add(&d, database);
    digest_add(&d, STR("/"));
    digest_add(&d, table);
    struct sha256 of = digest_end(&d);

    if (ret != NULL)
        *ret = of;
    return &p->of[(of.bytes[0] << 8 | of.bytes[1]) % PRUNINGS];
}

bool prunings_due(struct prunings *p, struct str database, struct str table)
{
    struct sha256 of;
    struct pruning_of *one = prunings_of(p, database, table, &of);
    int64_t now_us = clock_mono_us();

    pthread_mutex_lock(&p->mutex);
    bool due = one->at_us == 0 || !digest_same(&one->table, &of) ||
               now_us - one->at_us >= tombstone_wait_us();

    if (due)
        *one = (struct pruning_of){ .table = of, .at_us = now_us };
    pthread_mutex_unlock(&p->mutex);
    return due;
}

void prunings_again(struct prunings *p, struct str database, struct str table)
{
    struct pruning_of *one = prunings_of(p, database, table, NULL);

    pthread_mutex_lock(&p->mutex);
    one->at_us = 0;
    pthread_mutex_unlock(&p->mutex);
}
