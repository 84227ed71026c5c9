/* Whatever a process of a cage says, its caller keeps the invariants of the conversation. */
#include <stdint.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/require.h"
#include "cage/talk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { JOBS = 4, OUTPUT = 1000, LARGE = 300 << 10 };

struct case_of_talk {
    struct cage_job jobs[JOBS];
    struct service_memory memory[JOBS];
    struct service_document document;
    struct facts facts;
    struct arena arena;
};

static bool fails(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    (void)io;
    (void)piece;
    return service_fail(ret_failure, DEAD_LIMIT, "full");
}

/* One is small, one larger than its frame, the io of one takes nothing. */
static void prepare(struct case_of_talk *c)
{
    static const char large[LARGE];
    const struct str in[JOBS] = { STR("a"), str_mem(large, LARGE), STR(""), STR("b") };

    c->arena = (struct arena)ARENA_INIT(16 << 20);
    c->document.facts = &c->facts;
    for (int i = 0; i < JOBS; i++) {
        service_memory_init(&c->memory[i], &c->document, in[i], 4 * OUTPUT, &c->arena);
        c->jobs[i].io = &c->memory[i].io;
    }
    c->memory[2].io.put = fails;
}

static void check(const struct talk *t, const struct case_of_talk *c)
{
    require(t->ended <= t->sent && t->sent <= t->count); /* (1) */
    for (int i = 0; i < JOBS; i++) {
        require(c->memory[i].out.len <= OUTPUT); /* (2) */
        require(c->memory[i].note_count <= SERVICE_NOTES_MOST);
        require(((size_t)i < t->ended) == (c->jobs[i].result != CAGE_NOT_RUN));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct case_of_talk c = { 0 };
    struct str rest = str_mem(bytes, size);
    struct talk t;
    struct frame f;

    prepare(&c);
    talk_init(&t, c.jobs, JOBS, OUTPUT);
    do {
        talk_fill(&t);
        buf_clear(&t.out);
        check(&t, &c);
    } while (t.ended < t.count && frame_take(&rest, &f) == FRAME_TAKEN && talk_hear(&t, &f));
    require(t.ended == t.count || t.broken != NULL || t.answer.overrun || rest.len == 0 ||
            frame_take(&rest, &f) != FRAME_TAKEN);
    talk_rewind(&t);
    talk_done(&t);
    for (int i = 0; i < JOBS; i++)
        service_memory_done(&c.memory[i]);
    arena_done(&c.arena);
    return 0;
}
