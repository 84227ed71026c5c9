/* sftp_probe.h - a probe of an SFTP server: name, connect, host key, login, folder, rights.
 *
 * Threads: one that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/probing/probing.h"

struct call;
struct sftp_place;

/* `writes`: files are made, renamed and removed in the folder; else that is not tried.  False: a
 * step has failed. */
bool probing_sftp(const struct sftp_place *place, bool writes, int64_t timeout_us, struct call *c,
                  struct probing *p);
