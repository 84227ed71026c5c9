/* service.h - what a step is given, and what it gives.
 *
 * A service is a pure computation: its output depends on its options, the bytes and the facts of
 * the document and nothing else, so that a replay gives the same bytes.  `received_us` is its
 * clock and `id` the seed of its chance.  One that is `keyed` depends on a record as well, which it
 * asks of the io; it never reaches the store itself (docs/records.md).
 *
 * Most services have run(): the whole document in memory, one result.  A service that must not
 * hold a document in memory has stream(): it takes pieces with next(), gives pieces with put(),
 * and may begin a new document with part().  Either runs where it is made: in the node, or in a
 * process of its own if it runs code of a user or a library that is not trusted with hostile input
 * (`caged`, see cage/cage.h).
 *
 * A service that asks another one over HTTP has `http` instead of both, and is not pure: the engine
 * makes the request while the walk waits, repeats it under the same key, and keeps the answer.  So
 * has one that asks by other means (`http.ask`).
 *
 * Threads: a service keeps no state between two documents, so that one `self` serves several
 * threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "core/facts.h"
#include "core/option.h"
#include "core/settings.h"
#include "core/state.h"
#include "core/verdict.h"

enum {
    SERVICE_BYTES_MOST = 64 << 20, /* of a document in memory */
    SERVICE_NOTES_MOST = 20,       /* lines that a script may log */
    SERVICE_NOTE_BYTES = 200,
    SERVICE_RECORD_MOST = 1 << 20, /* bytes of the value of a record */
    SERVICE_KEY_MOST = 1024,       /* of its key */
    SERVICE_ASK_ROOM = 8 << 20     /* for the answer to a question, before it is checked */
};

struct service_failure {
    enum dead_code code; /* service_failed, decrypt_failed, budget, limit, extract_failed */
    char message[VERDICT_MESSAGE_MOST];
    /* It may be otherwise later: the document is tried again by the `retry` of the step, as a
     * delivery is, and then dead, `retries_exhausted`. */
    bool later;
};

