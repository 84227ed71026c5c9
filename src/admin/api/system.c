/* system.c - the systems of the live configuration: systems, and the fields of a system. */
#include "admin/api/system.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "core/window.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "store/store.h"

enum { TEXT_MOST = 4096 };

/* ---- what the configuration says ---- */

/* The value of a key as written, or its default; `keys` is a table of the grammar. */
static struct str api_system_said(const struct option *keys, const struct yaml_node *map,
                                  const char *key)
{
    const struct yaml_node *node = yaml_get(map, key);
    const struct option *o = option_find(keys, str_of(key));

    if (node != NULL && !yaml_is_null(node))
        return yaml_text(node);
    return o != NULL && o->fallback != NULL ? str_of(o->fallback) : STR("");
}

/* Appends, unless the buffer is full. */
static void api_system_put(struct buf *text, const char *before, struct str s)
{
    size_t need = strlen(before) + s.len;

    if (need <= text->cap - text->len)
        buf_printf(text, "%s%.*s", before, STR_ARG(s));
}

/* A window as text, such as "mon-fri 08:00-18:00 Europe/Berlin, not on holidays". */
static struct str window_text(struct arena *a, const struct option *keys,
                              const struct yaml_node *map)
{
    AUTO(buf_done) struct buf text = BUF_INIT(TEXT_MOST);
    static const char *const names[] = { "days", "holidays" };

    for (size_t i = 0; i < 2; i++) {
        const struct yaml_node *n = yaml_get(map, names[i]);
        bool list = n != NULL && n->kind == YAML_LIST;
        const char *before = i == 0 ? "" : ", not on ";

        if (!list && api_system_said(keys, map, names[i]).len > 0)
            api_system_put(&text, before, api_system_said(keys, map, names[i]));
        for (n = list ? n->first : NULL; n != NULL; n = n->next, before = ",")
            api_system_put(&text, before, n->text);
        if (i == 0) {
            api_system_put(&text, " ", api_system_said(keys, map, "open"));
            api_system_put(&text, "-", api_system_said(keys, map, "close"));
            api_system_put(&text, " ", api_system_said(keys, map, "zone"));
        }
    }
    return arena_copy(a, buf_view(&text));
}

static void read_windows(struct arena *a, const struct yaml_node *node, struct shown_system *v)
{
    const struct option *keys = option_find(grammar_system, STR("window"))->keys;
    bool list = node != NULL && node->kind == YAML_LIST;
    size_t most = list ? node->count : node != NULL;

    v->windows = ARENA_ARRAY(a, struct str, most + 1);
    for (const struct yaml_node *n = list ? node->first : node; n != NULL; n = n->next) {
        v->windows[v->window_count++] = window_text(a, keys, n);
        if (!list)
            return; /* a single value: `next` is another key */
    }
}

static void api_system_read_ids(struct arena *a, const struct yaml_node *node,
                                struct shown_system *v)
{
    v->ids = ARENA_ARRAY(a, struct str, (node != NULL ? node->count : 0) + 1);
    for (const struct yaml_node *n = node != NULL ? node->first : NULL; n != NULL; n = n->next)
        v->ids[v->id_count++] = arena_copy(a, n->text);
}

static void api_system_read_entry(struct graphql_call *call, const struct config_entry *c,
                                  const struct plan_system *p, struct shown_system *v)
{
    static const char *const orders[] = { "none", "receiver", "key" };
    static const char *const doubts[] = { "resend", "hold", "probe", "assume" };
    struct arena *a = call->arena;

    v->title = arena_copy(a, yaml_text(yaml_get(c->node, "title")));
    v->rate = arena_copy(a, yaml_text(yaml_get(yaml_get(c->node, "limits"), "rate")));
    v->line = c->place.line;
    v->concurrency = p->concurrency;
    v->order = orders[p->order];
    v->in_doubt = doubts[p->in_doubt];
    api_system_read_ids(a, yaml_get(c->node, "ids"), v);
    v->has_window = p->windows != NULL;
    if (!v->has_window)
        return;
    read_windows(a, yaml_get(c->node, "window"), v);
    v->is_open = window_set_open(p->windows, govern_time(engine_govern(api_engine(call))).early_us,
                                 &v->changes_us);
    if (p->windows->broken != NULL)
        v->broken = arena_copy(a, str_of(p->windows->broken));
}

