/* ftp_probe.h - a probe of a folder from which files are taken: name, connect, TLS, login, folder,
 * rights, clock.
 *
 * Threads: one that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "core/probing/probing.h"

struct call;
struct ftp_place;

/* `claims`: files are claimed, which takes the rights to make folders, to rename and to remove;
 * they are tried on a folder of our own.  `moved`: into which folder it is renamed then; empty: it
 * stays in that of the place.  False: a step has failed. */
bool ftp_probe(const struct ftp_place *place, bool claims, struct str moved, struct call *c,
               struct probing *p);
