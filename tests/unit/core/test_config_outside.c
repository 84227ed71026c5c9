/* What a text takes from outside of itself, in its order and with its places. */
#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry };

static const char text[] =
    "node:\n"
    "  data: ${env:NOT_OURS}\n"
    "systems:\n"
    "  a: { title: \"${env:WHO} and ${file:who.txt}, $ {env:x}, ${env:A$B}\" }\n"
    "endpoints:\n"
    "  db: { kind: sql, statement: x, dsn: secret:mdm }\n"
    "  api:\n"
    "    kind: http\n"
    "    url: https://x.example/\n"
    "    headers:\n"
    "      Authorization: \"Bearer ${secret:one}${secret:two}, ${id}\"\n"
    "content: { abc: [ { y: secret:deep } ] }\n";

TEST(outside_lists_every_reference)
{
    static const struct {
        enum config_outside kind;
        const char *name;
        unsigned line, column;
    } want[] = {
        { CONFIG_ENV, "WHO", 4, 15 },      { CONFIG_FILE, "who.txt", 4, 15 },
        { CONFIG_ENV, "A$B", 4, 15 },      { CONFIG_SECRET, "mdm", 6, 39 },
        { CONFIG_SECRET, "one", 11, 22 },  { CONFIG_SECRET, "two", 11, 22 },
        { CONFIG_SECRET, "deep", 12, 24 },
    };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(STR(text), "t", &options, &report);
    struct config_outside_walk walk = { 0 };
    struct config_reference r;

    CHECK(c != NULL);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        CHECK(config_outside_next(c->root, &walk, &r));
        CHECK(r.kind == want[i].kind && str_is(r.name, want[i].name));
        CHECK(r.place.line == want[i].line && r.place.column == want[i].column);
    }
    CHECK(!config_outside_next(c->root, &walk, &r) && !config_outside_next(c->root, &walk, &r));
    config_unref(c);
}

/* A text of megabytes is read once: with a look at the rest for each sign this takes hours. */
TEST(outside_reads_a_long_text_once)
{
    enum { LONG = 3 << 20 };
    static const char head[] = "systems: { a: { title: \"", tail[] = "\" } }\n";
    static char long_text[sizeof head + LONG + sizeof tail];
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config_outside_walk walk = { 0 };
    struct config_reference r;

    memcpy(long_text, head, sizeof head - 1);
    for (size_t i = 0; i < LONG; i++)
        long_text[sizeof head - 1 + i] = "${"[i % 2];
    memcpy(long_text + sizeof head - 1 + LONG, tail, sizeof tail);
    struct arena a = ARENA_INIT(64 << 20);
    struct yaml_node *root = yaml_load(str_of(long_text), &a, &report.problems);

    CHECK(root != NULL && !config_outside_next(root, &walk, &r));
    arena_done(&a);
}

struct counted {
    size_t calls, references;
};

static void count(void *arg, const struct yaml_node *root, struct problem_list *problems)
{
    struct config_outside_walk walk = { 0 };
    struct config_reference r;
    struct counted *n = arg;

    n->calls++;
    while (config_outside_next(root, &walk, &r)) {
        n->references++;
        problem_add(problems, r.place, "add it", "there is no %.*s", STR_ARG(r.name));
    }
}

