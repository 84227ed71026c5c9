"""Packages of npm for a test: a folder of tests/ with package.json, installed below build/."""
import shutil
import subprocess

from running_node import ROOT


def install(name):
    """build/tests-NAME: the packages of tests/NAME, fetched when they changed, and its scripts."""
    source, folder = ROOT / "tests" / name, ROOT / "build" / f"tests-{name}"
    subprocess.run([ROOT / "tools" / "fetch_npm", source, folder], cwd=ROOT, check=True, timeout=280)
    for script in source.glob("*.mjs"):
        shutil.copy(script, folder / script.name)
    return folder
