/* cmd_test.c - `waybill test DIR`: files through a configuration's routes, and what comes out
 * against what is expected, without a node. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/scratch.h"
#include "app/scratch_records.h"
#include "app/test_case.h"
#include "app/test_compare.h"
#include "app/when.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/config.h"
#include "engine/flight/foretold.h"
#include "engine/plan/plan.h"
#include "engine/rehearse/trial.h"
#include "engine/rehearse/workbench.h"

enum { PATH_ROOM = 4096, HEAD_MOST = 64 << 10 };

/* 2000-01-01: every run has the same time, unless the case says another one. */
#define RECEIVED_US (INT64_C(946684800) * CLOCK_S)

struct testing {
    const struct args *args;
    struct scratch scratch;
    struct test_names names;
    int dirfd;
    size_t passed, failed;
};

/* ---- how it comes in ---- */

static bool find_gateway(const struct plan *p, const struct test_case *c, int64_t *ret,
                         struct err *err)
{
    struct str name = yaml_text(yaml_get(c->facts, "gateway"));

    *ret = 0;
    if (name.len == 0 && p->gateway_count > 1)
        return err_set(err, ERR_CONFIG, 0,
                       "the configuration has %zu gateways: say in %s which one, `gateway: NAME`",
                       p->gateway_count, c->facts_file);
    if (name.len == 0 && p->gateway_count == 1)
        *ret = p->gateways[0].word;
    for (size_t i = 0; name.len > 0 && i < p->gateway_count; i++)
        if (str_eq(p->gateways[i].name, name))
            *ret = p->gateways[i].word;
    return *ret != 0 || name.len == 0 ||
           err_set(err, ERR_CONFIG, 0, "%s: there is no gateway %.*s", c->facts_file,
                   STR_ARG(str_first(name, 100)));
}

/* The name of the input without `.in`, unless the case says another one. */
static struct str document_name(struct test_case *c)
{
    const struct yaml_node *n = yaml_get(c->facts, "name");
    struct str end = str_from(str_of(c->file), c->name.len + strlen(".in"));

    return n != NULL ? yaml_text(n)
                     : str_of(arena_printf(&c->arena, "%.*s%.*s", STR_ARG(c->name), STR_ARG(end)));
}

static bool head_of_case(struct test_case *c, struct str *ret, struct err *err)
{
    const struct yaml_node *map = yaml_get(c->facts, "headers");
    AUTO(buf_done) struct buf head = BUF_INIT(HEAD_MOST);

    if (map != NULL && map->kind != YAML_MAP)
        return err_set(err, ERR_CONFIG, 0, "%s: `headers` is a map", c->facts_file);
    for (const struct yaml_node *n = map != NULL ? map->first : NULL; n != NULL; n = n->next)
        if (str_has_control(yaml_text(n)) || str_has_control(n->key->text) ||
            !buf_append(&head, n->key->text, err) || !buf_append(&head, STR(": "), err) ||
            !buf_append(&head, yaml_text(n), err) || !buf_append(&head, STR("\n"), err))
            return err_set(err, ERR_CONFIG, 0, "%s: a header is too long or no text",
                           c->facts_file);
    *ret = arena_copy(&c->arena, buf_view(&head));
    return true;
}

/* 200, or 204 of an answer without bytes, unless the case says another one. */
static bool answers_of_case(struct test_case *c, struct foretold *ret, struct err *err)
{
    struct foretold_answer *list = ARENA_ARRAY(&c->arena, struct foretold_answer, c->answers.count);
    const struct yaml_node *said = yaml_get(c->facts, "answers");

    if (said != NULL && (said->kind != YAML_LIST || said->count > c->answers.count))
        return err_set(err, ERR_CONFIG, 0,
                       "%s: `answers` is a list with the statuses of the %zu files %.*s.answer.*",
                       c->facts_file, c->answers.count, STR_ARG(c->name));
    const struct yaml_node *n = said != NULL ? said->first : NULL;

    for (size_t i = 0; i < c->answers.count; i++, n = n != NULL ? n->next : NULL) {
        struct str body = c->answers.list[i].bytes;
        uint64_t status = body.len > 0 ? 200 : 204;

        if (n != NULL && (!str_to_u64(yaml_text(n), &status) || status < 100 || status > 599))
            return err_set(err, ERR_CONFIG, 0, "%s:%u: an answer has a status of 100 to 599",
                           c->facts_file, n->place.line);
        list[i] = (struct foretold_answer){ .body = body, .status = (int64_t)status };
    }
    *ret = (struct foretold){ .list = list, .count = c->answers.count };
    return true;
}

