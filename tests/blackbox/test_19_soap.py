"""SOAP 1.1 and 1.2: zeep sends to a gateway, spyne receives from an endpoint; a mock for answers that spyne never gives."""
import socketserver
import threading
import time
import wsgiref.simple_server

import pytest
import zeep
import zeep.exceptions
import zeep.transports
from spyne import Application, Fault, Integer, ServiceBase, Unicode, rpc
from spyne.protocol.soap import Soap11, Soap12
from spyne.server.wsgi import WsgiApplication

from fake_api import FakeApi, Reply

PATIENCE = 60
MIB = 1 << 20
NS = {"1.1": "http://schemas.xmlsoap.org/soap/envelope/", "1.2": "http://www.w3.org/2003/05/soap-envelope"}
TYPES = {"1.1": "text/xml; charset=utf-8", "1.2": "application/soap+xml; charset=utf-8"}
VERSIONS = ["1.1", "1.2"]


# ---- coming in: zeep

WSDL = """\
<?xml version="1.0"?>
<definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:tns="urn:orders" targetNamespace="urn:orders"
  xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/{wsdl}/">
 <types><xsd:schema targetNamespace="urn:orders" elementFormDefault="qualified"><xsd:element name="place">
   <xsd:complexType><xsd:sequence><xsd:element name="name" type="xsd:string"/></xsd:sequence></xsd:complexType>
 </xsd:element></xsd:schema></types>
 <message name="PlaceIn"><part name="body" element="tns:place"/></message>
 <portType name="Orders"><operation name="place"><input message="tns:PlaceIn"/></operation></portType>
 <binding name="OrdersSoap" type="tns:Orders">
   <soap:binding transport="http://schemas.xmlsoap.org/soap/http"/>
   <operation name="place"><soap:operation soapAction="urn:orders#place"/><input><soap:body use="literal"/></input></operation>
 </binding>
 <service name="Orders"><port name="Orders" binding="tns:OrdersSoap"><soap:address location="{url}"/></port></service>
</definitions>
"""

GATEWAYS = """\
systems: { hub: {} }
types: { order: {} }
gateways:
  open:  { kind: http, auth: none, reply: soap, extract: { receiver: "value:hub", type: "value:order" } }
  keyed: { kind: http, reply: soap }
  small: { kind: http, auth: none, reply: soap, limits: { size: 100 } }
  slow:  { kind: http, auth: none, reply: soap, limits: { rate: 1/h } }
  json:  { kind: http, auth: none }
"""


def client(node, gateway, version, tmp_path, key=None):
    path = tmp_path / f"{gateway}.wsdl"
    path.write_text(WSDL.format(wsdl="soap12" if version == "1.2" else "soap", url=f"{node.url}/in/{gateway}"))
    transport = zeep.transports.Transport(timeout=PATIENCE, operation_timeout=PATIENCE)
    if key:
        transport.session.headers["Authorization"] = f"Bearer {key}"
    return zeep.Client(str(path), transport=transport)


@pytest.fixture(scope="module")
def gateways(tmp_path_factory):
    from running_node import Node  # pylint: disable=import-outside-toplevel
    one = Node(tmp_path_factory.mktemp("soap"), config=GATEWAYS)
    one.start()
    yield one
    one.stop()


