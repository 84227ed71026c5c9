"""Manual work: edits, sends straight to the router, and bulk changes by a filter."""
import base64
import hashlib
import json
import threading

import pytest

from test_87_rights import Somebody, make_role, somebody
from wire import Wire, head, wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE = 0, 1, 2

CONFIG = """\
systems: {{ acme: {{}}, hub: {{ ids: ["H1"] }}, erp: {{}}, line: {{ order: receiver }} }}
types: {{ order: {{}}, note: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    limits: {{ size: 4 MiB }}
    extract: {{ sender: "header:X-From", receiver: "json:/to", type: "json:/type",
               attributes: {{ po: "json:/po" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 30s, retry: {{ first: 1h, most: 1h, for: 3d }},
         breaker: {{ failures: 1000, wait: 1h }} }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ deliver: api }} ]
"""


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


def paper(**more):
    return json.dumps({"to": "hub", "type": "order", "po": "1", **more})


def send(node, **more):
    answer = node.request("POST", "/in/in", paper(**more),
                          {"X-From": "acme", "Content-Type": "application/json"})
    assert answer.status == 202, answer.body
    return answer.json["document"]


def objects(got):
    return [json.loads(line) for line in got.stdout.splitlines()]


def show(node, doc):
    return node.show(doc, "state gateway sender receiver type size sha256 name contentType caller error { code }"
                     " attributes { name value } editOf { id } edits { items { id } } timeline { stage what"
                     " message }")


def await_state(node, doc, *states, seconds=20):
    return node.await_state(doc, *states, look=show, seconds=seconds)


def edit(node, doc, body, *more):
    return node.cli("docs", "edit", doc, "-", "--by", "ann", *more, stdin=body)


def edited(node, doc, body, *more):
    got = edit(node, doc, body, *more)
    assert got.returncode == DONE, got.stderr
    return got.stdout.strip()


def operator_lines(seen):
    return [(t["what"], t["message"]) for t in seen["timeline"] if t["stage"] == "operator"]


def payload(node, doc):
    return node.cli("docs", "payload", doc).stdout


# -- edits

@BOTH
@pytest.mark.proves("ME1", "ME2", "ME3", "ME4")
def test_an_edit_takes_the_place_of_a_rejected_document(node, receiver):
    receiver.behave("/in", "status", 422)
    doc = send(node, text="wrong")
    await_state(node, doc, "dead")
    receiver.behave("/in", "ok")
    made = edited(node, doc, paper(text="right"))
    new = await_state(node, made, "delivered")
    assert (new["sender"], new["receiver"], new["type"]) == ("acme", "hub", "order")
    assert new["editOf"] == {"id": doc} and new["contentType"] == "application/json"
    assert new["caller"] == "admin"
    (who, what), = operator_lines(new)
    assert who == "ann" and doc in what and "bytes" in what

    old = show(node, doc)
    assert old["state"] == "superseded" and [e["id"] for e in old["edits"]["items"]] == [made]
    who, what = operator_lines(old)[-1]
    assert who == "ann" and made in what
    assert json.loads(payload(node, doc))["text"] == "wrong"
    assert json.loads(payload(node, made))["text"] == "right"
    assert receiver.keys() == {f"{doc}.api": 1, f"{made}.api": 1}

    for words in (["retry", doc], ["retry", doc, "--again"]):
        got = node.cli("docs", *words)
        assert got.returncode == NO and "took its place" in got.stdout
    got = edit(node, doc, paper())
    assert got.returncode == NO and "another edit took its place" in got.stderr
    people = node.cli("docs", "show", made).stdout
    assert f"edit of       {doc}" in people
    assert objects(node.cli("dead", "ls", "--json")) == []
    assert node.cli("doctor").returncode == DONE


@pytest.mark.proves("ME4")
def test_beside_a_document_that_was_delivered(node, receiver):
    doc = send(node)
    await_state(node, doc, "delivered")
    got = edit(node, doc, paper(text="more"))
    assert got.returncode == NO and "--beside" in got.stderr
    made = edited(node, doc, paper(text="more"), "--beside")
    assert await_state(node, made, "delivered")["editOf"] == {"id": doc}
    old = show(node, doc)
    assert old["state"] == "delivered" and made in operator_lines(old)[-1][1]
    assert receiver.keys() == {f"{doc}.api": 1, f"{made}.api": 1}


