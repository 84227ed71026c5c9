#include "admin/api/scope.h"

#include "admin/api/parts.h"
#include "base/auto.h"
#include "engine/engine.h"
#include "store/store.h"

enum { DOCUMENT_ARENA = 64 << 20 };

static bool principal_sees(const struct principal *p, enum right right, int64_t sender,
                           int64_t receiver)
{
    struct store *s = engine_store(p->engine);

    if (rights_everywhere(&p->rights, right) && rights_everywhere(&p->rights, RIGHT_SEE))
        return true;
    struct str from = sender != 0 ? name_text(s, sender) : STR("");
    struct str to = receiver != 0 ? name_text(s, receiver) : STR("");

    return rights_cover(&p->rights, right, from, to) &&
           rights_cover(&p->rights, RIGHT_SEE, from, to);
}

bool principal_sees_document(const struct principal *p, enum right right, const struct document *d)
{
    return principal_sees(p, right, d->sender, d->receiver);
}

bool principal_edits(const void *principal, int64_t sender, int64_t receiver)
{
    return principal_sees(principal, RIGHT_EDIT, sender, receiver);
}

bool principal_sends(const void *principal, int64_t sender)
{
    return principal_sees(principal, RIGHT_EDIT, sender, 0);
}

bool api_sees(const struct graphql_call *call, enum right right, int64_t sender, int64_t receiver)
{
    return principal_sees(api_principal(call), right, sender, receiver);
}

bool api_sees_system(const struct graphql_call *call, enum right right, struct str name)
{
    return rights_cover_system(&api_principal(call)->rights, right, name);
}

bool api_sees_all(const struct graphql_call *call, enum right right)
{
    const struct rights *r = &api_principal(call)->rights;

    return rights_everywhere(r, right) && rights_everywhere(r, RIGHT_SEE);
}

/* A system without a name id was never configured and has no documents, so it is left out. */
const struct document_scope *api_scope(const struct graphql_call *call, enum right right)
{
    const struct rights *r = &api_principal(call)->rights;
    struct document_scope *scope;
    int64_t *words;

    if (rights_everywhere(r, right))
        return NULL;
    scope = ARENA_NEW(call->arena, struct document_scope);
    words = ARENA_ARRAY(call->arena, int64_t, r->count);
    for (size_t i = 0; i < r->count; i++)
        if ((r->at[i].bits >> right & 1) != 0 &&
            name_find(api_store(call), NAME_SYSTEM, r->at[i].system, &words[scope->count]))
            scope->count++;
    scope->systems = words;
    return scope;
}

bool api_get_document(const struct graphql_call *call, enum right right, const struct id *id,
                      struct document *ret, bool *ret_found, struct err *err)
{
    *ret_found = document_get(api_store(call), id, call->arena, ret, err);
    if (!*ret_found)
        return err->kind == ERR_NONE;
    *ret_found = api_sees(call, right, ret->sender, ret->receiver);
    return true;
}

bool api_get_numbered(const struct graphql_call *call, enum right right, int64_t num,
                      struct document *ret, bool *ret_found, struct err *err)
{
    if (!document_numbered(api_store(call), num, call->arena, ret, ret_found, err))
        return false;
    *ret_found = *ret_found && api_sees(call, right, ret->sender, ret->receiver);
    return true;
}

bool api_is_there(const struct graphql_call *call, enum right right, const struct id *id, bool *ret,
                  struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(DOCUMENT_ARENA);
    struct document d;

    *ret = document_get(api_store(call), id, &a, &d, err);
    if (!*ret)
        return err->kind == ERR_NONE;
    *ret = api_sees(call, right, d.sender, d.receiver);
    return true;
}

bool api_hide_others(const struct graphql_call *call, const char *text, const char **ret,
                     struct err *err)
{
    const size_t len = ID_TEXT - 1;
    struct str all = str_of(text);

    *ret = text;
    for (size_t i = 0; i + len <= all.len; i++) {
        bool there = true;
        struct id id;

        if (!id_parse(str_mem(all.ptr + i, len), &id))
            continue;
        if (!api_is_there(call, RIGHT_SEE, &id, &there, err))
            return false;
        if (!there) {
            *ret = "about a document that is not in scope";
            return true;
        }
    }
    return true;
}