@pytest.mark.smoke
@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_sends_documents(gateways, tmp_path, version):
    before = set(gateways.documents())
    assert client(gateways, "open", version, tmp_path).service.place(name="three pens") is None
    doc, = set(gateways.documents()) - before
    body = gateways.get(f"/documents/{doc}/payload").body
    assert NS[version].encode() in body and b"three pens" in body


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_is_refused_by_a_fault(gateways, tmp_path, version):
    ours, theirs = ("soap:Client", "soap:Server") if version == "1.1" else ("soap:Sender", "soap:Receiver")
    for gateway, code, says in (("keyed", ours, "key"), ("small", ours, "larger")):
        with pytest.raises(zeep.exceptions.Fault) as caught:
            client(gateways, gateway, version, tmp_path).service.place(name="x" * 1000)
        assert caught.value.code == code and says in caught.value.message
    slow = client(gateways, "slow", version, tmp_path)
    with pytest.raises(zeep.exceptions.Fault) as caught:
        for _ in range(20):
            slow.service.place(name="x")
    assert caught.value.code == theirs
    key, _ = gateways.add_key("keyed")
    assert client(gateways, "keyed", version, tmp_path, key).service.place(name="x") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_on_the_wire(gateways, version):
    sent = {"Content-Type": TYPES[version] + '; action="x"'}
    answer = gateways.post("open", f"<a:Envelope xmlns:a='{NS[version]}'/>", sent)
    assert (answer.status, answer.body, answer.headers.get("Content-Type")) == (202, b"", None)
    assert answer.headers["Location"].startswith("/documents/")
    again = gateways.post("keyed", "<x/>", sent)
    assert (again.status, again.headers["Content-Type"], again.headers["WWW-Authenticate"]) == (401, TYPES[version], "Bearer")
    assert NS[version].encode() in again.body and b'code="unauthorized"' in again.body
    for method, status in (("GET", 405), ("PUT", 405)):
        refused = gateways.request(method, "/in/open", headers=sent)
        assert (refused.status, refused.headers["Content-Type"]) == (status, TYPES[version])
    assert gateways.post("json", "<x/>", sent).json["document"]
    assert gateways.post("none", "<x/>", sent).json["error"]["code"] == "unknown_gateway"


def test_a_repetition_is_answered_alike(gateways):
    headers = {"Content-Type": TYPES["1.1"], "Idempotency-Key": "one"}
    first, second = (gateways.post("open", "<x/>", headers) for _ in range(2))
    assert first.headers["Location"] == second.headers["Location"]
    assert (second.status, second.body, second.headers["Idempotent-Replay"]) == (202, b"", "true")


# ---- going out: spyne


