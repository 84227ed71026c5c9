/* grammar.h - everything a configuration file may contain, as tables.
 *
 * grammar_sections is the top level, and everything is reached from it except the keys of one kind
 * of gateway, endpoint or service: those are in the file of the connector, or in planned.c.
 */
#pragma once

#include "core/option.h"

extern const struct option grammar_sections[];

extern const struct option grammar_node[];
extern const struct option grammar_system[];
extern const struct option grammar_type[];
extern const struct option grammar_retention[];
extern const struct option grammar_route[];
extern const struct option grammar_alerts[];
extern const struct option grammar_step; /* one step of a chain */
extern const struct option grammar_batch[];
extern const struct option grammar_auth[];
extern const struct option grammar_oidc[];     /* auth: oidc */
extern const struct option grammar_gateway[];  /* keys of every gateway */
extern const struct option grammar_endpoint[]; /* keys of every endpoint */
extern const struct option grammar_job[];      /* keys of every job */
extern const struct option grammar_database[]; /* keys of every database */
extern const struct option grammar_window[];   /* keys of a window of a job or rule */
extern const struct option grammar_window_each;
extern const struct option grammar_peer[];       /* keys of a peer */
extern const struct option grammar_link[];       /* keys of a link */
extern const struct option grammar_link_table[]; /* keys of a table of a link */
extern const struct option grammar_link_rule[];  /* keys of a rule of `verify` of a link */
extern const struct option_kind grammar_steps[]; /* steps of the engine; { 0 } ends */

/* Tables that several sections share. */
extern const char *const grammar_areas[];
extern const char *const grammar_never[];
extern const char *const grammar_standards[]; /* may replace the keys of `extract` */
extern const struct option grammar_extract[]; /* sender, receiver, type, attributes */
extern const struct option grammar_answer[];

/* A key of endpoints whose receivers mind how many connections they have; count: a text. */
#define OPTION_CONNECTIONS(count)                                                                 \
    OPTION("connections", OPT_INT,                                                                \
           "connections of a node to it, and so deliveries at once, within the `concurrency` of " \
           "its system",                                                                          \
           .least = 1, .most = 1000, .fallback = (count))

enum { GRAMMAR_DEPTH_MOST = 8 }; /* of `depth`: sub folders below each other */

/* Groups that connectors include, so that a key has one name and one meaning everywhere. */
extern const struct option grammar_senders[]; /* auth users idempotency: on HTTP */
extern const struct option grammar_wait[];    /* wait: beside `reply: receiver` */
extern const struct option grammar_every[];   /* every: how often a gateway polls */
extern const struct option grammar_files[]; /* match min_age after depth marker: pickup/pickup.h */
extern const struct option grammar_mounted[];  /* mounted */
extern const struct option grammar_silence[];  /* timeout */
extern const struct option grammar_login[];    /* user password */
extern const struct option grammar_ssh[];      /* private_key passphrase host_key */
extern const struct option grammar_tls[];      /* tls */
extern const struct option grammar_tls_keys[]; /* the keys of `tls` */
extern const struct option grammar_ftp[];      /* url tls */
extern const struct option grammar_s3[];  /* url region style access_key secret_key session_token */
extern const struct option grammar_sql[]; /* dsn */
extern const struct option grammar_headers[];   /* headers */
extern const struct option grammar_file_name[]; /* name */
extern const struct option grammar_exists[];    /* exists: of endpoints that write files */
extern const struct option grammar_limits[];    /* limits: of a step in a process of its own */

/* limits: of such a step, for documents of any size */
extern const struct option grammar_stream_limits[];
extern const struct option grammar_asking[]; /* timeout connect_timeout retry breaker limits: of a
                                              * step that asks another service */

/* For the slot `check` of a gateway that has `wait`: without `reply: receiver` nobody waits. */
void grammar_check_wait(const struct yaml_node *map, struct problem_list *problems);
