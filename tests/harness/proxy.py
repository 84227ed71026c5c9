#!/usr/bin/python3
"""A TCP proxy on a private port that loses what it is told to lose.

    with Proxy(port) as p:
        p.cut_after = 1000           a connection ends when its client has sent so many bytes
        p.lose = lambda: seen()      asked before bytes of the server go on: true loses them and all that follow
        p.slam = True                ... and then the connection is closed instead of left open
        p.delay = 0.02               every answer waits so long
        p.hold = lambda: 6           asked once for each connection: so long its client's first bytes wait
        p.targets                    ports that connections go to in turn
        p.rate = 20e6                bytes per second that go on, at most, there and back together
        p.connections                how many were made
        p.mute = b"NOOP"             a connection whose client sends this stays open and carries nothing from there on
"""
import select
import socket
import threading
import time

PIECE = 65536


class Proxy:
    """One thread takes connections, one more serves each of them."""

    def __init__(self, target, host="127.0.0.1"):
        self.host, self.targets = host, [target]
        self.cut_after = self.lose = self.rate = self.mute = None
        self.slam = False
        self.delay, self.hold = 0, None
        self.connections = self.lost = 0
        self.ending = False
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.take, daemon=True)]
        self.threads[0].start()

    def take(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self.serve, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def serve(self, client):
        try:
            server = socket.create_connection((self.host, self.targets[self.connections % len(self.targets)]))
        except OSError:
            client.close()
            return
        self.open |= {client, server}
        try:
            self.carry(client, server)
        except OSError:
            pass
        finally:
            self.open -= {client, server}
            client.close()
            server.close()

    def carry(self, client, server):
        sent, losing, muted, held = 0, False, False, False
        while not self.ending:
            for ready in select.select([client, server], [], [], 0.2)[0]:
                data = ready.recv(PIECE)
                if not data:
                    return
                muted = muted or (ready is client and self.mute is not None and self.mute in data)
                if muted:
                    continue
                if self.rate is not None:
                    time.sleep(len(data) / self.rate)
                if ready is client:
                    if self.hold is not None and not held:
                        held = True
                        time.sleep(self.hold())
                    sent += len(data)
                    if self.cut_after is not None and sent > self.cut_after:
                        self.lost += 1
                        return
                    server.sendall(data)
                    continue
                if not losing and self.lose is not None and self.lose():
                    losing = True
                    self.lost += 1
                    if self.slam:
                        return
                if not losing:
                    time.sleep(self.delay)
                    client.sendall(data)

    def close(self):
        self.ending = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
