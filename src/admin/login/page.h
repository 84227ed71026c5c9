/* page.h - pages that need no console: a link that lets somebody choose a password, and words
 * of refusal.  Plain HTML without script; every text is escaped. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Fields for such a page: a policy that lets nothing in but its own style. */
void login_page_fields(struct buf *fields);

/* The form of a link; `user` is empty for the first user, who chooses a name too.  `problem`, if
 * not empty, says why the last try did not do. */
void login_page_choose(struct buf *to, struct str user, struct str problem);
/* Something to read, and a way on. */
void login_page_say(struct buf *to, const char *title, struct str text);
