/* xslt_library.h - libxslt, without everything that reaches out.
 *
 * Style sheets are read as xml_library.h reads documents; a transformation is forbidden every read
 * and write.
 *
 * The settings of the libraries are global: a process that runs a style sheet runs nothing else
 * with them.
 */
#pragma once

#include <libxml/tree.h>
#include <libxslt/xsltInternals.h>

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Before anything else; more often is fine. */
void xslt_library_begin(void);

/* NULL with ERR_CONFIG: the text says what is wrong, and in which line. */
xsltStylesheetPtr xslt_library_sheet(struct str text, struct err *err);
/* Forbids the transformation to read and write.  False: no memory. */
bool xslt_library_lock(xsltTransformContextPtr transform);

/* A handler of errors: appends to `arg`, a buf; what is over its cap is left out. */
void xslt_library_hear(void *arg, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* From here on libxslt's errors go to `said`, the first one of libxml2 to `cause` as one line;
 * NULL: they end. */
void xslt_library_listen(struct buf *said, struct buf *cause);
/* The first error of what libxslt said, as one line: "line 3: MESSAGE".  False: there is no error,
 * and the line is the last text of xsl:message. */
bool xslt_library_line(struct buf *to, struct str said);
