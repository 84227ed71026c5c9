/* When the ledger may forget.  That of `after: keep` must not grow for ever, but a source that
 * still lies there must never be taken for a new one.  Its notes are swept only after a period of
 * FORGET_EVERY_US in which polls saw every source (poller.c, invariant 4).
 *
 * Why that is enough.  A connector may remember that a source is known for DEPOSIT_KNOWN_US, half
 * of FORGET_EVERY_US; then it asks the ledger again, which renews a note that is older than a day.
 * So after such a period the note of each source that still lies there is a day and some hours old
 * at most, and a limit of a week is safe.  A wall clock that is set forward, or a machine that
 * slept, would age all notes at once: if wall time runs ahead by an hour the period starts again.
 */
#include "engine/intake/polled.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/patient.h"
#include "core/call.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"
#include "core/line/line.h"
#include "engine/plan/folders.h"
#include "engine/tally/mishaps.h"
#include "engine/threads/lines.h"
#include "store/govern/failing.h"
#include "store/govern/ledger.h"
#include "store/people/secret.h"
#include "store/store.h"

enum { TRY_PATIENCE_US = 2 * CLOCK_S, ARENA_MOST = 1 << 20, DOUBLINGS_MOST = 8 };

#define BACK_OFF_MOST   (INT64_C(300) * CLOCK_S)
#define STEP_US         (INT64_C(3600) * CLOCK_S) /* tolerated step of the wall clock */
#define PATIENCE_US     (INT64_C(30) * CLOCK_S)   /* of a kind without `timeout` */
#define SPARE_US        (INT64_C(5) * CLOCK_S)    /* for one that keeps the time itself */
#define FORGET_EVERY_US (2 * DEPOSIT_KNOWN_US)
#define FORGET_AFTER_US (INT64_C(7) * 86400 * CLOCK_S)

const struct gateway_type *polled_type(const struct poller_options *o, const char *kind)
{
    const struct gateway_type *t = connector_gateway(o->connectors, str_of(kind));

    return t != NULL && t->look != NULL ? t : NULL;
}

bool polled_is_for(const struct poller_options *o, const struct config_gateway *g)
{
    return polled_type(o, g->kind) != NULL && (g->area == CONFIG_ANYWHERE || g->area == o->area);
}

struct polled_secrets {
    struct store *store;
    struct call *call;
};

static bool polled_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                               struct err *err)
{
    const struct polled_secrets *s = arg;

    if (!call_own_begin(s->call, err))
        return false;
    bool ok = secret_get(s->store, name, a, ret, err);

    call_alive(s->call);
    return ok;
}

struct settings polled_settings(const struct poller_options *o, const struct config *config,
                                const struct config_gateway *g, bool trial, struct call *call,
                                struct arena *a)
{
    struct polled_secrets *secrets = ARENA_NEW(a, struct polled_secrets);

    *secrets = (struct polled_secrets){ .store = o->store, .call = call };
    return (struct settings){ .node = g->node,
                              .common = grammar_gateway,
                              .own = polled_type(o, g->kind)->kind.keys,
                              .secret = polled_find_secret,
                              .secret_arg = secrets,
                              .reach = &config->node,
                              .folders = folders_port(o->store, config, NAME_GATEWAY, g->name,
                                                      trial, call, a),
                              .arena = a };
}

void polled_read_times(const struct poller_options *o, const struct config *config,
                       const struct config_gateway *g, struct arena *a, int64_t *ret_every_us,
                       int64_t *ret_patience_us)
{
    const struct gateway_type *type = polled_type(o, g->kind);
    struct settings s = polled_settings(o, config, g, false, NULL, a);
    struct err err = { 0 };

    if (!settings_duration(&s, "every", ret_every_us, &err))
        *ret_every_us = CLOCK_S; /* setting it up reports what is wrong */
    if (kind_key(ROLE_GATEWAY, &type->kind, STR("timeout")) == NULL ||
        !settings_duration(&s, "timeout", ret_patience_us, &err))
        *ret_patience_us = PATIENCE_US;
    if (type->keeps_time)
        *ret_patience_us += SPARE_US;
}

/* ---- between polls ---- */

struct polled_line polled_line_of(const struct gateway_type *type, const void *self)
{
    struct polled_line line = { .has = type->line != NULL };

    if (line.has)
        line.key = *type->line->key(self);
    return line;
}

void polled_line_change(struct lines *l, const struct polled_line *before,
                        const struct polled_line *now)
{
    if (before->has && (!now->has || !digest_same(&before->key, &now->key)))
        lines_drop(l, &before->key);
}

