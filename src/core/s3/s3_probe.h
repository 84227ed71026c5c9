/* s3_probe.h - a probe of an S3 service (core/probing/probing.h): name, connect, TLS, clock, login,
 * bucket.
 *
 * It asks for an object that is not there; nothing is stored.  Whether an object could be stored is
 * not tried: one that is stored and deleted again may stay behind as a version.
 *
 * Threads: one that may block.
 */
#pragma once

#include "core/probing/probing.h"
#include "core/s3/s3_request.h"

struct call;

/* bucket: empty if it depends on the document.  False: a step has failed. */
bool s3_probe(const struct s3_service *service, struct str bucket, struct call *c,
              struct probing *p);
