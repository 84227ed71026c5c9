"""gpg with a folder of keys of its own, and the agent that it leaves behind."""
import os
import pathlib
import shutil
import subprocess
import tempfile

PASSPHRASE = "correct horse battery"


class Gpg:
    """Keys are named by what they are: `rsa`, `ed`, `other`; `ed` has a passphrase."""

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="gpg", dir="/tmp"))  # short: the agent's socket lies there
        self.environment = {**os.environ, "GNUPGHOME": str(self.home), "LC_ALL": "C"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["gpgconf", "--kill", "all"], env=self.environment, check=False, capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self, *args, stdin=b"", fails=False):
        """What it prints; `fails`: it must."""
        got = subprocess.run(
            ["gpg", "--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", PASSPHRASE,
             "--trust-model", "always", *map(str, args)], env=self.environment, input=stdin, capture_output=True,
            timeout=120, check=False)
        assert (got.returncode != 0) == fails, got.stderr.decode()
        return got.stdout

    def make(self, name, kind, protected=False, expires="never", made=None):
        """A key that signs, with a subkey that encrypts."""
        more = (["--faked-system-time", made] if made else []) + ([] if protected else ["--passphrase", ""])
        signs, encrypts = ("rsa2048", "rsa2048") if kind == "rsa" else ("ed25519", "cv25519")
        self.run(*more, "--quick-gen-key", f"{name} <{name}@test>", signs, "sign", expires)
        self.run(*more, "--quick-add-key", self.fingerprint(name), encrypts, "encr", expires)

    def fingerprint(self, name):
        lines = self.run("--list-keys", "--with-colons", f"{name}@test").decode().splitlines()
        return next(line.split(":")[9] for line in lines if line.startswith("fpr:"))

    def public(self, name, *options):
        return self.run("--armor", *options, "--export", f"{name}@test")

    def private(self, name):
        return self.run("--armor", "--export-secret-keys", f"{name}@test")

    def encrypt(self, data, *names, options=()):
        to = [word for name in names for word in ("--recipient", f"{name}@test")]
        return self.run(*options, *to, "--encrypt", stdin=data)

    def sign(self, data, name, *options, how="--sign"):
        return self.run("--local-user", f"{name}@test", *options, how, stdin=data)

    def read(self, data, signer=None):
        """The content of a message; `signer` must have signed it."""
        got = subprocess.run(
            ["gpg", "--batch", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", PASSPHRASE, "--trust-model",
             "always", "--status-fd", "2", "--decrypt"], env=self.environment, input=data, capture_output=True,
            timeout=120, check=False)
        said = got.stderr.decode(errors="replace")
        assert got.returncode == 0, said
        assert (signer is None) == ("GOODSIG" not in said), said
        assert signer is None or f"VALIDSIG {self.fingerprint(signer)}" in said, said
        return got.stdout
