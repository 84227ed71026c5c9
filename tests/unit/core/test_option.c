#include "core/option.h"

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

static void add_kinds(struct tables *t, const struct option_kinds *kinds)
{
    add_table(t, kinds->common);
    for (const struct option_kind *k = kinds->kinds; k->name != NULL; k++)
        add_table(t, k->keys);
}

static void collect(struct tables *t)
{
    add_table(t, grammar_sections);
    for (size_t i = 0; i < t->count; i++)
        for (const struct option *o = t->seen[i]; o->name != NULL; o++) {
            add_table(t, o->keys);
            if (o->each != NULL && o->each->keys != NULL)
                add_table(t, o->each->keys);
            if (o->each != NULL && o->each->kinds != NULL)
                add_kinds(t, o->each->kinds);
        }
    add_kinds(t, &grammar_services);
}

/* Runs for every key there is: a new one is tested by being listed. */
TEST(option_every_key_is_complete)
{
    struct tables t = { 0 };

    collect(&t);
    CHECK(t.count > 40 && t.count < TABLES_MOST);
    for (size_t i = 0; i < t.count; i++)
        for (const struct option *o = t.seen[i]; o->name != NULL; o++) {
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

TEST(option_kind_key_knows_common_and_own)
{
    const struct option_kind *http = option_kind_find(&grammar_gateways, STR("http"));

    CHECK(http != NULL && option_kind_find(&grammar_gateways, STR("htp")) == NULL);
    CHECK(option_kind_key(&grammar_gateways, http, STR("limits")) != NULL);
    CHECK(option_kind_key(&grammar_gateways, http, STR("auth")) != NULL);
    CHECK(option_kind_key(&grammar_gateways, http, STR("path")) == NULL);
    CHECK(option_kind_key(&grammar_gateways, NULL, STR("auth")) == NULL);
}

int main(void)
{
    return test_main();
}
