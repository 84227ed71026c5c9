#include "admin/login/login.h"

#include <pthread.h>
#include <stdlib.h>

#include "admin/login/oidc_provider.h"
#include "admin/login/principal.h"
#include "admin/login/roles.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"
#include "engine/engine.h"
#include "engine/intake/login_limit.h"
#include "engine/threads/background.h"
#include "store/people/role.h"
#include "store/people/session.h"
#include "store/store.h"

enum {
    TICK_US = CLOCK_S / 2,
    NOTE_US = 60 * CLOCK_S,   /* precision of a session's last use in the store */
    RELOAD_US = 60 * CLOCK_S, /* other nodes record uses without raising the mark */
    USES_MOST = 256,
    TABLE_ARENA = 256 << 20,
    OUTSIDE_THREADS = 2,
    OUTSIDE_QUEUE = 64,
    PASSWORD_LEAST = 12,
    PASSWORD_MOST = 1000,
};

/* struct rights without its unused entries, which are large. */
struct held {
    unsigned everywhere;
    size_t count;
    struct {
        unsigned bits;
        struct str system;
    } at[];
};

struct seat {
    struct sha256 id;
    struct str user;
    const struct held *rights;
    int64_t seen_us, noted_us, ends_us; /* monotonic */
};

struct table {
    struct arena arena;
    struct user *users;
    size_t user_count;
    struct seat *seats; /* sessions, sorted by id */
    size_t seat_count;
    int64_t mark, roles_mark, loaded_us;
};

struct login {
    struct engine *engine;
    struct login_limit *limits;
    struct background *background;
    struct oidc_provider *oidc;

    pthread_mutex_t mutex; /* of the table; held briefly */
    struct table *table;   /* NULL: not read yet */

    pthread_mutex_t loading; /* serialises reloads; taken before `mutex` */
    pthread_t thread;
    pthread_mutex_t thread_mutex;
    pthread_cond_t stop;
    bool stopping;
};

/* ---- the table ---- */

static void login_table_free(struct table *t)
{
    if (t == NULL)
        return;
    arena_done(&t->arena);
    free(t);
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct seat *)a)->id.bytes, ((const struct seat *)b)->id.bytes,
                  SHA256_SIZE);
}

static struct seat *find_seat(struct table *t, const struct sha256 *id)
{
    struct seat key = { .id = *id };

    if (t == NULL || t->seat_count == 0)
        return NULL;
    return bsearch(&key, t->seats, t->seat_count, sizeof *t->seats, by_id);
}