@pytest.mark.proves("ME4")
def test_what_is_being_sent_is_left_alone(node, receiver):
    receiver.behave("/in", "late", 25)
    doc = send(node)
    receiver.wait_for(1)
    got = edit(node, doc, paper())
    assert got.returncode == NO and ("being worked on" in got.stderr or "being sent" in got.stderr)
    assert len(objects(node.cli("docs", "ls", "--json"))) == 1
    node.kill()  # nobody waits for the answer


def test_the_gateway_reads_an_edit_again_with_the_fields_of_the_original(node):
    doc = send(node, to="nobody")
    assert await_state(node, doc, "dead")["error"]["code"] == "unknown_system"
    made = edited(node, doc, paper(to="H1", po="7"))
    new = await_state(node, made, "delivered")
    assert (new["sender"], new["receiver"]) == ("acme", "hub")  # the sender stood in a header
    assert new["attributes"] == [{"name": "po", "value": "7"}]


def test_straight_to_the_router_with_what_is_given(node, receiver):
    doc = send(node, type="letter")
    assert await_state(node, doc, "dead")["error"]["code"] == "no_route"
    made = edited(node, doc, "no json at all", "--type", "order", "--receiver", "erp",
                  "--attribute", "po=8", "--attribute", "shop=web", "--name", "a.txt")
    new = await_state(node, made, "delivered")
    assert (new["sender"], new["receiver"], new["type"]) == ("acme", "erp", "order")
    assert {a["name"]: a["value"] for a in new["attributes"]} == {"po": "8", "shop": "web"}
    assert new["name"] == "a.txt"
    assert "receiver hub -> erp" in operator_lines(new)[0][1]
    again = edited(node, made, "other bytes", "--route", "--beside")
    assert await_state(node, again, "delivered")["receiver"] == "erp"


def test_send_straight_to_the_router(node):
    got = node.cli("send", "in", "-", "--sender", "acme", "--receiver", "H1", "--type", "order",
                   "--by", "bob", "--key", "k1", stdin="anything")
    assert got.returncode == DONE, got.stderr
    doc = got.stdout.strip()
    seen = await_state(node, doc, "delivered")
    assert (seen["gateway"], seen["receiver"], seen["caller"]) == ("in", "hub", "admin")
    assert operator_lines(seen) == [("bob", "sent straight to the router")]
    got = node.cli("send", "in", "-", "--sender", "acme", "--receiver", "H1", "--type", "order",
                   "--key", "k1", stdin="anything")
    assert got.stdout.strip() == doc
    got = node.cli("send", "in", "-", "--type", "order", "--key", "k1", stdin="else")
    assert got.returncode == NO and "other bytes" in got.stderr
    got = node.cli("send", "in", "-", "--sender", "x", "--type", "order", stdin="y")
    assert await_state(node, got.stdout.strip(), "dead")["error"]["code"] == "unknown_system"
    got = node.cli("send", "nothing", "-", "--type", "order", stdin="y")
    assert got.returncode == NO and "no gateway" in got.stderr


@BOTH
def test_large_edits_are_streamed_and_have_the_limit_of_their_gateway(node, tmp_path):
    doc = send(node, type="letter")
    await_state(node, doc, "dead")
    body = b"x" * (3 << 20)
    (tmp_path / "large").write_bytes(body)
    got = node.cli("docs", "edit", doc, str(tmp_path / "large"), "--type", "order", "--key", "k")
    assert got.returncode == DONE, got.stderr
    made = got.stdout.strip()
    seen = await_state(node, made, "delivered")
    assert seen["size"] == len(body) and seen["sha256"] == hashlib.sha256(body).hexdigest()
    got = node.cli("docs", "edit", doc, str(tmp_path / "large"), "--type", "order", "--key", "k")
    assert got.stdout.strip() == made  # its bytes came twice, and lie there once
    got = node.cli("docs", "edit", made, str(tmp_path / "large"), "--route")
    assert got.returncode == NO and "--beside" in got.stderr
    (tmp_path / "larger").write_bytes(b"x" * ((4 << 20) + 1))
    got = node.cli("docs", "edit", made, str(tmp_path / "larger"), "--beside")
    assert got.returncode == NO and "limits.size" in got.stderr
    assert node.cli("doctor").returncode == DONE


