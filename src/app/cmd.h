/* cmd.h - the verbs that ask a running node: each is a table in its own file. */
#pragma once

#include "app/verb.h"

extern const struct verb cmd_apply;
extern const struct verb cmd_config;
extern const struct verb cmd_send;
extern const struct verb cmd_key;
extern const struct verb cmd_secret;
extern const struct verb cmd_docs;
extern const struct verb cmd_dead;
extern const struct verb cmd_doctor;
