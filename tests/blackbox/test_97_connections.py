"""Connections: what one address may hold, what heads cost, and how long a stream of events lasts."""
import contextlib

import pytest

import wire
from test_88_login import add_user
from test_94_events import listen_fixture  # noqa: F401  pylint: disable=unused-import
from wire import Wire, head, wait_until

AWAY = "127.0.0.2"
PATIENCE = 60
OPEN = pytest.mark.config("gateways: { open: { kind: http, auth: none } }\n")
FEW = pytest.mark.node_options("limits: { connections: 40, connections_per_address: 30 }")


@OPEN
@FEW
@pytest.mark.smoke
@pytest.mark.parametrize("said", ["", "P"], ids=["idle", "begun"])
@pytest.mark.proves("XC3")
def test_one_address_does_not_take_all_connections(node, said):
    """Three times as many as the node has, all from one address; another one is answered every time."""
    with contextlib.ExitStack() as stack:
        crowd = []
        for _ in range(120):
            crowd.append(stack.enter_context(Wire(node, source=AWAY)))
            with contextlib.suppress(OSError):  # it may be turned away already
                crowd[-1].send(said)
        wait_until(lambda: node.metrics()["waybill_http_connections"] >= 30, PATIENCE, "the crowd")
        for number in range(20):
            assert node.post("open", b"%d" % number).status == 202
        assert node.metrics()["waybill_http_connections"] < 45


@OPEN
@FEW
def test_who_shares_the_address_of_a_crowd_hears_why(node):
    """A gateway refuses with the reason; people and probes get through."""
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            busy = stack.enter_context(Wire(node, source=AWAY))
            busy.send(head("/in/open", "Content-Length: 9", "Expect: 100-continue"))
            assert busy.answer().status == 100
        with Wire(node, source=AWAY) as over:
            over.send(head("/in/open", "Content-Length: 1"), b"x")
            got = over.answer()
            assert got.status == 503 and got.headers["Retry-After"] == "1" and got.code == "too_many_connections"
            assert b"from your address" in got.body
        for path in ("/healthz", "/readyz"):  # when the connection before has ended on the other side, too
            wait_until(lambda at=path: node.request("GET", at, source=AWAY).status == 200, PATIENCE, path)
        assert node.metrics()['waybill_http_refused_total{reason="too_many_of_one_address"}'] >= 1
    wait_until(lambda: node.request("POST", "/in/open", b"x", source=AWAY).status == 202, PATIENCE, "room")


@OPEN
@pytest.mark.node_options("limits: { connections: 40, connections_per_address: 5 }\ntrust: [127.0.0.2]")
def test_a_trusted_proxy_is_no_crowd(node):
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            busy = stack.enter_context(Wire(node, source=AWAY))
            busy.send(head("/in/open", "Content-Length: 9", "Expect: 100-continue"))
            assert busy.answer().status == 100


@OPEN
@pytest.mark.node_options("limits: { memory: 16 MiB }")
@pytest.mark.proves("XC3", "S5")
def test_heads_count_in_the_memory_and_give_it_back(node):
    """Half of it is for what is on its way in.  Heads that never end take it; then bodies and large heads are refused,
    until they are gone."""
    large = head("/in/open", "X-Large: " + "x" * 30000)[:-4]
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(Wire(node)).send(large)
        wait_until(lambda: node.metrics()["waybill_intake_head_bytes"] > 8 << 20, PATIENCE, "heads in memory")
        refused = node.post("open", b"x" * 500_000)
        assert refused.status == 503 and refused.json["error"]["code"] == "busy"
        with Wire(node) as another:
            another.send(large)
            got = another.answer()
            assert got.status == 503 and got.code == "busy"
        assert node.get("/readyz").status == 200
    wait_until(lambda: node.metrics()["waybill_intake_head_bytes"] < 1 << 20, PATIENCE, "memory that is given back")
    assert node.post("open", b"x" * 500_000).status == 202


# ---- events ---------------------------------------------------------------------------------------------------


@pytest.fixture(name="viewer")
def viewer_fixture(node):
    """A browser whose user sees all systems."""
    return add_user(node, "ann", "viewer")


@pytest.mark.parametrize("end", ["logout", "disabled", "ended"])
def test_a_stream_of_events_ends_with_its_session(node, listen, viewer, end):
    """Not minutes later."""
    stream = listen(node, cookie=viewer.cookie)
    other = listen(node)
    stream.wait("tick")
    if end == "logout":
        assert viewer.post("/logout", {}).status == 204
    elif end == "disabled":
        node.graphql('mutation { userChange(name: "ann", disabled: true) { name } }')
    else:
        session = node.graphql("{ sessions { id } }")["sessions"][0]["id"]
        node.graphql("mutation($i: ID!) { sessionEnd(id: $i) }", i=session)
    wait_until(lambda: stream.over, 30, "the end of the stream")
    seen = len(other.of("tick"))
    wait_until(lambda: len(other.of("tick")) > seen, 30, "a tick of another stream")
    assert not other.over


def test_a_stream_of_events_ends_with_its_key(node, listen):
    made = node.graphql('mutation { adminKeyAdd(title: "wall", roles: ["viewer"]) { id key } }')["adminKeyAdd"]
    stream = listen(node, token=made["key"])
    stream.wait("tick")
    node.graphql("mutation($i: ID!) { adminKeyRemove(id: $i) }", i=made["id"])
    wait_until(lambda: stream.over, 30, "the end of the stream")


def test_a_stream_of_events_shows_what_its_user_may_see_now(node, listen, viewer):
    node.graphql('mutation { roleAdd(name: "narrow", rights: [see], systems: ["acme"]) { name } }')
    stream = listen(node, cookie=viewer.cookie)
    stream.wait("tick")
    node.graphql('mutation { userChange(name: "ann", roles: ["narrow"]) { name } }')
    wire.wait_until(lambda: _no_tick_follows(node, stream), 30, "a stream without numbers")


def _no_tick_follows(node, stream):
    """Another event comes, and no tick between two of them."""
    if stream.over:
        return True  # it may also be opened again
    before, holds = len(stream.of("tick")), len(stream.of("hold"))
    made = node.graphql('mutation { holdAdd(system: "hub", reason: "x", owner: "ann") { hold { id } } }')["holdAdd"]["hold"]["id"]
    wait_until(lambda: len(stream.of("hold")) > holds or stream.over, 30, "an event")
    node.graphql("mutation($i: ID!) { holdEnd(id: $i) { id } }", i=made)
    return len(stream.of("tick")) == before
