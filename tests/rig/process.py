"""Processes and their cost: start, wait, end, and what /proc says about them.

Every child dies with the rig (PR_SET_PDEATHSIG) and has a session of its own, so that Ctrl-C
reaches the rig alone and the rig decides what ends when.
"""

import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
TICKS = os.sysconf("SC_CLK_TCK")
PORTS = range(20000, 32000)  # below the ephemeral range, so that no client socket takes one before its server
SLICES = 12
_libc = ctypes.CDLL(None, use_errno=True)


class RigError(Exception):
    """The rig itself cannot go on; says what is missing or what went wrong."""


def die_with_parent():
    os.setsid()
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(command, **options):
    """Popen of a child that does not outlive the rig."""
    return subprocess.Popen([str(c) for c in command], preexec_fn=die_with_parent, **options)


def run(command, timeout=60, **options):
    """Runs to the end and gives its stdout; a failure is a RigError with its last words."""
    done = subprocess.run([str(c) for c in command], timeout=timeout, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()[-400:]
        raise RigError(f"{' '.join(str(c) for c in command)}: exit {done.returncode}: {words}")
    return done.stdout


def end(child, signal_number=signal.SIGTERM, seconds=10):
    """Signals a child and reaps it; after `seconds` it is killed.  Gives its exit code."""
    if child.poll() is None:
        child.send_signal(signal_number)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    return child.returncode


def wait_for(what, condition, seconds=30, every=0.005):
    """Polls until `condition` gives something true and returns that."""
    until = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > until:
            raise RigError(f"waited {seconds:g} s for {what}")
        time.sleep(every)


def own_ports():
    """A server that was killed needs its port again.  So that no other test takes it meanwhile, each of the processes to
    which pytest gives tests has a slice of its own; whoever is none of them has the first one."""
    worker = re.fullmatch(r"gw(\d+)", os.environ.get("PYTEST_XDIST_WORKER", ""))
    number = 1 + int(worker[1]) % (SLICES - 1) if worker else 0
    size = len(PORTS) // SLICES
    return PORTS[number * size:(number + 1) * size]


_given = set()


def free_ports(count):
    """So many ports of 127.0.0.1 that nobody listens on now; those that this process had before come last."""
    chance, ports, found = random.SystemRandom(), own_ports(), []
    for port in sorted(ports, key=lambda p: (p in _given, chance.random())):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        found.append(port)
        if len(found) == count:
            return found
    raise RigError(f"{len(found)} of {count} ports are free in {ports}")


def free_port():
    return free_ports(1)[0]


def cpu_seconds(pid, with_reaped=False):
    """User and system time of a process; `with_reaped` adds its ended children."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    if with_reaped:
        ticks += int(fields[13]) + int(fields[14])
    return ticks / TICKS


def memory_bytes(pid, name="VmRSS"):
    """VmRSS, or VmHWM for the peak."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise RigError(f"process {pid} has no {name}")


def memory_peak_reset(pid):
    """From here on VmHWM counts anew."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def children_of(pid):
    """Direct children, by /proc; processes that end meanwhile are left out."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(name))
    return found


def threads_stopped(pid):
    """True when every thread of a process that got SIGSTOP has come to rest."""
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii", errors="replace") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "TtZX":
            return False
    return True


def stop_whole(pid, seconds=60):
    """SIGSTOP; when this returns, no thread of it runs any more.  On a busy machine the others go on for a while until the
    one that takes the signal has a processor."""
    os.kill(pid, signal.SIGSTOP)
    wait_for("the stop of all threads", lambda: threads_stopped(pid), seconds, every=0.001)


def on_terminate():
    """SIGTERM and SIGHUP end the rig the way Ctrl-C does: every clean-up runs."""
    def interrupt(number, frame):
        raise KeyboardInterrupt(f"signal {number}")
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
