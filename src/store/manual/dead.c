#include "store/manual/dead.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/search/document.h"

enum {
    WINDOW = 500,       /* rows read at a time */
    SCAN_MOST = 20000,  /* rows read for one page */
    ROW_MOST = 4 << 20, /* texts of one row */
    MESSAGE_MOST = 300  /* the message of a group is cut here */
};

/* A row with name ids; only the rows that are returned get their names. */
struct row {
    struct dead_letter letter; /* facts: unknown names and attributes only */
    int64_t sender, receiver, type;
    struct str name;
};

/* A filter with name ids; 0: no configuration ever had the name. */
struct ready_filter {
    const struct dead_filter *f;
    int64_t gateway, sender, receiver, type;
};

static int64_t dead_word_of(struct store *s, enum name_kind kind, struct str name)
{
    int64_t id = 0;

    if (name.len > 0)
        (void)name_find(s, kind, name, &id);
    return id;
}

static struct ready_filter filter_ready(struct store *s, const struct dead_filter *f)
{
    return (struct ready_filter){ .f = f,
                                  .gateway = dead_word_of(s, NAME_GATEWAY, f->gateway),
                                  .sender = dead_word_of(s, NAME_SYSTEM, f->sender),
                                  .receiver = dead_word_of(s, NAME_SYSTEM, f->receiver),
                                  .type = dead_word_of(s, NAME_TYPE, f->type) };
}

static bool party_is(struct str want, int64_t want_word, int64_t word, struct str found)
{
    if (want.ptr == NULL)
        return true;
    return word != 0 ? word == want_word : str_eq(found, want);
}

static bool name_is(struct str pattern, struct str name)
{
    if (pattern.len > 0 && pattern.ptr[pattern.len - 1] == '*')
        return str_starts(name, (struct str){ pattern.ptr, pattern.len - 1 });
    return pattern.len == 0 || str_eq(pattern, name);
}

static bool dead_matches(const struct ready_filter *r, const struct row *row)
{
    const struct dead_filter *f = r->f;
    const struct dead_letter *l = &row->letter;

    for (size_t i = 0; i < f->where_count; i++) {
        struct str value = facts_attribute(&l->facts, f->where[i].name);

        if (value.ptr == NULL || !str_eq(value, f->where[i].value))
            return false;
    }
    return document_in_scope(f->scope, row->sender, row->receiver) &&
           (f->gateway.len == 0 || (r->gateway != 0 && l->gateway == r->gateway)) &&
           (f->since_us == 0 || l->died_us >= f->since_us) &&
           (f->until_us == 0 || l->died_us < f->until_us) &&
           party_is(f->sender, r->sender, row->sender, l->facts.sender) &&
           party_is(f->receiver, r->receiver, row->receiver, l->facts.receiver) &&
           party_is(f->type, r->type, row->type, l->facts.type) && name_is(f->name, row->name);
}

static struct row dead_row_of(struct db_rows *row, struct arena *a)
{
    struct row r = { .letter = { .num = db_get_int(row, DEAD_ROW_NUM),
                                 .died_us = db_get_int(row, DEAD_ROW_DIED_US),
                                 .code = row_text(row, DEAD_ROW_CODE, a),
                                 .message = row_text(row, DEAD_ROW_MESSAGE, a),
                                 .doc = db_get_int(row, DEAD_ROW_DOC),
                                 .id = row_id(row, DEAD_ROW_DOC_ID),
                                 .delivery = db_get_int(row, DEAD_ROW_DELIVERY),
                                 .delivery_id = row_text(row, DEAD_ROW_DELIVERY_ID, a),
                                 .endpoint = db_get_int(row, DEAD_ROW_ENDPOINT),
                                 .gateway = db_get_int(row, DEAD_ROW_GATEWAY) },
                     .sender = db_get_int(row, DEAD_ROW_SENDER),
                     .receiver = db_get_int(row, DEAD_ROW_RECEIVER),
                     .type = db_get_int(row, DEAD_ROW_DTYPE),
                     .name = row_text(row, DEAD_ROW_NAME, a) };

    if (!db_is_null(row, DEAD_ROW_FACTS)) /* unreadable facts count as none */
        (void)facts_read(row_text(row, DEAD_ROW_FACTS, a), a, &r.letter.facts);
    return r;
}

/* ---- walking ---- */

/* Gets the rows that match; false: stop. */
typedef bool visit(void *arg, const struct row *row);

struct walk {
    struct store *store;
    struct ready_filter filter;
    visit *visit;
    void *arg;
    int64_t above, looked;
    bool enough, end;
};