/* Whatever is wrong with a tree, the caller is asked too, and nothing stands there twice. */
TEST(outside_is_asked_beside_other_problems)
{
    static const struct {
        const char *text;
        size_t calls, references, problems;
    } cases[] = {
        { "systems: { a: { title: \"${secret:x}\" } }", 1, 1, 1 },
        { "systms: { a: { title: \"${secret:x}\" } }", 1, 1, 2 },
        { "[ \"${secret:x}\" ]", 1, 1, 2 },
        { "secret:x", 1, 0, 1 }, /* not a map at all */
        { "systems: { a: { title: \"${secret:not a name}\" } }", 1, 0, 1 },
        { "systems: { a: { title: \"secret:not a name\" } }", 1, 0, 1 },
        { "systems: { a: { title: \"${secret:x\" } }", 1, 0, 1 },
        { "systems: { a: { title: \"${env:}\" } }", 1, 0, 1 },
        { "systems: [", 0, 0, 1 },
        { "", 1, 0, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        struct counted n = { 0 };
        struct config_options also = options;

        also.also = count;
        also.also_arg = &n;
        struct config *c = config_load(str_of(cases[i].text), "t", &also, &report);

        if (n.calls != cases[i].calls || n.references != cases[i].references ||
            report.problems.count != cases[i].problems)
            printf("# %s: %zu %zu %zu\n", cases[i].text, n.calls, n.references,
                   report.problems.count);
        CHECK(n.calls == cases[i].calls && n.references == cases[i].references);
        CHECK(report.problems.count == cases[i].problems);
        CHECK((c == NULL) == (cases[i].problems > 0));
        config_unref(c);
    }
}

/* ---- steps that have secrets ---- */

#define STEPS                                                                                   \
    "systems: { s: {} }\ntypes: { \"*\": {} }\n"                                                \
    "services: { tidy: { replace: { find: a, with: secret:word } } }\n"                         \
    "routes: [ { name: r, do: [ tidy, decrypt: { key: [ secret:old, secret:new ], passphrase: " \
    "\"${secret:pass}\" }, xslt: { file: a.xsl, params: { k: secret:param } }, deliver: e ] } ]\n"
#define ENDPOINTS                                                                 \
    "endpoints: { e: { kind: http, system: s, url: \"http://h/\", headers: { A: " \
    "secret:token } } }\n"

static struct config *load_steps(const char *of, const char *style_sheet)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    const struct config_file file = { STR("a.xsl"), str_of(style_sheet) };
    const struct config_files files = { &file, 1 };
    const struct config_options with = { .connectors = &registry, .files = &files };

    return config_load(str_of(of), "t", &with, &report);
}

/* The options of step `number`, from 0, of the first route. */
static const struct yaml_node *step_options(const struct config *c, size_t number)
{
    const struct yaml_node *step = c->routes[0].steps->first;

    for (; number > 0; number--)
        step = step->next;
    return step->first;
}

static bool has_secret(const struct config *c, const char *step, const char *option,
                       const char *name)
{
    const struct config_option_place at = { str_of(step), str_of(option), STR("key") };

    return config_option_has_secret(c, &at, str_of(name));
}

TEST(a_secret_belongs_to_an_option_of_a_kind_of_step)
{
    struct config *c = load_steps(STEPS ENDPOINTS, "<x/>");

    CHECK(c != NULL);
    CHECK(has_secret(c, "decrypt", "key", "old") && has_secret(c, "decrypt", "key", "new"));
    CHECK(has_secret(c, "decrypt", "passphrase", "pass"));
    CHECK(has_secret(c, "replace", "with", "word") && has_secret(c, "xslt", "params", "param"));
    CHECK(!has_secret(c, "decrypt", "passphrase", "new") && !has_secret(c, "sign", "key", "new"));
    CHECK(!has_secret(c, "replace", "with", "new") && !has_secret(c, "replace", "find", "word"));
    /* What stands behind the routes is none of them. */
    CHECK(!has_secret(c, "e", "headers", "token") && !has_secret(c, "replace", "with", "token"));
    config_unref(c);
}

TEST(a_step_is_in_force_as_a_whole_with_its_files)
{
    struct config *c = load_steps(STEPS ENDPOINTS, "<x/>"),
                  *same = load_steps(STEPS ENDPOINTS, "<x/>");
    struct config *edited = load_steps(STEPS ENDPOINTS, "<y/>");
    struct config *other = load_steps("types: { \"*\": {} }\nroutes: [ { name: q, do: [ replace: { "
                                      "find: b, with: secret:word }, drop: no ] } ]\n",
                                      "<x/>");

    CHECK(c != NULL && same != NULL && edited != NULL && other != NULL);
    CHECK(config_has_step(c, same, step_options(same, 0)));
    CHECK(config_has_step(c, same, step_options(same, 2)));
    CHECK(!config_has_step(c, edited, step_options(edited, 2)));
    CHECK(config_has_step(c, edited, step_options(edited, 0)));
    CHECK(!config_has_step(c, other, step_options(other, 0)));
    CHECK(config_names_secret(yaml_get(step_options(other, 0), "with"), STR("word")));
    CHECK(!config_names_secret(yaml_get(step_options(other, 0), "find"), STR("word")));
    config_unref(c);
    config_unref(same);
    config_unref(edited);
    config_unref(other);
}

int main(void)
{
    return test_main();
}
