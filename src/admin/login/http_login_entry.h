/* http_login_entry.h - one request of http_login.h, from its head to its answer.  Shared by the
 * files that work on it in the background pool. */
#pragma once

#include "admin/login/login.h"
#include "admin/login/principal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/http_server.h"
#include "core/web/http_user.h"
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
    bool away; /* in a background pool; comes back to the loop */

    /* Copies of what is needed of the head. */
    struct arena arena;
    struct str address, agent, host, path, query, flow;
    bool secure, is_form;
    struct principal who; /* by the cookie of the request; may be nobody */

    struct buf body;
    struct str name, password;
    const char *hash; /* stored hash to verify the password against; NULL: none */

    /* The answer. */
    int status;
    const char *ctype;
    struct buf fields, answer;
};

/* Answers with a page of page.h. */
void entry_page(struct entry *e, int status, const char *title, struct str text);
/* Answers with a redirect (303). */
void entry_go(struct entry *e, struct str to);
/* A line of the audit log: the user is actor and object. */
struct audit_entry entry_audit(const struct entry *e, struct str user, const char *action,
                               const char *how);
/* Begins a session and sets its cookie.  Blocks.  False: refused, and the answer says why. */
bool entry_begin_session(struct entry *e, struct str user, const char *how);
