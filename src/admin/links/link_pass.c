/* link_pass.c - verification of tables of links: linkPasses, linkFindings. */
#include "admin/links/link_pass.h"

#include <stdio.h>

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/links/link_hex.h"
#include "store/store.h"

enum { PASSES_MOST = 200, FINDINGS_MOST = 500 };

struct shown_passes {
    struct shown_pass *list;
    size_t count;
    struct str next;
};

struct shown_finding {
    struct finding finding;
    struct str key, source, dest;
    const char *kind, *state;
};

struct shown_findings {
    struct shown_finding *list;
    size_t count;
    struct str next;
};

/* ---- passes ---- */

static void link_pass_show(const struct pass *p, struct shown_pass *ret)
{
    *ret = (struct shown_pass){ .pass = *p, .result = pass_results[p->result] };
    (void)snprintf(ret->id, sizeof ret->id, "%lld", (long long)p->id);
    ret->id_text = ret->id;
}

bool link_pass_last(struct graphql_call *call, struct str link, struct str table,
                    const struct shown_pass **ret, struct err *err)
{
    struct shown_pass *shown = ARENA_NEW(call->arena, struct shown_pass);
    struct pass p;
    size_t n;

    *ret = NULL;
    if (!pass_list(api_store(call), link, table, STR(""), 0, 1, call->arena, &p, &n, err))
        return false;
    if (n == 0)
        return true;
    link_pass_show(&p, shown);
    *ret = shown;
    return true;
}

bool link_pass_named(struct graphql_call *call, struct str id, const struct shown_pass **ret,
                     struct err *err)
{
    struct shown_pass *shown = ARENA_NEW(call->arena, struct shown_pass);
    bool has = false;
    int64_t number;
    struct pass p;

    if (str_to_i64(id, &number) && !pass_find(api_store(call), number, call->arena, &has, &p, err))
        return false;
    if (!has)
        return err_set(err, ERR_PERMANENT, 0, "there is no pass %.40s: see `waybill repl verify`",
                       arena_text(call->arena, id));
    link_pass_show(&p, shown);
    *ret = shown;
    return true;
}

static struct str link_pass_text(struct graphql_call *call, const char *arg)
{
    struct str text = graphql_arg_text(call, arg);

    return text.ptr != NULL ? text : STR("");
}