int64_t polled_back_off_us(int64_t every_us, int64_t failures)
{
    int64_t doublings = failures < DOUBLINGS_MOST ? failures : DOUBLINGS_MOST;
    int64_t most = every_us << doublings;

    if (most > BACK_OFF_MOST || most <= 0)
        most = BACK_OFF_MOST;
    if (most < every_us)
        most = every_us;
    return every_us + (int64_t)(chance_u64() % (uint64_t)most) / 2;
}

/* The next one begins then.  A wall clock that ran ahead of the other begins it anew. */
static bool polled_period_is_over(struct polled_period *p, int64_t longer_than_us)
{
    int64_t now_us = clock_mono_us(), wall_us = clock_wall_us(), long_us = now_us - p->since_us;
    bool goes_on = p->since_us != 0 && wall_us - p->since_wall_us < long_us + STEP_US;

    if (goes_on && long_us <= longer_than_us)
        return false;
    *p = (struct polled_period){ .since_us = now_us, .since_wall_us = wall_us };
    return goes_on;
}

void polled_forget_vanished(const struct poller_options *o, struct polled_period *p, int64_t word)
{
    int64_t every_us = o->forget_every_us > 0 ? o->forget_every_us : FORGET_EVERY_US;
    struct err err = { 0 };

    if (polled_period_is_over(p, every_us) &&
        !ledger_sweep(o->store, word, clock_wall_us() - FORGET_AFTER_US, &err))
        log_event(LOG_WARN, "keeper.fail", kv_z("duty", "ledger"), kv_z("why", err.text));
}

void polled_give_turn_back(const struct poller_options *o, int64_t word)
{
    struct err err = { 0 };

    if (word != 0)
        (void)poll_turn_end(o->store, word, &err); /* or it expires */
}

/* ---- what is told ---- */

void polled_tell_trouble(const struct poller_options *o, int64_t word, const char *why)
{
    struct err err = { 0 };

    if (word != 0)
        (void)failing_put(o->store, word, str_of(why), &err);
}

void polled_tell_recovery(const struct poller_options *o, int64_t word)
{
    struct err err = { 0 };

    if (word != 0)
        (void)failing_drop(o->store, word, &err);
}

void polled_note_mishap(const struct poller_options *o, const char *gateway, const char *why)
{
    if (o->mishaps != NULL)
        mishaps_note(o->mishaps, "gateway_failing", "gateway", str_of(gateway), why);
}

void polled_complain(struct polled_complaints *c, const char *gateway, struct str name,
                     const char *why, const char *hint)
{
    enum { SAID = sizeof c->said / sizeof c->said[0] };
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    uint64_t hash;

    buf_put(&text, name);
    buf_printf(&text, "\n%.500s", why);
    struct sha256 sha = digest_of(buf_view(&text));

    memcpy(&hash, sha.bytes, sizeof hash);
    if (c->said[hash % SAID] == hash)
        return;
    c->said[hash % SAID] = hash;
    log_event(LOG_WARN, "gateway.refuse", kv_z("gateway", gateway), kv_str("name", name),
              kv_z("why", why), kv_z("hint", hint));
}

/* ---- a trial ---- */

/* One gateway of a configuration that may come into force, with what its set-up needs. */
struct trial {
    struct poller_options options;
    struct config *config; /* a reference */
    const struct config_gateway *gateway;
    const struct gateway_type *type;
    struct arena arena;
    struct err err;
};

static void trial_run(void *arg)
{
    struct trial *t = arg;
    struct settings s = polled_settings(&t->options, t->config, t->gateway, true, NULL, &t->arena);
    void *self;

    if (t->type->make(&s, &self, &t->err))
        t->type->unmake(self);
}

static void trial_free(void *arg)
{
    struct trial *t = arg;

    arena_done(&t->arena);
    config_unref(t->config);
    free(t);
}

void polled_try(const struct poller_options *o, struct config *config,
                const struct config_gateway *g, struct problem_list *problems)
{
    struct trial *t = NEW(struct trial);

    *t = (struct trial){ .options = *o,
                         .config = config_ref(config),
                         .gateway = g,
                         .type = polled_type(o, g->kind),
                         .arena = ARENA_INIT(ARENA_MOST) };
    if (!patient_call(trial_run, trial_free, t, TRY_PATIENCE_US))
        return;
    if (t->err.kind == ERR_CONFIG)
        problem_add(problems, g->place, NULL, "%s", t->err.text);
    trial_free(t);
}
