#include "link/link_spec.h"

bool link_end_open(const struct link_end *end, struct call *call, struct side *side,
                   struct err *err)
{
    struct database_address address = end->address;

    if (end->away != NULL)
        return side_away_open(side, end->away, call, err);
    address.call = call;
    side->type = end->type;
    return end->type->open(&address, &side->db, err);
}

struct side link_side_of(const struct link_spec *spec, bool is_source)
{
    const struct link_end *end = is_source ? &spec->source : &spec->dest;

    return (struct side){ .type = end->type,
                          .at = end->table,
                          .is_source = is_source,
                          .capture = spec->capture,
                          .link = spec->link,
                          .table = spec->table };
}
