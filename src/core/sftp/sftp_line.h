/* sftp_line.h - connections to SFTP servers as connectors keep them (core/line/line.h).
 *
 * Threads: as of line.h.
 */
#pragma once

#include "base/sftp_client.h"
#include "core/line/line.h"
#include "core/sftp/sftp_place.h"

struct call;

/* Lines are a struct sftp_client.  `self`: a struct sftp_place, or what begins with one. */
extern const struct line_type sftp_line;

/* How long the requests of a call may take.  They end a little before the call would be given up,
 * so that its thread is not lost; as the engine counts: over all for a document that is in memory,
 * else silence. */
struct sftp_client_pace sftp_line_pace(const struct sftp_place *p, struct call *c);
