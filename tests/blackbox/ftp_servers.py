"""FTP servers for tests: pyftpdlib (ftp_peer), which does as it is told, and vsftpd; their certificates."""
import pathlib
import shutil
import sys

import pytest

from rig.receiver import Certificates

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
import ftp_peer  # noqa: E402  pylint: disable=wrong-import-position
import vsftpd  # noqa: E402  pylint: disable=wrong-import-position

LOGIN = "user: waybill\npassword: right"


@pytest.fixture
def peers(tmp_path):
    """Makes servers of pyftpdlib; all are ended after the test."""
    made = []

    def make(**options):
        made.append(ftp_peer.Peer(tmp_path / f"peer{len(made)}", **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def peer(peers):
    return peers()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def authority(certificates, tmp_path):
    """The certificate of the authority, where a node may read it."""
    return shutil.copy(certificates.path("ca.pem"), tmp_path)


@pytest.fixture
def vsftpd_server():
    """Makes servers of vsftpd; all are ended after the test."""
    why, made = vsftpd.missing(), []
    if why:
        pytest.skip(why)

    def make(*args, **options):
        made.append(vsftpd.Server(*args, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def both(certificates, kind, folder):
    """Certificate and key in one file."""
    path = folder / f"{kind}.both"
    path.write_bytes(b"".join(pathlib.Path(certificates.path(kind + end)).read_bytes() for end in (".pem", ".key")))
    return str(path)
