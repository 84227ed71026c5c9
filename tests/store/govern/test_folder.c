#include "base/auto.h"
#include "store/govern/folder.h"
#include "store_test.h"

static const struct folder_id share = { .fs = 0x6969, .ino = 12, .dev = 40 };
static const struct folder_id local = { .fs = 0xef53, .fsid = UINT64_MAX, .ino = 99, .dev = 1 };

/* proves: FI12 */
TEST(a_folder_is_known_to_the_next_life_of_its_node)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct folder_row row, rows[FOLDERS_MOST];
    struct err err = { 0 };
    bool there, was;
    size_t n;

    CHECK(s != NULL && folder_find(s, 7, STR("path"), STR("/mnt/a"), &a, &row, &there, &err));
    CHECK(!there);
    CHECK(folder_learn(s, 7, STR("path"), STR("/mnt/a"), &share, true, &err));
    CHECK(
        folder_learn(s, 7, STR("path"), STR("/mnt/a"), &local, false, &err)); /* the first stays */
    CHECK(folder_learn(s, 7, STR("move"), STR("/mnt/b"), &local, false, &err));
    store_close(s);

    s = open_store(&h);
    CHECK(s != NULL && folder_find(s, 7, STR("path"), STR("/mnt/a"), &a, &row, &there, &err));
    CHECK(there && folder_same(&row.id, &share, true) && row.mount && row.accepted_us == 0);
    CHECK(folder_find(s, 7, STR("path"), STR("/mnt/other"), &a, &row, &there, &err) && !there);
    CHECK(folder_find(s, 8, STR("path"), STR("/mnt/a"), &a, &row, &there, &err) && !there);

    CHECK(folder_list(s, 7, &a, rows, &n, &err) && n == 2 && str_is(rows[0].part, "move"));
    rows[1].id = local;
    CHECK(folder_accept(s, 7, &rows[1], STR("ann"), &was, &err) && was);
    CHECK(folder_find(s, 7, STR("path"), STR("/mnt/a"), &a, &row, &there, &err) && there);
    CHECK(row.id.fsid == UINT64_MAX && row.accepted_us > 0 && str_is(row.accepted_by, "ann"));
    CHECK(folder_accept(s, 8, &rows[1], STR("ann"), &was, &err) && !was);

    /* Another path is another folder, seen for the first time. */
    CHECK(folder_learn(s, 7, STR("path"), STR("/mnt/other"), &share, true, &err));
    CHECK(folder_find(s, 7, STR("path"), STR("/mnt/other"), &a, &row, &there, &err) && there);
    CHECK(row.accepted_us == 0 && row.accepted_by.len == 0);
    CHECK(folder_find(s, 7, STR("path"), STR("/mnt/a"), &a, &row, &there, &err) && !there);
    store_close(s);
}

STORE_TEST_MAIN
