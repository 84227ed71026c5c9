/* answering.h - questions of other locations, answered by a side that is here.
 *
 *     message_take()     what is asked, of which table
 *     answering_fit()    the part of the table that the question is about
 *     answering_put()    asks the side, and writes the answer
 *
 * Nothing that comes is believed: columns are those of the table as it is described here, limits
 * are ours, and statements are planned here.
 */
#pragma once

#include "table/away/message.h"

/* The rights over a table that a question needs. */
enum answering_right { ANSWERING_READ = 1, ANSWERING_APPLY = 2, ANSWERING_INSTALL = 4 };

/* Of a whole question; it lends from `frame`, and the rest is in the arena. */
bool message_take(struct str frame, struct arena *a, struct message *ret, void **ret_question,
                  struct err *err);
/* Any of these rights is enough. */
unsigned answering_needs(enum side_what what);
/* ERR_CONFIG: the table is not what whoever asks takes it for. */
bool answering_fit(const struct message *m, const struct shape *shape, struct arena *a,
                   struct fit **ret, struct err *err);
/* Appends the frame of the answer, or of the error of the side.  False: it does not fit into `to`,
 * or the side cannot be used any more; *err is that of the side then, and is in `to` as well. */
bool answering_put(struct side *s, enum side_what what, const void *question, struct arena *a,
                   struct buf *to, struct err *err);
/* Of a question that the location answers, not its database. */
bool answering_put_answer(enum side_what what, void *answer, struct buf *to, struct err *err);
void answering_put_error(struct buf *to, const struct err *why);
