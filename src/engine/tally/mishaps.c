#include "engine/tally/mishaps.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/watch/mishap.h"

enum {
    ENTRIES = 256,
    OBJECT = 128,
    MESSAGE = 500,
    CODE = 40,
    KINDS = 256,
    SAID_AT_ONCE = 5,
    SAY_US = 60 * CLOCK_S
};

struct entry {
    char code[CODE], object[OBJECT], message[MESSAGE];
    int64_t count, first_us, last_us;
};

/* Limits log lines per kind. */
struct kind {
    char code[CODE];
    int64_t object;  /* a name id */
    int64_t full_us; /* monotonic: when SAID_AT_ONCE lines may be logged at once again */
    int64_t more;
};

struct mishaps {
    pthread_mutex_t mutex;
    struct entry entries[ENTRIES];
    size_t count;
    struct kind kinds[KINDS];
    size_t kind_count;
    void (*written)(void *arg, const struct mishap *list, size_t count); /* may be NULL */
    void *arg;
};

struct mishaps *mishaps_new(void)
{
    struct mishaps *m = NEW(struct mishaps);

    (void)pthread_mutex_init(&m->mutex, NULL);
    return m;
}

void mishaps_free(struct mishaps *m)
{
    free(m);
}

static struct entry *mishaps_entry_of(struct mishaps *m, const char *code, const char *object)
{
    for (size_t i = 0; i < m->count; i++)
        if (str_is(str_of(m->entries[i].code), code) &&
            str_is(str_of(m->entries[i].object), object))
            return &m->entries[i];
    if (m->count == ENTRIES - 1)
        object = "other";
    if (m->count == ENTRIES)
        return &m->entries[ENTRIES - 1];
    struct entry *e = &m->entries[m->count++];

    *e = (struct entry){ .first_us = clock_wall_us() };
    (void)snprintf(e->code, sizeof e->code, "%s", code);
    (void)snprintf(e->object, sizeof e->object, "%s", object);
    return e;
}

void mishaps_note(struct mishaps *m, const char *code, const char *kind, struct str object,
                  const char *message)
{
    char what[OBJECT];

    (void)snprintf(what, sizeof what, "%s %.*s", kind, STR_ARG(object));
    (void)pthread_mutex_lock(&m->mutex);
    struct entry *e = mishaps_entry_of(m, code, what);

    (void)snprintf(e->message, sizeof e->message, "%s", message);
    e->last_us = clock_wall_us();
    e->count++;
    (void)pthread_mutex_unlock(&m->mutex);
}

/* When the table is full, the kind that has been silent longest is replaced. */
static struct kind *mishaps_kind_of(struct mishaps *m, struct str code, int64_t object)
{
    struct kind *oldest = &m->kinds[0];

    code = str_first(code, CODE - 1);
    for (size_t i = 0; i < m->kind_count; i++) {
        struct kind *k = &m->kinds[i];

        if (k->object == object && str_is(code, k->code))
            return k;
        if (k->full_us < oldest->full_us)
            oldest = k;
    }
    struct kind *k = m->kind_count < KINDS ? &m->kinds[m->kind_count++] : oldest;

    *k = (struct kind){ .object = object };
    (void)snprintf(k->code, sizeof k->code, "%.*s", STR_ARG(code));
    return k;
}

bool mishaps_may_say(struct mishaps *m, struct str code, int64_t object, int64_t *ret_more)
{
    int64_t now = clock_mono_us();

    (void)pthread_mutex_lock(&m->mutex);
    struct kind *k = mishaps_kind_of(m, code, object);

    if (k->full_us < now)
        k->full_us = now;
    bool may = k->full_us - now <= (SAID_AT_ONCE - 1) * (int64_t)SAY_US;

    if (may)
        k->full_us += SAY_US;
    *ret_more = may ? k->more : 0;
    k->more = may ? 0 : k->more + 1;
    (void)pthread_mutex_unlock(&m->mutex);
    return may;
}

/* Merges entries that could not be written back into the table. */
static void mishaps_take_back(struct mishaps *m, const struct entry *list, size_t count)
{
    (void)pthread_mutex_lock(&m->mutex);
    for (size_t i = 0; i < count; i++) {
        struct entry *e = mishaps_entry_of(m, list[i].code, list[i].object);

        e->count += list[i].count;
        if (list[i].first_us < e->first_us)
            e->first_us = list[i].first_us;
        if (list[i].last_us >= e->last_us)
            memcpy(e->message, list[i].message, sizeof e->message);
        e->last_us = list[i].last_us > e->last_us ? list[i].last_us : e->last_us;
    }
    (void)pthread_mutex_unlock(&m->mutex);
}

void mishaps_tell(struct mishaps *m,
                  void (*written)(void *arg, const struct mishap *list, size_t count), void *arg)
{
    m->written = written;
    m->arg = arg;
}

bool mishaps_write(struct mishaps *m, struct store *s, struct err *err)
{
    (void)pthread_mutex_lock(&m->mutex);
    size_t count = m->count;

    if (count == 0) {
        (void)pthread_mutex_unlock(&m->mutex);
        return true;
    }
    struct entry *list = xmalloc(count * sizeof *list);
    struct mishap *rows = xcalloc(count, sizeof *rows);

    memcpy(list, m->entries, count * sizeof *list);
    m->count = 0;
    (void)pthread_mutex_unlock(&m->mutex);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct mishap){ .code = str_of(list[i].code),
                                   .object = str_of(list[i].object),
                                   .message = str_of(list[i].message),
                                   .count = list[i].count,
                                   .first_us = list[i].first_us,
                                   .last_us = list[i].last_us };
    bool ok = mishap_add(s, rows, count, err);

    if (!ok)
        mishaps_take_back(m, list, count);
    else if (m->written != NULL)
        m->written(m->arg, rows, count);
    free(list);
    free(rows);
    return ok;
}
