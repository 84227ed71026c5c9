/* message.h - questions and answers of sides (side_question.h) as bytes, and the frames they travel
 * in.
 *
 * Frame    "WBP", the version, what it is (enum envelope_what), the content, and the SHA-256 of all
 *          that: whatever is cut off, changed or of another version is found before it is read.
 */
#pragma once

#include "table/away/wire.h"
#include "table/side_question.h"

/* ---- frames ---- */

enum {
    ENVELOPE_VERSION = 2,
    ENVELOPE_OVERHEAD = 5 + 32,
    ENVELOPE_ID = 16,
    ENVELOPE_PART_HEAD = ENVELOPE_ID + 20
};

enum envelope_what {
    ENVELOPE_WHOLE, /* a question, or an answer */
    ENVELOPE_ERROR, /* of the question: kind and text */
    ENVELOPE_PART,  /* struct envelope_part, then bytes */
    ENVELOPE_GET,   /* struct envelope_part: the part from `at` on is wanted */
    ENVELOPE_TOOK,  /* the part was taken, and others are missing */
    ENVELOPES
};

/* Of a question or an answer that is larger than a message. */
struct envelope_part {
    uint8_t id[ENVELOPE_ID];
    size_t total, at;
};

/* Ends what was begun by envelope_begin(). */
bool envelope_begin(struct buf *to, enum envelope_what what, struct err *err);
bool envelope_end(struct buf *to, struct err *err);
/* Checks a frame; ERR_PERMANENT: it is none, or damaged. */
bool envelope_take(struct str bytes, enum envelope_what *ret, struct str *ret_content,
                   struct err *err);
/* The first bytes, at most `most`. */
static inline struct str envelope_cut(struct str bytes, size_t most)
{
    return str_mem(bytes.ptr, bytes.len < most ? bytes.len : most);
}
void envelope_part(struct wire *w, struct envelope_part *p);
void envelope_error(struct wire *w, struct err *why);

/* ---- questions ---- */

struct message {
    enum side_what what;
    struct str database, at; /* which table, as it is called there */
    struct str link, table;
    bool is_source;
    struct capture capture;
    struct message_column { /* what the fit needs; none: there is no fit yet */
        struct str name;
        enum cell_type travels;
        int64_t digits;
        bool padded;
    } * columns;
    size_t column_count, key_count;
    size_t answer_most; /* bytes of a message that answers */
};

void message_head(struct wire *w, struct message *m);
/* The question; taken into a struct of its type, which is in the arena. */
void message_question(struct wire *w, enum side_what what, void **question);
/* The answer; put from, and taken into, a struct of its type.  Batches are appended to. */
void message_answer(struct wire *w, enum side_what what, void *answer);
