/* Parts whose store changes: a database that went back in time, a move to PostgreSQL. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "family.h"
#include "retain_scene.h"
#include "store/backup/move.h"
#include "store/road/order.h"

enum { PARTS = 6, CHUNK = 3 };

/* The database of a closed store is one file. */
static bool copy_file(const struct home *h, const char *from, const char *to)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(64 << 20);
    AUTO_FD dir = open(h->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = { 0 };

    return dir >= 0 && file_read_whole(dir, from, &bytes, &err) &&
           publish_bytes(dir, to, buf_view(&bytes), 0600, &err);
}

static bool split_whole(struct store *s, const struct accept_op *parent, const struct task *t)
{
    struct offspring_progress p;
    struct err err = { 0 };

    if (!offspring_get(s, parent->num, &p, &err))
        return false;
    for (; p.made < PARTS; p.made += CHUNK)
        if (!make_parts(s, parent, t, p.made, CHUNK, PARTS))
            return false;
    return true;
}

/* The task of a document among those that wait. */
static bool claim_one(struct store *s, int64_t num, struct task *ret)
{
    struct task t[TASK_CLAIM_MOST];
    bool found = false;
    int n = claim(s, TASK_CLAIM_MOST, t);

    for (int i = 0; i < n; i++)
        if (t[i].id == num) {
            *ret = t[i];
            found = true;
        } else if (!give_back(s, &t[i])) {
            return false;
        }
    return found;
}

/* A parent that the database still has goes on, one that it lost is taken in again; their parts
 * are made anew, and none is taken in beside them. */
TEST(sqlite_parts_that_the_database_lost_are_made_anew)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op kept = doc_of(STR("kept")), lost = doc_of(STR("lost"));
    struct task t;

    CHECK(s != NULL && accept_doc(s, &kept) && claim_one(s, kept.num, &t));
    CHECK(make_parts(s, &kept, &t, 0, CHUNK, PARTS));
    store_close(s);
    CHECK(copy_file(&h, "waybill.db", "older.db"));
    s = open_store(&h);
    CHECK(s != NULL && claim_one(s, kept.num, &t) && split_whole(s, &kept, &t));
    CHECK(accept_doc(s, &lost) && claim_one(s, lost.num, &t) && split_whole(s, &lost, &t));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2 * PARTS);
    store_close(s);
    CHECK(copy_file(&h, "older.db", "waybill.db"));
    s = open_store(&h);
    CHECK(s != NULL && is_there(s, &kept) && is_there(s, &lost));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2 + CHUNK);
    CHECK(claim_one(s, kept.num, &t) && split_whole(s, &kept, &t));
    CHECK(claim_one(s, lost.num, &t) && split_whole(s, &lost, &t));
    CHECK(listed(s, (struct document_filter){ .parent = kept.num }) == PARTS);
    CHECK(listed(s, (struct document_filter){ .parent = lost.num }) == PARTS && all_is_well(s));
    store_close(s);
}

/* The progress, the places in the order, and the parts that purged ones are missing from. */
TEST(postgres_parts_move_with_their_store)
{
    struct home to = empty_home(), from = to;
    struct accept_op parent;
    struct err err = { 0 };
    struct task t;

    from.url[0] = '\0';
    struct store *s = open_small(&from); /* a SQLite store, which needs no heartbeat */

    CHECK(s != NULL);
    order_number(s, true);
    CHECK(born_docs(s, &parent, 1) && make_parts(s, &parent, &parent.task, 0, CHUNK, PARTS));
    store_close(s);
    struct move m = { .data = from.folder, .url = to.url };
    bool moved = move_run(&m, &err);

    if (!moved)
        printf("# move: %s\n", err.text);
    CHECK(moved && m.damaged == 0);
    s = open_store(&to);
    CHECK(s != NULL && all_is_well(s) && ask(&to, "SELECT made FROM offspring") == CHUNK);
    CHECK(ask(&to, "SELECT count(*) FROM order_open o JOIN doc d ON o.seq = d.seq AND o.child = "
                   "coalesce(d.child, 0)") == CHUNK + 1);
    CHECK(claim_one(s, parent.num, &t) && split_whole(s, &parent, &t));
    CHECK(listed(s, (struct document_filter){ .parent = parent.num }) == PARTS && all_is_well(s));
    CHECK(ask(&to, "SELECT count(DISTINCT child) FROM doc") == PARTS);
    store_close(s);
}

STORE_TEST_MAIN
