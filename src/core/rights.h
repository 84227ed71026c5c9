/* rights.h - what a principal may do, and for which systems.
 *
 * A role is a list of rights, for all systems or for named ones; several roles together allow what
 * any of them allows.  The first rights are about documents: they apply where the sender or the
 * receiver is in scope.  The others are about the whole node and apply only with all systems.
 * Pure: no store, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The names are those of `enum Right` in schema.graphql. */
enum right {
    RIGHT_ANY = 0,   /* every principal that is logged in */
    RIGHT_SEE,       /* history: documents, deliveries, timelines, queues */
    RIGHT_PAYLOAD,   /* view payloads */
    RIGHT_DOWNLOAD,  /* download payloads */
    RIGHT_RETRY,     /* retry, cancel, discard, resolve */
    RIGHT_EDIT,      /* edit and resubmit, send by hand */
    RIGHT_HOLD,      /* holds of systems */
    RIGHT_OPERATE,   /* pauses, backups, retention */
    RIGHT_CONFIGURE, /* versions, keys of gateways, secrets */
    RIGHT_USERS,     /* users, roles, their sessions and keys */
    RIGHT_AUDIT,     /* read the audit log */
    RIGHT_WORK,      /* hand jobs over to this node */
    RIGHT_PEER,      /* ask for tables, as far as `peers` allows it */
    RIGHTS
};

enum { RIGHTS_SYSTEMS_MOST = 200 };

struct rights {
    unsigned everywhere; /* bits 1 << right */
    struct {
        unsigned bits;
        struct str system;
    } at[RIGHTS_SYSTEMS_MOST]; /* one entry for each named system */
    size_t count;
};

const char *right_word(enum right r);
bool right_find(struct str word, enum right *ret);
/* The right is about documents, and may be limited to systems. */
bool right_is_scoped(enum right r);

/* All rights, for the holder of the node's token. */
extern const struct rights rights_all;

/* The built-in roles: admin, operator, viewer, auditor, worker, peer; for all systems. */
struct rights_role {
    const char *name, *title;
    unsigned bits;
};

extern const struct rights_role rights_roles[];
extern const size_t rights_role_count;
const struct rights_role *rights_role_find(struct str name); /* NULL: not a built-in role */

/* Adds the rights in `bits` for one system, or for all when system.ptr is NULL.  The text is lent.
 * False: there is no room for another system. */
bool rights_add(struct rights *r, unsigned bits, struct str system);

/* Has the right for at least one system. */
bool rights_has(const struct rights *r, enum right right);
/* Has the right for all systems. */
bool rights_everywhere(const struct rights *r, enum right right);
/* Has the right for a document of this sender and receiver (empty: none), or for a system. */
bool rights_cover(const struct rights *r, enum right right, struct str sender, struct str receiver);
bool rights_cover_system(const struct rights *r, enum right right, struct str system);
