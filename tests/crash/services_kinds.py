"""What crash/services.py sends: kinds of documents of which others come, and the configuration for them."""

import collections
import json

LARGE = 1_200_000       # a part that does not fit into a segment
TIMES = 10_000          # how often a large answer says it: it is stored while it comes
KEYS = 3                # of the records of one kind
SUBSCRIBERS = ("far", "hall", "near")
LATER = "later"         # the gateway of answers that come by themselves
SCRIPT = """local t = {}
for w in doc.bytes:gmatch([[[^\\n]+]]) do t[#t + 1] = { bytes = w, receiver = 'shop', type = 'to-shop' } end
return t"""

# A kind of document: its steps, how many items it may have (in a short run the first two of these), write(items) ->
# (body, what must come of it), where that goes, and what it is: parts, a pair, copies, copies of a pair, an answer,
# an answer that goes on; or none.
Kind = collections.namedtuple("Kind", "name steps sizes write to makes", defaults=("parts",))
Sent = collections.namedtuple("Sent", "kind body made")


def item(number, n, kind):
    return f"p{number}.{n} of {kind}".encode()


# ---- parts -------------------------------------------------------------------------------------

def split(how, to):
    return f"{{ split: {{ {how}, receiver: 'value:{to}', type: 'value:to-{to}' }} }}"


def lua(script, more=""):
    return f"{{ lua: {{ script: {json.dumps(script)}{more} }} }}"


def call(path, more):
    return (f"{{ call: {{ url: 'URL/in/{path}', timeout: 10s, retry: {{ first: 100ms, most: 300ms, for: 1h }},"
            f" breaker: {{ failures: 50, wait: 100ms }}, {more} }} }}")


def as_lines(items):
    return b"".join(i + b"\n" for i in items), [i + b"\n" for i in items]


def as_array(items):
    parts = [b'{ "item": "' + i + b'", "price": 1.10 }' for i in items]
    return b"[" + b",\n".join(parts) + b"]", parts


def as_list(items):
    body, parts = as_array(items)
    return b'{ "list": ' + body + b" }", parts


def as_words(items):
    return b"\n".join(items), items


def as_shouted(write):
    def shouted(items):
        body, parts = write(items)
        return body, [p.upper() for p in parts]
    return shouted


def with_a_large_line(items):
    return as_lines([items[0] + b"x" * LARGE, *items[1:]])


PARTS = (
    Kind("lines", [split("lines: 1", "shop")], (1, 2, 17, 40), as_lines, "shop"),
    Kind("wide", [split("lines: 1", "bin")], (1, 1001, 999, 1000, 2500), as_lines, "bin"),
    Kind("array", [split("json: ''", "lane")], (1, 3, 30), as_array, "lane"),
    Kind("script", [lua(SCRIPT, ", many: true")], (1, 5, 50), as_words, "shop"),
    Kind("chain", [lua("return doc.bytes:upper()"), split("lines: 1", "shop")], (1, 20), as_shouted(as_lines), "shop"),
    Kind("large", [split("lines: 1", "bin")], (1, 3, 1300), with_a_large_line, "bin"),
    Kind("fetched", [call("fetched", "parts: 'json:/LIST', receiver: 'value:shop', type: 'value:to-shop'")],
         (1, 30), as_shouted(as_list), "shop"),
)


# ---- pairs and copies --------------------------------------------------------------------------

def as_value(items):
    """One of a few keys, and a value that no other document has."""
    text = items[0].decode()
    return json.dumps({"id": f"k{int(text[1:].split('.')[0]) % KEYS}", "item": text}).encode(), []


def as_it_is(items):
    return b"\n".join(items), []


def as_large_as_it_gets(items):
    return as_it_is([items[0] + b"x" * LARGE])


SUBSCRIBE = "{ subscribe: all }"
KEPT = (
    Kind("keyed", ["{ store: { key: 'json:/id' } }", "{ deliver: pairs }"], (1,), as_value, "pairs", "pair"),
    Kind("told", ["{ store: { key: 'json:/id' } }", SUBSCRIBE], (1,), as_value, "near", "copies of a pair"),
    Kind("copied", [SUBSCRIBE], (1, 3), as_it_is, "near", "copies"),
)


# ---- answers -----------------------------------------------------------------------------------

def as_asked(items):
    body = b"\n".join(items)
    return body, [body.upper()]


