/* intake_table.h - the snapshot behind core/intake.h: gateways, callers, version. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/metrics.h"
#include "core/intake.h"
#include "core/rate.h"

enum { CALLER_GATES = 256 };

/* The rate of one caller.  A caller beyond the first CALLER_GATES shares the gate of another. */
struct caller_gate {
    _Atomic uint64_t caller; /* a hash; 0: free */
    struct rate rate;
};

struct intake_gateway_state {
    struct caller_gate gates[CALLER_GATES];
    struct rate total;
    struct metric accepted, repeated, refused;
    char name[80], labels[128];
    struct intake_gateway_state *next;
};

struct intake_table {
    _Atomic unsigned refs;
    struct config *config;
    int64_t version;
    struct intake_gateway *gateways;
    size_t gateway_count;
    struct intake_caller *callers; /* sorted by name */
    size_t caller_count;
    struct sha256 admin_token;
    struct arena arena;
};

struct intake_table *intake_table_ref(struct intake_table *t);
void intake_table_unref(struct intake_table *t);
void intake_table_sort(struct intake_table *t); /* after filling it */

/* The gate of a caller; `user` is the name of a CALLER_BASIC. */
struct rate *intake_gate(struct intake_gateway_state *s, int64_t caller, struct str user);

/* Of the port: find and check_key. */
const struct intake_gateway *intake_find(const struct intake_table *t, struct str name);
enum intake_auth intake_check_key(const struct intake_table *t, const struct intake_gateway *g,
                                  struct str key, const struct intake_caller **ret);
bool intake_is_admin(const struct intake_table *t, struct str token);
/* The caller of a key that is good for some gateway, from this address; 0 for none. */
int64_t intake_caller_of(const struct intake_table *t, struct str key, struct str address);
/* Takes over what is known of the last uses of keys that both tables have. */
void intake_table_carry(struct intake_table *t, const struct intake_table *from);
