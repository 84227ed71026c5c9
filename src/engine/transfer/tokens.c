#include "engine/transfer/tokens.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/require.h"
#include "core/web/oauth2.h"

enum {
    TOKENS_MOST = 256, /* kept; of those that nobody uses now */
    SETTINGS_MOST = 1 << 20,
    FETCH_MOST = 512 << 10, /* memory of one fetch */
    AGAIN_LEAST_US = 1 * CLOCK_S,
    AGAIN_MOST_US = 60 * CLOCK_S,
    AGAIN_PART = 8, /* a renewal that failed is repeated after this part of what is left */
};

/* One set of settings with its token. */
struct token {
    struct token *next;
    struct tokens *all;
    struct arena settings;
    struct oauth2 oauth2;
    struct http_out_options options;

    /* Under the lock. */
    char *text; /* NULL: none */
    size_t len;
    uint64_t number;
    int64_t renew_us, ends_us; /* monotonic */
    bool fetching, failing;    /* failing: the last renewal did */
    struct token_wait *waiting, **waiting_end;

    /* The fetch: belongs to who began it until it is handed over. */
    struct arena arena;
    struct http_out_request *request;
    struct sending sending;
    struct transfer transfer;
    struct str endpoint; /* of who asked first */
};

struct tokens {
    struct tokens_options options;
    pthread_mutex_t mutex;
    struct token *first;
    size_t count;
    uint64_t numbers;
};

struct tokens *tokens_new(const struct tokens_options *options)
{
    struct tokens *t = NEW(struct tokens);

    *t = (struct tokens){ .options = *options };
    (void)pthread_mutex_init(&t->mutex, NULL);
    return t;
}

/* ---- settings ---- */

static void wipe_text(struct str s)
{
    if (s.len > 0)
        explicit_bzero((void *)(uintptr_t)s.ptr, s.len);
}

static void drop_text(struct token *k)
{
    if (k->text != NULL)
        explicit_bzero(k->text, k->len);
    free(k->text);
    k->text = NULL;
    k->len = 0;
}

static void free_token(struct token *k)
{
    require(!k->fetching && k->waiting == NULL);
    drop_text(k);
    wipe_text(k->oauth2.client_secret);
    wipe_text(k->options.key);
    arena_done(&k->arena);
    arena_done(&k->settings);
    free(k);
}

void tokens_free(struct tokens *t)
{
    if (t == NULL)
        return;
    for (struct token *k = t->first, *next; k != NULL; k = next) {
        next = k->next;
        free_token(k);
    }
    (void)pthread_mutex_destroy(&t->mutex);
    free(t);
}

static bool token_is_for(const struct token *k, const struct token_order *o)
{
    const struct oauth2 *a = &k->oauth2, *b = o->oauth2;
    const struct http_out_options *c = &k->options, *d = o->options;

    return str_eq(a->token_url, b->token_url) && str_eq(a->client_id, b->client_id) &&
           str_eq(a->client_secret, b->client_secret) && str_eq(a->scope, b->scope) &&
           a->in_form == b->in_form && str_eq(c->ca, d->ca) && str_eq(c->cert, d->cert) &&
           str_eq(c->key, d->key) && c->verify == d->verify;
}

