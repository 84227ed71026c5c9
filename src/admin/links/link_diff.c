/* link_diff.c - both sides of rows of a table, column by column: linkDiff. */
#include <string.h>

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/links/link_hex.h"
#include "admin/links/link_pass.h"
#include "admin/links/link_reach.h"
#include "base/auto.h"
#include "store/store.h"
#include "table/batch.h"
#include "table/key.h"
#include "table/row.h"
#include "table/side.h"

enum {
    DIFF_ROWS_MOST = 100,
    DIFF_BYTES_MOST = 16 << 20, /* of the rows of one side */
    DIFF_ARENA = 64 << 20
};

struct shown_cell {
    struct str column, source, dest;
    bool same;
};

struct shown_diff_row {
    struct str key_bytes, key;
    const char *found, *state;
    bool source, dest, same;
    struct shown_cell *cells;
    size_t count;
};

struct shown_diff {
    struct str *columns;
    size_t column_count;
    int64_t key_columns;
    struct shown_diff_row *rows;
    size_t count;
    struct str next;
    const struct shown_pass *pass;
};

/* One request, while the databases are open. */
struct diffing {
    struct graphql_call *call;
    struct shown_diff *shown;
    const struct fit *fit; /* of the source: names and types are the same on both sides */
    struct link_reach reach;
    struct arena scratch;
    enum cell_type *types;
};

/* ---- which rows ---- */

