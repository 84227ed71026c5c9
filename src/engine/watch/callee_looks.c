#include "engine/watch/callee_looks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/asking/calling.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "store/govern/failing.h"

#define REJECTS "the service rejects everything"
#define FAILS   "the service does not answer as it should"

enum { TOLD_MOST = CALLEE_WHY + 160 };

struct callee_told {
    int64_t word;
    bool is_known;        /* that the store has it so: not after a start */
    char text[TOLD_MOST]; /* empty: nothing is wrong */
};

void callee_looks_done(struct callee_looks *l)
{
    free(l->told);
    *l = (struct callee_looks){ 0 };
}

bool callee_looks_is_rejecting(struct str message)
{
    return str_starts(message, STR(REJECTS));
}

static bool tell(struct store *s, struct callee_told *t, const char *text, struct err *err)
{
    if (t->is_known && strcmp(t->text, text) == 0)
        return true;
    if (!(text[0] != '\0' ? failing_put(s, t->word, str_of(text), err)
                          : failing_drop(s, t->word, err)))
        return false;
    (void)snprintf(t->text, sizeof t->text, "%s", text);
    t->is_known = true;
    return true;
}

static bool asks(const struct plan *p, int64_t word)
{
    for (const struct plan_asking *a = p->asking; a != NULL; a = a->next)
        if (a->word == word)
            return true;
    return false;
}

/* Steps that are gone have nothing to tell any more. */
static bool meet_plan(struct callee_looks *l, struct store *s, const struct plan *p,
                      struct err *err)
{
    if (l->version == p->version)
        return true;
    for (size_t i = 0; i < l->count; i++)
        if (!asks(p, l->told[i].word) && !tell(s, &l->told[i], "", err))
            return false;
    callee_looks_done(l);
    l->told = xcalloc(p->asking_count + 1, sizeof *l->told);
    for (const struct plan_asking *a = p->asking; a != NULL; a = a->next)
        l->told[l->count++].word = a->word;
    l->version = p->version;
    return true;
}

bool callee_looks_report(struct callee_looks *l, struct store *s, struct road *r,
                         const struct plan *p, struct err *err)
{
    if (!meet_plan(l, s, p, err))
        return false;
    struct callee_told *t = l->told;

    for (const struct plan_asking *a = p->asking; a != NULL; a = a->next, t++) {
        struct callee_look look = calling_look(road_calling(r), a->service);
        char text[TOLD_MOST] = "";

        if (look.open)
            (void)snprintf(
                text, sizeof text,
                "%s (%s): its breaker is open, documents wait for it, one probes now and "
                "then",
                look.rejecting ? REJECTS : FAILS, look.why);
        if (!tell(s, t, text, err))
            return false;
    }
    return true;
}
