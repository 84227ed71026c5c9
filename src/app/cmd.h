/* cmd.h - the verbs: `demo`, and those that talk to a running node; each has a file of its own. */
#pragma once

#include "app/verb.h"

extern const struct verb cmd_demo;
extern const struct verb cmd_check;
extern const struct verb cmd_apply;
extern const struct verb cmd_config;
extern const struct verb cmd_rehearse;
extern const struct verb cmd_try;
extern const struct verb cmd_test;
extern const struct verb cmd_send;
extern const struct verb cmd_key;
extern const struct verb cmd_role;
extern const struct verb cmd_secret;
extern const struct verb cmd_hash;
extern const struct verb cmd_user;
extern const struct verb cmd_docs;
extern const struct verb cmd_dead;
extern const struct verb cmd_hold;
extern const struct verb cmd_alerts;
extern const struct verb cmd_audit;
extern const struct verb cmd_batches;
extern const struct verb cmd_jobs;
extern const struct verb cmd_repl;
extern const struct verb cmd_records;
extern const struct verb cmd_node;
extern const struct verb cmd_doctor;
extern const struct verb cmd_probe;
extern const struct verb cmd_backup;
extern const struct verb cmd_restore;
extern const struct verb cmd_migrate;
extern const struct verb cmd_retention;
extern const struct verb cmd_compact;
