#include "admin/api/filter.h"

#include <stdlib.h>

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/document_view.h"
#include "engine/engine.h"
#include "engine/intake/intake.h"
#include "engine/intake/key_search.h"
#include "engine/manual.h"
#include "store/store.h"

enum { KEYED_MOST = 200 };

static const char *const texts[] = { "state", "gateway", "sender", "receiver", "type",
                                     "name",  "error",   "key",    "parent",   NULL };

static void read_party(struct store *s, const struct graphql_value *filter, const char *field,
                       enum name_kind kind, int64_t *ret_word, struct str *ret_name)
{
    const struct graphql_value *v = graphql_value_field(filter, field);

    if (v->kind == GRAPHQL_TEXT && !name_find(s, kind, v->text, ret_word))
        *ret_name = v->text;
}

static bool api_filter_read_state(struct str word, struct api_wanted *w, struct err *err)
{
    enum document_state is;

    if (!document_state_find(word, &is))
        return err_set(err, ERR_PERMANENT, 0, "there is no such state of documents");
    /* Held is derived, so these states cannot be told apart by the store. */
    if (is == DOCUMENT_HELD || is == DOCUMENT_ACTIVE || is == DOCUMENT_RETRYING) {
        w->state = is;
        w->f.live = true;
    }
    if (is != DOCUMENT_HELD && is != DOCUMENT_ACTIVE)
        w->f.state = word;
    return true;
}

static bool read_where(const struct graphql_value *v, struct document_filter *f, struct err *err)
{
    struct api_where where;

    _Static_assert((int)API_WHERE_MOST <= (int)DOCUMENT_WHERE_MOST, "all of them have room");
    if (!api_read_where(v, &where, err))
        return false;
    for (size_t i = 0; i < where.count; i++)
        f->where[f->where_count++] = where.list[i];
    return true;
}

static int api_filter_downwards(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

static bool api_filter_read_key(struct graphql_call *call, struct str key, struct api_wanted *w,
                                struct err *err)
{
    int64_t *nums = ARENA_ARRAY(call->arena, int64_t, KEYED_MOST);

    if (key.len > MANUAL_KEY_MOST) { /* no key is that long */
        w->nothing = true;
        return true;
    }
    struct intake_table *t = intake_port.table(engine_intake(api_engine(call)));
    bool ok =
        key_search(api_store(call), t, w->f.gateway, key, nums, KEYED_MOST, &w->f.num_count, err);

    intake_port.release(t);
    if (!ok)
        return false;
    qsort(nums, w->f.num_count, sizeof *nums, api_filter_downwards);
    w->f.nums = nums;
    w->nothing = w->nothing || w->f.num_count == 0;
    return true;
}

/* A parent out of scope has no children for the caller, as a parent that does not exist. */
static bool read_parent(struct graphql_call *call, enum right right, struct str text,
                        struct api_wanted *w, struct err *err)
{
    bool there = true;
    struct id id;

    if (!id_parse(text, &id)) {
        w->nothing = true;
        return true;
    }
    if (!api_sees_all(call, right) && !api_is_there(call, right, &id, &there, err))
        return false;
    w->f.parent = id_row(&id);
    w->nothing = w->nothing || !there;
    return true;
}

static bool read_sizes(const struct graphql_value *v, struct api_wanted *w, struct err *err)
{
    const struct graphql_value *most = graphql_value_field(v, "maxSize");

    w->f.size_least = graphql_value_field(v, "minSize")->number;
    if (w->f.size_least < 0 || most->number < 0)
        return err_set(err, ERR_PERMANENT, 0, "a size is not negative");
    if (most->kind != GRAPHQL_INT || most->number == INT64_MAX)
        return true;
    w->f.size_below = most->number + 1;
    w->nothing = w->nothing || w->f.size_least > most->number;
    return true;
}

bool api_read_filter(struct graphql_call *call, enum right right, struct api_wanted *ret,
                     struct err *err)
{
    const struct graphql_value *v = graphql_arg(call, "filter");
    const struct graphql_value *state = graphql_value_field(v, "state");
    const struct graphql_value *gateway = graphql_value_field(v, "gateway");
    const struct graphql_value *key = graphql_value_field(v, "key");
    const struct graphql_value *parent = graphql_value_field(v, "parent");
    struct store *s = api_store(call);
    struct document_filter *f = &ret->f;

    *ret = (struct api_wanted){ .state = DOCUMENT_STATES };
    f->name = graphql_value_field(v, "name")->text;
    f->error = graphql_value_field(v, "error")->text;
    f->since_us = graphql_value_field(v, "since")->number;
    f->until_us = graphql_value_field(v, "until")->number;
    ret->nothing =
        gateway->kind == GRAPHQL_TEXT && !name_find(s, NAME_GATEWAY, gateway->text, &f->gateway);
    f->scope = api_scope(call, right);
    ret->nothing = ret->nothing || (f->scope != NULL && f->scope->count == 0);
    read_party(s, v, "sender", NAME_SYSTEM, &f->sender, &f->sender_name);
    read_party(s, v, "receiver", NAME_SYSTEM, &f->receiver, &f->receiver_name);
    read_party(s, v, "type", NAME_TYPE, &f->type, &f->type_name);
    return api_refuse_empty(v, texts, err) &&
           (state->kind != GRAPHQL_TEXT || api_filter_read_state(state->text, ret, err)) &&
           (parent->kind != GRAPHQL_TEXT || read_parent(call, right, parent->text, ret, err)) &&
           read_sizes(v, ret, err) && read_where(graphql_value_field(v, "where"), f, err) &&
           (key->kind != GRAPHQL_TEXT || api_filter_read_key(call, key->text, ret, err));
}

bool api_fits(struct engine *e, const struct api_wanted *w, const struct document *d,
              struct arena *a, bool *ret, struct err *err)
{
    struct document_view v;

    *ret = true;
    if (!api_is_picky(w))
        return true;
    if (!document_view_make(e, d, true, a, &v, err))
        return false;
    *ret = (w->state == DOCUMENT_STATES || v.state == w->state) &&
           (w->states == 0 || (w->states >> v.state & 1) != 0);
    return true;
}
