/* The contract that every connector keeps: a new one is tested by being listed. */
#include "app/registry.h"

#include "base/auto.h"
#include "core/config.h"
#include "core/grammar.h"
#include "core/planned.h"
#include "table/database.h"
#include "test.h"

enum { ARENA = 16 << 20 };

static bool is_complete(const struct option *keys)
{
    const struct option *o;

    for (struct option_walk w = { keys }; (o = option_next(&w)) != NULL;)
        if (o->name == NULL || o->help == NULL || strcmp(o->name, "kind") == 0 ||
            option_find(keys, str_of(o->name)) != o) {
            printf("# key %s\n", o->name);
            return false;
        }
    return keys != NULL;
}

/* Its name is its own, also among what is planned: a kind that runs has no row there. */
static bool is_named(enum option_role role, const struct option_kind *kind)
{
    size_t same = 0;
    struct err err;

    for (size_t i = 0; kind_at(&registry, role, i) != NULL; i++)
        same += strcmp(kind_at(&registry, role, i)->name, kind->name) == 0;
    return same == 1 && units_name(str_of(kind->name), &err) && !kind->planned &&
           kind->help != NULL && kind->help[0] != '\0' && kind->help[strlen(kind->help) - 1] != '.';
}

static bool keeps_contract(enum option_role role, const struct option_kind *kind)
{
    bool kept = is_named(role, kind) && is_complete(kind->keys);

    if (!kept)
        printf("# kind %s\n", kind->name);
    return kept;
}

/* Without options, which a checked configuration never does: it works, or says what is missing. */
#define IS_POLITE(type, role)                                   \
    do {                                                        \
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);    \
        struct settings s = { .common = kind_common(role),      \
                              .own = (type)->kind.keys,         \
                              .arena = &a };                    \
        struct err err = { 0 };                                 \
        void *self = NULL;                                      \
                                                                \
        if ((type)->make(&s, &self, &err))                      \
            (type)->unmake(self);                               \
        else                                                    \
            CHECK(err.kind != ERR_NONE && err.text[0] != '\0'); \
    } while (0)

TEST(registry_every_gateway_is_complete)
{
    const struct gateway_type *t;

    for (size_t i = 0; (t = registry.gateways[i]) != NULL; i++) {
        bool served = t->path != NULL, listens = t->stream != NULL;

        CHECK(keeps_contract(ROLE_GATEWAY, &t->kind));
        CHECK(connector_gateway(&registry, str_of(t->kind.name)) == t);
        CHECK((t->look != NULL) + served + listens == 1); /* exactly one form */
        CHECK(served == (t->handler != NULL && t->open != NULL && t->close != NULL));
        CHECK(served == (option_find(t->kind.keys, STR("auth")) != NULL));
        if (served)
            continue;
        CHECK(t->make != NULL && t->unmake != NULL);
        CHECK((option_find(t->kind.keys, STR("every")) == &grammar_every[0]) == !listens);
        CHECK(!listens ||
              (t->listening != NULL && t->stream->open != NULL && t->stream->bytes != NULL &&
               t->stream->expired != NULL && t->stream->eof != NULL && t->stream->gone != NULL));
        CHECK(listens == (option_find(t->kind.keys, STR("listen")) != NULL));
        IS_POLITE(t, ROLE_GATEWAY);
    }
    CHECK(connector_gateway(&registry, STR("no such thing")) == NULL);
}

/* The example of a step is a step that a route may have. */
static bool example_is_valid(const struct option_kind *kind)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(4096);

    if (kind->example == NULL) {
        printf("# %s has no example\n", kind->name);
        return false;
    }
    buf_printf(&text, "routes:\n- name: a\n  do:\n  %s\n", kind->example);
    struct config *c = config_load(buf_view(&text), "example", &options, &report);

    if (c == NULL)
        printf("# %s: %s\n", kind->example, report.problems.items[0].message);
    config_unref(c);
    return c != NULL;
}

