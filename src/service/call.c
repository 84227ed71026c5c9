/* call.c - an external HTTP service changes a document: what it answers is the new one.
 *
 *     - call: https://tax.example/orders
 *     - call: { url: "https://split.example/", parts: "json:/orders", type: "value:order" }
 *
 * The request is that of an endpoint of kind http (core/web/http_client.h), with a key that is the
 * same in every attempt.  204 is no document: the chain ends.  With `parts` the answer is cut as
 * `split` does it, and the chain ends; `sender`, `receiver`, `type` and `attributes` are for these
 * parts.
 *
 * With `answer` the answer is a document of its own as well (engine/walk/answer_step.h).
 *
 * The engine asks, repeats and keeps the answer (engine/asking/calling.h): this file only says how.
 */
#include "core/grammar.h"
#include "core/service_call.h"
#include "core/web/http_client.h"

struct call_step {
    struct http_client client;
    struct service_call call;
};

/* ---- options ---- */

static const struct option part_expr = { .type = OPT_EXPR, .flags = OPT_OR_LIST | OPT_RELATIVE };

static const struct option options[] = {
    OPTION("url", OPT_URL, "the service that gets the document and answers with the new one",
           .flags = OPT_REQUIRED, .words = OPTION_WORDS("http", "https")),
    OPTION("method", OPT_WORD, "the HTTP method; GET sends no document",
           .words = OPTION_WORDS("POST", "PUT", "GET"), .fallback = "POST"),
    OPTIONS(grammar_headers),
    OPTIONS(grammar_login),
    OPTIONS(grammar_tls),
    OPTIONS(grammar_asking),
    OPTION("most", OPT_SIZE, "a larger answer is a dead letter, `limit`", .least = 1,
           .most = INT64_C(64) << 30, .fallback = "64 MiB"),
    OPTION("parts", OPT_TEXT,
           "make parts of the answer: `json:/orders` one per item of this array, `xml:/list/order` "
           "one per element; they go back to the router"),
    OPTION("sender", OPT_EXPR, "who sent the part; left out: as before",
           .flags = OPT_OR_LIST | OPT_RELATIVE),
    OPTION("receiver", OPT_EXPR, "who the part is for; left out: as before",
           .flags = OPT_OR_LIST | OPT_RELATIVE),
    OPTION("type", OPT_EXPR, "what the part is; left out: as before",
           .flags = OPT_OR_LIST | OPT_RELATIVE),
    OPTION("attributes", OPT_NAMED, "attributes of the part", .flags = OPT_ATTRS,
           .each = &part_expr, .noun = "attribute"),
    OPTION("system", OPT_SYSTEM,
           "the system whose service it is: who the document of `answer` is from"),
    OPTION("answer", OPT_MAP,
           "make the answer a document of its own as well; the chain goes on with it all the same",
           .keys = grammar_answer),
    { 0 },
};

/* Who answers later is a system: whom else's word should end the wait? */
static void check_within(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *within = yaml_get(yaml_get(map, "answer"), "within");

    if (within != NULL && !yaml_is_null(within) && yaml_get(map, "system") == NULL)
        problem_add(problems, within->place, "add `system: NAME` to the step",
                    "`within` waits for an answer of a system, and the step does not say of which");
}

static void call_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *parts = yaml_get(map, "parts");
    static const char *const alone[] = { "sender", "receiver", "type", "attributes" };

    if (parts != NULL && !str_starts(parts->text, STR("json:/")) &&
        !str_starts(parts->text, STR("xml:/")))
        problem_add(problems, parts->place, "write json:/orders or xml:/list/order",
                    "`parts` is json: and a JSON Pointer, or xml: and a path");
    for (size_t i = 0; parts == NULL && i < sizeof alone / sizeof alone[0]; i++) {
        const struct yaml_node *n = yaml_get(map, alone[i]);

        if (n != NULL)
            problem_add(problems, n->place, "add `parts`, or a step `route` behind this one",
                        "`%s` is for the parts of the answer", alone[i]);
    }
    check_within(map, problems);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct call_step *c = ARENA_NEW(s->arena, struct call_step);

    if (!http_client_read(s, &c->client, err) || !service_call_read(s, &c->call, err) ||
        !settings_int(s, "most", &c->call.answer_most, err))
        return false;
    c->call.service = c->client.url;
    *ret_self = c;
    return true;
}

static void unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- asking ---- */

static bool call_prepare(void *self, const struct sending *s, struct arena *a,
                         struct http_out_request *ret, struct verdict *ret_failed)
{
    const struct call_step *c = self;

    if (str_is(c->client.method, "GET")) {
        ret->method = c->client.method;
        ret->url = c->client.url;
        return http_client_put_fields(&c->client, s, a, ret, ret_failed);
    }
    return http_client_prepare(&c->client, s, a, ret, ret_failed);
}

static void call_judge(void *self, const struct http_out_answer *answer, struct verdict *ret)
{
    const struct call_step *c = self;

    http_client_judge(&c->client, answer, ret);
}

static const struct http_out_options *call_options(void *self)
{
    const struct call_step *c = self;

    return &c->client.options;
}

static const struct service_call *call_call(void *self)
{
    const struct call_step *c = self;

    return &c->call;
}

static const struct service_http http = {
    .prepare = call_prepare,
    .judge = call_judge,
    .options = call_options,
    .call = call_call,
};

const struct service_type service_call = {
    .kind = { .name = "call",
              .help = "let an external HTTP service change it",
              .keys = options,
              .check = call_check,
              .example = "- call: { url: \"https://tax.example/orders\", headers: { Accept: "
                         "application/json }, timeout: 10s }" },
    .describes = true,
    .make = make,
    .unmake = unmake,
    .http = &http,
};
