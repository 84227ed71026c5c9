/* splitting.h - what a `split` makes of a text, as one text. */
#pragma once

#include "stepping.h"

/* The parts as "a|b|c"; "-": no document comes out; "!MESSAGE": it failed. */
static const char *split_text(struct step *s, struct str in)
{
    static char text[1 << 16];
    size_t n = 0;

    text[0] = '\0';
    if (!step_run(s, in))
        return "the pieces made a difference";
    if (!s->ok)
        (void)snprintf(text, sizeof text, "!%s", s->failure.message);
    else if (s->m.is_none)
        return "-";
    for (size_t i = 0; s->ok && i < s->m.part_count; i++) {
        struct str part = service_memory_bytes(&s->m, i);

        if (s->m.parts[i].head.parts != (int64_t)s->m.part_count)
            return "the number of parts is wrong";
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", i > 0 ? "|" : "", STR_ARG(part));
    }
    return text;
}

struct split_case {
    const char *yaml;
    const char *in;
    const char *want; /* of a failure: how it begins */
};

static bool split_is(const struct split_case *c)
{
    AUTO(step_done) struct step s = step_of(&service_split, c->yaml);

    if (s.self == NULL) {
        printf("# %s: %s\n", c->yaml, s.err.text);
        return false;
    }
    const char *got = split_text(&s, str_of(c->in));
    bool is =
        c->want[0] == '!' ? strncmp(got, c->want, strlen(c->want)) == 0 : strcmp(got, c->want) == 0;

    if (!is)
        printf("# %s\n# of     %s\n# wanted %s\n# got    %s\n", c->yaml, c->in, c->want, got);
    return is && s.failure.code != DEAD_LIMIT;
}