/* With the lock held: of those that nobody waits for the ones that have ended, or all. */
static void forget_tokens(struct tokens *t, int64_t now_us)
{
    bool crowded = t->count >= TOKENS_MOST;

    for (struct token **at = &t->first, *k; (k = *at) != NULL;) {
        if (k->fetching || k->waiting != NULL || (k->ends_us > now_us && !crowded)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        t->count--;
        free_token(k);
    }
}

/* With the lock held. */
static struct token *find_token(struct tokens *t, const struct token_order *o)
{
    for (struct token *k = t->first; k != NULL; k = k->next)
        if (token_is_for(k, o))
            return k;
    return NULL;
}

static struct token *add_token(struct tokens *t, const struct token_order *o, int64_t now_us)
{
    forget_tokens(t, now_us);
    struct token *k = NEW(struct token);

    *k = (struct token){ .next = t->first,
                         .all = t,
                         .settings = ARENA_INIT(SETTINGS_MOST),
                         .arena = ARENA_INIT(FETCH_MOST) };
    struct arena *a = &k->settings;

    k->oauth2 = (struct oauth2){ .token_url = arena_copy(a, o->oauth2->token_url),
                                 .client_id = arena_copy(a, o->oauth2->client_id),
                                 .client_secret = arena_copy(a, o->oauth2->client_secret),
                                 .scope = arena_copy(a, o->oauth2->scope),
                                 .in_form = o->oauth2->in_form };
    k->options = (struct http_out_options){ .ca = arena_copy(a, o->options->ca),
                                            .cert = arena_copy(a, o->options->cert),
                                            .key = arena_copy(a, o->options->key),
                                            .verify = o->options->verify };
    k->waiting_end = &k->waiting;
    t->first = k;
    t->count++;
    return k;
}

/* ---- a fetch ---- */

static void on_token_answer(struct transfer *x);

/* With the lock held, after which the caller submits the transfer. */
static void prepare_fetch(struct token *k, const struct token_order *o)
{
    struct str body;

    k->fetching = true;
    arena_reset(&k->arena);
    k->request = ARENA_NEW(&k->arena, struct http_out_request);
    oauth2_request(&k->oauth2, &k->arena, k->request, &body);
    k->endpoint = arena_copy(&k->arena, o->endpoint);
    k->options.timeout_us = o->options->timeout_us;
    k->options.connect_timeout_us = o->options->connect_timeout_us;
    k->sending = (struct sending){ .bytes = body, .size = (int64_t)body.len };
    k->transfer = (struct transfer){ .options = &k->options,
                                     .request = k->request,
                                     .sending = &k->sending,
                                     .done = on_token_answer };
}

/* With the lock held. */
static void keep_token(struct token *k, const struct oauth2_token *got, int64_t now_us)
{
    drop_text(k);
    k->text = xstrndup(got->text);
    k->len = got->text.len;
    k->number = ++k->all->numbers;
    k->renew_us = now_us + got->life_us / 4 * 3;
    k->ends_us = now_us + got->life_us;
    k->failing = false;
}

/* With the lock held.  True: somebody should hear of it, for nobody waits who would. */
static bool put_off_renewal(struct token *k, int64_t now_us)
{
    int64_t wait = (k->ends_us - now_us) / AGAIN_PART;
    bool news = !k->failing;

    if (k->text == NULL || k->ends_us <= now_us)
        return false;
    wait = wait < AGAIN_LEAST_US ? AGAIN_LEAST_US : wait > AGAIN_MOST_US ? AGAIN_MOST_US : wait;
    k->renew_us = now_us + wait;
    k->failing = true;
    return news;
}

static void wipe_fetch(struct token *k)
{
    wipe_text(k->sending.bytes);
    for (size_t i = 0; i < k->request->field_count; i++)
        if (str_is(k->request->fields[i].name, "Authorization"))
            wipe_text(k->request->fields[i].value);
}

/* Ends a fetch, and tells all who wait for it. */
static void end_fetch(struct token *k, const struct oauth2_token *got, const struct verdict *failed)
{
    struct tokens *t = k->all;
    int64_t now = t->options.now_us();

    (void)pthread_mutex_lock(&t->mutex);
    struct token_wait *w = k->waiting;
    bool news = failed != NULL && put_off_renewal(k, now);

    if (failed == NULL)
        keep_token(k, got, now);
    wipe_fetch(k);
    if (got != NULL)
        wipe_text(got->text);
    k->waiting = NULL;
    k->waiting_end = &k->waiting;
    if (news)
        log_event(LOG_WARN, "token.stay", kv_str("endpoint", k->endpoint),
                  kv_z("why", failed->message),
                  kv_z("hint", "The token could not be renewed; the one at hand is used until it "
                               "ends, and renewing is tried again."));
    k->fetching = false; /* from here on it may be fetched again, or freed */
    (void)pthread_mutex_unlock(&t->mutex);
    for (struct token_wait *next; w != NULL; w = next) {
        next = w->next;
        w->ready(w, failed);
    }
}

/* On the transfer thread. */
static void on_token_answer(struct transfer *x)
{
    struct token *k = container_of(x, struct token, transfer);
    struct oauth2_token got;
    struct verdict failed;

    if (oauth2_judge(&k->oauth2, &x->answer, &k->arena, &got, &failed))
        end_fetch(k, &got, NULL);
    else
        end_fetch(k, NULL, &failed);
}

/* ---- for senders ---- */

/* With the lock held: the wait is no longer among those. */
static void leave_wait(struct token *k, const struct token_wait *w)
{
    struct token_wait **at = &k->waiting;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    if (*at == NULL)
        k->waiting_end = at;
}

/* The transfer was not accepted.  Who began it is told by its return, all others by ready(). */
static void undo_fetch(struct token *k, const struct token_wait *w, struct verdict *ret)
{
    (void)verdict_say(ret, VERDICT_UNREACHED, "no token to log in with: the node stops");
    (void)pthread_mutex_lock(&k->all->mutex);
    if (w != NULL)
        leave_wait(k, w);
    (void)pthread_mutex_unlock(&k->all->mutex);
    end_fetch(k, NULL, ret);
}

enum tokens_answer tokens_take(struct tokens *t, const struct token_order *o, struct arena *a,
                               struct token_wait *w, struct token_lent *ret,
                               struct verdict *ret_failed)
{
    int64_t now = t->options.now_us();

    (void)pthread_mutex_lock(&t->mutex);
    struct token *k = find_token(t, o);

    if (k == NULL)
        k = add_token(t, o, now);
    bool here = k->text != NULL && now < k->ends_us;
    bool fetch = !k->fetching && (!here || now >= k->renew_us);

    if (here) {
        *ret = (struct token_lent){ arena_copy(a, str_mem(k->text, k->len)), k->number };
    } else {
        w->next = NULL;
        *k->waiting_end = w;
        k->waiting_end = &w->next;
    }
    if (fetch)
        prepare_fetch(k, o);
    (void)pthread_mutex_unlock(&t->mutex);
    if (!fetch || t->options.send(t->options.arg, &k->transfer))
        return here ? TOKEN_HERE : TOKEN_WAIT;
    *ret_failed = (struct verdict){ 0 };
    undo_fetch(k, here ? NULL : w, ret_failed);
    return here ? TOKEN_HERE : TOKEN_NONE;
}

void tokens_refuse(struct tokens *t, const struct token_order *o, uint64_t number)
{
    (void)pthread_mutex_lock(&t->mutex);
    struct token *k = find_token(t, o);

    if (k != NULL && k->text != NULL && k->number == number) {
        drop_text(k);
        k->ends_us = 0;
    }
    (void)pthread_mutex_unlock(&t->mutex);
}
