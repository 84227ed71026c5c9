"""A private Ceph with its S3 interface (Debian's radosgw), on free ports and in a folder of its own.

    with Radosgw(folder) as ceph:
        ceph.client().make_bucket("orders")

It knows If-None-Match, and takes any region.  One monitor, one store in memory (so what it has is gone when that is
killed; `kill` and `pause` concern the gateway alone), one gateway.
"""
import os
import pathlib
import signal
import subprocess
import time
import uuid

from peers import end_with_parent, free_ports, stop_whole
from s3_client import S3Client

ACCESS_KEY, SECRET_KEY, REGION = "AKWAYBILL", "SKWAYBILL", "us-east-1"
START_SECONDS = 240

CONF = """\
[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{mon2},v1:127.0.0.1:{mon1}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
mon_allow_pool_size_one = true
osd_crush_chooseleaf_type = 0
osd_objectstore = memstore
memstore_device_bytes = 1073741824
mon_data_avail_crit = 1
mon_data_avail_warn = 1
run_dir = {folder}
log_file = {folder}/$name.log
admin_socket = {folder}/$name.asok
pid_file = {folder}/$name.pid
keyring = {folder}/keyring
mon_data = {folder}/mon
osd_data = {folder}/osd
mgr_data = {folder}/mgr
rgw_data = {folder}
crash_dir = {folder}
[client.rgw]
rgw_frontends = beast endpoint=127.0.0.1:{port}
rgw_thread_pool_size = 16
rgw_enable_usage_log = false
rgw_dns_name = localhost
rgw_max_listing_results = {page}
"""
KEYS = (("-C", "mon.", ("mon", "allow *")),
        ("", "client.admin", ("mon", "allow *"), ("osd", "allow *"), ("mgr", "allow *")),
        ("", "client.rgw", ("mon", "allow rw"), ("osd", "allow rwx")),
        ("", "osd.0", ("mon", "allow profile osd"), ("osd", "allow *")))


class Radosgw:
    KNOWS_CONDITION, CHECKS_REGION = True, False
    access_key, secret_key = ACCESS_KEY, SECRET_KEY
    guest = ("guest", "knocking")  # may log in, and do nothing with what belongs to others

    def __init__(self, folder, page=1000):
        """page: the most that it lists at once."""
        self.folder = pathlib.Path(folder)
        for d in ("mon", "osd", "mgr"):
            (self.folder / d).mkdir(parents=True)
        self.processes = {}
        self.mon2, self.mon1, self.port = free_ports(3)
        self.conf = self.folder / "ceph.conf"
        self.fsid = str(uuid.uuid4())
        self.conf.write_text(CONF.format(fsid=self.fsid, mon2=self.mon2, mon1=self.mon1, port=self.port,
                                         folder=self.folder, page=page))

    def __enter__(self):
        try:
            self._found()
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def client(self):
        return S3Client("127.0.0.1", self.port, ACCESS_KEY, SECRET_KEY, REGION)

    def _run(self, *words):
        done = subprocess.run(words, env={**os.environ, "CEPH_CONF": str(self.conf)}, cwd=self.folder, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stdout[-1000:], done.stderr[-1000:])
        return done.stdout

    def _serve(self, name, *words):
        with open(self.folder / f"{name}.out", "ab") as log:
            # pylint: disable-next=consider-using-with,subprocess-popen-preexec-fn
            self.processes[name] = subprocess.Popen(
                [*words, "-c", self.conf, "-f"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder,
                preexec_fn=end_with_parent)

    def _found(self):
        """The cluster, before it has a gateway."""
        keyring, monmap = self.folder / "keyring", self.folder / "monmap"
        for new, name, *caps in KEYS:
            self._run("ceph-authtool", *([new] if new else []), keyring, "--gen-key", "-n", name,
                      *[word for cap in caps for word in ("--cap", *cap)])
        self._run("monmaptool", "--create", "--fsid", self.fsid, "--addv", "a",
                  f"[v2:127.0.0.1:{self.mon2},v1:127.0.0.1:{self.mon1}]", monmap)
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring, "-c", self.conf)
        self._serve("mon", "ceph-mon", "-i", "a")
        store = str(uuid.uuid4())
        self._run("ceph", "-c", self.conf, "--connect-timeout", "90", "osd", "new", store)
        self._run("ceph", "-c", self.conf, "auth", "import", "-i", keyring)
        self._run("ceph-osd", "-i", "0", "-c", self.conf, "--mkfs", "--osd-uuid", store)
        self._run("ceph", "-c", self.conf, "osd", "crush", "add", "osd.0", "1", "root=default", "host=h")
        self._serve("osd", "ceph-osd", "-i", "0")
        self._serve("rgw", "radosgw", "-n", "client.rgw")
        self._wait(lambda: self._answers("GET"))
        for uid, (access_key, secret_key) in (("waybill", (ACCESS_KEY, SECRET_KEY)), ("guest", self.guest)):
            self._run("radosgw-admin", "-c", self.conf, "user", "create", f"--uid={uid}", f"--display-name={uid}",
                      f"--access-key={access_key}", f"--secret={secret_key}")

    def _answers(self, method):
        try:
            self.client().request(method, "")
            return True
        except OSError:
            return False
        except Exception as e:  # pylint: disable=broad-except
            return getattr(e, "status", 500) in (403, 404)

    def _wait(self, true):
        until = time.monotonic() + START_SECONDS
        while not true():
            dead = [n for n, p in self.processes.items() if p.poll() is not None]
            assert not dead, (dead, (self.folder / f"{dead[0]}.out").read_text()[-2000:])
            assert time.monotonic() < until, "radosgw does not answer"
            time.sleep(0.1)

    def start(self):
        if "rgw" not in self.processes:
            self._serve("rgw", "radosgw", "-n", "client.rgw")
        self._wait(lambda: self._answers("GET"))

    def _end(self, *names):
        for name in names:
            p = self.processes.pop(name, None)
            if p is not None:
                p.send_signal(signal.SIGKILL)
                p.wait(60)

    def stop(self):
        self._end("rgw", "osd", "mon")

    def kill(self):
        self._end("rgw")

    def pause(self):
        stop_whole(self.processes["rgw"].pid)

    def resume(self):
        self.processes["rgw"].send_signal(signal.SIGCONT)
