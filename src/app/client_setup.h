/* client_setup.h - which node the client talks to, and with which token. */
#pragma once

#include <stdbool.h>

#include "app/client.h"

enum { CLIENT_TOKEN_CAP = 4096 };

/* Checks --url and stores it in the client; false: the error is printed. */
bool client_setup_url(struct client *c, const struct args *a);

/* Finds the token: --token, $WAYBILL_TOKEN, $WAYBILL_DATA/token, ./data/token.  The files hold the
 * token of a node on this machine and are read for such a node alone: no other one gets it by
 * accident.  No token is no failure: the node may not need one. */
bool client_setup_token(struct client *c, const struct args *a);
