/* xml_library.h - documents read by libxml2, without everything that reaches out.
 *
 * Parses with no network, no external files, no entities, no XInclude, and within libxml2's own
 * limits of depth and size.
 *
 * The settings of the library are global: a process that uses it so uses it for nothing else.
 */
#pragma once

#include <libxml/tree.h>

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* Before anything else; more often is fine. */
void xml_library_begin(void);

/* `name` is the document's in messages of the library; may be NULL.  NULL: not well-formed, or with
 * something that is refused; ERR_PERMANENT with its line. */
xmlDocPtr xml_library_read(struct str bytes, const char *name, struct err *err);

/* ERR_PERMANENT: a character set that libxml2 does not convert by itself.  An empty name is fine.
 */
bool xml_library_check_charset(struct str name, struct err *err);
