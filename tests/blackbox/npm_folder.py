"""Packages of npm for a test: a folder of tests/ with package.json, installed below build/."""
import fcntl
import hashlib
import shutil
import subprocess

from running_node import ROOT


def install(name):
    """build/npm/NAME: the files of tests/NAME with their packages, installed when they changed."""
    source, folder = ROOT / "tests" / name, ROOT / "build" / "npm" / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()
        stamp = folder / "installed"
        for file in source.iterdir():
            shutil.copy(file, folder / file.name)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder,
                                  capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            stamp.write_text(wanted)
    return folder