static bool link_passes(struct graphql_call *call, struct err *err)
{
    struct shown_passes *page = ARENA_NEW(call->arena, struct shown_passes);
    int64_t first, before;
    size_t n;

    *page = (struct shown_passes){ 0 };
    if (!api_read_page(call, PASSES_MOST, &first, &before, err))
        return false;
    page->list = ARENA_ARRAY(call->arena, struct shown_pass, (size_t)first);
    if (!api_sees_all(call, RIGHT_SEE))
        return graphql_set_object(call, page);
    struct pass *found = ARENA_ARRAY(call->arena, struct pass, (size_t)first);

    if (!pass_list(api_store(call), link_pass_text(call, "link"), link_pass_text(call, "table"),
                   STR(""), before, (size_t)first, call->arena, found, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        link_pass_show(&found[i], &page->list[i]);
    page->count = n;
    if (n == (size_t)first)
        page->next = str_of(page->list[n - 1].id);
    return graphql_set_object(call, page);
}

/* ---- findings ---- */

static void link_finding_show(struct arena *a, const struct finding *f, struct shown_finding *ret)
{
    *ret = (struct shown_finding){ .finding = *f,
                                   .key = link_hex(f->key, a),
                                   .source = link_hex(f->hash_source, a),
                                   .dest = link_hex(f->hash_dest, a),
                                   .kind = finding_kinds[f->kind],
                                   .state = finding_states[f->state] };
}

static bool link_findings(struct graphql_call *call, struct err *err)
{
    struct shown_findings *page = ARENA_NEW(call->arena, struct shown_findings);
    const struct graphql_value *state = graphql_arg(call, "state");
    enum finding_state wanted =
        state->kind == GRAPHQL_ENUM ? (enum finding_state)state->number : FINDING_STATES;
    const struct shown_pass *pass;
    struct str after = STR("");
    int64_t first = 50;
    size_t n;

    *page = (struct shown_findings){ 0 };
    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > FINDINGS_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", FINDINGS_MOST);
    page->list = ARENA_ARRAY(call->arena, struct shown_finding, (size_t)first);
    if (!api_sees_all(call, RIGHT_PAYLOAD))
        return graphql_set_object(call, page);
    if (!link_hex_read(graphql_arg_text(call, "after"), call->arena, &after))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
    if (!link_pass_named(call, graphql_arg_text(call, "pass"), &pass, err))
        return false;
    struct finding *found = ARENA_ARRAY(call->arena, struct finding, (size_t)first);

    if (!pass_findings(api_store(call), pass->pass.id, wanted, after, (size_t)first, call->arena,
                       found, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        link_finding_show(call->arena, &found[i], &page->list[i]);
    page->count = n;
    if (n == (size_t)first)
        page->next = page->list[n - 1].key;
    return graphql_set_object(call, page);
}

const struct graphql_resolver api_link_pass[] = {
    { .field = "Query.linkPasses", .fn = link_passes },
    GRAPHQL_LIST_OF("LinkPassPage.items", struct shown_passes, list, count),
    API_TEXT_AT("LinkPassPage.next", struct shown_passes, next),
    GRAPHQL_MEMBER("LinkPass.id", struct shown_pass, id_text),
    GRAPHQL_MEMBER("LinkPass.link", struct shown_pass, pass.link),
    GRAPHQL_MEMBER("LinkPass.table", struct shown_pass, pass.table),
    GRAPHQL_MEMBER("LinkPass.job", struct shown_pass, pass.rule),
    GRAPHQL_MEMBER("LinkPass.mode", struct shown_pass, pass.mode),
    GRAPHQL_MEMBER("LinkPass.repair", struct shown_pass, pass.repair),
    GRAPHQL_MEMBER("LinkPass.dryRun", struct shown_pass, pass.dry_run),
    GRAPHQL_MEMBER("LinkPass.result", struct shown_pass, result),
    GRAPHQL_MEMBER("LinkPass.began", struct shown_pass, pass.began_us),
    API_NUMBER_AT("LinkPass.ended", struct shown_pass, pass.ended_us),
    GRAPHQL_MEMBER("LinkPass.segments", struct shown_pass, pass.segments),
    GRAPHQL_MEMBER("LinkPass.segmentsBad", struct shown_pass, pass.segments_bad),
    GRAPHQL_MEMBER("LinkPass.rowsSource", struct shown_pass, pass.rows_source),
    GRAPHQL_MEMBER("LinkPass.rowsDest", struct shown_pass, pass.rows_dest),
    GRAPHQL_MEMBER("LinkPass.bytes", struct shown_pass, pass.bytes),
    GRAPHQL_MEMBER("LinkPass.missing", struct shown_pass, pass.missing),
    GRAPHQL_MEMBER("LinkPass.extra", struct shown_pass, pass.extra),
    GRAPHQL_MEMBER("LinkPass.different", struct shown_pass, pass.different),
    GRAPHQL_MEMBER("LinkPass.moving", struct shown_pass, pass.moving),
    GRAPHQL_MEMBER("LinkPass.repaired", struct shown_pass, pass.repaired),
    GRAPHQL_MEMBER("LinkPass.skipped", struct shown_pass, pass.skipped),
    API_TEXT_AT("LinkPass.message", struct shown_pass, pass.message),
    API_TEXT_AT("LinkPass.by", struct shown_pass, pass.by),
    { .field = "Query.linkFindings", .fn = link_findings },
    GRAPHQL_LIST_OF("LinkFindingPage.items", struct shown_findings, list, count),
    API_TEXT_AT("LinkFindingPage.next", struct shown_findings, next),
    GRAPHQL_MEMBER("LinkFinding.key", struct shown_finding, key),
    GRAPHQL_MEMBER("LinkFinding.kind", struct shown_finding, kind),
    GRAPHQL_MEMBER("LinkFinding.state", struct shown_finding, state),
    GRAPHQL_MEMBER("LinkFinding.tries", struct shown_finding, finding.tries),
    API_TEXT_AT("LinkFinding.source", struct shown_finding, source),
    API_TEXT_AT("LinkFinding.dest", struct shown_finding, dest),
};
const size_t api_link_pass_count = sizeof api_link_pass / sizeof api_link_pass[0];
