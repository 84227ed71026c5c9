/* walk_scene.h - a road with services of its own, and flights to walk on it.
 *
 * Its services: bang (run: puts "!" behind), wide (stream: its bytes a hundred times), copy
 * (stream: as they are), none (stream: no result), say (stream: as they are, and a line in the
 * timeline), caged (in a process: by the function that scene_open_with() is given),
 * cut (stream: each line is a part), and the services `call` and `enrich`.
 */
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/require.h"
#include "cage/cage.h"
#include "core/grammar.h"
#include "engine/dispatch/govern.h"
#include "engine/flight/bytes.h"
#include "engine/flight/flight.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/road/state.h"
#include "engine/run/life.h"
#include "engine/run/sender.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/ways.h"
#include "engine/threads/crew.h"
#include "engine/threads/pool.h"
#include "engine/walk/step.h"
#include "engine/walk/walk.h"
#include "folder.h"
#include "store/open.h"
#include "store/payload/payload.h"
#include "store/store.h"
#include "test.h"

enum { WIDE = 100 };

/* How often each has begun, and the largest piece that a stream was given. */
static _Atomic int bangs, wides;
static _Atomic size_t largest_piece;

/* ---- services ---- */

static bool scene_make(const struct settings *s, void **ret_self, struct err *err)
{
    static char self;

    (void)s, (void)err;
    *ret_self = &self;
    return true;
}

static bool bang_run(void *self, struct str in, const struct service_document *d, struct buf *out,
                     struct service_failure *ret_failure)
{
    (void)self, (void)d, (void)ret_failure;
    bangs++;
    buf_put(out, in);
    buf_putc(out, '!');
    return true;
}

static bool copy_once(struct service_io *io, struct service_failure *ret_failure)
{
    struct str piece;

    do {
        if (!io->next(io, &piece, ret_failure) || !io->put(io, piece, ret_failure))
            return false;
        if (piece.len > largest_piece)
            largest_piece = piece.len;
    } while (piece.len > 0);
    return true;
}

static bool copy_stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    (void)self;
    return copy_once(io, ret_failure);
}

static bool wide_stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    (void)self;
    wides++;
    for (int i = 0; i < WIDE; i++)
        if (!io->rewind(io, ret_failure) || !copy_once(io, ret_failure))
            return false;
    return true;
}

static bool none_stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    (void)self;
    return io->none(io, ret_failure);
}

static bool say_stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    (void)self;
    io->note(io, STR("looked at it"));
    return copy_once(io, ret_failure);
}

static int cut_fails_at; /* the part at which `cut` fails; 0: none */

static bool cut_stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct service_part head = { 0 };
    struct str piece, line;
    bool begins = true;
    int parts = 0;

    (void)self;
    for (;;) {
        if (!io->next(io, &piece, ret_failure))
            return false;
        if (piece.len == 0)
            return true;
        while (piece.len > 0) {
            bool ends = str_find(piece, '\n') >= 0;

            piece = str_cut(piece, '\n', &line);
            if (begins && ++parts == cut_fails_at)
                return service_fail(ret_failure, DEAD_SERVICE_FAILED, "a bad line");
            if ((begins && !io->part(io, &head, ret_failure)) || !io->put(io, line, ret_failure))
                return false;
            begins = ends;
        }
    }
}

static const struct option no_options[] = { OPTION("x", OPT_TEXT, "nothing"),
                                            OPTIONS(grammar_limits),
                                            { 0 } };

#define SCENE_SERVICE(word, ...)                                                            \
    {                                                                                       \
        .kind = { .name = word, .help = "a test", .keys = no_options }, .make = scene_make, \
        __VA_ARGS__                                                                         \
    }
static const struct service_type scene_bang = SCENE_SERVICE("bang", .run = bang_run);
static const struct service_type scene_wide = SCENE_SERVICE("wide", .stream = wide_stream);
static const struct service_type scene_copy = SCENE_SERVICE("copy", .stream = copy_stream);
static const struct service_type scene_none = SCENE_SERVICE("none", .stream = none_stream);
static const struct service_type scene_say = SCENE_SERVICE("say", .stream = say_stream);
static const struct service_type scene_caged =
    SCENE_SERVICE("caged", .caged = true, .stream = copy_stream);
static const struct service_type scene_cut = SCENE_SERVICE("cut", .stream = cut_stream);
static const struct service_type *const scene_services[] = {
    &scene_bang,  &scene_wide, &scene_copy,   &scene_none,     &scene_say,
    &scene_caged, &scene_cut,  &service_call, &service_enrich, NULL
};

/* ---- a road ---- */

struct scene {
    struct folder folder;
    struct store *store;
    struct govern *govern;
    struct mishaps *mishaps;
    struct ways *ways;
    struct pool *pool;
    struct crew *senders;
    struct road *road;
    struct plan *plan;
};