static bool describe_case(const struct plan *p, struct test_case *c, struct trial_document *ret,
                          struct err *err)
{
    const struct yaml_node *received = yaml_get(c->facts, "received");

    *ret = (struct trial_document){ .bytes = c->bytes,
                                    .name = document_name(c),
                                    .received_us = RECEIVED_US };
    return find_gateway(p, c, &ret->gateway, err) && head_of_case(c, &ret->head, err) &&
           (received == NULL ||
            when_parse(yaml_text(received), clock_wall_us(), &ret->received_us, err));
}

/* ---- one case ---- */

static void tell_case(struct testing *t, const struct test_case *c, bool ok, struct str text)
{
    t->passed += ok;
    t->failed += !ok;
    if (args_flag(t->args, "json")) {
        json_auto_t *line = json_object();
        json_t *differences = json_stringn(text.ptr, text.len);

        (void)json_object_set_new(line, "name", json_stringn(c->name.ptr, c->name.len));
        (void)json_object_set_new(line, "passed", json_boolean(ok));
        (void)json_object_set_new(line, "differences",
                                  differences != NULL ? differences : json_null());
        print_json(line);
    } else if (!ok) {
        (void)printf("%.*s failed\n%.*s", STR_ARG(c->name), STR_ARG(text));
    }
}

static bool write_outs(struct testing *t, struct test_case *c, const struct trial_way *w,
                       struct err *err)
{
    for (size_t i = 0; i < w->delivery_count; i++) {
        const char *file = test_case_out_file(c, i, w->delivery_count);

        if (!publish_bytes(t->dirfd, file, w->deliveries[i].bytes, 0644, err))
            return false;
        (void)fprintf(stderr, "wrote %s\n", file);
    }
    for (size_t i = w->delivery_count; i < c->outs.count; i++)
        (void)fprintf(stderr, "%s is expected and did not come out: remove it if that is right\n",
                      c->outs.list[i].file);
    return true;
}

static bool play_case(struct testing *t, struct test_case *c, struct buf *text, struct err *err)
{
    struct plan *plan = t->scratch.plan;
    struct foretold foretold;
    struct trial_document d;
    struct trial_way way = { 0 };

    if (!describe_case(plan, c, &d, err) || !answers_of_case(c, &foretold, err))
        return false;
    d.foretold = &foretold;
    bool ok = trial_walk(workbench_road(t->scratch.bench), plan, &d, &way, err);

    if (ok && args_flag(t->args, "write"))
        ok = write_outs(t, c, &way, err);
    else
        ok = ok && test_compare(c, &way, foretold.asked, text);
    trial_way_done(&way);
    return ok;
}

static void run_case(struct testing *t, const char *file)
{
    AUTO(buf_done) struct buf text = BUF_INIT(2 * TEST_TEXT_MOST);
    struct test_case c;
    struct err err = { 0 };
    bool ok = test_case_read(&c, t->dirfd, &t->names, file, &err);

    for (size_t i = 0; ok && i < c.problems.count; i++) {
        const struct problem *p = &c.problems.items[i];

        buf_printf(&text, "  %s:%u:%u: %.300s%s%.300s\n", c.facts_file, p->place.line,
                   p->place.column, p->message, p->hint != NULL ? "; " : "",
                   p->hint != NULL ? p->hint : "");
    }
    ok = ok && c.problems.count == 0 && play_case(t, &c, &text, &err);
    if (err.kind != ERR_NONE)
        buf_printf(&text, "  %s\n", err.text);
    tell_case(t, &c, ok, buf_view(&text));
    test_case_done(&c);
}

/* ---- all of them ---- */

