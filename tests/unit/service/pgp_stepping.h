/* pgp_stepping.h - steps of OpenPGP with the keys of pgp_samples.h. */
#pragma once

#include "base/json.h"
#include "pgp_samples.h"
#include "stepping.h"

/* 2026-11-20, behind the messages of the samples. */
#define PGP_NOW (INT64_C(1795132800) * 1000000)

/* Options of a step: names and values in turn, up to NULL; a name that ends with "..." goes on with
 * the list that it began. */
__attribute__((unused)) static struct step pgp_step(const struct service_type *type,
                                                    const char *const *options)
{
    AUTO(buf_done) struct buf yaml = BUF_INIT(1 << 20);

    buf_printf(&yaml, "%s: {", type->kind.name);
    for (size_t i = 0; options[i] != NULL; i += 2) {
        bool list = options[i + 2] != NULL && strcmp(options[i + 2], "...") == 0;
        bool more = strcmp(options[i], "...") == 0;

        if (!more)
            buf_printf(&yaml, "%s\"%s\": %s", i > 0 ? ", " : " ", options[i], list ? "[" : "");
        buf_puts(&yaml, more ? ", \"" : "\"");
        json_escape(&yaml, str_of(options[i + 1]));
        buf_printf(&yaml, "\"%s", more && !list ? "]" : "");
    }
    buf_puts(&yaml, " }\n");
    struct step s = step_of(type, yaml.ptr);

    s.document.received_us = PGP_NOW;
    return s;
}

#define PGP_STEP(type, ...) pgp_step((type), (const char *const[]){ __VA_ARGS__, NULL, NULL, NULL })

/* What made the step impossible. */
__attribute__((unused)) static bool pgp_refuses(const struct service_type *type,
                                                const char *const *options, const char *why)
{
    AUTO(step_done) struct step s = pgp_step(type, options);
    bool is = s.self == NULL && s.err.kind == ERR_CONFIG && strstr(s.err.text, why) != NULL;

    if (!is)
        printf("# wanted: %s\n# got: %s\n", why, s.self != NULL ? "a step" : s.err.text);
    return is;
}

#define PGP_REFUSES(type, why, ...) \
    pgp_refuses((type), (const char *const[]){ __VA_ARGS__, NULL, NULL, NULL }, (why))

/* Pieces of any size give the plain text. */
__attribute__((unused)) static bool pgp_gives(struct step *s, struct str in, const char *out)
{
    bool is =
        s->self != NULL && step_run(s, in) && s->ok && str_eq(buf_view(&s->m.out), str_of(out));

    if (s->self == NULL)
        printf("# %s\n", s->err.text);
    return is;
}

/* The result of one run, without comparing sizes of pieces: no two messages are the same. */
__attribute__((unused)) static bool pgp_makes(struct step *s, struct str in)
{
    if (s->self == NULL) {
        printf("# %s\n", s->err.text);
        return false;
    }
    step_run_pieces(s, in, 0);
    if (!s->ok)
        printf("# %s\n", s->failure.message);
    return s->ok;
}
