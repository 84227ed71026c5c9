#include "base/container_of.h"

#include "test.h"

struct inner {
    int value;
};

struct outer {
    char before;
    struct {
        struct inner deep;
    } part;
    struct inner last;
};

TEST(container_of_a_member)
{
    struct outer o = { .before = 'x' };
    struct inner *last = &o.last, *deep = &o.part.deep;
    const struct inner *lent = last;

    CHECK(container_of(last, struct outer, last) == &o);
    CHECK(container_of(deep, struct outer, part.deep) == &o);
    CHECK(container_of(lent, const struct outer, last)->before == 'x');
}

int main(void)
{
    return test_main();
}
