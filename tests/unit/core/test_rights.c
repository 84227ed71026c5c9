/* Rights: what roles allow, and for which systems. */
#include "core/rights.h"

#include "test.h"

TEST(words_go_both_ways)
{
    enum right r;

    for (int i = 0; i < RIGHTS; i++)
        CHECK(right_find(str_of(right_word((enum right)i)), &r) && (int)r == i);
    CHECK(!right_find(STR("everything"), &r));
    CHECK(!right_find(STR(""), &r));
}

TEST(nobody_may_do_only_what_anybody_may)
{
    struct rights none = { 0 };

    CHECK(rights_has(&none, RIGHT_ANY));
    for (int r = RIGHT_SEE; r < RIGHTS; r++)
        CHECK(!rights_has(&none, (enum right)r));
    for (int r = 0; r < RIGHTS; r++)
        CHECK(rights_has(&rights_all, (enum right)r) &&
              rights_everywhere(&rights_all, (enum right)r));
}

/* proves: ME5 */
TEST(a_document_is_in_scope_by_its_sender_or_its_receiver)
{
    struct rights r = { 0 };

    CHECK(rights_add(&r, 1u << RIGHT_SEE | 1u << RIGHT_EDIT, STR("acme")));
    CHECK(rights_add(&r, 1u << RIGHT_SEE, STR("shop")));
    CHECK(rights_cover(&r, RIGHT_EDIT, STR("acme"), STR("else")));
    CHECK(rights_cover(&r, RIGHT_EDIT, STR("else"), STR("acme")));
    CHECK(!rights_cover(&r, RIGHT_EDIT, STR("shop"), STR("else")));
    CHECK(rights_cover(&r, RIGHT_SEE, STR("shop"), STR("else")));
    CHECK(!rights_cover(&r, RIGHT_SEE, STR("else"), STR("other")));
    CHECK(!rights_cover(&r, RIGHT_SEE, STR(""), STR("")));
    CHECK(rights_has(&r, RIGHT_EDIT) && !rights_everywhere(&r, RIGHT_EDIT));
    CHECK(!rights_has(&r, RIGHT_PAYLOAD));
}

TEST(a_right_about_the_node_needs_all_systems)
{
    struct rights r = { 0 };

    CHECK(rights_add(&r, 1u << RIGHT_CONFIGURE, STR("acme")));
    CHECK(!rights_has(&r, RIGHT_CONFIGURE));
    CHECK(!rights_cover_system(&r, RIGHT_CONFIGURE, STR("acme")));
    CHECK(rights_add(&r, 1u << RIGHT_CONFIGURE, (struct str){ 0 }));
    CHECK(rights_has(&r, RIGHT_CONFIGURE) && rights_cover(&r, RIGHT_CONFIGURE, STR(""), STR("")));
}

TEST(systems_have_a_limit)
{
    static char names[RIGHTS_SYSTEMS_MOST][16];
    struct rights r = { 0 };

    for (int i = 0; i < RIGHTS_SYSTEMS_MOST; i++) {
        (void)snprintf(names[i], sizeof names[i], "s%d", i);
        CHECK(rights_add(&r, 1u << RIGHT_SEE, str_of(names[i])));
    }
    CHECK(!rights_add(&r, 1u << RIGHT_SEE, STR("another")));
    CHECK(rights_add(&r, 1u << RIGHT_HOLD, STR("s5")) &&
          rights_cover_system(&r, RIGHT_HOLD, STR("s5")));
}

TEST(roles_that_need_no_definition)
{
    const struct rights_role *role = rights_role_find(STR("operator"));

    CHECK(rights_role_find(STR("nobody")) == NULL);
    CHECK(role != NULL && (role->bits & 1u << RIGHT_RETRY) != 0);
    CHECK((role->bits & (1u << RIGHT_CONFIGURE | 1u << RIGHT_USERS | 1u << RIGHT_EDIT)) == 0);
    CHECK(rights_role_find(STR("admin"))->bits == rights_all.everywhere);
}

int main(void)
{
    return test_main();
}
