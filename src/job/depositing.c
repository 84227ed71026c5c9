#include "job/depositing.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/metrics.h"
#include "core/config.h"
#include "engine/engine.h"
#include "engine/intake/deposit.h"
#include "engine/intake/intake.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "job/ports.h"
#include "job/words.h"
#include "store/store.h"

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
static bool depositing_way(const struct job_io *io, struct str gateway, const struct plan *p,
                           struct depositor *ret)
{
    static struct metric accepted, repeated; /* runs are counted by kind (counts.c) */
    const struct config_gateway *g = config_gateway_find(p->config, gateway);

    *ret = (struct depositor){ .store = io->ports->store,
                               .road = engine_road(io->ports->engine),
                               .config = p->version,
                               .accepted = &accepted,
                               .repeated = &repeated,
                               .call = io->call,
                               .closed = depositing_closed,
                               .hold = depositing_hold,
                               .arg = io->ports->engine };
    if (g == NULL || !name_find(io->ports->store, NAME_GATEWAY, gateway, &ret->word))
        return false;
    ret->gateway = g->name;
    ret->size_most = (int64_t)g->size_bytes;
    return true;
}

static struct str depositing_key(const struct job_io *io, const struct job_document *doc)
{
    char nominal[CLOCK_TEXT], hex[SHA256_TEXT];
    const char *digest = "";
    struct sha256 whole;

    if (doc->others) {
        whole = digest_of(doc->bytes);
        digest = digest_text(&whole, hex);
    }
    return str_of(arena_printf(io->arena, "job %.*s %s%s%s", STR_ARG(io->job),
                               clock_utc_text(io->nominal_us, nominal), doc->others ? " " : "",
                               digest));
}

static bool depositing_put(const struct job_io *io, struct depositor *o,
                           const struct job_document *doc, struct id *ret_id, bool *ret_repeated,
                           struct err *err)
{
    struct str name, key = depositing_key(io, doc);
    struct deposit *d = NULL;

    if (!words_fill(io, doc->name, io->arena, &name))
        return err_set(err, ERR_LIMIT, 0, "its name is larger than %d bytes", WORDS_MOST);
    if (!deposit_port.open(o, name, doc->ctype.ptr != NULL ? doc->ctype : STR(""), &d, err))
        return false;
    if (!deposit_port.put(d, doc->bytes, err)) {
        deposit_port.abandon(d);
        return false;
    }
    return deposit_port.commit(d, key, ret_id, ret_repeated, err);
}

bool job_deposit(const struct job_io *io, const struct job_document *d, struct id *ret_id,
                 bool *ret_repeated, struct err *err)
{
    struct plan *p = road_plan(engine_road(io->ports->engine));
    struct depositor o;
    bool ok =
        p != NULL &&
        (depositing_way(io, d->gateway, p, &o) ||
         err_set(err, ERR_TRANSIENT, 0, "there is no gateway %.*s now", STR_ARG(d->gateway))) &&
        depositing_put(io, &o, d, ret_id, ret_repeated, err);

    if (p != NULL)
        plan_unref(p);
    return ok;
}
