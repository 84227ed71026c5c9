#!/usr/bin/python3
"""A share that can hang: a FUSE file system over a folder, whose server is stopped by a signal.

    share = Share(root, mount); share.stop(); ...; share.go_on(); share.close()

It needs root, /dev/fuse and Debian's python3-fusepy; missing() says what is not there.
"""
import errno
import os
import pathlib
import signal
import subprocess
import sys
import time

SECONDS = 30
CONTROL = pathlib.Path("/sys/fs/fuse/connections")


def missing():
    """Why there can be no such share here, or None."""
    if os.geteuid() != 0:
        return "needs root, to mount"
    if not os.path.exists("/dev/fuse"):
        return "needs /dev/fuse"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
        __import__("fusepy")
        if not CONTROL.exists():
            return "needs " + str(CONTROL)
    except (OSError, ImportError) as e:
        return f"no FUSE here: {e}"
    return None


class Share:
    """`root` as it is seen through `mount`."""

    def __init__(self, root, mount):
        self.root, self.mount = pathlib.Path(root), pathlib.Path(mount)
        self.root.mkdir(parents=True, exist_ok=True)
        self.mount.mkdir(parents=True, exist_ok=True)
        self.server = subprocess.Popen([sys.executable, __file__, str(self.root), str(self.mount)])
        until = time.monotonic() + SECONDS
        while not os.path.ismount(self.mount):
            assert self.server.poll() is None and time.monotonic() < until, "the share is not mounted"
            time.sleep(0.02)
        self.connection = os.minor(os.stat(self.mount).st_dev)

    def under_way(self):
        """How many calls the server has not answered."""
        if not any(CONTROL.iterdir()):
            subprocess.run(["mount", "-t", "fusectl", "none", str(CONTROL)], check=True)
        return int((CONTROL / str(self.connection) / "waiting").read_text())

    def stop(self):
        """From now on every call hangs.  None is under way at that moment: a caller of such a one cannot even be
        killed before the server goes on."""
        until = time.monotonic() + SECONDS
        self.freeze(until)
        while self.under_way() > 0:
            assert time.monotonic() < until, "the share is never idle"
            self.go_on()
            time.sleep(0.01)
            self.freeze(until)

    def freeze(self, until):
        """The signal takes a moment to arrive; until then the server may take another call."""
        os.kill(self.server.pid, signal.SIGSTOP)
        while pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < until, "the server of the share does not stop"
            time.sleep(0.001)

    def go_on(self):
        os.kill(self.server.pid, signal.SIGCONT)

    def close(self):
        """Calls that hang fail now."""
        self.server.kill()
        self.server.wait()
        subprocess.run(["umount", "-l", str(self.mount)], check=False)


def serve(root, mount):
    """The server itself: what is done to the mount is done to the root."""
    import fusepy

    class Loopback(fusepy.Operations):
        """Paths are those below the root."""

        def __call__(self, op, path, *args):
            return super().__call__(op, root + path, *args)

        def access(self, path, amode):
            if not os.access(path, amode):
                raise fusepy.FuseOSError(errno.EACCES)

        def getattr(self, path, fh=None):
            st = os.lstat(path)
            return {key: getattr(st, key) for key in (
                "st_atime", "st_ctime", "st_gid", "st_ino", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")}

        def readdir(self, path, fh):
            return [".", "..", *os.listdir(path)]

        def create(self, path, mode, fi=None):
            return os.open(path, os.O_RDWR | os.O_CREAT, mode)

        def open(self, path, flags):
            return os.open(path, flags & ~os.O_APPEND)

        def read(self, path, size, offset, fh):
            return os.pread(fh, size, offset)

        def write(self, path, data, offset, fh):
            return os.pwrite(fh, data, offset)

        def truncate(self, path, length, fh=None):
            os.truncate(path, length)

        def release(self, path, fh):
            os.close(fh)

        def fsync(self, path, datasync, fh):
            os.fsync(fh)

        def rename(self, old, new):
            os.rename(old, root + new)

        def link(self, target, source):
            os.link(root + source, target)

        def statfs(self, path):
            st = os.statvfs(path)
            return {key: getattr(st, key) for key in (
                "f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_frsize", "f_namemax")}

        chmod = staticmethod(os.chmod)
        mkdir = staticmethod(os.mkdir)
        rmdir = staticmethod(os.rmdir)
        unlink = staticmethod(os.unlink)
        fsyncdir = None
        getxattr = None
        listxattr = None
        chown = staticmethod(os.chown)

    fusepy.FUSE(Loopback(), mount, foreground=True, nothreads=True, allow_other=True,
                attr_timeout=0, entry_timeout=0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