static const struct user *login_find_user(const struct table *t, struct str name)
{
    size_t low = 0, high = t != NULL ? t->user_count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(t->users[middle].name, name);

        if (order == 0)
            return &t->users[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int login_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

static const struct held *hold_rights(struct table *t, const struct role *roles, size_t count,
                                      struct str names)
{
    struct rights r;

    login_roles_rights(roles, count, names, &r);
    struct held *h = arena_alloc(&t->arena, sizeof *h + r.count * sizeof h->at[0]);

    h->everywhere = r.everywhere;
    h->count = r.count;
    for (size_t i = 0; i < r.count; i++) {
        h->at[i].bits = r.at[i].bits;
        h->at[i].system = r.at[i].system;
    }
    return h;
}

static bool seat_all(struct login *l, struct table *t, const struct session *sessions, size_t count,
                     struct err *err)
{
    const struct held **of_user = ARENA_ARRAY(&t->arena, const struct held *, t->user_count + 1);
    struct role *roles;
    size_t role_count;

    if (!role_list(engine_store(l->engine), &t->arena, &roles, &role_count, err))
        return false;
    t->seats = ARENA_ARRAY(&t->arena, struct seat, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct user *u = login_find_user(t, sessions[i].user);

        if (u == NULL || u->disabled)
            continue;
        const struct held **h = &of_user[u - t->users];

        if (*h == NULL)
            *h = hold_rights(t, roles, role_count, u->roles);
        t->seats[t->seat_count++] = (struct seat){ .id = sessions[i].id,
                                                   .user = u->name,
                                                   .rights = *h,
                                                   .seen_us = t->loaded_us - sessions[i].idle_us,
                                                   .noted_us = t->loaded_us - sessions[i].idle_us,
                                                   .ends_us = t->loaded_us + sessions[i].left_us };
    }
    qsort(t->seats, t->seat_count, sizeof *t->seats, by_id);
    return true;
}

/* Reads the marks first: a change during the read raises them, and the next poll reads again. */
static bool read_table(struct login *l, struct table *t, struct err *err)
{
    struct store *s = engine_store(l->engine);
    struct session *sessions;
    size_t count;

    if (!user_mark(s, &t->mark, err) || !login_roles_mark(s, &t->roles_mark, err) ||
        !user_list(s, &t->arena, &t->users, &t->user_count, err))
        return false;
    if (t->user_count > 0) /* the database's collation may differ */
        qsort(t->users, t->user_count, sizeof *t->users, login_by_name);
    t->loaded_us = clock_mono_us();
    return session_list(s, &t->arena, &sessions, &count, err) &&
           seat_all(l, t, sessions, count, err);
}

/* With `loading` held. */
static bool login_load(struct login *l, struct err *err)
{
    struct table *t = NEW(struct table), *old;

    t->arena = (struct arena)ARENA_INIT(TABLE_ARENA);
    if (!read_table(l, t, err)) {
        login_table_free(t);
        return false;
    }
    (void)pthread_mutex_lock(&l->mutex);
    old = l->table;
    for (size_t i = 0; old != NULL && i < old->seat_count; i++) {
        struct seat *same = find_seat(t, &old->seats[i].id);

        if (same != NULL && same->seen_us < old->seats[i].seen_us)
            same->seen_us = old->seats[i].seen_us;
    }
    l->table = t;
    (void)pthread_mutex_unlock(&l->mutex);
    login_table_free(old);
    return true;
}

bool login_refresh(struct login *l, struct err *err)
{
    (void)pthread_mutex_lock(&l->loading);
    bool ok = login_load(l, err);

    (void)pthread_mutex_unlock(&l->loading);
    return ok;
}

/* ---- following ---- */

static bool login_follow(struct login *l, struct err *err)
{
    struct store *s = engine_store(l->engine);
    int64_t mark, roles_mark;
    bool same;

    if (!user_mark(s, &mark, err) || !login_roles_mark(s, &roles_mark, err))
        return false;
    (void)pthread_mutex_lock(&l->mutex);
    same = l->table != NULL && l->table->mark == mark && l->table->roles_mark == roles_mark &&
           clock_mono_us() - l->table->loaded_us < RELOAD_US;
    (void)pthread_mutex_unlock(&l->mutex);
    return same || login_refresh(l, err);
}

static bool note_uses(struct login *l, struct err *err)
{
    struct session_use uses[USES_MOST];
    int64_t now = clock_mono_us();
    size_t n = 0;

    (void)pthread_mutex_lock(&l->mutex);
    for (size_t i = 0; l->table != NULL && i < l->table->seat_count && n < USES_MOST; i++) {
        struct seat *seat = &l->table->seats[i];

        if (seat->seen_us - seat->noted_us < NOTE_US)
            continue;
        uses[n++] = (struct session_use){ .id = seat->id, .ago_us = now - seat->seen_us };
        seat->noted_us = seat->seen_us;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    return n == 0 || session_note_used(engine_store(l->engine), uses, n, err);
}

static bool wait_a_tick(struct login *l)
{
    int64_t until_us = clock_mono_us() + TICK_US;

    (void)pthread_mutex_lock(&l->thread_mutex);
    while (!l->stopping && wait_until(&l->stop, &l->thread_mutex, until_us)) {
    }
    bool go_on = !l->stopping;

    (void)pthread_mutex_unlock(&l->thread_mutex);
    return go_on;
}

static void *login_main(void *arg)
{
    struct login *l = arg;
    bool failing = false;

    do {
        struct err err = { 0 };
        bool ok = login_follow(l, &err) && note_uses(l, &err);

        if (!ok && !failing)
            log_event(LOG_WARN, "login.trouble", kv_z("why", err.text));
        failing = !ok;
    } while (wait_a_tick(l));
    return NULL;
}

/* ---- life ---- */

struct login *login_new(struct engine *engine)
{
    struct login *l = NEW(struct login);

    l->engine = engine;
    l->limits = login_limit_new();
    l->background = background_new(OUTSIDE_THREADS, OUTSIDE_QUEUE);
    l->oidc = oidc_provider_new(engine_egress(engine));
    (void)pthread_mutex_init(&l->mutex, NULL);
    (void)pthread_mutex_init(&l->loading, NULL);
    (void)pthread_mutex_init(&l->thread_mutex, NULL);
    (void)pthread_cond_init(&l->stop, NULL);
    /* A failure is not reported here: the thread tries again at once, and logs it. */
    (void)login_refresh(l, &(struct err){ 0 });
    thread_start(&l->thread, "login", login_main, l);
    return l;
}

void login_free(struct login *l)
{
    if (l == NULL)
        return;
    (void)pthread_mutex_lock(&l->thread_mutex);
    l->stopping = true;
    (void)pthread_cond_signal(&l->stop);
    (void)pthread_mutex_unlock(&l->thread_mutex);
    (void)pthread_join(l->thread, NULL);
    background_free(l->background);
    oidc_provider_free(l->oidc);
    login_table_free(l->table);
    login_limit_free(l->limits);
    (void)pthread_cond_destroy(&l->stop);
    (void)pthread_mutex_destroy(&l->thread_mutex);
    (void)pthread_mutex_destroy(&l->loading);
    (void)pthread_mutex_destroy(&l->mutex);
    free(l);
}

struct engine *login_engine(struct login *l)
{
    return l->engine;
}

struct login_limit *login_limits(struct login *l)
{
    return l->limits;
}

struct background *login_background(struct login *l)
{
    return l->background;
}

struct oidc_provider *login_oidc(struct login *l)
{
    return l->oidc;
}

/* ---- sessions ---- */

static void copy_rights(const struct held *from, struct arena *a, struct rights *ret)
{
    ret->everywhere = from->everywhere;
    ret->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        ret->at[i].bits = from->at[i].bits;
        ret->at[i].system = arena_copy(a, from->at[i].system);
    }
}

static bool login_take_seat(struct login *l, const struct sha256 *id, bool is_use, struct arena *a,
                            struct principal *ret)
{
    int64_t now = clock_mono_us();

    (void)pthread_mutex_lock(&l->mutex);
    struct seat *seat = find_seat(l->table, id);
    bool found = seat != NULL && now < seat->ends_us && now - seat->seen_us < SESSION_IDLE_US;

    if (found) {
        seat->seen_us = is_use ? now : seat->seen_us;
        ret->kind = PRINCIPAL_USER;
        ret->name = arena_copy(a, seat->user);
        ret->session = id;
        copy_rights(seat->rights, a, &ret->rights);
    }
    (void)pthread_mutex_unlock(&l->mutex);
    return found;
}

bool login_find(struct login *l, struct str secret, struct arena *a, struct principal *ret)
{
    struct sha256 *id = ARENA_NEW(a, struct sha256);

    if (secret.len != KEY_SECRET - 1)
        return false;
    *id = digest_of(secret);
    return login_take_seat(l, id, true, a, ret);
}

bool login_look(struct login *l, const struct sha256 *session, struct arena *a,
                struct principal *ret)
{
    return login_take_seat(l, session, false, a, ret);
}

bool login_begin(struct login *l, struct str user, const struct login_from *from,
                 char ret_secret[static KEY_SECRET], struct err *err)
{
    struct session made = { .user = user,
                            .password = from->hash != NULL ? str_of(from->hash) : STR("") };
    bool was;

    key_secret(ret_secret);
    made.id = digest_of(str_of(ret_secret));
    made.address = str_first(from->address, SESSION_ADDRESS_MOST);
    made.agent = str_first(from->agent, SESSION_AGENT_MOST);
    return session_add(engine_store(l->engine), &made, from->before, &was, err) && was &&
           login_refresh(l, err);
}

bool login_end(struct login *l, const struct sha256 *session, bool *ret_was, struct err *err)
{
    return session_end(engine_store(l->engine), session, ret_was, err) && login_refresh(l, err);
}

/* ---- users ---- */

bool login_hash(struct login *l, struct str name, struct arena *a, const char **ret)
{
    (void)pthread_mutex_lock(&l->mutex);
    const struct user *u = login_find_user(l->table, name);
    bool found = u != NULL && !u->disabled && u->password.len > 0;

    if (found)
        *ret = arena_text(a, u->password);
    (void)pthread_mutex_unlock(&l->mutex);
    return found;
}

bool login_check_password(struct str user, struct str password, struct err *err)
{
    if (password.len < PASSWORD_LEAST)
        return err_set(err, ERR_PERMANENT, 0, "a password has at least %d characters",
                       PASSWORD_LEAST);
    if (password.len > PASSWORD_MOST)
        return err_set(err, ERR_LIMIT, 0, "a password has at most %d bytes", PASSWORD_MOST);
    if (!str_is_utf8(password) || memchr(password.ptr, '\0', password.len) != NULL)
        return err_set(err, ERR_PERMANENT, 0, "a password is text");
    for (size_t i = 0; i < password.len; i++)
        if (password.ptr[i] != password.ptr[0])
            return !str_eq_nocase(user, password) ||
                   err_set(err, ERR_PERMANENT, 0, "the password is the name");
    return err_set(err, ERR_PERMANENT, 0, "the password is one character over and over");
}

bool login_invite(struct login *l, struct str name, char ret_secret[static KEY_SECRET],
                  struct err *err)
{
    struct sha256 id;
    bool may;

    key_secret(ret_secret);
    id = digest_of(str_of(ret_secret));
    return user_invite(engine_store(l->engine), name, &id, LOGIN_LINK_US, &may, err) && may;
}
