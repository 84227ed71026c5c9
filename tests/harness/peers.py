"""What servers that tests start have in common: ports, an end, and a way between them and the node."""
import ctypes
import os
import pathlib
import signal
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from rig.process import free_port, free_ports, stop_whole  # noqa: E402, F401  pylint: disable=wrong-import-position,unused-import

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def files_below(folder):
    """The paths of all files below it, also while folders in it come and go."""
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def end_with_parent():
    """In a child, before it becomes a server: it ends when the tests end, however they end."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Between:
    """A TCP proxy before a server, which loses what it is told to.

        with Between(server.port) as way:
            way.lose("PUT")      # of the answer to the next such request only the first bytes come, then the end
            way.drop("PUT")      # the next such request does not come there; it is answered with some bytes and the end
            way.hold(1 << 20)    # connections stand still after so many bytes from the client, until release()
        Between(server.port, tls=context)        # the client speaks TLS, the server does not
    """

    def __init__(self, port, tls=None):
        self.to, self.tls = port, tls
        self.lost = 0       # answers or requests that were thrown away
        self.held = 0       # connections that stand still
        self._lose = self._drop = None
        self._hold = None
        self._free = threading.Event()
        self._lock = threading.Lock()
        self._open = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.release()
        self._server.close()
        with self._lock:
            for s in self._open:
                self._end(s)

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def lose(self, method):
        self._lose = method.encode() + b" "

    def drop(self, method):
        self._drop = method.encode() + b" "

    def hold(self, size):
        self._free.clear()
        self._hold = size

    def release(self):
        self._hold = None
        self._free.set()

    @staticmethod
    def _end(s):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        s.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                if self.tls is not None:
                    client = self.tls.wrap_socket(client, server_side=True)
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                self._end(client)
                continue
            with self._lock:
                self._open += [client, server]
            doomed = threading.Event()
            threading.Thread(target=self._forth, args=(client, server, doomed), daemon=True).start()
            threading.Thread(target=self._back, args=(client, server, doomed), daemon=True).start()

    def _forth(self, client, server, doomed):
        count = 0
        try:
            while got := client.recv(1 << 16):
                with self._lock:
                    if self._lose is not None and got.startswith(self._lose):
                        self._lose = None
                        doomed.set()
                    if self._drop is not None and got.startswith(self._drop):
                        self._drop = None
                        self.lost += 1
                        client.sendall(b"HTTP/1.1")
                        break
                count += len(got)
                most = self._hold
                if most is not None and count > most:
                    with self._lock:
                        self.held += 1
                    self._free.wait()
                server.sendall(got)
        except OSError:
            pass
        self._end(server)
        self._end(client)

    def _back(self, client, server, doomed):
        try:
            while got := server.recv(1 << 16):
                if doomed.is_set() and b" 100 " not in got[:16]:
                    client.sendall(got[:8])  # without a byte a client may repeat by itself what it has sent
                    with self._lock:
                        self.lost += 1
                    break
                client.sendall(got)
        except OSError:
            pass
        self._end(client)
        self._end(server)
