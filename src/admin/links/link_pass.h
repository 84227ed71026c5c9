/* link_pass.h - a pass of verification as the admin API shows it. */
#pragma once

#include "admin/graphql/graphql.h"
#include "store/replica/pass.h"

struct shown_pass {
    struct pass pass;
    char id[24];
    const char *id_text, *result;
};

/* The newest pass of a table; *ret NULL: there was none. */
bool link_pass_last(struct graphql_call *call, struct str link, struct str table,
                    const struct shown_pass **ret, struct err *err);
/* The pass that an id names.  ERR_PERMANENT: there is none. */
bool link_pass_named(struct graphql_call *call, struct str id, const struct shown_pass **ret,
                     struct err *err);
