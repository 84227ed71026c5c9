/* cut_edi.c - one part per message, transaction, group or interchange (edi_units.h).  What a part
 * needs around it to be read alone is added; its own bytes stay as they are. */
#include "base/auto.h"
#include "core/format/cut.h"
#include "core/format/edi_units.h"

enum { TAG = 3 }; /* letters of a segment's name in HL7 */

struct edi_plan {
    enum edi_unit unit;
    struct str tag;
};

static bool edi_make_unit(struct cut_rule *r, enum edi_unit unit, struct str tag, struct arena *a)
{
    struct edi_plan *p = ARENA_NEW(a, struct edi_plan);

    *p = (struct edi_plan){ .unit = unit, .tag = tag };
    r->plan = p;
    return true;
}

static bool hl7_make(struct cut_rule *r, struct arena *a, struct err *err)
{
    bool tag = r->text.len == TAG;

    if (str_is(r->text, "message"))
        return edi_make_unit(r, EDI_UNIT_MESSAGE, STR(""), a);
    for (size_t i = 0; i < r->text.len; i++) {
        char c = r->text.ptr[i];

        tag = tag && ((c >= 'A' && c <= 'Z') || (i > 0 && c >= '0' && c <= '9'));
    }
    if (!tag || str_is(r->text, "MSH"))
        return err_set(err, ERR_CONFIG, 0,
                       "`message` or the name of a segment other than MSH is needed, such as OBR");
    return edi_make_unit(r, EDI_UNIT_SEGMENTS, r->text, a);
}

static bool edi_make_level(struct cut_rule *r, struct arena *a, struct err *err)
{
    if (r->text.ptr == NULL)
        return err_set(err, ERR_CONFIG, 0, "what becomes a part is needed");
    return edi_make_unit(r,
                         str_is(r->text, "interchange") ? EDI_UNIT_INTERCHANGE
                         : str_is(r->text, "group")     ? EDI_UNIT_GROUP
                                                        : EDI_UNIT_MESSAGE,
                         STR(""), a);
}

/* ---- the pass ---- */

struct edi_pass {
    struct cut *cut;
    struct edi_units units;
    struct buf head, body, tail; /* of the part that is being read */
    int64_t from;
};

static void edi_pass_done(struct edi_pass *p)
{
    edi_units_done(&p->units);
    buf_done(&p->head);
    buf_done(&p->body);
    buf_done(&p->tail);
}

static bool cut_edi_wrong(struct edi_pass *p)
{
    struct err err;

    (void)edi_units_fail(&p->units, &err);
    return service_fail(p->cut->failure, err.kind == ERR_LIMIT ? DEAD_LIMIT : DEAD_SERVICE_FAILED,
                        "split: %s", err.text);
}

static bool edi_event(struct edi_pass *p, enum edi_units_event e)
{
    struct err err;

    switch (e) {
    case EDI_UNITS_BEGIN:
        buf_clear(&p->head);
        buf_clear(&p->body);
        buf_clear(&p->tail);
        buf_put(&p->head, buf_view(&p->units.head));
        buf_put(&p->tail, buf_view(&p->units.tail));
        p->from = p->units.segment_at;
        return true;
    case EDI_UNITS_BYTES:
        if (buf_append(&p->body, p->units.bytes, &err))
            return true;
        return cut_fail(p->cut, DEAD_LIMIT, p->from, "a part is larger than %d bytes",
                        CUT_PART_MOST);
    case EDI_UNITS_CLOSE: {
        struct str slices[] = { buf_view(&p->head), buf_view(&p->body), buf_view(&p->tail) };
        bool alone = p->head.len + p->tail.len == 0;

        return cut_part(p->cut, (struct str){ 0 }, alone ? slices + 1 : slices, alone ? 1 : 3,
                        p->from);
    }
    default:
        return cut_edi_wrong(p);
    }
}

static bool edi_run(const struct cut_rule *r, struct cut *c, enum edi_kind kind)
{
    const struct edi_plan *plan = r->plan;
    AUTO(edi_pass_done)
    struct edi_pass p = { .cut = c,
                          .head = BUF_INIT(EDI_UNITS_HEAD_MOST + 1),
                          .body = BUF_INIT(CUT_PART_MOST),
                          .tail = BUF_INIT(EDI_UNITS_TAIL_MOST) };
    enum edi_units_event e = EDI_UNITS_MORE;
    struct str piece;

    edi_units_init(&p.units, kind, plan->unit, plan->tag);
    while (e != EDI_UNITS_END) {
        if (!cut_next(c, cut_end(c), &piece))
            return false;
        edi_units_give(&p.units, piece, piece.len == 0);
        while ((e = edi_units_next(&p.units)) != EDI_UNITS_MORE && e != EDI_UNITS_END)
            if (!edi_event(&p, e))
                return false;
    }
    return true;
}

static bool hl7_run(const struct cut_rule *r, struct cut *c)
{
    return edi_run(r, c, EDI_HL7);
}

static bool x12_run(const struct cut_rule *r, struct cut *c)
{
    return edi_run(r, c, EDI_X12);
}

static bool edifact_run(const struct cut_rule *r, struct cut *c)
{
    return edi_run(r, c, EDI_EDIFACT);
}

const struct cutter cut_hl7 = { .key = "hl7", .make = hl7_make, .run = hl7_run };
const struct cutter cut_x12 = { .key = "x12", .make = edi_make_level, .run = x12_run };
const struct cutter cut_edifact = { .key = "edifact", .make = edi_make_level, .run = edifact_run };
