"""A small ext4 disk in a file, whose power can be cut.

The cut is EXT4_IOC_SHUTDOWN without a log flush: from then on nothing reaches the image, and the
next mount replays the journal as after a real loss of power.  Needs root (loop devices, mount).
"""

import fcntl
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

from rig.process import RigError, run, wait_for

EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
PLACES = (Path("/dev/shm"), Path("/var/tmp"))
PREFIX = "waybill-crash-"


def need_root():
    if os.geteuid() != 0:
        raise RigError("power cuts need root: loop devices and mount (run this as root)")


def work_folder():
    """A folder of this run for images and mounts; memory if there is some."""
    for place in PLACES:
        if place.is_dir() and shutil.disk_usage(place).free > 2 << 30:
            folder = place / f"{PREFIX}{os.getpid()}"
            folder.mkdir(mode=0o755)
            return folder
    raise RigError(f"no 2 GiB free in any of {', '.join(map(str, PLACES))}")


def remove_leftovers():
    """Unmounts and removes what an earlier run left that was killed before it could."""
    for place in PLACES:
        for folder in place.glob(PREFIX + "*"):
            number = re.fullmatch(PREFIX + r"(\d+)", folder.name)
            if number and not Path(f"/proc/{number[1]}").exists():
                _release(folder)
                shutil.rmtree(folder, ignore_errors=True)


def _release(folder):
    for mount in folder.glob("*.mnt"):
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)
    listed = subprocess.run(["losetup", "-l", "-n", "-O", "NAME,BACK-FILE"], check=False,
                            capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        device, _, image = line.strip().partition(" ")
        if image.strip().startswith(f"{folder}/"):
            subprocess.run(["losetup", "-d", device], check=False, capture_output=True)


class Disk:
    """An image, its loop device and its mount.  close() undoes all three."""

    def __init__(self, folder, name, mebibytes=512):
        need_root()
        self.image = Path(folder) / f"{name}.img"
        self.mount_point = Path(folder) / f"{name}.mnt"
        self.device = None
        self.mounted = False
        self.mount_point.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(mebibytes << 20)
        try:
            self.device = run(["losetup", "-f", "--show", self.image]).strip()
            run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0",
                 self.device])
            self.mount()
        except BaseException:
            self.close()
            raise

    def mount(self):
        run(["mount", "-t", "ext4", self.device, self.mount_point])
        self.mounted = True

    def sync(self):
        """What was written so far survives."""
        run(["sync", "-f", self.mount_point])

    def cut(self):
        """The power goes.  Whoever has files open here gets errors from now on."""
        handle = os.open(self.mount_point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(handle, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(handle)

    def restore(self):
        """The power is back: unmount, mount, journal replay.  Nobody may have files open."""
        wait_for("umount", self._unmount, 20, every=0.02)
        self.mount()

    def _unmount(self):
        done = subprocess.run(["umount", str(self.mount_point)], check=False, capture_output=True)
        if done.returncode == 0:
            self.mounted = False
        return not self.mounted

    def used(self):
        """The share of the disk that is in use."""
        usage = shutil.disk_usage(self.mount_point)
        return usage.used / usage.total

    def close(self):
        if self.mounted:
            try:
                wait_for("umount", self._unmount, 5, every=0.05)
            except RigError:
                run(["umount", "-l", self.mount_point])
        if self.device:
            run(["losetup", "-d", self.device])
            self.device = None
        self.image.unlink(missing_ok=True)
        if self.mount_point.is_dir():
            self.mount_point.rmdir()