/* False, with the message of printf: for `return service_fail(...)`. */
bool service_fail(struct service_failure *ret, enum dead_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What is known of the document beside its bytes; everything is lent for the call. */
struct service_document {
    struct id id;
    int64_t received_us;
    const struct facts *facts;
    struct str name, ctype, gateway; /* may be empty */
};

/* The head of a new document.  What it does not say (ptr NULL) it has from its parent. */
struct service_part {
    struct str sender, receiver, type, name, ctype;
    const struct fact *attributes; /* beside those of the parent; `part` and `parts` are added */
    size_t attribute_count;
    int64_t parts; /* how many there will be; 0: not known yet */
    /* Not NULL: describe() failed on it.  It is a dead letter from the beginning, with this reason,
     * and has nothing of what it does not say from its parent. */
    const struct service_failure *failure;
};

/* The record of a keyed step; everything is lent until the step ends. */
struct service_record {
    struct str set, key;
    bool is_there;
    struct str value;
    /* An earlier run of this document made it what it is.  `before` is the value before that; ptr
     * NULL: there was none. */
    bool is_own;
    struct str before;
    /* It is from a document that stands behind this one in the order of its gateway. */
    bool is_later;
};

/* Bytes in, bytes out, in pieces.  A call that returns false has set the failure; the service
 * returns false at once and calls nothing more. */
struct service_io {
    const struct service_document *document;
    int64_t size; /* of the bytes that come in; -1: not known */

    /* *ret is lent until the next call; empty: the end. */
    bool (*next)(struct service_io *io, struct str *ret, struct service_failure *ret_failure);
    /* Begins again with the first piece: for a service that checks everything first. */
    bool (*rewind)(struct service_io *io, struct service_failure *ret_failure);
    /* More bytes of the result, or of the part that was begun last. */
    bool (*put)(struct service_io *io, struct str piece, struct service_failure *ret_failure);
    /* What is put from here on is another document.  A service that has begun one put nothing
     * before, and ends the chain. */
    bool (*part)(struct service_io *io, const struct service_part *head,
                 struct service_failure *ret_failure);
    /* Evaluates the expressions of the step (`sender`, `receiver`, `type`, `attributes`, see
     * `describes` below) on the bytes of a part, and adds what they find to the head; the texts are
     * lent until the next call.  False: one of them fails; *ret_failure says which, the head has
     * what the others found.  This is no failure of the io: the service decides what follows.
     * NULL: the step has no expressions. */
    bool (*describe)(struct service_io *io, struct str part, struct service_part *head,
                     struct service_failure *ret_failure);
    /* The result is no document at all: the chain ends, done. */
    bool (*none)(struct service_io *io, struct service_failure *ret_failure);
    /* The record that the `set` and the `key` of the step name; false: the document has no key, or
     * the store cannot be read.  NULL: the step is not keyed. */
    bool (*record)(struct service_io *io, struct service_record *ret,
                   struct service_failure *ret_failure);
    /* The record gets this value in the commit that settles the document.  If somebody else has
     * changed it since record(), nothing of that commit is done and the document runs again. */
    bool (*keep)(struct service_io *io, struct str value, struct service_failure *ret_failure);
    /* The document brings the value that the record has: it stays as it is, but a document that
     * stands before this one in the order of the gateway is late from here on (is_later).  Like
     * keep() in all else. */
    bool (*stays)(struct service_io *io, struct service_failure *ret_failure);
    /* A line for the timeline; what is over the limits is left out. */
    void (*note)(struct service_io *io, struct str line);
};

struct arena;
struct call;
struct http_out_answer;
struct http_out_options;
struct http_out_request;
struct sending;
struct service_call;
struct sha256;

/* A service that asks another one: engine/asking/calling.h. */
struct service_http {
    /* Builds the request of one attempt; its strings live in the arena.  The bytes of the document
     * are in `s`; s->delivery is the key, the same in every attempt.  False: it can never be made.
     */
    bool (*prepare)(void *self, const struct sending *s, struct arena *a,
                    struct http_out_request *ret, struct verdict *ret_failed);
    /* What the answer means.  DELIVERED: it is used.  REJECTED, FAILED: the document is a dead
     * letter.  Everything else: it is asked again, by the rules of `call`. */
    void (*judge)(void *self, const struct http_out_answer *answer, struct verdict *ret);
    const struct http_out_options *(*options)(void *self);
    /* Or, instead of a request over HTTP, which prepare() and options() are for: asks by itself, on
     * a thread that may block, and appends the answer to `to`, at most SERVICE_ASK_ROOM bytes.  The
     * facts of `s` have what the key `values` of the step finds, as attributes; the bytes of the
     * document are not there.  The verdict is what judge() would say, with the status. */
    void (*ask)(void *self, const struct sending *s, struct call *c, struct buf *to,
                struct verdict *ret);
    int64_t (*patience_us)(void *self); /* of ask(): after so long it is given up */
    /* ... and what its connections are kept by (core/line/line.h); NULL: it keeps none. */
    const struct sha256 *(*line_key)(void *self);
    const struct service_call *(*call)(void *self); /* core/service_call.h */
    /* What becomes of a document and the answer to it, both in memory: appended to `out`.  NULL:
     * the answer is the new document, and 204 is none. */
    bool (*join)(void *self, struct str in, struct str answer, int64_t status,
                 const struct service_document *d, struct buf *out,
                 struct service_failure *ret_failure);
};

struct service_type {
    struct option_kind kind; /* its name is the step's */
    bool caged;              /* it runs in a process of its own */
    bool streams;            /* ... which never holds a whole document: its limits go by the size */
    bool copied;             /* ... which may be a copy of one that has made it: make() starts no
                              * thread, keeps no file open, and no chance is drawn from there on */
    bool discreet;           /* what make() says never quotes an option: it may have secrets */
    bool describes;          /* its keys sender, receiver, type, attributes are for parts */
    bool keyed;              /* its keys set and key name a record, which it reads ... */
    bool keeps;              /* ... and may write */
    bool (*make)(const struct settings *s, void **ret_self, struct err *err); /* on s->arena */
    void (*unmake)(void *self);                                               /* may be NULL */
    /* What was made is a service of another form, with the same make() and unmake(); NULL: it is
     * this one. */
    const struct service_type *(*as)(const void *self);
    /* One of the three.  run() appends the result to `out`; when it fails, `out` is as it was. */
    bool (*run)(void *self, struct str in, const struct service_document *d, struct buf *out,
                struct service_failure *ret_failure);
    bool (*stream)(void *self, struct service_io *io, struct service_failure *ret_failure);
    const struct service_http *http;
};

/* Runs run() or stream() over an io; a service that asks another one fails.  For run() the whole
 * input is gathered first. */
bool service_run(const struct service_type *t, void *self, struct service_io *io,
                 struct service_failure *ret_failure);

/* The whole input, for a stream() that needs it in memory; over the cap of `to` it is `limit`. */
bool service_gather(struct service_io *io, struct buf *to, struct service_failure *ret_failure);

/* ---- an io in memory ---- */

struct service_memory_part {
    struct service_part head; /* on the arena */
    size_t from;              /* its bytes in `out` begin here */
};

struct service_memory {
    struct service_io io;
    struct str in; /* given in pieces of at most `piece` bytes; 0: in one */
    size_t piece, at;
    struct buf out; /* at most out.cap */
    struct arena *arena;
    struct service_memory_part *parts; /* in the order of their begin */
    size_t part_count, part_room;
    bool is_none;
    struct service_record record;         /* what record() gives */
    struct str kept;                      /* what keep() was given; ptr NULL: nothing */
    bool is_same;                         /* stays() was called */
    struct str notes[SERVICE_NOTES_MOST]; /* on the arena */
    size_t note_count;
};

/* out_most: of all results together.  `in` and `d` are lent, texts of heads live on the arena. */
void service_memory_init(struct service_memory *m, const struct service_document *d, struct str in,
                         size_t out_most, struct arena *a);
void service_memory_done(struct service_memory *m); /* safe on a zeroed one */
/* The bytes of one part. */
struct str service_memory_bytes(const struct service_memory *m, size_t part);