def as_asked_for_much(items):
    body, (answer,) = as_asked(items)
    return body, [answer * TIMES]


def as_awaited(items):
    """The next document is its answer."""
    number = int(items[0][1:].split(b".")[0])
    return b"\n".join(items), [item(number + 1, 1, "late")]


ANSWER = "system: tax, answer: { type: reply }"
ANSWERS = (
    Kind("asked", ["{ deliver: asked }"], (1, 3), as_asked, "desk", "an answer"),
    Kind("asked-large", ["{ deliver: asked-large }"], (1,), as_asked_for_much, "desk", "an answer"),
    Kind("called", [call("called", ANSWER), "{ deliver: taker }"], (1, 3), as_asked, "desk", "an answer that goes on"),
    Kind("called-large", [call("called-large", ANSWER), "{ deliver: taker }"],
         (1,), as_asked_for_much, "desk", "an answer that goes on"),
    Kind("awaited", ["{ deliver: slow }"], (1,), as_awaited, "desk", "an answer"),
    Kind("late", ["{ deliver: desk }"], (1,), as_it_is, "desk", None),
)

# The small ones come several times for every one of the others, so that chains are long.
KINDS = (*PARTS, Kind("copied-large", [SUBSCRIBE], (1,), as_large_as_it_gets, "near", "copies"),
         *2 * ANSWERS, *3 * KEPT)


def only(name, **changes):
    """The kinds of this name, for a control."""
    return [next(k for k in KINDS if k.name == name)._replace(**changes)]


# ---- the node and the receiver -----------------------------------------------------------------

ENDPOINTS = {"shop": "", "lane": "", "pairs": "", "near": "", "taker": "", "desk": "",
             "asked": "answer: { type: reply }", "asked-large": "answer: { type: reply }",
             "slow": "answer: { type: reply, within: 1h }"}
EXTRACT = {"sender": '"value:desk"', "receiver": '"value:hub"', "type": '"header:x-kind"'}
GATEWAYS = (f"  {LATER}: {{ kind: http, auth: none, idempotency: 24h, answers: 'header:x-answers',"
            " extract: { sender: 'value:slow', receiver: 'value:hub', type: 'header:x-kind' } }\n")


def configuration(url):
    """`lane` is ordered; what is for `bin` ends there; answers go to `desk`."""
    endpoints = "".join(f"  {name}: {{ kind: http, url: '{url}/in/{name}', system: {name}, timeout: 10s,"
                        " retry: { first: 100ms, most: 300ms, for: 1h }, breaker: { failures: 50, wait: 100ms },"
                        f" {more} }}\n" for name, more in ENDPOINTS.items())
    routes = "".join(f"  - {{ name: {k.name}, when: {{ type: {k.name}, receiver: hub }},"
                     f" do: [ {', '.join(k.steps)} ] }}\n" for k in {k.name: k for k in KINDS}.values())
    return ("systems: { hub: {}, shop: { limits: { concurrency: 8 } }, lane: { order: receiver }, bin: {}, tax: {},"
            " pairs: {}, near: {}, far: {}, hall: {}, taker: {}, desk: {}, asked: {}, asked-large: {}, slow: {} }\n"
            f"subscriptions: {{ all: {{ to: [ {', '.join(SUBSCRIBERS)} ] }} }}\n"
            "types: { '*': {} }\n"
            f"endpoints:\n{endpoints}routes:\n{routes.replace('URL', url)}"
            "  - { name: replies, when: { type: reply }, do: [ { deliver: desk } ] }\n"
            "  - { name: to-shop, when: { type: to-shop }, do: [ { deliver: shop } ] }\n"
            "  - { name: to-lane, when: { type: to-lane }, do: [ { deliver: lane } ] }\n"
            "  - { name: to-bin, when: { type: to-bin }, do: [ { drop: {} } ] }\n"
            "  - { name: to-near, when: { receiver: near }, do: [ { deliver: near } ] }\n"
            "  - { name: to-others, when: { receiver: [ far, hall ] }, do: [ { drop: {} } ] }\n")


def teach(receiver):
    """Whoever is asked shouts back what it got; `slow` answers later."""
    for path in ("asked", "called", "fetched"):
        receiver.behave(f"/in/{path}", "shout")
    for path in ("asked-large", "called-large"):
        receiver.behave(f"/in/{path}", "shout", TIMES)
    receiver.behave("/in/slow", "status", 202, None, "")
