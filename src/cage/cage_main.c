/* cage_main.c - a process of a cage: reads its recipe, makes its step, locks itself up, serves.
 *
 * A mould does not serve: it starts copies of itself, which lock themselves up and serve.  It never
 * sees a byte of a document. */
#include "cage/cage_main.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/confine.h"
#include "cage/inside.h"
#include "cage/keeper.h"
#include "cage/keeper_main.h"
#include "cage/keeper_word.h"
#include "cage/lock.h"
#include "cage/process.h"
#include "core/yaml.h"

bool cage_main_is(int argc, char **argv)
{
    return argc >= 3 && str_is(str_of(argv[1]), KEEPER_VERB) &&
           (str_is(str_of(argv[2]), KEEPER_KEEP) ||
            (argc == 3 && str_is(str_of(argv[2]), KEEPER_SERVE)));
}

/* What came with the start; it lives as long as the process. */
struct recipe {
    struct str service;
    struct buf options;
    struct arena arena;
};

static bool take_recipe(struct inside *s, struct recipe *ret, struct err *err)
{
    struct frame f = inside_take(s);

    if (f.kind != FRAME_SETUP || f.body.len < sizeof s->limits)
        return err_set(err, ERR_PERMANENT, 0, "no setup came");
    memcpy(&s->limits, f.body.ptr, sizeof s->limits);
    ret->service = arena_copy(&ret->arena, str_from(f.body, sizeof s->limits));
    do {
        f = inside_take(s);
        if (f.kind != FRAME_RECIPE)
            return err_set(err, ERR_PERMANENT, 0, "no recipe came");
        if (!buf_append(&ret->options, f.body, err))
            return err_set(err, ERR_CONFIG, 0, "the options of the step have more than %d bytes",
                           YAML_BYTES);
    } while (!f.last);
    return true;
}

static bool make_step(const struct connectors *connectors, struct recipe *r,
                      const struct service_type **ret, void **ret_self, struct err *err)
{
    const struct service_type *t = connector_service(connectors, r->service);
    struct settings s;

    if (t == NULL)
        return err_set(err, ERR_CONFIG, 0, "this build has no step `%.*s`", STR_ARG(r->service));
    *ret = t;
    return settings_of_json(buf_view(&r->options), t->kind.keys, &r->arena, &s, err) &&
           t->make(&s, ret_self, err);
}

/* The name that tools show, such as `cage lua`. */
static void name_process(const char *kind, struct str service)
{
    char name[16];

    (void)snprintf(name, sizeof name, "%s %.*s", kind, STR_ARG(service));
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

static int refuse(struct inside *s, const struct err *err)
{
    /* A mistake in the configuration is told from a trouble of this machine by the flag. */
    frame_put(&s->out, FRAME_REFUSED, err->kind == ERR_CONFIG, str_of(err->text));
    inside_flush(s);
    return 1;
}

static struct progress *take_page(void)
{
    void *page = mmap(NULL, PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, KEEPER_PAGE, 0);

    (void)close(KEEPER_PAGE);
    return page == MAP_FAILED ? NULL : page;
}

/* ---- a step that is made ---- */

struct made {
    struct inside s;
    struct str service;
    const struct service_type *type;
    void *self;
};

static int serve_made(struct made *m)
{
    struct err err = { 0 };

    if (!lock_up(KEEPER_SOCKET, &m->s.limits, &err))
        return refuse(&m->s, &err);
    frame_put(&m->s.out, FRAME_READY, false, STR(""));
    inside_flush(&m->s);
    inside_serve(&m->s, m->type, m->self);
}

_Noreturn static void become_copy(void *arg, enum keeper_task task)
{
    struct made *m = arg;
    struct progress *page = take_page();

    (void)task;
    if (page == NULL)
        _exit(1);
    inside_move(&m->s, KEEPER_SOCKET, page);
    name_process("cage", m->service);
    _exit(serve_made(m));
}

static int serve_as_mould(struct made *m)
{
    const struct keeper_calls calls = { .become = become_copy,
                                        .arg = m,
                                        .idle_ms = PROCESS_IDLE_US / CLOCK_MS };
    struct err err;

    (void)munmap(m->s.progress, PROGRESS_BYTES); /* that of a copy is its own */
    m->s.progress = NULL;
#if !KEEPER_SANITIZED
    (void)confine_calls(&err); /* nothing is executed any more */
#else
    (void)err;
#endif
    name_process("mould", m->service);
    frame_put(&m->s.out, FRAME_READY, true, STR(""));
    inside_flush(&m->s);
    return keeper_loop(&calls);
}

static int serve_cage(const struct connectors *connectors)
{
    static struct recipe r = { .options = BUF_INIT(YAML_BYTES), .arena = ARENA_INIT(YAML_ARENA) };
    struct progress *page = take_page();
    static struct made m;
    struct err err = { 0 };

    if (page == NULL)
        return 1;
    (void)umask(077);
    inside_init(&m.s, KEEPER_SOCKET, page);
    if (!confine_process(&err) || !take_recipe(&m.s, &r, &err))
        return refuse(&m.s, &err);
    m.service = r.service;
    name_process("cage", m.service);
    if (!make_step(connectors, &r, &m.type, &m.self, &err))
        return refuse(&m.s, &err);
    return m.s.limits.mould != 0 && m.type->copied ? serve_as_mould(&m) : serve_made(&m);
}

int cage_main(int argc, char **argv, const struct connectors *connectors)
{
    return str_is(str_of(argv[2]), KEEPER_KEEP) ? keeper_main(argv + 3, (size_t)argc - 3)
                                                : serve_cage(connectors);
}
