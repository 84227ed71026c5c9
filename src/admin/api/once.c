/* once.c - idempotent mutations: a mutation with a client id is run once; a repetition gets the
 * stored answer. */
#include "store/audit/once.h"
#include "admin/api/parts.h"
#include "admin/graphql/type.h"
#include "base/clock.h"
#include "store/people/secret.h"
#include "store/store.h"

/* After this, a started change without a recorded result is reported as "outcome unknown". */
#define UNDER_WAY_US (INT64_C(60) * CLOCK_S)

/* Answers of these fields contain a secret that is shown once, so they are not stored. */
static const char *const secretive[] = { "keyAdd", "adminKeyAdd", "userAdd", "userLink" };

static bool is_secretive(struct str field)
{
    for (size_t i = 0; i < sizeof secretive / sizeof secretive[0]; i++)
        if (str_is(field, secretive[i]))
            return true;
    return false;
}

/* Whether an argument is secret.  Then a keyed digest is stored: a plain one could be
 * brute-forced. */
static bool has_secret(const struct graphql_field *f)
{
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].is_secret)
            return true;
    return false;
}

/* Client ids belong to a principal.  The kind is part of the key, because a user may be named
 * "admin", as the token is. */
static struct once_id api_once_id_of(const struct graphql_call *call, struct str client)
{
    const struct principal *p = api_principal(call);

    return (struct once_id){ .who = str_of(arena_printf(call->arena, "%d %.*s", (int)p->kind,
                                                        STR_ARG(p->name))),
                             .client = client };
}

static bool api_once_tell_found(const struct once_found *f, struct err *err)
{
    switch (f->state) {
    case ONCE_NEW:
        return true;
    case ONCE_OTHER:
        return err_set(err, ERR_PERMANENT, 0,
                       "another question was asked under this client id: use a new one");
    case ONCE_BEGUN:
        if (f->age_us < UNDER_WAY_US)
            return err_set(err, ERR_TRANSIENT, 0,
                           "this is being done under the same client id: ask again in a moment");
        return err_set(err, ERR_UNCERTAIN, 0,
                       "this was begun under the same client id, and nobody knows how it ended: "
                       "see whether it was done, and use a new id if not");
    case ONCE_DONE:
        return f->answer.ptr != NULL ||
               err_set(err, ERR_PERMANENT, 0,
                       "this was done under the same client id, and its answer was not kept");
    }
    return true;
}

static bool begin(struct graphql_call *call, struct str client, const struct sha256 *question,
                  struct str *ret_answer, struct err *err)
{
    struct once_id id = api_once_id_of(call, client);
    struct sha256 kept = *question;
    struct once_found found;

    if (client.len > ONCE_CLIENT_MOST || !api_is_who(client))
        return err_set(err, ERR_LIMIT, 0, "client is one line of at most %d bytes",
                       ONCE_CLIENT_MOST);
    if (has_secret(call->field) && !secret_blind(api_store(call), &kept, err))
        return false;
    if (!once_begin(api_store(call), &id, &kept, call->arena, &found, err) ||
        !api_once_tell_found(&found, err))
        return false;
    *ret_answer = found.answer;
    return true;
}

/* If the result cannot be stored, the entry stays begun, and a repetition is answered with "outcome
 * unknown". */
static void end(struct graphql_call *call, struct str client, struct str field, bool done,
                struct str answer, const struct err *why)
{
    struct once_id id = api_once_id_of(call, client);
    struct err err = { 0 };

    if (is_secretive(field))
        answer = (struct str){ 0 };
    if (!done && why->kind == ERR_UNCERTAIN)
        return;
    if (done ? !once_end(api_store(call), &id, answer, &err)
             : !once_drop(api_store(call), &id, &err))
        store_trouble(api_store(call), "end of a change", &err);
}

const struct graphql_once api_once = { .begin = begin, .end = end };
