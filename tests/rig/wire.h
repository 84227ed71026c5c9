/* wire.h - what the load programs share: sockets, answers, a journal, a clock.
 *
 * The programs that judge the product share no code with it, so this is a plain
 * HTTP/1.1 client of its own: it writes requests as bytes and reads answers that
 * carry a Content-Length.
 *
 * Format of a journal (text, one event per line, times are CLOCK_MONOTONIC in ns)
 *   S KEY SHA256 SIZE TIME      a request is about to be sent for the first time
 *   E KEY KIND SHA256           of its document: of which kind it is, what receivers must get
 *   I KEY TIME                  a file KEY.json lies in the inbox, for ever as far as its sender
 *                               knows
 *   P KEY TIME                  an answered request is sent once more
 *   A KEY STATUS ID TIME        an answer was received; ID is "-" without one
 *   D KEY TIME                  the connection ended before an answer
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_BODY_MAX 4096 /* of an answer; larger ones count as not HTTP */
#define WIRE_IN_MAX   16384

struct wire_answer {
    int status;
    size_t size; /* of head and body together */
    bool close;  /* the server closes after it */
    char id[48]; /* the "document" of a 202, else "-" */
};

/* 1: a whole answer stands at the front; 0: more bytes are needed; -1: not HTTP. */
int wire_parse(const char *bytes, size_t len, struct wire_answer *ret_answer);

/* A non-blocking socket whose connection to 127.0.0.1 has begun; -1 when it cannot. */
int wire_connect(int port);

int64_t wire_now_ns(void);

/* SHA-256 as 64 hex digits and a NUL. */
void wire_sha256(const void *bytes, size_t len, char ret_hex[65]);

/* Opens for appending; ends the program when it cannot. */
int wire_journal_open(const char *path);
/* One line, one write(): a kill of this program never leaves half an event behind others. */
void wire_journal(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole number within limits; ends the program with a message otherwise. */
long wire_number(const char *name, const char *text, long least, long most);

/* xorshift64*: the schedule of a run comes from its seed alone. */
uint64_t wire_random(uint64_t *state);
