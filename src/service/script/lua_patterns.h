/* lua_patterns.h - string.find, match, gmatch and gsub of Lua, with regular expressions of PCRE2.
 *
 * Lua's own patterns have no limit; core/regex.h has.  A search that takes too long ends the
 * document, whether or not the script catches its error.  Compiled expressions are kept from
 * document to document.
 */
#pragma once

#include <lauxlib.h>

/* What stands in the table `string`. */
extern const luaL_Reg lua_patterns_functions[];

struct lua_patterns;

struct lua_patterns *lua_patterns_new(void);
void lua_patterns_free(struct lua_patterns *p); /* no search is open; NULL is fine */
