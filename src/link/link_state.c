#include "link/link_state.h"

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

const char *const link_stands[LINK_STANDS] = {
    [LINK_NEW] = "new",       [LINK_LOADING] = "loading", [LINK_CURRENT] = "current",
    [LINK_BEHIND] = "behind", [LINK_STOPPED] = "stopped",
};

const char *const link_reasons[LINK_REASONS] = {
    [LINK_GOES] = "",
    [LINK_SCHEMA_DRIFT] = "SCHEMA_DRIFT",
    [LINK_SRC_REWOUND] = "SRC_REWOUND",
    [LINK_TRUNCATED] = "TRUNCATED",
    [LINK_DELETES] = "DELETES",
    [LINK_TRIGGER] = "TRIGGER",
    [LINK_CREDENTIAL] = "CREDENTIAL",
    [LINK_QUARANTINE] = "QUARANTINE",
    [LINK_CLOCK] = "CLOCK",
    [LINK_GROUP] = "GROUP",
};

static const struct {
    const char *key;
    size_t at;
} numbers[] = {
    { "since_us", offsetof(struct link_state, since_us) },
    { "current_us", offsetof(struct link_state, current_us) },
    { "batches", offsetof(struct link_state, batches) },
    { "x", offsetof(struct link_state, reached.x) },
    { "written", offsetof(struct link_state, written) },
    { "removed", offsetof(struct link_state, removed) },
    { "bytes", offsetof(struct link_state, bytes) },
    { "backlog", offsetof(struct link_state, backlog) },
    { "load_rows", offsetof(struct link_state, load_rows) },
    { "load_total", offsetof(struct link_state, load_total) },
    { "set_aside", offsetof(struct link_state, set_aside) },
    { "deletes", offsetof(struct link_state, deletes) },
    { "fence", offsetof(struct link_state, fence) },
    { "deletes_allowed", offsetof(struct link_state, deletes_allowed) },
    { "conflicts", offsetof(struct link_state, conflicts) },
    { "rows_most", offsetof(struct link_state, rows_most) },
    { "clock_allowed", offsetof(struct link_state, clock_allowed) },
    { "known_x", offsetof(struct link_state, known_x) },
    { "known_batches", offsetof(struct link_state, known_batches) },
    { "pruned_us", offsetof(struct link_state, pruned_us) },
    { "prune_denied", offsetof(struct link_state, prune_denied) },
};

enum {
    NUMBERS = sizeof numbers / sizeof *numbers,
    NUMBERS_FIRST = 14 /* states that an older build has left have no others */
};

/* ---- reading ---- */

static size_t link_state_word(const json_t *root, const char *key, const char *const *words,
                              size_t count)
{
    const char *word = json_string_value(json_object_get(root, key));
    size_t i = 0;

    while (i < count && (word == NULL || strcmp(words[i], word) != 0))
        i++;
    return i;
}

static bool link_state_read_key(const json_t *root, struct arena *a, struct str *ret)
{
    const json_t *value = json_object_get(root, "key");
    struct str hex = str_mem(json_string_value(value), json_string_length(value));

    if (!json_is_string(value) || hex.len % 2 != 0)
        return false;
    char *bytes = arena_alloc(a, hex.len / 2 + 1);

    for (size_t i = 0; i < hex.len / 2; i++) {
        int high = str_hex_digit(hex.ptr[2 * i]), low = str_hex_digit(hex.ptr[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (char)(high << 4 | low);
    }
    *ret = str_mem(bytes, hex.len / 2);
    return true;
}

static bool link_state_read_object(const json_t *root, struct arena *a, struct link_state *s)
{
    const char *message = json_string_value(json_object_get(root, "message"));

    s->stands = link_state_word(root, "stands", link_stands, LINK_STANDS);
    s->reason = link_state_word(root, "reason", link_reasons, LINK_REASONS);
    if (s->stands == LINK_STANDS || s->reason == LINK_REASONS || message == NULL ||
        !link_state_read_key(root, a, &s->reached.key))
        return false;
    (void)snprintf(s->message, sizeof s->message, "%s", message);
    for (size_t i = 0; i < NUMBERS; i++) {
        const json_t *value = json_object_get(root, numbers[i].key);

        if (value == NULL && i >= NUMBERS_FIRST)
            continue;
        if (!json_is_integer(value))
            return false;
        *(int64_t *)(void *)((char *)s + numbers[i].at) = json_integer_value(value);
    }
    return true;
}

bool link_state_read(struct str text, struct arena *a, struct link_state *ret, struct err *err)
{
    struct link_state s = { .reached = { .key = STR("") } };

    if (text.len > 0) {
        json_t *root = json_loadb(text.ptr, text.len, 0, NULL);
        bool ok = root != NULL && link_state_read_object(root, a, &s);

        json_decref(root);
        if (!ok)
            return err_set(err, ERR_PERMANENT, 0, "it is not the state of a table of a link");
    }
    *ret = s;
    return true;
}

/* ---- writing ---- */

void link_state_write(const struct link_state *s, struct buf *to)
{
    static const char digits[] = "0123456789abcdef";
    struct json_out j = { .to = to };
    struct buf key = BUF_INIT(1 << 20);

    for (size_t i = 0; i < s->reached.key.len; i++) {
        unsigned char byte = (unsigned char)s->reached.key.ptr[i];

        buf_putc(&key, digits[byte >> 4]);
        buf_putc(&key, digits[byte & 15]);
    }
    json_open(&j, '{');
    json_key(&j, "stands");
    json_z(&j, link_stands[s->stands]);
    json_key(&j, "reason");
    json_z(&j, link_reasons[s->reason]);
    json_key(&j, "message");
    json_z(&j, s->message);
    json_key(&j, "key");
    json_str(&j, buf_view(&key));
    for (size_t i = 0; i < NUMBERS; i++) {
        json_key(&j, numbers[i].key);
        json_int(&j, *(const int64_t *)(const void *)((const char *)s + numbers[i].at));
    }
    json_close(&j, '}');
    buf_done(&key);
}

/* ---- how it stands ---- */

void link_state_stand(struct link_state *s, enum link_stands stands, int64_t now_us)
{
    if (s->stands != stands || s->reason != LINK_GOES)
        s->since_us = now_us;
    s->stands = stands;
    s->reason = LINK_GOES;
    s->message[0] = '\0';
    if (stands == LINK_CURRENT)
        s->current_us = now_us;
}

void link_state_stop(struct link_state *s, enum link_reason reason, int64_t now_us,
                     const char *format, ...)
{
    va_list args;

    if (s->reason != reason) /* a run that looks whether it may go on is no other stop */
        s->since_us = now_us;
    s->stands = LINK_STOPPED;
    s->reason = reason;
    va_start(args, format);
    (void)vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
}