static bool walk_window(struct db *db, struct walk *k, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    AUTO(arena_done) struct arena one = ARENA_INIT(ROW_MOST);
    struct str code = k->filter.f->code;
    size_t got = 0;
    bool row;

    if (code.len > 0
            ? !db_query(db, SQL_DEAD_PAGE_OF_CODE,
                        DB_ARGS(db_int(k->above), db_int(WINDOW), db_text(code)), &rows, err)
            : !db_query(db, SQL_DEAD_PAGE, DB_ARGS(db_int(k->above), db_int(WINDOW)), &rows, err))
        return false;
    for (; !k->enough; got++) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        arena_reset(&one);
        struct row r = dead_row_of(&rows, &one);

        k->above = r.letter.num;
        k->looked++;
        if (dead_matches(&k->filter, &r))
            k->enough = !k->visit(k->arg, &r);
    }
    k->end = !k->enough && got < WINDOW;
    return true;
}

/* Walks until the visitor stops, `scan_most` rows were read, or the end.  Holds a connection for
 * one window at a time. */
static bool dead_walk_on(struct walk *k, int64_t scan_most, int64_t *ret_next, struct err *err)
{
    while (!k->enough && !k->end && k->looked < scan_most) {
        AUTO(reader_back) struct reader r = reader_take(k->store, err);

        if (r.db == NULL || !walk_window(r.db, k, err))
            return false;
    }
    *ret_next = k->end ? 0 : k->above;
    return true;
}

/* ---- lists ---- */

struct page {
    struct store *store;
    struct arena *arena;
    struct dead_letter *letters;
    size_t count, limit;
};

static struct str dead_name_of(struct store *s, struct arena *a, int64_t word, struct str found)
{
    if (word != 0)
        return name_text(s, word); /* lives as long as the store */
    return found.ptr != NULL ? arena_copy(a, found) : found;
}

static bool dead_keep(void *arg, const struct row *row)
{
    struct page *p = arg;
    struct dead_letter *l = &p->letters[p->count++];
    const struct facts *f = &row->letter.facts;
    struct arena *a = p->arena;

    *l = row->letter;
    l->code = arena_copy(a, l->code);
    l->message = arena_copy(a, l->message);
    l->delivery_id = arena_copy(a, l->delivery_id);
    l->facts.sender = dead_name_of(p->store, a, row->sender, f->sender);
    l->facts.receiver = dead_name_of(p->store, a, row->receiver, f->receiver);
    l->facts.type = dead_name_of(p->store, a, row->type, f->type);
    l->facts.attributes = ARENA_ARRAY(a, struct fact, f->attribute_count);
    for (size_t i = 0; i < f->attribute_count; i++)
        l->facts.attributes[i] = (struct fact){ arena_copy(a, f->attributes[i].name),
                                                arena_copy(a, f->attributes[i].value) };
    return p->count < p->limit;
}

bool dead_list(struct store *s, const struct dead_filter *f, int64_t above, size_t limit,
               struct arena *a, struct dead_letter *ret, size_t *ret_count, int64_t *ret_next,
               struct err *err)
{
    struct page p = { .store = s, .arena = a, .letters = ret, .limit = limit };
    struct walk k = {
        .store = s, .filter = filter_ready(s, f), .visit = dead_keep, .arg = &p, .above = above
    };

    require(limit > 0 && limit <= DEAD_PAGE_MOST);
    if (!dead_walk_on(&k, SCAN_MOST, ret_next, err))
        return false;
    *ret_count = p.count;
    return true;
}

static bool count_one(void *arg, const struct row *row)
{
    (void)row;
    ++*(int64_t *)arg;
    return true;
}

bool dead_count(struct store *s, const struct dead_filter *f, int64_t above, int64_t *ret,
                int64_t *ret_next, struct err *err)
{
    int64_t n = 0;
    struct walk k = {
        .store = s, .filter = filter_ready(s, f), .visit = count_one, .arg = &n, .above = above
    };

    if (!dead_walk_on(&k, SCAN_MOST, ret_next, err))
        return false;
    *ret = n;
    return true;
}

/* ---- groups ---- */

struct groups {
    enum dead_by by;
    struct arena *arena;
    struct dead_group *list;
    int64_t words[DEAD_GROUPS_MOST]; /* name ids of the keys; 0: list[i].key is an extracted text */
    char *messages[DEAD_GROUPS_MOST];
    size_t count, last; /* last: the group of the previous row, tried first */
    bool full;
};

static bool dead_is_of(const struct groups *g, size_t i, int64_t word, struct str key,
                       struct str code)
{
    return g->words[i] == word && str_eq(g->list[i].code, code) &&
           (word != 0 || str_eq(g->list[i].key, key));
}

