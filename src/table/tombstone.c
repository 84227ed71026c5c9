#include "table/tombstone.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/str.h"
#include "table/side.h"
#include "table/side_question.h"

enum { TOMBSTONES = 500 /* of one transaction */ };

#define TOMBSTONE_SLICE_US (250 * CLOCK_MS)

static int64_t tombstone_switch(int64_t us)
{
    const char *ms = fault_switch("WAYBILL_TEST_LINK_TOMBSTONE_MS");
    int64_t n;

    return ms != NULL && str_to_i64(str_of(ms), &n) ? n * CLOCK_MS : us;
}

int64_t tombstone_age_us(void)
{
    return tombstone_switch(30 * TOMBSTONE_DAY_US);
}

int64_t tombstone_wait_us(void)
{
    return tombstone_switch(TOMBSTONE_DAY_US / 24);
}

bool side_prune(struct side *s, int64_t below, bool *ret_over, struct err *err)
{
    int64_t until_us = clock_mono_us() + TOMBSTONE_SLICE_US, removed = TOMBSTONES;

    *ret_over = true;
    if (s->away != NULL || s->type->prune == NULL || s->capture.kind != CAPTURE_JOURNAL)
        return true;
    while (removed == TOMBSTONES && clock_mono_us() < until_us)
        if (!s->type->begin(s->db, DATABASE_WRITE, err) ||
            !side_end(
                s,
                s->type->prune(s->db, s->fit, below, tombstone_age_us(), TOMBSTONES, &removed, err),
                err))
            return false;
    *ret_over = removed < TOMBSTONES;
    return true;
}