TEST(registry_every_service_is_complete)
{
    const struct service_type *t;

    for (size_t i = 0; (t = registry.services[i]) != NULL; i++) {
        CHECK(keeps_contract(ROLE_SERVICE, &t->kind) && example_is_valid(&t->kind));
        CHECK(connector_service(&registry, str_of(t->kind.name)) == t);
        CHECK(t->make != NULL && t->unmake != NULL);
        CHECK((t->run != NULL) + (t->stream != NULL) + (t->http != NULL) == 1); /* one form */
        CHECK(t->http == NULL || (t->http->prepare != NULL && t->http->judge != NULL &&
                                  t->http->options != NULL && t->http->call != NULL));
        CHECK(!t->describes || option_find(t->kind.keys, STR("receiver")) != NULL);
        CHECK(t->kind.keys[0].name != NULL); /* it takes a bare value */
        /* `limits` are those of a process: with it, and only with it */
        const struct option *limits = option_find(t->kind.keys, STR("limits"));

        CHECK(t->caged == (limits == grammar_limits || limits == grammar_stream_limits));
        CHECK(t->streams == (limits == grammar_stream_limits));
        IS_POLITE(t, ROLE_SERVICE);
    }
    CHECK(connector_service(&registry, STR("no such thing")) == NULL);
}

TEST(registry_every_endpoint_is_complete)
{
    const struct endpoint_type *t;

    for (size_t i = 0; (t = registry.endpoints[i]) != NULL; i++) {
        CHECK(keeps_contract(ROLE_ENDPOINT, &t->kind));
        CHECK(connector_endpoint(&registry, str_of(t->kind.name)) == t);
        CHECK(t->make != NULL && t->unmake != NULL);
        CHECK((t->http != NULL) != (t->send != NULL)); /* exactly one form */
        if (t->http != NULL) {
            CHECK(t->ask == NULL && t->http->prepare != NULL && t->http->judge != NULL);
            CHECK(t->http->options != NULL && (t->http->ask != NULL) == (t->http->hear != NULL));
        }
        IS_POLITE(t, ROLE_ENDPOINT);
    }
    CHECK(connector_endpoint(&registry, STR("no such thing")) == NULL);
}

/* The example of a job is an entry of `jobs`. */
static bool job_example_is_valid(const struct option_kind *kind)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(4096);

    if (kind->example == NULL)
        return false;
    buf_printf(&text,
               "gateways: { orders: { kind: http } }\n"
               "databases: { orders: { kind: sqlite, path: /srv/orders.db } }\njobs:\n  %s\n",
               kind->example);
    struct config *c = config_load(buf_view(&text), "example", &options, &report);

    if (c == NULL)
        printf("# %s: %s\n", kind->example, report.problems.items[0].message);
    config_unref(c);
    return c != NULL;
}

TEST(registry_every_job_is_complete)
{
    const struct job_type *t;

    for (size_t i = 0; (t = registry.jobs[i]) != NULL; i++) {
        CHECK(keeps_contract(ROLE_JOB, &t->kind));
        CHECK(t->kind.linked || job_example_is_valid(&t->kind)); /* nobody writes a linked one */
        CHECK(connector_job(&registry, str_of(t->kind.name)) == t);
        CHECK(t->make != NULL && t->unmake != NULL && t->run != NULL);
        IS_POLITE(t, ROLE_JOB);
    }
    CHECK(connector_job(&registry, STR("no such thing")) == NULL);
}

TEST(registry_every_database_is_complete)
{
    const struct database_type *t;

    for (size_t i = 0; (t = registry.databases[i]) != NULL; i++) {
        const struct option_kind *kind = registry.database_kinds[i];

        CHECK(kind == &t->kind && keeps_contract(ROLE_DATABASE, kind));
        CHECK(connector_database(&registry, str_of(kind->name)) == t);
        /* What an address has, and nothing else: link/link_settings.h. */
        CHECK((option_find(kind->keys, STR("dsn")) != NULL) !=
              (option_find(kind->keys, STR("path")) != NULL));
    }
    CHECK(registry.database_kinds[0] != NULL);
    CHECK(connector_database(&registry, STR("no such thing")) == NULL);
}

/* What runs comes first; behind it stands what is planned, and nothing of that runs. */
TEST(registry_what_runs_comes_first)
{
    for (enum option_role role = ROLE_GATEWAY; role <= ROLE_DATABASE; role++) {
        const struct option_kind *kind;
        bool planned = false;

        for (size_t i = 0; (kind = kind_at(&registry, role, i)) != NULL; i++) {
            CHECK(kind->planned || !planned);
            CHECK(kind_find(&registry, role, str_of(kind->name)) == kind);
            planned = kind->planned;
        }
        CHECK(kind_find(&registry, role, STR("no such thing")) == NULL);
    }
}

int main(void)
{
    return test_main();
}
