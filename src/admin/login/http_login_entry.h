/* http_login_entry.h - one request of http_login.h, from its head to its answer; for those who work
 * on it at a desk. */
#pragma once

#include "admin/login/login.h"
#include "admin/login/principal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/http_server.h"
#include "core/http_user.h"
#include "engine/threads/background.h"
#include "store/audit/audit.h"

struct entry_way;

struct entry {
    struct http_user user; /* first: http_user.h */
    unsigned magic;
    struct login *login;
    struct http_request *request; /* NULL: the client is gone */
    const struct entry_way *way;
    struct background_job job;
    bool away; /* somewhere else: it comes back to the loop */

    /* Copies of what is needed of the head. */
    struct arena arena;
    struct str address, agent, host, path, query, flow;
    bool secure, is_form;
    struct principal who; /* by the cookie it came with; perhaps nobody */

    struct buf body;
    struct str name, password;
    const char *hash; /* against which the password is checked; NULL: it is not */

    /* The answer. */
    int status;
    const char *ctype;
    struct buf fields, answer;
};

/* A page of login_page.h. */
void entry_page(struct entry *e, int status, const char *title, struct str text);
/* 303 to a path or address of ours. */
void entry_go(struct entry *e, struct str to);
/* A line of the audit log about a user, by that user. */
struct audit_entry entry_audit(const struct entry *e, struct str user, const char *action,
                               const char *how);
/* Logged in: a session and its cookie.  Blocks.  False: the answer says why not. */
bool entry_begin_session(struct entry *e, struct str user, const char *how);
