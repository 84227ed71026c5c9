#include "core/option.h"

#include "app/registry.h"
#include "core/grammar.h"
#include "test.h"

enum { TABLES_MOST = 400 };

/* Every table below the top level, each once. */
struct tables {
    const struct option *seen[TABLES_MOST];
    size_t count;
};

static void add_table(struct tables *t, const struct option *keys)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->seen[i] == keys)
            return;
    if (keys != NULL && t->count < TABLES_MOST)
        t->seen[t->count++] = keys;
}

static void add_kinds(struct tables *t, enum option_role role)
{
    const struct option_kind *k;

    add_table(t, kind_common(role));
    for (size_t i = 0; (k = kind_at(&registry, role, i)) != NULL; i++)
        add_table(t, k->keys);
}

static void collect(struct tables *t)
{
    const struct option *o;

    add_table(t, grammar_sections);
    for (enum option_role role = ROLE_GATEWAY; role <= ROLE_DATABASE; role++)
        add_kinds(t, role);
    for (size_t i = 0; i < t->count; i++)
        for (struct option_walk w = { t->seen[i] }; (o = option_next(&w)) != NULL;) {
            add_table(t, o->keys);
            add_table(t, o->each != NULL ? o->each->keys : NULL);
        }
}

static bool has_word(const struct option *o, const char *word)
{
    for (size_t i = 0; o->words != NULL && o->words[i] != NULL; i++)
        if (strcmp(o->words[i], word) == 0)
            return true;
    return false;
}

/* Runs for every key there is: a new one is tested by being listed. */
TEST(option_every_key_is_complete)
{
    struct tables t = { 0 };
    const struct option *o;

    collect(&t);
    CHECK(t.count > 40 && t.count < TABLES_MOST);
    for (size_t i = 0; i < t.count; i++)
        for (struct option_walk w = { t.seen[i] }; (o = option_next(&w)) != NULL;) {
            bool whole = o->help != NULL && o->type != OPT_END;

            if (o->type == OPT_MAP)
                whole = whole && o->keys != NULL;
            if (o->type == OPT_NAMED || o->type == OPT_LIST)
                whole = whole && o->each != NULL;
            if (o->type == OPT_WORD && strcmp(o->name, "kind") != 0)
                whole = whole && o->words != NULL;
            if ((o->flags & OPT_REQUIRED) != 0)
                whole = whole && o->fallback == NULL;
            if (o->help != NULL && strchr(o->help, '|') != NULL)
                whole = false; /* it would end a cell of the reference page */
            if (o->help != NULL && o->help[strlen(o->help) - 1] == '.')
                whole = false;
            if (option_find(t.seen[i], str_of(o->name)) != o)
                whole = false; /* a second key of this name */
            for (size_t k = 0; o->planned != NULL && o->planned[k] != NULL; k++)
                whole = whole && has_word(o, o->planned[k]);
            if (!whole)
                printf("# key %s\n", o->name);
            CHECK(whole);
        }
}

TEST(option_every_type_has_a_form)
{
    for (enum option_type type = OPT_TEXT; type <= OPT_ANY; type++)
        CHECK(*option_type_name(type) != '\0' && *option_form(type) != '\0');
    CHECK(!option_may_show(OPT_SECRET) && !option_may_show(OPT_URL) && !option_may_show(OPT_TEXT));
    CHECK(option_may_show(OPT_WORD));
}

TEST(option_guess_table)
{
    static const struct {
        const char *word, *candidates[4], *best;
    } cases[] = {
        { "exract", { "kind", "extract", NULL }, "extract" },
        { "spilt", { "split", "sign", NULL }, "split" },
        { "KIND", { "kind", NULL }, "kind" },
        { "htp", { "http", "ftp", NULL }, "http" },
        { "recv", { "sender", "receiver", NULL }, NULL },
        { "jq", { "s3", "sql", NULL }, NULL },
        { "", { "a", NULL }, NULL },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct option_guess guess = { .word = str_of(cases[i].word) };

        for (size_t k = 0; cases[i].candidates[k] != NULL; k++)
            option_guess_try(&guess, str_of(cases[i].candidates[k]));
        if (cases[i].best == NULL)
            CHECK(guess.best.ptr == NULL);
        else
            CHECK(guess.best.ptr != NULL && str_is(guess.best, cases[i].best));
    }
}

TEST(option_next_takes_groups_in)
{
    static const struct option one[] = { { .name = "b", .type = OPT_TEXT }, { 0 } };
    static const struct option none[] = { { 0 } };
    static const struct option table[] = {
        { .name = "a", .type = OPT_TEXT }, OPTIONS(one),  OPTIONS(none),
        { .name = "c", .type = OPT_TEXT }, OPTIONS(none), { 0 },
    };
    struct option_walk w = { table }, nothing = { NULL };

    CHECK(strcmp(option_next(&w)->name, "a") == 0 && option_next(&w) == &one[0]);
    CHECK(strcmp(option_next(&w)->name, "c") == 0);
    CHECK(option_next(&w) == NULL && option_next(&w) == NULL && option_next(&nothing) == NULL);
    CHECK(option_find(table, STR("b")) == &one[0] && option_find(table, STR("d")) == NULL);
}

int main(void)
{
    return test_main();
}
