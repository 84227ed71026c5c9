/* sql_words.h - the parameters of a statement that stand for something of every document.
 *
 * Any other name is an attribute.  What a document does not have is NULL.
 *
 * Pure: no I/O.
 */
#pragma once

#include "core/connector.h"
#include "sql/sql_link.h"

enum sql_word_of {
    OF_OTHER,
    OF_ID,
    OF_DELIVERY,
    OF_SENDER,
    OF_RECEIVER,
    OF_TYPE,
    OF_NAME,
    OF_RECEIVED,
    OF_PAYLOAD
};

enum { SQL_WORDS_TIME = 32 };

enum sql_word_of sql_words_find(struct str name);

/* 2026-03-29T02:30:00.123456, as :received is. */
void sql_words_time(int64_t us, char to[static SQL_WORDS_TIME]);

struct datum sql_words_text(struct str s);
/* Of all words but OTHER and PAYLOAD; lent by `s` and `received`. */
struct datum sql_words_value(const struct sending *s, enum sql_word_of word, const char *received);