/* The plan of one route with these steps: "{ bang: {} }, ...". */
static void scene_plan(struct scene *s, const char *steps)
{
    const struct connectors connectors = { registry.gateways, scene_services, registry.endpoints };
    const struct config_options options = { .connectors = &connectors };
    struct config_report report = CONFIG_REPORT_INIT;
    struct buf text = BUF_INIT(1 << 16);
    struct err err = { 0 };

    buf_printf(&text,
               "systems: { hub: {}, north: {}, south: {} }\ntypes: { note: {}, other: {} }\n"
               "subscriptions: { all: { to: [ south, north ] }, notes: { to: [ north, hub ],"
               " when: { type: note } }, others: { to: south, when: { type: other } } }\n"
               "gateways:\n  in: { kind: http, auth: none, limits: { size: 80MiB },\n"
               "        extract: { receiver: \"value:hub\", type: \"value:note\" } }\n"
               "endpoints:\n  out: { kind: http, url: \"http://127.0.0.1:9/\", system: hub }\n"
               "routes:\n  - { name: notes, when: { type: note }, do: [ %s ] }\n"
               "  - { name: others, when: { type: other }, do: [ { bang: {} }, { copy: {} },"
               " { route: { type: \"value:note\" } } ] }\n",
               steps);
    struct config *c = config_load(buf_view(&text), "test", &options, &report);

    if (c == NULL && report.problems.count > 0)
        (void)fprintf(stderr, "%s\n", report.problems.items[0].message);
    require(c != NULL && plan_build(c, 1, &connectors, s->store, NULL, &s->plan, &err));
    require(s->plan->routes[0].broken == NULL);
    config_unref(c);
    config_report_done(&report);
    buf_done(&text);
}

static struct scene scene_open_with(const char *steps,
                                    void (*play)(struct cage *c, struct cage_job *jobs,
                                                 size_t count))
{
    struct scene s = { .folder = folder_make(),
                       .govern = govern_new(),
                       .mishaps = mishaps_new(),
                       .ways = ways_new(),
                       .pool = pool_new(2),
                       .senders = crew_new("sender", SENDERS, SENDERS_LOST_MOST) };
    struct err err = { 0 };

    require(store_open(&(struct store_options){ .data = s.folder.path, .area = "internal" },
                       &s.store, &err));
    require(road_start(&(struct road_options){ .store = s.store,
                                               .pool = s.pool,
                                               .senders = s.senders,
                                               .govern = s.govern,
                                               .mishaps = s.mishaps,
                                               .ways = s.ways,
                                               .cage_run = play,
                                               .workers = 1,
                                               .bytes_most = 1 << 20 },
                       &s.road, &err));
    scene_plan(&s, steps);
    bangs = wides = 0;
    largest_piece = 0;
    return s;
}

__attribute__((unused)) static struct scene scene_open(const char *steps)
{
    return scene_open_with(steps, NULL);
}

static void scene_close(struct scene *s)
{
    plan_unref(s->plan);
    road_rest(s->road);
    road_stop(s->road);
    require(crew_free(s->senders) == 0);
    pool_free(s->pool);
    road_drain(s->road);
    road_free(s->road);
    govern_free(s->govern);
    mishaps_free(s->mishaps);
    ways_free(s->ways);
    store_close(s->store);
    folder_done(&s->folder);
}

/* ---- flights ---- */

/* The bytes 0, 1, 2 .. of a document that does not fit into a segment. */
static void scene_upload(struct scene *s, struct flight *f, int64_t size)
{
    char *bytes = malloc((size_t)size);
    struct upload *u;
    struct err err = { 0 };

    for (int64_t i = 0; i < size; i++)
        bytes[i] = (char)(i % 251);
    struct str body = str_mem(bytes, (size_t)size);

    f->source.size = size;
    f->source.sha256 = digest_of(body);
    require(upload_open(s->store, &u, &err) && upload_add(u, body, &err) &&
            upload_finish(u, &f->source.place, &err));
    upload_close(u);
    free(bytes);
}

/* A flight that has not begun its walk: `body`, or `size` bytes in the store. */
static struct flight *scene_flight(struct scene *s, const char *body, int64_t size)
{
    struct flight *f = flight_new(road_stock(s->road));
    struct err err = { 0 };

    f->plan = plan_ref(s->plan);
    f->config = 1;
    f->gateway = s->plan->gateways[0].word;
    f->received_us = clock_wall_us();
    f->source.id.bytes[15] = 7;
    f->settle.task = (struct task){ .id = 1, .kind = 1, .attempts = 1 };
    (void)id_text(&f->source.id, f->id);
    if (body != NULL) {
        f->source.size = (int64_t)strlen(body);
        require(buf_append(&f->received.buf, str_of(body), &err));
    } else {
        scene_upload(s, f, size);
    }
    f->received.source = f->source;
    return f;
}

/* The bytes that a delivery would send. */
__attribute__((unused)) static struct str scene_sent(struct flight *f, size_t leg)
{
    struct err err = { 0 };

    require(leg < f->leg_count && variant_load(f, f->legs[leg]->variant, &err));
    return buf_view(&f->legs[leg]->variant->buf);
}

static bool scene_says(const struct flight *f, const char *words)
{
    return memmem(f->timeline.ptr, f->timeline.len, words, strlen(words)) != NULL;
}

static void scene_end(struct flight *f)
{
    variants_drop_uploads(f);
    flight_free(f);
}