static bool diff_by_findings(struct diffing *d, size_t first, struct str after, struct err *err)
{
    struct graphql_call *call = d->call;
    struct shown_diff *v = d->shown;
    struct finding *found = ARENA_ARRAY(call->arena, struct finding, first);
    size_t n = 0;

    if (v->pass != NULL && !pass_findings(api_store(call), v->pass->pass.id, FINDING_STATES, after,
                                          first, call->arena, found, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        v->rows[v->count++] = (struct shown_diff_row){ .key_bytes = found[i].key,
                                                       .found = finding_kinds[found[i].kind],
                                                       .state = finding_states[found[i].state] };
    if (n == first)
        v->next = link_hex(found[n - 1].key, call->arena);
    return true;
}

static bool diff_by_key(struct diffing *d, const struct graphql_value *texts, struct err *err)
{
    AUTO(buf_done) struct buf key = BUF_INIT(SHAPE_KEY_BYTES);
    struct cell cells[SHAPE_KEY_MOST];
    const struct fit *fit = d->fit;

    if (texts->count != fit->key_count)
        return err_set(err, ERR_PERMANENT, 0, "the key has %zu columns, and there are %zu texts",
                       fit->key_count, texts->count);
    for (size_t i = 0; i < fit->key_count; i++) {
        const struct cell text = { .type = CELL_TEXT, .s = texts->items[i].text };

        if (!cell_cast(&text, fit->columns[i].travels, &d->scratch, &cells[i], err))
            return err_context(err, "column %.*s", STR_ARG(str_first(fit->columns[i].name, 60)));
    }
    if (!key_put(&key, cells, fit->key_count, err))
        return false;
    d->shown->rows[d->shown->count++] =
        (struct shown_diff_row){ .key_bytes = arena_copy(d->call->arena, buf_view(&key)) };
    return true;
}

/* ---- their sides ---- */

/* The cells of each row on one side; NULL: it is not there. */
static bool diff_fetch(struct diffing *d, struct side *side, const struct cell **ret,
                       struct buf *batch, struct err *err)
{
    const struct shown_diff *v = d->shown;
    struct str *keys = ARENA_ARRAY(&d->scratch, struct str, v->count + 1), rest;
    struct batch_entry e;

    for (size_t i = 0; i < v->count; i++)
        keys[i] = v->rows[i].key_bytes;
    if (v->count > 0 && !side_fetch(side, keys, v->count, &d->scratch, batch, err))
        return err_context(err, side->is_source ? "source" : "destination");
    for (rest = buf_view(batch); rest.len > 0;) {
        size_t i = 0;
        struct cell *cells = ARENA_ARRAY(&d->scratch, struct cell, d->fit->count);

        if (!batch_take(&rest, &e, err) || !row_take(e.row, d->types, d->fit->count, cells, err))
            return false;
        while (i < v->count && !str_eq(keys[i], e.key))
            i++;
        if (i < v->count)
            ret[i] = cells;
    }
    return true;
}

/* As verification compares them: rounded as the link says. */
static bool diff_is_same(struct diffing *d, size_t column, const struct cell *a,
                         const struct cell *b)
{
    int digits = d->fit->columns[column].digits;
    struct cell x = *a, y = *b;
    struct err err = { 0 };

    if (digits >= 0 && (!cell_round(a, digits, &d->scratch, &x, &err) ||
                        !cell_round(b, digits, &d->scratch, &y, &err)))
        return false;
    return cell_same(&x, &y);
}

static void diff_show_row(struct diffing *d, struct shown_diff_row *row, const struct cell *source,
                          const struct cell *dest)
{
    struct arena *a = d->call->arena;
    struct cell key[SHAPE_KEY_MOST];
    struct err err = { 0 };

    row->source = source != NULL;
    row->dest = dest != NULL;
    row->same = row->source == row->dest;
    row->key = key_take(row->key_bytes, d->types, d->fit->key_count, &d->scratch, key, &err)
                   ? link_key_words(key, d->fit->key_count, a)
                   : link_hex(row->key_bytes, a);
    row->count = d->fit->count;
    row->cells = ARENA_ARRAY(a, struct shown_cell, row->count);
    for (size_t i = 0; i < row->count; i++) {
        struct shown_cell *c = &row->cells[i];

        c->column = d->shown->columns[i];
        if (source != NULL)
            c->source = cell_text(&source[i], LINK_VALUE_MOST, a);
        if (dest != NULL)
            c->dest = cell_text(&dest[i], LINK_VALUE_MOST, a);
        c->same = source != NULL && dest != NULL ? diff_is_same(d, i, &source[i], &dest[i])
                                                 : row->source == row->dest;
        row->same = row->same && c->same;
    }
}

static bool diff_sides(struct diffing *d, struct err *err)
{
    AUTO(buf_done) struct buf of_source = BUF_INIT(DIFF_BYTES_MOST);
    AUTO(buf_done) struct buf of_dest = BUF_INIT(DIFF_BYTES_MOST);
    struct shown_diff *v = d->shown;
    const struct cell **source = ARENA_ARRAY(&d->scratch, const struct cell *, v->count + 1);
    const struct cell **dest = ARENA_ARRAY(&d->scratch, const struct cell *, v->count + 1);

    if (!diff_fetch(d, &d->reach.sides->source, source, &of_source, err) ||
        !diff_fetch(d, &d->reach.sides->dest, dest, &of_dest, err))
        return err->kind == ERR_LIMIT
                   ? err_context(err, "these rows are too large to be shown: ask for fewer (first)")
                   : false;
    for (size_t i = 0; i < v->count; i++)
        diff_show_row(d, &v->rows[i], source[i], dest[i]);
    return true;
}

/* ---- the request ---- */

static void diff_columns(struct diffing *d)
{
    const struct fit *fit = d->reach.sides->source.fit;
    struct shown_diff *v = d->shown;

    d->fit = fit;
    d->types = ARENA_ARRAY(&d->scratch, enum cell_type, fit->count);
    v->columns = ARENA_ARRAY(d->call->arena, struct str, fit->count);
    v->column_count = fit->count;
    v->key_columns = (int64_t)fit->key_count;
    for (size_t i = 0; i < fit->count; i++) {
        d->types[i] = fit->columns[i].travels;
        v->columns[i] = arena_copy(d->call->arena, fit->columns[i].name);
    }
}

static bool diff_with(struct diffing *d, size_t first, struct str after, struct err *err)
{
    const struct graphql_value *key = graphql_arg(d->call, "key");

    diff_columns(d);
    return (key->kind == GRAPHQL_LIST ? diff_by_key(d, key, err)
                                      : diff_by_findings(d, first, after, err)) &&
           diff_sides(d, err);
}

/* The pass whose findings are shown; with a key none. */
static bool diff_find_pass(struct graphql_call *call, struct shown_diff *v, struct err *err)
{
    struct str link = graphql_arg_text(call, "link"), table = graphql_arg_text(call, "table");
    struct str id = graphql_arg_text(call, "pass");

    if (graphql_arg(call, "key")->kind == GRAPHQL_LIST)
        return true;
    if (id.ptr == NULL)
        return link_pass_last(call, link, table, &v->pass, err);
    if (!link_pass_named(call, id, &v->pass, err))
        return false;
    return (str_eq(v->pass->pass.link, link) && str_eq(v->pass->pass.table, table)) ||
           err_set(err, ERR_PERMANENT, 0, "pass %s is one of another table", v->pass->id);
}

static bool link_diff(struct graphql_call *call, struct err *err)
{
    struct diffing d = { .call = call,
                         .shown = ARENA_NEW(call->arena, struct shown_diff),
                         .scratch = ARENA_INIT(DIFF_ARENA) };
    struct str after = STR("");
    int64_t first = 20;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > DIFF_ROWS_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", DIFF_ROWS_MOST);
    if (!api_sees_all(call, RIGHT_PAYLOAD))
        return err_set(err, ERR_PERMANENT, 0,
                       "links belong to no system: this takes the right for all systems");
    if (!link_hex_read(graphql_arg_text(call, "after"), call->arena, &after))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
    d.shown->rows = ARENA_ARRAY(call->arena, struct shown_diff_row, (size_t)first);
    if (!diff_find_pass(call, d.shown, err) ||
        !link_reach_open(call, graphql_arg_text(call, "link"), graphql_arg_text(call, "table"),
                         &d.reach, err))
        return false;
    bool ok = diff_with(&d, (size_t)first, after, err);

    link_reach_close(call, &d.reach);
    arena_done(&d.scratch);
    return ok && graphql_set_object(call, d.shown);
}

static bool link_diff_pass(struct graphql_call *call, struct err *err)
{
    const struct shown_diff *v = call->parent;

    (void)err;
    return v->pass != NULL ? graphql_set_object(call, v->pass) : graphql_set_null(call);
}

const struct graphql_resolver api_link_diff[] = {
    { .field = "Query.linkDiff", .fn = link_diff },
    GRAPHQL_LIST_OF("LinkDiff.columns", struct shown_diff, columns, column_count),
    GRAPHQL_MEMBER("LinkDiff.keyColumns", struct shown_diff, key_columns),
    GRAPHQL_LIST_OF("LinkDiff.items", struct shown_diff, rows, count),
    API_TEXT_AT("LinkDiff.next", struct shown_diff, next),
    { .field = "LinkDiff.pass", .fn = link_diff_pass },
    GRAPHQL_MEMBER("LinkDiffRow.key", struct shown_diff_row, key),
    GRAPHQL_MEMBER("LinkDiffRow.found", struct shown_diff_row, found),
    GRAPHQL_MEMBER("LinkDiffRow.state", struct shown_diff_row, state),
    GRAPHQL_MEMBER("LinkDiffRow.source", struct shown_diff_row, source),
    GRAPHQL_MEMBER("LinkDiffRow.dest", struct shown_diff_row, dest),
    GRAPHQL_MEMBER("LinkDiffRow.same", struct shown_diff_row, same),
    GRAPHQL_LIST_OF("LinkDiffRow.cells", struct shown_diff_row, cells, count),
    GRAPHQL_MEMBER("LinkDiffCell.column", struct shown_cell, column),
    GRAPHQL_MEMBER("LinkDiffCell.source", struct shown_cell, source),
    GRAPHQL_MEMBER("LinkDiffCell.dest", struct shown_cell, dest),
    GRAPHQL_MEMBER("LinkDiffCell.same", struct shown_cell, same),
};
const size_t api_link_diff_count = sizeof api_link_diff / sizeof api_link_diff[0];
