/* link_settings.h - what the configuration says of a table of a link, ready to use.
 *
 * The configuration makes a job of each table of a link, LINK/TABLE, and one of each rule of
 * `verify` for each table (core/config_link_jobs.c).  The settings of such a job have all that it
 * needs of the link and of its two databases; here they become a struct link_spec, with the secrets
 * in it.
 *
 * Ownership: everything is on the arena of the settings.
 * Threads: any; reading ${file:} may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "core/settings.h"
#include "link/link_spec.h"

struct config;

enum link_verify_mode {
    LINK_VERIFY_FULL,
    LINK_VERIFY_COUNT,
    LINK_VERIFY_SAMPLE,
    LINK_VERIFY_RECENT,
    LINK_VERIFY_MODES
};
extern const char *const link_verify_modes[LINK_VERIFY_MODES]; /* "full" ... */

/* A rule of `verify`. */
struct link_verify {
    enum link_verify_mode mode;
    bool repair;
    int64_t most;     /* with more differences nothing is repaired */
    int64_t rate;     /* rows a second; 0: no limit */
    int64_t share;    /* LINK_VERIFY_SAMPLE: of the table, in thousandths */
    int64_t every_us; /* how often replication of the table runs, at least */
};

/* Of the settings of a job of kind replicate or verify; they have `connectors`.  ERR_CONFIG, or the
 * error of a secret: it cannot run here. */
bool link_settings_read(const struct settings *s, struct link_spec *ret, struct err *err);
/* One of `databases` of a configuration, whose root is s->node; without a table. */
bool link_settings_database(const struct settings *s, struct str name, struct link_end *ret,
                            struct err *err);
/* The rule of a job of kind verify. */
bool link_settings_verify(const struct settings *s, struct link_verify *ret, struct err *err);

/* Of a table of a link, without being its job: `base` has what settings need beside their node.
 * ERR_CONFIG: the configuration has no such link or table. */
bool link_settings_table(const struct config *c, const struct settings *base, struct str link,
                         struct str table, struct link_spec *ret, struct err *err);