def test_requests_that_are_wrong(node):
    doc = send(node, type="letter")
    await_state(node, doc, "dead")
    auth = {"Authorization": f"Bearer {node.token}"}

    def ask(path, **fields):
        return node.request("POST", path, "x", {**auth, **fields}).status

    assert node.request("POST", f"/documents/{doc}/edit", "x", {}).status == 401
    assert node.request("POST", f"/documents/{doc}", "x", auth).status == 405
    assert ask("/documents/nothing/edit") == 404
    assert ask(f"/documents/{doc[:-1]}{'0' if doc[-1] != '0' else '1'}/edit") == 404
    assert ask(f"/documents/{doc}/edit?as=maybe") == 400
    assert ask(f"/documents/{doc}/edit", **{"Waybill-Sender": "acme"}) == 400
    assert ask(f"/documents/{doc}/edit?from=router", **{"Waybill-Attribute": "no"}) == 400
    assert ask("/documents") == 400
    assert ask("/documents?gateway=in") == 409  # nothing that the router could go by
    assert show(node, doc)["state"] == "dead"
    got = node.cli("docs", "edit", doc, "-", "--attribute", "x", stdin="y")
    assert got.returncode == USAGE


@pytest.mark.proves("ME3")
def test_the_api_edits_and_shows_where_documents_come_from(node):
    doc = send(node, type="letter", text="one")
    await_state(node, doc, "dead")
    new = paper(type="letter", text="two").encode()
    made = node.graphql(
        "mutation($id: ID!, $p: String!) { documentEdit(id: $id, payload: $p, by: \"ann\")"
        " { result message id repeated } }",
        id=doc, p=base64.b64encode(new).decode())["documentEdit"]
    assert made["result"] == "done" and not made["repeated"]
    await_state(node, made["id"], "dead")
    large = base64.b64encode(b"y" * (2 << 20)).decode()
    last = node.graphql(
        "mutation($id: ID!, $p: String!) { documentEdit(id: $id, payload: $p, as: beside,"
        " from: router, metadata: { type: \"order\" }) { result message id } }",
        id=made["id"], p=large)["documentEdit"]
    assert last["result"] == "done", last
    seen = node.graphql(
        "query($id: ID!) { document(id: $id) { editOf { id editOf { id state } editDiff }"
        " editDiff parent { id } batch { id } members { items { id } }"
        " children { items { id } } } }", id=last["id"])["document"]
    assert seen["editOf"]["id"] == made["id"] and seen["editDiff"] is None  # too large
    assert seen["editOf"]["editOf"] == {"id": doc, "state": "superseded"}
    assert "two" in seen["editOf"]["editDiff"] and "one" in seen["editOf"]["editDiff"]
    assert seen["parent"] is None and seen["batch"] is None and seen["members"]["items"] == []
    page = node.graphql("query($id: ID!) { document(id: $id) { children(first: 1)"
                        " { items { id } next } } }", id=made["id"])["document"]["children"]
    assert page == {"items": [{"id": last["id"]}], "next": None}
    gone = node.graphql("mutation { documentEdit(id: \"x\", payload: \"\") { result id } }")
    assert gone["documentEdit"] == {"result": "unknown", "id": None}


def pages_of(who, doc, first, field="children"):
    """The pages as lists of ids; all but the last say that there is another."""
    pages, after = [], None
    while True:
        page = who.data(f"query($id: ID!, $n: Int!, $a: String) {{ document(id: $id) {{ {field}(first: $n, after: $a)"
                        " { items { id } next } } }", id=doc, n=first, a=after)["document"][field]
        pages.append([d["id"] for d in page["items"]])
        if page["next"] is None:
            return pages
        after = page["next"]


@BOTH
@pytest.mark.proves("ME5")
def test_pages_of_what_was_made_tell_nothing_of_what_is_out_of_scope(node):
    def beside(doc, sender, receiver):
        made = node.graphql(
            "mutation($id: ID!, $s: String!, $r: String!) { documentEdit(id: $id, payload: \"eA==\", as: beside,"
            " from: router, metadata: { sender: $s, receiver: $r, type: \"note\" }) { id } }",
            id=doc, s=sender, r=receiver)["documentEdit"]
        assert made["id"], made
        return made["id"]

    docs = [send(node, type="letter", n=n) for n in range(3)]
    for doc in docs:
        await_state(node, doc, "dead")
    mixed, others, bare = docs
    made = [(who, beside(mixed, who, "hub" if who == "acme" else "erp"))
            for who in ("erp", "erp", "acme", "erp", "acme", "acme", "erp", "erp")]
    for _ in range(3):
        beside(others, "erp", "erp")
    everything, mine = [d for _, d in made], [d for who, d in made if who == "acme"]
    make_role(node, "desk", {"see"}, ["acme"])
    admin, desk = Somebody(node, node.token), somebody(node, "desk")
    for field in ("children", "edits"):
        for first in (1, 2, 3, 7, 8, 9, 200):
            for who, all_of_them in ((admin, everything), (desk, mine)):
                assert pages_of(who, mixed, first, field) == [
                    all_of_them[i:i + first] for i in range(0, len(all_of_them), first)], (field, first)
            assert pages_of(desk, others, first, field) == pages_of(desk, bare, first, field) == [[]]


