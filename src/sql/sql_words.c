#include "sql/sql_words.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/civil.h"

static const char *const words_of_documents[] = { "",     "id",   "delivery", "sender", "receiver",
                                                  "type", "name", "received", "payload" };

enum sql_word_of sql_words_find(struct str name)
{
    for (size_t i = 1; i < sizeof words_of_documents / sizeof words_of_documents[0]; i++)
        if (str_is(name, words_of_documents[i]))
            return (enum sql_word_of)i;
    return OF_OTHER;
}

void sql_words_time(int64_t us, char to[static SQL_WORDS_TIME])
{
    int64_t day = civil_floor(us, INT64_C(86400) * CLOCK_S);
    int64_t rest = us - day * INT64_C(86400) * CLOCK_S, second = rest / CLOCK_S;
    struct civil_date d = civil_date(day);

    (void)snprintf(to, SQL_WORDS_TIME, "%04d-%02d-%02dT%02d:%02d:%02d.%06d", (int)(d.year % 10000),
                   d.month, d.day, (int)(second / 3600), (int)(second / 60 % 60),
                   (int)(second % 60), (int)(rest % CLOCK_S));
}

struct datum sql_words_text(struct str s)
{
    return s.ptr != NULL && s.len > 0 ? (struct datum){ DATUM_TEXT, s }
                                      : (struct datum){ .kind = DATUM_NULL };
}

struct datum sql_words_value(const struct sending *s, enum sql_word_of word, const char *received)
{
    switch (word) {
    case OF_ID:
        return sql_words_text(s->document);
    case OF_DELIVERY:
        return sql_words_text(s->delivery);
    case OF_SENDER:
        return sql_words_text(s->facts->sender);
    case OF_RECEIVER:
        return sql_words_text(s->facts->receiver);
    case OF_TYPE:
        return sql_words_text(s->facts->type);
    case OF_NAME:
        return sql_words_text(s->name);
    case OF_RECEIVED:
        return (struct datum){ DATUM_TIMESTAMP, str_of(received) };
    case OF_PAYLOAD:
    case OF_OTHER:
        break;
    }
    return (struct datum){ .kind = DATUM_NULL };
}