/* The store and what is in it, then the configuration. */
static int open_scratch(struct testing *t)
{
    const char *dir = t->args->operand[0], *file = args_text(t->args, "c");
    char config[PATH_ROOM], secrets[PATH_ROOM], records[PATH_ROOM];
    int code;

    if (snprintf(config, sizeof config, "%s/waybill.yaml", dir) >= (int)sizeof config ||
        snprintf(secrets, sizeof secrets, "%s/secrets", dir) >= (int)sizeof secrets ||
        snprintf(records, sizeof records, "%s/records", dir) >= (int)sizeof records)
        return print_fail(EXIT_IO, "%s: %s", dir, strerror(ENAMETOOLONG));
    if ((code = scratch_open(&t->scratch)) == EXIT_DONE &&
        (code = scratch_secrets(&t->scratch, secrets, false)) == EXIT_DONE &&
        (code = scratch_records(&t->scratch, records, false)) == EXIT_DONE)
        code = scratch_plan(&t->scratch, file != NULL ? file : config, (struct str){ 0 });
    return code;
}

static int sum_up(const struct testing *t)
{
    if (t->passed + t->failed == 0)
        return print_fail(EXIT_NO, "%s has no case: no file NAME.in.EXT", t->args->operand[0]);
    if (args_flag(t->args, "json"))
        return t->failed == 0 ? EXIT_DONE : EXIT_NO;
    if (args_flag(t->args, "write") && t->failed == 0)
        (void)printf("%zu written\n", t->passed);
    else if (t->failed == 0)
        (void)printf("%zu passed\n", t->passed);
    else
        (void)printf("%zu passed, %zu failed\n", t->passed, t->failed);
    return t->failed == 0 ? EXIT_DONE : EXIT_NO;
}

static int run_cases(struct testing *t)
{
    const char *dir = t->args->operand[0];
    struct str name;
    struct err err = { 0 };

    t->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->dirfd < 0)
        return print_fail(EXIT_IO, "%s: %s", dir, strerror(errno));
    if (!test_names_read(dir, &t->names, &err))
        return print_fail(EXIT_IO, "%s", err.text);
    int code = open_scratch(t);

    if (code != EXIT_DONE)
        return code;
    for (size_t i = 0; i < t->names.count; i++)
        if (test_case_is(t->names.list[i], &name))
            run_case(t, t->names.list[i]);
    return sum_up(t);
}

static int run_test(const struct args *a)
{
    struct testing t = { .args = a, .dirfd = -1 };
    int code = run_cases(&t);

    scratch_close(&t.scratch);
    test_names_done(&t.names);
    if (t.dirfd >= 0)
        (void)close(t.dirfd);
    return code;
}

static const struct arg_option test_options[] = {
    { .name = "c",
      .kind = ARG_TEXT,
      .value = "FILE",
      .help = "the configuration; without it waybill.yaml in DIR" },
    { .name = "write",
      .kind = ARG_FLAG,
      .help = "write what comes out to the files that are expected" },
    { 0 },
};

const struct verb cmd_test = {
    .name = "test",
    .summary = "run files through a configuration's routes and compare",
    .about = "No node is needed, nothing is stored or sent.  Each file NAME.in.EXT in DIR is\n"
             "extracted, routed and processed, and so are the parts and copies that are made of\n"
             "it.  What would be delivered is compared with NAME.out.EXT, or of several\n"
             "deliveries with NAME.out.1.EXT, NAME.out.2.EXT and so on; facts of the document\n"
             "with NAME.facts.yaml, which also says how it comes in (gateway, name, headers).\n"
             "\n"
             "Files in DIR/secrets are the secrets: name and value.  DIR/records/SET.csv is a\n"
             "reference table, DIR/records/SET/KEY.json a record that a step `store` has kept.\n"
             "Services are not asked: NAME.answer.EXT, or NAME.answer.1.EXT and so on, is what\n"
             "they answer to `call` and `enrich`.\n"
             "\n"
             "Prints the number that passed, and of others what differs; then the exit status\n"
             "is 1.\n",
    .example = "waybill test examples/hl7-to-json\n"
               "waybill test tests -c waybill.yaml\n"
               "waybill test tests -c waybill.yaml --write\n",
    .forms = (const struct arg_form[]){ { .usage = "DIR [-c FILE] [--write]",
                                          .summary = "run the cases in DIR",
                                          .least = 1,
                                          .most = 1,
                                          .options = test_options,
                                          .common = FORM_JSON,
                                          .run = run_test },
                                        { 0 } },
};
