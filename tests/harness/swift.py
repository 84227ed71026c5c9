"""A private OpenStack Swift with its S3 interface (Debian's python3-swift), on free ports and in a folder of its own.

    with Swift(folder) as swift:
        swift.client().make_bucket("orders")
        swift.pause(); swift.resume()        # it hangs, and goes on
        swift.kill(); swift.start()          # gone, and back on the same port, with what it has stored

It refuses If-None-Match with 501, and a wrong region.  One process for each of account, container, object and
proxy; nothing outside the folder is read or written.  Without memcached: what it would have cached is asked again.
"""
import getpass
import os
import pathlib
import signal
import socket
import subprocess
import time

from peers import free_ports, end_with_parent
from s3_client import S3Client

ACCESS_KEY, SECRET_KEY, REGION = "waybill:tester", "testing", "us-east-1"
START_SECONDS = 120

RINGS = """
import sys
from swift.common.ring import RingBuilder
folder, ports = sys.argv[1], sys.argv[2:]
for name, port in zip(("account", "container", "object"), ports):
    ring = RingBuilder(4, 1, 0)
    ring.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1.0, "ip": "127.0.0.1", "port": int(port), "device": "d1"})
    ring.rebalance()
    ring.get_ring().save(f"{folder}/{name}.ring.gz")
"""
SERVER = """
import sys
import swift.common.utils
from swift.common.wsgi import run_wsgi
swift.common.utils.SWIFT_CONF_FILE = sys.argv[3]
sys.exit(run_wsgi(sys.argv[1], sys.argv[2]))
"""
COMMON = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {etc}
log_level = WARNING
log_address = {folder}/no-such-socket
"""
STORAGE = COMMON + """\
devices = {folder}/srv
mount_check = false
recon_cache_path = {folder}/cache
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
conn_timeout = 20
node_timeout = 60
container_update_timeout = 60
"""
PROXY = COMMON + """\
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 20
node_timeout = 60
error_suppression_limit = 100000
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
check_bucket_owner = false
location = {region}
max_bucket_listing = {page}
storage_domain = localhost
[filter:tempauth]
use = egg:swift#tempauth
user_waybill_tester = testing .admin http://127.0.0.1:{port}/v1/AUTH_waybill
user_waybill_guest = knocking http://127.0.0.1:{port}/v1/AUTH_waybill
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{nobody}
""" + "".join(f"[filter:{name}]\nuse = egg:swift#{name}\n" for name in (
    "catch_errors", "gatekeeper", "healthcheck", "listing_formats", "bulk", "copy", "slo", "dlo"))
SWIFT_CONF = """\
[swift-hash]
swift_hash_path_suffix = suffix
swift_hash_path_prefix = prefix
[storage-policy:0]
name = default
default = yes
"""




class Swift:
    KNOWS_CONDITION, CHECKS_REGION = False, True
    access_key, secret_key = ACCESS_KEY, SECRET_KEY
    guest = ("waybill:guest", "knocking")  # may log in, and do nothing

    def __init__(self, folder, page=1000):
        """page: the most that it lists at once."""
        self.folder = pathlib.Path(folder)
        self.processes = {}
        *storage, self.port, nobody = free_ports(5)
        self.storage = storage
        etc = self.folder / "etc"
        for d in (etc, self.folder / "srv" / "d1", self.folder / "cache"):
            d.mkdir(parents=True)
        (etc / "swift.conf").write_text(SWIFT_CONF)
        values = {"user": getpass.getuser(), "etc": etc, "folder": self.folder, "region": REGION, "nobody": nobody}
        for name, port in zip(("account", "container", "object"), storage):
            (etc / f"{name}.conf").write_text(STORAGE.format(name=name, port=port, **values))
        (etc / "proxy.conf").write_text(PROXY.format(port=self.port, page=page, **values))
        subprocess.run(["/usr/bin/python3", "-c", RINGS, etc, *map(str, storage)], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def client(self):
        return S3Client("127.0.0.1", self.port, ACCESS_KEY, SECRET_KEY, REGION)

    def start(self):
        etc = self.folder / "etc"
        for name in ("account", "container", "object", "proxy"):
            with open(self.folder / f"{name}.log", "ab") as log:
                # pylint: disable-next=consider-using-with,subprocess-popen-preexec-fn
                self.processes[name] = subprocess.Popen(
                    ["/usr/bin/python3", "-c", SERVER, etc / f"{name}.conf", f"{name}-server", etc / "swift.conf"],
                    stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, preexec_fn=end_with_parent)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                for port in self.storage:  # what is stored before all of them listen is refused
                    socket.create_connection(("127.0.0.1", port), 60).close()
                self.client().request("GET", "")
                return
            except Exception:  # pylint: disable=broad-except
                if time.monotonic() > until:
                    raise
            dead = [n for n, p in self.processes.items() if p.poll() is not None]
            assert not dead, (dead, (self.folder / f"{dead[0]}.log").read_text()[-2000:])
            time.sleep(0.1)

    def _end(self, signo):
        for p in self.processes.values():
            if p.poll() is None:
                os.kill(p.pid, signal.SIGCONT)
                p.send_signal(signo)
        for p in self.processes.values():
            p.wait(30)
        self.processes = {}

    def stop(self):
        self._end(signal.SIGKILL)  # nothing that it has is wanted any more

    def kill(self):
        self._end(signal.SIGKILL)

    def pause(self):
        self.processes["proxy"].send_signal(signal.SIGSTOP)

    def resume(self):
        self.processes["proxy"].send_signal(signal.SIGCONT)
