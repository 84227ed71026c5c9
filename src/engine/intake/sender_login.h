/* sender_login.h - the user name and password of a sender: `verify` of core/intake.h.
 *
 * A right pair that is remembered passes at once.  Any other counts as an attempt of the account
 * and of the address (login_limit.h) before its hash is computed; the limits are apart from those
 * of people, so that a sender with an old password does not lock the console of its network out.
 */
#pragma once

#include "core/intake.h"

bool sender_login_verify(struct intake *in, const struct sender_login *login,
                         struct intake_answer *ret_refusal);
