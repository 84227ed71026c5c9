"""A wall clock that a test can move (tests/crash/jump.c)."""
import os
import pathlib
import struct


class MovedClock:
    """The wall clock of a node, which can be moved."""

    def __init__(self, folder):
        build = pathlib.Path(os.environ.get("WAYBILL_BUILD", pathlib.Path(__file__).parents[2] / "build" / "debug"))
        self.file = folder / "offset"
        self.by(0)
        self.environment = {"LD_PRELOAD": build / "jump.so", "JUMP_FILE": self.file}
        if "ASAN_OPTIONS" in os.environ:
            self.environment["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":verify_asan_link_order=0"

    def by(self, seconds):
        data = struct.pack("=q", int(seconds * 1e6))
        if self.file.exists():
            with open(self.file, "r+b") as f:
                f.write(data)
        else:
            self.file.write_bytes(data)
