/* The step `store`: which pair goes on, what is kept, and that no byte of a value changes. */
#include "stepping.h"
#include "test.h"

static const char number[] = "{\"id\":\"a\",\"n\":123456789012345678901234567890,\"p\":1.10,"
                             "\"e\":1E400,\"z\":-0.0}";

/* Runs it on a record; was NULL: there is none. */
static void store_on(struct step *s, const char *in, const char *was)
{
    service_memory_done(&s->m);
    service_memory_init(&s->m, &s->document, str_of(in), STEP_OUT, &s->arena);
    s->m.record = (struct service_record){ .set = STR("things"), .key = STR("a") };
    if (was != NULL) {
        s->m.record.is_there = true;
        s->m.record.value = str_of(was);
    }
}

static bool store_go(struct step *s)
{
    s->failure = (struct service_failure){ 0 };
    s->ok = service_run(s->type, s->self, &s->m.io, &s->failure);
    if (!s->ok)
        printf("# %s\n", s->failure.message);
    return s->ok;
}

static bool came(const struct step *s, const char *want)
{
    bool is = s->ok && str_is(buf_view(&s->m.out), want);

    if (!is)
        printf("# got: %.*s\n", STR_ARG(buf_view(&s->m.out)));
    return is;
}

extern const struct service_type service_store;

TEST(a_pair_is_made_of_slices)
{
    static const struct {
        const char *in, *was, *out, *kept;
    } cases[] = {
        { "{\"id\":1}", NULL, "{\"previous\":null,\"new\":{\"id\":1}}", "{\"id\":1}" },
        { " \n{ \"p\" : 1.10 }\r\n", "{\"p\":1.1}",
          "{\"previous\":{\"p\":1.1},\"new\":{ \"p\" : 1.10 }}", "{ \"p\" : 1.10 }" },
        { "\xef\xbb\xbf[1]", "7", "{\"previous\":7,\"new\":[1]}", "[1]" },
        { "<a><b>1</b></a>", NULL,
          "<record><previous></previous><new><a><b>1</b></a></new></record>", "<a><b>1</b></a>" },
        { "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- x --><a x='1'/>\n<!-- y -->",
          "<a>old</a>", "<record><previous><a>old</a></previous><new><a x='1'/></new></record>",
          "<a x='1'/>" },
    };
    AUTO(step_done) struct step s = step_of(&service_store, "store: { key: \"json:/id\" }");

    CHECK(s.self != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        store_on(&s, cases[i].in, cases[i].was);
        CHECK(store_go(&s) && came(&s, cases[i].out));
        CHECK(str_is(s.m.kept, cases[i].kept) && !s.m.is_none && s.m.note_count == 1);
    }
}

/* Numbers that no double holds leave digit by digit. */
TEST(numbers_stay_as_they_are)
{
    AUTO(step_done) struct step s = step_of(&service_store, "store: { key: \"json:/id\" }");
    AUTO(buf_done) struct buf want = BUF_INIT(4096);

    buf_printf(&want, "{\"previous\":%s,\"new\":[%s]}", number, number);
    AUTO(buf_done) struct buf in = BUF_INIT(4096);

    buf_printf(&in, "[%s]", number);
    store_on(&s, in.ptr, number);
    CHECK(store_go(&s) && came(&s, want.ptr));
}

TEST(what_has_not_changed_ends_or_goes_on)
{
    AUTO(step_done) struct step drop = step_of(&service_store, "store: { key: \"json:/id\" }");
    AUTO(step_done)
    struct step pass = step_of(&service_store, "store: { key: \"json:/id\", unchanged: pass }");

    store_on(&drop, " {\"a\":1.0}\n", "{\"a\":1.0}");
    CHECK(store_go(&drop) && drop.m.is_none && drop.m.out.len == 0 && drop.m.kept.ptr == NULL);
    CHECK(drop.m.is_same);
    store_on(&drop, "{\"a\":1}", "{\"a\":1.0}"); /* other bytes are another value */
    CHECK(store_go(&drop) && !drop.m.is_none && drop.m.kept.ptr != NULL);
    CHECK(!drop.m.is_same);
    store_on(&pass, "{\"a\":1}", "{\"a\":1}");
    CHECK(store_go(&pass) && came(&pass, "{\"previous\":{\"a\":1},\"new\":{\"a\":1}}"));
    CHECK(pass.m.kept.ptr == NULL && pass.m.is_same);
}