@BOTH
@pytest.mark.proves("ME4")
def test_an_edit_and_a_retry_at_once(node, receiver):
    """Whoever comes first, never do both go out."""
    receiver.behave("/in", "status", 422)
    docs = [send(node, n=n) for n in range(8)]
    for doc in docs:
        await_state(node, doc, "dead")
    receiver.behave("/in", "ok")
    results = {}

    def one(doc, what):
        results[doc, what] = edit(node, doc, paper(text="right")) if what == "edit" \
            else node.cli("docs", "retry", doc)

    for some in (docs[:4], docs[4:]):
        threads = [threading.Thread(target=one, args=(doc, what))
                   for doc in some for what in ("edit", "retry")]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for doc in docs:
        got = results[doc, "edit"]
        if got.returncode == DONE:
            made = got.stdout.strip()
            await_state(node, made, "delivered")
            assert show(node, doc)["state"] == "superseded"
            assert receiver.keys()[f"{doc}.api"] == 1  # when it was rejected
        else:
            assert got.returncode == NO and results[doc, "retry"].returncode == DONE
            assert not show(node, doc)["edits"]["items"]
            await_state(node, doc, "delivered")
    assert node.cli("doctor").returncode == DONE


@BOTH
def test_an_edit_takes_the_place_in_the_order(node, receiver):
    """What came later waits for it, as it waited for the original."""
    receiver.behave("/in", "status", 422)
    first = send(node, to="line", text="wrong")
    await_state(node, first, "dead")
    receiver.behave("/in", "ok")
    later = [send(node, to="line", text=f"later {n}") for n in range(2)]
    for doc in later:
        await_state(node, doc, "held")
    made = edited(node, first, paper(to="line", text="right"))
    for doc in [made, *later]:
        await_state(node, doc, "delivered")
    came = [json.loads(r["body"])["text"] for r in receiver.requests("/in")]
    assert came == ["wrong", "right", "later 0", "later 1"]
    assert node.cli("doctor").returncode == DONE


# -- in bulk

def many(node, count, **more):
    return [send(node, n=n, **more) for n in range(count)]


def states(node, docs):
    return {show(node, doc)["state"] for doc in docs}


@BOTH
@pytest.mark.proves("DL3")
def test_a_bulk_retry_is_counted_first_and_goes_at_a_rate(node, receiver):
    receiver.behave("/in", "status", 422)
    hub, erp = many(node, 6), many(node, 2, to="erp")
    for doc in hub + erp:
        await_state(node, doc, "dead")
    receiver.behave("/in", "ok")
    words = ["docs", "retry", "--receiver", "hub", "--where", "po=1", "--rate", "5/s", "--by", "ann"]
    assert node.cli(*words, "--dry").stdout == "6 documents\n"
    assert states(node, hub) == {"dead"}
    got = node.cli(*words, "--yes")
    assert got.returncode == DONE and got.stdout == "6 documents on their way again\n", got.stderr
    for doc in hub:
        seen = await_state(node, doc, "delivered")
        assert operator_lines(seen)[-1][0] == "ann"
    assert states(node, erp) == {"dead"}
    portions = [e for e in node.events if e["event"] == "document.operate"]
    assert [(e["count"], e["done"], e["who"]) for e in portions] == [
        (5, 5, "ann"), (1, 1, "ann")]
    assert receiver.keys() == {**{f"{d}.api": 2 for d in hub}, **{f"{d}.api": 1 for d in erp}}

    got = node.cli("docs", "retry", "--receiver", "hub", "--yes")  # what was delivered is not meant
    assert got.stdout == "0 documents on their way again\n"
    got = node.cli("docs", "retry", "--receiver", "hub", "--again", "--dry")
    assert got.stdout == "6 documents\n"


