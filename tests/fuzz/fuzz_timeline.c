/* fuzz_timeline.c - any bytes as the timeline of a document, and as its facts.
 *
 * Both stand in rows of the store: what is read comes back when it is written again, and
 * nothing outside of the bytes is touched.
 *
 *     clang -fsanitize=fuzzer,address,undefined -g -D_GNU_SOURCE -Isrc tests/fuzz/fuzz_timeline.c \
 *         src/core/{timeline,facts}.c src/base/{alloc,arena,buf,err,require,str}.c -o
 * build/fuzz_timeline build/fuzz_timeline -max_total_time=60 tests/fuzz/corpus/timeline
 */
#include "base/auto.h"
#include "base/require.h"
#include "core/facts.h"
#include "core/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_inside(struct str part, struct str whole)
{
    require(part.len == 0 ||
            (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len));
}

static bool same(const struct timeline_line *a, const struct timeline_line *b)
{
    return a->at_us == b->at_us && a->node == b->node && a->stage == b->stage &&
           a->outcome == b->outcome && a->took_us == b->took_us && a->attempt == b->attempt &&
           a->status == b->status && a->config == b->config && str_eq(a->what, b->what) &&
           str_eq(a->message, b->message) && a->has_bytes == b->has_bytes && a->seg == b->seg &&
           a->pos == b->pos && a->num == b->num && a->size == b->size &&
           memcmp(&a->sha256, &b->sha256, sizeof a->sha256) == 0;
}

static void check_line(const struct timeline_line *line, struct str in)
{
    AUTO(buf_done) struct buf b = BUF_INIT(TIMELINE_MOST);
    struct timeline_line again;
    bool damaged;

    require(timeline_stages[line->stage] != NULL && timeline_outcomes[line->outcome] != NULL);
    check_inside(line->what, in);
    check_inside(line->message, in);
    timeline_add(&b, line);
    struct timeline_reader r = timeline_read(buf_view(&b));

    require(timeline_next(&r, &again, &damaged));
    require(line->what.len > TIMELINE_TEXT_MOST || line->message.len > TIMELINE_TEXT_MOST ||
            same(line, &again));
    require(!timeline_next(&r, &again, &damaged) && !damaged);
}

static void try_trail(struct str in)
{
    AUTO(buf_done) struct buf joined = BUF_INIT(TIMELINE_MOST);
    struct timeline_reader r = timeline_read(in);
    struct timeline_line line;
    bool damaged;

    while (timeline_next(&r, &line, &damaged)) {
        check_line(&line, in);
        timeline_add(&joined, &line);
    }
    require(r.rest.len == 0);
    require(joined.len <= TIMELINE_MOST);
    for (r = timeline_read(buf_view(&joined)); timeline_next(&r, &line, &damaged);)
        ;
    require(!damaged);
}

static void try_facts(struct str in)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(FACTS_BYTES_MOST), c = BUF_INIT(FACTS_BYTES_MOST);
    struct facts facts = { 0 }, again = { 0 };

    if (!facts_read(in, &a, &facts)) {
        require(facts.attributes == NULL && facts.sender.ptr == NULL);
        return;
    }
    check_inside(facts.sender, in);
    check_inside(facts.receiver, in);
    check_inside(facts.type, in);
    for (size_t i = 0; i < facts.attribute_count; i++) {
        check_inside(facts.attributes[i].name, in);
        check_inside(facts.attributes[i].value, in);
        require(facts_attribute(&facts, facts.attributes[i].name).ptr != NULL);
    }
    facts_write(&facts, &b);
    require(facts_read(buf_view(&b), &a, &again));
    require(!facts_fit(&facts) || again.attribute_count == facts.attribute_count);
    facts_write(&again, &c);
    require(str_eq(buf_view(&b), buf_view(&c)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_trail(str_mem(bytes, size));
    try_facts(str_mem(bytes, size));
    return 0;
}
