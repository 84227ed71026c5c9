"""MLLP by hand: exact bytes to a gateway, and exactly what comes back."""
import socket
import ssl

SECONDS = 60  # ends what hangs


def message(control="1", text="x", sender="LAB", more="", marks="|^~\\&"):
    """An HL7 message; `more` is what stands behind MSH-12."""
    sep, part = marks[0], marks[1]
    head = sep.join(["MSH", marks[1:], sender, "HOSP", "EHR", "CLINIC", "20261118080000", "",
                     f"ORU{part}R01{part}ORU_R01", control, "P", "2.5"]) + more
    return (head + f"\rPID{sep}1{sep}{sep}4711\rNTE{sep}1{sep}{sep}{text}\r").encode()


def frame(body):
    return b"\x0b" + body + b"\x1c\r"


class Ack:
    """An acknowledgement, by its fields."""

    def __init__(self, raw):
        assert raw[:1] == b"\x0b" and raw[-2:] == b"\x1c\r", raw
        self.raw = raw
        self.text = raw[1:-2].decode("latin-1")
        first, second = self.text.rstrip("\r").split("\r")
        sep = first[3]
        self.msh = [None, sep] + first.split(sep)[1:]
        self.msa = second.split(sep)
        assert first[:3] == "MSH" and self.msa[0] == "MSA", raw
        self.code, self.control = self.msa[1], self.msa[2]
        self.message = self.msa[3] if len(self.msa) > 3 else None


class Peer:
    """One connection to a gateway's port."""

    def __init__(self, port, tls=None, source=None, seconds=SECONDS):
        self.socket = socket.create_connection(("127.0.0.1", port), seconds,
                                               source_address=(source, 0) if source else None)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.bytes = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)
        return self

    def read(self):
        """Wait for more bytes; False when the other side closed."""
        try:
            got = self.socket.recv(1 << 16)
        except (ConnectionError, ssl.SSLError):
            got = b""
        self.bytes += got
        return bool(got)

    def ack(self):
        """The next acknowledgement."""
        while b"\x1c\r" not in self.bytes:
            assert self.read(), f"closed after {self.bytes!r}"
        raw, _, self.bytes = self.bytes.partition(b"\x1c\r")
        return Ack(raw + b"\x1c\r")

    def ask(self, body):
        """Send one message and wait for its acknowledgement."""
        return self.send(frame(body)).ack()

    def is_closed(self):
        """Wait for the end of the connection; False when bytes come instead."""
        return not self.bytes and not self.read()


def port_of(node, gateway="adt", since=0):
    """Where the gateway listens, as the node said after index `since` of its log."""
    return int(node.wait_event("gateway.listen", SECONDS, since=since, gateway=gateway)["address"].rpartition(":")[2])