def test_bulk_cancel_and_discard(node, receiver):
    receiver.behave("/in", "status", 422)
    dead = many(node, 3)
    for doc in dead:
        await_state(node, doc, "dead")
    got = node.cli("hold", "add", "hub", "--until", "2030-01-01", "--reason", "test")
    assert got.returncode == DONE, got.stderr
    held = many(node, 3)
    for doc in held:
        await_state(node, doc, "held")
    got = node.cli("docs", "cancel", "--state", "held", "--yes")
    assert got.stdout == "3 documents cancelled\n", got.stderr
    assert states(node, held) == {"cancelled"} and states(node, dead) == {"dead"}

    # A portion at a time; what comes meanwhile is not meant.
    ask = ("mutation($a: String) { documentsDiscard(filter: { error: \"rejected\" }, portion: 2,"
           " after: $a) { count done skipped next } }")
    first = node.graphql(ask, a=None)["documentsDiscard"]
    assert (first["count"], first["done"], first["skipped"]) == (2, 2, 0)
    assert node.cli("hold", "end", objects(node.cli("hold", "ls", "--json"))[0]["id"]
                    ).returncode == DONE
    late = send(node)
    await_state(node, late, "dead")
    second = node.graphql(ask, a=first["next"])["documentsDiscard"]
    assert second == {"count": 1, "done": 1, "skipped": 0, "next": None}
    assert states(node, dead) == {"cancelled"} and states(node, [late]) == {"dead"}
    assert objects(node.cli("docs", "discard", "--all", "--yes", "--json")) == [
        {"count": 1, "done": 1, "skipped": 0}]
    assert node.cli("doctor").returncode == DONE


# ---- rights that end while a body comes ------------------------------------------------------------

LARGE = 3 << 20  # it does not wait in memory


def begin(node, who, path, body, *fields):
    """The head, and when the node reads on, half of the body."""
    w = Wire(node, timeout=30)
    w.send(head(path, f"Authorization: Bearer {who.key}", f"Content-Length: {len(body)}",
                "Expect: 100-continue", *fields))
    assert w.answer().status == 100  # it was let in
    return w.send(body[:len(body) // 2])


def finish(w, body):
    with w:
        return w.send(body[len(body) // 2:]).answer()


def remove_key(node, who):
    node.graphql("mutation($id: ID!) { adminKeyRemove(id: $id) }", id=who.id)
    assert who.get("/documents/nix").status == 401


def large_files(node):
    return set((node.data / "large").iterdir())


def test_a_question_that_comes_slowly_has_no_rights_that_ended(node):
    one, other = somebody(node, "admin"), somebody(node, "admin")
    ask = json.dumps({"query": "mutation($r: [Right!]!) { roleAdd(name: \"late\", rights: $r) { name } }",
                      "variables": {"r": ["see"]}}).encode()
    slow = [begin(node, who, "/graphql", ask, "Content-Type: application/json") for who in (one, other)]
    remove_key(node, one)
    got = finish(slow[0], ask)
    assert got.status == 401 and got.code == "unauthorized"
    names = "{ roles { name } }"
    assert {"name": "late"} not in node.graphql(names)["roles"]
    assert finish(slow[1], ask).status == 200  # who may go on may
    assert {"name": "late"} in node.graphql(names)["roles"]


@pytest.mark.parametrize("size", [1000, LARGE])
def test_a_document_that_comes_slowly_has_no_rights_that_ended(node, size):
    doc = send(node, type="letter")
    await_state(node, doc, "dead")
    rights = {"see", "payload", "edit"}
    fields = ("Waybill-Sender: acme", "Waybill-Receiver: hub", "Waybill-Type: order", "Waybill-By: ann")
    paths = ("/documents?gateway=in", f"/documents/{doc}/edit?from=router&as=beside")
    body = b"x" * size
    before = node.documents()

    def slow(change):
        """What comes of it when the rights change behind its first half."""
        found = []
        for path in paths:
            make_role(node, "desk", rights, ["acme"])
            who = somebody(node, "desk")
            w = begin(node, who, path, body, *fields)
            change(who)
            found.append(finish(w, body).status)
        return found

    assert slow(lambda who: remove_key(node, who)) == [401, 401]
    assert slow(lambda who: make_role(node, "desk", {"see"}, ["acme"])) == [403, 403]
    assert slow(lambda who: make_role(node, "desk", rights, ["erp"])) == [409, 404]
    assert node.documents() == before
    wait_until(lambda: not large_files(node), what="the end of what was refused")
    assert slow(lambda who: None) == [202, 202]
    assert len(node.documents()) == len(before) + 2
    assert len(large_files(node)) == (2 if size == LARGE else 0)
