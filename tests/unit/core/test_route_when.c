#include "core/route_when.h"

#include "base/auto.h"
#include "core/problem.h"
#include "test.h"

static struct fact attributes[] = { { STR("region"), STR("north") }, { STR("empty"), STR("") } };

TEST(route_when_fits_what_is_left_out_or_listed)
{
    const struct facts facts = { .sender = STR("acme"),
                                 .receiver = STR("hub"),
                                 .type = STR("article"),
                                 .type_unknown = true, /* `types` may have "*" */
                                 .attributes = attributes,
                                 .attribute_count = 2 };
    static const struct {
        const char *when;
        bool fits;
    } cases[] = {
        { "{}", true },
        { "{ type: article }", true },
        { "{ type: price }", false },
        { "{ type: [ price, article ] }", true },
        { "{ type: \"*\", sender: acme, receiver: [ x, \"*\" ] }", true },
        { "{ sender: hub }", false },
        { "{ receiver: hub, region: north }", true },
        { "{ receiver: hub, region: south }", false },
        { "{ region: [ south, north ], attributes: { empty: \"\" } }", true },
        { "{ attributes: { region: [ south ] } }", false },
        { "{ attributes: { missing: x } }", false },
        { "{ attributes: { missing: \"*\" } }", true }, /* as in a route */
        { "{ missing: \"\" }", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
        AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
        const struct yaml_node *when = yaml_load(str_of(cases[i].when), &a, &problems);

        if (route_when_fits(when, &facts) != cases[i].fits)
            printf("# %s\n", cases[i].when);
        CHECK(when != NULL && route_when_fits(when, &facts) == cases[i].fits);
    }
    CHECK(route_when_fits(NULL, &facts));
}

TEST(route_when_does_not_take_an_unknown_name_for_a_system)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *when = yaml_load(STR("{ sender: acme }"), &a, &problems);
    const struct facts facts = { .sender = STR("acme"), .sender_unknown = true };

    CHECK(!route_when_fits(when, &facts) && !route_when_fits(when, &(struct facts){ 0 }));
}

int main(void)
{
    return test_main();
}