void api_describe_system(struct graphql_call *call, struct shown_system *io)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));

    io->order = "none";
    io->in_doubt = "resend";
    for (size_t i = 0; i < plan->system_count; i++)
        if (plan->systems[i].word == io->word)
            api_system_read_entry(call, &plan->config->systems[i], &plan->systems[i], io);
    plan_unref(plan);
}

/* ---- the list ---- */

struct named {
    struct str name;
    int64_t word;
};

static int api_system_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* All systems that the principal may see, sorted by name. */
static size_t list_systems(struct graphql_call *call, struct named **ret)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    struct named *all = ARENA_ARRAY(call->arena, struct named, plan->system_count + 1);
    size_t n = 0;

    for (size_t i = 0; i < plan->system_count; i++)
        if (rights_cover_system(&api_principal(call)->rights, RIGHT_SEE, plan->systems[i].name))
            all[n++] = (struct named){ .name = arena_copy(call->arena, plan->systems[i].name),
                                       .word = plan->systems[i].word };
    plan_unref(plan);
    qsort(all, n, sizeof *all, api_system_by_name);
    *ret = all;
    return n;
}

static bool systems(struct graphql_call *call, struct err *err)
{
    struct api_page *page = ARENA_NEW(call->arena, struct api_page);
    struct str after = graphql_arg_text(call, "after");
    const struct api_holds *holds;
    struct named *all;
    size_t first, n, i = 0;

    if (!api_read_count(call, "first", API_PAGE_MOST, &first, err) ||
        !backlog_look(engine_backlog(api_engine(call)), err) || !api_read_holds(call, &holds, err))
        return false;
    n = list_systems(call, &all);
    while (i < n && after.len > 0 && str_cmp(all[i].name, after) <= 0)
        i++;
    for (; i < n && page->count < first; i++) {
        struct shown_system *v = ARENA_NEW(call->arena, struct shown_system);

        v->name = all[i].name;
        v->word = all[i].word;
        api_see_system(call, holds, v);
        api_describe_system(call, v);
        page->items[page->count++] = v;
    }
    if (i < n)
        page->next = all[i - 1].name;
    return graphql_set_object(call, page);
}

/* ---- fields ---- */

static bool system_limits(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_object(call, call->parent);
}

static bool system_window(struct graphql_call *call, struct err *err)
{
    const struct shown_system *v = call->parent;

    (void)err;
    return v->has_window ? graphql_set_object(call, v) : graphql_set_null(call);
}

static bool system_holds(struct graphql_call *call, struct err *err)
{
    const struct shown_system *v = call->parent;
    const void **list = ARENA_ARRAY(call->arena, const void *, v->holds->count + 1);
    size_t n = 0;

    (void)err;
    for (size_t i = 0; i < v->holds->count; i++)
        if (v->holds->list[i].system == v->word)
            list[n++] = api_show_hold(call, &v->holds->list[i]);
    return graphql_set_objects(call, list, n);
}

const struct graphql_resolver api_system[] = {
    { .field = "Query.systems", .fn = systems },
    { .field = "SystemPage.items", .fn = api_page_items },
    GRAPHQL_MEMBER("SystemPage.next", struct api_page, next),
    API_TEXT_AT("System.title", struct shown_system, title),
    GRAPHQL_LIST_OF("System.ids", struct shown_system, ids, id_count),
    { .field = "System.limits", .fn = system_limits },
    GRAPHQL_MEMBER("SystemLimits.concurrency", struct shown_system, concurrency),
    API_TEXT_AT("SystemLimits.rate", struct shown_system, rate),
    { .field = "System.window", .fn = system_window },
    GRAPHQL_LIST_OF("Window.texts", struct shown_system, windows, window_count),
    GRAPHQL_MEMBER("Window.open", struct shown_system, is_open),
    API_NUMBER_AT("Window.changes", struct shown_system, changes_us),
    API_TEXT_AT("Window.broken", struct shown_system, broken),
    GRAPHQL_MEMBER("System.order", struct shown_system, order),
    GRAPHQL_MEMBER("System.inDoubt", struct shown_system, in_doubt),
    { .field = "System.holds", .fn = system_holds },
    GRAPHQL_MEMBER("System.line", struct shown_system, line),
};
const size_t api_system_count = sizeof api_system / sizeof api_system[0];
