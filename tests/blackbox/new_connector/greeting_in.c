/* greeting_in.c - a text of the configuration becomes a document, once.
 *
 *     hello: { kind: greeting, text: "good morning", every: 1s }
 */
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"

struct greeting {
    struct str text;
};

static const struct option options[] = {
    OPTION("text", OPT_TEXT, "what the document says", .flags = OPT_REQUIRED),
    OPTIONS(grammar_every),
    { 0 },
};

static bool greeting_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct greeting *self = ARENA_NEW(s->arena, struct greeting);

    *ret_self = self;
    if (!settings_text(s, "text", &self->text, err))
        return false;
    return self->text.len > 0 || err_set(err, ERR_CONFIG, 0, "`text` is empty");
}

static void greeting_unmake(void *self)
{
    (void)self; /* all of it hangs on the arena */
}

/* The key names the source for ever: the same text again is the same document. */
static bool greeting_look(void *arg, const struct deposit_port *port, void *deposit,
                          int64_t *ret_taken, struct err *err)
{
    const struct greeting *self = arg;
    bool repeated = false;
    struct deposit *d;
    struct id id;

    if (!port->open(deposit, STR("greeting"), STR("text/plain"), &d, err))
        return false;
    if (!port->put(d, self->text, err)) {
        port->abandon(d);
        return false;
    }
    if (!port->commit(d, self->text, &id, &repeated, err))
        return false;
    *ret_taken = repeated ? 0 : 1;
    return true;
}

const struct gateway_type gateway_greeting = {
    .kind = { .name = "greeting", .help = "a text, once", .keys = options },
    .make = greeting_make,
    .look = greeting_look,
    .unmake = greeting_unmake,
};
