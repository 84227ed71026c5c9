/* sql_wire.h - the messages between a caller and the process of a connection.
 *
 * They are made of frames (cage/frame.h); one that is longer than a frame has several of its kind,
 * the last with FRAME_LAST.  Texts have their length in front (base/varint.h).
 *
 * Conversation
 *   caller    OPEN                             process   OPENED or FAILED
 *   caller    RUN...                           process   RESULT... or FAILED
 *   caller    FETCH                            process   ROW...... then MORE or END, or FAILED
 *   caller    COMMIT or ROLLBACK               process   DONE or FAILED
 *   caller    DESCRIBE...                      process   RESULT... or FAILED
 *   caller    LEAVE                            process   ends the connection and itself
 *
 *   OPEN      struct sql_wire_open as texts, in its order
 *   OPENED    name and version of the database, as a text
 *   RUN       the statement; varint number of values, each u8 kind and a text
 *   DESCRIBE  as RUN; the statement is prepared and not run, of its values only the number counts
 *   RESULT    varint affected + 1; varint number of columns, each u8 kind and a name
 *   ROW       for each column u8 kind and a text
 *   FAILED    u8 fault, u8 whether the connection is gone, u32 native, state, text
 *
 * Threads: pure, but for sql_wire_writer, whose owner sends.
 */
#pragma once

#include "base/buf.h"
#include "base/varint.h"
#include "cage/frame.h"
#include "sql/sql_failure.h"
#include "sql/sql_link.h"

enum sql_word {
    SQL_WORD_OPEN = FRAME_SQL_FIRST,
    SQL_WORD_RUN,
    SQL_WORD_FETCH,
    SQL_WORD_COMMIT,
    SQL_WORD_ROLLBACK,
    SQL_WORD_OPENED,
    SQL_WORD_RESULT,
    SQL_WORD_ROW,
    SQL_WORD_MORE,
    SQL_WORD_END,
    SQL_WORD_DONE,
    SQL_WORD_FAILED,
    SQL_WORD_DESCRIBE,
    SQL_WORD_LEAVE
};

_Static_assert((int)SQL_WORD_LEAVE <= (int)FRAME_SQL_LAST, "frame.h has room for them");

enum {
    SQL_WIRE_RUN_MOST = SQL_VALUE_MOST + (4 << 20),
    SQL_WIRE_ROW_MOST = SQL_ROW_MOST + (2 << 20)
};

/* Sent once.  Empty: there is none. */
struct sql_wire_open {
    struct str connect, driver, file, ca, drivers; /* drivers: the folder of odbcinst.ini */
    struct str port, login_seconds;                /* numbers */
};

void sql_wire_put_open(struct buf *to, const struct sql_wire_open *o);
bool sql_wire_take_open(struct str body, struct sql_wire_open *ret);

void sql_wire_put_failure(struct buf *to, const struct sql_failure *f, bool gone);
bool sql_wire_take_failure(struct str body, struct sql_failure *ret, bool *ret_gone);

/* A message of any length, of which a frame is sent when it is full. */
struct sql_wire_writer {
    enum sql_word word;
    struct buf *to;
    bool (*flush)(void *arg); /* sends all that is in `to`, and empties it */
    void *arg;
    size_t begun;
    bool failed;
};

void sql_wire_begin(struct sql_wire_writer *w, enum sql_word word);
void sql_wire_number(struct sql_wire_writer *w, uint64_t n);
void sql_wire_text(struct sql_wire_writer *w, struct str text);
void sql_wire_datum(struct sql_wire_writer *w, const struct datum *d);
bool sql_wire_end(struct sql_wire_writer *w); /* false: it could not be sent */

/* Take a value off the front. */
bool sql_wire_take_datum(struct str *from, struct datum *ret);