/* A document that runs again gives the bytes that it gave; nothing is written.  Rule PR4. */
TEST(a_replay_gives_the_same_pair)
{
    AUTO(step_done) struct step s = step_of(&service_store, "store: { key: \"json:/id\" }");

    store_on(&s, "{\"v\":2}", "{\"v\":2}");
    s.m.record.is_own = true;
    s.m.record.before = STR("{\"v\":1}");
    CHECK(store_go(&s) && came(&s, "{\"previous\":{\"v\":1},\"new\":{\"v\":2}}"));
    CHECK(s.m.kept.ptr == NULL);
    store_on(&s, "{\"v\":2}", "{\"v\":2}");
    s.m.record.is_own = true; /* it was the first */
    CHECK(store_go(&s) && came(&s, "{\"previous\":null,\"new\":{\"v\":2}}"));
    store_on(&s, "{\"v\":3}", "{\"v\":2}"); /* the configuration has changed since */
    s.m.record.is_own = true;
    CHECK(store_go(&s) && came(&s, "{\"previous\":{\"v\":2},\"new\":{\"v\":3}}"));
    CHECK(s.m.kept.ptr != NULL);
}

TEST(what_came_before_does_not_set_a_record_back)
{
    AUTO(step_done) struct step s = step_of(&service_store, "store: { key: \"json:/id\" }");

    store_on(&s, "{\"v\":1}", "{\"v\":2}");
    s.m.record.is_later = true;
    CHECK(store_go(&s) && s.m.is_none && s.m.kept.ptr == NULL && !s.m.is_same);
}

TEST(what_cannot_be_a_record_is_refused)
{
    static const struct {
        const char *in, *was, *why;
    } cases[] = {
        { "", NULL, "empty" },
        { "a,b\n1,2\n", NULL, "neither XML nor JSON" },
        { "{\"a\":}", NULL, "neither XML nor JSON" },
        { "{\"a\":1} x", NULL, "neither XML nor JSON" },
        { "<a>", NULL, "not XML" },
        { "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", NULL, "DOCTYPE" },
        { "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", NULL, "not in UTF-8" },
        { "<a/>", "{}", "JSON and the document XML" },
        { "[]", "<a/>", "XML and the document JSON" },
    };
    AUTO(step_done) struct step s = step_of(&service_store, "store: { key: \"json:/id\" }");

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        store_on(&s, cases[i].in, cases[i].was);
        CHECK(!store_go(&s) && s.failure.code == DEAD_SERVICE_FAILED);
        CHECK(strstr(s.failure.message, cases[i].why) != NULL);
    }
}

TEST(a_record_has_a_largest_size)
{
    AUTO(step_done) struct step s = step_of(&service_store, "store: { key: \"json:/id\" }");
    size_t most = SERVICE_RECORD_MOST;
    char *in = calloc(1, 3 * most);

    CHECK(in != NULL);
    for (int more = 0; more < 2; more++) {
        memset(in, 'x', most + (size_t)more);
        in[0] = in[most - 1 + (size_t)more] = '"';
        in[most + (size_t)more] = '\0';
        store_on(&s, in, NULL);
        CHECK(store_go(&s) == (more == 0));
        CHECK(more == 0 || s.failure.code == DEAD_LIMIT);
    }
    memset(in, ' ', 3 * most - 1);
    store_on(&s, in, NULL);
    CHECK(!store_go(&s) && s.failure.code == DEAD_LIMIT);
    free(in);
}

int main(void)
{
    return test_main();
}
