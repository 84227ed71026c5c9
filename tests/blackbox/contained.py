#!/usr/bin/python3
"""Runs a program as a container does: contained.py container|no-landlock PROGRAM ARGUMENT...

container: no capability, none to be had, and user namespaces are off.  no-landlock: that, on a kernel
that does not know Landlock.  What is off answers as the kernel does: EPERM, ENOSYS.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAP_AMBIENT = 24, 38, 22, 47
LAST_CAPABILITY = 63
CLONE_NEWUSER = 0x10000000
LANDLOCK = (444, 445, 446)
NUMBERS = {"x86_64": {"unshare": 272, "clone": 56}, "aarch64": {"unshare": 97, "clone": 220}}
LOAD, EQUAL, HAS, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
FIRST_ARGUMENT = 16     # of struct seccomp_data
LIBC = ctypes.CDLL(None, use_errno=True)


def instruction(code, value, yes=0, no=0):
    return struct.pack("=HBBI", code, yes, no, value)


def refuse(number, why):
    return [instruction(EQUAL, number, 0, 1), instruction(RETURN, REFUSE | why)]


def filter_of(landlock):
    """Instructions of a filter of system calls: what it does not name is allowed."""
    numbers = NUMBERS[platform.machine()]
    code = [instruction(LOAD, 0), *refuse(numbers["unshare"], errno.EPERM)]
    for number in () if landlock else LANDLOCK:
        code += refuse(number, errno.ENOSYS)
    code += [instruction(EQUAL, numbers["clone"], 0, 3), instruction(LOAD, FIRST_ARGUMENT),
             instruction(HAS, CLONE_NEWUSER, 0, 1), instruction(RETURN, REFUSE | errno.EPERM),
             instruction(RETURN, ALLOW)]
    return code


def prctl(*arguments):
    if LIBC.prctl(*[ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments], 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), f"prctl {arguments[0]}")


def drop_capabilities():
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as problem:
            if problem.errno != errno.EINVAL and os.geteuid() == 0:
                raise
            break
    header = struct.pack("=II", 0x20080522, 0)
    if LIBC.capset(header, bytes(24)) < 0:
        raise OSError(ctypes.get_errno(), "capset")


def lock_in(landlock):
    code = filter_of(landlock)
    text = ctypes.create_string_buffer(b"".join(code))
    program = struct.pack("@HP", len(code), ctypes.addressof(text))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, 2, ctypes.create_string_buffer(program))


def main():
    mode, *command = sys.argv[1:]
    drop_capabilities()
    lock_in(landlock=mode != "no-landlock")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
