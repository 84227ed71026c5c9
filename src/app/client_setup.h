/* client_setup.h - which node, and with which token. */
#pragma once

#include <stdbool.h>

#include "app/client.h"

enum { CLIENT_TOKEN_CAP = 4096 };

/* Check --url and keep it in the client; false has been told. */
bool client_setup_url(struct client *c, const struct args *a);

/* Find the token: --token, $WAYBILL_TOKEN, $WAYBILL_DATA/token, ./data/token.  None
 * is no failure: the node may not want one. */
bool client_setup_token(struct client *c, const struct args *a);
