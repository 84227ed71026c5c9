#include "job/depositing.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/digest.h"
#include "base/metrics.h"
#include "core/config.h"
#include "engine/engine.h"
#include "engine/intake/deposit.h"
#include "engine/intake/intake.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/run/birth.h"
#include "job/ports.h"
#include "job/words.h"
#include "store/store.h"

enum { DEPOSITING_ARENA = WORDS_MOST + (64 << 10) /* of one try: its name, and its key */ };

static const char *depositing_closed(void *arg)
{
    return intake_closed_why(engine_intake(arg));
}

static bool depositing_hold(void *arg, struct err *err)
{
    (void)arg, (void)err; /* a job has no turn at the gateway */
    return true;
}

/* False: the version in force does not have the gateway. */
static bool depositing_find(const struct job_io *io, const struct job_document *doc,
                            const struct plan *p, struct depositor *ret)
{
    static struct metric accepted, repeated; /* runs are counted by kind (counts.c) */
    const struct config_gateway *g = config_gateway_find(p->config, doc->gateway);
    struct road *road = engine_road(io->ports->engine);
    bool waits = doc->given && road_is_busy(road); /* in the store */

    *ret = (struct depositor){ .store = io->ports->store,
                               .road = waits ? NULL : road,
                               .config = p->version,
                               .accepted = &accepted,
                               .repeated = &repeated,
                               .call = io->call,
                               .closed = doc->given ? NULL : depositing_closed,
                               .hold = depositing_hold,
                               .arg = io->ports->engine };
    if (g == NULL || !name_find(io->ports->store, NAME_GATEWAY, doc->gateway, &ret->word))
        return false;
    ret->gateway = g->name;
    ret->size_most = (int64_t)g->size_bytes;
    return true;
}

static struct str depositing_key(const struct job_io *io, const struct job_document *doc)
{
    char hex[SHA256_TEXT];
    const char *digest = "";
    struct sha256 whole;

    if (doc->others) {
        whole = digest_of(doc->bytes);
        digest = digest_text(&whole, hex);
    }
    return str_of(arena_printf(io->arena, "job %.*s%s%s", STR_ARG(job_key(io)),
                               doc->others ? " " : "", digest));
}

static bool depositing_name(const struct job_io *io, const struct job_document *doc,
                            struct str *ret, struct err *err)
{
    return words_fill(io, doc->name, io->arena, ret) ||
           err_set(err, ERR_PERMANENT, 0, "its name is larger than %d bytes", WORDS_MOST);
}

static bool depositing_put(const struct job_io *io, struct depositor *o,
                           const struct job_document *doc, struct id *ret_id, bool *ret_repeated,
                           struct err *err)
{
    struct str name, key = depositing_key(io, doc);
    struct deposit *d = NULL;

    if (!depositing_name(io, doc, &name, err) ||
        !deposit_port.open(o, name, doc->ctype.ptr != NULL ? doc->ctype : STR(""), &d, err))
        return false;
    if (!deposit_port.put(d, doc->bytes, err)) {
        deposit_port.abandon(d);
        return false;
    }
    return deposit_port.commit(d, key, ret_id, ret_repeated, err);
}

/* NULL with *err; the plan is to be released. */
static struct plan *depositing_way(const struct job_io *io, const struct job_document *d,
                                   struct depositor *ret, struct err *err)
{
    struct plan *p = road_plan(engine_road(io->ports->engine));

    if (p != NULL && depositing_find(io, d, p, ret))
        return p;
    if (p != NULL)
        plan_unref(p);
    (void)err_set(err, ERR_TRANSIENT, 0, "there is no gateway %.*s now", STR_ARG(d->gateway));
    return NULL;
}

/* A run may try so often that its own arena would not do (call_job.c). */
static struct job_io depositing_once(const struct job_io *io, struct arena *a)
{
    struct job_io once = *io;

    once.arena = a;
    return once;
}

bool job_may_deposit(const struct job_io *io, const struct job_document *d, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(DEPOSITING_ARENA);
    const struct job_io once = depositing_once(io, &arena);
    struct depositor o;
    struct plan *p = depositing_way(&once, d, &o, err);
    struct deposit *opened = NULL;
    struct str name;
    bool ok = p != NULL && depositing_name(&once, d, &name, err) &&
              deposit_port.open(&o, name, STR(""), &opened, err);

    if (ok)
        deposit_port.abandon(opened);
    if (p != NULL)
        plan_unref(p);
    return ok;
}

bool job_deposit(const struct job_io *io, const struct job_document *d, struct id *ret_id,
                 enum job_deposited *ret, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(DEPOSITING_ARENA);
    const struct job_io once = depositing_once(io, &arena);
    struct depositor o;
    struct plan *p = depositing_way(&once, d, &o, err);
    bool repeated = false, ok = p != NULL && depositing_put(&once, &o, d, ret_id, &repeated, err);

    if (p != NULL)
        plan_unref(p);
    *ret = repeated ? JOB_DEPOSITED_BEFORE : JOB_DEPOSITED;
    if (ok || err->kind != ERR_PERMANENT || err->sys != DEPOSIT_DIFFERS)
        return ok;
    *err = (struct err){ 0 };
    *ret = JOB_DEPOSITED_OTHER;
    return true;
}

void job_say_deposited(struct job_result *to, const struct id *id, enum job_deposited how)
{
    static const char *const words[] = {
        [JOB_DEPOSITED] = "",
        [JOB_DEPOSITED_BEFORE] = ", which an earlier run for this time has sent",
        [JOB_DEPOSITED_OTHER] = ", which an earlier run for this time has sent, with other bytes "
                                "than those of this one"
    };
    char text[ID_TEXT];

    (void)snprintf(to->message, sizeof to->message, "document %s%s", id_text(id, text), words[how]);
}
