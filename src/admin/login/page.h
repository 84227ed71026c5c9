/* page.h - pages that need no console: the form to choose a password, and messages.  Plain HTML
 * without script; every text is escaped. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Header fields of such a page: a Content-Security-Policy that allows only its own style. */
void login_page_fields(struct buf *fields);

/* The form behind a link; `user` is empty for the first user, who chooses a name, too.  `problem`,
 * if not empty, says why the last input was refused. */
void login_page_choose(struct buf *to, struct str user, struct str problem);
/* A message with a link to continue. */
void login_page_say(struct buf *to, const char *title, struct str text);
