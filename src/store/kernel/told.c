#include "store/kernel/told.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

#define MAGIC UINT64_C(0x31444c4f54425957) /* "WYBTOLD1" */

enum { PAGE = 4096, REFUSED_MOST = 8 };

struct told_range {
    int64_t seg, pos, to_seg, to_pos;
};

struct told_page {
    uint64_t magic; /* other: the page says nothing */
    struct told_node node;
    struct {
        int64_t commit, accepted;
    } writers[WRITERS_MOST];
    struct told_range refused[REFUSED_MOST]; /* to_seg 0: none */
    int64_t newest;                          /* index in it */
};

_Static_assert(sizeof(struct told_page) <= 512, "one sector, which a power cut does not tear");

struct told {
    struct told_page *page;
    pthread_mutex_t mutex;
    void (*notice)(void *arg);
    void *notice_arg;
};

static int64_t commit_told(const struct told *t, size_t writer)
{
    return __atomic_load_n(&t->page->writers[writer].commit, __ATOMIC_ACQUIRE);
}

static int64_t accepted_told(const struct told *t, size_t writer)
{
    return __atomic_load_n(&t->page->writers[writer].accepted, __ATOMIC_ACQUIRE);
}

bool told_open(int data_fd, struct told **ret, struct err *err)
{
    AUTO_FD fd = openat(data_fd, "told", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "open the file `told`: %s", strerror(errno));
    /* Allocate the block: on a full disk the first write to a mapped hole raises SIGBUS. */
    int rc = posix_fallocate(fd, 0, PAGE);

    if (rc != 0)
        return err_set(err, file_err_kind(rc), rc, "make the file `told`: %s", strerror(rc));
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED)
        return err_set(err, ERR_CONFIG, errno, "map the file `told`: %s", strerror(errno));
    *ret = NEW(struct told);
    (*ret)->page = page;
    (void)pthread_mutex_init(&(*ret)->mutex, NULL);
    return true;
}

void told_close(struct told *t)
{
    if (t == NULL)
        return;
    (void)msync(t->page, PAGE, MS_SYNC); /* best effort, for a power cut */
    (void)munmap(t->page, PAGE);
    free(t);
}

struct told_node told_node(const struct told *t)
{
    return t->page->magic == MAGIC ? t->page->node : (struct told_node){ 0 };
}

/* A process that is killed in between leaves a page that says nothing. */
void told_begin(struct told *t, const struct told_node *node, int64_t commit)
{
    __atomic_store_n(&t->page->magic, 0, __ATOMIC_SEQ_CST);
    memset(t->page->writers, 0, sizeof t->page->writers);
    if (t->page->node.store != node->store)
        memset(t->page->refused, 0, sizeof t->page->refused);
    t->page->writers[0].commit = commit;
    t->page->node = *node;
    __atomic_store_n(&t->page->magic, MAGIC, __ATOMIC_SEQ_CST);
}

void told_note(struct told *t, size_t writer, int64_t commit, int64_t accepted)
{
    require(writer < WRITERS_MOST);
    (void)__atomic_add_fetch(&t->page->writers[writer].accepted, accepted, __ATOMIC_RELEASE);
    __atomic_store_n(&t->page->writers[writer].commit, commit, __ATOMIC_RELEASE);
}