static size_t dead_group_of(const struct groups *g, int64_t word, struct str key, struct str code)
{
    size_t i = 0;

    if (g->last < g->count && dead_is_of(g, g->last, word, key, code))
        return g->last;
    while (i < g->count && !dead_is_of(g, i, word, key, code))
        i++;
    return i;
}

static bool add_to_group(void *arg, const struct row *row)
{
    struct groups *g = arg;
    const struct dead_letter *l = &row->letter;
    bool type = g->by == DEAD_BY_TYPE, reason = g->by == DEAD_BY_REASON;
    int64_t word = reason ? 0 : type ? row->type : row->receiver;
    struct str key = reason      ? l->code
                     : word != 0 ? STR("")
                     : type      ? l->facts.type
                                 : l->facts.receiver;
    size_t i = dead_group_of(g, word, key, l->code);

    g->full = i == DEAD_GROUPS_MOST;
    if (g->full)
        return false;
    struct dead_group *to = &g->list[i];

    if (i == g->count) {
        g->messages[i] = ARENA_ARRAY(g->arena, char, MESSAGE_MOST);
        g->words[g->count++] = word;
        *to = (struct dead_group){ .key = arena_copy(g->arena, key),
                                   .code = arena_copy(g->arena, l->code),
                                   .oldest_us = l->died_us };
    }
    to->count++;
    if (l->died_us < to->oldest_us)
        to->oldest_us = l->died_us;
    if (l->died_us >= to->newest_us) {
        to->newest_us = l->died_us;
        to->sample = l->id;
        to->message = str_first(l->message, MESSAGE_MOST);
        if (to->message.len > 0)
            memcpy(g->messages[i], to->message.ptr, to->message.len);
        to->message.ptr = g->messages[i];
    }
    g->last = i;
    return true;
}

static int by_count(const void *a, const void *b)
{
    const struct dead_group *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int c = str_cmp(x->key, y->key);

    if (c == 0)
        c = str_cmp(x->code, y->code);
    return c != 0 ? c : str_cmp(x->receiver, y->receiver);
}

bool dead_groups(struct store *s, const struct dead_filter *f, enum dead_by by, struct arena *a,
                 struct dead_group *ret, size_t *ret_count, struct err *err)
{
    struct groups g = { .by = by, .arena = a, .list = ret };
    struct walk k = { .store = s, .filter = filter_ready(s, f), .visit = add_to_group, .arg = &g };
    int64_t next;

    if (!dead_walk_on(&k, INT64_MAX, &next, err))
        return false;
    if (g.full)
        return err_set(err, ERR_LIMIT, 0, "more than %d groups; use a filter", DEAD_GROUPS_MOST);
    for (size_t i = 0; i < g.count; i++) {
        if (g.words[i] != 0)
            ret[i].key = name_text(s, g.words[i]);
        if (by == DEAD_BY_RECEIVER || by == DEAD_BY_BOTH)
            ret[i].receiver = ret[i].key;
        if (by == DEAD_BY_BOTH)
            ret[i].key = ret[i].code;
    }
    qsort(ret, g.count, sizeof *ret, by_count);
    *ret_count = g.count;
    return true;
}

/* ---- re-drive ---- */

bool dead_redrive(struct store *s, struct str code, int64_t above,
                  const struct operate_order *order, dead_has_answer *ask, void *arg,
                  struct dead_redrive *ret, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(DEAD_PAGE_MOST * (ROW_MOST >> 4));
    struct dead_letter *letters = ARENA_ARRAY(&a, struct dead_letter, DEAD_PAGE_MOST);
    struct operate_target *targets = ARENA_ARRAY(&a, struct operate_target, DEAD_PAGE_MOST);
    struct operate_answer *answers = ARENA_ARRAY(&a, struct operate_answer, DEAD_PAGE_MOST);
    struct dead_filter f = { .code = code };
    size_t n, count = 0;

    _Static_assert((int)DEAD_PAGE_MOST <= (int)OPERATE_MOST, "a page is one transaction");
    *ret = (struct dead_redrive){ 0 };
    if (!dead_list(s, &f, above, DEAD_PAGE_MOST, &a, letters, &n, &ret->next, err))
        return false;
    ret->looked = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        if (letters[i].delivery == 0 && ask(arg, &letters[i]))
            targets[count++].id = letters[i].id;
    if (!operate(s, OPERATE_RETRY, targets, count, order, answers, err))
        return false;
    for (size_t i = 0; i < count; i++)
        ret->moved += answers[i].result == OPERATE_DONE;
    return true;
}
