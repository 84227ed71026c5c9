/* lua_xml.h - XML for Lua scripts: xml.decode, xml.encode.
 *
 * An element is a table: `name`, `attributes` (a table), and its children at 1 to n, which are
 * texts and elements.  Names stay as they are written, with their prefix, and declarations of name
 * spaces are attributes.  Comments and processing instructions are left out; a document type is
 * refused.  Attributes are encoded in the order of their names.
 */
#pragma once

#include <lua.h>

int lua_xml_open(lua_State *L);