/* A process that is killed in between leaves a range that is empty, or as it was. */
void told_refuse(struct told *t, struct payload_ref from, struct payload_ref to)
{
    struct told_range *r = &t->page->refused[(uint64_t)t->page->newest % REFUSED_MOST];

    if (r->to_seg == from.seg && r->to_pos == from.pos && from.seg == to.seg) {
        __atomic_store_n(&r->to_pos, to.pos, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n(&t->page->newest, t->page->newest + 1, __ATOMIC_RELEASE);
    r = &t->page->refused[(uint64_t)t->page->newest % REFUSED_MOST];
    __atomic_store_n(&r->to_seg, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&r->seg, from.seg, __ATOMIC_RELEASE);
    __atomic_store_n(&r->pos, from.pos, __ATOMIC_RELEASE);
    __atomic_store_n(&r->to_pos, to.pos, __ATOMIC_RELEASE);
    __atomic_store_n(&r->to_seg, to.seg, __ATOMIC_RELEASE);
}

static bool is_before(struct payload_ref a, struct payload_ref b)
{
    return a.seg != b.seg ? a.seg < b.seg : a.pos < b.pos;
}

bool told_is_refused(const struct told *t, struct payload_ref place)
{
    for (size_t i = 0; i < REFUSED_MOST; i++) {
        const struct told_range *r = &t->page->refused[i];

        if (r->to_seg != 0 && !is_before(place, (struct payload_ref){ r->seg, r->pos }) &&
            is_before(place, (struct payload_ref){ r->to_seg, r->to_pos }))
            return true;
    }
    return false;
}

/* A process that is killed in between leaves a range that the next start cuts.  Synced, because the
 * entries that follow are synced too: with the page as it was, a second power cut would refuse
 * them. */
bool told_cut_refused(struct told *t, struct payload_ref end, struct err *err)
{
    bool cut = false;

    for (size_t i = 0; i < REFUSED_MOST; i++) {
        struct told_range *r = &t->page->refused[i];

        if (r->to_seg == 0 || !is_before(end, (struct payload_ref){ r->to_seg, r->to_pos }))
            continue;
        bool begins_before = is_before((struct payload_ref){ r->seg, r->pos }, end);

        __atomic_store_n(&r->to_seg, begins_before ? end.seg : 0, __ATOMIC_RELEASE);
        __atomic_store_n(&r->to_pos, begins_before ? end.pos : 0, __ATOMIC_RELEASE);
        cut = true;
    }
    return !cut || msync(t->page, PAGE, MS_SYNC) == 0 ||
           err_set(err, file_err_kind(errno), errno, "sync the file `told`: %s", strerror(errno));
}

/* What the database has of a writer of the page's node; commit -1: unknown. */
struct told_stored {
    int64_t commit, accepted;
};

static bool told_read_stored(struct store *s, struct db *db, size_t writer, struct told_stored *ret,
                             struct err *err)
{
    struct db_value node = db_int(told_node(s->told).node);

    if (s->kind == DB_SQLITE
            ? !db_one_int(db, SQL_COMMIT_LAST, DB_NO_ARGS, -1, &ret->commit, err)
            : !db_one_int(db, SQL_NODE_TOKEN, DB_ARGS(node, db_int(writer)), -1, &ret->commit, err))
        return false;
    return db_one_int(db, SQL_TALLY_ACCEPTED_BY, DB_ARGS(node, db_int(writer)), 0, &ret->accepted,
                      err);
}

static int64_t beyond(int64_t told, int64_t stored)
{
    return told > stored ? told - stored : 0;
}

bool told_compare(struct store *s, struct db *db, struct told_gap *ret, struct err *err)
{
    struct told_node of = told_node(s->told);
    int64_t store;

    *ret = (struct told_gap){ 0 };
    if (of.node == 0)
        return true;
    if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("store"))), 0, &store, err))
        return false;
    for (size_t i = 0; store == of.store && i < s->writer_count; i++) {
        /* The page first: a writer that commits in between is ahead of it, not behind. */
        int64_t commit = commit_told(s->told, i), accepted = accepted_told(s->told, i);
        struct told_stored has;

        if (!told_read_stored(s, db, i, &has, err))
            return false;
        if (has.commit >= 0)
            ret->commits += beyond(commit, has.commit);
        ret->documents += beyond(accepted, has.accepted);
    }
    return true;
}

bool told_lower(struct store *s, struct db *db, struct err *err)
{
    int64_t restores;

    if (!db_one_int(db, SQL_RESTORE_LAST, DB_NO_ARGS, 0, &restores, err))
        return false;
    for (size_t i = 0; i < s->writer_count; i++) {
        struct told_stored has;

        if (!told_read_stored(s, db, i, &has, err))
            return false;
        if (has.commit >= 0 && has.commit < commit_told(s->told, i))
            __atomic_store_n(&s->told->page->writers[i].commit, has.commit, __ATOMIC_RELEASE);
        if (has.accepted < accepted_told(s->told, i))
            __atomic_store_n(&s->told->page->writers[i].accepted, has.accepted, __ATOMIC_RELEASE);
    }
    s->told->page->node.restores = restores;
    return true;
}

void told_lock(struct told *t)
{
    (void)pthread_mutex_lock(&t->mutex);
}

void told_unlock(struct told *t)
{
    (void)pthread_mutex_unlock(&t->mutex);
}

void told_watch(struct store *s, void (*notice)(void *arg), void *arg)
{
    told_lock(s->told);
    s->told->notice = notice;
    s->told->notice_arg = arg;
    told_unlock(s->told);
}

void told_notice(struct told *t)
{
    if (t->notice != NULL)
        t->notice(t->notice_arg);
}
