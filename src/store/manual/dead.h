/* dead.h - dead letters: lists and groups, and re-driving those for which a new configuration
 * has an answer.
 *
 * A dead letter is a document (no route, unknown system, ...) or one delivery of it
 * (rejected, expired, ...).  Deliveries in doubt are not dead letters.  Lists are sorted by number,
 * oldest first, and read a bounded number of rows: a page may be short and still have a next one.
 *
 * Names are compared as extracted: a receiver that no configuration knows is found by the name
 * that the document has.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "core/facts.h"
#include "store/manual/operate.h"

struct document_scope;
struct store;

struct dead_letter {
    int64_t num; /* of the letter: pages resume by it */
    int64_t doc;
    struct id id;     /* of the document */
    int64_t delivery; /* num of the delivery; 0: the document itself */
    struct str delivery_id;
    struct str code, message;
    int64_t died_us;
    int64_t gateway, endpoint; /* name ids; 0: none */
    struct facts facts;        /* names as extracted */
};

enum { DEAD_WHERE_MOST = 16 };

/* As a sender, receiver or type: documents from which none was extracted. */
#define DEAD_WITHOUT STR("")

struct dead_filter {
    struct str code, gateway, name;     /* empty: any; a name may end in * */
    struct str sender, receiver, type;  /* NULL: any; see DEAD_WITHOUT */
    int64_t since_us, until_us;         /* when it became a dead letter; 0: any */
    struct fact where[DEAD_WHERE_MOST]; /* attributes that the document must have */
    size_t where_count;
    const struct document_scope *scope; /* of the document (document.h); NULL: any */
};

enum { DEAD_PAGE_MOST = 500, DEAD_GROUPS_MOST = 1000 };

/* Letters above `above` (0: from the start).  *ret_next is the `above` of the next page, 0 at the
 * end. */
bool dead_list(struct store *s, const struct dead_filter *f, int64_t above, size_t limit,
               struct arena *a, struct dead_letter *ret, size_t *ret_count, int64_t *ret_next,
               struct err *err);
/* Counts the letters of one bounded scan; *ret_next as above. */
bool dead_count(struct store *s, const struct dead_filter *f, int64_t above, int64_t *ret,
                int64_t *ret_next, struct err *err);

/* In the order of enum DeadBy of schema.graphql. */
enum dead_by { DEAD_BY_REASON, DEAD_BY_RECEIVER, DEAD_BY_TYPE, DEAD_BY_BOTH };

struct dead_group {
    struct str key; /* the code, or the name of the receiver or type; empty: none */
    struct str code;
    struct str receiver; /* DEAD_BY_RECEIVER, DEAD_BY_BOTH; empty: none */
    struct id sample;    /* the document of the newest letter */
    struct str message;  /* of the newest letter */
    int64_t count, oldest_us, newest_us;
};

/* One group for each pair of key and code, the largest first; reads all letters.  DEAD_BY_BOTH
 * has the groups of DEAD_BY_RECEIVER, with the code as key.
 * ERR_LIMIT: more than DEAD_GROUPS_MOST groups. */
bool dead_groups(struct store *s, const struct dead_filter *f, enum dead_by by, struct arena *a,
                 struct dead_group *ret, size_t *ret_count, struct err *err);

/* True: the newest configuration has an answer for this letter. */
typedef bool dead_has_answer(void *arg, const struct dead_letter *letter);

struct dead_redrive {
    int64_t looked, moved;
    int64_t next; /* `above` of the next page; 0: this was the last */
};

/* Re-drives one page, at most DEAD_PAGE_MOST letters of `code` (no_route, unknown_system): letters
 * for which `ask` returns true start again at the router.  The caller pauses between pages, so
 * that a large re-drive does not stall other work. */
bool dead_redrive(struct store *s, struct str code, int64_t above,
                  const struct operate_order *order, dead_has_answer *ask, void *arg,
                  struct dead_redrive *ret, struct err *err);