class Orders(ServiceBase):
    """What the tests ask of it; `calls` are remembered."""

    calls = []
    busy = 0

    @rpc(Unicode, Integer, _returns=Unicode)
    def place(ctx, name, amount):  # pylint: disable=no-self-argument
        Orders.calls.append((name, amount))
        if name == "bad":
            raise Fault("Client.Article", "there is no such article")
        if name == "busy" and Orders.busy > 0:
            Orders.busy -= 1
            raise Fault("Server.Full", "the warehouse is closed")
        return "done"


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Threads(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


@pytest.fixture(scope="module")
def spyne_urls():
    servers = {}
    for version, protocol in (("1.1", Soap11), ("1.2", Soap12)):
        app = Application([Orders], "urn:orders", in_protocol=protocol(validator="lxml"), out_protocol=protocol())
        seen = WsgiApplication(app, max_content_length=64 * MIB)
        servers[version] = wsgiref.simple_server.make_server("127.0.0.1", 0, seen, Threads, Quiet)
        threading.Thread(target=servers[version].serve_forever, args=(0.05,), daemon=True).start()
    yield {v: f"http://127.0.0.1:{s.server_port}/" for v, s in servers.items()}
    for server in servers.values():
        server.shutdown()
        server.server_close()


def config(url, soap, more=""):
    return f"""\
systems: {{ hub: {{}}, strict: {{ in_doubt: hold }} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "header:X-To" }} }}
endpoints:
  api:
    kind: http
    url: "{url}"
    timeout: 30s
    retry: {{ first: 50ms, most: 200ms }}
    soap: {soap}
    {more}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


def look(node, doc):
    seen = node.show(doc, "state deliveries { state code message attempts }")
    return {**(seen["deliveries"] or [{}])[0], "state": seen["state"]}


def ends(node, doc, *states):
    return node.await_state(doc, *states, look=look, seconds=PATIENCE)


def order(name, amount=3):
    return f'<place xmlns="urn:orders"><name>{name}</name><amount>{amount}</amount></place>'


def send(node, body, to="hub"):
    return node.accept("in", body.encode() if isinstance(body, str) else body, {"X-To": to, "Content-Type": "application/xml"})


@pytest.fixture(params=VERSIONS)
def out(request, make_node, spyne_urls):
    node = make_node(config=config(spyne_urls[request.param], f"{{ version: '{request.param}', action: place }}"))
    node.start()
    node.version = request.param
    Orders.calls.clear()
    return node


def test_a_service_gets_documents(out):
    docs = [send(out, order(f"pen {i} &lt; ü", i)) for i in range(20)]
    for doc in docs:
        ends(out, doc, "delivered")
    assert sorted(Orders.calls, key=lambda c: c[1]) == [(f"pen {i} < ü", i) for i in range(20)]


def test_what_stands_before_a_document_is_left_out(out):
    ends(out, send(out, '<?xml version="1.0" encoding="utf-8"?>\n<!-- no DOCTYPE -->\n' + order("declared")), "delivered")
    ends(out, send(out, "\ufeff" + order("marked")), "delivered")
    assert [name for name, _ in Orders.calls] == ["declared", "marked"]


def test_an_envelope_is_sent_as_it_is(out):
    ns = NS[out.version]
    ends(out, send(out, f'<e:Envelope xmlns:e="{ns}"><e:Header/><e:Body>{order("packed")}</e:Body></e:Envelope>'), "delivered")
    assert Orders.calls == [("packed", 3)]
    other = NS["1.2" if out.version == "1.1" else "1.1"]
    dead = ends(out, send(out, f'<e:Envelope xmlns:e="{other}"><e:Body/></e:Envelope>'), "dead")
    assert "envelope of SOAP" in dead["message"]


def test_a_large_document_is_in_an_envelope_too(out):
    name = "x" * (3 * MIB)
    ends(out, send(out, '<?xml version="1.0"?>' + order(name)), "delivered")
    assert Orders.calls == [(name, 3)]


@pytest.mark.proves("DE7")
def test_the_senders_fault_is_a_rejection(out):
    dead = ends(out, send(out, order("bad")), "dead")
    assert dead["code"] == "rejected" and dead["attempts"] == 1
    assert "there is no such article" in dead["message"]
    if out.version == "1.1":  # spyne breaks when it makes a fault of 1.2 of what its schema finds
        dead = ends(out, send(out, '<place xmlns="urn:orders"><amount>three</amount></place>'), "dead")
        assert dead["code"] == "rejected" and "amount" in dead["message"]


@pytest.mark.proves("DE8")
@pytest.mark.parametrize("to", ["hub", "strict"])
def test_the_receivers_fault_is_tried_again(out, to):
    """Of a system that is not sent to twice, too: a fault says that it was not done."""
    Orders.busy = 2
    doc = send(out, order("busy"), to)
    ends(out, doc, "delivered")
    assert Orders.calls == [("busy", 3)] * 3
    lines = out.show(doc, "timeline { message }")["timeline"]
    assert [line for line in lines if "the warehouse is closed" in (line["message"] or "")]


@pytest.mark.parametrize("body, says", [
    (b"no XML", "not XML"), (b"<a><b></a>", "not XML"), (b"<!DOCTYPE a><a/>", "DOCTYPE"),
    ("<?xml version='1.0' encoding='ISO-8859-1'?><a>ü</a>".encode("latin-1"), "charset"),
    ("<a/>".encode("utf-16-le"), "UTF-16"), (b"<a>" * 1000 + b"</a>" * 1000, "deep")])
def test_documents_that_cannot_be_sent(out, body, says):
    dead = ends(out, send(out, body), "dead")
    assert says in dead["message"]
    assert Orders.calls == []


# ---- answers


ENVELOPE = f'<s:Envelope xmlns:s="{NS["1.1"]}"><s:Body>{{}}</s:Body></s:Envelope>'
FAULT = ENVELOPE.format("<s:Fault><faultcode>{}</faultcode><faultstring>why it is so</faultstring></s:Fault>")


@pytest.fixture
def mock(make_node):
    fake = FakeApi()
    node = make_node(config=config(fake.url + "/in", "{ action: 'urn:a' }", "outcome: { 599: delivered }"))
    node.start()
    node.fake = fake
    yield node
    fake.close()


def xml(text, status=200):
    return Reply(text.encode(), status, {"Content-Type": "text/xml"})


@pytest.mark.parametrize("reply, to, state, code, says", [
    (xml(ENVELOPE.format("<ok/>")), "strict", "delivered", None, None),
    (Reply(b"", 202), "strict", "delivered", None, None),
    (xml(FAULT.format("s:Client")), "strict", "dead", "rejected", "fault Client: why it is so"),
    (xml(FAULT.format("s:Client"), 500), "strict", "dead", "rejected", "why it is so"),
    (xml(FAULT.format("app:E17"), 500), "strict", "dead", "rejected", "fault E17"),
    (xml("<html>please log in</html>"), "strict", "in_doubt", "in_doubt", "no SOAP envelope"),
    (xml("<html>oh</html>", 500), "strict", "in_doubt", "in_doubt", "500"),
    (xml(FAULT.format("s:Client"), 599), "strict", "delivered", None, None),
    (xml(FAULT.format("s:Server") + "x" * MIB, 500), "hub", "retrying", "retry", "fault Server"),
    (xml("<!DOCTYPE a [<!ENTITY b 'c'>]>" + FAULT.format("&b;"), 500), "strict", "in_doubt", "in_doubt", "500"),
], ids=lambda v: v if isinstance(v, str) and " " not in v else None)
def test_answers(mock, reply, to, state, code, says):
    mock.fake.answer(reply)
    doc = send(mock, "<a/>", to)
    if state == "retrying":
        until = time.monotonic() + PATIENCE
        while says not in ((seen := look(mock, doc)).get("message") or ""):
            assert time.monotonic() < until, seen
            time.sleep(0.05)
        return
    seen = ends(mock, doc, state)
    assert state == "delivered" or (seen["code"] == code and says in seen["message"]), seen
    sent = mock.fake.requests[0]
    assert (sent.headers["SOAPAction"], sent.headers["Content-Type"]) == ('"urn:a"', TYPES["1.1"])
    assert sent.body == ('<?xml version="1.0" encoding="UTF-8"?>\n' + f'<soap:Envelope xmlns:soap="{NS["1.1"]}">'
                         "<soap:Body><a/></soap:Body></soap:Envelope>\n").encode()


@pytest.mark.parametrize("more, says", [
    ("method: PUT", "sent with POST"), ("headers: { soapaction: x }", "set by `soap`"),
    ("headers: { Content-Type: x }", "set by `soap`")])
def test_mistakes(mock, more, says):
    found = mock.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }",
                         t=config("http://127.0.0.1:1/", "{}", more))
    assert says in " ".join(p["message"] for p in found["configApply"]["problems"])


def test_from_one_node_to_another(make_node):
    """An endpoint with `soap`, a gateway with `reply: soap`."""
    there = make_node(config=GATEWAYS)
    there.start()
    here = make_node(config=config(there.url + "/in/open", "{ version: '1.2' }"))
    here.start()
    ends(here, send(here, order("passed on")), "delivered")
    doc, = there.documents()
    assert b"passed on" in there.get(f"/documents/{doc}/payload").body
    assert here.graphql("mutation($t: String!) { configApply(text: $t) { problems { message } } }",
                        t=config(there.url + "/in/small", "{ version: '1.2' }"))["configApply"]["problems"] == []
    dead = ends(here, send(here, order("too large for it")), "dead")
    assert dead["code"] == "rejected" and "fault Sender" in dead["message"]
