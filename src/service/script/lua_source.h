/* lua_source.h - from the text of a script to a chunk, and from Lua's messages to ours. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define LUA_SOURCE_NAME "=script" /* of the chunk, in Lua's messages */

enum { LUA_CHUNK_MOST = 16 << 20 };

/* Appends the compiled chunk, which only we load: a script loads nothing.  ERR_CONFIG: the text
 * says what is wrong, and in which line and column. */
bool lua_source_compile(struct str script, struct buf *chunk, struct err *err);
/* A message of Lua as one line: "script:3: WHAT" becomes "line 3: WHAT". */
void lua_source_line(struct buf *to, struct str message);
