#include "engine/road/naming.h"

#include "base/auto.h"
#include "core/facts.h"
#include "engine/road/state.h"
#include "store/road/settle.h"

int64_t naming_word(struct road *r, enum name_kind kind, struct str name)
{
    int64_t word;

    return name.ptr != NULL && name_find(r->store, kind, name, &word) ? word : 0;
}

void naming_fill(struct road *r, const struct facts *facts, const struct plan_route *route,
                 struct arena *a, struct settle_op *ret)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(FACTS_BYTES_MOST);
    struct facts x = *facts;

    ret->has_facts = true;
    ret->sender = x.sender_unknown ? 0 : naming_word(r, NAME_SYSTEM, x.sender);
    ret->receiver = x.receiver_unknown ? 0 : naming_word(r, NAME_SYSTEM, x.receiver);
    ret->type = naming_word(r, NAME_TYPE, x.type);
    x.type_unknown = ret->type == 0 && x.type.ptr != NULL;
    ret->route = route != NULL ? route->word : 0;
    if (ret->end == SETTLE_JOIN) /* a new way begins with the batch, from the facts as they are */
        x.begin = (struct facts_begin){ 0 };
    facts_write(&x, &bytes);
    ret->facts = bytes.len > 0 ? arena_copy(a, buf_view(&bytes)) : (struct str){ 0 };
}
